/*
 * chat_error.c -- what an upstream's error means for the retry, for the client and for the operator.
 *
 *   status, body, or an event ─▶ read_... ─▶ struct refusal: status, code, message
 *                                                 └─▶ refuse ─▶ struct chat_failure
 *
 * Reading is tolerant. Members are looked for wherever some server puts them, and the first value that is
 * found counts. An error inside a stream has no HTTP status, so the known codes imply one. After that,
 * only the status decides what kind of failure it is.
 *
 * The code of an error is different: applications compare it (context_length_exceeded,
 * insufficient_quota), so only codes of OpenAI's API reach a client. Names of other servers are mapped to
 * them or left out. Two errors are so important that they are recognised by phrases in the message when
 * the code is missing. A phrase can be wrong, so it counts only in a refusal of the request.
 *
 * Whose mistake is it? A 400 is the client's, and its message is passed on. 401 and 403 are about the
 * operator's key: the client cannot do anything about it, and must not read the message. 408, 409 and 5xx
 * are the upstream's, and may pass. 429 may pass, unless a quota is used up. An error inside a stream
 * whose code is unknown counts as 500.
 */

#include "core/model/chat/chat_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/chat/chat_repair.h"

/* Bytes of a message: it must fit into struct err with a few words around it. */
#define LINE_SIZE 900

/* What was found in an error. */
struct refusal {
    int status;       /* 0 when unknown */
    const char *word; /* the code for the client; NULL if none is known */
    char message[LINE_SIZE];
};

/* The code of a refusal because the upstream lacks the model. */
#define MODEL_MISSING "model_not_found"

/* Values of `code` and `type`: the status that each implies, and the code that a client gets. */
/* clang-format off */
static const struct {
    const char *word;
    int status;
    const char *shown; /* to the client; NULL: no code */
} known_words[] = {
    {"insufficient_quota",             429, "insufficient_quota"},
    {"exceeded_current_quota_error",   429, "insufficient_quota"}, /* Moonshot */
    {"rate_limit_exceeded",            429, "rate_limit_exceeded"},
    {"rate_limit_error",               429, NULL},
    {"rate_limited",                   429, NULL},
    {"too_many_requests",              429, NULL},
    {"context_length_exceeded",        400, "context_length_exceeded"},
    {"content_filter",                 400, "content_filter"},
    {"content_policy_violation",       400, "content_policy_violation"},
    {"image_parse_error",              400, "image_parse_error"},
    {"integer_above_max_value",        400, "integer_above_max_value"},
    {"integer_below_min_value",        400, "integer_below_min_value"},
    {"decimal_above_max_value",        400, "decimal_above_max_value"},
    {"decimal_below_min_value",        400, "decimal_below_min_value"},
    {"invalid_function_parameters",    400, "invalid_function_parameters"},
    {"invalid_image_url",              400, "invalid_image_url"},
    {"invalid_prompt",                 400, "invalid_prompt"},
    {"invalid_image",                  400, "invalid_image"},
    {"invalid_image_format",           400, "invalid_image_format"},
    {"invalid_base64_image",           400, "invalid_base64_image"},
    {"image_too_large",                400, "image_too_large"},
    {"image_too_small",                400, "image_too_small"},
    {"image_content_policy_violation", 400, "image_content_policy_violation"},
    {"invalid_type",                   400, "invalid_type"},
    {"invalid_value",                  400, "invalid_value"},
    {"missing_required_parameter",     400, "missing_required_parameter"},
    {"string_above_max_length",        400, "string_above_max_length"},
    {"unknown_parameter",              400, "unknown_parameter"},
    {"unsupported_parameter",          400, "unsupported_parameter"},
    {"unsupported_value",              400, "unsupported_value"},
    {MODEL_MISSING,                    404, MODEL_MISSING},
    {"model_not_available",            404, MODEL_MISSING}, /* Together */
    {"DeploymentNotFound",             404, MODEL_MISSING}, /* Azure */
    {"invalid_model",                  404, MODEL_MISSING}, /* Mistral */
    {"not_found_error",                404, NULL},
    {"NotFoundError",                  404, NULL},
    {"invalid_request_error",          400, NULL},
    {"BadRequestError",                400, NULL},
    {"authentication_error",           401, NULL},
    {"invalid_api_key",                401, NULL},
    {"permission_error",               403, NULL},
    {"overloaded_error",               503, NULL},
};
/* clang-format on */

