#ifndef RUNNEL_TESTS_SUPPORT_READERS_GROUP_H
#define RUNNEL_TESTS_SUPPORT_READERS_GROUP_H

#include "core/document/document.h"
#include "tests/support/test.h"

/*
 * readers_group.h -- a group of tests that read documents in real children.
 *
 *     return cmocka_run_group_tests(tests, readers_start, readers_stop);
 */

static inline int readers_start(void **state)
{
    struct err err;

    (void)state;
    return compute_start(document_tasks, DOCUMENT_TASKS, &err) == ERR_OK ? 0 : -1;
}

static inline int readers_stop(void **state)
{
    (void)state;
    compute_stop();
    return 0;
}

#endif
