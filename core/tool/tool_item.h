#ifndef RUNNEL_CORE_TOOL_TOOL_ITEM_H
#define RUNNEL_CORE_TOOL_TOOL_ITEM_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/run_settings.h"

/*
 * tool_item.h -- the form of one tool's calls: item, events, run step, and what the model reads of them in
 * later requests.
 *
 * By default a server-side call is an mcp_call, and a client call is a function_call. A handler with an item
 * of its own (tool.h) describes here everything that depends on the item's type. The engine and the faces
 * look it up and never compare a name. The registry finds it by the item's type, also for items of earlier
 * runs and of tools that the operator has turned off.
 *
 * A constant, listed with its handler. Its functions are pure and quick; any thread may call them. `body` is
 * the item's body: all its fields except id, type and status.
 */

struct tool_result;

/* A field of the item that comes in pieces, with tool_call_emit_delta(). */
struct item_stream {
    const char *field; /* "code"; NULL ends a list of them */
    /* "response.code_interpreter_call_code": .delta for each piece, .done for the whole */
    const char *event;
    const char *whole_at; /* the stage that ends it: .done comes before this stage */
};

/* Strings in the item that have events of their own, sent when the model has written the call. */
struct item_parts {
    const char *event; /* "response.shell_call_command": .added, .delta and .done for each */
    const char *key;   /* "command": the member of .done that has the whole string */
    const char *index; /* "command_index": the member that has its place, from 0 */
    const json_t *(*list)(const json_t *body); /* the array of strings, borrowed; or NULL */
};

/* A server-side call whose output is an item of its own, as a client's answer is. The call's item opens and closes when
 * the call may speak. Then the output's item opens, grows by stages, and closes with the call. Runs of threads show
 * such a call as any other: its text is the output. */
struct item_answer {
    const char *type;   /* "shell_call_output"; item_type.h has it */
    const char *fields; /* of the output when it opens, as JSON text */
    /* Each stage that the tool emits is the event <event>.<stage>, with the fields of the stage; NULL: none is shown */
    const char *event;
    /* The fields of the call's item, from what the model wrote; NULL: that was no JSON. Those of tool_call_open()
     * replace them. New reference. */
    json_t *(*call)(const json_t *args);
    /* Completes the fields of the output. `why` is NULL, or says why the call has failed or was not executed. */
    void (*fill)(json_t *fields, const json_t *args, const struct tool_result *result,
                 const char *why);
};

/* A call that the upstream of the model has executed itself (core/run/catalog/passed_tools.h). What the upstream says
 * of it is of any shape; a client sees what is made of it here. */
struct item_passed {
    /* The entry of `tools` for the upstream: without what the server has filled in. New reference */
    json_t *(*entry)(const json_t *entry);
    /* Stages that a client may see, in their order; ends with NULL. Each call has the first one. */
    const char *const *stages;
    /* The fields of a stage's event. New reference; NULL: it has none. *ret_garbage is set if no client should see
     * it */
    json_t *(*stage)(const char *stage, const json_t *event, bool *ret_garbage);
    /* The item's own fields, when it has ended. NULL: no client could read it, and the call has failed. New
     * reference */
    json_t *(*fields)(const json_t *item);
    /* The same of a call that has failed. New reference */
    json_t *(*failed)(const json_t *item);
    /* What the same upstream gets of it in later requests, beside type, id and status. New reference */
    json_t *(*sent)(const json_t *body);
    /* What the model would have written for it, for run steps; the caller frees */
    char *(*arguments)(const json_t *body);
    /* What the request has the upstream include, for clients that want it (a set of enum run_include); or NULL */
    const char *include;
    unsigned included_for;
    /* True for an entry that is of no use elsewhere. NULL: none is */
    bool (*keeps)(const json_t *entry);
};

struct tool_item {
    const char *type;      /* "file_search_call" */
    const char *id_prefix; /* "fs_"; NULL: item_type.h has the type, with its prefix */

    /* ---- Server-side calls: hosted tools ---- */

    /* The item's own fields before the tool has any output, as JSON text. NULL: no fields. */
    const char *fields;