static const char *word_known(const char *word, int *ret_status)
{
    for (size_t i = 0; i < COUNT_OF(known_words); i++) {
        if (strcmp(known_words[i].word, word) == 0) {
            *ret_status = known_words[i].status;
            return known_words[i].shown;
        }
    }
    return NULL;
}

static bool has_phrase(const char *message, const char *const *phrases)
{
    for (; *phrases; phrases++) {
        if (strcasestr(message, *phrases))
            return true;
    }
    return false;
}

/* Two errors matter to the engine or to clients, and few servers have a code for them: a context that
 * is too long, and an unknown model. They are recognised by their messages. */
static const char *word_of_message(const struct refusal *refusal)
{
    static const char *const full[] = {"context length", "context window", "context size",
                                       "prompt is too long", NULL};
    static const char *const missing[] = {"model not found",      "model not exist",
                                          "model does not exist", "invalid model name",
                                          "not a valid model",    NULL};
    static const char *const models[] = {"model", "deployment", NULL};

    if (has_phrase(refusal->message, full))
        return "context_length_exceeded";
    if (has_phrase(refusal->message, refusal->status == 404 ? models : missing))
        return MODEL_MISSING;
    return NULL;
}

static void set_message(struct refusal *refusal, const char *text, size_t length)
{
    chat_repair_line(refusal->message, sizeof(refusal->message), text, length);
}

static int status_of_number(json_int_t number)
{
    return number >= 400 && number <= 599 ? (int)number : 0;
}

/* Reads "code" or "type" of an error object, unless an earlier member had the value. Both may hold a
 * code, a status or, with Azure, a status in quotes. */
static void read_word(struct refusal *refusal, const json_t *value)
{
    int status = status_of_number(json_integer_value(value));
    const char *word = json_string_value(value);
    const char *shown = word ? word_known(word, &status) : NULL;

    if (word && !status)
        status = status_of_number(strtol(word, NULL, 10));
    if (!refusal->status)
        refusal->status = status;
    if (!refusal->word)
        refusal->word = shown;
}

static void read_message(struct refusal *refusal, const json_t *value)
{
    AUTO_FREE char *text = NULL;

    if (json_absent(value) || refusal->message[0])
        return;
    if (json_is_string(value)) {
        set_message(refusal, json_string_value(value), json_string_length(value));
        return;
    }
    text = json_text(value);
    set_message(refusal, text, strlen(text));
}

static void read_details(struct refusal *refusal, const json_t *error)
{
    read_message(refusal, json_object_get(error, "message"));
    read_message(refusal, json_object_get(error, "detail"));
    read_word(refusal, json_object_get(error, "code"));
    read_word(refusal, json_object_get(error, "type"));
    read_word(refusal, json_object_get(error, "status_code"));
}

/* The value that describes the error, without the list or envelope around it. */
static const json_t *unwrap(const json_t *value)
{
    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (!json_absent(json_object_get(value, "error")))
        value = json_object_get(value, "error");
    return value;
}

static void read_error(struct refusal *refusal, const json_t *value)
{
    value = unwrap(value);
    if (json_is_object(value))
        read_details(refusal, value);
    else
        read_message(refusal, value);
}

static void read_body(struct refusal *refusal, const char *body, size_t length)
{
    json_auto_t *value = NULL;
    AUTO_FREE char *clean = chat_repair_json(body, length, NULL);

    if (json_parse(clean, strlen(clean), &value, NULL) == ERR_OK)
        read_error(refusal, value);
    else if (clean[strspn(clean, " \t\r\n")] != '<')
        set_message(refusal, clean, strlen(clean));
}

static const char *message_or(const struct refusal *refusal, const char *fallback)
{
    return refusal->message[0] ? refusal->message : fallback;
}

static bool is_about_quota(const struct refusal *refusal)
{
    return refusal->status == 402 ||
           (refusal->word && strcmp(refusal->word, "insufficient_quota") == 0);
}

static enum err_code refuse_limit(const struct refusal *refusal, struct chat_failure *failure)
{
    bool quota = is_about_quota(refusal);

    failure->temporary = !quota;
    err_refuse(&failure->err, ERR_LIMIT, REASON_BUSY, NULL, "%s",
               message_or(refusal, "The upstream model server limits requests."));
    failure->err.word = quota ? "insufficient_quota" : "rate_limit_exceeded";
    return ERR_LIMIT;
}

