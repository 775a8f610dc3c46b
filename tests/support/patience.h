#ifndef RUNNEL_TESTS_SUPPORT_PATIENCE_H
#define RUNNEL_TESTS_SUPPORT_PATIENCE_H

#include <stdint.h>
#include <stdlib.h>

#include "core/base/clock.h"

/*
 * patience.h -- deadlines of tests, which only something that hangs reaches.
 *
 * `seconds` are more than a quiet machine ever takes. ctest stretches them as it does its own limits:
 * tests/CMakeLists.txt says by how much, in the environment.
 */

static inline uint64_t patience_ns(uint64_t seconds)
{
    const char *factor = getenv("RUNNEL_TEST_PATIENCE");

    return seconds * NS_PER_SECOND * (factor ? strtoul(factor, NULL, 10) : 1);
}

static inline int patience_ms(uint64_t seconds)
{
    return (int)(patience_ns(seconds) / NS_PER_MS);
}

#endif
