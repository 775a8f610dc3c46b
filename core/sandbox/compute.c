/*
 * compute.c -- a child for a task, as spawn.h makes it.
 */

#include "core/sandbox/compute.h"

#include "core/sandbox/spawn.h"

enum err_code compute_start(const struct compute_task *tasks, size_t count, struct err *err)
{
    return spawn_start(tasks, count, err);
}

void compute_stop(void)
{
    spawn_stop();
}

enum err_code compute_run(const struct compute_plan *plan, struct buf *ret_output,
                          struct compute_end *ret_end, struct err *err)
{
    struct spawn_request request = {
        .kind = SPAWN_TASK, .wall_ms = plan->wall_ms, .task = (uint32_t)plan->task};

    return spawn_run(&request, NULL, &plan->input, 1, plan->output_max, ret_output, ret_end,
                     err);
}
