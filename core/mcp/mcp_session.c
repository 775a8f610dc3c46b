/*
 * mcp_session.c -- questions to one server, in the order in which they can be asked.
 *
 * A question waits until the session is open. Opening it is a request of its own (initialize) and
 * a notification (initialized), whose acceptance is waited for: servers refuse what comes before.
 *
 * A server that does not take the POST of initialize (400, 404, 405) may be one of the older
 * transport: then a GET opens a stream that names the place for questions, and all answers come
 * over it. Everything else stays as it is.
 *
 * What needs no answer is sent and forgotten: it belongs to nobody, and the loop ends it.
 */

#include "core/mcp/mcp_session.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_extra.h"
#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_stream.h"
#include "core/mcp/mcp_tools.h"

/* For what is only told to the server. */
#define TELL_NS (10 * NS_PER_SECOND)

enum session_state {
    SESSION_CLOSED,
    SESSION_OPENING,
    SESSION_OPEN,
};

enum question_kind {
    QUESTION_LIST,
    QUESTION_CALL,
};

struct mcp_question {
    struct mcp_session *session;
    struct mcp_question *next; /* the session's */
    enum question_kind kind;
    const struct mcp_extra *extra;     /* that is called; NULL: a tool of the server's own */
    const struct mcp_listing *listing; /* what is listed now; NULL: one answer is all */
    json_t *params;                    /* of the call */
    json_t *gathered;                  /* listed so far */
    char *cursor;                      /* of the next page */
    unsigned pages;
    json_int_t id;                 /* of the latest request */
    unsigned generation;           /* of the session that it went through */
    struct mcp_exchange *exchange; /* NULL while it waits for the session */
    bool repeated;
    struct loop_timer deadline;
    mcp_answered *answered;
    mcp_progressed *progressed; /* or NULL */
    void *arg;
};

struct mcp_session {
    struct mcp_session_options options; /* strings and headers are ours */
    enum session_state state;
    char id[MCP_SESSION_LIMIT + 1]; /* "": the server keeps none */
    char version[16];
    json_t *capabilities; /* of the server; NULL before it has said */
    unsigned generation;
    json_int_t last_id;
    struct mcp_exchange *opening;
    bool older;                 /* it speaks the transport of 2024-11-05 */
    struct mcp_stream *stream;  /* its, for all answers */
    char *endpoint;             /* and where questions are posted to it */
    unsigned requests;          /* of the server's, over the stream */
    int refused;                /* what it has said to the newer one's POST */
    struct http_call *greeting; /* initialized, on its way */
    struct mcp_question *questions;
    bool list_changed;
    bool *closed; /* for whoever tells several: set when one of them closes the session */
};

/* ---- Headers ---- */

#define TOKEN_CHARACTERS                                  \
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz" \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool mcp_header_name_is_free(const char *name)
{
    static const char *const taken[] = {
        "accept",         "accept-encoding",
        "connection",     "content-encoding",
        "content-length", "content-type",
        "expect",         "host",
        "keep-alive",     "te",
        "trailer",        "transfer-encoding",
        "upgrade",        "last-event-id",
    };

    if (!*name || strspn(name, TOKEN_CHARACTERS) != strlen(name))
        return false;
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        if (strcasecmp(taken[i], name) == 0)
            return false;
    }
    return strncasecmp(name, "mcp-", 4) != 0 && strncasecmp(name, "proxy-", 6) != 0;
}

/* Lines of a request, to be freed by free_headers(). */
struct headers {
    char **lines; /* ends with NULL */
    size_t count;
};

static void add_header(struct headers *headers, char *line)
{
    headers->lines = mem_resize(headers->lines, headers->count + 2, sizeof(char *));
    headers->lines[headers->count++] = line;
    headers->lines[headers->count] = NULL;
}

static void free_headers(struct headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        free(headers->lines[i]);
    free(headers->lines);
}

static const char *const *lines_of(const struct headers *headers)
{
    return (const char *const *)headers->lines;
}

static void add_given(const struct mcp_session *session, struct headers *headers)
{
    const char *token = session->options.authorization;
    const char *name;
    json_t *value;

    if (token)
        add_header(headers, mem_printf("Authorization: Bearer %s", token));
    json_object_foreach ((json_t *)(uintptr_t)session->options.headers, name, value) {
        if (!json_is_string(value) || !mcp_header_name_is_free(name) ||
            (token && strcasecmp(name, "authorization") == 0))
            continue;
        add_header(headers, mem_printf("%s: %s", name, json_string_value(value)));
    }
}

