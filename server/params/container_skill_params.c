#include "server/params/container_skill_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/domain/notes.h"
#include "core/store/tables/skills.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/skill_file.h"
#include "server/params/skill_params.h"
#include "server/params/skill_upload.h"

static bool is_inline(const json_t *skill)
{
    return strcmp(json_get_string(skill, "type", ""), "inline") == 0;
}

/* ---- The form ---- */

static enum err_code check_reference(const json_t *skill, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "version");
    const json_t *version = json_object_get(skill, "version");
    const char *id = NULL;
    enum err_code rc = param_string(skill, path, "skill_id", PARAM_REQUIRED, 64, &id, err);

    if (rc || json_absent(version) || skill_version_number(version) ||
        (json_is_string(version) && strcmp(json_string_value(version), "latest") == 0))
        return rc;
    return err_invalid(err, "invalid_value", at.text,
                       "Invalid '%s': expected the number of a version, or 'latest'.", at.text);
}

static enum err_code check_source(const json_t *source, const char *path, struct err *err)
{
    static const char *const types[] = {"base64", NULL};
    static const char *const media[] = {"application/zip", NULL};
    const char *text = NULL;
    enum err_code rc = param_enum(source, path, "type", PARAM_REQUIRED, types, &text, err);

    rc = rc ? rc : param_enum(source, path, "media_type", PARAM_REQUIRED, media, &text, err);
    return rc ? rc
              : param_string(source, path, "data", PARAM_REQUIRED, CONTAINER_SKILL_DATA_LIMIT,
                             &text, err);
}

static enum err_code check_inline(const json_t *skill, const char *path, struct err *err)
{
    struct param_path of_name = param_key(path, "name"), of_source = param_key(path, "source"),
                      of_description = param_key(path, "description");
    const char *name = NULL, *description = NULL;
    json_t *source = NULL;
    enum err_code rc = param_string(skill, path, "name", PARAM_REQUIRED, 0, &name, err);

    if (!rc && !skill_name_fits(name))
        return err_invalid(err, "invalid_value", of_name.text,
                           "Invalid '%s': expected at most 64 small letters, digits and "
                           "hyphens.",
                           of_name.text);
    rc = rc ? rc
            : param_string(skill, path, "description", PARAM_REQUIRED, 0, &description, err);
    if (!rc && !skill_description_fits(description))
        return err_invalid(err, "invalid_value", of_description.text,
                           "Invalid '%s': expected one line of at most 1024 characters.",
                           of_description.text);
    rc = rc ? rc : param_object(skill, path, "source", PARAM_REQUIRED, &source, err);
    return rc ? rc : check_source(source, of_source.text, err);
}

enum err_code container_skills_check(const json_t *object, const char *path, struct err *err)
{
    static const char *const types[] = {"skill_reference", "inline", NULL};
    struct param_path at = param_key(path, "skills");
    json_t *skills = NULL;
    size_t i;
    json_t *skill;
    enum err_code rc = param_array(object, path, "skills", PARAM_OPTIONAL,
                                   CONTAINER_SKILLS_LIMIT, &skills, err);

    json_array_foreach (skills, i, skill) {
        struct param_path inner = param_index(at.text, i);
        const char *type = NULL;

        if (!rc && !json_is_object(skill))
            rc = param_wrong_type(err, inner.text, "an object", skill);
        rc = rc ? rc : param_enum(skill, inner.text, "type", PARAM_REQUIRED, types, &type, err);
        if (!rc)
            rc = is_inline(skill) ? check_inline(skill, inner.text, err)
                                  : check_reference(skill, inner.text, err);
        if (rc)
            return rc;
    }
    return rc;
}

/* ---- Inline skills ---- */

static bool is_packed(const json_t *skill)
{
    const json_t *source = json_object_get(skill, "source");

    return is_inline(skill) && json_is_string(json_object_get(source, "data")) &&
           !notes_of(skill);
}

bool container_skills_packed(const json_t *skills)
{
    size_t i;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        if (is_packed(skill))
            return true;
    }
    return false;
}

void container_skills_drop_notes(json_t *skills)
{
    size_t i;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        if (json_is_object(skill))
            notes_drop(skill);
    }
}

