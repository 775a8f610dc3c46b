/*
 * mcp_session.c -- opens a session, and sends the questions that wait for it.
 *
 *   closed ─▶ server/discover ─▶ open
 *                └─ anything else ─▶ initialize ─▶ initialized ─▶ open
 *                                       └─ 400, 404, 405 ─▶ GET: a stream names the URL ─▶ initialize ─▶ ...
 *
 * Since 2026-07-28 there is nothing to open: each request says what it speaks. Older servers want a session.
 * To find out which kind a server is, it is asked server/discover as the newer kind understands it. Its answer
 * is the one of a newer server, or an error that only those have. Anything else is an older server, also no
 * answer in time. The specification would allow to send the first question instead. That saves a
 * request to a newer server, but the first question may be a call, and an older server might execute it before
 * it refuses it.
 *
 * What was found out is kept for later sessions (mcp_known.h). They begin at the right place of the picture,
 * and a newer server gets nothing but the questions. A server that does not take what it is known for is
 * forgotten and asked again.
 *
 * A session of the older kind is opened by a request (initialize) and a notification (initialized). Questions
 * are sent when the server has accepted the notification, because servers refuse requests before it.
 *
 * A server that refuses the POST of initialize may speak the older transport (2024-11-05). The specification
 * says how to find out: a GET opens a stream whose first event names the URL for requests. All answers come
 * over that stream; the rest is the same for both transports. If the GET is refused too, the client sees the
 * error of the POST, which is about the transport that it has most likely meant.
 *
 * Nothing is opened before the first question. A run may name servers that its model never calls.
 *
 * A question that fails calls its callback, and the callback may close the session. Loops over questions
 * watch for that through `closed`, a flag outside the session, and search from the beginning each time.
 */

#include "core/mcp/mcp_session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_known.h"
#include "core/mcp/mcp_message.h"

static void open_stream(struct mcp_session *session);

static void close_stream(struct mcp_session *session)
{
    mcp_link_close(TAKE(session->link));
    mcp_stream_cancel(TAKE(session->stream));
    free(TAKE(session->endpoint));
}

void mcp_session_stop_opening(struct mcp_session *session)
{
    loop_timer_stop(session->options.loop, &session->asking);
    mcp_exchange_cancel(TAKE(session->opening));
    if (session->greeting)
        http_call_cancel(TAKE(session->greeting));
    close_stream(session);
    session->state = SESSION_CLOSED;
}

static struct mcp_question *find_waiting(struct mcp_session *session)
{
    struct mcp_question *question = session->questions;

    while (question && question->exchange)
        question = question->next;
    return question;
}

static void ask_all(struct mcp_session *session)
{
    struct mcp_question *question;

    while ((question = find_waiting(session)))
        mcp_question_ask(question);
}

/* Answers all waiting questions with a fault. A callback may put a new question, which opens the session
 * again; the remaining questions then wait for that. */
static void fail_all(struct mcp_session *session, const struct mcp_answer *why)
{
    struct mcp_question *question;
    AUTO_FREE bool *closed = mem_new(bool);

    session->closed = closed;
    while (!*closed && session->state == SESSION_CLOSED && (question = find_waiting(session)))
        mcp_question_answer(question, why);
    if (!*closed)
        session->closed = NULL;
}

/* A failure of the notification is ignored: the first question will fail for the same reason. */
static void take_greeted(void *arg, enum err_code rc, const struct err *error)
{
    struct mcp_session *session = arg;

    (void)rc, (void)error;
    session->greeting = NULL;
    session->state = SESSION_OPEN;
    ask_all(session);
}

static void greet(struct mcp_session *session)
{
    if (session->link) { /* the process was greeted when it was started */
        take_greeted(session, ERR_OK, NULL);
        return;
    }
    session->greeting = mcp_send_request(
        session, "POST", mcp_notification_text("notifications/initialized", NULL),
        take_greeted);
}

/* The server may speak the older transport. If it does not, its answer to the POST is the error. */
static bool may_be_older(const struct mcp_session *session, const struct mcp_answer *given)
{
    return !session->older && !session->assumed && mcp_is_refusal(given);
}

static void know(const struct mcp_session *session, struct mcp_known what)
{
    mcp_known_keep(session->options.url, what, clock_mono_ns());
}

/* The server is not what it is known for: it is asked from the beginning. Not if it was not reached, or wants
 * another token. */
static bool begins_anew(struct mcp_session *session, const struct mcp_answer *why)
{
    if (!session->assumed || (why->fault == MCP_FAULT_HTTP && !mcp_is_refusal(why)))
        return false;
    mcp_known_forget(session->options.url);
    session->older = false;
    mcp_session_open(session);
    return true;
}

static void fail_opening(struct mcp_session *session, const struct mcp_answer *why)
{
    close_stream(session);
    session->state = SESSION_CLOSED;
    if (!begins_anew(session, why))
        fail_all(session, why);
}

