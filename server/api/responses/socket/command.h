#ifndef RUNNEL_SERVER_API_RESPONSES_SOCKET_COMMAND_H
#define RUNNEL_SERVER_API_RESPONSES_SOCKET_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * socket/command.h -- a client's message as a command: response.create or response.steer.
 *
 * Pure functions: any thread. A create is checked here only where it differs from the body of a POST.
 * The rest is checked when its response is made (response_create.h), since the errors must be the
 * same.
 */

#define WS_LANE_LIMIT 256

enum ws_command_kind {
    WS_CREATE,
    WS_STEER,
};

struct ws_command {
    enum ws_command_kind kind;
    char lane[WS_LANE_LIMIT + 1]; /* stream_id; "" if the message has none */

    /* Of a create. */
    json_t *body;  /* owned; as the body of a POST with stream:true */
    bool generate; /* false: the response keeps its input and requests no model */

    /* Of a steer. `body` is the whole message. */
    const char *target;   /* previous_response_id; borrowed from `body` */
    struct err complaint; /* why the steer is refused; code ERR_OK if it is valid */
};

/* ERR_INVALID or ERR_TOO_LARGE for a message that is no command. Then only the lane is filled in, if the
 * message has a valid one. A steer that is refused is no error here: see `complaint`. The caller
 * clears the command after ERR_OK. */
enum err_code ws_command_parse(const char *text, size_t length, struct ws_command *ret_command,
                               struct err *err) MUST_CHECK;
void ws_command_clear(struct ws_command *command);

/* The input of a steer as a list of items. New reference. */
json_t *ws_steer_items(const json_t *input);

#endif
