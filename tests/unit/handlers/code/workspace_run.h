#ifndef RUNNEL_TESTS_UNIT_HANDLERS_CODE_WORKSPACE_RUN_H
#define RUNNEL_TESTS_UNIT_HANDLERS_CODE_WORKSPACE_RUN_H

#include "tests/support/quoted.h"
#include "tests/support/workspace_ground.h"
#include "tests/unit/handlers/tool_run.h"

/*
 * workspace_run.h -- runs a handler in the workspace of a test, and in a box of it.
 */

static struct tool_container run_container;
static unsigned run_seconds; /* of all commands of a call; 0: many */

static inline enum err_code open_run_container(void *arg, const struct tool_call *call,
                                               struct tool_container **ret_container,
                                               struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL};

    (void)arg;
    (void)call;
    (void)err;
    run_container =
        (struct tool_container){.id = "cntr_a",
                                .workspace = ground_workspace,
                                .environment = environment,
                                .timeout_ms = 60000,
                                .timeout_max_ms = run_seconds ? run_seconds * 1000 : 600000,
                                .output_limit = 1 << 20};
    *ret_container = &run_container;
    return ERR_OK;
}

static inline enum err_code lend_run_box(void *arg, const struct tool_call *call,
                                         struct tool_container *container, struct box **ret_box,
                                         struct err *err)
{
    (void)call;
    (void)container;
    (void)err;
    *ret_box = arg;
    return ERR_OK;
}

/* The same box: a test of boxes of single calls is tests/unit/core/container/test_alone.c. */
static inline enum err_code lend_run_own_box(void *arg, const struct tool_call *call,
                                             struct tool_container *container,
                                             const struct tool_own_box *how,
                                             struct box **ret_box, struct err *err)
{
    (void)how;
    return lend_run_box(arg, call, container, ret_box, err);
}

static inline enum err_code note_nothing(void *arg, const struct tool_call *call,
                                         struct tool_container *container,
                                         struct tool_run *ret_ran, struct err *err)
{
    (void)arg;
    (void)call;
    (void)container;
    (void)err;
    ret_ran->files = json_array();
    return ERR_OK;
}

static inline void close_run_container(void *arg, struct tool_container *container, bool ran)
{
    (void)ran;
    (void)arg;
    (void)container;
}

/* Arguments with ' for ". */
static inline struct outcome call_in_workspace(const struct tool_handler *handler,
                                               const char *args, bool planning, struct box *box)
{
    const struct tool_containers containers = {.at_once = 1,
                                               .open = open_run_container,
                                               .box = lend_run_box,
                                               .own_box = lend_run_own_box,
                                               .note = note_nothing,
                                               .close = close_run_container,
                                               .arg = box};
    json_auto_t *object = quoted_json(args);
    AUTO_FREE char *text = json_text(object);

    return tool_run_spec(handler, text,
                         &(struct tool_call_spec){.call_id = "call_1",
                                                  .containers = &containers,
                                                  .planning = planning});
}

#endif
