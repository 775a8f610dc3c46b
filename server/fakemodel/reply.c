#include "server/fakemodel/reply.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/reply_internal.h"
#include "server/fakemodel/template.h"
#include "server/fakemodel/words.h"

/*
 * fakemodel/reply.c -- an answer is a list of pieces, made at once, and a walk over it.
 *
 *   begin ─▶ piece, piece ... ─▶ finish ─▶ usage ─▶ [DONE]
 *
 * The list is made with the reply, so that templates are filled in while the prompt is there. The walk
 * has no memory but a stage and a position, so a reply can be taken piece by piece for as long as a
 * client likes to wait. Pieces that are repeated are walked again and not copied, so that a thousand
 * long streams stay small.
 *
 * Faults are part of the walk, in one place for all shapes. A fault is due before the piece with its
 * number, or at the latest before the end of the stream, so that it is never skipped. Faults that
 * concern the whole answer (a status, a page of HTML, a cut before the head) replace the list.
 *
 * An answer must be wrong on purpose only. What no fault and no `dialect` changes is as OpenAI's
 * servers send it.
 */

size_t reply_piece_total(const struct reply *reply)
{
    return json_array_size(reply->pieces) + reply->text_count * (reply->repeat - 1);
}

json_t *reply_piece_at(const struct reply *reply, size_t position)
{
    size_t repeated = reply->text_count * reply->repeat;

    if (position < reply->text_from)
        return json_array_get(reply->pieces, position);
    if (position < reply->text_from + repeated)
        return json_array_get(reply->pieces, reply->text_from + (position - reply->text_from) %
                                                                    reply->text_count);
    return json_array_get(reply->pieces, position - repeated + reply->text_count);
}

/* ---- usage ---- */

/* Words of the messages, and pieces of the answer: figures that a test can count by hand. */
static json_t *counted_usage(const struct reply *reply, const struct prompt *prompt)
{
    json_int_t read = 0;
    json_int_t said = (json_int_t)reply_piece_total(reply);
    const json_t *message;
    size_t i;

    json_array_foreach (prompt->messages, i, message) {
        AUTO_FREE char *text = prompt_content_text(json_object_get(message, "content"));
        read += words_count(text);
    }
    return json_build("{sI sI sI}", "prompt_tokens", read, "completion_tokens", said,
                      "total_tokens", read + said);
}

static json_t *make_usage(const struct reply *reply, const struct prompt *prompt)
{
    json_t *usage = reply->answer->usage;

    if (json_is_object(usage))
        return json_incref(usage);
    if (json_is_string(usage) && !strcmp(json_string_value(usage), "none"))
        return NULL;
    return counted_usage(reply, prompt);
}

static json_t *error_value(const struct script_fault *fault)
{
    if (fault->error)
        return json_incref(fault->error);
    return json_build("{ss ss sn sn}", "message", "The script makes this request fail.", "type",
                      "server_error", "param", "code");
}

static void set_body(struct reply *reply, json_t *value)
{
    buf_reset(&reply->body);
    json_add_text(&reply->body, value);
    json_decref(value);
    reply->content_type = "application/json";
}

/* An answer that is not a stream. `after` has no meaning then: a cut or a stall comes in the middle of the
 * body, and garbage replaces it. */
static void make_whole(struct reply *reply, const struct prompt *prompt)
{
    const struct script_fault *fault = &reply->answer->fault;

    if (fault->kind == FAULT_ERROR)
        set_body(reply, reply->shape->whole_error(reply, error_value(fault)));
    else if (!reply->shape->whole_bytes || !reply->shape->whole_bytes(reply, prompt))
        set_body(reply, reply->shape->whole(reply, prompt));
    if (fault->kind == FAULT_GARBAGE) {
        buf_reset(&reply->body);
        buf_add_text(&reply->body, "{not JSON \xff\xfe");
    }
    if (fault->kind == FAULT_CUT)
        reply->body_end = REPLY_CUT;
    if (fault->kind == FAULT_STALL)
        reply->body_end = REPLY_STALL;
}

/* ---- faults that are the whole answer ---- */

static json_t *envelope(const char *message, const char *type, const char *code)
{
    return json_build("{s{ss ss sn ss?}}", "error", "message", message, "type", type, "param",
                      "code", code);
}

/* The error that OpenAI sends with this status, as far as clients look at it. */
static json_t *status_body(int status)
{
    if (status == 401)
        return envelope("Incorrect API key provided.", "invalid_request_error",
                        "invalid_api_key");
    if (status == 404)
        return envelope("The model does not exist or you do not have access to it.",
                        "invalid_request_error", "model_not_found");
    if (status == 429)
        return envelope("Rate limit reached.", "requests", "rate_limit_exceeded");
    if (status >= 500)
        return envelope("The server had an error while processing your request.",
                        "server_error", NULL);
    return envelope("The request was refused.", "invalid_request_error", NULL);
}