/* Two are the same skill if they have the same name and bytes. */
static void make_origin(const json_t *skill, const char *data, size_t length,
                        char ret_origin[CONTAINER_SKILL_ORIGIN_SIZE])
{
    AUTO_BUF all = {0};
    uint8_t hash[SHA256_DIGEST_SIZE];
    size_t at = (size_t)snprintf(ret_origin, CONTAINER_SKILL_ORIGIN_SIZE, "inline_");

    buf_addf(&all, "%s\n%s\n", json_get_string(skill, "name", ""),
             json_get_string(skill, "description", ""));
    buf_add(&all, data, length);
    sha256_bytes(all.data, all.length, hash);
    for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++)
        at += (size_t)snprintf(ret_origin + at, CONTAINER_SKILL_ORIGIN_SIZE - at, "%02x",
                               hash[i]);
}

static enum err_code unpack(json_t *skill, const char *path, struct err *err)
{
    struct param_path of_source = param_key(path, "source"),
                      at = param_key(of_source.text, "data");
    const char *data = json_get_string(json_object_get(skill, "source"), "data", "");
    size_t length = 0;
    AUTO_FREE char *zip = base64_decode(data, strlen(data), &length);
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    char origin[CONTAINER_SKILL_ORIGIN_SIZE];
    json_t *notes;
    enum err_code rc;

    if (!zip)
        return param_no_base64(err, at.text);
    rc = skill_zip_read(zip, length, at.text, &row, err);
    if (rc)
        return rc;
    make_origin(skill, zip, length, origin);
    notes = notes_make(skill);
    json_set_string(notes, "origin", origin);
    json_set_string(notes, "content", row.content);
    if (row.files)
        json_object_set(notes, "files", row.files);
    return ERR_OK;
}

enum err_code container_skills_unpack(json_t *skills, const char *path, struct err *err)
{
    size_t i;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        enum err_code rc =
            is_packed(skill) ? unpack(skill, param_index(path, i).text, err) : ERR_OK;

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- What is wanted ---- */

static enum err_code find_version(struct store *store, const struct tenant *tenant,
                                  const json_t *skill, const char *path,
                                  struct container_skill *ret_skill, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    const char *id = json_get_string(skill, "skill_id", "");
    const json_t *version = json_object_get(skill, "version");
    struct err why = {0};
    enum err_code rc = store_skill_version_find(
        store, tenant, id,
        json_absent(version)
            ? SKILL_DEFAULT
            : (skill_version_number(version) ? skill_version_number(version) : SKILL_LATEST),
        &row, &why);

    if (rc == ERR_NOT_FOUND)
        return err_set_api(err, rc, NULL, param_key(path, "skill_id").text, "%s", why.text);
    if (rc) {
        *err = why;
        return rc;
    }
    (void)snprintf(ret_skill->name, sizeof(ret_skill->name), "%s", row.name);
    (void)snprintf(ret_skill->origin, sizeof(ret_skill->origin), "%s", row.id);
    memcpy(ret_skill->skill_id, row.skill_id, ID_SIZE);
    return ERR_OK;
}

static void take_inline(const json_t *skill, struct container_skill *ret_skill)
{
    const json_t *notes = notes_of(skill);

    (void)snprintf(ret_skill->name, sizeof(ret_skill->name), "%s",
                   json_get_string(skill, "name", ""));
    (void)snprintf(ret_skill->origin, sizeof(ret_skill->origin), "%s",
                   json_get_string(notes, "origin", ""));
    ret_skill->description = mem_strdup(json_get_string(skill, "description", ""));
    ret_skill->content = mem_strdup(json_get_string(notes, "content", ""));
    ret_skill->files = json_incref(json_object_get(notes, "files"));
}

enum err_code container_skills_resolve(
    struct store *store, const struct tenant *tenant, const json_t *skills, const char *path,
    struct container_skill ret_skills[CONTAINER_SKILLS_LIMIT], size_t *ret_count,
    struct err *err)
{
    size_t i;
    json_t *skill;

    *ret_count = 0;
    json_array_foreach (skills, i, skill) {
        struct param_path at = param_index(path, i);
        enum err_code rc = ERR_OK;

        ret_skills[i] = (struct container_skill){0};
        if (is_inline(skill))
            take_inline(skill, &ret_skills[i]);
        else
            rc = find_version(store, tenant, skill, at.text, &ret_skills[i], err);
        if (rc)
            return rc;
        ++*ret_count;
    }
    return ERR_OK;
}
