#include "server/params/responses/response_input.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/item.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/remember_params.h"
#include "server/params/responses/input_items.h"

/*
 * From `input` to rows, in two passes over the same list.
 *
 * response_input_check() runs first and needs nothing but the body: a request with a bad item is
 * refused before a query is made. Then the context is loaded, references are looked up, and
 * response_input_decode() makes the rows. It checks again, item by item, which costs little and leaves
 * one function that cannot be called with an unchecked list.
 *
 * Input items get new ids. A client replays its conversation with the ids that it was shown, and the
 * same item may be input of many responses. With its old id, the second one would collide with the
 * first in the store.
 *
 * Some of what a client sends must not be believed or kept:
 *
 *   status     a replayed item is over; only failed and incomplete stay what they were
 *   notes      "runnel" of an item is what this server has noted about its own calls, such as a result
 *              that waits for approval; a client's version is removed
 *   secrets    tools within an item never reach a server, so their keys are dropped at once
 */

/* A string is short for one text part, whose type depends on who speaks. New reference. */
static json_t *full_content(json_t *content, const char *role)
{
    bool output = strcmp(role, "assistant") == 0;
    json_t *part;

    if (!json_is_string(content))
        return json_incref(content);
    part = json_build("{s:s, s:O}", "type", output ? "output_text" : "input_text", "text",
                      content);
    if (output) {
        json_set(part, "annotations", json_array());
        json_set(part, "logprobs", json_array());
    }
    return json_build("[o]", part);
}

/* ---- Items ---- */

/* The row of an input item, with a new id. */
static void init_row(struct item_row *row, enum item_type type, const char *run_id)
{
    memset(row, 0, sizeof(*row));
    id_make(row->id, item_type_prefix(type));
    row->type = type;
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", run_id);
    row->input = true;
    row->turn = -1;
    row->status = ITEM_COMPLETED;
    row->created_at = row->completed_at = clock_wall_us();
}

static enum err_code decode_call_id(const json_t *item, const struct input_type *type,
                                    const char *path, struct item_row *row, struct err *err)
{
    bool is_search =
        type->type == ITEM_TOOL_SEARCH_CALL || type->type == ITEM_TOOL_SEARCH_OUTPUT;
    const char *call_id = NULL;
    enum err_code rc;

    if (!item_type_is_client_call(type->type) && !item_type_is_output(type->type))
        return ERR_OK;
    /* A tool search may have been the server's own. Then it has no call id, and needs no output. */
    if (is_search && json_absent(json_object_get(item, "call_id")))
        return ERR_OK;
    /* OpenAI's local_shell_call_output has no `call_id`: its `id` is that of the call. */
    if (!json_object_get(item, "call_id") && type->type == ITEM_LOCAL_SHELL_CALL_OUTPUT)
        call_id = json_get_string(item, "id", NULL);
    if (!call_id) {
        rc = param_string(item, path, "call_id", PARAM_REQUIRED, ID_LIMIT, &call_id, err);
        if (rc)
            return rc;
    }
    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    return ERR_OK;
}

/* A failed or incomplete item stays so. Any other is completed: in_progress was true when the client saw
 * it, and is not any more. */
static enum item_status replayed_status(const json_t *item)
{
    const char *status = json_get_string(item, "status", "completed");

    if (strcmp(status, "incomplete") == 0)
        return ITEM_INCOMPLETE;
    return strcmp(status, "failed") == 0 ? ITEM_FAILED : ITEM_COMPLETED;
}

/* An item without a type is a message if it has a role: OpenAI's short form. */
static const char *type_name(const json_t *item)
{
    const char *name = json_get_string(item, "type", NULL);

    return !name && json_object_get(item, "role") ? "message" : name;
}

static enum err_code find_type(const json_t *item, const char *path,
                               const struct input_type **ret_type, struct err *err)
{
    struct param_path at = param_key(path, "type");
    const json_t *type = json_object_get(item, "type");
    const char *name;

    if (!json_is_object(item))
        return param_wrong_type(err, path, "an object", item);
    if (!json_absent(type) && !json_is_string(type))
        return param_wrong_type(err, at.text, "a string", type);
    name = type_name(item);
    if (!name)
        return param_missing(err, at.text);
    *ret_type = input_type_find(item_type_parse(name));
    return *ret_type ? ERR_OK : input_type_unknown(err, at.text, name);
}

