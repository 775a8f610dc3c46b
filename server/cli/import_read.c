#include "server/cli/import_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/file_name.h"
#include "core/tool/files_view.h"
#include "server/params/assistants/assistant_body.h"
#include "server/params/assistants/messages.h"
#include "server/params/params.h"

#define PURPOSE_LIMIT ((size_t)64)
#define LATEST_TIME   ((json_int_t)253402300799) /* the end of the year 9999 */

/*
 * An imported object is what an API has shown, not what a client would send. So the decoders of requests
 * (params/assistants) do not fit: they make new ids and times, refuse what only a server sets, and
 * expect text as a string where the API shows {"value", "annotations"}. What can be shared is: the
 * check of an assistant's members, limits, and the reading of keys.
 *
 * There are three answers to something unexpected:
 *
 *   refuse     the object would be of no use, or break a later read: no id, no time, a bad role
 *   leave out  a part that this server cannot show; a note says so
 *   keep       a reference to something that is elsewhere, such as the id of a file, with a note: the
 *              text around it refers to it
 *
 * Notes are lines of text for a person. They are collected per object, because the report shows them only
 * if the object was created by this import.
 *
 * A message becomes an item in the form of the Responses API, like any message of a thread
 * (params/assistants/messages.c). Runs are not imported: a message keeps the id of its run, and
 * nothing more.
 */

/* ---- What every object has ---- */

static void note(struct import_notes *notes, const char *format, ...) PRINTF_LIKE(2, 3);

static void note(struct import_notes *notes, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buf_add_text(&notes->text, text);
    buf_add_char(&notes->text, '\n');
}

static bool is_among(const char *const *words, const char *word)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static void note_unknown(json_t *object, const char *const *known, struct import_notes *notes)
{
    const char *key;
    json_t *value;

    json_object_foreach (object, key, value)
        if (!json_is_null(value) && !is_among(known, key))
            note(notes, "'%.64s' was left out: there is no such field", key);
}

static enum err_code read_id(const json_t *object, const char *key, const char *prefix,
                             size_t size, char *ret_id, struct err *err)
{
    const char *id = NULL;
    enum err_code rc = param_string(object, "", key, PARAM_REQUIRED, size - 1, &id, err);

    if (!rc)
        rc = param_id(id, prefix, key, err);
    if (!rc)
        (void)snprintf(ret_id, size, "%s", id);
    return rc;
}

/* An optional id. One that is malformed is left out, with a note. */
static void read_reference(const json_t *object, const char *key, const char *prefix,
                           char ret_id[ID_SIZE], struct import_notes *notes)
{
    if (json_absent(json_object_get(object, key)))
        return;
    if (read_id(object, key, prefix, ID_SIZE, ret_id, NULL))
        note(notes, "'%s' was left out: it is no ID that begins with '%s'", key, prefix);
}

/* 0 if it is missing. */
static enum err_code read_time(const json_t *object, const char *key, int64_t *ret_time,
                               struct err *err)
{
    json_int_t seconds = 0;
    enum err_code rc = param_int(object, "", key, 1, LATEST_TIME, &seconds, err);

    *ret_time = seconds * US_PER_SECOND;
    return rc;
}

static enum err_code read_created_at(const json_t *object, int64_t *ret_time, struct err *err)
{
    enum err_code rc = read_time(object, "created_at", ret_time, err);

    if (!rc && !*ret_time)
        return param_missing(err, "created_at");
    return rc;
}

/* "{}" if it is missing. */
static enum err_code read_metadata(const json_t *object, char **ret_text, struct err *err)
{
    json_t *metadata = NULL;
    enum err_code rc = param_metadata(object, &metadata, err);

    if (!rc)
        *ret_text = metadata ? json_text(metadata) : mem_strdup("{}");
    return rc;
}

/* ---- Files: their ids are kept, also of those that are missing ---- */

static void note_file(struct import_notes *notes, const char *where, const char *id)
{
    if (!json_object_get(notes->known, id))
        note(notes, "%s names %s, which was not imported", where, id);
}

static void note_files(json_t *list, const char *where, struct import_notes *notes)
{
    size_t i;
    json_t *id;

    json_array_foreach (list, i, id)
        note_file(notes, where, json_string_value(id));
}

