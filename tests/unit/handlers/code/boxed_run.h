#ifndef RUNNEL_TESTS_UNIT_HANDLERS_CODE_BOXED_RUN_H
#define RUNNEL_TESTS_UNIT_HANDLERS_CODE_BOXED_RUN_H

#include "tests/support/boxes.h"
#include "tests/unit/handlers/code/workspace_run.h"

/*
 * boxed_run.h -- tests of handlers whose commands run in test_box, which sees the workspace of the test.
 */

/* The first box makes the connection to the spawner, which stays. */
static inline int start_boxed(void **state)
{
    int rc = boxes_start(state);

    box_close(open_test_box((uint64_t)1 << 28, 64));
    return rc;
}

static inline int set_up_boxed(void **state)
{
    const struct box_folder folder = {NULL, WORKSPACE_MOUNT, true};
    struct box_folder folders[] = {folder};
    struct box_plan plan = {
        .folders = folders,
        .folder_count = 1,
        .limits = {.memory = (uint64_t)1 << 28,
                   .temporary = 1 << 20,
                   .file = 1 << 20,
                   .processes = 64,
                   .cpus = 1},
        .user = box_user(),
    };
    struct err err;

    ground_user = box_user();
    assert_int_equal(ground_set_up(state), 0);
    folders[0].source = ground_folder;
    if (box_open(&plan, &test_box, &err) != ERR_OK)
        fail_msg("%s", err.text);
    return 0;
}

static inline int tear_down_boxed(void **state)
{
    box_tear_down(state);
    return ground_tear_down(state);
}

static inline struct outcome call_tool(const struct tool_handler *handler, const char *args)
{
    return call_in_workspace(handler, args, false, test_box);
}

static inline void assert_says(const struct tool_handler *handler, const char *args,
                               const char *expected)
{
    AUTO_OUTCOME outcome = call_tool(handler, args);

    if (outcome.end.rc)
        fail_msg("%s: %s", args, outcome.end.error.text);
    assert_string_equal(outcome.text, expected);
}

#define BOXED(test) cmocka_unit_test_setup_teardown(test, set_up_boxed, tear_down_boxed)

#endif
