#include "handlers/support/container_files.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/tool.h"

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

char *container_skills_text(const json_t *skills)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        if (!i)
            buf_add_text(&text,
                         "Skills, folders of instructions for one kind of task each. Before "
                         "such a task, read SKILL.md in the folder:");
        buf_addf(&text, "\n- %s: %s (%s)", json_get_string(skill, "name", ""),
                 json_get_string(skill, "description", ""), json_get_string(skill, "path", ""));
    }
    return text.length ? buf_take(&text) : NULL;
}

json_t *container_note_of(const struct run_settings *settings)
{
    AUTO_FREE char *files = container_files_text(settings->container_files);
    AUTO_FREE char *skills = container_skills_text(settings->container_skills);
    AUTO_FREE char *both = files && skills ? mem_printf("%s\n%s", files, skills) : NULL;

    return json_build("{s:s*}", "note", both ? both : files ? files : skills);
}
