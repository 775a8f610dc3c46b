#ifndef RUNNEL_CORE_RUN_CONTEXT_PAST_PROGRAMS_H
#define RUNNEL_CORE_RUN_CONTEXT_PAST_PROGRAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/item.h"

/*
 * past_programs.h -- programs among the items of a context, and the calls that they have made.
 *
 * A program and its output are a call and its output, which the model reads. Between them are items of the calls that
 * the program has made, and their outputs. These name the program as their `caller`, and no model reads them.
 *
 * Pure functions: any thread.
 */

/* The caller of a program's calls, as their items show it. New reference. */
json_t *past_program_caller(const char *program);

/* The item of this body belongs to a call that a program has made. */
bool past_is_of_program(const json_t *body);

/* The first program at `from` or behind it that has no output yet; `count` without one. */
size_t past_programs_next(const struct item_row *items, size_t count, size_t from);

/* Where calls and their outputs are, by call id: for past_program_call(). New reference. */
json_t *past_program_places(const struct item_row *items, size_t count);

/* The call with this id as its program knows it: {"name", "arguments", "output", "failed"}, and "label" of a call of a
 * server. "arguments" is missing if its item has another form of them. NULL: no such call, or it has no output. New
 * reference. */
json_t *past_program_call(const struct item_row *items, const json_t *places,
                          const char *call_id);

#endif
