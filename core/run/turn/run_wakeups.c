#include "core/run/turn/run_wakeups.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/run/turn/run.h"

static void wake_run(struct loop_task *task)
{
    struct run_wakeup *wakeup = CONTAINER_OF(task, struct run_wakeup, task);
    struct run *run = wakeup->run;

    atomic_store(&wakeup->sent, false);
    if (!run)
        return;
    run_collect_output(run);
    run_pump(run);
}

void run_wakeup_send(void *arg)
{
    struct run_wakeup *wakeup = arg;

    if (!atomic_exchange(&wakeup->sent, true))
        loop_post(wakeup->loop, &wakeup->task);
}

struct run_wakeup *run_wakeups_take(struct run_wakeups *wakeups, struct run *run)
{
    struct run_wakeup *wakeup = wakeups->idle;

    if (wakeup) {
        wakeups->idle = wakeup->next;
    } else {
        wakeup = mem_new(struct run_wakeup);
        wakeup->loop = run->loop;
        wakeup->task.run = wake_run;
        wakeup->all = wakeups->all;
        wakeups->all = wakeup;
    }
    wakeup->run = run;
    return wakeup;
}

void run_wakeups_put(struct run_wakeups *wakeups, struct run_wakeup *wakeup)
{
    wakeup->run = NULL;
    wakeup->next = wakeups->idle;
    wakeups->idle = wakeup;
}

void run_wakeups_clear(struct run_wakeups *wakeups)
{
    while (wakeups->all) {
        struct run_wakeup *wakeup = wakeups->all;

        wakeups->all = wakeup->all;
        free(wakeup);
    }
    wakeups->idle = NULL;
}
