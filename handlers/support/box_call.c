#include "handlers/support/box_call.h"

#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/memory_file.h"

static enum err_code judge(const struct box_result *result, struct err *err)
{
    switch (result->why) {
    case BOX_CANCELLED:
    case BOX_UNWANTED: return ERR_CANCELLED;
    case BOX_OVER_COUNT: return err_set(err, ERR_LIMIT, "Too many processes.");
    case BOX_GONE:
        return err_set(
            err, ERR_CONFLICT,
            "The sandbox was restarted; background processes and variables are gone, "
            "files are there.");
    default: return ERR_OK;
    }
}

static bool has_name_of(const char *const *lines, const char *line)
{
    size_t name = strcspn(line, "=") + 1;

    while (lines && *lines && strncmp(*lines, line, name) != 0)
        lines++;
    return lines && *lines;
}

/* The lines of both, borrowed; one of `more` replaces a usual one. The caller frees the list. */
static const char **joined(const char *const *usual, const char *const *more)
{
    size_t count = 0;
    const char **lines;

    for (size_t i = 0; usual[i]; i++)
        count++;
    for (size_t i = 0; more && more[i]; i++)
        count++;
    lines = mem_new_array(const char *, count + 1);
    count = 0;
    for (size_t i = 0; usual[i]; i++)
        if (!has_name_of(more, usual[i]))
            lines[count++] = usual[i];
    for (size_t i = 0; more && more[i]; i++)
        lines[count++] = more[i];
    return lines;
}

static enum err_code run_in_container(struct tool_call *call, const struct box_call *plan,
                                      struct box_run *run, struct box_result *ret_result,
                                      struct err *err)
{
    struct tool_container *container = NULL;
    struct box *box = NULL;
    AUTO_FREE const char **environment = NULL;
    enum err_code rc = tool_call_container(call, &container, err);

    if (rc)
        return rc;
    run->command.environment = environment = joined(container->environment, plan->environment);
    rc = plan->own_box ? tool_call_own_box(call, plan->own_box, &box, err)
                       : tool_call_box(call, &box, err);
    return rc ? rc : box_run(box, run, ret_result, err);
}

enum err_code box_call_run(struct tool_call *call, const struct box_call *plan,
                           struct box_result *ret_result, struct err *err)
{
    struct box_run run = {
        .command = {.folder = plan->folder, .arguments = plan->arguments},
        .input = -1,
        .timeout_ms = plan->timeout_ms,
        .cancel = tool_call_cancel_fd(call),
        .leftovers = BOX_KILL_LEFTOVERS,
        .take_output = plan->take_output,
        .argument = plan->argument,
    };
    enum err_code rc = ERR_OK;

    if (plan->input) {
        run.input = memory_file(plan->input->data, plan->input->length, err);
        rc = run.input < 0 ? ERR_INTERNAL : ERR_OK;
    }
    if (!rc)
        rc = plan->bare_memory
                 ? tool_call_bare_box(call, plan->bare_memory, &run, ret_result, err)
                 : run_in_container(call, plan, &run, ret_result, err);
    if (run.input >= 0)
        close(run.input);
    return rc ? rc : judge(ret_result, err);
}
