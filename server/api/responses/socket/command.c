/*
 * A client's message as a command.
 *
 * The protocol is that of OpenAI's Responses API over WebSocket. A message is one JSON object in one
 * text message. `response.create` has the members of a POST beside its `type`; `response.steer`
 * adds input to a response that is still running.
 *
 * Two kinds of refusal. A message that cannot be attributed to a response is answered by an `error`
 * event. A steer with a target and an input is answered by `response.steer.failed`, which carries the
 * input back, so that the client can send it again as a normal turn. That is why parse_steer()
 * returns ERR_OK with a complaint.
 *
 * Parsing runs on a worker, because a message may have megabytes. Nothing here touches a session.
 */

#include "server/api/responses/socket/command.h"

#include <stdio.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/rows.h"
#include "server/complaint.h"
#include "server/http/parse/json_nul.h"
#include "server/params/params.h"
#include "server/params/responses/response_input.h"

#define TYPE_CREATE "response.create"
#define TYPE_STEER  "response.steer"

/* ---- The lane ---- */

static bool is_lane(const char *text)
{
    size_t length =
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

    return length && length <= WS_LANE_LIMIT && !text[length];
}

static enum err_code parse_lane(const json_t *body, char ret_lane[WS_LANE_LIMIT + 1],
                                struct err *err)
{
    const json_t *lane = json_object_get(body, "stream_id");

    if (!lane)
        return ERR_OK;
    if (!json_is_string(lane))
        return param_wrong_type(err, "stream_id", "a string", lane);
    if (!is_lane(json_string_value(lane)))
        return err_invalid(
            err, "invalid_value", "stream_id",
            "Invalid 'stream_id': expected 1 to 256 letters, digits, underscores, "
            "periods or dashes.");
    (void)snprintf(ret_lane, WS_LANE_LIMIT + 1, "%s", json_string_value(lane));
    return ERR_OK;
}

/* ---- response.create ---- */

static enum err_code unsupported(struct err *err, const char *param)
{
    return err_invalid(err, "unsupported_parameter", param,
                       "Unsupported parameter: '%s' is not supported over WebSocket.", param);
}

/* A response over a WebSocket always streams and never runs in the background. The members that only
 * this transport has are removed, so that the rest is the body of a POST. */
static enum err_code parse_create(json_t *body, struct ws_command *command, struct err *err)
{
    static const char *const ours[] = {"type", "stream_id", "generate", "background"};
    bool stream = true, background = false, generate = true;
    enum err_code rc = param_bool(body, "", "stream", &stream, err);

    if (!rc)
        rc = param_bool(body, "", "background", &background, err);
    if (!rc)
        rc = param_bool(body, "", "generate", &generate, err);
    if (rc)
        return rc;
    if (!stream)
        return unsupported(err, "stream");
    if (background)
        return unsupported(err, "background");
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        json_object_del(body, ours[i]);
    json_set_bool(body, "stream", true);
    command->kind = WS_CREATE;
    command->generate = generate;
    return ERR_OK;
}

/* ---- response.steer ---- */

json_t *ws_steer_items(const json_t *input)
{
    if (json_is_array(input))
        return json_deep_copy(input);
    return json_build("[{s:s, s:s, s:s}]", "type", "message", "role", "user", "content",
                      json_string_value(input));
}

static enum err_code check_keys(const json_t *object, const char *const *known,
                                const char *what, struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        bool is_known = false;

        for (size_t i = 0; known[i]; i++)
            is_known = is_known || strcmp(known[i], key) == 0;
        if (!is_known)
            return err_set(err, ERR_INVALID, "Unknown parameter of %s: '%.64s'.", what, key);
    }
    return ERR_OK;
}

static enum err_code check_part(const json_t *part, struct err *err)
{
    const char *type = json_get_string(part, "type", "");

    if (strcmp(type, "input_text") == 0 || strcmp(type, "input_image") == 0 ||
        strcmp(type, "input_file") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "Steering accepts only parts of type 'input_text', 'input_image' and "
                   "'input_file'.");
}

static enum err_code check_message(const json_t *item, struct err *err)
{
    static const char *const known[] = {"type", "role", "content", NULL};
    const json_t *content = json_object_get(item, "content");
    size_t i;
    json_t *part;
    enum err_code rc;

