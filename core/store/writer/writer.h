#ifndef RUNNEL_CORE_STORE_WRITER_WRITER_H
#define RUNNEL_CORE_STORE_WRITER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/domain/variable.h"
#include "core/net/loop.h"
#include "core/store/store.h"

/*
 * writer.h -- what run loops write, in groups, without ever waiting.
 *
 * A loop fills in a run_write and hands it over; a writer thread takes what has come together
 * (at most WRITER_GROUP_LIMIT runs and WRITER_GROUP_BYTES, or what came within 1 ms; within 4
 * ms where many write), sends it all through a pipeline with one Sync, and posts each write
 * back to its loop once it is committed. Writes of one run are carried out in the order in
 * which they were handed over: a run always uses the same writer.
 *
 * Those that ask for a permission come back after the rest of their group: what was allowed
 * meanwhile is looked for first (approval_cover.h).
 *
 * Every statement carries the run's fence. A run that was taken over by another node yields no
 * rows: its write comes back as ERR_CONFLICT and leaves the group unharmed. An SQL error makes
 * the group be repeated run by run; the run at fault comes back with ERR_INTERNAL.
 *
 * When the database is away the writer keeps the group and tries again, with back-off, until
 * the database is back or the writers are stopped (ERR_STORE). Repeating is safe: rows are put,
 * not added, and a log chunk is keyed by its first number. A large group has more time; one
 * that the database did not manage in time is repeated in halves.
 */

/* A flush of the log costs the database two thirds of what it costs in groups of 32; after a moment
 * in which nothing was committed, what has gathered goes in few groups. */
#define WRITER_GROUP_LIMIT 256
/* A group is in memory several times while it is sent. A write of more than this goes alone. */
#define WRITER_GROUP_BYTES ((size_t)8 << 20)

struct run_write {
    /* Filled in by the loop. Everything pointed to is owned by the write until it comes back. */
    struct tenant tenant; /* the run's: tenant_kept() */
    char run_id[ID_SIZE];
    int64_t fence; /* of the lease; 0 with `create` */

    /* create: the run is not there yet, all of its row is stored. With a status that is not final
     * it is leased to this node with fence 1; with one that is, it never has a lease.
     * update: the status, turn, required_action, usage, error, incomplete and the times are
     * stored; the rest of the row is the clients'. What has ended stays as it is, and cancelling
     * gives way to an end only. An end gives the lease back without being asked. */
    bool create;
    bool update;
    struct run_row *run; /* NULL without either: most writes are tokens */

    /* A response in a conversation that ends completed or incomplete: all its items become the
     * conversation's in the same transaction. Until then they have no thread_id. */

    /* release: gives the lease back. With `ready` whoever comes first takes the run up;
     * without, it waits for its client until run.expires_at, if `update` or `create` says so:
     * of one of which nothing is said nobody knows what it waits for, and it is ready. A run
     * that somebody wants to stop does not go to wait: it is still ours, and cancel_requested
     * says so. */
    bool release;
    bool ready;

    /* Put: inserted, or replaced by id. An id that another run's item has is a mistake
     * (ERR_INTERNAL): items get ids of ours, whatever a client or a model calls them. */
    struct item_row *items;
    size_t item_count;
    size_t lent; /* of the last items: their bodies stay the lender's */
    struct step_row *steps;
    size_t step_count;
    struct call_row *calls;
    size_t call_count;
    struct approval_row *approvals;
    size_t approval_count;

    /* Put into that scope: what tools gave and were given. */
    char variable_scope[ID_SIZE];
    struct variable *variables;
    size_t variable_count;

    int64_t log_first, log_last; /* frames in the chunk; log_last < log_first: none */
    char *log_bytes;
    size_t log_length;
    /* The last so many bytes of the chunk are one frame, which says that the run waits for its
     * client: stored only if it does, and not when cancel_requested. 0: there is none. */
    size_t log_pause;

    /* Filled in by the writer.
     * rc: ERR_OK; ERR_CONFLICT: fenced or deleted, or with `create` the thread has an active run
     * already; ERR_INTERNAL; ERR_STORE: the writers were stopped while the database was away.
     * cancel_requested: somebody wants the run to stop; its row says cancelling. */
    enum err_code rc;
    bool cancel_requested;

    struct loop *loop;      /* whom to tell */
    void *arg;              /* the loop's own */
    struct loop_task done;  /* done.run is called there; the write is the loop's again */
    struct run_write *next; /* the writer's, as is: */
    uint32_t hash;          /* of the run's id */
    size_t size;            /* about how many bytes it sends */
};

struct run_write *run_write_new(void);
void run_write_free(struct run_write *write);

/* What can still be stored of a run whose writes are refused: that it has failed, by a mistake of
 * ours, and nothing that anybody else has made. NULL when there is nothing to end, because the
 * refused write was to create it. It goes back to where that one went. `run` is only read. */
struct run_write *run_write_failure(const struct run_write *refused, const struct run_row *run);

enum err_code store_writers_start(struct store *store, struct err *err) MUST_CHECK;
/* Finishes what was handed over, if the database is there, then joins. Nothing may be handed over
 * any more: the loops have stopped, or will not write. */
void store_writers_stop(struct store *store);

/* Any thread. Never blocks. */
void store_write(struct store *store, struct run_write *write);

#endif