static void make_status(struct reply *reply, const struct script_fault *fault)
{
    reply->status = fault->status ? fault->status : 500;
    if (json_is_string(fault->body)) {
        buf_add_text(&reply->body, json_string_value(fault->body));
        reply->content_type = "text/plain; charset=utf-8";
    } else {
        set_body(reply, fault->body ? json_incref(fault->body) : status_body(reply->status));
    }
}

static void make_page(struct reply *reply, const struct script_fault *fault)
{
    reply->status = fault->status ? fault->status : 200;
    reply->content_type = "text/html; charset=utf-8";
    buf_add_text(&reply->body, "<!doctype html>\n<title>Gateway</title>\n"
                               "<h1>Something is between you and the model</h1>\n");
}

/* ---- making a reply ---- */

static struct reply *reply_bare(void)
{
    struct reply *reply = mem_new(struct reply);

    reply->start = REPLY_PIECE;
    reply->body_end = REPLY_END;
    reply->status = 200;
    reply->retry_after = -1;
    reply->repeat = 1;
    reply->pieces = json_array();
    return reply;
}

static char *make_finish_reason(const struct script_answer *answer, const struct prompt *prompt)
{
    if (!answer->finish_reason)
        return mem_strdup(answer->call_count ? "tool_calls" : "stop");
    if (!strcmp(answer->finish_reason, "none"))
        return NULL;
    return template_expand(answer->finish_reason, prompt);
}

static void make_answer(struct reply *reply, const struct prompt *prompt)
{
    enum script_format format = reply->answer->format;

    id_make(reply->id, reply->shape->id_prefix);
    reply->created = clock_wall_us() / US_PER_SECOND;
    reply->model = mem_strdup(prompt->model);
    reply->wants_usage = prompt->wants_usage;
    reply->wants_logprobs = prompt->wants_logprobs;
    reply->finish_reason = make_finish_reason(reply->answer, prompt);
    reply->repeat = (size_t)reply->answer->repeat;
    reply->shape->make_pieces(reply, prompt);
    reply->usage = make_usage(reply, prompt);
    reply->stream = format == FORMAT_SSE || (format == FORMAT_AUTO && prompt->stream) ||
                    !reply->shape->whole;
    if (reply->stream)
        reply->content_type = "text/event-stream; charset=utf-8";
    else
        make_whole(reply, prompt);
}

static const struct reply_shape *shape_of(const struct script_answer *answer,
                                          const struct prompt *prompt)
{
    if (answer->events.count)
        return &reply_events;
    switch (prompt->dialect) {
    case PROMPT_RESPONSES: return &reply_responses;
    case PROMPT_COMPLETION: return &reply_completion;
    case PROMPT_OTHER: return &reply_sample;
    case PROMPT_CHAT: break;
    }
    return &reply_chat;
}

struct reply *reply_new(const struct script_answer *answer, const struct prompt *prompt)
{
    const struct script_fault *fault = &answer->fault;
    struct reply *reply = reply_bare();

    reply->answer = answer;
    reply->shape = shape_of(answer, prompt);
    reply->retry_after = fault->retry_after;
    if (fault->kind == FAULT_CUT && fault->after < 0)
        reply->start = REPLY_CUT;
    else if (fault->kind == FAULT_STALL && fault->after < 0)
        reply->start = REPLY_STALL;
    else if (fault->kind == FAULT_STATUS)
        make_status(reply, fault);
    else if (fault->kind == FAULT_HTML)
        make_page(reply, fault);
    else
        make_answer(reply, prompt);
    return reply;
}

struct reply *reply_new_error(int status, const char *code, const char *message)
{
    struct reply *reply = reply_bare();

    reply->status = status;
    set_body(reply, envelope(message, "invalid_request_error", code));
    return reply;
}

void reply_free(struct reply *reply)
{
    if (!reply)
        return;
    buf_clear(&reply->body);
    buf_clear(&reply->growing);
    json_decref(reply->pieces);
    json_decref(reply->output);
    json_decref(reply->usage);
    free(reply->model);
    free(reply->finish_reason);
    free(reply);
}

enum reply_part reply_start(const struct reply *reply)
{
    return reply->start;
}

int reply_status(const struct reply *reply)
{
    return reply->status;
}

const char *reply_content_type(const struct reply *reply)
{
    return reply->content_type;
}

int reply_retry_after(const struct reply *reply)
{
    return reply->retry_after;
}

size_t reply_length(const struct reply *reply)
{
    return reply->body.length;
}

int reply_delay_ms(const struct reply *reply)
{
    return reply->answer ? reply->answer->delay_ms : 0;
}

/* ---- the walk ---- */

static void add_line(const struct reply *reply, struct buf *out, const char *field,
                     const char *text, size_t length)
{
    unsigned dialect = reply->answer->dialect;

    buf_add_text(out, field);
    if (!(dialect & DIALECT_NO_SPACE))
        buf_add_char(out, ' ');
    buf_add(out, text, length);
    buf_add_text(out, dialect & DIALECT_CRLF ? "\r\n" : "\n");
}

static void end_event(const struct reply *reply, struct buf *out)
{
    buf_add_text(out, reply->answer->dialect & DIALECT_CRLF ? "\r\n" : "\n");
}

