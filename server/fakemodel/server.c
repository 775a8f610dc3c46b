#include "server/fakemodel/server.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/net/listen.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/reply.h"
#include "server/fakemodel/rules.h"
#include "server/fakemodel/script.h"
#include "server/fakemodel/upload.h"
#include "server/http/parse/uri.h"

/*
 * fakemodel/server.c -- connections, each with its thread, and the state that they share.
 *
 *   handle() ─▶ serve_api() ─▶ prompt ─▶ rule ─▶ reply ─▶ send_reply() ─▶ read_reply() ... ─▶ request_ended()
 *        └────▶ serve_control(): the record, another script
 *
 * libmicrohttpd runs a thread for each connection and calls read_reply() for the next bytes. That
 * function may simply wait, so a delay, a stall or a stream of an hour needs no state machine. For a
 * server with real clients that would be wrong (a thread is memory), and the real server does it with
 * loops. For a test's upstream it is the shortest code that can be right.
 *
 * Two things are shared: the current script and the record of requests. One lock guards both. It is
 * never held while a thread waits or writes. A reply borrows its rule, so a script is counted, and
 * freed with the last reply made from it: POST /__script may replace it while streams are open.
 *
 * Every wait is a poll() of the client's socket and of an eventfd. So a client that leaves ends its
 * thread at once, as the record has to say, and stopping the server does not wait for delays.
 *
 * Nothing is stored. A test that kills this process loses its record.
 */

#define UPSTREAM_BODY_LIMIT       ((size_t)80 << 20)
#define UPSTREAM_CONNECTION_LIMIT 8192u
#define UPSTREAM_HEAD_LIMIT       ((size_t)32 << 10)
#define UPSTREAM_STACK_SIZE       ((size_t)256 << 10)
#define UPSTREAM_IDLE_TIMEOUT     300u /* seconds that a connection is kept without a request */
#define RECORD_LIMIT              ((size_t)500)
#define RECORD_BODY_LIMIT         ((size_t)1 << 20) /* of a longer body, the length is recorded */
#define DEFAULT_LISTEN            "127.0.0.1:9000"

struct shared_script {
    struct script *script;
    unsigned users; /* guarded by lock */
};

struct upstream_server {
    struct MHD_Daemon *daemon;
    int stopping;    /* an eventfd; readable from the moment when the server stops */
    bool controlled; /* it has the control paths, and keeps a record for them */
    char url[LISTEN_URL_SIZE];

    struct lock lock;
    struct shared_script *current; /* guarded by lock */
    json_t *records;               /* guarded by lock, with all in it but the bodies */
    unsigned long request_count;   /* guarded by lock */
};

/* One request and its answer. It belongs to the connection's thread. */
struct exchange {
    struct upstream_server *server;
    struct MHD_Connection *connection; /* NULL until its handler has seen the request */
    char *target;                      /* "/path?query" as it was sent */
    struct buf request;
    bool too_large;
    json_t *record; /* a reference; guarded by the server's lock; NULL: not recorded */
    struct shared_script *script;
    struct reply *reply;
    struct buf out; /* bytes of the present piece that the library has not taken yet */
    bool cut;       /* the script breaks the connection */
};

/* ---- waiting ---- */

enum waited {
    WAITED_TIME,
    WAITED_LEFT, /* the client is gone */
    WAITED_STOP,
};

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info->connect_fd;
}

/* Waits until `deadline_ns`, the client's leaving, or the end of the server. */
static enum waited wait_until(struct exchange *exchange, uint64_t deadline_ns)
{
    struct pollfd fds[] = {
        {.fd = socket_of(exchange->connection), .events = POLLRDHUP},
        {.fd = exchange->server->stopping, .events = POLLIN},
    };
    uint64_t now;

    while ((now = clock_mono_ns()) < deadline_ns) {
        uint64_t left = deadline_ns - now;
        struct timespec timeout = {.tv_sec = (time_t)(left / NS_PER_SECOND),
                                   .tv_nsec = (long)(left % NS_PER_SECOND)};

        if (ppoll(fds, COUNT_OF(fds), &timeout, NULL) <= 0)
            continue;
        return fds[1].revents ? WAITED_STOP : WAITED_LEFT;
    }
    return WAITED_TIME;
}