/* NULL if they are missing or malformed. Borrowed. */
static json_t *read_resources(const json_t *object, struct import_notes *notes)
{
    json_t *resources = json_object_get(object, "tool_resources");
    struct err err;
    const char *tool;
    json_t *resource;

    if (json_absent(resources))
        return NULL;
    if (files_view_check_resources(resources, "tool_resources", &err)) {
        note(notes, "'tool_resources' was left out: %s", err.text);
        return NULL;
    }
    json_object_foreach (resources, tool, resource) {
        note_files(json_object_get(resource, "file_ids"), "tool_resources", notes);
        note_files(json_object_get(resource, "vector_store_ids"), "tool_resources", notes);
    }
    return resources;
}

/* A file whose bytes are elsewhere (import_files.h). An old one may lack a member that is required today. */
enum err_code import_read_file(json_t *object, struct file_row *ret_row,
                               struct import_notes *notes, struct err *err)
{
    static const char *const known[] = {
        "id",      "object",     "bytes",  "created_at",     "filename",
        "purpose", "expires_at", "status", "status_details", NULL};
    const char *filename = NULL, *purpose = NULL;
    json_int_t bytes = 0;
    enum err_code rc;

    *ret_row = (struct file_row){0};
    rc = read_id(object, "id", "file-", sizeof(ret_row->id), ret_row->id, err);
    if (!rc)
        rc = read_created_at(object, &ret_row->created_at, err);
    if (!rc)
        rc = read_time(object, "expires_at", &ret_row->expires_at, err);
    if (!rc && ret_row->expires_at && ret_row->expires_at <= clock_wall_us())
        rc = err_set(err, ERR_INVALID, "has expired");
    if (!rc)
        rc = param_string(object, "", "filename", PARAM_REQUIRED, 0, &filename, err);
    if (!rc)
        rc = param_string(object, "", "purpose", PARAM_REQUIRED, PURPOSE_LIMIT, &purpose, err);
    if (!rc)
        rc = param_int(object, "", "bytes", 0, INT64_MAX, &bytes, err);
    if (rc)
        return rc;
    ret_row->filename = file_name_kept(filename);
    ret_row->purpose = mem_strdup(purpose);
    ret_row->bytes = (uint64_t)bytes;
    note_unknown(object, known, notes);
    return ERR_OK;
}

/* ---- Vector stores ---- */

enum err_code import_read_store(json_t *object, struct vector_store_row *ret_row,
                                struct import_notes *notes, struct err *err)
{
    static const char *const known[] = {"id",          "object",        "created_at",
                                        "name",        "description",   "metadata",
                                        "usage_bytes", "file_counts",   "status",
                                        "expires_at",  "expires_after", "last_active_at",
                                        NULL};
    const char *name = NULL, *description = NULL;
    enum err_code rc;

    *ret_row = (struct vector_store_row){0};
    rc = read_id(object, "id", "vs_", sizeof(ret_row->id), ret_row->id, err);
    if (!rc)
        rc = read_created_at(object, &ret_row->created_at, err);
    if (!rc && strcmp(json_get_string(object, "status", ""), "expired") == 0)
        rc = err_set(err, ERR_INVALID, "has expired");
    if (!rc)
        rc = param_string(object, "", "name", PARAM_OPTIONAL, VECTOR_STORE_NAME_LIMIT, &name,
                          err);
    if (!rc)
        rc = param_string(object, "", "description", PARAM_OPTIONAL,
                          VECTOR_STORE_DESCRIPTION_LIMIT, &description, err);
    if (!rc)
        rc = expires_after_read(object, &ret_row->expires_days, err);
    if (!rc)
        rc = read_metadata(object, &ret_row->metadata, err);
    if (rc)
        return rc;
    ret_row->name = mem_strdup(name ? name : "");
    ret_row->description = mem_strdup(description);
    note_unknown(object, known, notes);
    return ERR_OK;
}

/* Its chunking is kept if it is one that a request may name. */
enum err_code import_read_store_file(json_t *object, char ret_store_id[ID_LIMIT + 1],
                                     json_t **ret_body, struct file_list *ret_file,
                                     struct import_notes *notes, struct err *err)
{
    static const char *const known[] = {"id",         "object",      "created_at",
                                        "status",     "usage_bytes", "vector_store_id",
                                        "attributes", "last_error",  "chunking_strategy",
                                        NULL};
    json_t *chunking = json_object_get(object, "chunking_strategy");
    bool chosen = strcmp(json_get_string(chunking, "type", ""), "static") == 0;
    char file_id[ID_LIMIT + 1];
    enum err_code rc =
        read_id(object, "vector_store_id", "vs_", ID_LIMIT + 1, ret_store_id, err);

