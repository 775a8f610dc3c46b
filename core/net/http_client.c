/*
 * http_client.c -- the life of a call: begun, connected, answered, done.
 *
 * libcurl forbids adding and removing transfers inside its callbacks. So a call that is started or
 * cancelled in on_head or on_data goes into the list of deferred calls, and settle() does the work
 * when libcurl has returned. Calls that have got data are in that list, too, for their on_read.
 *
 * Deadlines are not libcurl's: it has no deadline for the first byte, and it would sort its timers
 * anew for every piece of data. A call has one timer on the loop. A piece of the body only notes the
 * time; the timer, when it fires too early for the noted time, is started again.
 */

#include "core/net/http_client.h"

#include <assert.h>
#include <curl/curl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/net/http_multi.h"

#define UPLOAD_BUFFER 16384L

enum call_state {
    CALL_DEFERRED,   /* not given to libcurl yet */
    CALL_CONNECTING, /* resolving the name, connecting, TLS */
    CALL_WAITING,    /* the request is sent; no byte of the body yet */
    CALL_READING,
    CALL_CANCELLED, /* inside libcurl; released when that returns */
    CALL_DONE,      /* on_done is being called */
};

struct http_call {
    struct http_transfer transfer;
    struct http_request request; /* holds its body; url, method and headers are copied below */
    struct curl_slist *headers;
    char *url;
    char *method;
    enum call_state state;
    off_t sent_to; /* of a spooled body */
    bool head_reported;
    bool is_compressed; /* the answer; it is not read */
    bool is_deferred;   /* in the list of deferred calls */
    uint64_t started_ns;
    uint64_t latest_ns; /* last piece of the body */
    struct loop_timer timer;
    const char *refusal;    /* why it is not begun */
    struct http_call *prev; /* in the list of all calls */
    struct http_call *next;
    struct http_call *next_deferred;
    char curl_says[CURL_ERROR_SIZE];
};

/* --- what is sent --- */

struct http_body *http_body_new(char *bytes, size_t length)
{
    struct http_body *body = mem_new(struct http_body);

    *body = (struct http_body){.bytes = bytes, .length = length, .holders = 1};
    return body;
}

struct http_body *http_body_new_spooled(struct spool *spool)
{
    struct http_body *body = http_body_new(NULL, (size_t)spool->size);

    body->spool = spool;
    return body;
}

struct http_body *http_body_hold(struct http_body *body)
{
    body->holders++;
    return body;
}

void http_body_drop(struct http_body *body)
{
    if (!body || --body->holders)
        return;
    free(body->bytes);
    spool_close(body->spool);
    if (body->freed)
        body->freed(body->freed_arg);
    free(body);
}

void http_body_when_freed(struct http_body *body, void (*freed)(void *arg), void *arg)
{
    assert(!body->freed);
    body->freed = freed;
    body->freed_arg = arg;
}

/* --- the host, for error texts --- */

/* The host and port of a URL, without user and password. */
static char *host_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *at;
    size_t length;

    host = host ? host + 3 : url;
    length = strcspn(host, "/?#");
    at = memrchr(host, '@', length);
    if (at) {
        length -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    return mem_strndup(host, length);
}

/* --- lists --- */

static void defer(struct http_call *call)
{
    if (call->is_deferred)
        return;
    call->is_deferred = true;
    call->next_deferred = call->transfer.multis->deferred;
    call->transfer.multis->deferred = call;
}

static void undefer(struct http_call *call)
{
    struct http_call **link = &call->transfer.multis->deferred;

    if (!call->is_deferred)
        return;
    while (*link != call)
        link = &(*link)->next_deferred;
    *link = call->next_deferred;
    call->is_deferred = false;
}

static void list_add(struct http_call *call)
{
    struct http_multis *multis = call->transfer.multis;

    call->next = multis->calls;
    if (call->next)
        call->next->prev = call;
    multis->calls = call;
}

static void list_remove(struct http_call *call)
{
    if (call->next)
        call->next->prev = call->prev;
    if (call->prev)
        call->prev->next = call->next;
    else
        call->transfer.multis->calls = call->next;
}

