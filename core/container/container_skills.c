/*
 * The skills of a container: rows, which the database keeps, and folders, which this node makes of them.
 *
 * A folder is made when a call takes the container, the first time on each node. So a container that has moved, or
 * whose folder was lost with its disk, has its skills again.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/container/containers_internal.h"
#include "core/sandbox/workspace/workspace_skills.h"
#include "core/store/tables/containers/container_skills.h"

/* The files of a skill, as bytes. */
struct unpacked {
    struct workspace_skill_file *files;
    char **decoded; /* what is not borrowed from the JSON */
    size_t count;
};

static void unpacked_clear(struct unpacked *unpacked)
{
    for (size_t i = 0; i < unpacked->count; i++)
        free(unpacked->decoded[i]);
    free(unpacked->decoded);
    free(unpacked->files);
}

static void add(struct unpacked *unpacked, const char *path, const json_t *value)
{
    const char *encoded = json_get_string(value, "base64", "");
    struct workspace_skill_file *file = &unpacked->files[unpacked->count];

    *file = (struct workspace_skill_file){.path = path, .bytes = ""};
    if (json_is_string(value)) {
        file->bytes = json_string_value(value);
        file->size = json_string_length(value);
    } else {
        unpacked->decoded[unpacked->count] =
            base64_decode(encoded, strlen(encoded), &file->size);
        if (unpacked->decoded[unpacked->count])
            file->bytes = unpacked->decoded[unpacked->count];
    }
    unpacked->count++;
}

static enum err_code write_skill(const struct container *container, const char *name,
                                 const char *content, const json_t *files, struct err *err)
{
    size_t most = json_object_size(files) + 1;
    CLEANUP(unpacked_clear)
    struct unpacked unpacked = {.files = mem_new_array(struct workspace_skill_file, most),
                                .decoded = mem_new_array(char *, most)};
    const char *path;
    json_t *value;

    unpacked.files[0] = (struct workspace_skill_file){
        .path = "SKILL.md", .bytes = content, .size = strlen(content)};
    unpacked.count = 1;
    json_object_foreach ((json_t *)(uintptr_t)files, path, value)
        add(&unpacked, path, value);
    return workspace_put_skill(container->workspace, name, unpacked.files, unpacked.count, err);
}

static enum err_code put_skill(const struct container *container,
                               const struct container_skill_row *row, struct err *err)
{
    AUTO_FREE char *content = NULL;
    json_auto_t *files = NULL;
    enum err_code rc;

    if (workspace_has_skill(container->workspace, row->name))
        return ERR_OK;
    rc = store_container_skill_get(container->all->options.store, &container->tenant,
                                   container->row.id, row->position, &content, &files, err);
    return rc ? rc : write_skill(container, row->name, content, files, err);
}

static enum err_code put_missing(const struct container *container, struct err *err)
{
    struct container_skill_row *rows = NULL;
    size_t count = 0;
    enum err_code rc =
        store_container_skills_list(container->all->options.store, &container->tenant,
                                    container->row.id, "", &rows, &count, err);

    for (size_t i = 0; !rc && i < count; i++)
        rc = put_skill(container, &rows[i], err);
    container_skill_rows_free(rows, count);
    return rc;
}

enum err_code container_put_skills(struct container *container,
                                   const struct container_skill *more, size_t count,
                                   struct err *err)
{
    enum err_code rc = ERR_OK;

    if (!container->row.skill_count && !count)
        return ERR_OK;
    container_begin_put(container);
    if (count)
        rc = store_container_skills_add(container->all->options.store, &container->tenant,
                                        container->row.id, more, count, err);
    rc = rc ? rc : put_missing(container, err);
    container_end_put(container);
    return rc;
}

enum err_code containers_add_skills(struct containers *containers, const struct tenant *tenant,
                                    const char *id, const struct container_skill *skills,
                                    size_t count, struct err *err)
{
    return count ? store_container_skills_add(containers->options.store, tenant, id, skills,
                                              count, err)
                 : ERR_OK;
}
