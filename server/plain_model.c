/*
 * plain_model.c -- one request to a model, in the dialect of its upstream.
 *
 * Nothing is sent that a question does not need. Servers disagree about the names of limits and refuse others, so the
 * length of an answer is left to the bytes and seconds that it has.
 */

#include "server/plain_model.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"

struct plain_model {
    const struct model_upstream *upstream;
    const char *name;
    struct http_asks *asks;
    char *url;
    char *authorization; /* a header, or NULL */
};

struct plain_model *plain_model_new(const struct model_upstream *upstream, const char *name,
                                    struct loop *(*any_loop)(void *arg), void *loop_arg)
{
    struct plain_model *model = mem_new(struct plain_model);
    bool responses = upstream->dialect == MODEL_DIALECT_RESPONSES;

    *model = (struct plain_model){
        .upstream = upstream,
        .name = name,
        .asks = http_asks_new(any_loop, loop_arg),
        .url = mem_printf("%s/%s", upstream->url, responses ? "responses" : "chat/completions"),
    };
    if (upstream->api_key)
        model->authorization = mem_printf("Authorization: Bearer %s", upstream->api_key);
    return model;
}

void plain_model_close(struct plain_model *model)
{
    http_asks_close(model->asks);
}

void plain_model_free(struct plain_model *model)
{
    if (!model)
        return;
    http_asks_free(model->asks);
    free(model->url);
    free(model->authorization);
    free(model);
}

/* ---- The question ---- */

static json_t *chat_body(const struct plain_model *model, const struct plain_question *question)
{
    json_t *parts = json_array();

    if (question->text)
        json_array_append_new(parts,
                              json_build("{s:s, s:s}", "type", "text", "text", question->text));
    if (question->picture)
        json_array_append_new(parts, json_build("{s:s, s:{s:s}}", "type", "image_url",
                                                "image_url", "url", question->picture));
    /* A text alone is not a list of parts: small servers know only the older form. */
    if (!question->picture) {
        json_decref(parts);
        parts = json_string(question->text);
    }
    return json_build("{s:s, s:[{s:s, s:s}, {s:s, s:o}]}", "model", model->name, "messages",
                      "role", "system", "content", question->instructions, "role", "user",
                      "content", parts);
}

static json_t *responses_body(const struct plain_model *model,
                              const struct plain_question *question)
{
    json_t *parts = json_array();

    if (question->text)
        json_array_append_new(
            parts, json_build("{s:s, s:s}", "type", "input_text", "text", question->text));
    if (question->picture)
        json_array_append_new(parts,
                              json_build("{s:s, s:s, s:s}", "type", "input_image", "detail",
                                         "high", "image_url", question->picture));
    return json_build("{s:s, s:s, s:[{s:s, s:s, s:o}], s:b}", "model", model->name,
                      "instructions", question->instructions, "input", "type", "message",
                      "role", "user", "content", parts, "store", 0);
}

struct http_ask *plain_model_ask(const struct plain_model *model,
                                 const struct plain_question *question)
{
    const char *headers[] = {"Content-Type: application/json", model->authorization, NULL};
    json_auto_t *body = model->upstream->dialect == MODEL_DIALECT_RESPONSES
                            ? responses_body(model, question)
                            : chat_body(model, question);
    char *text = json_text(body);

    return http_ask_start(model->asks, &(struct http_ask_request){
                                           .url = model->url,
                                           .headers = headers,
                                           .body = text,
                                           .length = strlen(text),
                                           .answer_limit = question->answer_limit,
                                           .connect_ns = model->upstream->timeouts.connect,
                                           .total_ns = clock_ns_from_seconds(question->seconds),
                                       });
}

/* ---- The answer ---- */

/* A text, or parts of which some have a text. False: it is neither. */
static bool add_content(struct buf *text, const json_t *content)
{
    size_t i;
    json_t *part;

    if (json_is_string(content))
        buf_add(text, json_string_value(content), json_string_length(content));
    json_array_foreach (content, i, part)
        buf_add_text(text, json_get_string(part, "text", ""));
    return json_is_string(content) || json_is_array(content) || json_is_null(content);
}

static bool add_chat(struct buf *text, const json_t *answer)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);

    return add_content(text, json_object_get(json_object_get(choice, "message"), "content"));
}

static bool add_response(struct buf *text, const json_t *answer)
{
    bool found = false;
    size_t i;
    json_t *item;

    json_array_foreach (json_object_get(answer, "output"), i, item)
        if (strcmp(json_get_string(item, "type", ""), "message") == 0)
            found |= add_content(text, json_object_get(item, "content"));
    return found;
}

char *plain_model_text(enum model_dialect dialect, const char *answer, size_t length)
{
    json_auto_t *object = NULL;
    AUTO_BUF text = {0};
    bool found;

    if (json_parse(answer, length, &object, NULL))
        return NULL;
    found = dialect == MODEL_DIALECT_RESPONSES ? add_response(&text, object)
                                               : add_chat(&text, object);
    return found ? buf_take(&text) : NULL;
}

/* What is wrong with a question is its own fault: another one may be answered. */
static enum err_code code_of(int status)
{
    if (status == 400 || status == 413 || status == 422)
        return ERR_INVALID;
    return status == 429 ? ERR_LIMIT : ERR_UPSTREAM;
}

enum err_code plain_model_wait(const struct plain_model *model, struct http_ask *ask,
                               struct plain_answer *ret_answer, struct err *err)
{
    struct http_answer answer;
    enum err_code rc;

    *ret_answer = (struct plain_answer){0};
    rc = http_ask_wait(ask, &answer, err);
    if (rc)
        return rc;
    ret_answer->retry_after_ns = answer.retry_after_ns;
    if (answer.status < 200 || answer.status > 299) {
        rc = err_set(err, code_of(answer.status), "the model '%.64s' answered with status %d",
                     model->name, answer.status);
    } else {
        ret_answer->text =
            plain_model_text(model->upstream->dialect, answer.bytes, answer.length);
        if (!ret_answer->text)
            rc = err_set(err, ERR_UPSTREAM, "the model '%.64s' answered without a text",
                         model->name);
    }
    http_answer_clear(&answer);
    return rc;
}