/* Removes keys of remote servers from the tools of an item: an item never opens a session. */
static void drop_secrets(json_t *tools)
{
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        if (strcmp(json_get_string(tool, "type", ""), "mcp") != 0)
            continue;
        json_object_del(tool, "authorization");
        json_object_del(tool, "headers");
    }
}

/* The body as it is stored: without the members that have columns, without notes and secrets, completed. */
static json_t *kept_body(const json_t *item, const struct input_type *type)
{
    json_t *body = json_deep_copy(item);

    json_object_del(body, "id");
    json_object_del(body, "type");
    json_object_del(body, "status");
    item_hide_notes(body);
    drop_secrets(json_object_get(body, "tools"));
    input_item_complete(body, type);
    return body;
}

static enum err_code check_message(const json_t *item, const char *path, struct err *err)
{
    static const char *const roles[] = {"user", "assistant", "system", "developer", NULL};
    struct param_path at = param_key(path, "content");
    const char *role = NULL;
    enum err_code rc = param_enum(item, path, "role", PARAM_REQUIRED, roles, &role, err);

    return rc ? rc : input_content_check(json_object_get(item, "content"), at.text, err);
}

static enum err_code check_item(const json_t *item, const char *path,
                                const struct input_type **ret_type, struct err *err)
{
    const struct input_type *type = NULL;
    const char *id = NULL;
    enum err_code rc = find_type(item, path, &type, err);

    if (!rc)
        rc = param_string(item, path, "id", PARAM_OPTIONAL, ID_LIMIT, &id, err);
    if (!rc)
        rc = input_item_check(item, type, path, err);
    if (!rc && type->type == ITEM_MESSAGE)
        rc = check_message(item, path, err);
    if (!rc && type->type == ITEM_MCP_APPROVAL_RESPONSE)
        rc = remember_params_check(item, path, err);
    if (!rc)
        *ret_type = type;
    return rc;
}

static void set_message(struct item_row *row, json_t *body)
{
    const char *role = json_get_string(body, "role", "");

    (void)snprintf(row->role, sizeof(row->role), "%s", role);
    json_set(body, "content", full_content(json_object_get(body, "content"), role));
}

static enum err_code decode_item(const json_t *item, const char *path, const char *run_id,
                                 struct item_row *ret_row, struct err *err)
{
    const struct input_type *type = NULL;
    json_auto_t *body = NULL;
    enum err_code rc = check_item(item, path, &type, err);

    if (rc)
        return rc;
    init_row(ret_row, type->type, run_id);
    ret_row->status = replayed_status(item);
    rc = decode_call_id(item, type, path, ret_row, err);
    if (rc)
        return rc;
    body = kept_body(item, type);
    if (type->type == ITEM_MESSAGE)
        set_message(ret_row, body);
    ret_row->body = json_text(body);
    return ERR_OK;
}

/* ---- References ---- */

/* The state of decoding one list. */
struct reading {
    const char *path; /* of the list */
    const char *run_id;
    const struct item_references *references;
    json_t *named; /* {id: true} of the references so far */
    struct item_row *rows;
    size_t count;
};

static enum err_code fail_reference(const struct reading *reading, const char *id,
                                    struct err *err)
{
    return err_set_api(
        err, ERR_NOT_FOUND, NULL, reading->path,
        "Item with id '%s' not found. Items are not persisted when `store` is set "
        "to false. Try again with `store` set to true, or remove this item from "
        "your input.",
        id);
}

/* A referenced item becomes new input: what the client could have sent, with a new id. */
static void copy_row(struct item_row *row, const struct item_row *original, const char *run_id)
{
    init_row(row, original->type, run_id);
    memcpy(row->other_type, original->other_type, sizeof(row->other_type));
    memcpy(row->role, original->role, sizeof(row->role));
    memcpy(row->call_id, original->call_id, sizeof(row->call_id));
    row->status = original->status;
    row->body = mem_strdup(original->body);
    item_row_find_picture(row);
}

/* A reference into the context adds nothing, and *ret_row stays empty: the model sees the item there. */
static enum err_code decode_reference(struct reading *reading, const json_t *item,
                                      const char *path, struct item_row *ret_row,
                                      struct err *err)
{
    const struct item_row *original;
    const char *id = NULL;
    enum err_code rc = param_string(item, path, "id", PARAM_REQUIRED, ID_LIMIT, &id, err);

