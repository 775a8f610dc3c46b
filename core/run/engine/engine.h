#ifndef RUNNEL_CORE_RUN_ENGINE_ENGINE_H
#define RUNNEL_CORE_RUN_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/loop.h"
#include "core/run/turn/engine_options.h"
#include "core/run/turn/run_start.h"

/*
 * engine.h -- the run loops, and how the rest of the server reaches runs.
 *
 * A run belongs to one loop for as long as it is in memory. Its id decides which. Callers never see
 * a struct run: they name the run by its id, and the engine posts a message to its loop. A message to
 * a run that is not in memory here does nothing.
 *
 * Threads. Any thread may call every function here, and none of them blocks. The exceptions say so:
 * engine_steer() belongs to the run's loop, engine_stop() and engine_wait_idle() wait.
 *
 * The life of an engine: engine_new(), engine_start(), runs; then engine_drain(),
 * engine_wait_idle(), engine_abandon() for what is left, engine_wait_idle() again, engine_stop(),
 * engine_free().
 */

struct approval_webhook;
struct before_send;
struct engine;
struct log_reader;

/* Copies the options. */
struct engine *engine_new(const struct engine_options *options);
/* Starts the threads of the loops. After a failure only engine_free() may be called. */
enum err_code engine_start(struct engine *engine, struct err *err) MUST_CHECK;

/* Ends the loops and joins their threads. Call it after every run has ended or was released. */
void engine_stop(struct engine *engine);
void engine_free(struct engine *engine);

/* The loop of a run, whether or not the run is in memory. */
struct loop *engine_loop(struct engine *engine, const char *run_id);
/* A loop for work that belongs to no run. The loops take turns. */
struct loop *engine_any_loop(struct engine *engine);

/* The option, or its default. */
size_t engine_context_limit(const struct engine *engine);

/* The webhook that receives the approval requests of the tenant's project; NULL: it has none. */
const struct approval_webhook *engine_webhook(const struct engine *engine,
                                              const struct tenant *tenant);

/* Whether this node accepts one more run. ERR_LIMIT (HTTP 429): too many runs wait for a slot, or
 * the live runs have loaded too much text. ERR_STORE (503): the server is draining. Nothing is
 * reserved: several callers may be admitted at once and exceed the limit a little. */
enum err_code engine_admit(struct engine *engine, struct err *err) MUST_CHECK;

/* Hands a run to its loop. Takes what *start owns, and the sink, which it closes once the run has
 * ended or left this node. The run counts as live from here on. */
void engine_run(struct engine *engine, struct run_start *start);

/* Cancels a run. The caller has cancelled its row before, so the order holds wherever the run is. */
void engine_cancel(struct engine *engine, const char *run_id);

/* The row of a run was deleted. If the run is here it ends, and so do its followers here. Both ask the
 * store first: nothing happens to a run that has not been deleted. */
void engine_deleted(struct engine *engine, const char *run_id);

/* Call it after the store has a decision about one of the run's approval requests. A run that is held
 * then reads its decisions from the store; for other runs nothing happens. False: the run is not in
 * memory here, and the caller notifies the other nodes. */
bool engine_check_approvals(struct engine *engine, const char *run_id);

/* Why the waiters for a run are woken. */
enum engine_woken {
    WOKEN_ARRIVED, /* the run has come to its loop here, or this node is draining */
    WOKEN_MORE,    /* its owner, another node, has notified us that its log has grown */
    WOKEN_MOVED,   /* another node has claimed it, or it was deleted */
};

/* Wakes the waiters for one run, or all waiters: a notification of another node came, or may have
 * been lost. */
void engine_wake(struct engine *engine, const char *run_id, enum engine_woken why);
void engine_wake_all(struct engine *engine, enum engine_woken why);

/* A client of `node` follows a run that is in memory here. That node is notified, at once and
 * whenever the log grows. */
void engine_followed_at(struct engine *engine, const char *run_id, const char *node);

/* The client has more input for a running response. The run emits an event that says so. If it reaches
 * another turn it ends there as incomplete, so that the next response can continue from it. False:
 * the run is not here, waits for a slot, or has ended. On the run's loop only. */
bool engine_steer(struct engine *engine, const char *run_id, const char *steer_id);

/* ---- The keeper and the end of the server ---- */

struct engine_lease {
    char run_id[ID_SIZE];
    int64_t fence;
};

/* Sets *ret_leases to the leases held here and returns their number. The caller frees the array. */
size_t engine_leases(struct engine *engine, struct engine_lease **ret_leases);

struct engine_holder {
    char project[ID_SIZE];
    char run_id[ID_SIZE];
};

/* The same for the runs here that are held: they wait for approvals in memory. */
size_t engine_holding(struct engine *engine, struct engine_holder **ret_holders);

struct engine_file_wait {
    char project[ID_SIZE];
    char run_id[ID_SIZE];
    char store_id[ID_LIMIT + 1];
};

/* The same for the runs here that wait for files (run_start.awaited_store). */
size_t engine_file_waits(struct engine *engine, struct engine_file_wait **ret_waits);
bool engine_has_file_waits(struct engine *engine);
/* The store for which the run waits has no files in progress. It continues. */
void engine_files_settled(struct engine *engine, const char *run_id);

/* The lease is gone: another node owns the run now, or the run was deleted. A write of the run finds out
 * which. In the first case the run is dropped here: its streams are closed, and nothing more is emitted
 * or written. A run that has returned under another fence is left alone. */
void engine_lease_lost(struct engine *engine, const struct engine_lease *lease);

/* Admits no new runs. Resumable runs are released for other nodes when the model's turn is over, or when
 * the tools that run already have ended. A held response stops waiting for its approvals. Other
 * foreground runs continue to their end. */
void engine_drain(struct engine *engine);

/* Ends all runs now: resumable ones are released if they are stored, the others fail. */
void engine_abandon(struct engine *engine);

struct engine_stats {
    size_t live;      /* runs in memory, or on their way to their loop */
    size_t bytes;     /* of the texts that the live runs have loaded */
    uint64_t started; /* residencies since the engine was made, with `live` */
    uint64_t ended;   /* of them, those that are over */
    uint64_t failed;  /* of those, runs whose status was failed */
};
void engine_stats(struct engine *engine, struct engine_stats *ret_stats);

/* Waits until no run is live, until `deadline_ns` of clock_mono_ns() at the latest. True: none is. */
bool engine_wait_idle(struct engine *engine, uint64_t deadline_ns);

#endif