    *ret_file = (struct file_list){0};
    if (!rc)
        rc = read_id(object, "id", "file-", sizeof(file_id), file_id, err);
    if (rc)
        return rc;
    note_unknown(object, known, notes);
    *ret_body = json_build("{s:s, s:O?, s:O?}", "file_id", file_id, "attributes",
                           json_object_get(object, "attributes"), "chunking_strategy",
                           chosen ? chunking : NULL);
    return store_file_read_body(*ret_body, ret_file, err);
}

/* ---- Assistants ---- */

static void note_unknown_of_assistant(json_t *object, struct import_notes *notes)
{
    static const char *const made[] = {"id", "object", "created_at", NULL};
    json_auto_t *rest = json_copy(object);

    for (size_t i = 0; assistant_member_names[i]; i++)
        (void)json_object_del(rest, assistant_member_names[i]);
    note_unknown(rest, made, notes);
}

/* model_dump() of OpenAI's Python SDK writes `schema_`, its attribute, where to_json() writes `schema`. */
static void rename_schema(json_t *object)
{
    json_t *format = json_object_get(object, "response_format");
    json_t *holder = json_object_get(format, "json_schema");
    json_t *schema = json_object_get(holder, "schema_");

    if (!schema || json_object_get(holder, "schema"))
        return;
    json_object_set(holder, "schema", schema);
    (void)json_object_del(holder, "schema_");
}

enum err_code import_read_assistant(json_t *object, struct assistant_row *ret_row,
                                    struct import_notes *notes, struct err *err)
{
    json_auto_t *members = assistant_members(object);
    const char *model = NULL;
    enum err_code rc;

    *ret_row = (struct assistant_row){0};
    rename_schema(members);
    rc = read_id(object, "id", "asst_", sizeof(ret_row->id), ret_row->id, err);
    if (!rc)
        rc = read_created_at(object, &ret_row->created_at, err);
    if (!rc)
        rc = param_string(object, "", "model", PARAM_REQUIRED, 0, &model, err);
    if (rc)
        return rc;
    if (!read_resources(object, notes))
        (void)json_object_del(members, "tool_resources");
    rc = assistant_check(members, err);
    if (rc)
        return rc;
    note_unknown_of_assistant(object, notes);
    ret_row->body = json_text(members);
    return ERR_OK;
}

/* ---- Threads ---- */

enum err_code import_read_thread(json_t *object, struct thread_row *ret_row,
                                 struct import_notes *notes, struct err *err)
{
    static const char *const known[] = {"id",       "object",         "created_at",
                                        "metadata", "tool_resources", NULL};
    const json_t *resources;
    enum err_code rc;

    *ret_row = (struct thread_row){0};
    rc = read_id(object, "id", "thread_", sizeof(ret_row->id), ret_row->id, err);
    if (!rc)
        rc = read_created_at(object, &ret_row->created_at, err);
    if (!rc)
        rc = read_metadata(object, &ret_row->metadata, err);
    if (rc)
        return rc;
    note_unknown(object, known, notes);
    resources = read_resources(object, notes);
    ret_row->tool_resources = resources ? json_text(resources) : mem_strdup("{}");
    return ERR_OK;
}

/* ---- The content of a message ---- */

/* One part of a message's content. */
struct part {
    json_t *json;
    const char *path;
    const char *role;
};

/* A file_citation or file_path in the stored form, which is flat; NULL for other types. */
static json_t *read_annotation(const json_t *annotation, const char *path,
                               struct import_notes *notes)
{
    const char *type = json_get_string(annotation, "type", "");
    const char *file = json_get_string(json_object_get(annotation, type), "file_id", NULL);

    if (!file || (strcmp(type, "file_citation") != 0 && strcmp(type, "file_path") != 0)) {
        note(notes, "%s: an annotation of type '%.64s' was left out", path, type);
        return NULL;
    }
    note_file(notes, path, file);
    return json_build("{s:s, s:s, s:s, s:I, s:I}", "type", type, "file_id", file, "text",
                      json_get_string(annotation, "text", ""), "start_index",
                      json_get_int(annotation, "start_index", 0), "end_index",
                      json_get_int(annotation, "end_index", 0));
}

static json_t *read_annotations(json_t *annotations, const char *path,
                                struct import_notes *notes)
{
    json_t *list = json_array();
    size_t i;
    json_t *annotation;

