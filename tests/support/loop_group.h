#ifndef RUNNEL_TESTS_SUPPORT_LOOP_GROUP_H
#define RUNNEL_TESTS_SUPPORT_LOOP_GROUP_H

#include "core/net/http_client.h"
#include "core/net/loop.h"

/*
 * loop_group.h -- for cmocka_run_group_tests() of tests whose threads ask over one loop (http_ask.h).
 */

static struct loop *loop;

static inline struct loop *any_loop(void *arg)
{
    (void)arg;
    return loop;
}

static inline int start_loop(void **state)
{
    (void)state;
    http_client_global_init();
    loop = loop_new("test");
    return loop_start(loop, NULL) ? -1 : 0;
}

static inline int end_loop(void **state)
{
    (void)state;
    loop_stop(loop);
    loop_free(loop);
    http_client_global_free();
    return 0;
}

#endif
