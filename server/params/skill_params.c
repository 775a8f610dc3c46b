#include "server/params/skill_params.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/memory/skill.h"
#include "core/store/tables/skills.h"
#include "server/complaint.h"
#include "server/params/params.h"

/*
 * Skills are named by id in a request, an assistant or a thread, and read by name during a run. This
 * file makes the one into the other, once, when a run is accepted.
 *
 *   {"skills": ["skill_1", "skill_2"]}  ->  {"skills": [{"id", "name", "description", "ask"}]}
 *
 * The look-up happens here and not when the model reads a skill, for three reasons. A wrong id is an
 * error of the request, and the client gets it as one. The model finds names and descriptions in the
 * description of the tool that reads skills, so a run needs them before its first turn. And permissions
 * are evaluated at one moment: a skill that is denied never enters the run, so no later code can show
 * it by mistake.
 *
 * Two skills of one name are refused. The model asks for a skill by name, and which of the two it meant
 * would be chance.
 *
 * The body of the request is not changed, because the settings of the run are made from a copy, and a
 * stored assistant keeps its ids.
 */

/* ---- The form, without the store ---- */

enum err_code skill_params_check(const json_t *runnel, const char *path, struct err *err)
{
    const struct param_path here = param_key(path, SKILLS_KEY);
    json_t *list = NULL;
    json_t *id;
    size_t i;
    enum err_code rc =
        param_array(runnel, path, SKILLS_KEY, PARAM_OPTIONAL, SKILLS_LIMIT, &list, err);

    if (rc)
        return rc;
    json_array_foreach (list, i, id) {
        const struct param_path param = param_index(here.text, i);

        if (!json_is_string(id))
            return param_wrong_type(err, param.text, "a string", id);
        rc = param_id(json_string_value(id), "skill_", param.text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_line(const json_t *line, const char *path, struct err *err)
{
    static const char *const known[] = {"permission", "skill", NULL};
    const char *text;
    enum err_code rc;

    if (!json_is_object(line))
        return param_wrong_type(err, path, "an object", line);
    rc = param_unknown(line, path, known, err);
    if (!rc)
        rc = param_string(line, path, "skill", PARAM_REQUIRED, SKILL_PATTERN_LIMIT, &text, err);
    return rc ? rc
              : param_enum(line, path, "permission", PARAM_REQUIRED, skill_permission_names,
                           &text, err);
}

enum err_code skill_permissions_check(const json_t *runnel, const char *path, struct err *err)
{
    const struct param_path here = param_key(path, SKILL_PERMISSIONS_KEY);
    json_t *list = NULL;
    json_t *line;
    size_t i;
    enum err_code rc = param_array(runnel, path, SKILL_PERMISSIONS_KEY, PARAM_OPTIONAL,
                                   SKILL_PERMISSIONS_LIMIT, &list, err);

    if (rc)
        return rc;
    json_array_foreach (list, i, line) {
        rc = check_line(line, param_index(here.text, i).text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Numbers of versions ---- */

/* 0: it is no number of a version. */
static int64_t number_of(const char *text)
{
    size_t length = strlen(text);

    return length && length <= 9 && strspn(text, "0123456789") == length
               ? strtol(text, NULL, 10)
               : 0;
}

int64_t skill_version_number(const json_t *value)
{
    int64_t number = json_is_string(value)    ? number_of(json_string_value(value))
                     : json_is_integer(value) ? (int64_t)json_integer_value(value)
                                              : 0;

    return number > 0 && number < 1000000000 ? number : 0;
}

/* ---- The look-up ---- */

static const struct skill_row *find_row(const struct skill_row *rows, size_t count,
                                        const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].id, id) == 0)
            return &rows[i];
    return NULL;
}

static enum err_code missing(const char *id, struct err *err)
{
    return err_invalid(err, "invalid_value", "runnel.skills",
                       "Skill with id '%.64s' not found.", id);
}

/* The project's skills among these ids. The caller frees the rows. */
static enum err_code find_rows(struct store *store, const struct tenant *tenant,
                               const json_t *ids, struct skill_row **ret_rows,
                               size_t *ret_count, struct err *err)
{
    const char *wanted[SKILLS_LIMIT];
    size_t count = json_array_size(ids);

    for (size_t i = 0; i < count; i++)
        wanted[i] = json_string_value(json_array_get(ids, i));
    return store_skills_named(store, tenant, wanted, count, ret_rows, ret_count, err);
}

static enum err_code add_skill(json_t *skills, const struct skill_row *row,
                               enum skill_permission permission, struct err *err)
{
    const json_t *other = skill_find(skills, row->name);

    if (other && strcmp(json_get_string(other, "id", ""), row->id) == 0)
        return ERR_OK; /* the same id twice is no mistake */
    if (other)
        return err_invalid(err, "invalid_value", "runnel.skills",
                           "Invalid 'runnel.skills': there are two skills named '%s'.",
                           row->name);
    json_array_append_new(skills,
                          json_build("{s:s, s:s, s:s, s:s, s:b}", "id", row->id, "version_id",
                                     row->skill_id, "name", row->name, "description",
                                     row->description, "ask", permission == SKILL_ASK));
    return ERR_OK;
}

static enum err_code describe(const json_t *runnel, const struct skill_row *rows, size_t count,
                              json_t *skills, struct err *err)
{
    size_t i;
    json_t *id;

    json_array_foreach (json_object_get(runnel, SKILLS_KEY), i, id) {
        const struct skill_row *row = find_row(rows, count, json_string_value(id));
        enum skill_permission permission;
        enum err_code rc;

        if (!row)
            return missing(json_string_value(id), err);
        permission =
            skill_permission_of(json_object_get(runnel, SKILL_PERMISSIONS_KEY), row->name);
        rc = permission == SKILL_DENY ? ERR_OK : add_skill(skills, row, permission, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* Copies only the two objects on the way to the list; everything else is shared. */
static json_t *with_skills(const json_t *body, json_t *skills)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)body);
    json_t *runnel = json_copy(json_object_get(body, "runnel"));

    json_object_set(runnel, SKILLS_KEY, skills);
    json_set(copy, "runnel", runnel);
    return copy;
}

enum err_code skill_params_resolve(struct store *store, const struct tenant *tenant,
                                   const json_t *body, json_t **ret_body, struct err *err)
{
    const json_t *runnel = json_object_get(body, "runnel");
    const json_t *ids = json_object_get(runnel, SKILLS_KEY);
    json_auto_t *skills = json_array();
    struct skill_row *rows = NULL;
    size_t found = 0;
    enum err_code rc;

    if (!json_array_size(ids))
        return ERR_OK;
    rc = find_rows(store, tenant, ids, &rows, &found, err);
    if (!rc)
        rc = describe(runnel, rows, found, skills, err);
    skill_rows_free(rows, found);
    if (!rc)
        *ret_body = with_skills(body, skills);
    return rc;
}

enum err_code skill_params_check_exist(struct store *store, const struct tenant *tenant,
                                       const json_t *body, struct err *err)
{
    const json_t *ids = json_object_get(json_object_get(body, "runnel"), SKILLS_KEY);
    struct skill_row *rows = NULL;
    size_t found = 0;
    size_t i;
    json_t *id;
    enum err_code rc;

    if (!json_array_size(ids))
        return ERR_OK;
    rc = find_rows(store, tenant, ids, &rows, &found, err);
    json_array_foreach (ids, i, id)
        if (!rc && !find_row(rows, found, json_string_value(id)))
            rc = missing(json_string_value(id), err);
    skill_rows_free(rows, found);
    return rc;
}
