#ifndef RUNNEL_CORE_RUN_TURN_HOME_H
#define RUNNEL_CORE_RUN_TURN_HOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/run/turn/engine_options.h"

/*
 * home.h -- what a run needs from the engine that it lives in: its lease, its slot, channels with a
 * wake-up, other runs. Implemented in core/run/engine. On the run's loop.
 */

struct engine;
struct run;
struct run_write;
struct engine_waiter;
struct tool_channel;

/* Constant as long as the engine lives. */
const struct engine_options *engine_options(const struct engine *engine);

/* The keeper renews the leases that are added. A run has one while its writing.fence is not 0. */
void engine_lease_add(struct engine *engine, const struct run *run);
void engine_lease_drop(struct engine *engine, const struct run *run);

/* The run holds: it waits for approvals, which may come by way of other nodes. False when as many of its
 * project hold as may. */
bool engine_hold_add(struct engine *engine, const struct run *run);
void engine_hold_drop(struct engine *engine, const struct run *run);

/* Posts an approval request to the webhook of the run's project, if it has one. Borrowed. */
void engine_post_question(struct run *run, const json_t *question);

/* The log of the run grows with an answer of the model, or does so no longer. */
void engine_flow_add(struct engine *engine);
void engine_flow_drop(struct engine *engine);
/* How many such runs are here, on all loops. */
size_t engine_flows(const struct engine *engine);

/* The end of a residency: the run leaves its loop's table now, and is freed in the next round. */
void engine_forget(struct run *run);
/* If the run waits for a slot, it begins now, without one: before it ends it must have begun. */
void engine_begin(struct run *run);

/* A channel for the outputs of `calls` calls, with the run's wake-up; see tool_channel_new(). The run is
 * woken until engine_stop_wakeups(), and has one such channel at a time. The caller releases it. */
struct tool_channel *engine_channel(struct run *run, unsigned calls, const bool *hidden,
                                    size_t capacity);
/* Wake-ups that come late no longer reach the run. Nothing happens if it has no channel. */
void engine_stop_wakeups(struct run *run);

/* Only on the loop of that run. NULL if it is not in memory. */
struct run *engine_find(struct engine *engine, const char *run_id);
/* Until waiter_drop(); see engine/waiters.h. */
void engine_wait_for_run(struct engine *engine, struct engine_waiter *waiter);
bool engine_is_draining(const struct engine *engine);

/* ---- recover.c: after a crash ---- */

/* Closes what the last owner left open, hides what was cut, and continues the run. `calls` are the rows of
 * its last turn. */
void run_recover(struct run *run, const struct call_row *calls, size_t call_count);
/* It was claimed so often after crashes that it may be what causes them. */
bool run_is_poison(const struct run *run);
/* Fails a run whose write the database refuses, without the contents of that write. */
void run_take_refusal(struct run *run, const struct run_write *write);

#endif
