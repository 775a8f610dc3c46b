#ifndef RUNNEL_SERVER_HTTP_HTTP_INTERNAL_H
#define RUNNEL_SERVER_HTTP_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>

#include "core/base/buf.h"
#include "core/base/ids.h"
#include "core/base/lock.h"
#include "core/net/loop.h"
#include "core/store/tables/keys.h"
#include "server/http/deadlines.h"
#include "server/http/http.h"
#include "server/http/parse/framing.h"
#include "server/http/parse/hygiene.h"
#include "server/http/parse/uri.h"
#include "server/http/request.h"
#include "server/http/router.h"
#include "server/http/stream/suspended.h"

/*
 * http_internal.h -- for this folder only: http.c, connection.c, request*.c and files that
 * suspend connections.
 */

struct stream;
struct wait;
struct websocket;

#define HTTP_HEADER_LIMIT 12 /* headers that an endpoint may add */
#define HTTP_PEER_BUCKETS 1024
/* A body that will not be used is read up to here before the answer ... */
#define REQUEST_DISCARD_LIMIT ((uint64_t)1 << 20)
/* ... and up to here, and for so long, after an answer that did not wait for its end. It is
 * more than the bytes on the way from a client that stops when it sees the answer. */
#define REQUEST_LINGER_LIMIT ((uint64_t)16 << 20)
#define REQUEST_LINGER_NS    (5 * NS_PER_SECOND)

/* How many connections an address has; only for addresses that have any. */
struct http_peer {
    struct http_peer *next;
    struct in6_addr address;
    unsigned connections;
};

struct http {
    struct http_options options;
    struct MHD_Daemon *daemon;
    double ping_interval, stall_timeout;
    size_t stream_buffer, stream_buffers;

    struct lock lock; /* guards what follows */
    /* Something was suspended, given back or answered; or the clock is to look */
    pthread_cond_t changed;
    pthread_t clock;
    bool clock_started, stopping;
    struct deadlines deadlines;
    struct http_peer *peers[HTTP_PEER_BUCKETS];
    size_t connections;
    size_t suspended;             /* connections with which libmicrohttpd must not be stopped */
    size_t requests;              /* between their first byte and their end */
    struct suspended *live;       /* every stream and wait, from creation to release */
    struct websocket *websockets; /* from opening to release */
    size_t websocket_count;
    size_t backlogs; /* bytes that wait for slow clients */

    atomic_bool draining;
    _Atomic uint64_t refused, late, cut;
    _Atomic size_t body_bytes;
    _Atomic uint64_t (*answers)[HTTP_CLASS_COUNT]; /* by route */
};

/* libmicrohttpd's connection, from accept to close. */
struct http_connection {
    struct http *http;
    struct request *request; /* that is under way, or NULL */
    struct framing framing;  /* over everything that the library has read */
    struct deadline deadline;
    int fd;
    struct http_peer *peer; /* NULL: not counted */
    int refusal;            /* the status for its first request, or 0 */
    uint64_t requests;      /* requests so far */
    bool over;              /* the last answer was sent: further input is not a request */
};

enum request_phase {
    REQUEST_HEAD,    /* its headers are arriving */
    REQUEST_BODY,    /* its body is being kept */
    REQUEST_PAUSED,  /* a piece of its body is on a worker */
    REQUEST_DISCARD, /* its body, if any, is being discarded */
    REQUEST_WAITING, /* for the sink of request_wait() */
    REQUEST_ANSWERED,
    REQUEST_LINGERING, /* answered early: the client gets time to notice */
};

struct request_header {
    char *name;
    char *value;
};

/* What the request asks for. */
struct request_address {
    char *target; /* as it stood on the request line */
    struct uri uri;
    struct route_match match;
};

struct request {
    struct http *http;
    struct MHD_Connection *connection;
    struct http_connection *peer;
    enum request_phase phase;
    uint64_t begun_ns;
    char id[ID_SIZE];
    struct tenant tenant;
    struct request_address *address; /* NULL once it is answered */
    const char *method;              /* libmicrohttpd's */
    const char *version;
    char *authorization; /* of a handshake; NULL until it is needed */
    struct hygiene_report head;
    struct err *failure; /* NULL: none */
    int failure_status;  /* instead of the code's own; or 0 */
    uint64_t discarded;

    struct body_taker taker;              /* take is NULL: the body is kept in memory */
    struct taking *taking;                /* request_body.c's, if the taker has workers */
    uint64_t streamed;                    /* bytes that it has taken */
    uint64_t streamed_from_ns, lively_ns; /* the first byte; the latest new deadline */
    uint64_t behind_ns;                   /* since when its client is too slow; 0: it is not */

    struct buf body;
    size_t counted; /* of the body, in http->body_bytes */
    json_t *json;
    bool came_back;    /* the body was taken, and given back */
    struct form *form; /* instead of `json`; or NULL */

    int status;                     /* of the answer; 0: no answer yet */
    bool close;                     /* the connection ends with the answer */
    bool stays_open;                /* the connection stays open: known when the answer is on
                                     * its way */
    bool at_once;                   /* a failure is answered without reading the body */
    struct request_header *headers; /* those that an endpoint has added */
    size_t header_count;
    const char *content_type;
    char *answer;
    size_t answer_length;
    struct body_source source; /* of request_answer_from(), until the library has it */

