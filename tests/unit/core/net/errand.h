#ifndef RUNNEL_TESTS_UNIT_CORE_NET_ERRAND_H
#define RUNNEL_TESTS_UNIT_CORE_NET_ERRAND_H

#include <semaphore.h>

#include "core/base/compiler.h"
#include "core/net/loop.h"

/* errand.h -- a test has a loop do something and waits until it is done. */

struct errand {
    struct loop_task task;
    void (*doing)(void *arg);
    void *arg;
    sem_t done;
};

static inline void wait_for(sem_t *done)
{
    while (sem_wait(done))
        ; /* a signal */
}

static inline void run_errand(struct loop_task *task)
{
    struct errand *errand = CONTAINER_OF(task, struct errand, task);

    errand->doing(errand->arg);
    sem_post(&errand->done);
}

static inline void on_loop(struct loop *loop, void (*doing)(void *arg), void *arg)
{
    struct errand errand = {.task.run = run_errand, .doing = doing, .arg = arg};

    sem_init(&errand.done, 0, 0);
    loop_post(loop, &errand.task);
    wait_for(&errand.done);
    sem_destroy(&errand.done);
}

#endif
