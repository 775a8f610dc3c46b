#include "server/masking.h"

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/model/mask.h"
#include "server/workers.h"

#define MASKING_THREADS 4

/*
 * Regular expressions over a whole conversation may take seconds (MASK_TIME_LIMIT_MS), and a loop
 * carries hundreds of streams. So a request is masked by a worker, between the loop that
 * built it and the loop that sends it. It is no worker of tools: a slow tool on every one
 * would stop all requests to models.
 *
 * The path of a request: the run calls look() on its loop, a job is queued, a worker applies the
 * masks to the messages and calls done(), which posts back to the loop. During that time the messages
 * belong to the worker alone, the whole tree (before_send.h).
 *
 * The queue has no limit of its own. A run has at most one request in it, and runs are limited.
 */

struct masking {
    struct before_send hook;
    const struct masks *masks;
    struct workers *workers;
};

/* One request on its way. Freed before done(), which may end the run that it belongs to. */
struct job {
    struct work work;
    const struct masks *masks;
    struct outgoing *outgoing;
};

static void apply(struct work *work)
{
    struct job *job = CONTAINER_OF(work, struct job, work);
    struct outgoing *outgoing = job->outgoing;

    outgoing->rc = masks_apply(job->masks, outgoing->messages, &outgoing->why);
    free(job);
    outgoing->done(outgoing);
}

static void look(struct before_send *hook, struct outgoing *outgoing)
{
    struct masking *masking = CONTAINER_OF(hook, struct masking, hook);
    struct job *job = mem_new(struct job);

    *job = (struct job){{.run = apply}, masking->masks, outgoing};
    job->work.tenant = tenant_kept(&outgoing->tenant);
    workers_put(masking->workers, &job->work);
}

struct masking *masking_start(const struct masks *masks, struct crew *crew)
{
    struct masking *masking;

    if (!masks)
        return NULL;
    masking = mem_new(struct masking);
    masking->hook.look = look;
    masking->masks = masks;
    masking->workers = workers_new(crew, MASKING_THREADS);
    return masking;
}

void masking_stop(struct masking *masking)
{
    if (!masking)
        return;
    workers_stop(masking->workers);
    free(masking);
}

struct before_send *masking_hook(struct masking *masking)
{
    return masking ? &masking->hook : NULL;
}