static enum err_code refuse_request(const struct refusal *refusal, struct chat_failure *failure)
{
    const char *word = refusal->word ? refusal->word : word_of_message(refusal);

    failure->temporary = false;
    if (refusal->message[0])
        err_set(&failure->err, ERR_INVALID, "%s", refusal->message);
    else
        err_set(&failure->err, ERR_INVALID,
                "The upstream model server refused the request with status %d.",
                refusal->status);
    failure->err.word = word;
    if (word && strcmp(word, MODEL_MISSING) == 0)
        failure->err.reason = REASON_NO_MODEL;
    return ERR_INVALID;
}

/* 401 and 403 are about the operator's key. The upstream's message is not shown to clients. */
static enum err_code refuse_key(const struct refusal *refusal, struct chat_failure *failure)
{
    failure->temporary = false;
    return err_set(
        &failure->err, ERR_UPSTREAM,
        "The upstream model server does not accept the key of this server (status %d).",
        refusal->status);
}

static enum err_code refuse_for_now(const struct refusal *refusal, struct chat_failure *failure)
{
    failure->temporary = true;
    if (refusal->message[0])
        return err_set(&failure->err, ERR_UPSTREAM, "The upstream model server failed: %s",
                       refusal->message);
    return err_set(&failure->err, ERR_UPSTREAM,
                   "The upstream model server failed with status %d.", refusal->status);
}

/* A quota that is used up has had every 4xx somewhere, so its name counts more than the status. */
static enum err_code refuse(const struct refusal *refusal, struct chat_failure *failure)
{
    if (is_about_quota(refusal))
        return refuse_limit(refusal, failure);
    switch (refusal->status) {
    case 401:
    case 403: return refuse_key(refusal, failure);
    case 429: return refuse_limit(refusal, failure);
    case 408:
    case 409: return refuse_for_now(refusal, failure);
    default: break;
    }
    if (refusal->status >= 500)
        return refuse_for_now(refusal, failure);
    if (refusal->status >= 400)
        return refuse_request(refusal, failure);
    return chat_error_broken(failure, "The upstream model server answered with status %d.",
                             refusal->status);
}

enum err_code chat_error_status(int status, const char *body, size_t length,
                                struct chat_failure *failure)
{
    struct refusal refusal = {.status = status};

    read_body(&refusal, body, length);
    return refuse(&refusal, failure);
}

/* An error without a status and without a known code is taken for a failure of the upstream. */
static enum err_code refuse_inside(struct refusal *refusal, struct chat_failure *failure)
{
    static const char silent[] = "it reported an error inside its answer";

    if (!refusal->message[0])
        set_message(refusal, silent, sizeof(silent) - 1);
    if (!refusal->status)
        refusal->status = 500;
    return refuse(refusal, failure);
}

/* Some servers put an empty "error" into every chunk. */
static bool says_nothing(const json_t *error)
{
    return json_absent(error) || json_is_false(error) ||
           (json_is_string(error) && json_string_length(error) == 0) ||
           (json_is_object(error) && json_object_size(error) == 0);
}

enum err_code chat_error_in(const json_t *answer, struct chat_failure *failure)
{
    struct refusal refusal = {0};

    if (!says_nothing(json_object_get(answer, "error")))
        read_error(&refusal, answer);
    else if (strcmp(json_get_string(answer, "object", ""), "error") == 0 ||
             strcmp(json_get_string(answer, "type", ""), "error") == 0)
        read_details(&refusal, answer);
    else
        return ERR_OK;
    return refuse_inside(&refusal, failure);
}

enum err_code chat_error_event(const char *data, size_t length, struct chat_failure *failure)
{
    struct refusal refusal = {0};

    read_body(&refusal, data, length);
    return refuse_inside(&refusal, failure);
}

enum err_code chat_error_broken(struct chat_failure *failure, const char *format, ...)
{
    char text[sizeof(failure->err.text)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    failure->temporary = false;
    return err_set(&failure->err, ERR_UPSTREAM, "%s", text);
}

enum err_code chat_error_lost(struct chat_failure *failure)
{
    chat_error_broken(failure, "The connection to the upstream model server was lost.");
    failure->temporary = true;
    return failure->err.code;
}
