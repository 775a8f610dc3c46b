#ifndef RUNNEL_CORE_TOOL_SCHEMA_INTERNAL_H
#define RUNNEL_CORE_TOOL_SCHEMA_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/tool/schema.h"

/*
 * schema_internal.h -- what checking and filling in have in common: how long they may go on.
 */

/* Schemas between two looks at the clock. */
#define STEPS_A_CLOCK 16

/* Until when it may go on. */
struct schema_watch {
    struct schema_budget *budget; /* NULL: for ever */
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
