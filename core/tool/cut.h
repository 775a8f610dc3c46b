#ifndef RUNNEL_CORE_TOOL_CUT_H
#define RUNNEL_CORE_TOOL_CUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/compiler.h"
#include "core/domain/run_settings.h"

/*
 * cut.h -- which part of a result that is too long the model sees.
 *
 * The model asks for more or less with the arguments `limit` and `begin`, which every tool takes
 * (arguments.h). `runnel.truncation` of the request sets the default limit and which part is left out.
 * Sizes are Unicode characters. Pure functions: any thread.
 */

#define CUT_DEFAULT_LIMIT ((size_t)8000)
#define CUT_NO_LIMIT      ((size_t)1 << 20) /* "everything": no result shows more */

struct cut_rule {
    size_t limit;           /* characters that are shown, without the note */
    size_t begin;           /* the first character to show; only cutters of tools use it */
    bool head_only;         /* leave out the end, not the middle */
    enum language language; /* of the note */
};

/* `args` is what the model wrote, `limit` and `begin` included, or NULL. `fallback` is the tool's own
 * limit, or CUT_DEFAULT_LIMIT. A limit of 0 or less in `args` means CUT_NO_LIMIT. */
struct cut_rule cut_rule(const struct run_settings *settings, const json_t *args,
                         size_t fallback);

/* The part of a text that is shown. Headings and notes that a cutter adds do not count. */
struct cut_shown {
    bool truncated; /* something is missing */
    size_t count;   /* characters of the text */
    size_t next;    /* the first missing character: where the reader continues */
};

/* The text, or its shown part with a note. The caller frees. */
char *cut_text(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown);

#endif
