#ifndef RUNNEL_SERVER_HTTP_STREAM_WAIT_H
#define RUNNEL_SERVER_HTTP_STREAM_WAIT_H

#include <stdbool.h>

#include "core/event/sink.h"
#include "core/net/loop.h"
#include "server/http/deadlines.h"

/*
 * wait.h -- a request that waits, without a thread, for one answer.
 *
 * The worker that sends the answer makes its text, and not the loop that gives it.
 */

struct request;
struct wait;

struct wait *wait_new(struct request *request, struct loop *loop);
struct sink *wait_sink(struct wait *wait);

/* Before it begins: until when the client must have done what once the connection was given back. DEADLINE_NONE
 * otherwise. */
void wait_set_debt(struct wait *wait, enum deadline_kind debt);

/* Suspends the request's connection. False when the server stops. */
bool wait_begin(struct wait *wait);

/* After the connection came back. The status is 0 without an answer. The object is the caller's. */
void wait_take(struct wait *wait, struct sink_answer *ret_answer);

/* After the connection came back: for how long it was suspended. 0 for a client that was lost. */
uint64_t wait_paused_ns(const struct wait *wait);

/* The library has released the request. */
void wait_forgotten(struct wait *wait);

#endif