static enum waited wait_ms(struct exchange *exchange, int ms)
{
    return ms > 0 ? wait_until(exchange, clock_mono_ns() + (uint64_t)ms * NS_PER_MS)
                  : WAITED_TIME;
}

static enum waited wait_for_leaving(struct exchange *exchange)
{
    return wait_until(exchange, UINT64_MAX);
}

/* ---- the script ---- */

static struct shared_script *share(struct script *script)
{
    struct shared_script *shared = mem_new(struct shared_script);

    shared->script = script;
    shared->users = 1;
    return shared;
}

static void release_script(struct upstream_server *server, struct shared_script *shared)
{
    bool last;

    if (!shared)
        return;
    lock_acquire(&server->lock);
    last = --shared->users == 0;
    lock_release(&server->lock);
    if (last) {
        script_free(shared->script);
        free(shared);
    }
}

static void replace_script(struct upstream_server *server, struct script *script)
{
    struct shared_script *next = share(script);
    struct shared_script *previous;

    lock_acquire(&server->lock);
    previous = server->current;
    server->current = next;
    lock_release(&server->lock);
    release_script(server, previous);
}

/* The current script, held for as long as the exchange lasts. */
static struct script *take_script(struct exchange *exchange)
{
    struct upstream_server *server = exchange->server;

    lock_acquire(&server->lock);
    exchange->script = server->current;
    exchange->script->users++;
    lock_release(&server->lock);
    return exchange->script->script;
}

/* ---- the record ---- */

static json_t *recorded_body(const struct buf *body, json_t *parsed)
{
    if (json_object_get(parsed, "sha256")) /* of a form: without its files */
        return json_incref(parsed);
    if (body->length > RECORD_BODY_LIMIT)
        return json_integer((json_int_t)body->length);
    if (parsed)
        return json_incref(parsed);
    if (!body->length)
        return json_null();

    AUTO_FREE char *text = json_clean_utf8(body->data, body->length);
    return json_string(text);
}

static void add_record_locked(struct upstream_server *server, json_t *record)
    REQUIRES(server->lock)
{
    if (json_array_size(server->records) >= RECORD_LIMIT)
        json_array_remove(server->records, 0);
    json_array_append(server->records, record);
}

/* Counts the request, and records it if the server has the control paths. Returns its number. */
static unsigned long record_request(struct exchange *exchange, const char *method,
                                    const char *path, const json_t *headers, json_t *parsed)
{
    struct upstream_server *server = exchange->server;
    json_t *record = NULL;
    unsigned long number;

    if (server->controlled)
        record = json_build("{ss ss sO so sn ss}", "method", method, "path", path, "headers",
                            headers, "body", recorded_body(&exchange->request, parsed), "rule",
                            "state", "open");

    lock_acquire(&server->lock);
    number = ++server->request_count;
    if (record) {
        json_set_int(record, "number", (json_int_t)number);
        add_record_locked(server, record);
    }
    lock_release(&server->lock);
    exchange->record = record;
    return number;
}

static void note(struct exchange *exchange, const char *key, const char *text)
{
    if (!exchange->record)
        return;
    lock_acquire(&exchange->server->lock);
    json_set_string(exchange->record, key, text);
    lock_release(&exchange->server->lock);
}

static char *records_text(struct upstream_server *server)
{
    json_t *list;
    char *text;

    lock_acquire(&server->lock);
    list = json_build("{sI sO}", "count", (json_int_t)server->request_count, "data",
                      server->records);
    text = json_text(list);
    json_decref(list);
    lock_release(&server->lock);
    return text;
}

static void forget_records(struct upstream_server *server)
{
    lock_acquire(&server->lock);
    json_array_clear(server->records);
    server->request_count = 0;
    lock_release(&server->lock);
}

/* ---- requests ---- */

/* Adds a header to the record, its name in lower case. A key is not recorded. */
static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    json_t *headers = arg;
    char lower[128];
    size_t i;

    (void)kind;
    for (i = 0; name[i] && i < sizeof(lower) - 1; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + ('a' - 'A') : name[i]);
    lower[i] = '\0';
    if (json_valid_utf8(lower, i))
        json_set_string(headers, lower, strcmp(lower, "authorization") ? value : "(hidden)");
    return MHD_YES;
}

