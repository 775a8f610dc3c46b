#include "core/picture/picture_answer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

/* Words of an upstream's error that are shown. */
#define WORD_LIMIT    ((size_t)64)
#define MESSAGE_LIMIT ((size_t)500)

void picture_clear(struct picture *picture)
{
    buf_clear(&picture->base64);
    json_decref(picture->facts);
    json_decref(picture->error);
    *picture = (struct picture){0};
}

void picture_answer_clear(struct picture_answer *answer)
{
    buf_clear(&answer->text);
    sse_parser_clear(&answer->events);
    picture_clear(&answer->picture);
    free(answer->url);
}

/* ---- Errors ---- */

static json_t *cut_string(const json_t *object, const char *key, size_t limit)
{
    const char *text = json_get_string(object, key, NULL);
    AUTO_FREE char *cut = text ? mem_strndup(text, strnlen(text, limit)) : NULL;
    AUTO_FREE char *clean = cut ? json_clean_utf8(cut, strlen(cut)) : NULL;

    return clean ? json_string(clean) : json_null();
}

/* The error as an item shows it. An upstream may send a bare text. */
static void take_error(struct picture_answer *answer, const json_t *error)
{
    json_decref(answer->picture.error);
    answer->picture.error = json_build(
        "{s:o, s:o, s:o, s:o}", "code", cut_string(error, "code", WORD_LIMIT), "message",
        cut_string(error, "message", MESSAGE_LIMIT), "param",
        cut_string(error, "param", WORD_LIMIT), "type", cut_string(error, "type", WORD_LIMIT));
    if (json_object_get(error, "moderation_details"))
        json_set(answer->picture.error, "moderation_details",
                 json_deep_copy(json_object_get(error, "moderation_details")));
}

static const char *message_of(const struct picture_answer *answer)
{
    return json_get_string(answer->picture.error, "message", "");
}

/* ---- A picture ---- */

static const char *const facts[] = {"revised_prompt", "size",          "quality",
                                    "background",     "output_format", "usage"};

static void take_facts(struct picture *picture, const json_t *object)
{
    if (!picture->facts)
        picture->facts = json_object();
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        json_t *value = json_object_get(object, facts[i]);

        if (!json_absent(value))
            json_object_set(picture->facts, facts[i], value);
    }
}

/* Bytes that so much base64 stands for, at most. */
static size_t bytes_in(size_t length)
{
    return length / 4 * 3;
}

static enum err_code take_picture(struct picture_answer *answer, const json_t *object,
                                  struct err *err)
{
    const json_t *base64 = json_object_get(object, "b64_json");
    const char *url = json_get_string(object, "url", NULL);

    take_facts(&answer->picture, object);
    if (json_is_string(base64) && json_string_length(base64)) {
        size_t length = json_string_length(base64);

        if (bytes_in(length) > answer->picture_limit + 2)
            return err_set(err, ERR_TOO_LARGE, "The picture has more than %zu bytes.",
                           answer->picture_limit);
        buf_add(&answer->picture.base64, json_string_value(base64), length);
    } else if (url) {
        answer->url = mem_strdup(url);
    } else {
        return err_set(err, ERR_UPSTREAM, "The answer of the image model has no picture.");
    }
    answer->complete = true;
    return ERR_OK;
}

/* ---- Events ---- */

/* An event has no status. What is wrong with the order is no reason to send it again. */
static enum err_code code_of_event(const struct picture_answer *answer)
{
    const char *type = json_get_string(answer->picture.error, "type", "");
    const char *code = json_get_string(answer->picture.error, "code", "");

    return strncmp(type, "invalid_request", 15) == 0 ||
                   strcmp(type, "image_generation_user_error") == 0 ||
                   strcmp(code, "moderation_blocked") == 0
               ? ERR_INVALID
               : ERR_UPSTREAM;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);

    return length >= size && strcmp(text + length - size, end) == 0;
}

