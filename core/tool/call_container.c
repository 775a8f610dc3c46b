/*
 * call_container.c -- what a call does in its container, by way of the server.
 */

#include "core/tool/tool_container.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/call_internal.h"
#include "core/tool/channel_internal.h"

enum err_code tool_call_container(struct tool_call *call, struct tool_container **ret_container,
                                  struct err *err)
{
    enum err_code rc;

    if (!call->containers)
        return err_set(err, ERR_INVALID, "This server executes no code.");
    if (!call->container) {
        rc = call->containers->open(call->containers->arg, call, &call->container, err);
        if (rc)
            return rc;
    }
    *ret_container = call->container;
    return ERR_OK;
}

/* A call that only reads has changed nothing: its folder need not be looked at, which takes as long as it has files. */
void tool_call_close_container(struct tool_call *call, bool ran)
{
    bool changed = ran && !(call->handler->flags & TOOL_READ_ONLY);

    if (call->container)
        call->containers->close(call->containers->arg, TAKE(call->container), changed);
}

void tool_call_list_places(struct tool_call *call, struct tool_result *result)
{
    const struct tool_containers *containers = call->containers;
    json_t *places = NULL;

    if (call->container && containers->places)
        places = containers->places(containers->arg, call->container);
    if (places && result->metadata)
        json_set(result->metadata, "network", places);
    else if (places)
        tool_call_metadata(call, NULL, json_build("{s:o}", "network", places));
}

bool tool_call_needs_seat(struct tool_call *call)
{
    struct tool_container *container;
    struct err err;

    return call->handler->flags & TOOL_TAKES_SEAT && !call->planning &&
           !tool_channel_call_over(call->channel, call->position) &&
           !tool_call_container(call, &container, &err);
}

enum err_code tool_call_box(struct tool_call *call, struct box **ret_box, struct err *err)
{
    struct tool_container *container;
    enum err_code rc = tool_call_container(call, &container, err);

    return rc ? rc
              : call->containers->box(call->containers->arg, call, container, ret_box, err);
}

enum err_code tool_call_own_box(struct tool_call *call, const struct tool_own_box *how,
                                struct box **ret_box, struct err *err)
{
    struct tool_container *container;
    enum err_code rc = tool_call_container(call, &container, err);

    return rc ? rc
              : call->containers->own_box(call->containers->arg, call, container, how, ret_box,
                                          err);
}

enum err_code tool_call_bare_box(struct tool_call *call, uint64_t memory, struct box_run *run,
                                 struct box_result *ret_result, struct err *err)
{
    if (!call->containers || !call->containers->bare)
        return err_set(err, ERR_INVALID, "This server executes no code.");
    return call->containers->bare(call->containers->arg, call, memory, run, ret_result, err);
}

enum err_code tool_call_python(struct tool_call *call, const char *code,
                               struct tool_run *ret_ran, struct err *err)
{
    struct tool_container *container;
    enum err_code rc = tool_call_container(call, &container, err);

    return rc ? rc
              : call->containers->python(call->containers->arg, call, container, code, ret_ran,
                                         err);
}

enum err_code tool_call_note_files(struct tool_call *call, struct tool_run *ret_ran,
                                   struct err *err)
{
    struct tool_container *container;
    enum err_code rc = tool_call_container(call, &container, err);

    return rc ? rc
              : call->containers->note(call->containers->arg, call, container, ret_ran, err);
}

const char *tool_call_past_container(const struct tool_call *call)
{
    return call->past_container;
}

const json_t *tool_call_wanted_container(const struct tool_call *call)
{
    return json_is_null(call->wanted_container) ? NULL : call->wanted_container;
}

bool tool_call_keeps_files(const struct tool_call *call)
{
    return call->keeps_files;
}

bool tool_call_is_stored(const struct tool_call *call)
{
    return call->stored;
}

void tool_run_clear(struct tool_run *ran)
{
    json_decref(ran->outputs);
    json_decref(ran->files);
    free(ran->unkept);
    free(ran->ended);
    *ran = (struct tool_run){0};
}
