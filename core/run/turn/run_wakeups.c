/*
 * A wake-up is a task of the loop that any thread may post, at most once until it runs.
 *
 * Workers outlive runs. A run that is cancelled closes its channel and goes, while a worker may be about
 * to wake it. A pointer to the run in the worker's hands would dangle, and a lock or a count of references
 * would cost every piece of output. So a worker has a pointer to a wake-up, and only the loop follows the
 * wake-up's pointer to the run. It cuts that pointer when the run stops listening.
 *
 * Wake-ups are used again and are freed with their loop. There are never more of them than channels were
 * open on the loop at one time. The price is a wake-up of an old channel that finds the next run: that run
 * collects what there is, possibly nothing.
 */

#include "core/run/turn/run_wakeups.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/run/turn/run.h"

static void wake_run(struct loop_task *task)
{
    struct run_wakeup *wakeup = CONTAINER_OF(task, struct run_wakeup, task);
    struct run *run = wakeup->run;

    /* First, so that output that comes while the loop collects sends another wake-up. */
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