/* --- the end --- */

/* Takes the call back from libcurl and stops its clock. */
static void detach(struct http_call *call)
{
    assert(!call->transfer.multis->inside);
    loop_timer_stop(call->transfer.multis->loop, &call->timer);
    http_multi_remove(&call->transfer);
    http_easy_put(&call->transfer);
}

static void call_free(struct http_call *call)
{
    detach(call);
    undefer(call);
    list_remove(call);
    curl_slist_free_all(call->headers);
    http_body_drop(call->request.body);
    free(call->method);
    free(call->url);
    free(call);
}

/* `error` is NULL when the transfer went well. */
static void finish(struct http_call *call, const struct err *error)
{
    detach(call);
    call->state = CALL_DONE;
    call->request.on_done(call->request.arg, error ? error->code : ERR_OK, error);
    call_free(call);
}

/* --- deadlines --- */

enum deadline {
    DEADLINE_CONNECT,
    DEADLINE_FIRST_BYTE,
    DEADLINE_IDLE,
    DEADLINE_TOTAL,
    DEADLINE_COUNT
};

/* clang-format off */
static const struct {
    const char *to_do; /* what the server did not do in time */
    bool applies[CALL_DONE + 1];
} deadlines[DEADLINE_COUNT] = {
    [DEADLINE_CONNECT]    = {"accept the connection", {[CALL_CONNECTING] = true}},
    [DEADLINE_FIRST_BYTE] = {"begin its answer", {[CALL_CONNECTING] = true, [CALL_WAITING] = true}},
    [DEADLINE_IDLE]       = {"go on with its answer", {[CALL_READING] = true}},
    [DEADLINE_TOTAL]      = {"complete its answer", {[CALL_CONNECTING] = true, [CALL_WAITING] = true,
                                                     [CALL_READING] = true}},
};
/* clang-format on */

static uint64_t limit_of(const struct http_call *call, enum deadline deadline)
{
    const uint64_t limits[DEADLINE_COUNT] = {
        [DEADLINE_CONNECT] = call->request.timeouts.connect,
        [DEADLINE_FIRST_BYTE] = call->request.timeouts.first_byte,
        [DEADLINE_IDLE] = call->request.timeouts.idle,
        [DEADLINE_TOTAL] = call->request.timeouts.total,
    };

    return limits[deadline];
}

/* The next moment at which the call will be too late, and for what; UINT64_MAX for never. */
static uint64_t next_deadline(const struct http_call *call, enum deadline *ret_deadline)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < DEADLINE_COUNT; i++) {
        uint64_t limit = limit_of(call, (enum deadline)i);
        uint64_t start = i == DEADLINE_IDLE ? call->latest_ns : call->started_ns;

        if (!limit || !deadlines[i].applies[call->state] || start + limit >= next)
            continue;
        next = start + limit;
        *ret_deadline = (enum deadline)i;
    }
    return next;
}

static void start_clock(struct http_call *call)
{
    enum deadline deadline;
    uint64_t due = next_deadline(call, &deadline);

    if (due != UINT64_MAX)
        loop_timer_start(call->transfer.multis->loop, &call->timer, due);
}

static void enter(struct http_call *call, enum call_state state)
{
    call->state = state;
    start_clock(call);
}

static void time_out(struct http_call *call, enum deadline deadline)
{
    AUTO_FREE char *host = host_of(call->url);
    double seconds = (double)limit_of(call, deadline) / (double)NS_PER_SECOND;
    struct err error;

    err_set(&error, ERR_TIMEOUT, "%s took more than %g s to %s", host, seconds,
            deadlines[deadline].to_do);
    finish(call, &error);
}

static void clock_fired(struct loop_timer *timer)
{
    struct http_call *call = CONTAINER_OF(timer, struct http_call, timer);
    enum deadline deadline = DEADLINE_TOTAL;
    struct err error;

    if (call->refusal) {
        err_set(&error, ERR_UPSTREAM, "%s", call->refusal);
        finish(call, &error);
        return;
    }
    if (next_deadline(call, &deadline) <= loop_now(call->transfer.multis->loop))
        time_out(call, deadline);
    else
        start_clock(call);
}

