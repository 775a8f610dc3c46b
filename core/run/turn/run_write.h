#ifndef RUNNEL_CORE_RUN_TURN_RUN_WRITE_H
#define RUNNEL_CORE_RUN_TURN_RUN_WRITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event/frames.h"
#include "core/event/sink.h"
#include "core/net/loop.h"
#include "core/run/turn/unwritten.h"
#include "core/store/writer/writer.h"

/*
 * run_write.h -- what a run stores, and what it publishes, in that order where the order matters. The rule
 * is at the head of run_write.c. On the run's loop.
 */

struct run;

/* Towards the store. At most one write is under way; what comes up meanwhile goes with the next. */
struct run_writing {
    bool exists;           /* the row is there */
    int64_t fence;         /* of its lease; every write carries it */
    int64_t next_position; /* of the next item in its thread */
    struct run_write *write;
    struct unwritten unwritten;
    /* Approval requests for the webhook: posted when the next write, or the one under way, is committed.
     * NULL for none. */
    json_t *posts, *posts_written;
    uint64_t begun;      /* the number of the last write that began */
    uint64_t committed;  /* and of the last one that was committed */
    bool urgent;         /* the next write does not wait for the flush timer */
    uint64_t barrier;    /* frames wait until the write of this number is committed */
    bool release, ready; /* the next write gives up the lease; the run is ready for others */
    void (*then)(
        struct run *run); /* called once the write of the number `then_after` is committed */
    uint64_t then_after;
    int64_t log_next;  /* number of the first frame not handed to the log yet */
    unsigned failures; /* in a row */
    struct loop_timer flush;
    uint64_t flush_due_ns; /* not before, unless much waits */
};

/* Towards its listeners, here and on other nodes. */
struct run_publishing {
    struct frames frames; /* rendered, and not published yet */
    struct sink *sinks;
    struct run_peer *peers; /* nodes whose clients follow it */
    size_t peer_count;
    size_t
        pause_length;  /* of the last frame, which says that the run waits; 0: it is another */
    int64_t published; /* number of the first frame not published yet; of resumable runs */
};

/* Call at the end of everything that happens to a run. May schedule the end of the run, but
 * never frees it before the loop's next round. */
void run_pump(struct run *run);
void run_put_item(struct run *run, const struct item_row *row);
void run_put_step(struct run *run, const struct step_row *row);
void run_put_call(struct run *run, const struct call_row *row);
/* Takes what it owns. Of a run that is not stored it is in its memory at once; false: there was no room. */
bool run_put_variable(struct run *run, struct variable *variable);
void run_put_approval(struct run *run, const struct approval_row *row);
/* What is told from here on waits for the next write, which begins as soon as it can. What must be in it
 * is to be put before run_pump(). */
void run_raise_barrier(struct run *run);
/* Once everything so far is committed: `then`. At once for runs that are not stored. */
void run_after_commit(struct run *run, void (*then)(struct run *run));
/* The same, also for runs whose calls are not remembered one by one. */
void run_after_write(struct run *run, void (*then)(struct run *run));

/* ---- run_peers.c: who follows the run on other nodes ---- */

/* Tells it at once, for the case that it has missed something meanwhile. */
void run_add_peer(struct run *run, const char *node);
/* There is more in the log. */
void run_notify_peers(struct run *run);

#endif
