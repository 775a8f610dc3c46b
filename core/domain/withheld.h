#ifndef RUNNEL_CORE_DOMAIN_WITHHELD_H
#define RUNNEL_CORE_DOMAIN_WITHHELD_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/variable.h"

/*
 * withheld.h -- the item of a call whose result the model must not see until a person approves it.
 *
 * The client sees the result at once. Until it is approved, `runnel.model_visible` of the item is false, and
 * requests to the model have withheld_placeholder() instead of the result. The item itself says so, so the
 * rule also holds for copies of the item. A refusal removes the result from the item.
 *
 * `body` is the body of the item, `notes` its notes (notes.h). Pure functions: any thread that owns the tree.
 */

/* The reason of a refusal that has none. */
#define WITHHELD_REFUSED "Result rejected by user"

/* Marks the result as withheld. */
void withheld_mark(json_t *notes);

/* True when the model must not see the result: it waits, or it was refused. */
bool withheld_is(const json_t *body);

/* The same by the notes alone; and whether no person has decided yet. */
bool withheld_is_noted(const json_t *notes);
bool withheld_waits(const json_t *body);

/* What the model sees instead of a withheld result: a refusal, given or preliminary. Borrowed. */
const char *withheld_placeholder(const json_t *body);

/* Approves or refuses the result. The same decision again changes nothing. */
void withheld_deliver(json_t *body);
void withheld_refuse(json_t *body, const char *reason);

/* The variable of a withheld result is created when the result is approved. Until then it is kept as JSON
 * in the approval: to JSON (new reference), and back (the caller clears it). */
json_t *withheld_hold(const struct variable *variable);
void withheld_variable(const json_t *held, struct variable *ret_variable);

/* The text that the model sees of anything that was refused. The caller frees. */
char *withheld_refusal(const char *reason);

#endif
