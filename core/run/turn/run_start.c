/*
 * What a run begins with, on its way from a request or the store to its loop.
 *
 * A run_start is filled in on a thread that may block: by a request, or by the keeper for a run that this
 * node has claimed. Everything that has to be read from the store is read there, because a loop must not
 * wait. engine_run() posts it to the loop, and run_new() takes it apart.
 *
 * Its variables go to one of two places. A stored run writes them with its first write. A run that is not
 * stored keeps them in memory, where all such runs of the node share one budget. The memory is filled
 * before the run is handed over: only the request can still be refused with 429.
 */

#include "core/run/turn/run_start.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/memory/variable_memory.h"
#include "core/run/context/past/past_text.h"
#include "core/run/turn/run.h"

/* Shared by all responses that are not stored. Static, because a worker may return after its
 * engine has been freed. */
static struct variable_budget budget = VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT);

void run_start_clear(struct run_start *start)
{
    run_load_clear(&start->load);
    run_settings_clear(&start->settings);
    json_decref(TAKE(start->context));
    json_decref(TAKE(start->secrets));
    variable_memory_release(TAKE(start->memory));
    past_text_release(TAKE(start->past));
    variables_free(TAKE(start->variables), start->variable_count);
    start->variable_count = 0;
}

enum err_code run_start_admit_variables(const struct tenant *tenant, struct run_start *start,
                                        struct err *err)
{
    const struct run_row *row = &start->load.run;

    if (row->flags & RUN_STORED || !start->variable_count)
        return ERR_OK;
    start->memory = variable_memory_new(&budget, tenant);
    return variable_memory_fill(start->memory, start->variables, start->variable_count, err);
}

void run_open_variables(struct run *run, struct run_start *start)
{
    if (start->memory)
        run->variables = TAKE(start->memory);
    else if (!(run->row.flags & RUN_STORED))
        run->variables = variable_memory_new(&budget, &run->tenant);
    else
        for (size_t i = 0; i < start->variable_count; i++)
            (void)run_put_variable(run, &start->variables[i]);
    variables_free(TAKE(start->variables), start->variable_count);
}
