/*
 * skill.c -- permissions of skills, and the texts that the model reads.
 *
 * A skill is a text that the model obeys. So an application can say by name which skills a run may read,
 * in several places, such as an assistant and its run.
 *
 * Within one place the last matching line counts: a general line comes first, and its exceptions follow.
 * Between places that would be wrong, because a narrower place could append a line that allows what a
 * wider place denies. So the places stay side by side, as a list of lists, and the strictest counts.
 *
 * The server checks permissions when it accepts a request. The run's settings then have only the skills
 * that it may read, so the tool's definition is made on a loop without waiting. The texts stay in the
 * store until the model reads one.
 */

#include "core/memory/skill.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"

const char *const skill_permission_names[] = {"allow", "ask", "deny", NULL};

/* An unknown value counts as deny: a typing error must not open anything. */
static enum skill_permission parse(const char *word)
{
    for (int i = SKILL_ALLOW; i < SKILL_DENY; i++)
        if (strcmp(skill_permission_names[i], word) == 0)
            return (enum skill_permission)i;
    return SKILL_DENY;
}

static enum skill_permission last_match(const json_t *list, const char *name)
{
    enum skill_permission permission = SKILL_ALLOW;
    size_t i;
    json_t *line;

    json_array_foreach (list, i, line) {
        if (fnmatch(json_get_string(line, "skill", "*"), name, 0) == 0)
            permission = parse(json_get_string(line, "permission", ""));
    }
    return permission;
}

/* True for the permissions of a single place: a list of objects, not of lists. */
static bool is_flat(const json_t *permissions)
{
    return !json_is_array(json_array_get(permissions, 0));
}

enum skill_permission skill_permission_of(const json_t *permissions, const char *name)
{
    enum skill_permission strictest = SKILL_ALLOW;
    size_t i;
    json_t *list;

    if (is_flat(permissions))
        return last_match(permissions, name);
    json_array_foreach (permissions, i, list) {
        enum skill_permission permission = last_match(list, name);

        if (permission > strictest)
            strictest = permission;
    }
    return strictest;
}

static void add_places(json_t *places, const json_t *permissions)
{
    if (!json_array_size(permissions))
        return;
    if (is_flat(permissions))
        json_array_append_new(places, json_deep_copy(permissions));
    else
        json_array_extend(places, (json_t *)(uintptr_t)permissions);
}

json_t *skill_permissions_merge(const json_t *wide, const json_t *narrow)
{
    json_t *places;

    if (!json_array_size(wide) && !json_array_size(narrow))
        return NULL;
    places = json_array();
    add_places(places, wide);
    add_places(places, narrow);
    return places;
}

const json_t *skill_find(const json_t *skills, const char *name)
{
    size_t i;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        if (strcmp(json_get_string(skill, "name", ""), name) == 0)
            return skill;
    }
    return NULL;
}

const char *skill_version_of(const json_t *skill)
{
    return json_get_string(skill, "version_id", json_get_string(skill, "id", ""));
}

char *skill_text(const json_t *skill, const char *prompt, const json_t *files)
{
    struct buf text = {0};
    const char *path;
    json_t *file;

    buf_add_text(&text, prompt);
    if (!json_object_size(files))
        return buf_take(&text);
    buf_addf(
        &text,
        "\n\nFurther files of this skill, to be read with skill({\"name\": \"%s\", \"file\": "
        "\"<path>\"}):\n",
        json_get_string(skill, "name", ""));
    json_object_foreach ((json_t *)(uintptr_t)files, path, file)
        buf_addf(&text, "\n- %s", path);
    buf_add_char(&text, '\n');
    return buf_take(&text);
}

enum err_code skill_file_text(const json_t *skill, const json_t *files, const char *path,
                              char **ret_text, struct err *err)
{
    const char *text = json_get_string(files, path, NULL);

    if (json_is_object(json_object_get(files, path)))
        return err_set(err, ERR_INVALID,
                       "The file '%.256s' of the skill '%.64s' is no text in UTF-8.", path,
                       json_get_string(skill, "name", ""));
    if (!text)
        return err_set(err, ERR_NOT_FOUND, "The skill '%.64s' has no file '%.256s'.",
                       json_get_string(skill, "name", ""), path);
    *ret_text = mem_strdup(text);
    return ERR_OK;
}