static void take_opened(void *arg, const struct mcp_answer *given)
{
    struct mcp_session *session = arg;
    const char *version = json_get_string(given->result, "protocolVersion", "");
    struct mcp_answer refused = {
        .fault = MCP_FAULT_PROTOCOL,
        .text = "speaks no version of the protocol that this server knows"};

    session->opening = NULL;
    if (may_be_older(session, given)) {
        session->refused = given->code;
        open_stream(session);
        return;
    }
    if (given->fault || !mcp_version_is_known(version)) {
        fail_opening(session, given->fault ? given : &refused);
        return;
    }
    session->generation++;
    json_decref(session->capabilities);
    session->capabilities = json_incref(json_object_get(given->result, "capabilities"));
    (void)snprintf(session->version, sizeof(session->version), "%s", version);
    (void)snprintf(session->id, sizeof(session->id), "%s",
                   given->session ? given->session : "");
    know(session, (struct mcp_known){.era = session->older ? MCP_ERA_STREAM : MCP_ERA_SESSION});
    greet(session);
}

static void reply_opening(void *arg, const json_t *request)
{
    mcp_send_and_forget(arg, "POST", mcp_reply_text(request));
}

static void initialize(struct mcp_session *session)
{
    json_auto_t *params = mcp_initialize_params();
    json_int_t id = ++session->last_id;

    session->opening = mcp_send_ask(session, NULL,
                                    &(struct mcp_ask){
                                        .id = id,
                                        .text = mcp_request_text(id, "initialize", params),
                                        .on_request = reply_opening,
                                        .on_done = take_opened,
                                        .arg = session,
                                    });
}

/* ---- Servers without sessions ---- */

static void be_stateless(struct mcp_session *session)
{
    session->stateless = true;
    (void)snprintf(session->version, sizeof(session->version), "%s", MCP_STATELESS);
}

static void be_older(struct mcp_session *session)
{
    session->stateless = false;
    session->version[0] = '\0';
}

/* Takes the capabilities. */
static void open_stateless(struct mcp_session *session, json_t *capabilities)
{
    session->generation++;
    json_decref(session->capabilities);
    session->capabilities = capabilities;
    session->state = SESSION_OPEN;
    ask_all(session);
}

/* It is a newer server, and this is its error. */
static bool is_final(const struct mcp_answer *given)
{
    return given->fault == MCP_FAULT_HTTP
               ? !given->code /* it was not reached */
               : given->error && mcp_error_is_stateless(given->code) &&
                     !mcp_error_offers_session(given->error);
}

static void take_discovered(void *arg, const struct mcp_answer *given)
{
    struct mcp_session *session = arg;
    json_t *capabilities = json_object_get(given->result, "capabilities");

    session->opening = NULL;
    loop_timer_stop(session->options.loop, &session->asking);
    if (!given->fault && mcp_discovers_stateless(given->result)) {
        know(session, mcp_known_stateless(capabilities));
        open_stateless(session, json_incref(capabilities));
        return;
    }
    be_older(session);
    if (given->fault && is_final(given))
        fail_opening(session, given);
    else
        initialize(session);
}

static void asking_fired(struct loop_timer *timer)
{
    struct mcp_session *session = CONTAINER_OF(timer, struct mcp_session, asking);

    mcp_exchange_cancel(TAKE(session->opening));
    be_older(session);
    initialize(session);
}

static void discover(struct mcp_session *session)
{
    static const char method[] = "server/discover";
    json_auto_t *params = json_build("{s:o}", "_meta", mcp_stateless_meta());
    json_int_t id = ++session->last_id;

    be_stateless(session);
    loop_timer_start(session->options.loop, &session->asking,
                     clock_mono_ns() + session->options.discover_ns);
    session->opening = mcp_send_ask(session, &(struct mcp_repeated){.method = method},
                                    &(struct mcp_ask){
                                        .id = id,
                                        .text = mcp_request_text(id, method, params),
                                        .on_done = take_discovered,
                                        .arg = session,
                                    });
}

static void open_link(struct mcp_session *session);

void mcp_session_open(struct mcp_session *session)
{
    struct mcp_known known = mcp_known_find(session->options.url, clock_mono_ns());

    session->state = SESSION_OPENING;
    if (session->options.processes) {
        open_link(session);
        return;
    }
    session->assumed = known.era != MCP_ERA_UNKNOWN;
    session->id[0] = '\0';
    be_older(session);
    session->older = session->older || known.era == MCP_ERA_STREAM;
    if (session->older) {
        open_stream(session);
    } else if (known.era == MCP_ERA_SESSION) {
        initialize(session);
    } else if (known.era == MCP_ERA_STATELESS) {
        be_stateless(session);
        open_stateless(session, mcp_known_capabilities(known));
    } else {
        discover(session);
    }
}

/* ---- The older transport ---- */

static void take_endpoint(void *arg, const char *url)
{
    struct mcp_session *session = arg;

    session->older = true;
    session->endpoint = mem_strdup(url);
    initialize(session);
}

