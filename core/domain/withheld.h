#ifndef RUNNEL_CORE_DOMAIN_WITHHELD_H
#define RUNNEL_CORE_DOMAIN_WITHHELD_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/variable.h"

/*
 * withheld.h -- the item of a call whose result a person has to let the model see.
 *
 * The client is shown the result at once. As long as nobody has approved it, `runnel.model_visible` of
 * the item is false, and everybody who tells the model of past calls tells it withheld_text() instead:
 * the item is all that need be looked at, wherever it was copied to. What a refusal leaves of the item
 * is the refusal.
 *
 * Functions of the item's body, and of what waits with it; pure.
 */

/* Why, when whoever refused did not say. */
#define WITHHELD_REFUSED "Result rejected by user"

/* Marks the notes of an item, the object `runnel` of its body. */
void withheld_mark(json_t *notes);

/* The model must not see what is in there. */
bool withheld_is(const json_t *body);

/* The same of the notes alone, and whether nobody has decided. */
bool withheld_is_noted(const json_t *notes);
bool withheld_waits(const json_t *body);

/* What it is told then: a refusal in any case. */
const char *withheld_text(const json_t *body);

/* A person has decided. Deciding again, the same way, changes nothing. */
void withheld_deliver(json_t *body);
void withheld_refuse(json_t *body, const char *reason);

/* The variable of such a result, which is made when it is approved: as JSON that waits with it, and back. */
json_t *withheld_hold(const struct variable *variable);
void withheld_variable(const json_t *held, struct variable *ret_variable);

/* What the model is told of something that was refused. The caller frees. */
char *withheld_refusal(const char *reason);

#endif
