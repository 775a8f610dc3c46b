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
 * writer.h -- what run loops store: handed over without waiting, committed in groups.
 *
 * A loop fills in a run_write and hands it over. A writer thread takes the writes that have
 * come together: at most WRITER_GROUP_LIMIT runs and WRITER_GROUP_BYTES, and those of the last
 * 1 ms, or 4 ms under load. It sends them through a pipeline with one Sync, and posts each
 * write back to its loop once it is committed. Writes of one run are committed in the order in
 * which they were handed over: a run always uses the same writer.
 *
 * Writes that request a permission come back after the rest of their group: the writer first
 * looks for a grant that was made meanwhile (approval_cover.h).
 *
 * Every statement carries the run's fence. The write of a run that another node has taken over
 * changes no rows: it comes back as ERR_CONFLICT and leaves the group unharmed. So does the
 * write of a run that was deleted, as ERR_NOT_FOUND. After an SQL
 * error the group is repeated run by run, and the run at fault comes back with ERR_INTERNAL.
 *
 * While the database is away the writer keeps the group and tries again, with back-off, until
 * the database is back or the writers are stopped (ERR_STORE). Repeating is safe: rows are
 * upserted, and the key of a log chunk is its first number. A large group has more time. A
 * group that the database did not manage in time is repeated in halves.
 */

/* In groups of 32, two thirds of the database's work is flushing its log. After a moment
 * without commits, a large group catches up with few flushes. */
#define WRITER_GROUP_LIMIT 256
/* A group is in memory several times while it is sent. A larger write goes alone. */
#define WRITER_GROUP_BYTES ((size_t)8 << 20)

struct run_write {
    /* Filled in by the loop. The write owns everything that it points to, until it comes back. */
    struct tenant tenant; /* the run's: tenant_kept() */
    char run_id[ID_SIZE];
    char thread_id[ID_SIZE]; /* of its thread or conversation; "" if it has none */
    int64_t fence;           /* of the lease; 0 with `create` */

    /* create: the run is new, and its whole row is stored. If its status is not final, it is
     * leased to this node with fence 1. If it is final, there is never a lease.
     * update: the status, turn, required_action, usage, error, incomplete and the times are
     * stored. The rest of the row belongs to clients. A run that has ended stays as it is, and
     * the status cancelling only gives way to a final one. The end of a run drops its lease,
     * without `release`. */
    bool create;
    bool update;
    struct run_row *run; /* NULL without either: most writes are tokens */

    /* When a response in a conversation ends completed or incomplete, all its items are added
     * to the conversation in the same transaction. Until then they have no thread_id. */

    /* release: gives up the lease. With `ready` any node may claim the run. Without, it waits
     * for its client until run.expires_at, if `update` or `create` is set. A write without a
     * status does not say what the run waits for, so that run is ready. A run that is to be
     * cancelled does not wait: this node keeps it, and cancel_requested is set. */
    bool release;
    bool ready;

    /* Inserted, or replaced by id. An id that another run's item has is a mistake
     * (ERR_INTERNAL): items have ids of this server, whatever a client or a model calls them. */
    struct item_row *items;
    size_t item_count;
    size_t lent; /* the bodies of so many last items are only lent */
    struct step_row *steps;
    size_t step_count;
    struct call_row *calls;
    size_t call_count;
    struct approval_row *approvals;
    size_t approval_count;

    /* Stored in that scope: results and arguments of tools. */
    char variable_scope[ID_SIZE];
    struct variable *variables;
    size_t variable_count;

    int64_t log_first, log_last; /* the frames of the chunk; log_last < log_first: no frames */
    char *log_bytes;
    size_t log_length;
    /* The last so many bytes of the chunk are one frame, which announces that the run waits for
     * its client. It is stored only if the run does wait, and not with cancel_requested. 0: no
     * such frame. */
    size_t log_pause;

    /* Filled in by the writer.
     * rc: ERR_OK. ERR_CONFLICT: fenced; with `create`: the thread has an active run already.
     * ERR_NOT_FOUND: the run was deleted. ERR_INTERNAL. ERR_STORE: the writers were stopped
     * while the database was away.
     * thread_deleted: with ERR_NOT_FOUND, its thread was deleted as well.
     * cancel_requested: the run is to be cancelled, and its row says cancelling. */
    enum err_code rc;
    bool thread_deleted;
    bool cancel_requested;

    struct loop *loop;      /* where `done` is posted */
    void *arg;              /* the loop's own */
    struct loop_task done;  /* done.run is called there; the write is the loop's again */
    struct run_write *next; /* the writer's, as the next two */
    uint32_t hash;          /* of the run's id */
    size_t size;            /* about how many bytes it sends */
};

struct run_write *run_write_new(void);
void run_write_free(struct run_write *write);

/* A write that can still be stored for a run whose writes are refused: the run has failed by a
 * mistake of this server, and nothing else. NULL if the refused write was to create the run. It
 * comes back to where the refused one did. `run` is only read. */
struct run_write *run_write_failure(const struct run_write *refused, const struct run_row *run);

enum err_code store_writers_start(struct store *store, struct err *err) MUST_CHECK;
/* Finishes what was handed over if the database is there, then joins. Nothing may be handed
 * over any more: the loops have stopped, or will not write. */
void store_writers_stop(struct store *store);

/* Any thread. Never blocks. */
void store_write(struct store *store, struct run_write *write);

#endif
