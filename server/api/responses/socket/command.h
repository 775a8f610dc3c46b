#ifndef RUNNEL_SERVER_API_RESPONSES_SOCKET_COMMAND_H
#define RUNNEL_SERVER_API_RESPONSES_SOCKET_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * socket/command.h -- what a client says over a WebSocket: response.create and response.steer.
 *
 * Pure functions. The body of a create is checked by whoever makes the response, as that of a POST
 * is; here only what is different about it.
 */

#define WS_LANE_LIMIT 256

enum ws_command_kind {
    WS_CREATE,
    WS_STEER,
};

struct ws_command {
    enum ws_command_kind kind;
    char lane[WS_LANE_LIMIT + 1]; /* stream_id; "" when there was none */

    /* Of a create. */
    json_t *body;  /* as of a POST with stream:true */
    bool generate; /* false: keep the input, ask nobody */

    /* Of a steer. */
    const char
        *target; /* previous_response_id; borrowed from `body`, which is all of it here */
    struct err complaint; /* what is wrong with it, if anything; code ERR_OK */
};

/* ERR_INVALID (or ERR_TOO_LARGE) for what is no command at all. The lane is filled in then too, as
 * far as it can be told, everything else is not. */
enum err_code ws_command_parse(const char *text, size_t length, struct ws_command *ret_command,
                               struct err *err) MUST_CHECK;
void ws_command_clear(struct ws_command *command);

/* The input of a steer as a list of items. New reference. */
json_t *ws_steer_items(const json_t *input);

#endif
