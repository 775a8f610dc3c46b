/*
 * picture_model.c -- one picture: attempts, each of them one request.
 *
 *   order ─▶ masked ─▶ members ─▶ JSON or a form ─▶ http_ask ─▶ pieces ─▶ picture_answer ─▶ picture
 *                                                                              └─ URL ─▶ http_ask ─▶ bytes
 */

#include "core/picture/picture_model.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"
#include "core/picture/picture_answer.h"
#include "core/picture/picture_request.h"

#define CONNECT_NS       (10 * NS_PER_SECOND)
#define PAUSE_NS         (500 * NS_PER_MS)    /* before the second attempt; then twice that */
#define PAUSE_LIMIT_NS   (60 * NS_PER_SECOND) /* longer than this no attempt waits */
#define BOUNDARY_LETTERS ((size_t)24)
#define BOUNDARY_SIZE    (sizeof("runnel-") + BOUNDARY_LETTERS)

struct picture_model {
    struct picture_model_options options;
    char *generations, *edits; /* URLs */
    char *authorization;       /* a header, or NULL */
    char *model;
    struct http_asks *asks;
};

struct picture_model *picture_model_new(const struct picture_model_options *options)
{
    struct picture_model *model = mem_new(struct picture_model);

    *model = (struct picture_model){
        .options = *options,
        .generations = mem_printf("%s/images/generations", options->url),
        .edits = mem_printf("%s/images/edits", options->url),
        .authorization =
            options->api_key ? mem_printf("Authorization: Bearer %s", options->api_key) : NULL,
        .model = mem_strdup(options->model),
        .asks = http_asks_new(options->any_loop, options->loop_arg),
    };
    return model;
}

void picture_model_close(struct picture_model *model)
{
    http_asks_close(model->asks);
}

void picture_model_free(struct picture_model *model)
{
    if (!model)
        return;
    http_asks_free(model->asks);
    free(model->generations);
    free(model->edits);
    free(model->authorization);
    free(model->model);
    free(model);
}

/* ---- One request ---- */

/* One picture on its way. */
struct drawing {
    struct picture_model *model;
    const struct picture_order *order;
    char *prompt; /* masked */
    uint64_t last_ns;
    bool plain; /* no previews: the upstream does not know them */
    int status; /* of the last attempt; 0: its answer did not come to its end */
    uint64_t pause_ns;
};

static size_t in_base64(size_t bytes)
{
    return bytes / 3 * 4 + 4;
}

/* With its previews, which are as large as the picture. */
static size_t answer_limit(const struct drawing *drawing)
{
    return (in_base64(drawing->model->options.picture_limit) + PICTURE_ADDED_LIMIT) *
           (drawing->order->previews + 1);
}

static uint64_t left_ns(const struct drawing *drawing)
{
    uint64_t now = clock_mono_ns();

    return now < drawing->last_ns ? drawing->last_ns - now : 1;
}

static void make_body(const struct drawing *drawing, char ret_type[128], struct buf *ret_body)
{
    const struct picture_order *order = drawing->order;
    json_auto_t *members =
        picture_request_members(order, drawing->prompt, drawing->model->model,
                                drawing->model->options.legacy, !drawing->plain);
    char boundary[BOUNDARY_SIZE] = "runnel-";

    if (!order->source_count) {
        (void)snprintf(ret_type, 128, "Content-Type: application/json");
        json_add_text(ret_body, members);
        return;
    }
    id_random(boundary + strlen(boundary), BOUNDARY_LETTERS);
    boundary[BOUNDARY_SIZE - 1] = '\0';
    (void)snprintf(ret_type, 128, "Content-Type: multipart/form-data; boundary=%s", boundary);
    picture_request_form(members, order, boundary, ret_body);
}

static struct http_ask *ask(const struct drawing *drawing)
{
    struct picture_model *model = drawing->model;
    char type[128];
    const char *headers[] = {type, model->authorization, NULL};
    AUTO_BUF body = {0};
    size_t length;

    make_body(drawing, type, &body);
    length = body.length;
    return http_ask_start(
        model->asks,
        &(struct http_ask_request){
            .url = drawing->order->source_count ? model->edits : model->generations,
            .headers = headers,
            .body = buf_take(&body),
            .length = length,
            .answer_limit = answer_limit(drawing),
            .connect_ns = CONNECT_NS,
            .total_ns = left_ns(drawing),
            .in_pieces = true,
        });
}

