/*
 * compute.c -- a child for a task, as spawn.h makes it.
 */

#include "core/sandbox/compute.h"

#include <stdio.h>
#include <unistd.h>

#include "core/sandbox/spawn.h"

enum err_code compute_start(const struct compute_task *tasks, size_t count, struct err *err)
{
    return spawn_start(tasks, count, err);
}

void compute_stop(void)
{
    spawn_stop();
}

/* What a lost child has written. */
static void drop_output(struct buf *output, size_t length)
{
    output->length = length;
    if (output->data)
        output->data[length] = '\0';
}

/* Only a file has a place to go back to. */
static bool go_back(int input, off_t start)
{
    return start >= 0 && lseek(input, start, SEEK_SET) == start;
}

enum err_code compute_run(const struct compute_plan *plan, struct buf *ret_output,
                          struct compute_end *ret_end, struct err *err)
{
    struct spawn_request request = {
        .kind = SPAWN_TASK, .wall_ms = plan->wall_ms, .task = (uint32_t)plan->task};
    size_t length = ret_output->length;
    off_t start = lseek(plan->input, 0, SEEK_CUR);
    enum err_code rc;

    (void)snprintf(request.argument, sizeof(request.argument), "%s",
                   plan->argument ? plan->argument : "");
    for (int attempt = 1;; attempt++) {
        rc = spawn_run(&request, NULL, &plan->input, 1, plan->output_max, ret_output, ret_end,
                       err);
        if (rc || ret_end->why != COMPUTE_LOST || attempt == COMPUTE_ATTEMPTS ||
            !go_back(plan->input, start))
            return rc;
        drop_output(ret_output, length);
    }
}
