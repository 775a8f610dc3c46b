#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_TAINT_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_TAINT_H

#include <stdbool.h>

#include "core/run/turn/run.h"

/*
 * run_taint.h -- has the model read something that a stranger wrote?
 *
 * A page of the Web, or the result of a remote server, may contain orders to the model. So a call that executes or
 * writes (TOOL_ACTS) needs an approval after such a result (TOOL_FOREIGN), even if its policy is laxer. So does a
 * program in a container (TOOL_TAKES_SEAT) where containers may have a network. The operator turns that off with
 * tools.taint.
 *
 * On the run's loop.
 */

/* Not 0 if a call of this tool needs an approval for that reason: there is a foreign result in the context, behind the
 * last message of a user and before the turn that made the present calls. Since when it is there, in microseconds:
 * answers that were remembered before that do not count, and one of this run does. */
int64_t run_tainted_since(const struct run *run, const struct tool_use *use);

/* The result of a call of this tool is foreign, or may repeat what is. */
bool run_reads_foreign_text(const struct run *run, const struct tool_use *use);

#endif
