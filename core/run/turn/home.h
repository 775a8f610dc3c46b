#ifndef RUNNEL_CORE_RUN_TURN_HOME_H
#define RUNNEL_CORE_RUN_TURN_HOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/run/engine/engine.h"

/*
 * home.h -- what a run wants of the engine that it lives in: its lease, its slot, channels with a wake-up,
 * other runs. Implemented in core/run/engine. On the run's loop.
 */

struct run;
struct run_write;
struct engine_waiter;
struct tool_channel;

const struct engine_options *engine_options(const struct engine *engine);
void engine_lease_add(struct engine *engine, const struct run *run);
void engine_lease_drop(struct engine *engine, const struct run *run);
/* It waits for answers, which may come by way of other nodes. False when too many of its project do. */
bool engine_hold_add(struct engine *engine, const struct run *run);
void engine_hold_drop(struct engine *engine, const struct run *run);
/* The webhook of its project, if it has one. The question is only read. */
void engine_post_question(struct run *run, const json_t *question);
void engine_forget(struct run *run); /* out of its loop's table, and freed in the next round */
/* Takes the run up, slot or not, if it still waits: before it ends it must have begun. */
void engine_begin(struct run *run);
/* Where the outputs of so many calls come together; the run is woken for them until engine_stop_wakeups(). */
struct tool_channel *engine_channel(struct run *run, unsigned calls, const bool *hidden,
                                    size_t capacity);
void engine_stop_wakeups(struct run *run); /* late wake-ups no longer reach the run */
struct run *engine_find(struct engine *engine, const char *run_id);

/* waiters.h; it leaves by waiter_drop(). */
void engine_wait_for_run(struct engine *engine, struct engine_waiter *waiter);
bool engine_is_draining(const struct engine *engine);

/* ---- recover.c: after a crash ---- */

/* Closes what the last owner left open. */
void run_recover(struct run *run, const struct call_row *calls, size_t call_count);
/* It has been taken up so often that it may be what brings servers down. */
bool run_is_poison(const struct run *run);
/* Fails a run whose write the database does not take: without what was in it. */
void run_take_refusal(struct run *run, const struct run_write *write);

#endif