void reply_add_data(const struct reply *reply, struct buf *out, const char *name,
                    const char *text)
{
    if (reply->answer->dialect & DIALECT_COMMENTS) {
        add_line(reply, out, ":", "keep-alive", strlen("keep-alive"));
        end_event(reply, out);
    }
    if (name)
        add_line(reply, out, "event:", name, strlen(name));
    for (;;) {
        size_t length = strcspn(text, "\n");

        add_line(reply, out, "data:", text, length);
        if (!text[length])
            break;
        text += length + 1;
    }
    end_event(reply, out);
}

void reply_add_event(const struct reply *reply, struct buf *out, const char *name,
                     json_t *value)
{
    AUTO_FREE char *text = reply->answer->dialect & DIALECT_MULTI_LINE
                               ? json_text_indented(value, 1)
                               : json_text(value);

    reply_add_data(reply, out, name, text);
    json_decref(value);
}

void reply_add_nothing(struct reply *reply, struct buf *out)
{
    (void)reply, (void)out;
}

json_t *reply_whole_error(struct reply *reply, json_t *error)
{
    (void)reply;
    return json_build("{so}", "error", error);
}

void reply_add_error(struct reply *reply, struct buf *out, json_t *error)
{
    reply_add_event(reply, out, NULL, json_build("{so}", "error", error));
}

/* Bytes that are no UTF-8, a line that is no field, and data that is no JSON. */
static const char garbage[] = "\xff\xfe\0\1 what is this\n\ndata: {not JSON \xff\n\n";

static bool fault_is_due(const struct reply *reply)
{
    const struct script_fault *fault = &reply->answer->fault;
    size_t after = fault->after < 0 ? 0 : (size_t)fault->after;

    switch (fault->kind) {
    case FAULT_NO_END: return reply->stage == STAGE_FINISH;
    case FAULT_CUT:
    case FAULT_STALL:
    case FAULT_GARBAGE:
    case FAULT_ERROR:
        return after == 0 || reply->position >= after || reply->stage == STAGE_FINISH;
    default: return false;
    }
}

/* Adds the bytes of the fault, if it has any. Returns what the caller does next. */
static enum reply_part add_fault(struct reply *reply, struct buf *out)
{
    const struct script_fault *fault = &reply->answer->fault;

    reply->stage = STAGE_OVER;
    switch (fault->kind) {
    case FAULT_CUT: return REPLY_CUT;
    case FAULT_STALL: return REPLY_STALL;
    case FAULT_GARBAGE:
        buf_add(out, garbage, sizeof(garbage) - 1);
        reply->body_end = REPLY_CUT;
        return REPLY_PIECE;
    case FAULT_ERROR: reply->shape->error(reply, out, error_value(fault)); return REPLY_PIECE;
    default: return REPLY_END;
    }
}

static void add_piece(struct reply *reply, struct buf *out, int *ret_wait_ms)
{
    if (reply->position > 0)
        *ret_wait_ms = reply->answer->piece_delay_ms;
    reply->shape->piece(reply, out, reply_piece_at(reply, reply->position++));
}

/* Adds the bytes of the current stage, perhaps none, and moves on to the next stage. */
static void take_stage(struct reply *reply, struct buf *out, int *ret_wait_ms)
{
    switch (reply->stage) {
    case STAGE_BEGIN: reply->shape->begin(reply, out); break;
    case STAGE_PIECES:
        if (reply->position < reply_piece_total(reply)) {
            add_piece(reply, out, ret_wait_ms);
            return;
        }
        break;
    case STAGE_FINISH: reply->shape->finish(reply, out); break;
    case STAGE_USAGE: reply->shape->usage(reply, out); break;
    case STAGE_DONE:
        if (reply->shape->ends_with_done && !(reply->answer->dialect & DIALECT_NO_DONE))
            reply_add_data(reply, out, NULL, "[DONE]");
        break;
    case STAGE_OVER: return;
    }
    reply->stage++;
}

static enum reply_part next_event(struct reply *reply, struct buf *out, int *ret_wait_ms)
{
    size_t before = out->length;

    while (reply->stage != STAGE_OVER) {
        if (fault_is_due(reply))
            return add_fault(reply, out);
        take_stage(reply, out, ret_wait_ms);
        if (out->length > before)
            return REPLY_PIECE;
    }
    return reply->body_end;
}

/* A body is one piece. If a cut or a stall follows, only half of it is sent, so that its client waits for
 * the rest. */
static enum reply_part next_of_body(struct reply *reply, struct buf *out)
{
    size_t length = reply->body_end == REPLY_END ? reply->body.length : reply->body.length / 2;

    if (reply->body_sent >= length)
        return reply->body_end;
    buf_add(out, reply->body.data, length);
    reply->body_sent = length;
    return REPLY_PIECE;
}

enum reply_part reply_next(struct reply *reply, struct buf *out, int *ret_wait_ms)
{
    *ret_wait_ms = 0;
    return reply->stream ? next_event(reply, out, ret_wait_ms) : next_of_body(reply, out);
}
