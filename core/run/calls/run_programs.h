#ifndef RUNNEL_CORE_RUN_CALLS_RUN_PROGRAMS_H
#define RUNNEL_CORE_RUN_CALLS_RUN_PROGRAMS_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_programs.h -- calls whose tool runs programs (TOOL_PROGRAM), and the calls that these programs make.
 *
 * A program is a call of the turn. What it calls are calls of the same turn, behind it: they name it as their `caller`
 * and pass the stages as calls of the model do. So a client's call is shown and left to the client, a server-side one
 * has its policy, and a response ends with what is open.
 *
 *   walk ─▶ step: on a worker, from the beginning ─┬─ calls ─▶ they pass the stages ─▶ all have ended ─▶ walk again
 *                                                  │                └─ the client's turn: the response ends
 *                                                  └─ the end ─▶ program_output
 *
 * The next response finds a program without an output among its items, and the outputs of its calls. It begins with
 * that program's next step, and the model gets its turn when it has ended.
 *
 * All functions are called on the run's loop.
 */

struct program;
void program_free(struct program *program);

/* The first stage: steps each program whose calls have all ended. */
enum stage_step run_step_programs(struct run *run);

/* A stage behind execution: walks again, if there is a program to step. */
enum stage_step run_continue_programs(struct run *run);

/* Adds the programs of earlier responses that have not ended, and ends those that cannot go on. True: some go on. */
bool run_take_programs(struct run *run);

/* A call was restored, or taken over from an earlier response: if it is a program that has begun, it goes on where it
 * was, and if a program of the turn has made it, it is that program's. */
void run_restore_program(struct run *run, struct call *call);

#endif
