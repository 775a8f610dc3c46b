#ifndef RUNNEL_HANDLERS_SUPPORT_RIPGREP_H
#define RUNNEL_HANDLERS_SUPPORT_RIPGREP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * ripgrep.h -- searches files of a container with ripgrep, in the container's box.
 *
 * What it prints is hostile, like all that comes from a box.
 */

/* Bytes of one record; a longer one is left out. */
#define RIPGREP_RECORD_LIMIT ((size_t)1 << 20)

struct ripgrep {
    const char *folder;           /* in the box, where it starts */
    const char *const *arguments; /* without the program; NULL ends them */
    const char *root; /* the operator's root that it searches, by its name; or NULL */
    char separator;   /* of its records */
    /* Takes a record, which has a NUL behind it that does not count. False: no more is wanted. */
    bool (*take)(void *argument, const char *record, size_t length);
    void *argument;
};

/* ERR_OK also if it finds nothing. ERR_INVALID: the pattern makes no sense; the text is ripgrep's. ERR_TIMEOUT: it took
 * longer than a minute. */
enum err_code ripgrep_run(struct tool_call *call, const struct ripgrep *search,
                          struct err *err) MUST_CHECK;

#endif
