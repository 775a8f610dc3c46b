#ifndef RUNNEL_CORE_RUN_TURN_RUN_REASONING_H
#define RUNNEL_CORE_RUN_TURN_RUN_REASONING_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"

/*
 * run_reasoning.h -- the reasoning of a turn: what is noted of it for its upstream, and what a client sees
 * of it instead of the text. On the run's loop.
 */

/* Of a summary that is made here, in bytes. */
#define RUN_SUMMARY_LIMIT ((size_t)600)

struct run;

/* How the run gives reasoning back. It begins with the first, and a refusal changes it for good. */
enum run_giving_back {
    RUN_GIVES_BACK,      /* as the upstream is configured */
    RUN_GIVES_BACK_NONE, /* the upstream has refused its own reasoning */
    RUN_GIVES_BACK_MORE, /* it has refused calls without reasoning */
};

/* An entry of reasoning_details came; borrowed. It belongs to the reasoning or the message that is open.
 * While a call is open it waits for run_add_held_details(). */
void run_take_reasoning_detail(struct run *run, const json_t *detail);
void run_add_held_details(struct run *run);

/* The open item is whole reasoning and closes next: adds the summary that the request wants, if it has
 * none, and the notes for the upstream. */
void run_finish_reasoning(struct run *run);

/* Of enum context_flags: which reasoning the next request has. */
unsigned run_reasoning_flags(const struct run *run);

/* The upstream has refused the request, probably for the reasoning in it, or the lack of it. True when the
 * turn should be requested again; then the flags have changed. */
bool run_reasoning_refused(struct run *run, const struct err *error);

#endif