static void make_headers(const struct mcp_session *session, struct headers *headers)
{
    add_header(headers, mem_strdup("Content-Type: application/json"));
    add_header(headers, mem_strdup("Accept: application/json, text/event-stream"));
    if (*session->version)
        add_header(headers, mem_printf("MCP-Protocol-Version: %s", session->version));
    if (*session->id)
        add_header(headers, mem_printf("Mcp-Session-Id: %s", session->id));
    add_given(session, headers);
}

static const char *place_of(const struct mcp_session *session)
{
    return session->endpoint ? session->endpoint : session->options.url;
}

/* ---- What needs no answer ---- */

static void forget(void *arg, enum err_code rc, const struct err *error)
{
    (void)arg, (void)rc, (void)error;
}

/* Takes `text`, which may be NULL. */
static struct http_call *send_request(struct mcp_session *session, const char *method,
                                      char *text,
                                      void (*on_done)(void *, enum err_code,
                                                      const struct err *))
{
    struct http_body *body = text ? http_body_new(text, strlen(text)) : NULL;
    struct headers headers = {0};
    struct http_call *call;

    make_headers(session, &headers);
    call = http_call_start(
        session->options.loop,
        &(struct http_request){
            .method = method,
            .url = place_of(session),
            .headers = lines_of(&headers),
            .body = body,
            .timeouts = {.connect = session->options.connect_ns, .total = TELL_NS},
            .egress = session->options.egress,
            .on_done = on_done,
            .arg = session,
        });
    free_headers(&headers);
    http_body_drop(body);
    return call;
}

static void tell(struct mcp_session *session, const char *method, char *text)
{
    (void)send_request(session, method, text, forget);
}

static void reply(void *arg, const json_t *request)
{
    const struct mcp_question *question = arg;

    tell(question->session, "POST", mcp_reply_text(request));
}

static void tell_cancelled(struct mcp_question *question)
{
    json_auto_t *params = json_build("{s:I, s:s}", "requestId", question->id, "reason",
                                     "Nobody waits for it any more.");

    tell(question->session, "POST", mcp_notification_text("notifications/cancelled", params));
}

/* ---- Questions ---- */

static void ask(struct mcp_question *question);
static void open_session(struct mcp_session *session);
static void open_stream(struct mcp_session *session);

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
    free(question->cursor);
    free(question);
}

static void answer(struct mcp_question *question, const struct mcp_answer *given)
{
    mcp_answered *answered = question->answered;
    void *arg = question->arg;

    forget_question(question);
    answered(arg, given);
}

static void answer_fault(struct mcp_question *question, enum mcp_fault fault, const char *text)
{
    answer(question, &(struct mcp_answer){.fault = fault, .text = text});
}

static bool is_asked(const struct mcp_question *question)
{
    return question->exchange && question->kind == QUESTION_CALL;
}

static void close_stream(struct mcp_session *session)
{
    mcp_stream_cancel(TAKE(session->stream));
    free(TAKE(session->endpoint));
}

static void stop_opening(struct mcp_session *session)
{
    mcp_exchange_cancel(TAKE(session->opening));
    if (session->greeting)
        http_call_cancel(TAKE(session->greeting));
    close_stream(session);
    session->state = SESSION_CLOSED;
}

/* The last that waited for the session has given up on it: the next tries anew. */
static void give_up_opening(struct mcp_question *question)
{
    struct mcp_session *session = question->session;

    if (session->state == SESSION_OPENING && session->questions == question && !question->next)
        stop_opening(session);
}

static void deadline_fired(struct loop_timer *timer)
{
    struct mcp_question *question = CONTAINER_OF(timer, struct mcp_question, deadline);
    const struct mcp_session_options *options = &question->session->options;
    uint64_t limit = question->kind == QUESTION_LIST ? options->list_ns : options->call_ns;
    AUTO_FREE char *text =
        mem_printf("did not answer within %g s", (double)limit / (double)NS_PER_SECOND);

    if (is_asked(question))
        tell_cancelled(question);
    give_up_opening(question);
    answer_fault(question, MCP_FAULT_HTTP, text);
}

