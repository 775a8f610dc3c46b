#ifndef RUNNEL_CORE_TOOL_CUT_H
#define RUNNEL_CORE_TOOL_CUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/compiler.h"
#include "core/domain/run_settings.h"

/*
 * cut.h -- what the model is shown of a result that is too long.
 *
 * The model asks for more or less with the arguments `limit` and `begin`, which every tool takes
 * (arguments.h); the request says how with `runnel.truncation`. Sizes are Unicode characters.
 */

#define CUT_DEFAULT_LIMIT ((size_t)8000)
#define CUT_NO_LIMIT      ((size_t)1 << 20) /* more than that is never shown */

struct cut_rule {
    size_t limit;           /* characters that are shown, the note of what is missing apart */
    size_t begin;           /* for tools with a cutter of their own: the first one */
    bool head_only;         /* what is missing is the end, not the middle */
    enum language language; /* of the note */
};

/* `args` are what the model wrote, or NULL. `fallback` is the tool's own limit. A limit of 0 or less in
 * the arguments is no limit. */
struct cut_rule cut_rule(const struct run_settings *settings, const json_t *args,
                         size_t fallback);

/* What is shown of a text; what a cutter puts before, between or behind it is none of it. */
struct cut_shown {
    bool truncated; /* exactly when something is missing */
    size_t count;   /* characters of the text */
    size_t next; /* where one reads on: the first that is missing behind what is shown first */
};

/* The caller frees. */
char *cut_text(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown);

#endif
