#include "server/sandbox/unkept_files.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

/* A name is made by code, and may look like a line of the server. So it stands in quotes, and in one line. */
void unkept_files_add(struct unkept_files *unkept, const char *path, const char *why)
{
    size_t length = strlen(path);

    if (unkept->count++ >= UNKEPT_NAMED)
        return;
    buf_add_text(&unkept->text, "The user does not get \"");
    if (length > UNKEPT_PATH_BYTES) {
        buf_add_json_escaped(&unkept->text, path, utf8_fit(path, UNKEPT_PATH_BYTES));
        buf_add_text(&unkept->text, "...");
    } else {
        buf_add_json_escaped(&unkept->text, path, length);
    }
    buf_addf(&unkept->text, "\": %s.\n", why);
}

char *unkept_files_take(struct unkept_files *unkept)
{
    if (!unkept->count)
        return NULL;
    if (unkept->count > UNKEPT_NAMED)
        buf_addf(&unkept->text, "Nor does the user get %zu more files.\n",
                 unkept->count - UNKEPT_NAMED);
    unkept->text.data[--unkept->text.length] = '\0';
    unkept->count = 0;
    return buf_take(&unkept->text);
}

void unkept_files_clear(struct unkept_files *unkept)
{
    buf_clear(&unkept->text);
}
