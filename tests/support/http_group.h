#ifndef RUNNEL_TESTS_SUPPORT_HTTP_GROUP_H
#define RUNNEL_TESTS_SUPPORT_HTTP_GROUP_H

#include "core/net/http_client.h"

/*
 * http_group.h -- for cmocka_run_group_tests() of tests with an HTTP client: what the process has one of.
 */

static inline int start_http(void **state)
{
    (void)state;
    http_client_global_init();
    return 0;
}

static inline int end_http(void **state)
{
    (void)state;
    http_client_global_free();
    return 0;
}

#endif