/* --- libcurl's callbacks --- */

static int connected(void *arg, char *to_ip, char *from_ip, int to_port, int from_port)
{
    struct http_call *call = arg;

    (void)from_ip, (void)to_port;
    /* A connection that is used again may have been opened by a call without egress rules. */
    if (call->transfer.guarded && !egress_text_is_public(to_ip)) {
        call->transfer.refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    call->transfer.local_port = from_port;
    if (call->state == CALL_CONNECTING)
        enter(call, CALL_WAITING);
    return CURL_PREREQFUNC_OK;
}

static struct http_head read_head(const struct http_call *call)
{
    long status = 0;
    curl_off_t retry_after = 0;
    char *type = NULL;

    /* A value that libcurl does not have keeps its initial value. */
    (void)curl_easy_getinfo(call->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->transfer.easy, CURLINFO_CONTENT_TYPE, &type);
    (void)curl_easy_getinfo(call->transfer.easy, CURLINFO_RETRY_AFTER, &retry_after);
    if (retry_after > HTTP_RETRY_AFTER_LIMIT)
        retry_after = HTTP_RETRY_AFTER_LIMIT;
    return (struct http_head){
        .status = (int)status,
        .content_type = type ? type : "",
        .retry_after_ns = retry_after > 0 ? (uint64_t)retry_after * NS_PER_SECOND : 0,
    };
}

/* A request may hold a whole conversation, and its answer may take half an hour. So the body is
 * released when the server has it: libcurl repeats only a request that got no answer at all. */
static void drop_sent_body(struct http_call *call)
{
    curl_off_t sent = 0;

    (void)curl_easy_getinfo(call->transfer.easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (!call->request.body || call->request.body->spool ||
        sent < (curl_off_t)call->request.body->length)
        return;
    if (curl_easy_setopt(call->transfer.easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0) ||
        curl_easy_setopt(call->transfer.easy, CURLOPT_POSTFIELDS, ""))
        return; /* libcurl may still read the bytes */
    http_body_drop(TAKE(call->request.body));
}

/* The next bytes of a spooled body. */
static size_t read_spool(char *bytes, size_t unit, size_t count, void *arg)
{
    struct http_call *call = arg;
    ssize_t size = FAULT("http.spool") ? -1
                                       : pread(call->request.body->spool->fd, bytes,
                                               unit * count, call->sent_to);

    if (size < 0 || call->state == CALL_CANCELLED)
        return CURL_READFUNC_ABORT;
    call->sent_to += size;
    return (size_t)size;
}

/* A request on a connection that had just been closed is sent again, from its beginning. */
static int seek_spool(void *arg, curl_off_t offset, int origin)
{
    struct http_call *call = arg;

    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    call->sent_to = offset;
    return CURL_SEEKFUNC_OK;
}

static bool has_encoding(const struct http_call *call)
{
    const char *encoding = http_call_header(call, "Content-Encoding");

    return encoding && *encoding && strcasecmp(encoding, "identity") != 0;
}

/* One header with one of these values, or no header. libcurl decodes what an answer names, also several encodings on
 * top of each other and such as were not asked for. Of those it may read GiBs inside one callback without a byte for
 * on_data. */
static bool has_one_of(const struct http_call *call, const char *name,
                       const char *const *values, size_t count)
{
    struct curl_header *header = NULL;

    if (curl_easy_header(call->transfer.easy, name, 0, CURLH_HEADER, -1, &header))
        return true;
    for (size_t i = 0; header->amount == 1 && i < count; i++) {
        if (strcasecmp(header->value, values[i]) == 0)
            return true;
    }
    return false;
}

/* The answer of a stranger is encoded in a way that is not decoded within limits. */
static bool has_bad_encoding(const struct http_call *call)
{
    static const char *const content[] = {"gzip", "x-gzip", "deflate", "identity", ""};
    static const char *const transfer[] = {"chunked", "identity", ""};

    if (!call->request.decodes)
        return has_encoding(call);
    return !has_one_of(call, "Content-Encoding", content, COUNT_OF(content)) ||
           !has_one_of(call, "Transfer-Encoding", transfer, COUNT_OF(transfer));
}

/* The head ends with an empty line; so does every "100 Continue" before it. */
static size_t take_header(char *line, size_t unit, size_t count, void *arg)
{
    struct http_call *call = arg;
    struct http_head head;
    size_t size = unit * count;

    if (call->state == CALL_CANCELLED)
        return 0;
    if (call->head_reported || (line[0] != '\r' && line[0] != '\n'))
        return size;
    head = read_head(call);
    if (head.status < 200)
        return size;
    call->is_compressed = has_bad_encoding(call);
    if (call->is_compressed)
        return 0;
    call->head_reported = true;
    drop_sent_body(call);
    if (call->request.on_head)
        call->request.on_head(call->request.arg, &head);
    return call->state == CALL_CANCELLED ? 0 : size;
}

static size_t take_body(char *bytes, size_t unit, size_t count, void *arg)
{
    struct http_call *call = arg;
    size_t size = unit * count;

    if (call->state == CALL_CANCELLED || size == 0)
        return 0;
    call->latest_ns = loop_now(call->transfer.multis->loop);
    if (call->state != CALL_READING)
        enter(call, CALL_READING);
    if (call->request.on_data)
        call->request.on_data(call->request.arg, bytes, size);
    if (call->request.on_read)
        defer(call);
    return call->state == CALL_CANCELLED ? 0 : size;
}

static const char *reason(const struct http_call *call, CURLcode rc)
{
    if (call->transfer.refused)
        return "its address is not one of the public internet";
    if (call->is_compressed)
        return "it is compressed in a way that was not asked for";
    if (call->curl_says[0])
        return call->curl_says;
    return rc ? curl_easy_strerror(rc) : "its head broke off";
}

static void fail(struct http_call *call, CURLcode rc)
{
    AUTO_FREE char *host = host_of(call->url);
    const char *why = reason(call, rc);
    enum err_code code = rc == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_UPSTREAM;
    struct err error;

    if (call->state == CALL_CONNECTING)
        err_set(&error, code, "no connection to %s: %s", host, why);
    else if (!call->head_reported)
        err_set(&error, code, "no answer from %s: %s", host, why);
    else
        err_set(&error, code, "the answer of %s broke off: %s", host, why);
    if (call->transfer.refused)
        error.reason = REASON_ADDRESS;
    finish(call, &error);
}

static void begin(struct http_call *call);

/* A socket was given up while the transfer connects: settle() checks whether libcurl needs a push. */
static void socket_lost(struct http_transfer *transfer)
{
    struct http_call *call = CONTAINER_OF(transfer, struct http_call, transfer);

    if (call->state == CALL_CONNECTING)
        defer(call);
}

static bool needs_push(struct http_transfer *transfer)
{
    bool lost = transfer->lost;

    transfer->lost = false;
    return lost || !transfer->sockets;
}

static void run_deferred(struct http_multis *multis)
{
    while (multis->deferred) {
        struct http_call *call = multis->deferred;

        undefer(call);
        if (call->state == CALL_CANCELLED)
            call_free(call);
        else if (call->state == CALL_DEFERRED)
            begin(call);
        else if (call->state == CALL_CONNECTING && needs_push(&call->transfer))
            http_multi_push(call->transfer.multi);
        else if (call->state == CALL_READING && call->request.on_read)
            call->request.on_read(call->request.arg);
    }
}

static void settle(struct http_multi *multi)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(multi->curl, &left))) {
        CURLcode rc = message->data.result;
        struct http_transfer *transfer = NULL;
        struct http_call *call;

        if (curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer))
            continue;
        call = CONTAINER_OF(transfer, struct http_call, transfer);
        transfer->ended_well = rc == CURLE_OK;
        if (call->state == CALL_CANCELLED)
            continue;
        /* For libcurl it is no error that a connection ends within the head. */
        if (rc || !call->head_reported)
            fail(call, rc);
        else
            finish(call, NULL);
    }
    run_deferred(multi->owner);
}