    if (rc)
        return rc;
    if (json_object_get(reading->named, id))
        return err_set_api(err, ERR_INVALID, NULL, reading->path,
                           "Duplicate item found with id %s. Remove duplicate items from your "
                           "input and try again.",
                           id);
    json_object_set_new(reading->named, id, json_true());
    if (item_references_in_context(reading->references, id))
        return ERR_OK;
    original = item_references_find(reading->references, id);
    if (!original)
        return fail_reference(reading, id, err);
    copy_row(ret_row, original, reading->run_id);
    return ERR_OK;
}

/* Decodes one entry. `count` grows only by a row that was filled in, so item_rows_free() can release what
 * there is at any time. */
static enum err_code decode_one(struct reading *reading, const json_t *item, const char *path,
                                struct err *err)
{
    struct item_row *row = &reading->rows[reading->count];
    enum err_code rc = item_is_reference(item)
                           ? decode_reference(reading, item, path, row, err)
                           : decode_item(item, path, reading->run_id, row, err);

    if (rc || !*row->id)
        return rc;
    row->position = (int64_t)reading->count;
    row->model_index = (int)reading->count;
    reading->count++;
    return ERR_OK;
}

/* The rows of an array. The caller frees. */
static enum err_code decode_list(const json_t *input, const char *at, const char *run_id,
                                 const struct item_references *references,
                                 struct item_row **ret_rows, size_t *ret_count, struct err *err)
{
    json_auto_t *named = json_object();
    struct reading reading = {
        .path = at, .run_id = run_id, .references = references, .named = named};
    size_t i;
    json_t *item;

    reading.rows = mem_new_array(struct item_row, json_array_size(input));
    json_array_foreach (input, i, item) {
        struct param_path path = param_index(at, i);
        enum err_code rc = decode_one(&reading, item, path.text, err);

        if (rc) {
            item_rows_free(reading.rows, reading.count);
            return rc;
        }
    }
    *ret_rows = reading.rows;
    *ret_count = reading.count;
    return ERR_OK;
}

/* An input that is a string is one message of the user. */
static void text_input(const json_t *input, const char *run_id, struct item_row *row)
{
    json_auto_t *text = json_deep_copy(input);
    json_auto_t *body =
        json_build("{s:s, s:o}", "role", "user", "content", full_content(text, "user"));

    init_row(row, ITEM_MESSAGE, run_id);
    (void)snprintf(row->role, sizeof(row->role), "user");
    row->body = json_text(body);
}

static enum err_code check_length(const json_t *input, struct err *err)
{
    if (json_array_size(input) <= INPUT_ITEM_LIMIT)
        return ERR_OK;
    return err_invalid(err, "array_above_max_length", "input",
                       "Invalid 'input': array too long. Expected an array with maximum length "
                       "%zu, but got an array with length %zu instead.",
                       INPUT_ITEM_LIMIT, json_array_size(input));
}

enum err_code response_input_check(const json_t *input, struct err *err)
{
    enum err_code rc;
    size_t i;
    json_t *item;

    if (json_absent(input))
        return ERR_OK;
    if (json_is_string(input))
        return param_length(json_string_value(input), "input", INPUT_TEXT_LIMIT, err);
    if (!json_is_array(input))
        return param_wrong_type(err, "input", "one of a string or an array of objects", input);
    rc = check_length(input, err);
    json_array_foreach (input, i, item) {
        struct param_path path = param_index("input", i);
        const struct input_type *type = NULL;

        if (!rc && !item_is_reference(item))
            rc = check_item(item, path.text, &type, err);
    }
    return rc;
}

enum err_code response_input_decode(const json_t *input, const char *run_id,
                                    const struct item_references *references,
                                    struct item_row **ret_items, size_t *ret_count,
                                    struct err *err)
{
    enum err_code rc;

    *ret_items = NULL;
    *ret_count = 0;
    if (json_is_array(input)) {
        rc = check_length(input, err);
        return rc ? rc
                  : decode_list(input, "input", run_id, references, ret_items, ret_count, err);
    }
    rc = response_input_check(input, err);
    if (rc || json_absent(input) || !*json_string_value(input))
        return rc;
    *ret_items = mem_new(struct item_row);
    text_input(input, run_id, *ret_items);
    *ret_count = 1;
    return ERR_OK;
}

enum err_code response_items_decode(const json_t *object, const char *key, enum param_need need,
                                    size_t limit, const struct item_references *references,
                                    struct item_row **ret_items, size_t *ret_count,
                                    struct err *err)
{
    json_t *items = NULL;
    enum err_code rc = param_array(object, "", key, need, limit, &items, err);

    if (rc)
        return rc;
    return decode_list(items, key, "", references, ret_items, ret_count, err);
}
