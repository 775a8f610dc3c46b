#include "core/run/turn/bells.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/run/turn/run.h"

static void bell_heard(struct loop_task *task)
{
    struct bell *bell = CONTAINER_OF(task, struct bell, task);
    struct run *run = bell->run;

    atomic_store(&bell->rung, false);
    if (!run)
        return;
    run_collect_output(run);
    run_pump(run);
}

void bell_ring(void *arg)
{
    struct bell *bell = arg;

    if (!atomic_exchange(&bell->rung, true))
        loop_post(bell->loop, &bell->task);
}

struct bell *bells_take(struct bells *bells, struct run *run)
{
    struct bell *bell = bells->idle;

    if (bell) {
        bells->idle = bell->next;
    } else {
        bell = mem_new(struct bell);
        bell->loop = run->loop;
        bell->task.run = bell_heard;
        bell->all = bells->all;
        bells->all = bell;
    }
    bell->run = run;
    return bell;
}

void bells_put(struct bells *bells, struct bell *bell)
{
    bell->run = NULL;
    bell->next = bells->idle;
    bells->idle = bell;
}

void bells_clear(struct bells *bells)
{
    while (bells->all) {
        struct bell *bell = bells->all;

        bells->all = bell->all;
        free(bell);
    }
    bells->idle = NULL;
}