/* --- the start --- */

/* A name or value with a line break would be a header, or a request, of its own. */
static bool is_one_line(const char *header)
{
    return !strpbrk(header, "\r\n");
}

static void copy_headers(struct http_call *call, const char *const *headers)
{
    /* Without this header libcurl waits a second for "100 Continue" before it sends a large body. */
    call->headers = curl_slist_append(NULL, "Expect:");
    /* A request without this header accepts every encoding. libcurl writes its own if it is to decode. */
    if (!call->request.decodes)
        call->headers = curl_slist_append(call->headers, "Accept-Encoding: identity");
    for (; headers && *headers; headers++) {
        if (!is_one_line(*headers))
            call->refusal = "a request header has a line break in it";
        call->headers = curl_slist_append(call->headers, *headers);
    }
}

static bool method_is(const struct http_call *call, const char *method)
{
    return strcmp(call->method, method) == 0;
}

/* A POST without a body still says that its length is zero. */
static CURLcode set_method(struct http_call *call)
{
    const struct http_request *request = &call->request;
    CURL *easy = call->transfer.easy;

    if (request->body || method_is(call, "POST") || method_is(call, "PUT") ||
        method_is(call, "PATCH")) {
        TRY_SETOPT(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   (curl_off_t)(request->body ? request->body->length : 0));
        if (request->body && request->body->spool)
            TRY_SETOPT(easy, CURLOPT_POST, 1L);
        else
            TRY_SETOPT(easy, CURLOPT_POSTFIELDS, request->body ? request->body->bytes : "");
    }
    if (method_is(call, "HEAD"))
        TRY_SETOPT(easy, CURLOPT_NOBODY, 1L);
    else
        TRY_SETOPT(easy, CURLOPT_CUSTOMREQUEST, call->method);
    return CURLE_OK;
}