/* Reads to the end of the answer, or as far as it is wanted. *ret_rc is what is wrong with a piece; the ask is gone
 * after an error. */
static enum err_code read_pieces(const struct drawing *drawing, struct http_ask *asked,
                                 struct picture_answer *answer, struct err *err)
{
    bool ended = false;

    while (!ended) {
        AUTO_BUF piece = {0};
        enum err_code rc = http_ask_read(asked, drawing->order->cancel_fd, &piece, &ended, err);

        if (!rc && piece.length)
            rc = picture_answer_feed(answer, piece.data, piece.length, err);
        if (rc) {
            http_ask_drop(asked);
            return rc;
        }
    }
    return ERR_OK;
}

static enum err_code attempt(struct drawing *drawing, struct picture_answer *answer,
                             struct err *err)
{
    struct http_ask *asked = ask(drawing);
    struct http_answer head = {0};
    enum err_code rc = read_pieces(drawing, asked, answer, err);

    drawing->status = 0;
    if (rc)
        return rc;
    rc = http_ask_wait(asked, &head, err);
    drawing->status = head.status;
    drawing->pause_ns = head.retry_after_ns;
    http_answer_clear(&head);
    if (!rc && FAULT("picture.answer"))
        rc = err_set(err, ERR_UPSTREAM, "a fault in an answer with a picture");
    if (rc && answer->complete) /* it was cut behind the picture */
        return ERR_OK;
    return rc ? rc : picture_answer_end(answer, drawing->status, err);
}

/* ---- Attempts ---- */

/* Servers that do not stream refuse the member, or name it as unknown. */
static bool is_about_previews(const struct drawing *drawing, enum err_code rc,
                              const struct err *err)
{
    return rc == ERR_INVALID && !drawing->plain && drawing->order->previews &&
           (strstr(err->text, "partial_images") || strstr(err->text, "stream"));
}

/* It has refused the order for now, or no answer has begun. Behind all other answers a second one would be as bad, and
 * cost as much. */
static bool may_pass(const struct drawing *drawing, const struct picture_answer *answer)
{
    int status = drawing->status;

    return status ? status == 409 || status == 429 || status >= 500 : !answer->begun;
}

static bool may_try_again(const struct drawing *drawing, const struct picture_answer *answer,
                          enum err_code rc)
{
    const char *code = json_get_string(answer->picture.error, "code", "");

    return !answer->previewed && (rc == ERR_UPSTREAM || rc == ERR_LIMIT) &&
           may_pass(drawing, answer) && strcmp(code, "insufficient_quota") != 0;
}

/* False: no longer wanted. */
static bool pause_for(const struct drawing *drawing, uint64_t ns)
{
    struct pollfd fd = {.fd = drawing->order->cancel_fd, .events = POLLIN};

    return poll(&fd, 1, (int)(ns / NS_PER_MS)) == 0;
}

static uint64_t pause_of(const struct drawing *drawing, unsigned attempts)
{
    uint64_t ns = drawing->pause_ns ? drawing->pause_ns : PAUSE_NS << (attempts - 1);

    return ns < PAUSE_LIMIT_NS ? ns : PAUSE_LIMIT_NS;
}

static void begin_answer(const struct drawing *drawing, struct picture_answer *answer)
{
    picture_answer_clear(answer);
    *answer = (struct picture_answer){.picture_limit = drawing->model->options.picture_limit,
                                      .preview = drawing->order->preview,
                                      .arg = drawing->order->arg};
}

static enum err_code make_attempts(struct drawing *drawing, struct picture_answer *answer,
                                   struct err *err)
{
    for (unsigned attempts = 1;; attempts++) {
        uint64_t pause;
        enum err_code rc;

        begin_answer(drawing, answer);
        rc = attempt(drawing, answer, err);
        if (is_about_previews(drawing, rc, err)) {
            drawing->plain = true;
            attempts--;
            continue;
        }
        pause = pause_of(drawing, attempts);
        if (!rc || attempts > PICTURE_RETRY_LIMIT || !may_try_again(drawing, answer, rc) ||
            pause >= left_ns(drawing))
            return rc;
        if (!pause_for(drawing, pause))
            return err_set(err, ERR_CANCELLED, "the picture is no longer wanted");
    }
}

