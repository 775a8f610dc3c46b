#include "server/params/skill_upload.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/bundle/bundle.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/skill_file.h"

/*
 * The files of a skill come as a form, the way OpenAI's SDKs send them: one part a file, its path as
 * the filename of the part. Or they come as one part that is a zip, whose entries then take the place of the parts: so
 * both are checked in the same way.
 *
 * First each file by itself is checked, then the folder as a whole: one SKILL.md at its top, all
 * others beside or below that. The path is stored relative to SKILL.md, so the name of the client's
 * folder does not matter.
 *
 * Paths are strings here, never names in a file system. They are restricted as if they were, because
 * a client may unpack what it downloads.
 */

/* The files, wherever they come from. */
struct upload {
    const struct bundle *files;
    const char *param; /* which member of the request has them */
    bool zipped;
};

static enum err_code wrong(const struct upload *upload, size_t n, const char *what,
                           struct err *err)
{
    const struct param_path at = param_index(upload->param, n);

    if (upload->zipped)
        return err_invalid(err, "invalid_value", upload->param,
                           "Invalid '%s': the entry '%.256s' of the zip: %s.", upload->param,
                           upload->files->list[n].path, what);
    return err_invalid(err, "invalid_value", at.text, "Invalid '%s': %s.", at.text, what);
}

/* ---- Out of the form ---- */

/* The SDKs append "[]" to a list in a form, plain forms do not. */
static bool is_files(const char *name)
{
    return strcmp(name, "files") == 0 || strcmp(name, "files[]") == 0;
}

/* By its type, its name or its first bytes: some clients send application/octet-stream. */
static bool is_zip(const struct form_part *part)
{
    static const char zip[] = "application/zip";
    size_t length = part->filename ? strlen(part->filename) : 0;

    return (part->type && strncasecmp(part->type, zip, strlen(zip)) == 0) ||
           (length > 4 && strcasecmp(part->filename + length - 4, ".zip") == 0) ||
           (part->data.length >= 4 && memcmp(part->data.data, "PK\3\4", 4) == 0);
}

static enum err_code read_field(const struct form_part *part, bool *ret_default,
                                struct err *err)
{
    AUTO_FREE char *text =
        mem_strndup(part->data.data ? part->data.data : "", part->data.length);

    if (!ret_default || strcmp(part->name, "default") != 0)
        return err_invalid(err, "unknown_parameter", part->name, "Unknown parameter: '%.64s'.",
                           part->name);
    *ret_default = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (!*ret_default && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return err_invalid(err, "invalid_type", "default",
                           "Invalid 'default': expected true or false.");
    return ERR_OK;
}

static enum err_code check_part(const struct form_part *part, size_t n, struct err *err)
{
    const struct param_path at = param_index("files", n);
    const char *problem = part->filename ? bundle_path_problem(part->filename) : NULL;

    if (!part->filename)
        return err_invalid(err, "invalid_type", at.text,
                           "Invalid '%s': expected a file, but got a field instead.", at.text);
    if (problem)
        return err_invalid(err, "invalid_value", at.text, "Invalid '%s': its filename %s.",
                           at.text, problem);
    return ERR_OK;
}

static enum err_code too_many(size_t count, struct err *err)
{
    return err_invalid(
        err, "array_above_max_length", "files",
        "Invalid 'files': array too long. Expected an array with maximum length %zu, "
        "but got an array with length %zu instead.",
        BUNDLE_FILES_LIMIT, count);
}

static enum err_code unpack(const void *zip, size_t length, const char *param,
                            struct bundle *ret_files, struct err *err)
{
    struct err why = {0};
    enum err_code rc = bundle_unpack(zip, length, ret_files, &why);

    if (rc == ERR_INVALID || rc == ERR_TOO_LARGE)
        return err_invalid(err, "invalid_value", param, "Invalid '%s': the zip: %s.", param,
                           why.text);
    if (rc)
        *err = why;
    return rc;
}

/* All files of the form; *ret_zip, if one of them is a zip. Among others it is a file of the skill. */
static enum err_code gather(const struct form *form, struct bundle *files, bool *ret_default,
                            const struct form_part **ret_zip, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < form->count; i++) {
        const struct form_part *part = &form->parts[i];
        bool file = is_files(part->name);
        enum err_code rc = file ? check_part(part, n, err) : read_field(part, ret_default, err);

        if (rc)
            return rc;
        if (!file)
            continue;
        if (n++ == BUNDLE_FILES_LIMIT)
            return too_many(form->count, err);
        if (is_zip(part))
            *ret_zip = part;
        bundle_add(files, part->filename, part->data.data, part->data.length);
    }
    if (!n)
        return param_missing(err, "files");
    return ERR_OK;
}

/* ---- The folder ---- */

/* SKILL.md, or SKILL.md in one folder. */
static bool is_manifest(const char *path)
{
    const char *slash = strchr(path, '/');

    return strcasecmp(slash ? slash + 1 : path, "SKILL.md") == 0;
}

