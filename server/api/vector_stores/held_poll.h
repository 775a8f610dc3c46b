#ifndef RUNNEL_SERVER_API_VECTOR_STORES_HELD_POLL_H
#define RUNNEL_SERVER_API_VECTOR_STORES_HELD_POLL_H

#include "core/base/ids.h"
#include "server/http/request.h"

/*
 * held_poll.h -- pollers of files: when they may ask again, and how they are held for a moment.
 *
 * SDKs poll with the header X-Stainless-Poll-Helper. Node's repeats its request at once, and for ever, when a file was
 * cancelled. So the answer to a poller of a file that has not changed is held for HELD_POLL_SECONDS, or until the
 * file's document has become of something on this node. The connection is suspended meanwhile.
 *
 * A document that ends on another node is seen when the time is over: no node is notified for the sake of a second.
 * Polls of batches are not held. Their helpers stop at every end, and wait between two requests.
 */

#define HELD_POLL_SECONDS 1

struct held_polls;

struct held_polls *held_polls_new(void);
void held_polls_free(struct held_polls *polls); /* no poll may be held; NULL is fine */

/* A number that grows with each document that ends here: read it before what a poll asks for. */
uint64_t held_polls_mark(struct held_polls *polls);

/* A worker of core/ingest has ended this document. Any thread; never waits. */
void held_polls_ended(void *polls, const char *document_id);

/* True for a request of such a helper. */
bool is_poll(const struct request *request);

/* Suspends the request, then calls `then` on a worker. `document_id` may be "": it is held for the whole time. If a
 * document has ended since `mark`, it is not held. */
void held_poll_wait(struct request *request, const char *document_id, uint64_t mark,
                    endpoint_fn *then);

/* The header that says when to ask again, of an object of this age. */
void poll_header_set(struct request *request, int64_t created_at);

#endif