/* ---- The picture ---- */

struct http_ask *picture_model_fetch(struct picture_model *model, const char *url)
{
    const struct picture_model_options *options = &model->options;

    if (egress_url_check(url, NULL))
        return NULL;
    return http_ask_start(
        model->asks,
        &(struct http_ask_request){.url = url,
                                   .answer_limit = options->picture_limit,
                                   .connect_ns = CONNECT_NS,
                                   .total_ns = clock_ns_from_seconds(options->timeout_seconds),
                                   .egress = options->egress,
                                   .in_pieces = true});
}

enum err_code picture_model_fetched(struct http_ask *asked, const char *url, int cancel_fd,
                                    struct buf *ret_bytes, struct err *err)
{
    struct http_answer head = {0};
    bool ended = false;
    enum err_code rc = egress_url_check(url, err);

    if (rc)
        return rc;
    while (!rc && !ended)
        rc = http_ask_read(asked, cancel_fd, ret_bytes, &ended, err);
    if (rc) {
        http_ask_drop(asked);
        return rc;
    }
    rc = http_ask_wait(asked, &head, err);
    if (!rc && head.status != 200)
        rc = err_set(err, ERR_UPSTREAM, "The picture at the URL came with status %d.",
                     head.status);
    http_answer_clear(&head);
    return rc;
}

/* Some servers keep the picture, and say where. */
static enum err_code fetch(const struct drawing *drawing, const struct picture_answer *answer,
                           struct buf *ret_base64, struct err *err)
{
    AUTO_BUF bytes = {0};
    struct http_ask *asked = picture_model_fetch(drawing->model, answer->url);
    enum err_code rc =
        picture_model_fetched(asked, answer->url, drawing->order->cancel_fd, &bytes, err);

    if (!rc)
        base64_add(ret_base64, bytes.data, bytes.length);
    return rc;
}

static enum err_code check(const struct drawing *drawing, struct picture *picture,
                           struct err *err)
{
    AUTO_FREE char *bytes = base64_decode(picture->base64.data ? picture->base64.data : "",
                                          picture->base64.length, &picture->bytes);

    if (!bytes || !picture->bytes)
        return err_set(err, ERR_UPSTREAM, "The picture of the image model is no base64.");
    if (picture->bytes > drawing->model->options.picture_limit)
        return err_set(err, ERR_TOO_LARGE, "The picture has more than %zu bytes.",
                       drawing->model->options.picture_limit);
    return ERR_OK;
}

static enum err_code mask_prompt(struct drawing *drawing, struct err *err)
{
    const struct picture_model_options *options = &drawing->model->options;
    json_auto_t *messages =
        json_build("[{s:s, s:s}]", "role", "user", "content", drawing->order->prompt);
    enum err_code rc = options->mask ? options->mask(options->mask_arg, messages, err) : ERR_OK;

    if (!rc)
        drawing->prompt =
            mem_strdup(json_get_string(json_array_get(messages, 0), "content", ""));
    return rc;
}

enum err_code picture_model_draw(struct picture_model *model, const struct picture_order *order,
                                 struct picture *ret_picture, struct err *err)
{
    struct drawing drawing = {
        .model = model,
        .order = order,
        .last_ns = clock_mono_ns() + clock_ns_from_seconds(model->options.timeout_seconds),
        .plain = model->options.legacy,
    };
    CLEANUP(picture_answer_clear) struct picture_answer answer = {0};
    struct err unread; /* attempts read what is wrong */
    enum err_code rc;

    err = err ? err : &unread;
    rc = mask_prompt(&drawing, err);
    if (!rc)
        rc = make_attempts(&drawing, &answer, err);
    if (!rc && answer.url)
        rc = fetch(&drawing, &answer, &answer.picture.base64, err);
    if (!rc)
        rc = check(&drawing, &answer.picture, err);
    free(drawing.prompt);
    if (rc)
        buf_clear(&answer.picture.base64);
    *ret_picture = answer.picture;
    answer.picture = (struct picture){0};
    return rc;
}