/* ---- What comes back ---- */

/* The tools of a server come without pages; what it can do is said beside them. */
static void answer_tools(struct mcp_question *question)
{
    json_auto_t *whole = json_build("{s:O, s:O*}", "tools", question->gathered, "capabilities",
                                    question->session->capabilities);

    answer(question, &(struct mcp_answer){.result = whole});
}

/* As if a tool had given it. */
static void answer_extra(struct mcp_question *question, const json_t *given)
{
    json_auto_t *result = question->extra->result(given);

    if (result)
        answer(question, &(struct mcp_answer){.result = result});
    else
        answer_fault(question, MCP_FAULT_PROTOCOL,
                     "gave neither content nor messages where they were asked for");
}

/* The tools are one list; what a call lists may be several. */
static void end_listing(struct mcp_question *question)
{
    question->pages = 0;
    free(TAKE(question->cursor));
    if (question->kind == QUESTION_LIST)
        answer_tools(question);
    else if ((++question->listing)->method)
        ask(question);
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

/* One page more, or the end. */
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
        ask(question);
    } else {
        answer_fault(question, MCP_FAULT_PROTOCOL, endless);
    }
}

/* There is no such list, and none was promised: it is empty. */
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
    question->pages = 0;
    free(TAKE(question->cursor));
    json_decref(question->gathered);
    gather(question);
}

/* The server has forgotten the session; somebody else may have noticed before. */
static void lose_session(struct mcp_question *question, const struct mcp_answer *given)
{
    struct mcp_session *session = question->session;

    if (question->repeated) {
        answer(question, given);
        return;
    }
    begin_again(question);
    if (session->state == SESSION_OPEN && question->generation == session->generation)
        session->state = SESSION_CLOSED;
    if (session->state == SESSION_OPEN)
        ask(question);
    else if (session->state == SESSION_CLOSED)
        open_session(session);
}