static enum err_code take_event(struct picture_answer *answer, const char *type,
                                const json_t *event)
{
    const json_t *error = json_object_get(event, "error");

    if (error || strcmp(type, "error") == 0) {
        take_error(answer, json_is_object(error) ? error : event);
        return err_set(&answer->err, code_of_event(answer), "The image model failed: %s",
                       message_of(answer));
    }
    if (ends_with(type, ".completed"))
        return take_picture(answer, event, &answer->err);
    if (!ends_with(type, ".partial_image") || !answer->preview)
        return ERR_OK;
    answer->previewed = true;
    return answer->preview(answer->arg, event);
}

/* The type stands in the data, and beside it. */
static bool on_event(void *arg, const char *name, const char *data, size_t length)
{
    struct picture_answer *answer = arg;
    json_auto_t *event = NULL;

    if (answer->complete || strncmp(data, "[DONE]", length) == 0)
        return true;
    if (json_parse(data, length, &event, NULL) || !json_is_object(event)) {
        answer->rc = err_set(&answer->err, ERR_UPSTREAM,
                             "The image model sent an event that is no JSON.");
        return false;
    }
    answer->rc = take_event(answer, json_get_string(event, "type", name), event);
    return !answer->rc;
}

static enum err_code parsed(struct picture_answer *answer, enum err_code rc, struct err *err)
{
    if (rc != ERR_CANCELLED)
        return rc ? err_set(err, rc, "The image model sent an event that is too large.")
                  : ERR_OK;
    if (err)
        *err = answer->err;
    return answer->rc;
}

/* ---- Pieces ---- */

static void look_at_first(struct picture_answer *answer, const char *bytes, size_t size)
{
    for (size_t i = 0; !answer->begun && i < size; i++) {
        if (isspace((unsigned char)bytes[i]))
            continue;
        answer->begun = true;
        answer->is_stream = bytes[i] != '{';
    }
    answer->events.limit = answer->picture_limit / 3 * 4 + PICTURE_ADDED_LIMIT;
}

enum err_code picture_answer_feed(struct picture_answer *answer, const char *bytes, size_t size,
                                  struct err *err)
{
    if (answer->complete)
        return ERR_OK;
    if (!answer->begun)
        look_at_first(answer, bytes, size);
    if (answer->is_stream)
        return parsed(answer, sse_parser_feed(&answer->events, bytes, size, on_event, answer),
                      err);
    buf_add(&answer->text, bytes, size);
    return ERR_OK;
}

/* ---- The end ---- */

/* The upstream's own words about its key are not for clients. */
static enum err_code refuse(struct picture_answer *answer, int status, struct err *err)
{
    bool quoted = *message_of(answer) && status != 401 && status != 403;
    enum err_code rc =
        status == 429 || status == 402 ? ERR_LIMIT
        : status == 401 || status == 403 || status == 404 || status == 409 || status >= 500
            ? ERR_UPSTREAM
            : ERR_INVALID;

    if (!quoted) {
        json_decref(answer->picture.error);
        answer->picture.error = NULL;
    }
    return err_set(err, rc, "The image model answered with status %d%s%s", status,
                   quoted ? ": " : ".", quoted ? message_of(answer) : "");
}

static enum err_code read_text(struct picture_answer *answer, int status, struct err *err)
{
    json_auto_t *body = NULL;
    const json_t *error;
    enum err_code rc = ERR_OK;

    if (answer->text.length &&
        json_parse(answer->text.data, answer->text.length, &body, NULL) == ERR_OK) {
        error = json_object_get(body, "error");
        if (json_is_object(error))
            take_error(answer, error);
    }
    if (status < 200 || status > 299)
        return refuse(answer, status, err);
    if (!body)
        return err_set(err, ERR_UPSTREAM, "The answer of the image model is no JSON.");
    rc = take_picture(answer, json_array_get(json_object_get(body, "data"), 0), err);
    if (!rc)
        take_facts(&answer->picture, body);
    return rc;
}

enum err_code picture_answer_end(struct picture_answer *answer, int status, struct err *err)
{
    enum err_code rc = ERR_OK;

    if (answer->complete)
        return ERR_OK;
    if (!answer->is_stream || status < 200 || status > 299)
        return read_text(answer, status, err);
    rc = parsed(answer, sse_parser_end(&answer->events, on_event, answer), err);
    if (rc || answer->complete)
        return rc;
    return err_set(err, ERR_UPSTREAM, "The image model ended its answer before the picture.");
}