    json_array_foreach (annotations, i, annotation) {
        json_t *read = read_annotation(annotation, path, notes);

        if (read)
            json_array_append_new(list, read);
    }
    return list;
}

/* In requests the text is a string, in answers an object with annotations. Dumps have both. */
static enum err_code read_text(const struct part *part, json_t **ret_part,
                               struct import_notes *notes, struct err *err)
{
    json_t *text = json_object_get(part->json, "text");
    struct param_path path = param_key(part->path, "text");
    bool by_assistant = strcmp(part->role, "assistant") == 0;
    const char *value = NULL;
    enum err_code rc;

    if (json_is_string(text))
        rc = param_string(part->json, part->path, "text", PARAM_OPTIONAL, MESSAGE_TEXT_LIMIT,
                          &value, err);
    else
        rc = param_string(text, path.text, "value", PARAM_OPTIONAL, MESSAGE_TEXT_LIMIT, &value,
                          err);
    if (rc || !value)
        return rc;
    *ret_part =
        json_build("{s:s, s:s, s:o}", "type", by_assistant ? "output_text" : "input_text",
                   "text", value, "annotations",
                   read_annotations(json_object_get(text, "annotations"), part->path, notes));
    if (by_assistant)
        json_set(*ret_part, "logprobs", json_array());
    return ERR_OK;
}

static json_t *image_part(const json_t *image, const char *key, const char *value)
{
    return json_build("{s:s, s:s, s:s}", "type", "input_image", key, value, "detail",
                      json_get_string(image, "detail", "auto"));
}

static enum err_code read_image_url(const struct part *part, json_t **ret_part,
                                    struct import_notes *notes, struct err *err)
{
    const json_t *image = json_object_get(part->json, "image_url");
    const char *url = json_get_string(image, "url", NULL);

    (void)notes;
    (void)err;
    if (url)
        *ret_part = image_part(image, "image_url", url);
    return ERR_OK;
}

static enum err_code read_image_file(const struct part *part, json_t **ret_part,
                                     struct import_notes *notes, struct err *err)
{
    const json_t *image = json_object_get(part->json, "image_file");
    const char *file = json_get_string(image, "file_id", NULL);

    (void)err;
    if (!file)
        return ERR_OK;
    note_file(notes, part->path, file);
    *ret_part = image_part(image, "file_id", file);
    return ERR_OK;
}

static enum err_code read_refusal(const struct part *part, json_t **ret_part,
                                  struct import_notes *notes, struct err *err)
{
    const char *refusal = NULL;
    enum err_code rc = param_string(part->json, part->path, "refusal", PARAM_OPTIONAL,
                                    MESSAGE_TEXT_LIMIT, &refusal, err);

    (void)notes;
    if (!rc && refusal)
        *ret_part = json_build("{s:s, s:s}", "type", "refusal", "refusal", refusal);
    return rc;
}

/* clang-format off */
static const struct {
    const char *type;
    enum err_code (*read)(const struct part *part, json_t **ret_part, struct import_notes *notes,
                          struct err *err);
} part_types[] = {
    {"text",       read_text},
    {"image_url",  read_image_url},
    {"image_file", read_image_file},
    {"refusal",    read_refusal},
};
/* clang-format on */

static enum err_code read_part(const struct part *part, json_t *content,
                               struct import_notes *notes, struct err *err)
{
    const char *type = json_get_string(part->json, "type", "");
    json_t *read = NULL;
    enum err_code rc = ERR_OK;

    for (size_t i = 0; i < COUNT_OF(part_types); i++)
        if (strcmp(part_types[i].type, type) == 0)
            rc = part_types[i].read(part, &read, notes, err);
    if (rc)
        return rc;
    if (read)
        json_array_append_new(content, read);
    else
        note(notes, "%s was left out: a part of type '%.64s' that cannot be kept", part->path,
             type);
    return ERR_OK;
}

static enum err_code read_content(json_t *object, const char *role, json_t *content,
                                  struct import_notes *notes, struct err *err)
{
    json_t *parts = NULL;
    size_t i;
    json_t *json;
    enum err_code rc =
        param_array(object, "", "content", PARAM_REQUIRED, MESSAGE_PART_LIMIT, &parts, err);