/* Those in the URL. The library does not keep them: http/mhd_overrides.h. New reference. */
static json_t *parameters_of(const char *target)
{
    json_t *parameters = json_object();
    struct uri uri;

    if (uri_parse(target, &uri, NULL))
        return parameters;
    for (size_t i = 0; i < uri.query_count; i++)
        json_set_string(parameters, uri.query[i].name, uri.query[i].value);
    uri_clear(&uri);
    return parameters;
}

static json_t *headers_of(struct MHD_Connection *connection)
{
    json_t *headers = json_object();

    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, headers);
    return headers;
}

static bool authorized(struct exchange *exchange, const struct script *script)
{
    const char *value = MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND,
                                                    MHD_HTTP_HEADER_AUTHORIZATION);

    if (!script->api_key)
        return true;
    return value && !strncmp(value, "Bearer ", 7) && !strcmp(value + 7, script->api_key);
}

/* ---- answers ---- */

static enum MHD_Result send_text(struct exchange *exchange, unsigned status, const char *type,
                                 char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result result;

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    result = MHD_queue_response(exchange->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_error(struct exchange *exchange, int status, const char *code,
                                  const char *message)
{
    json_auto_t *body = json_build("{s{ss ss sn ss?}}", "error", "message", message, "type",
                                   "invalid_request_error", "param", "code", code);

    return send_text(exchange, (unsigned)status, "application/json", json_text(body));
}

/* The library's content reader, on the connection's thread: it may wait. */
static ssize_t read_reply(void *arg, uint64_t position, char *bytes, size_t size)
{
    struct exchange *exchange = arg;
    int wait = 0;

    (void)position;
    if (!exchange->out.length) {
        switch (reply_next(exchange->reply, &exchange->out, &wait)) {
        case REPLY_PIECE: break;
        case REPLY_END: return MHD_CONTENT_READER_END_OF_STREAM;
        case REPLY_STALL: wait_for_leaving(exchange); return MHD_CONTENT_READER_END_WITH_ERROR;
        case REPLY_CUT: exchange->cut = true; return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        if (wait_ms(exchange, wait) != WAITED_TIME)
            return MHD_CONTENT_READER_END_WITH_ERROR;
    }

    if (size > exchange->out.length)
        size = exchange->out.length;
    memcpy(bytes, exchange->out.data, size);
    buf_consume(&exchange->out, size);
    return (ssize_t)size;
}

static struct MHD_Response *reply_response(struct exchange *exchange)
{
    const struct reply *reply = exchange->reply;
    uint64_t size = reply_length(reply) ? reply_length(reply) : MHD_SIZE_UNKNOWN;
    struct MHD_Response *response = MHD_create_response_from_callback(
        size, UPSTREAM_HEAD_LIMIT / 2, read_reply, exchange, NULL);
    char seconds[16];

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply_content_type(reply));
    if (reply_retry_after(reply) >= 0) {
        snprintf(seconds, sizeof(seconds), "%d", reply_retry_after(reply));
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    return response;
}

static enum MHD_Result send_reply(struct exchange *exchange)
{
    enum MHD_Result result;
    struct MHD_Response *response;

    if (wait_ms(exchange, reply_delay_ms(exchange->reply)) != WAITED_TIME)
        return MHD_NO;
    if (reply_start(exchange->reply) == REPLY_STALL)
        wait_for_leaving(exchange);
    if (reply_start(exchange->reply) == REPLY_CUT)
        exchange->cut = true;
    if (reply_start(exchange->reply) != REPLY_PIECE)
        return MHD_NO;

    response = reply_response(exchange);
    result = MHD_queue_response(exchange->connection, (unsigned)reply_status(exchange->reply),
                                response);
    MHD_destroy_response(response);
    return result;
}

/* ---- endpoints ---- */

static struct script_rule *pick_rule(struct exchange *exchange, const struct prompt *prompt)
{
    struct script_rule *rule;

    lock_acquire(&exchange->server->lock);
    rule = script_pick(exchange->script->script, prompt);
    lock_release(&exchange->server->lock);
    if (rule && rule->name)
        note(exchange, "rule", rule->name);
    return rule;
}

/* Endpoints that are not words of a model have answers without a rule. */
static enum MHD_Result answer_prompt(struct exchange *exchange, const struct prompt *prompt)
{
    const struct script_rule *rule = pick_rule(exchange, prompt);

    if (rule)
        exchange->reply = reply_new(&rule->answer, prompt);
    else if (prompt->dialect == PROMPT_OTHER)
        exchange->reply = reply_new(&exchange->script->script->defaults, prompt);
    else
        exchange->reply =
            reply_new_error(400, "no_rule_fits", "No rule of the script fits this request.");
    return send_reply(exchange);
}

/* The endpoints of a model, and the member with messages or text that each must have. */
/* clang-format off */
static const struct endpoint {
    const char *path;
    enum prompt_dialect dialect;
    const char *words;
    const char *method; /* NULL: POST. A GET has its parameters in the URL */
} endpoints[] = {
    {"/v1/chat/completions",   PROMPT_CHAT,       "messages", NULL},
    {"/v1/responses",          PROMPT_RESPONSES,  "input", NULL},
    {"/v1/completions",        PROMPT_COMPLETION, "prompt", NULL},
    {"/v1/embeddings",         PROMPT_OTHER,      "input", NULL},
    {"/v1/moderations",        PROMPT_OTHER,      "input", NULL},
    {"/v1/rerank",             PROMPT_OTHER,      "query", NULL},
    {"/v1/images/generations", PROMPT_OTHER,      "prompt", NULL},
    {"/v1/audio/speech",       PROMPT_OTHER,      "input", NULL},
    {"/v1/images/edits",       PROMPT_OTHER,      "image", NULL},
    {"/v1/images/variations",  PROMPT_OTHER,      "image", NULL},
    {"/v1/audio/transcriptions", PROMPT_OTHER,    "file", NULL},
    {"/v1/audio/translations", PROMPT_OTHER,      "file", NULL},
    {"/search",                PROMPT_OTHER,      "q", MHD_HTTP_METHOD_GET},
};
/* clang-format on */

static const struct endpoint *find_endpoint(const char *method, const char *path)
{
    for (size_t i = 0; i < COUNT_OF(endpoints); i++) {
        const char *own = endpoints[i].method ? endpoints[i].method : MHD_HTTP_METHOD_POST;

        if (!strcmp(path, endpoints[i].path) && !strcmp(method, own))
            return &endpoints[i];
    }
    return NULL;
}

static bool has_words(const struct endpoint *endpoint, const json_t *body)
{
    const json_t *words = json_object_get(body, endpoint->words);

    return json_is_array(words) || json_is_object(words) ||
           (endpoint->dialect != PROMPT_CHAT && json_is_string(words));
}

static enum MHD_Result serve_prompt(struct exchange *exchange, const struct endpoint *endpoint,
                                    const json_t *body, const json_t *headers,
                                    unsigned long number)
{
    AUTO_FREE char *missing = mem_printf("Missing required parameter: '%s'.", endpoint->words);
    enum MHD_Result result;
    struct prompt prompt;

    if (exchange->too_large)
        return send_error(exchange, 413, NULL, "The body is too large.");
    if (!json_is_object(body))
        return send_error(exchange, 400, NULL,
                          "We could not parse the JSON body of your request.");
    if (endpoint->dialect != PROMPT_OTHER && !json_is_string(json_object_get(body, "model")))
        return send_error(exchange, 400, "missing_required_parameter",
                          "Missing required parameter: 'model'.");
    if (!has_words(endpoint, body))
        return send_error(exchange, 400, "missing_required_parameter", missing);
    prompt_init(&prompt, endpoint->dialect, body, headers, number);
    prompt.path = endpoint->path;
    result = answer_prompt(exchange, &prompt);
    prompt_clear(&prompt);
    return result;
}

static enum MHD_Result list_models(struct exchange *exchange, const struct script *script)
{
    json_auto_t *data = json_array();
    json_auto_t *list = NULL;

    for (size_t i = 0; i < script->models.count; i++)
        json_array_append_new(data, json_build("{ss ss si ss}", "id", script->models.items[i],
                                               "object", "model", "created", 1735689600,
                                               "owned_by", "script"));
    list = json_build("{ss sO}", "object", "list", "data", data);
    return send_text(exchange, 200, "application/json", json_text(list));
}

static enum MHD_Result serve_api(struct exchange *exchange, const char *method,
                                 const char *path)
{
    const struct endpoint *endpoint = find_endpoint(method, path);
    json_auto_t *headers = headers_of(exchange->connection);
    json_auto_t *body = NULL;
    const struct script *script = take_script(exchange);
    unsigned long number;

    body = upload_read(json_string_value(json_object_get(headers, "content-type")),
                       &exchange->request);
    if (!body && exchange->request.length &&
        json_parse(exchange->request.data, exchange->request.length, &body, NULL))
        body = NULL;
    if (endpoint && endpoint->method)
        body = parameters_of(exchange->target);
    number = record_request(exchange, method, path, headers, body);

    if (!authorized(exchange, script))
        return send_error(exchange, 401, "invalid_api_key", "Incorrect API key provided.");
    if (endpoint)
        return serve_prompt(exchange, endpoint, body, headers, number);
    if (!strcmp(path, "/v1/models") && !strcmp(method, "GET"))
        return list_models(exchange, script);
    return send_error(exchange, 404, NULL, "This path does not exist.");
}

static enum MHD_Result serve_script(struct exchange *exchange)
{
    struct script *script = NULL;
    struct err err;

    if (exchange->too_large)
        return send_error(exchange, 413, NULL, "The body is too large.");
    if (script_parse(exchange->request.data ? exchange->request.data : "",
                     exchange->request.length, &script, &err))
        return send_error(exchange, 400, "invalid_script", err.text);

    AUTO_FREE char *text = mem_printf("{\"rules\":%zu}", script->rule_count);
    replace_script(exchange->server, script);
    return send_text(exchange, 200, "application/json", TAKE(text));
}

static enum MHD_Result serve_control(struct exchange *exchange, const char *method,
                                     const char *path)
{
    struct upstream_server *server = exchange->server;

    if (!strcmp(path, "/__requests") && !strcmp(method, "GET"))
        return send_text(exchange, 200, "application/json", records_text(server));
    if (!strcmp(path, "/__requests") && !strcmp(method, "DELETE")) {
        forget_records(server);
        return send_text(exchange, 200, "application/json", mem_strdup("{}"));
    }
    if (!strcmp(path, "/__script") && !strcmp(method, "POST"))
        return serve_script(exchange);
    return send_error(exchange, 404, NULL, "This path does not exist.");
}

/* ---- libmicrohttpd ---- */

static void take_upload(struct exchange *exchange, const char *bytes, size_t size)
{
    if (exchange->too_large || exchange->request.length + size > UPSTREAM_BODY_LIMIT) {
        exchange->too_large = true;
        buf_clear(&exchange->request);
        return;
    }
    buf_add(&exchange->request, bytes, size);
}

/* The first that is known of a request. */
static void *see_target(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct exchange *exchange = mem_new(struct exchange);

    (void)connection;
    exchange->server = arg;
    exchange->target = mem_strdup(target);
    return exchange;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    struct upstream_server *server = arg;
    struct exchange *exchange = *request;

    (void)version;
    if (!exchange->connection) {
        exchange->connection = connection;
        return MHD_YES;
    }
    if (*upload_size) {
        take_upload(exchange, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (server->controlled && !strncmp(path, "/__", 3))
        return serve_control(exchange, method, path);
    return serve_api(exchange, method, path);
}

/* The `state` of the record: "cut" by the script, "answered", or "client_left" before the end. */
static const char *end_name(const struct exchange *exchange,
                            enum MHD_RequestTerminationCode code)
{
    if (exchange->cut)
        return "cut";
    return code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "answered" : "client_left";
}

static void request_ended(void *arg, struct MHD_Connection *connection, void **request,
                          enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *request;

    (void)arg;
    (void)connection;
    if (!exchange)
        return;
    note(exchange, "state", end_name(exchange, code));
    if (exchange->record) {
        lock_acquire(&exchange->server->lock);
        json_decref(exchange->record);
        lock_release(&exchange->server->lock);
    }
    reply_free(exchange->reply);
    release_script(exchange->server, exchange->script);
    buf_clear(&exchange->request);
    buf_clear(&exchange->out);
    free(exchange->target);
    free(exchange);
    *request = NULL;
}

/* ---- starting and stopping ---- */

/* The library takes the socket, unless it fails. */
static enum err_code start_daemon(struct upstream_server *server, const char *listen,
                                  struct err *err)
{
    int fd = -1;
    enum err_code rc = listen_open(listen, &fd, server->url, err);

    if (rc)
        return rc;
    server->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC,
        0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_URI_LOG_CALLBACK, see_target, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_ended, server, MHD_OPTION_CONNECTION_LIMIT, UPSTREAM_CONNECTION_LIMIT,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, UPSTREAM_HEAD_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
        UPSTREAM_IDLE_TIMEOUT, MHD_OPTION_THREAD_STACK_SIZE, UPSTREAM_STACK_SIZE,
        MHD_OPTION_END);
    if (server->daemon)
        return ERR_OK;
    rc = err_set(err, ERR_INTERNAL, "cannot start the scripted upstream: %s", strerror(errno));
    close(fd);
    return rc;
}

static enum err_code start(const char *text, const char *listen, bool controlled,
                           struct upstream_server **ret_server, struct err *err)
{
    struct upstream_server *server;
    struct script *script = NULL;
    enum err_code rc = ERR_OK;

    if (text)
        rc = script_parse(text, strlen(text), &script, err);
    else
        script = script_demo();
    if (rc)
        return rc;

    server = mem_new(struct upstream_server);
    server->controlled = controlled;
    server->stopping = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->records = json_array();
    server->current = share(script);
    lock_init(&server->lock, LOCK_SCRIPT);
    rc = start_daemon(server, listen, err);
    if (rc) {
        upstream_server_stop(server);
        return rc;
    }
    *ret_server = server;
    return ERR_OK;
}

enum err_code upstream_server_start(const char *script, const char *listen,
                                    struct upstream_server **ret_server, struct err *err)
{
    return start(script, listen, false, ret_server, err);
}

enum err_code upstream_server_start_controlled(const char *script, const char *listen,
                                               struct upstream_server **ret_server,
                                               struct err *err)
{
    return start(script, listen, true, ret_server, err);
}

const char *upstream_server_url(const struct upstream_server *server)
{
    return server->url;
}

void upstream_server_stop(struct upstream_server *server)
{
    if (!server)
        return;
    if (eventfd_write(server->stopping, 1))
        abort();
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    release_script(server, server->current);
    json_decref(server->records);
    lock_destroy(&server->lock);
    close(server->stopping);
    free(server);
}

/* ---- the subcommand ---- */

static const char usage[] =
    "usage: runnel upstream [--script FILE] [--listen ADDRESS:PORT]\n"
    "\n"
    "A Chat Completions server that answers from a script. Without --script it is the\n"
    "demo model. It listens on " DEFAULT_LISTEN " by default, and prints its base URL when it\n"
    "is ready. server/fakemodel/SCRIPT.md describes the script.\n";

/* The whole file, which the caller frees. NULL if it cannot be read; errno says why. */
static char *read_file(const char *path)
{
    struct buf buf = {0};
    FILE *file = fopen(path, "re");
    size_t size;

    if (!file)
        return NULL;
    while (buf.length <= SCRIPT_SIZE_LIMIT &&
           (size = fread(buf_reserve(&buf, 65536), 1, 65536, file)) > 0)
        buf_added(&buf, size);
    if (ferror(file)) {
        int saved = errno;

        fclose(file);
        buf_clear(&buf);
        errno = saved;
        return NULL;
    }
    fclose(file);
    return buf_take(&buf);
}

static int run_server(const char *script, const char *listen)
{
    struct upstream_server *server = NULL;
    struct err err;
    sigset_t signals;
    int number;
    enum err_code rc;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    rc = upstream_server_start_controlled(script, listen, &server, &err);
    if (rc) {
        fprintf(stderr, "runnel upstream: %s\n", err.text);
        return rc == ERR_INVALID || rc == ERR_TOO_LARGE ? 2 : 1;
    }
    printf("%s\n", upstream_server_url(server));
    fflush(stdout);
    sigwait(&signals, &number);
    upstream_server_stop(server);
    return 0;
}

int cmd_upstream(int argc, char **argv)
{
    static const struct option options[] = {
        {"script", required_argument, NULL, 's'},
        {"listen", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *listen = DEFAULT_LISTEN;
    const char *path = NULL;
    AUTO_FREE char *script = NULL;
    int option;

    optind = 1;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's') {
            path = optarg;
        } else if (option == 'l') {
            listen = optarg;
        } else {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        return 2;
    }
    if (path && !(script = read_file(path))) {
        fprintf(stderr, "runnel upstream: cannot read %s: %s\n", path, strerror(errno));
        return 2;
    }
    return run_server(script, listen);
}
