/*
 * Work on tool workers, its results back on the loop.
 *
 *   run_offload() --> channel --> run_offload_job() --> executor --> worker: handler
 *                                                                       |
 *   done() <-- take() <-- run_collect_offload() <-- wake-up <-- stage, END in the channel
 *
 * An offload uses the tool executor and its output channel, and no pool of its own. Both have
 * what such work needs: runs take turns, a job has a deadline, and a closed channel lets late
 * workers go. The price is a channel for each offload, which is small beside a round trip to
 * the store.
 *
 * A job may end after its run was cancelled, or even freed. It knows only its channel, which it
 * holds, and which is closed by then. So no result can reach a run that does not want it.
 *
 * Nothing of an offload is stored. After a crash the stage that began it begins it again.
 */

#include "core/run/calls/offload.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/run/calls/run_calls.h"

#define CHANNEL_CAPACITY 2 /* outputs of one job: its stage and its end */

struct offload {
    struct tool_channel *channel;
    unsigned jobs;
    json_t **fields; /* of the last stage of each job */
    offload_take *take;
    void (*done)(struct run *run);
};

void run_offload(struct run *run, unsigned jobs, offload_take *take,
                 void (*done)(struct run *run))
{
    AUTO_FREE bool *hidden = mem_new_array(bool, jobs);
    struct offload *offload = mem_new(struct offload);

    assert(!run->calls.offload);
    offload->channel = engine_channel(run, jobs, hidden, CHANNEL_CAPACITY);
    offload->jobs = jobs;
    offload->fields = mem_new_array(json_t *, jobs);
    offload->take = take;
    offload->done = done;
    run->calls.offload = offload;
}

void run_offload_job(struct run *run, unsigned job, struct tool_call_spec spec)
{
    /* A plan is quick, whatever its tool does. */
    struct tool_executor *executor = spec.planning ? engine_options(run->engine)->executor
                                                   : run_executor_of(run, spec.handler);

    spec.channel = run->calls.offload->channel;
    spec.position = job;
    spec.tenant = &run->tenant;
    spec.run = run->row.id;
    spec.thread = run->row.thread_id;
    tool_executor_submit(executor, &spec);
}

static void take_output(struct run *run, struct offload *offload,
                        const struct tool_output *output)
{
    struct offload_result result = {.fields = offload->fields[output->call]};
    struct err error = output->error;

    if (output->kind == TOOL_OUTPUT_STAGE) {
        json_decref(offload->fields[output->call]);
        offload->fields[output->call] = json_incref(output->fields);
    } else if (output->kind == TOOL_OUTPUT_END) {
        error.code = output->rc;
        result.error = output->rc ? &error : NULL;
        offload->take(run, output->call, &result);
    }
}

void run_collect_offload(struct run *run)
{
    struct offload *offload = run->calls.offload;
    struct tool_output output;
    void (*done)(struct run * run);

    if (!offload)
        return;
    while (tool_channel_take(offload->channel, &output)) {
        take_output(run, offload, &output);
        tool_output_clear(&output);
    }
    if (!tool_channel_finished(offload->channel))
        return;
    /* Freed first: `done` may begin the next offload, or end the run. */
    done = offload->done;
    run_stop_offload(run);
    done(run);
}

void run_stop_offload(struct run *run)
{
    struct offload *offload = TAKE(run->calls.offload);

    if (!offload)
        return;
    engine_stop_wakeups(run);
    tool_channel_close(offload->channel);
    tool_channel_release(offload->channel);
    for (unsigned i = 0; i < offload->jobs; i++)
        json_decref(offload->fields[i]);
    free(offload->fields);
    free(offload);
}