static bool is_about(const json_t *message, json_int_t id)
{
    enum mcp_message_kind kind = mcp_message_kind(message, id);

    return kind == MCP_MESSAGE_ANSWER || kind == MCP_MESSAGE_PROGRESS;
}

static struct mcp_question *find_asked(const struct mcp_session *session, const json_t *message)
{
    struct mcp_question *question = session->questions;

    while (question && (!question->exchange || !is_about(message, question->id)))
        question = question->next;
    return question;
}

static void take_request(struct mcp_session *session, const json_t *message)
{
    if (++session->requests <= MCP_ASKED_LIMIT)
        mcp_send_and_forget(session, "POST", mcp_reply_text(message));
}

static void take_message(void *arg, json_t *message)
{
    struct mcp_session *session = arg;
    struct mcp_question *question = find_asked(session, message);

    if (mcp_message_kind(message, -1) == MCP_MESSAGE_REQUEST && session->endpoint)
        take_request(session, message);
    else if (question)
        (void)mcp_exchange_offer(question->exchange, message);
    else if (session->opening)
        (void)mcp_exchange_offer(session->opening, message);
}

static struct mcp_question *find_stranded(const struct mcp_session *session,
                                          unsigned generation)
{
    struct mcp_question *question = session->questions;

    while (question && (!question->exchange || question->generation != generation))
        question = question->next;
    return question;
}

/* Questions that were sent may have been executed: they are not repeated. Those that still wait get
 * a new stream. */
static void fail_asked(struct mcp_session *session, const struct mcp_answer *why)
{
    unsigned gone = session->generation;
    struct mcp_question *question;
    AUTO_FREE bool *closed = mem_new(bool);

    session->closed = closed;
    while (!*closed && (question = find_stranded(session, gone)))
        mcp_exchange_fail(question->exchange, why);
    if (!*closed)
        session->closed = NULL;
}

static void take_stream_end(void *arg, const struct mcp_answer *why)
{
    struct mcp_session *session = arg;
    struct mcp_answer first = {.fault = MCP_FAULT_HTTP, .code = session->refused};
    AUTO_FREE char *text = mem_printf("answered with HTTP status %d", session->refused);
    bool opening = session->state == SESSION_OPENING;

    session->stream = NULL;
    first.text = text;
    mcp_session_stop_opening(session);
    if (opening && begins_anew(session, why))
        return;
    if (opening)
        fail_all(session, session->older || why->fault == MCP_FAULT_PROTOCOL ? why : &first);
    else
        fail_asked(session, why);
}

static void open_stream(struct mcp_session *session)
{
    session->requests = 0;
    session->stream =
        mcp_send_for_stream(session, &(struct mcp_stream_options){.on_endpoint = take_endpoint,
                                                                  .on_message = take_message,
                                                                  .on_end = take_stream_end});
}

/* ---- Processes ---- */

/* The process answers its own requests' parts elsewhere (mcp_process.c): what comes is for a question. */
static void take_piped(void *arg, json_t *message)
{
    struct mcp_session *session = arg;

    if (mcp_message_kind(message, -1) == MCP_MESSAGE_LIST_CHANGED)
        session->list_changed = true;
    else
        take_message(session, message);
}

/* What was asked may have been executed. The next question begins with a new link. */
static void take_link_end(void *arg, const struct mcp_answer *why)
{
    struct mcp_session *session = arg;
    bool opening = session->state == SESSION_OPENING;

    session->link = NULL;
    mcp_session_stop_opening(session);
    if (opening)
        fail_all(session, why);
    else
        fail_asked(session, why);
}

static void open_link(struct mcp_session *session)
{
    be_older(session);
    session->older = true;
    session->link = mcp_link_open(session->options.processes,
                                  &(struct mcp_link_options){.named = session->options.named,
                                                             .tenant = session->options.tenant,
                                                             .loop = session->options.loop,
                                                             .on_message = take_piped,
                                                             .on_end = take_link_end,
                                                             .arg = session});
    initialize(session);
}

/* ---- Public functions ---- */

struct mcp_session *mcp_session_new(const struct mcp_session_options *options)
{
    struct mcp_session *session = mem_new(struct mcp_session);

    session->options = *options;
    session->options.url = mem_strdup(options->url);
    session->options.authorization = mem_strdup(options->authorization);
    session->options.headers =
        json_is_object(options->headers) ? json_deep_copy(options->headers) : NULL;
    session->asking.fire = asking_fired;
    return session;
}

void mcp_session_close(struct mcp_session *session)
{
    if (!session)
        return;
    if (session->closed)
        *session->closed = true;
    while (session->questions)
        mcp_question_cancel(session->questions);
    mcp_session_stop_opening(session);
    if (*session->id)
        mcp_send_and_forget(session, "DELETE", NULL);
    free((char *)(uintptr_t)session->options.url);
    free((char *)(uintptr_t)session->options.authorization);
    json_decref((json_t *)(uintptr_t)session->options.headers);
    json_decref(session->capabilities);
    free(session);
}

bool mcp_session_list_changed(const struct mcp_session *session)
{
    return session->list_changed;
}