static enum err_code find_manifest(const struct upload *upload,
                                   const struct bundle_file **ret_file, struct err *err)
{
    const struct bundle *files = upload->files;
    size_t found = 0;

    for (size_t i = 0; i < files->count; i++) {
        if (!is_manifest(files->list[i].path))
            continue;
        *ret_file = &files->list[i];
        found++;
    }
    if (found == 1)
        return ERR_OK;
    return err_invalid(
        err, "invalid_value", upload->param,
        "Invalid '%s': expected one SKILL.md at the top of one folder, but got %zu.",
        upload->param, found);
}

/* Text as it is, if it is UTF-8 without NUL, by the parser that will have to store it. */
static json_t *value_of(const struct buf *bytes)
{
    const char *data = bytes->data ? bytes->data : "";
    json_t *text = memchr(data, '\0', bytes->length) ? NULL : json_stringn(data, bytes->length);
    AUTO_BUF encoded = {0};

    if (text)
        return text;
    base64_add(&encoded, data, bytes->length);
    return json_build("{s:s%}", "base64", encoded.data, encoded.length);
}

/* The first `folder` bytes of its path are the folder of SKILL.md, with the slash. */
static enum err_code add_file(const struct upload *upload, size_t n, const char *folder,
                              size_t length, json_t *files, struct err *err)
{
    const struct bundle_file *file = &upload->files->list[n];

    if (strncmp(file->path, folder, length) != 0)
        return wrong(upload, n, "it is not in the folder of SKILL.md", err);
    if (json_object_get(files, file->path + length))
        return wrong(upload, n, "its path is given twice", err);
    json_set(files, file->path + length, value_of(&file->bytes));
    return ERR_OK;
}

static enum err_code read_files(const struct upload *upload, const struct bundle_file *manifest,
                                struct skill_row *row, struct err *err)
{
    const char *slash = strchr(manifest->path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - manifest->path) : 0;
    json_auto_t *files = json_object();
    size_t bytes = 0;

    for (size_t i = 0; i < upload->files->count; i++) {
        enum err_code rc = ERR_OK;

        if (&upload->files->list[i] == manifest)
            continue;
        rc = add_file(upload, i, manifest->path, folder, files, err);
        if (rc)
            return rc;
        bytes += upload->files->list[i].bytes.length;
    }
    if (bytes > BUNDLE_BYTES_LIMIT)
        return err_invalid(
            err, "invalid_value", upload->param,
            "Invalid '%s': the files beside SKILL.md have %zu bytes, at most %zu are kept.",
            upload->param, bytes, BUNDLE_BYTES_LIMIT);
    if (json_object_size(files))
        row->files = json_incref(files);
    return ERR_OK;
}

static enum err_code read_manifest(const struct upload *upload, const struct bundle_file *file,
                                   struct skill_row *row, struct err *err)
{
    AUTO_FREE char *text =
        mem_strndup(file->bytes.data ? file->bytes.data : "", file->bytes.length);
    json_auto_t *value = value_of(&file->bytes);
    enum err_code rc = param_length(text, upload->param, SKILL_FILE_LIMIT, err);

    if (!rc && !json_is_string(value))
        return wrong(upload, (size_t)(file - upload->files->list),
                     "SKILL.md must be text in UTF-8", err);
    return rc ? rc : skill_file_parse(text, upload->param, row, err);
}

static enum err_code read_folder(const struct upload *upload, struct skill_row *ret_row,
                                 struct err *err)
{
    const struct bundle_file *manifest = NULL;
    enum err_code rc = find_manifest(upload, &manifest, err);

    rc = rc ? rc : read_manifest(upload, manifest, ret_row, err);
    return rc ? rc : read_files(upload, manifest, ret_row, err);
}

enum err_code skill_upload_read(const struct form *form, struct skill_row *ret_row,
                                bool *ret_default, struct err *err)
{
    CLEANUP(bundle_clear) struct bundle files = {.count = 0};
    struct upload upload = {.files = &files, .param = "files"};
    const struct form_part *zip = NULL;
    enum err_code rc = gather(form, &files, ret_default, &zip, err);

    if (!rc && zip && files.count == 1) {
        upload.zipped = true;
        bundle_clear(&files);
        rc = unpack(zip->data.data, zip->data.length, upload.param, &files, err);
    }
    return rc ? rc : read_folder(&upload, ret_row, err);
}

enum err_code skill_zip_read(const void *zip, size_t length, const char *param,
                             struct skill_row *ret_row, struct err *err)
{
    CLEANUP(bundle_clear) struct bundle files = {.count = 0};
    const struct upload upload = {.files = &files, .param = param, .zipped = true};
    enum err_code rc = unpack(zip, length, param, &files, err);

    return rc ? rc : read_folder(&upload, ret_row, err);
}