    /* Completes the fields when the call has succeeded. `args` is NULL if the model wrote no JSON. NULL: the
     * fields are what the tool has streamed. */
    void (*fill)(json_t *fields, const json_t *args, const struct tool_result *result);

    /* The same when it has failed, for a tool that says more of that than a text. NULL: nothing. */
    void (*fail)(json_t *fields, const struct tool_result *result);

    /* The pages of the web that the call has brought: a list of {"url", "title"}, borrowed from the body; or NULL.
     * Links to them in a response become annotations (core/run/turn/run_links.h). NULL: such calls bring none. */
    const json_t *(*pages)(const json_t *body);

    /* The picture that the call has drawn, for tool_call_pictures(): {"file_id"}, {"blob_id"} or {"base64"}, a new
     * reference; NULL
     * as its value: none. It may share what it has with the body. NULL: such calls draw nothing. */
    json_t *(*picture)(const json_t *body);

    /* The field of the item that has the picture: it is not stored where the picture lies in a blob (tool.h). NULL: no
     * field has it. */
    const char *picture_field;

    /* Does a call with these arguments begin with pictures of the context? Otherwise tool_call_pictures() is empty.
     * Quick: on the loop of its run. NULL: none does. */
    bool (*edits)(const json_t *entry, const json_t *args);

    /* Removes from the item's JSON what a client does not see, or only if its request includes it. `include` is a
     * set of enum run_include. NULL: clients see all. */
    void (*show)(json_t *object, unsigned include);

    /* Makes of a call that a client sends, and that has a result, what the model wrote and read of it: the arguments, a
     * new reference, and the result's text. With TOOL_CITED, `search` is the number of tool_call_search(), and
     * *ret_sources becomes a new reference; else it is untouched. The caller frees. NULL, as a function or as its
     * value: such an item is not sent to the model. */
    char *(*retell)(const json_t *body, unsigned search, json_t **ret_arguments,
                    json_t **ret_sources);

    /* What the model calls the tool, if that is not the type without "_call"; or NULL. */
    const char *function;

    /* Fields that come in pieces; ends with one without a field. NULL: no such fields. Each stage that the
     * tool emits is the event response.<type>.<stage>; it follows the .done of the streams that end at it. */
    const struct item_stream *streams;

    /* The type of its tool call in a run step, which is also the name of the member with the details: {}
     * while the tool works, then the result of step(), a new reference. `include` is a set of enum
     * run_include. NULL: a "function" with name, arguments and output. */
    const char *step_type;
    json_t *(*step)(const json_t *body, unsigned include);

    /* Of a call that a run step shows as a "function": what clients see of the call beside it, as its member `runnel`.
     * A new reference. NULL: nothing. */
    json_t *(*step_notes)(const json_t *body);

    /* How the details of a step type come in deltas; each may be NULL. First `step_opening`, as JSON text, "{}" without
     * one; then what step_delta() makes of each piece of a field that streams; at the end what step_end() makes of the
     * body of a call that has ended. SDKs add them up: strings are concatenated, entries of lists are matched by
     * `index`. New references; NULL: no delta. */
    const char *step_opening;
    json_t *(*step_delta)(const char *field, const char *text, size_t length);
    json_t *(*step_end)(const json_t *body);

    const struct item_answer *answer; /* NULL: the output is in the same item */

    const struct item_passed *passed; /* NULL: no upstream executes such calls */

    /* ---- Client calls, and those with an answer ---- */

    const struct item_parts *parts; /* or NULL */

    /* The inverse of announce(): the call's name and arguments, and its output, as the model wrote and reads
     * them. `status` is the status of the output's item. NULL: the item has name, arguments and output
     * itself. arguments() and output() return new references, name() a constant. */
    const char *(*name)(const json_t *body);
    json_t *(*arguments)(const json_t *body);
    json_t *(*output)(const json_t *body, const char *status);

    /* False for an item of this type that a client sends and that was never a call of a function. NULL: all
     * items were. */
    bool (*is_call)(const json_t *body);
};

#endif