    if (rc)
        return rc;
    json_array_foreach (parts, i, json) {
        struct param_path path = param_index("content", i);
        const struct part part = {.json = json, .path = path.text, .role = role};

        rc = read_part(&part, content, notes, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static json_t *attachment_tools(json_t *attachment)
{
    json_t *kept = json_array();
    size_t i;
    json_t *tool;

    json_array_foreach (json_object_get(attachment, "tools"), i, tool) {
        const char *type = json_get_string(tool, "type", "");

        if (strcmp(type, "code_interpreter") == 0 || strcmp(type, "file_search") == 0)
            json_array_append_new(kept, json_build("{s:s}", "type", type));
    }
    return kept;
}

static json_t *read_attachments(const json_t *object, struct import_notes *notes)
{
    json_t *kept = json_array();
    size_t i;
    json_t *attachment;

    json_array_foreach (json_object_get(object, "attachments"), i, attachment) {
        const char *file = json_get_string(attachment, "file_id", NULL);
        struct param_path path = param_index("attachments", i);

        if (!file) {
            note(notes, "%s was left out: it names no file", path.text);
            continue;
        }
        note_file(notes, path.text, file);
        json_array_append_new(kept, json_build("{s:s, s:o}", "file_id", file, "tools",
                                               attachment_tools(attachment)));
    }
    return kept;
}

/* ---- Messages ---- */

/* A message that was in progress when the dump was made is incomplete: no run here continues it. */
static void read_status(json_t *object, struct item_row *row, json_t *body,
                        struct import_notes *notes)
{
    static const char *const reasons[] = {"content_filter", "max_tokens", "run_cancelled",
                                          "run_expired",    "run_failed", NULL};
    const char *status = json_get_string(object, "status", "completed");
    const char *reason =
        json_get_string(json_object_get(object, "incomplete_details"), "reason", "");
    const char *ended = "completed_at";

    row->status = ITEM_COMPLETED;
    if (strcmp(status, "completed") != 0) {
        row->status = ITEM_INCOMPLETE;
        ended = "incomplete_at";
        if (!is_among(reasons, reason))
            reason = "run_failed";
        json_set(body, "runnel", json_build("{s:s}", "incomplete_reason", reason));
    }
    if (strcmp(status, "in_progress") == 0)
        note(notes, "was still being written; it is incomplete");
    if (read_time(object, ended, &row->completed_at, NULL) || !row->completed_at)
        row->completed_at = row->created_at;
}

static enum err_code read_body(json_t *object, struct item_row *row, struct import_notes *notes,
                               struct err *err)
{
    json_auto_t *content = json_array();
    json_auto_t *body = NULL;
    enum err_code rc = read_content(object, row->role, content, notes, err);

    if (rc)
        return rc;
    body = json_build("{s:s, s:O, s:o}", "role", row->role, "content", content, "attachments",
                      read_attachments(object, notes));
    read_status(object, row, body, notes);
    row->body = json_text(body);
    return ERR_OK;
}

enum err_code import_read_message(json_t *object, struct item_row *ret_row,
                                  struct import_notes *notes, struct err *err)
{
    static const char *const roles[] = {"user", "assistant", NULL};
    static const char *const known[] = {"id",
                                        "object",
                                        "created_at",
                                        "thread_id",
                                        "role",
                                        "content",
                                        "attachments",
                                        "metadata",
                                        "status",
                                        "completed_at",
                                        "assistant_id",
                                        "incomplete_at",
                                        "run_id",
                                        "incomplete_details",
                                        NULL};
    const char *role = NULL;
    enum err_code rc;

    *ret_row = (struct item_row){.type = ITEM_MESSAGE, .input = true, .turn = -1};
    rc = read_id(object, "id", "msg_", sizeof(ret_row->id), ret_row->id, err);
    if (!rc)
        rc = read_id(object, "thread_id", "thread_", sizeof(ret_row->thread_id),
                     ret_row->thread_id, err);
    if (!rc)
        rc = read_created_at(object, &ret_row->created_at, err);
    if (!rc)
        rc = param_enum(object, "", "role", PARAM_REQUIRED, roles, &role, err);
    if (rc)
        return rc;
    (void)snprintf(ret_row->role, sizeof(ret_row->role), "%s", role);
    read_reference(object, "assistant_id", "asst_", ret_row->assistant_id, notes);
    read_reference(object, "run_id", "run_", ret_row->run_id, notes);
    note_unknown(object, known, notes);
    rc = read_metadata(object, &ret_row->metadata, err);
    return rc ? rc : read_body(object, ret_row, notes, err);
}