    if (strcmp(json_get_string(item, "type", "message"), "message") != 0 ||
        strcmp(json_get_string(item, "role", ""), "user") != 0)
        return err_set(err, ERR_INVALID,
                       "Steering accepts only messages with the role 'user'.");
    rc = check_keys(item, known, "a steering message", err);
    json_array_foreach (content, i, part) {
        if (!rc)
            rc = check_part(part, err);
    }
    return rc;
}

static enum err_code check_input(const json_t *input, struct err *err)
{
    static const struct item_references none; /* messages refer to nothing */
    struct item_row *rows = NULL;
    json_auto_t *items = NULL;
    size_t i, count = 0;
    json_t *item;
    enum err_code rc = ERR_OK;

    if (json_is_string(input) ? !*json_string_value(input) : !json_array_size(input))
        return err_set(err, ERR_INVALID,
                       "Steering input must be a text or a list of messages, and not empty.");
    items = ws_steer_items(input);
    json_array_foreach (items, i, item) {
        if (!rc)
            rc = check_message(item, err);
    }
    if (!rc)
        rc = response_input_decode(items, "", &none, &rows, &count, err);
    if (!rc)
        item_rows_free(rows, count);
    return rc;
}

/* An error if the message has no target or no input to give back; otherwise the command, perhaps with a
 * complaint. */
static enum err_code parse_steer(json_t *body, struct ws_command *command, struct err *err)
{
    static const char *const known[] = {"type", "previous_response_id", "input", NULL};
    const json_t *input = json_object_get(body, "input");
    enum err_code rc = param_string(body, "", "previous_response_id", PARAM_REQUIRED, ID_LIMIT,
                                    &command->target, err);

    if (rc)
        return rc;
    if (json_absent(input))
        return param_missing(err, "input");
    if (!json_is_string(input) && !json_is_array(input))
        return param_wrong_type(err, "input", "one of a string or an array of objects", input);
    command->kind = WS_STEER;
    rc = check_keys(body, known, "response.steer", &command->complaint);
    if (!rc)
        rc = check_input(input, &command->complaint);
    command->complaint.code = rc;
    return ERR_OK;
}

/* ---- Either ---- */

static enum err_code parse_text(const char *text, size_t length, json_t **ret_body,
                                struct err *err)
{
    struct err why = {0};
    enum err_code rc = json_parse_strict(text, length, ret_body, &why);

    if (rc == ERR_INVALID && json_nul_check(text, length, err))
        return rc;
    if (rc == ERR_INVALID)
        return err_set(
            err, rc,
            "We could not parse the JSON of your message. (HINT: every message is one "
            "JSON object in one text message. %.200s)",
            why.text);
    if (rc)
        return err_set(err, rc, "%s", why.text);
    if (json_is_object(*ret_body))
        return ERR_OK;
    json_decref(*ret_body);
    *ret_body = NULL;
    return err_invalid(err, "invalid_type", NULL,
                       "Invalid type for the message: expected an object.");
}

static enum err_code parse_object(json_t *body, struct ws_command *command, struct err *err)
{
    static const char *const types[] = {TYPE_CREATE, TYPE_STEER, NULL};
    const char *type = NULL;
    enum err_code rc = param_enum(body, "", "type", PARAM_REQUIRED, types, &type, err);

    if (rc)
        return rc;
    if (strcmp(type, TYPE_STEER) == 0)
        return parse_steer(body, command, err);
    rc = parse_lane(body, command->lane, err);
    return rc ? rc : parse_create(body, command, err);
}

enum err_code ws_command_parse(const char *text, size_t length, struct ws_command *ret_command,
                               struct err *err)
{
    struct ws_command command = {0};
    enum err_code rc = parse_text(text, length, &command.body, err);

    if (!rc)
        rc = parse_object(command.body, &command, err);
    if (rc) {
        memcpy(ret_command->lane, command.lane, sizeof(command.lane));
        json_decref(command.body);
        return rc;
    }
    *ret_command = command;
    return ERR_OK;
}

void ws_command_clear(struct ws_command *command)
{
    json_decref(command->body);
    memset(command, 0, sizeof(*command));
}
