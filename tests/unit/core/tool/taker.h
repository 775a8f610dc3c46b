#ifndef RUNNEL_TESTS_UNIT_CORE_TOOL_TAKER_H
#define RUNNEL_TESTS_UNIT_CORE_TOOL_TAKER_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/tool/channel.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

/*
 * taker.h -- the loop's end of a channel, for tests: it takes until nothing is left, then waits for
 * the wake and for nothing else. So a lost wake makes a test fail.
 */

#define TAKER_PATIENCE patience_ns(30)

struct taker {
    pthread_mutex_t mutex;
    pthread_cond_t woken;
    unsigned wakes;
};

static inline void taker_init(struct taker *taker)
{
    pthread_mutex_init(&taker->mutex, NULL);
    lock_cond_init(&taker->woken);
    taker->wakes = 0;
}

static inline void taker_clear(struct taker *taker)
{
    pthread_cond_destroy(&taker->woken);
    pthread_mutex_destroy(&taker->mutex);
}

static inline void taker_wake(void *arg)
{
    struct taker *taker = arg;

    pthread_mutex_lock(&taker->mutex);
    taker->wakes++;
    pthread_cond_signal(&taker->woken);
    pthread_mutex_unlock(&taker->mutex);
}

static inline bool taker_sleep(struct taker *taker, uint64_t patience_ns)
{
    uint64_t until = clock_mono_ns() + patience_ns;
    struct timespec deadline = {.tv_sec = (time_t)(until / NS_PER_SECOND),
                                .tv_nsec = (long)(until % NS_PER_SECOND)};
    int rc = 0;

    pthread_mutex_lock(&taker->mutex);
    while (!taker->wakes && !rc)
        rc = pthread_cond_timedwait(&taker->woken, &taker->mutex, &deadline);
    taker->wakes = 0;
    pthread_mutex_unlock(&taker->mutex);
    return rc == 0;
}

/* The next output; false when all calls have ended. */
static inline bool taker_next(struct taker *taker, struct tool_channel *channel,
                              struct tool_output *ret_output)
{
    while (!tool_channel_take(channel, ret_output)) {
        if (tool_channel_finished(channel))
            return false;
        if (!taker_sleep(taker, TAKER_PATIENCE))
            fail_msg("nothing came, and nobody woke the taker");
    }
    return true;
}

#endif
