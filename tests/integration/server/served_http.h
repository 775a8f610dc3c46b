#ifndef RUNNEL_TESTS_INTEGRATION_SERVER_SERVED_HTTP_H
#define RUNNEL_TESTS_INTEGRATION_SERVER_SERVED_HTTP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/lock.h"
#include "core/event/sink.h"
#include "server/config/config.h"
#include "server/http/http.h"
#include "tests/support/patience.h"

/*
 * served_http.h -- the HTTP layer with a table of endpoints of its own, and the engine behind it,
 * which the test plays.
 *
 * One at a time, and the test's thread calls. The endpoints: /open asks for no key, /plain for one;
 * /echo gives its body back, and /maybe needs none; /error and /internal fail; /stream and /wait are
 * handed to the test, which says what comes of them; so is /later, which then goes on in its own
 * way; /upload takes UPLOAD_LIMIT bytes as they arrive and answers with their number, or does what its
 * query says; /too_late is handed over only when the server stops. /slow takes a body of SLOW_LIMIT bytes, or gives
 * one, on a worker, which waits while the gate is closed.
 */

#define UPLOAD_LIMIT 200000
#define SLOW_LIMIT   1000000
#define PATIENCE_MS  patience_ms(10)
#define HOST         "Host: test\r\n"
#define KEY          "Authorization: Bearer good\r\n"

/* What an endpoint has handed to the loop. */
struct handed {
    struct sink *sink;
    bool gone;    /* its client has left; the loop's, like sink */
    bool dropped; /* request_later was */
};

extern struct served {
    struct config *config;
    struct http *http;
    struct loop *loop;
    unsigned short port;
    struct lock lock;
    pthread_cond_t changed;
    struct handed handed; /* the latest; guarded by lock */
    unsigned made;        /* sinks so far */
    char *first_words;    /* sent as soon as a stream exists */
    bool stream_later;    /* what /later turns into */
    unsigned uploads, uploads_dropped;
    struct crew *crew;
    struct workers *workers; /* one, for /slow */
    bool gate_closed;
    uint64_t broken_from; /* what /slow gives fails from this byte on; 0: nowhere */
    unsigned at_gate; /* pieces that have come to it so far, guarded by lock like the gate */
} under;

enum mode {
    MODE_DIRECT,
    MODE_PORTABLE,
};

/* More flags may follow, ending with NULL; they win over those it sets. */
void start(enum mode mode, ...);
void stop(void); /* opens the gate when the HTTP layer has stopped */

/* Both ways of writing a stream: a test twice, which asks its state for the mode. */
#define BOTH_WAYS(test)                                  \
    cmocka_unit_test(test),                              \
    {                                                    \
#test " (portable)", test, NULL, NULL, &portable \
    }

extern int portable;
enum mode mode_of(void **state);

enum act {
    ACT_EVENTS,
    ACT_ANSWER,
    ACT_GO_ON,
    ACT_CLOSE,
};

/* To the latest that was handed over: on the loop, and back when it has happened. */
void play(enum act act, const char *text, size_t length);
void say(const char *text); /* ACT_EVENTS */

void await_made(unsigned count);
void await_gone(void);
void await_dropped(void);
void await_uploads(unsigned count);
void close_gate(void);
void open_gate(void);
void await_at_gate(unsigned count);
void await_uploads_dropped(unsigned count);
bool gone_already(void);

#endif
