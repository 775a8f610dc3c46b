/*
 * mcp_question.c -- a question to a server, from the caller's request to its one answer.
 *
 *   put ─▶ wait for the session ─▶ ask ─┬─▶ answer
 *                ▲                      ├─▶ a page of a list: ask for the next one
 *                │                      ├─▶ not complete: ask again with the server's state
 *                └── session forgotten ─┘   (once)
 *
 * The caller sees one question and one answer. Pages, a session that has to be opened first or again, and
 * one deadline over all of that are handled here.
 *
 * Few failures lead to a repetition: the server answers that it does not know the session (404), or the version.
 * Then it has done nothing. A list is also asked for again when a server that was taken for stateless refuses
 * it like one of the older kind. Any other failure may come after the call was executed, and only the model or the
 * client can decide whether to make it again. Once is enough, because a server that forgets the session
 * twice in a row will forget it a third time.
 *
 * Several questions of a session may notice its loss, one after the other. `generation` counts sessions, so
 * only the first of them opens a new one, and the others are asked again when it is open.
 *
 * Callbacks may cancel questions, put new ones, or close the session. So a question is freed before its
 * callback is called, and nothing of it is touched afterwards.
 */

#include "core/mcp/mcp_session_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_extra.h"
#include "core/mcp/mcp_header.h"
#include "core/mcp/mcp_known.h"
#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_tools.h"

static void reply(void *arg, const json_t *request)
{
    const struct mcp_question *question = arg;

    mcp_send_and_forget(question->session, "POST", mcp_reply_text(request));
}

static void notify_cancelled(struct mcp_question *question)
{
    json_auto_t *params = json_build("{s:I, s:s}", "requestId", question->id, "reason",
                                     "The client no longer waits for it.");

    mcp_send_and_forget(question->session, "POST",
                        mcp_notification_text("notifications/cancelled", params));
}

/* A stateless server sees that the connection is closed; there is no other message. */
static void withdraw(struct mcp_question *question)
{
    if (question->exchange && question->kind == QUESTION_CALL && !question->stateless)
        notify_cancelled(question);
}

static void forget_question(struct mcp_question *question)
{
    struct mcp_question **at = &question->session->questions;

    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    loop_timer_stop(question->session->options.loop, &question->deadline);
    mcp_exchange_cancel(TAKE(question->exchange));
    json_decref(question->params);
    json_decref(question->gathered);
    json_decref(question->lines);
    json_decref(question->state);
    free(question->cursor);
    free(question);
}

void mcp_question_answer(struct mcp_question *question, const struct mcp_answer *given)
{
    mcp_answered *answered = question->answered;
    void *arg = question->arg;

    forget_question(question);
    answered(arg, given);
}

static void answer_fault(struct mcp_question *question, enum mcp_fault fault, const char *text)
{
    mcp_question_answer(question, &(struct mcp_answer){.fault = fault, .text = text});
}

/* The last question that waited for the session has been given up: the next one opens it again. */
static void give_up_opening(struct mcp_question *question)
{
    struct mcp_session *session = question->session;

    if (session->state == SESSION_OPENING && session->questions == question && !question->next)
        mcp_session_stop_opening(session);
}

static void deadline_fired(struct loop_timer *timer)
{
    struct mcp_question *question = CONTAINER_OF(timer, struct mcp_question, deadline);
    const struct mcp_session_options *options = &question->session->options;
    uint64_t limit = question->kind == QUESTION_LIST ? options->list_ns : options->call_ns;
    AUTO_FREE char *text =
        mem_printf("did not answer within %g s", (double)limit / (double)NS_PER_SECOND);

    withdraw(question);
    give_up_opening(question);
    answer_fault(question, MCP_FAULT_HTTP, text);
}

/* ---- Answers ---- */

/* The tools of a server as one list, with its capabilities beside them. */
static void answer_tools(struct mcp_question *question)
{
    json_auto_t *whole = json_build("{s:O, s:O*}", "tools", question->gathered, "capabilities",
                                    question->session->capabilities);

    mcp_question_answer(question, &(struct mcp_answer){.result = whole});
}

/* In the form of a result of tools/call. */
static void answer_extra(struct mcp_question *question, const json_t *given)
{
    json_auto_t *result = question->extra->result(given);

    if (result)
        mcp_question_answer(question, &(struct mcp_answer){.result = result});
    else
        answer_fault(question, MCP_FAULT_PROTOCOL, "answered without content or messages");
}

/* The tools are one list; a call may read several lists. */
static void end_listing(struct mcp_question *question)
{
    question->pages = 0;
    free(TAKE(question->cursor));
    if (question->kind == QUESTION_LIST)
        answer_tools(question);
    else if ((++question->listing)->method)
        mcp_question_ask(question);
    else
        answer_extra(question, question->gathered);
}

static enum err_code add_page(struct mcp_question *question, const json_t *page,
                              struct err *err)
{
    if (question->kind == QUESTION_LIST)
        return mcp_tools_add_page(question->gathered, page, err);
    return mcp_listing_add(question->listing, question->gathered, page, err);
}

