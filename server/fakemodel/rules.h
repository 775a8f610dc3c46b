#ifndef RUNNEL_SERVER_FAKEMODEL_RULES_H
#define RUNNEL_SERVER_FAKEMODEL_RULES_H

#include "server/fakemodel/prompt.h"
#include "server/fakemodel/script.h"

/*
 * fakemodel/rules.h -- which rule of a script answers a request.
 */

/* The first rule that fits and is not used up, or NULL. Borrowed from the script. Counts in the rule how
 * often it fitted, so one thread at a time. */
struct script_rule *script_pick(struct script *script, const struct prompt *prompt);

#endif
