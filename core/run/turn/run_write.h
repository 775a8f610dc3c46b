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
 * run_write.h -- what a run stores, and what it publishes, in that order where the order matters. The
 * rule is at the head of run_write.c.
 *
 * A caller puts rows, emits events (run_emit()), and calls run_pump() once at the end of its step. It
 * never waits: what depends on a commit is a function that is called later. On the run's loop.
 */

struct run;

/* Towards the store. At most one write is under way; what happens meanwhile goes with the next one. */
struct run_writing {
    bool exists;             /* the row is in the store */
    int64_t fence;           /* of the run's lease; every write carries it. 0: no lease */
    int64_t next_position;   /* of the next item in its thread */
    struct run_write *write; /* under way; NULL: none */
    struct unwritten unwritten;
    /* Approval requests for the webhook: of the next write, and of the one under way. They are posted
     * when that write is committed. NULL: none. */
    json_t *posts, *posts_written;
    uint64_t begun;      /* number of the last write that began; from 1 */
    uint64_t committed;  /* number of the last write that was committed */
    bool urgent;         /* the next write does not wait for the flush timer */
    uint64_t barrier;    /* frames wait until the write of this number is committed */
    bool release, ready; /* of the next write, as in writer.h: it gives up the lease */
    /* Called once the write of the number `then_after` is committed. NULL: nothing waits. */
    void (*then)(struct run *run);
    uint64_t then_after;
    int64_t log_next;  /* number of the first frame that no write has taken for the log */
    unsigned failures; /* writes that the database has refused */
    bool flows;        /* counted by engine_flow_add() */
    struct loop_timer flush;
    uint64_t flush_due_ns; /* no flush before this time of the loop, unless much waits */
};

/* Towards its listeners, here and on other nodes. */
struct run_publishing {
    struct frames frames; /* rendered, and neither published nor taken by a write */
    struct sink *sinks;
    struct run_peer *peers; /* nodes whose clients follow the run: run_peers.c */
    size_t peer_count;
    /* Bytes of the last frame, if it announces that the run waits for its client. 0: it does not. */
    size_t pause_length;
    /* The frames of the run's end, or of its pause: the last ones, when the run is RUN_ENDED. */
    size_t end_length;
    unsigned end_count;
    int64_t published; /* number of the first frame that was not published; of resumable runs */
};

/* How long the log of a run gathers frames, if the logs of so many runs grow at once. Up to 250 of them it is
 * 25 ms, which delay no reader. With more it grows, up to `most_ns`, so that a node writes 10,000 chunks a second
 * however many streams it has. */
uint64_t run_flush_interval_ns(size_t flows, uint64_t most_ns);

/* Publishes what may leave and begins a write if one is due. Call it at the end of every step of a run.
 * The run may end its residency here. It is freed in the loop's next round, never inside. */
void run_pump(struct run *run);

/* Each goes with the next write and is copied. Nothing is put for a run that does not store it. */
void run_put_item(struct run *run, const struct item_row *row);
void run_put_step(struct run *run, const struct step_row *row);
void run_put_call(struct run *run, const struct call_row *row);
void run_put_approval(struct run *run, const struct approval_row *row);
/* Takes what the variable owns. A store:false run has it in memory at once; false: no room for it. */
bool run_put_variable(struct run *run, struct variable *variable);
/* The id under which the store has the run's variables: its thread, or itself. "": they are in memory.
 * Borrowed. */
const char *run_variable_scope(const struct run *run);

/* Holds back what is emitted from here on until the next write is committed. That write begins as soon
 * as it can. Put what it must carry before run_pump(). */
void run_raise_barrier(struct run *run);

/* Both call `then` when all that has happened so far is committed. At most one such call waits; a run
 * that stops its tools forgets it. The first is for what a crash must be able to repeat: it calls at
 * once for a run that no other node continues. */
void run_after_commit(struct run *run, void (*then)(struct run *run));
/* The second is for work that reads from the store what the run has written: it calls at once only if the
 * store has everything already, or will have nothing of this run. */
void run_after_write(struct run *run, void (*then)(struct run *run));

/* The run may have lost its lease, or have been deleted: the next write begins at once, and finds out. */
void run_check_lease(struct run *run);

/* For run_delete(). The first drops the frames of an end or a pause, which `write` or the run still has.
 * The second publishes all others: nothing of the run is stored from here on. */
void run_drop_end(struct run *run, struct run_write *write);
void run_publish_unstored(struct run *run, const struct run_write *write);

/* ---- run_peers.c: who follows the run on other nodes ---- */

/* A client of that node follows the run. Notifies the node at once, in case it has missed frames. */
void run_add_peer(struct run *run, const char *node);
/* The log has grown: notifies the nodes. */
void run_notify_peers(struct run *run);
/* Clients of other nodes follow it, or did so until shortly. */
bool run_has_peers(const struct run *run);

#endif
