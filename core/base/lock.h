#ifndef RUNNEL_CORE_BASE_LOCK_H
#define RUNNEL_CORE_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/compiler.h"

/*
 * lock.h -- mutexes with ranks.
 *
 * Every lock has a rank, and a thread takes locks in the order of the list
 * below. Two locks of one rank are never held together. The program stops on
 * the first violation, in every build: a wrong order is a deadlock that has
 * not happened yet, and it costs one thread-local word to find it in a test.
 *
 * A field that needs a lock says so where it is declared: "guarded by lock".
 * A function that needs its caller to hold the lock ends in _locked and is
 * marked REQUIRES(...), which clang checks. For the same reason locks are
 * released by name and not by a cleanup attribute, which clang cannot follow.
 */

enum lock_rank {
    LOCK_KEEPER,    /* server/keeper.c: whether it is to stop */
    LOCK_HTTP,      /* server/http/http.c: live connections */
    LOCK_WORKERS,   /* server/workers.c: what waits for a thread */
    LOCK_FILE_ROOM, /* server/files/file_room.c: memory for files on their way to models */
    LOCK_TURNS,     /* server/api/files/turns.c: which uploads are being completed */
    LOCK_CHAINS,    /* server/api/responses/chain_cache.c: histories that were read */
    LOCK_STREAM, /* server/http/stream/sse.c: hand-over of one connection between its two threads */
    LOCK_HELD_POLLS, /* server/api/vector_stores/held_poll.c: which polls are held */
    LOCK_ENGINE, /* core/run: how many runs are here, their slots, leases and waits for files */
    LOCK_TOOL_POOL,    /* core/tool/executor.c: calls waiting for a thread */
    LOCK_TOOL_CHANNEL, /* core/tool/channel.c: one turn's tool output */
    LOCK_VARIABLES, /* core/memory/variable_memory.c: the variables of a response that is not stored */
    LOCK_VARIABLE_SHARES, /* the same file: which projects have any */
    LOCK_INGEST,          /* core/ingest/ingest.c: what is at work, and whether to look */
    LOCK_VECTOR_MODEL,    /* core/ingest/vector_model.c: what is known of the model */
    LOCK_QUERY_VECTORS, /* core/ingest/query_vectors.c: vectors of queries that were asked before */
    LOCK_SEARCH_SETS, /* core/ingest/search_sets.c: which documents stores are searched by */
    LOCK_SEGMENTS,    /* core/ingest/segment_cache.c: which segments are here */
    LOCK_CONTAINERS,  /* core/container/containers.c: which containers are in use */
    LOCK_BOXES, /* core/container/boxes.c: which containers have a box, and which calls wait */
    LOCK_SANDBOX,     /* core/sandbox/spawn.c: which spawner is the current one */
    LOCK_STORE_QUEUE, /* core/store/writer/writer.c: writes waiting for a writer */
    LOCK_STORE_POOL,  /* core/store: connections, state of the database */
    LOCK_WEB_NUMBERS, /* core/web/web_search.c: the numbers of results; held over LOCK_WEB */
    LOCK_WEB,         /* core/web/run_cache.c: what runs have found */
    LOCK_ASKS,        /* core/net/http_ask.c: which answers have come */
    LOCK_NAMES,       /* core/net/proxy/names.c: names that wait for their addresses */
    LOCK_PLACES,      /* core/net/proxy/places.c: what a box has reached */
    LOCK_LOOP_INBOX,  /* core/net/loop.c: messages to a loop */
    LOCK_SCRIPT,      /* the scripted upstream's state */
    LOCK_MCP_KNOWN,   /* core/mcp/mcp_known.c: what servers are known to speak */
    LOCK_S3,          /* core/net/s3_client.c: pauses; core/blob/s3.c: bytes in memory */
    LOCK_LOG,         /* core/base/log.c: one line at a time */
    LOCK_FAULT,       /* core/base/fault.c: what is armed */
    LOCK_RANK_COUNT
};

struct CAPABILITY("mutex") lock {
    pthread_mutex_t mutex;
    enum lock_rank rank;
};

void lock_init(struct lock *lock, enum lock_rank rank);
void lock_destroy(struct lock *lock);

void lock_acquire(struct lock *lock) ACQUIRES(*lock);
void lock_release(struct lock *lock) RELEASES(*lock);

/* Initialises a condition that waits by the monotonic clock. */
void lock_cond_init(pthread_cond_t *cond);

/* Waits for `cond`; as with pthread_cond_wait(), re-test what you waited for.
 * The thread may hold no other lock: it would keep other threads waiting. */
void lock_wait(struct lock *lock, pthread_cond_t *cond) REQUIRES(*lock);

/* As lock_wait(), but at most until the monotonic clock shows `deadline_ns`.
 * False when the deadline has passed. */
bool lock_wait_until(struct lock *lock, pthread_cond_t *cond, uint64_t deadline_ns)
    REQUIRES(*lock);

#endif
