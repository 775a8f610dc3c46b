#ifndef RUNNEL_CORE_RUN_ENGINE_ENGINE_INTERNAL_H
#define RUNNEL_CORE_RUN_ENGINE_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/lock.h"
#include "core/run/approval/approval_webhook.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/file_waits.h"
#include "core/run/engine/held_leases.h"
#include "core/run/engine/slots.h"
#include "core/run/engine/waiters.h"
#include "core/run/turn/run.h"
#include "core/run/turn/run_wakeups.h"

/*
 * engine_internal.h -- the loops and the runs on each; for engine.c and engine_arrivals.c only.
 *
 * The rest of core/run reaches its engine through core/run/turn/home.h.
 */

/* Buckets of a loop's table of runs. */
#define TABLE_SIZE ((size_t)1024)

/* The runs of one loop. The loop's thread only. */
struct engine_loop {
    struct engine *engine;
    struct loop *loop;
    struct run *table[TABLE_SIZE];
    struct run_wakeups wakeups;
    struct waiters waiters;
    struct webhook_posts posts;
};

struct engine {
    struct engine_options options;
    struct engine_loop *loops;
    unsigned loop_count;
    atomic_uint turn; /* for engine_any_loop() */
    atomic_bool draining;
    atomic_size_t flows; /* runs whose log grows with an answer of the model */

    struct slots *slots;
    struct held_leases *leases;
    struct file_waits *file_waits;
    struct lock lock;
    pthread_cond_t idle;       /* broadcast when no run is live */
    struct engine_stats stats; /* guarded by lock */
};

/* The loop on which a run is, or would be. Any thread. */
struct engine_loop *engine_home(struct engine *engine, const char *run_id);
/* The bucket of the loop's table in which a run is, or would be. On that loop. */
struct run **engine_slot(struct engine_loop *home, const char *run_id);
/* NULL: the run is not in memory here. On that loop. */
struct run *engine_find_here(struct engine_loop *home, const char *run_id);

/* The run need not wait for files any more. Does nothing for a run that does not. On its loop. */
void engine_end_file_wait(struct run *run);

/* The `gone` of the sinks of a run, with the run as argument. On the run's loop. */
void engine_sink_gone(struct sink *sink, void *run);

#endif
