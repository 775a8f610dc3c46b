#include "server/params/skill_upload.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/skill_file.h"

/*
 * The files of a skill come as a form, the way OpenAI's SDKs send them: one part a file, its path as
 * the filename of the part.
 *
 * First each part by itself is checked, then the folder as a whole: one SKILL.md at its top, all
 * others beside or below that. The path is stored relative to SKILL.md, so the name of the client's
 * folder does not matter.
 *
 * Paths are strings here, never names in a file system. They are restricted as if they were, because
 * a client may unpack what it downloads: no "..", no empty names, no backslash, no control characters.
 * A zip would bring the same questions inside a compressed format, and a decompressor that a hostile
 * file can blow up, so it is refused with a hint.
 *
 * Everything must be text: the files exist to be read by a model. Their total is limited, since they
 * are one JSON value in one row.
 */

static enum err_code wrong(size_t n, const char *code, const char *what, struct err *err)
{
    const struct param_path at = param_index("files", n);

    return err_invalid(err, code, at.text, "Invalid '%s': %s.", at.text, what);
}

/* ---- Each part by itself ---- */

/* The SDKs append "[]" to a list in a form, plain forms do not. */
static bool is_files(const char *name)
{
    return strcmp(name, "files") == 0 || strcmp(name, "files[]") == 0;
}

/* By its type or by its first bytes: some clients send application/octet-stream. */
static bool is_zip(const struct form_part *part)
{
    static const char zip[] = "application/zip";

    return (part->type && strncasecmp(part->type, zip, strlen(zip)) == 0) ||
           (part->data.length >= 4 && memcmp(part->data.data, "PK\3\4", 4) == 0);
}

/* Names separated by slashes. No name is empty or made of dots only, and none has a control character. */
static bool is_path(const char *path)
{
    const char *name = path;
    size_t length;

    do {
        length = strcspn(name, "/");
        if (strspn(name, ".") >= length)
            return false;
        name += length + 1;
    } while (name[-1]);
    for (const char *byte = path; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7F || *byte == '\\')
            return false;
    return strlen(path) <= SKILL_UPLOAD_PATH_LIMIT;
}

/* Valid UTF-8 without NUL, by the parser that will have to store it. */
static bool is_text(const struct buf *data)
{
    const char *bytes = data->data ? data->data : "";
    json_auto_t *text = json_stringn(bytes, data->length);

    return text && !memchr(bytes, '\0', data->length);
}

static enum err_code check_part(const struct form_part *part, size_t n, struct err *err)
{
    if (!is_files(part->name))
        return err_invalid(err, "unknown_parameter", part->name, "Unknown parameter: '%.64s'.",
                           part->name);
    if (!part->filename)
        return wrong(n, "invalid_type", "expected a file, but got a field instead", err);
    if (is_zip(part))
        return wrong(n, "unsupported_value",
                     "this server opens no zip; send the files themselves, as 'files[]'", err);
    if (!is_path(part->filename))
        return wrong(n, "invalid_value",
                     "its filename is no path of at most 256 bytes in a folder", err);
    if (!is_text(&part->data))
        return wrong(n, "unsupported_value", "a file of a skill is text in UTF-8", err);
    return ERR_OK;
}

/* ---- The folder ---- */

/* SKILL.md, or SKILL.md in one folder. */
static bool is_manifest(const char *path)
{
    const char *slash = strchr(path, '/');

    return strcasecmp(slash ? slash + 1 : path, "SKILL.md") == 0;
}

static enum err_code find_manifest(const struct form *form, const struct form_part **ret_part,
                                   struct err *err)
{
    size_t found = 0;

    for (size_t i = 0; i < form->count; i++) {
        if (!is_manifest(form->parts[i].filename))
            continue;
        *ret_part = &form->parts[i];
        found++;
    }
    if (found == 1)
        return ERR_OK;
    return err_invalid(
        err, "invalid_value", "files",
        "Invalid 'files': expected one SKILL.md at the top of one folder, but got %zu.", found);
}

/* The first `folder` bytes of its path are the folder of SKILL.md, with the slash. */
static enum err_code add_file(const struct form_part *part, const struct form_part *manifest,
                              size_t folder, size_t n, json_t *files, struct err *err)
{
    const char *path = part->filename + folder;

    if (strncmp(part->filename, manifest->filename, folder) != 0)
        return wrong(n, "invalid_value", "it is not in the folder of SKILL.md", err);
    if (json_object_get(files, path))
        return wrong(n, "invalid_value", "its path is given twice", err);
    json_set(files, path,
             json_stringn(part->data.data ? part->data.data : "", part->data.length));
    return ERR_OK;
}

static enum err_code read_files(const struct form *form, const struct form_part *manifest,
                                struct skill_row *row, struct err *err)
{
    const char *slash = strchr(manifest->filename, '/');
    size_t folder = slash ? (size_t)(slash + 1 - manifest->filename) : 0;
    json_auto_t *files = json_object();
    size_t bytes = 0;

    for (size_t i = 0; i < form->count; i++) {
        const struct form_part *part = &form->parts[i];
        enum err_code rc;

        if (part == manifest)
            continue;
        rc = add_file(part, manifest, folder, i, files, err);
        if (rc)
            return rc;
        bytes += part->data.length;
    }
    if (bytes > SKILL_UPLOAD_BYTES_LIMIT)
        return err_invalid(
            err, "invalid_value", "files",
            "Invalid 'files': the files beside SKILL.md have %zu bytes, at most %zu are kept.",
            bytes, SKILL_UPLOAD_BYTES_LIMIT);
    if (json_object_size(files))
        row->files = json_incref(files);
    return ERR_OK;
}

static enum err_code read_manifest(const struct form_part *part, struct skill_row *row,
                                   struct err *err)
{
    AUTO_FREE char *text =
        mem_strndup(part->data.data ? part->data.data : "", part->data.length);
    enum err_code rc = param_length(text, "files", SKILL_FILE_LIMIT, err);

    return rc ? rc : skill_file_parse(text, "files", row, err);
}

enum err_code skill_upload_read(const struct form *form, struct skill_row *ret_row,
                                struct err *err)
{
    const struct form_part *manifest = NULL;
    enum err_code rc = ERR_OK;

    if (!form->count)
        return param_missing(err, "files");
    if (form->count > SKILL_UPLOAD_FILES_LIMIT)
        return err_invalid(
            err, "array_above_max_length", "files",
            "Invalid 'files': array too long. Expected an array with maximum length %zu, "
            "but got an array with length %zu instead.",
            SKILL_UPLOAD_FILES_LIMIT, form->count);
    for (size_t i = 0; !rc && i < form->count; i++)
        rc = check_part(&form->parts[i], i, err);
    if (!rc)
        rc = find_manifest(form, &manifest, err);
    if (!rc)
        rc = read_manifest(manifest, ret_row, err);
    return rc ? rc : read_files(form, manifest, ret_row, err);
}