static void take_answer(void *arg, const struct mcp_answer *given)
{
    struct mcp_question *question = arg;

    question->exchange = NULL;
    if (given->fault == MCP_FAULT_SESSION)
        lose_session(question, given);
    else if (is_absent(question, given))
        end_listing(question);
    else if (!given->fault && question->listing)
        take_page(question, given);
    else if (!given->fault && question->extra)
        answer_extra(question, given->result);
    else
        answer(question, given);
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

static struct mcp_exchange *send_ask(struct mcp_session *session, struct mcp_ask *what)
{
    struct headers headers = {0};
    struct mcp_exchange *exchange;

    make_headers(session, &headers);
    what->loop = session->options.loop;
    what->url = place_of(session);
    what->elsewhere = session->stream;
    what->headers = lines_of(&headers);
    what->egress = session->options.egress;
    what->connect_ns = session->options.connect_ns;
    what->with_session = *session->id;
    exchange = mcp_exchange_start(what);
    free_headers(&headers);
    return exchange;
}

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

/* The session is open. */
static void ask(struct mcp_question *question)
{
    struct mcp_session *session = question->session;
    json_auto_t *params =
        question->listing ? list_params(question) : json_incref(question->params);

    question->id = ++session->last_id;
    if (question->progressed)
        json_set(params, "_meta", json_build("{s:I}", "progressToken", question->id));
    question->generation = session->generation;
    question->exchange = send_ask(
        session, &(struct mcp_ask){
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

/* ---- Opening ---- */

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
        ask(question);
}

/* Whoever is told may close the session, or ask anew: then the others wait for that. */
static void fail_all(struct mcp_session *session, const struct mcp_answer *why)
{
    struct mcp_question *question;
    AUTO_FREE bool *closed = mem_new(bool);

    session->closed = closed;
    while (!*closed && session->state == SESSION_CLOSED && (question = find_waiting(session)))
        answer(question, why);
    if (!*closed)
        session->closed = NULL;
}

/* Whether it was welcome or not shows at the first question. */
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
    session->greeting =
        send_request(session, "POST", mcp_notification_text("notifications/initialized", NULL),
                     take_greeted);
}

/* It may be one of the older transport. What it has said to the POST counts when it is not. */
static bool may_be_older(const struct mcp_session *session, const struct mcp_answer *given)
{
    return !session->older && given->fault == MCP_FAULT_HTTP &&
           (given->code == 400 || given->code == 404 || given->code == 405);
}

static void fail_opening(struct mcp_session *session, const struct mcp_answer *why)
{
    close_stream(session);
    session->state = SESSION_CLOSED;
    fail_all(session, why);
}

static void take_opened(void *arg, const struct mcp_answer *given)
{
    struct mcp_session *session = arg;
    const char *version = json_get_string(given->result, "protocolVersion", "");
    struct mcp_answer refused = {.fault = MCP_FAULT_PROTOCOL,
                                 .text = "speaks no version of the protocol that we know"};

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
    greet(session);
}

static void reply_opening(void *arg, const json_t *request)
{
    tell(arg, "POST", mcp_reply_text(request));
}

static void initialize(struct mcp_session *session)
{
    json_auto_t *params = mcp_initialize_params();
    json_int_t id = ++session->last_id;

    session->opening = send_ask(session, &(struct mcp_ask){
                                             .id = id,
                                             .text = mcp_request_text(id, "initialize", params),
                                             .on_request = reply_opening,
                                             .on_done = take_opened,
                                             .arg = session,
                                         });
}

static void open_session(struct mcp_session *session)
{
    session->state = SESSION_OPENING;
    session->id[0] = session->version[0] = '\0';
    if (session->older)
        open_stream(session);
    else
        initialize(session);
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
        tell(session, "POST", mcp_reply_text(message));
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

/* What was asked may have been done: it is not asked again. What waits finds a new stream. */
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
    stop_opening(session);
    if (opening)
        fail_all(session, session->older || why->fault == MCP_FAULT_PROTOCOL ? why : &first);
    else
        fail_asked(session, why);
}

static void open_stream(struct mcp_session *session)
{
    struct headers headers = {0};

    session->requests = 0;
    add_header(&headers, mem_strdup("Accept: text/event-stream"));
    add_given(session, &headers);
    session->stream =
        mcp_stream_start(&(struct mcp_stream_options){.loop = session->options.loop,
                                                      .url = session->options.url,
                                                      .headers = lines_of(&headers),
                                                      .egress = session->options.egress,
                                                      .connect_ns = session->options.connect_ns,
                                                      .on_endpoint = take_endpoint,
                                                      .on_message = take_message,
                                                      .on_end = take_stream_end,
                                                      .arg = session});
    free_headers(&headers);
}

/* ---- Entry points ---- */

struct mcp_session *mcp_session_new(const struct mcp_session_options *options)
{
    struct mcp_session *session = mem_new(struct mcp_session);

    session->options = *options;
    session->options.url = mem_strdup(options->url);
    session->options.authorization = mem_strdup(options->authorization);
    session->options.headers =
        json_is_object(options->headers) ? json_deep_copy(options->headers) : NULL;
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
    stop_opening(session);
    if (*session->id)
        tell(session, "DELETE", NULL);
    free((char *)(uintptr_t)session->options.url);
    free((char *)(uintptr_t)session->options.authorization);
    json_decref((json_t *)(uintptr_t)session->options.headers);
    json_decref(session->capabilities);
    free(session);
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
        ask(question);
    else if (session->state == SESSION_CLOSED)
        open_session(session);
}

struct mcp_question *mcp_session_list(struct mcp_session *session, mcp_answered *answered,
                                      void *arg)
{
    struct mcp_question *question = put_question(session, QUESTION_LIST, NULL, answered, arg);

    put_forward(question);
    return question;
}

struct mcp_question *mcp_session_call(struct mcp_session *session, const char *tool,
                                      const struct mcp_extra *extra, const json_t *arguments,
                                      mcp_progressed *progressed, mcp_answered *answered,
                                      void *arg)
{
    struct mcp_question *question = put_question(session, QUESTION_CALL, extra, answered, arg);
    json_t *copy = json_deep_copy(arguments);

    question->progressed = progressed;
    question->params = extra ? copy : json_build("{s:s, s:o}", "name", tool, "arguments", copy);
    put_forward(question);
    return question;
}

bool mcp_session_list_changed(const struct mcp_session *session)
{
    return session->list_changed;
}

void mcp_question_cancel(struct mcp_question *question)
{
    if (!question)
        return;
    if (is_asked(question))
        tell_cancelled(question);
    forget_question(question);
}
