/*
 * call_picture.c -- what a call has drawn, by way of the server.
 */

#include "core/tool/picture/tool_picture.h"

#include <stdlib.h>

#include "core/tool/call_internal.h"

void tool_drawn_clear(struct tool_drawn *drawn)
{
    free(drawn->base64);
    free(drawn->type);
    free(drawn->file_id);
    json_decref(drawn->facts);
    json_decref(drawn->error);
    *drawn = (struct tool_drawn){0};
}

enum err_code tool_call_draw(struct tool_call *call, const struct tool_drawing *drawing,
                             struct tool_drawn *ret_drawn, struct err *err)
{
    *ret_drawn = (struct tool_drawn){0};
    if (!call->painter)
        return err_set(err, ERR_INVALID, "This server draws no pictures.");
    return call->painter->draw(call->painter->arg, call, drawing, ret_drawn, err);
}

const json_t *tool_call_pictures(const struct tool_call *call)
{
    return call->pictures;
}

unsigned tool_call_drawn(const struct tool_call *call)
{
    return call->drawn;
}
