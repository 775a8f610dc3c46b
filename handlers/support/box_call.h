#ifndef RUNNEL_HANDLERS_SUPPORT_BOX_CALL_H
#define RUNNEL_HANDLERS_SUPPORT_BOX_CALL_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/sandbox/box.h"
#include "core/tool/tool.h"
#include "core/tool/tool_container.h"

/*
 * box_call.h -- a command in the box of a call, with the environment of its container. What it leaves running ends with
 * it.
 */

struct box_call {
    const char *folder;           /* as boxes see it */
    const char *const *arguments; /* NULL ends them */
    const struct buf *input;      /* what it reads from descriptor 0; NULL: nothing */
    const struct tool_own_box
        *own_box; /* it runs in a box of the call's own; NULL: in the shared one */
    const char *const *environment; /* beside the container's, NULL ends it; or NULL */
    /* Not 0: it runs without the container, in a box that is made for it and may have so many bytes of memory. Then
     * `own_box` and `environment` do not count */
    uint64_t bare_memory;
    uint32_t timeout_ms;
    bool (*take_output)(void *argument, enum box_stream stream, const char *bytes, size_t size);
    void *argument;
};

/* ERR_OK: *ret_result says how it ended: by itself, by a signal, by its limits of time or of memory. Other ends are
 * errors, for the model. */
enum err_code box_call_run(struct tool_call *call, const struct box_call *plan,
                           struct box_result *ret_result, struct err *err) MUST_CHECK;

#endif
