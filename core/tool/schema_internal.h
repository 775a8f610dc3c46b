#ifndef RUNNEL_CORE_TOOL_SCHEMA_INTERNAL_H
#define RUNNEL_CORE_TOOL_SCHEMA_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/tool/schema.h"

/*
 * schema_internal.h -- the time limit that checking (schema.c) and completing (schema_complete.c) share.
 */

/* Reading the thread's clock is a system call, so it is read once in this many schemas. */
#define STEPS_A_CLOCK 16

/* A running check. It starts with what is left of the budget, and stopping it takes off the time used. */
struct schema_watch {
    struct schema_budget *budget; /* NULL: no limit */
    uint64_t began;
};

static inline struct schema_watch schema_watch_start(struct schema_budget *budget)
{
    return (struct schema_watch){budget, budget ? clock_thread_ns() : 0};
}

static inline uint64_t schema_time_left(const struct schema_watch *watch)
{
    uint64_t used;

    if (!watch->budget)
        return UINT64_MAX;
    used = clock_thread_ns() - watch->began;
    return used < watch->budget->left_ns ? watch->budget->left_ns - used : 0;
}

static inline void schema_watch_stop(const struct schema_watch *watch)
{
    if (watch->budget)
        watch->budget->left_ns = schema_time_left(watch);
}

#endif