/* With a limit libcurl gives each of several addresses a share of it; without one it has a limit of
 * its own. The extra second lets the deadline of this file come first. */
static long connect_timeout_ms(const struct http_request *request)
{
    uint64_t wait_ms = request->timeouts.connect / NS_PER_MS;

    return wait_ms && wait_ms < INT_MAX - 1000 ? (long)wait_ms + 1000 : INT_MAX;
}

static CURLcode set_house_rules(CURL *easy)
{
    TRY_SETOPT(easy, CURLOPT_NOSIGNAL, 1L);
    TRY_SETOPT(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    TRY_SETOPT(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    TRY_SETOPT(easy, CURLOPT_FOLLOWLOCATION, 0L);
    TRY_SETOPT(easy, CURLOPT_PROXY, "");
    TRY_SETOPT(easy, CURLOPT_USERAGENT, "runnel/" RUNNEL_VERSION);
    TRY_SETOPT(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    TRY_SETOPT(easy, CURLOPT_BUFFERSIZE, (long)HTTP_PIECE_SIZE);
    TRY_SETOPT(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Without it, giving up on a slow name server waits for the resolver's thread. */
    TRY_SETOPT(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    return CURLE_OK;
}

static CURLcode set_callbacks(struct http_call *call)
{
    CURL *easy = call->transfer.easy;

    TRY_SETOPT(easy, CURLOPT_ERRORBUFFER, call->curl_says);
    TRY_SETOPT(easy, CURLOPT_PREREQFUNCTION, connected);
    TRY_SETOPT(easy, CURLOPT_PREREQDATA, call);
    TRY_SETOPT(easy, CURLOPT_HEADERFUNCTION, take_header);
    TRY_SETOPT(easy, CURLOPT_HEADERDATA, call);
    TRY_SETOPT(easy, CURLOPT_WRITEFUNCTION, take_body);
    TRY_SETOPT(easy, CURLOPT_WRITEDATA, call);
    TRY_SETOPT(easy, CURLOPT_READFUNCTION, read_spool);
    TRY_SETOPT(easy, CURLOPT_READDATA, call);
    TRY_SETOPT(easy, CURLOPT_SEEKFUNCTION, seek_spool);
    TRY_SETOPT(easy, CURLOPT_SEEKDATA, call);
    return CURLE_OK;
}

static CURLcode set_place(struct http_call *call)
{
    CURL *easy = call->transfer.easy;

    TRY_SETOPT(easy, CURLOPT_URL, call->url);
    TRY_SETOPT(easy, CURLOPT_FRESH_CONNECT, call->request.once ? 1L : 0L);
    if (call->request.decodes)
        TRY_SETOPT(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    TRY_SETOPT(easy, CURLOPT_HTTPHEADER, call->headers);
    TRY_SETOPT(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_timeout_ms(&call->request));
    return CURLE_OK;
}

/* The call fails when its clock fires: on_done never comes out of http_call_start(). */
static void refuse(struct http_call *call, const char *refusal)
{
    call->refusal = refusal;
    loop_timer_start(call->transfer.multis->loop, &call->timer, 0);
}

/* Gives the call to libcurl; not inside libcurl. An option that libcurl refuses ends the call:
 * without it the transfer could go anywhere, or read more than it has room for. */
static void begin(struct http_call *call)
{
    CURLcode rc = http_easy_take(&call->transfer);

    if (!rc)
        rc = set_house_rules(call->transfer.easy);
    if (!rc)
        rc = set_callbacks(call);
    if (!rc)
        rc = set_method(call);
    if (!rc)
        rc = set_place(call);
    if (rc) {
        refuse(call, curl_easy_strerror(rc));
        return;
    }
    http_multi_add(&call->transfer);
    enter(call, CALL_CONNECTING);
}

static void release_all(void *state)
{
    struct http_multis *multis = state;

    while (multis->calls)
        call_free(multis->calls);
    http_multis_free(multis);
}

static struct http_multis *multis_of(struct loop *loop)
{
    struct http_multis *multis = loop_http_state(loop);

    if (!multis) {
        multis = http_multis_new(loop);
        multis->settle = settle;
        multis->socket_lost = socket_lost;
        loop_set_http_state(loop, multis, release_all);
    }
    return multis;
}

/* Applies the egress rules to the URL. */
static void guard(struct http_call *call)
{
    const struct egress_rules *rules = call->request.egress;

    if (!rules)
        return;
    if (egress_url_check(call->url, NULL))
        call->refusal = "the URL is not one of the web";
    call->transfer.guarded = !egress_is_open(rules, call->url);
}

const char *http_call_header(const struct http_call *call, const char *name)
{
    struct curl_header *header = NULL;

    if (curl_easy_header(call->transfer.easy, name, 0, CURLH_HEADER, -1, &header))
        return NULL;
    return header->value;
}

uint64_t http_call_received(const struct http_call *call)
{
    curl_off_t received = 0;

    (void)curl_easy_getinfo(call->transfer.easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    return received > 0 ? (uint64_t)received : 0;
}

struct http_call *http_call_start(struct loop *loop, const struct http_request *request)
{
    struct http_call *call = mem_new(struct http_call);

    call->transfer.multis = multis_of(loop);
    call->request = *request;
    if (request->body)
        http_body_hold(request->body);
    call->url = mem_strdup(request->url);
    call->method = mem_strdup(request->method);
    call->started_ns = loop_now(loop);
    call->timer.fire = clock_fired;
    copy_headers(call, request->headers);
    guard(call);
    list_add(call);
    if (FAULT("http.start"))
        call->refusal = "fault";
    if (call->refusal)
        refuse(call, call->refusal);
    else if (call->transfer.multis->inside)
        defer(call);
    else
        begin(call);
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call->state == CALL_DONE)
        return;
    if (call->transfer.multis->inside) {
        call->state = CALL_CANCELLED;
        defer(call);
    } else {
        call_free(call);
    }
}

void http_client_global_init(void)
{
    CURLcode rc = curl_global_init(CURL_GLOBAL_DEFAULT);

    assert(rc == CURLE_OK);
    (void)rc;
}

void http_client_global_free(void)
{
    curl_global_cleanup();
}
