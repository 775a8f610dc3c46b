#ifndef RUNNEL_CORE_TOOL_TOOL_ITEM_H
#define RUNNEL_CORE_TOOL_TOOL_ITEM_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/run_settings.h"

/*
 * tool_item.h -- how the calls of one tool look: their item, its events, its run step, and how the model
 * reads about them later.
 *
 * A call of the server's is an mcp_call and one of the client's a function_call, unless the handler has an
 * item of its own (tool.h). Then everything that depends on its type is written here, beside the tool; the
 * engine and the faces look it up and never compare a name. The registry finds it by the item's type, also
 * for items of earlier runs and of tools that the operator has turned off.
 *
 * A constant, listed with its handler. Its functions are pure and quick, and any thread may call them.
 * `body` is that of the item: all its fields but id, type and status.
 */

struct tool_result;

/* A field of the item that comes in pieces, with tool_call_emit_delta(). */
struct item_stream {
    const char *field; /* "code"; NULL ends a list of them */
    const char *
        event; /* "response.code_interpreter_call_code": .delta for each piece, .done for the whole */
    const char *whole_at; /* the stage before which it is whole */
};

/* Strings in the item that have events of their own, once the model has written the call. */
struct item_parts {
    const char *event; /* "response.shell_call_command": .added, .delta and .done for each */
    const char *key;   /* "command": of the whole in these events */
    const char *index; /* "command_index": of its place */
    const json_t *(*list)(const json_t *body); /* the strings; NULL: it has none. Borrowed */
};

struct tool_item {
    const char *type;      /* "file_search_call" */
    const char *id_prefix; /* "fs_"; NULL: item_type.h has the type, with its prefix */

    /* ---- Of a call that the server executes: a hosted tool ---- */

    /* The item's own fields before the tool has said anything, as JSON. NULL: none. */
    const char *fields;

    /* The same fields when the call has succeeded. `args` is NULL if the model wrote no JSON. NULL: they are
     * what the tool has streamed. */
    void (*fill)(json_t *fields, const json_t *args, const struct tool_result *result);

    /* Each stage that the tool emits is the event response.<type>.<stage>, after the .done of the streams
     * that are whole by then. */
    const struct item_stream *streams;

    /* In a run step it is a tool call of this type, with an object of this name: {} while the tool works,
     * then what step() makes of the item. `include` is a set of enum run_include. NULL: a "function"
     * with name, arguments and output. New reference. */
    const char *step_type;
    json_t *(*step)(const json_t *body, unsigned include);

    /* ---- Of a call that the client executes ---- */

    const struct item_parts *parts; /* NULL: none */

    /* The call and its output as the model wrote and read them: the way back from what announce() made.
     * `status` is that of the output's item. NULL: what the item says itself. New references. */
    const char *(*name)(const json_t *body);
    json_t *(*arguments)(const json_t *body);
    json_t *(*output)(const json_t *body, const char *status);

    /* False for an item of this type that a client sends and that was no call of a function. NULL: all
     * were. */
    bool (*is_call)(const json_t *body);
};

#endif