/* Requests the next page, or ends the list. */
static void take_page(struct mcp_question *question, const struct mcp_answer *given)
{
    const char *cursor = json_get_string(given->result, "nextCursor", NULL);
    AUTO_FREE char *endless = mem_printf("its list of %s does not end", question->listing->key);
    struct err err;

    if (add_page(question, given->result, &err)) {
        answer_fault(question, MCP_FAULT_PROTOCOL, err.text);
    } else if (!cursor || !*cursor || json_get_bool(question->gathered, "more", false)) {
        end_listing(question);
    } else if (++question->pages < MCP_PAGE_LIMIT) {
        free(question->cursor);
        question->cursor = mem_strdup(cursor);
        mcp_question_ask(question);
    } else {
        answer_fault(question, MCP_FAULT_PROTOCOL, endless);
    }
}

/* The server does not have an optional list: it is taken for empty. */
static bool is_absent(const struct mcp_question *question, const struct mcp_answer *given)
{
    const json_t *capabilities = question->session->capabilities;

    if (!question->listing || given->fault != MCP_FAULT_PROTOCOL ||
        given->code != MCP_METHOD_NOT_FOUND)
        return false;
    return question->listing->optional ||
           (question->kind == QUESTION_LIST && !json_object_get(capabilities, "tools"));
}

static void gather(struct mcp_question *question)
{
    static const struct mcp_listing tools = {.method = "tools/list", .key = "tools"};

    question->listing = question->extra ? question->extra->listings : NULL;
    if (question->kind == QUESTION_LIST)
        question->listing = &tools;
    question->gathered = question->kind == QUESTION_LIST ? json_array() : json_object();
}

static void begin_again(struct mcp_question *question)
{
    question->repeated = true;
    question->pages = question->rounds = 0;
    json_decref(TAKE(question->state));
    free(TAKE(question->cursor));
    json_decref(question->gathered);
    gather(question);
}

/* The server has forgotten the session. Pages of a list begin anew: its cursors were of that session. */
static void lose_session(struct mcp_question *question, const struct mcp_answer *given)
{
    struct mcp_session *session = question->session;

    if (question->repeated) {
        mcp_question_answer(question, given);
        return;
    }
    begin_again(question);
    /* The first to notice: nobody has opened another session since this question was sent. */
    if (session->state == SESSION_OPEN && question->generation == session->generation)
        session->state = SESSION_CLOSED;
    if (session->state == SESSION_OPEN)
        mcp_question_ask(question);
    else if (session->state == SESSION_CLOSED)
        mcp_session_open(session);
}

/* ---- Stateless servers ---- */

/* The server is not what it was taken for. A call is not repeated if it may have been executed; but the next
 * question finds out what the server speaks now. */
static void doubt_server(struct mcp_question *question, const struct mcp_answer *given)
{
    struct mcp_session *session = question->session;

    mcp_known_forget(session->options.url);
    if (given->fault == MCP_FAULT_VERSION || question->kind == QUESTION_LIST) {
        lose_session(question, given);
        return;
    }
    if (session->state == SESSION_OPEN && question->generation == session->generation)
        session->state = SESSION_CLOSED;
    mcp_question_answer(question, given);
}

/* A server without sessions reports a changed list only over a stream of its own, which this client does not
 * hold open. A call that does not fit the server's schema may be a sign of it. */
static void note_change(struct mcp_question *question, const struct mcp_answer *given)
{
    if (question->kind == QUESTION_CALL && !question->extra &&
        (given->code == MCP_HEADER_MISMATCH || given->code == MCP_INVALID_PARAMS))
        question->session->list_changed = true;
}

/* The server wants the same request again, with its state. It may also want input of a kind that this client
 * has never offered. */
static void ask_further(struct mcp_question *question, const struct mcp_answer *given)
{
    json_t *state = json_object_get(given->result, "requestState");

    if (json_object_size(json_object_get(given->result, "inputRequests")) || question->listing)
        answer_fault(question, MCP_FAULT_PROTOCOL,
                     "asked for input, which this client cannot give");
    else if (++question->rounds > MCP_ROUND_LIMIT)
        answer_fault(question, MCP_FAULT_PROTOCOL, "asked for the same request too often");
    else {
        json_decref(question->state);
        question->state = json_is_string(state) ? json_incref(state) : NULL;
        mcp_question_ask(question);
    }
}

static bool is_incomplete(const struct mcp_answer *given)
{
    return strcmp(json_get_string(given->result, "resultType", ""), MCP_INPUT_REQUIRED) == 0;
}

