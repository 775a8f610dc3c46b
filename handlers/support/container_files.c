#include "handlers/support/container_files.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"

/* Names are a client's, and may have a line break that looks like the end of the list. */
static void add_name(struct buf *text, const char *name)
{
    if (name[strcspn(name, "\n\r\"")]) {
        buf_add_char(text, '"');
        buf_add_json_escaped(text, name, strlen(name));
        buf_add_char(text, '"');
    } else {
        buf_add_text(text, name);
    }
}

static void add_size(struct buf *text, json_int_t bytes)
{
    if (bytes < 1024)
        buf_addf(text, " (%lld bytes)", (long long)bytes);
    else if (bytes < 10 * 1024 * 1024)
        buf_addf(text, " (%lld KB)", (long long)(bytes + 512) >> 10);
    else
        buf_addf(text, " (%lld MB)", (long long)(bytes + (512 << 10)) >> 20);
}

char *container_files_text(const json_t *files)
{
    size_t count = json_array_size(files);
    AUTO_BUF text = {0};

    if (!count)
        return NULL;
    buf_add_text(&text, "Files in /mnt/data: ");
    for (size_t i = 0; i < count && i < CONTAINER_FILES_NAMED; i++) {
        const json_t *file = json_array_get(files, i);

        if (i)
            buf_add_text(&text, ", ");
        add_name(&text, json_get_string(file, "name", ""));
        add_size(&text, json_get_int(file, "bytes", 0));
    }
    if (count > CONTAINER_FILES_NAMED)
        buf_addf(&text, " and %zu more", count - CONTAINER_FILES_NAMED);
    buf_add_char(&text, '.');
    return buf_take(&text);
}
