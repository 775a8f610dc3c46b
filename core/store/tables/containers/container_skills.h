#ifndef RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_SKILLS_H
#define RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_SKILLS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * container_skills.h -- the skills of a container, as rows: each is a folder below /mnt/skills.
 *
 * The container has a copy of the version that was named, or what a request has brought. So a skill that is deleted
 * stays in the containers that have it, and a node that takes a container over finds all of it here.
 *
 * ERR_NOT_FOUND is that of containers.h, or "Skill with id 'X' not found." for a version that was deleted meanwhile.
 */

/* Skills of a container, and bytes of all of their files, as the rows have them. */
#define CONTAINER_SKILLS_LIMIT ((size_t)32)
#define CONTAINER_SKILLS_BYTES ((size_t)64 << 20)

/* The hash of what a request brings, with a prefix. */
#define CONTAINER_SKILL_ORIGIN_SIZE ((size_t)80)

/* A skill that is wanted. */
struct container_skill {
    char name[72];
    char origin[CONTAINER_SKILL_ORIGIN_SIZE]; /* the version's id, or the hash */
    char skill_id[ID_SIZE];                   /* ""; a request has brought it, with these: */
    char *description, *content;
    json_t *files; /* as in struct skill_row */
};
void container_skills_clear(struct container_skill *skills, size_t count);

struct container_skill_row {
    int64_t position;
    char *name; /* of the folder */
    char *origin;
    char *description;
    char *skill_id; /* NULL: a request has brought it */
    int64_t version;
};
void container_skill_rows_free(struct container_skill_row *rows, size_t count);

/* Adds those that the container does not have, under free names: `name`, else `name-2` and so on. ERR_LIMIT: it would
 * have more than it may; nothing was added. ERR_INVALID with REASON_STORAGE_QUOTA: the project has as many bytes as it
 * may. The container runs, on any node. */
enum err_code store_container_skills_add(struct store *store, const struct tenant *tenant,
                                         const char *container_id,
                                         const struct container_skill *skills, size_t count,
                                         struct err *err) MUST_CHECK;

/* Those of the running container `container_id`, or, if that is "", of that of `owner_id`. In their order. */
enum err_code store_container_skills_list(struct store *store, const struct tenant *tenant,
                                          const char *container_id, const char *owner_id,
                                          struct container_skill_row **ret_rows,
                                          size_t *ret_count, struct err *err) MUST_CHECK;

/* The texts of one. The caller frees; *ret_files may be NULL. */
enum err_code store_container_skill_get(struct store *store, const struct tenant *tenant,
                                        const char *container_id, int64_t position,
                                        char **ret_content, json_t **ret_files,
                                        struct err *err) MUST_CHECK;

/* The name that a skill gets in a container that has these: the first of name, name-2 ... that none has. The caller
 * frees. */
char *container_skill_name(const struct container_skill_row *rows, size_t count,
                           const char *name);

#endif
