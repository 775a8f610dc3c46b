#ifndef RUNNEL_CORE_DOMAIN_PROGRAM_H
#define RUNNEL_CORE_DOMAIN_PROGRAM_H

#include <stddef.h>

/*
 * program.h -- programs of models: their limits, and what runs them.
 *
 * A program is JavaScript that a model has written. It calls other tools and waits for their outputs. The handler runs
 * it from its beginning to where it waits for an output that is still missing, or to its end. That is one step. Its
 * arguments are:
 *
 *   code          the program
 *   seed, now     32 hexadecimal digits and milliseconds: its random numbers and its time
 *   tools         [[name, takes text]]: what it may call
 *   at_once       calls that it waits for together; further ones follow when these have outputs
 *   calls         [{"name", "arguments", "output", "failed"}]: what it has called so far, in its order; the arguments
 *                 may be missing, and are not compared then
 *
 * It reports with one stage, PROGRAM_STAGE, whose fields are one of
 *
 *   calls         [{"number", "name", "arguments"}]: it waits for these, numbered behind those that it was given
 *   result        it has ended: what it has said and shown, parts of a struct tool_result as JSON
 *   failed        why it has not come to its end
 *
 * The same arguments give the same step. So nothing of a program is kept but its calls.
 */

#define PROGRAM_STAGE "stepped"

#define PROGRAM_SEED_DIGITS 32

#define PROGRAM_CALLS   256 /* of a program */
#define PROGRAM_AT_ONCE 64  /* 1 of a request without parallel_tool_calls */
#define PROGRAM_IMAGES  16

/* Processor time of a step, and the time in which it must have had that. */
#define PROGRAM_CPU_SECONDS 30
#define PROGRAM_WALL_MS     120000

#define PROGRAM_HEAP_MIB 128

/* Characters that a program may say, and those of its code. */
#define PROGRAM_TEXT_LIMIT 1000000
#define PROGRAM_CODE_LIMIT 1048576

/* Bytes of the outputs of its calls together. */
#define PROGRAM_OUTPUTS_LIMIT ((size_t)10485760)

/* Bytes of outputs and arguments that all its steps are given in a response: each step gets those of all calls before
 * it. 256 calls one behind another may have 4 KiB each. */
#define PROGRAM_GIVEN_LIMIT ((size_t)128 << 20)

#endif