    struct stream *stream;       /* of request_stream() */
    struct wait *wait;           /* of request_wait() */
    struct websocket *websocket; /* of request_upgrade(), until it is open */
    struct request_later later;  /* of request_wait_then(), until it is called */
};

/* ---- request.c ---- */

struct request *request_new(struct http *http, const char *target);
void request_free(struct request *request);

/* Makes the answer the envelope of an error. */
void request_fail(struct request *request, const struct err *err);
/* The same with another status than that of err->code. */
void request_fail_with(struct request *request, int status, const struct err *err);

/* Gives the answer to libmicrohttpd. False: it was refused, and the connection closes. */
bool request_send(struct request *request);

/* The answer with all its headers. Takes the bytes in request->answer. NULL: the library has no
 * memory. */
struct MHD_Response *request_make_response(struct request *request);

/* Parses the body for an endpoint that wants JSON. */
enum err_code request_parse_body(struct request *request, struct err *err) MUST_CHECK;

/* Releases the body when it is no longer needed: a stream may live for hours. */
void request_drop_body(struct request *request);
/* Releases the address and headers of an answered request. */
void request_drop_head(struct request *request);

/* ---- request_source.c ---- */

/* The body of request_answer_from(). The source is the library's from here on. Nothing is read for an answer without
 * bytes. NULL: the library has no memory. */
struct MHD_Response *request_source_response(struct request *request);

/* ---- request_head.c ---- */

/* Checks a head that has just come. A failure is answered at once if it must be, otherwise
 * noted. */
enum MHD_Result request_take_head(struct request *request);
bool request_wants_body(const struct request *request);

/* ---- request_body.c ---- */

enum MHD_Result request_take_body(struct request *request, const char *bytes, size_t size);
/* For a body that has come: true if something of it is still to be taken on a worker. */
bool request_has_rest(const struct request *request);
/* Gives that to a worker; request_finish() is called again. MHD_NO: hangs up. */
enum MHD_Result request_take_rest(struct request *request);
/* The connection is back from there, with the next bytes, or with none at the end. */
enum MHD_Result request_go_on(struct request *request, const char *bytes, size_t size);
/* Lets go of the taker. */
void request_drop_taker(struct request *request);

/* ---- request_early.c ---- */

/* Sends the answer while the body is still to come. MHD_NO: hangs up instead. */
enum MHD_Result request_answer_early(struct request *request);
/* Sends it at the very end of a connection. */
void request_answer_last(struct request *request);
/* Takes what arrives after that; a size of 0 is the end. MHD_NO: hangs up. */
enum MHD_Result request_linger(struct request *request, size_t size);

/* ---- request_end.c ---- */

/* The request is complete. */
enum MHD_Result request_finish(struct request *request);
/* Its connection was given back by request_wait()'s sink. */
enum MHD_Result request_end_waiting(struct request *request);

/* ---- request_failure.c ---- */

/* Notes a failure that is answered when the body has been read. `status` as in
 * request_fail_with(), or 0. */
void request_note_failure(struct request *request, int status, const struct err *err);
/* The same for a request that goes no further, and perhaps its connection neither. */
void request_failed(struct request *request, int status, const struct err *err);
/* Answers a client whose further input cannot be trusted or read: nothing that follows is read. */
void request_refuse(struct request *request, int status, const char *text);
void request_body_too_large(struct request *request, uint64_t limit);
/* Makes the noted failure the answer, ... */
void request_make_failure(struct request *request);
/* ... and sends it, at the end of the body or before it. */
enum MHD_Result request_answer_failure(struct request *request);
enum MHD_Result request_answer_failure_early(struct request *request);

/* ---- connection.c ---- */

/* libmicrohttpd's callback for the beginning and the end of connections. */
void connection_notice(void *http, struct MHD_Connection *from, void **state,
                       enum MHD_ConnectionNotificationCode what);
/* NULL: a connection of another server than http.c's. Those have no context. */
struct http_connection *connection_of(struct MHD_Connection *from);

void connection_set_deadline(struct http *http, struct http_connection *connection,
                             enum deadline_kind kind);
/* Wakes the clock if it sleeps without a deadline. */
void connection_set_deadline_locked(struct http *http, struct http_connection *connection,
                                    enum deadline_kind kind) REQUIRES(http->lock);
/* A thread until http->stopping: hangs up on clients that are late. Takes the struct http. */
void *connection_run_clock(void *http);

/* ---- http.c ---- */

/* Counts one more suspended connection. False when the server stops. */
bool http_may_suspend(struct http *http);
void http_resumed(struct http *http);
void http_count_answer(struct http *http, const struct request *request);

/* Answers input that libmicrohttpd could not read, instead of the answer that it was about to
 * give. */
enum MHD_Result http_answer_unreadable(struct http_connection *peer,
                                       struct MHD_Connection *connection, int status);
/* The same if it gives no answer: to a line that is no request to it, when it has ended the
 * connection and not yet closed the socket. */
void http_answer_no_request(struct http_connection *peer);

#endif