static void take_answer(void *arg, const struct mcp_answer *given)
{
    struct mcp_question *question = arg;
    bool stateless = question->stateless;

    question->exchange = NULL;
    if (stateless && given->fault == MCP_FAULT_PROTOCOL)
        note_change(question, given);
    if (given->fault == MCP_FAULT_SESSION)
        lose_session(question, given);
    else if (given->fault == MCP_FAULT_VERSION || (stateless && mcp_is_refusal(given)))
        doubt_server(question, given);
    else if (stateless && is_incomplete(given))
        ask_further(question, given);
    else if (is_absent(question, given))
        end_listing(question);
    else if (!given->fault && question->listing)
        take_page(question, given);
    else if (!given->fault && question->extra)
        answer_extra(question, given->result);
    else
        mcp_question_answer(question, given);
}

static void take_progress(void *arg, const json_t *params)
{
    const struct mcp_question *question = arg;

    question->progressed(question->arg, params);
}

static void take_list_changed(void *arg)
{
    const struct mcp_question *question = arg;

    question->session->list_changed = true;
}

/* ---- Questions ---- */

static json_t *list_params(const struct mcp_question *question)
{
    return question->cursor ? json_build("{s:s}", "cursor", question->cursor) : json_object();
}

static const char *method_of(const struct mcp_question *question)
{
    if (question->listing)
        return question->listing->method;
    return question->extra ? question->extra->method : "tools/call";
}

/* What the header Mcp-Name repeats. */
static const char *name_of(const struct mcp_question *question)
{
    const char *name = json_get_string(question->params, "name", NULL);

    if (question->listing)
        return NULL;
    return strcmp(method_of(question), "resources/read") == 0
               ? json_get_string(question->params, "uri", NULL)
               : name;
}

static json_t *meta_of(const struct mcp_question *question)
{
    json_t *meta = question->stateless ? mcp_stateless_meta() : json_object();

    if (question->progressed)
        json_set(meta, "progressToken", json_integer(question->id));
    return meta;
}

static json_t *params_of(const struct mcp_question *question)
{
    json_t *params = question->listing ? list_params(question) : json_copy(question->params);
    json_auto_t *meta = meta_of(question);

    if (json_object_size(meta))
        json_object_set(params, "_meta", meta);
    if (question->state)
        json_object_set(params, "requestState", question->state);
    return params;
}

void mcp_question_ask(struct mcp_question *question)
{
    struct mcp_session *session = question->session;
    json_auto_t *params = NULL;

    question->id = ++session->last_id;
    question->stateless = session->stateless;
    params = params_of(question);
    question->generation = session->generation;
    question->exchange = mcp_send_ask(
        session,
        &(struct mcp_repeated){
            .method = method_of(question), .name = name_of(question), .lines = question->lines},
        &(struct mcp_ask){
            .id = question->id,
            .text = mcp_request_text(question->id, method_of(question), params),
            .once = question->kind == QUESTION_CALL,
            .on_request = reply,
            .on_progress = question->progressed ? take_progress : NULL,
            .on_list_changed = take_list_changed,
            .on_done = take_answer,
            .arg = question,
        });
}

static struct mcp_question *put_question(struct mcp_session *session, enum question_kind kind,
                                         const struct mcp_extra *extra, mcp_answered *answered,
                                         void *arg)
{
    struct mcp_question *question = mem_new(struct mcp_question);
    const struct mcp_session_options *options = &session->options;
    uint64_t limit = kind == QUESTION_LIST ? options->list_ns : options->call_ns;
    struct mcp_question **end = &session->questions;

    *question = (struct mcp_question){.session = session,
                                      .kind = kind,
                                      .extra = extra,
                                      .deadline = {.fire = deadline_fired},
                                      .answered = answered,
                                      .arg = arg};
    gather(question);
    while (*end)
        end = &(*end)->next;
    *end = question;
    if (limit)
        loop_timer_start(options->loop, &question->deadline, clock_mono_ns() + limit);
    return question;
}

static void put_forward(struct mcp_question *question)
{
    struct mcp_session *session = question->session;

    if (session->state == SESSION_OPEN)
        mcp_question_ask(question);
    else if (session->state == SESSION_CLOSED)
        mcp_session_open(session);
}

struct mcp_question *mcp_session_list(struct mcp_session *session, mcp_answered *answered,
                                      void *arg)
{
    struct mcp_question *question = put_question(session, QUESTION_LIST, NULL, answered, arg);

    put_forward(question);
    return question;
}

struct mcp_question *mcp_session_call(struct mcp_session *session, const char *tool,
                                      const struct mcp_extra *extra, const json_t *schema,
                                      const json_t *arguments, mcp_progressed *progressed,
                                      mcp_answered *answered, void *arg)
{
    struct mcp_question *question = put_question(session, QUESTION_CALL, extra, answered, arg);
    json_t *copy = json_deep_copy(arguments);

    question->progressed = progressed;
    question->lines = extra ? NULL : mcp_param_lines(schema, arguments);
    question->params = extra ? copy : json_build("{s:s, s:o}", "name", tool, "arguments", copy);
    put_forward(question);
    return question;
}

void mcp_question_cancel(struct mcp_question *question)
{
    if (!question)
        return;
    withdraw(question);
    forget_question(question);
}
