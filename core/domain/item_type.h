#ifndef RUNNEL_CORE_DOMAIN_ITEM_TYPE_H
#define RUNNEL_CORE_DOMAIN_ITEM_TYPE_H

#include <stdbool.h>

/*
 * item_type.h -- the types of items, and a table of what the rest of the program has to know of each.
 *
 * These are the types of the Responses API that a client may send or that the engine makes itself. A hosted
 * tool has its own type (core/tool/tool_item.h). OpenAI's types are in the table too, because clients send
 * such items again whether or not this server has the tool. Any other type is ITEM_OTHER_CALL,
 * ITEM_OTHER_OUTPUT or ITEM_OTHER, depending on how its name ends, and its row keeps the name (rows.h). So
 * an item of a tool that this server no longer has can still be read, shown and written.
 *
 * A type is parsed once, where an item is read from the store or from a request. After that nothing
 * compares names. A new type is a row in the table; a type that clients may send is also a row of
 * server/params/responses/input_items.c and a schema of openapi.yaml.
 */

enum item_type {
    ITEM_OTHER, /* not in the table, and neither of the next two */
    ITEM_OTHER_CALL,
    ITEM_OTHER_OUTPUT,
    ITEM_MESSAGE,
    ITEM_REFERENCE, /* input only: stands for the item that it names */
    ITEM_REASONING,
    ITEM_COMPACTION,
    ITEM_FUNCTION_CALL,
    ITEM_FUNCTION_CALL_OUTPUT,
    ITEM_CUSTOM_TOOL_CALL,
    ITEM_CUSTOM_TOOL_CALL_OUTPUT,
    ITEM_LOCAL_SHELL_CALL,
    ITEM_LOCAL_SHELL_CALL_OUTPUT,
    ITEM_SHELL_CALL,
    ITEM_SHELL_CALL_OUTPUT,
    ITEM_APPLY_PATCH_CALL,
    ITEM_APPLY_PATCH_CALL_OUTPUT,
    ITEM_COMPUTER_CALL,
    ITEM_COMPUTER_CALL_OUTPUT,
    ITEM_TOOL_SEARCH_CALL,
    ITEM_TOOL_SEARCH_OUTPUT,
    ITEM_ADDITIONAL_TOOLS,
    ITEM_CONFIGURATION_UPDATE, /* input only: settings from here on */
    ITEM_PROGRAM,
    ITEM_PROGRAM_OUTPUT,
    ITEM_MCP_LIST_TOOLS,
    ITEM_MCP_CALL,
    ITEM_MCP_APPROVAL_REQUEST,
    ITEM_MCP_APPROVAL_RESPONSE,
    ITEM_FILE_SEARCH_CALL,
    ITEM_WEB_SEARCH_CALL,
    ITEM_CODE_INTERPRETER_CALL,
    ITEM_IMAGE_GENERATION_CALL,
    ITEM_TYPE_COUNT
};

enum item_kind {
    ITEM_KIND_PLAIN, /* neither a call nor an output */
    ITEM_KIND_CLIENT_CALL, /* the client executes it, and answers with an output; or this server does, and so does it */
    ITEM_KIND_SERVER_CALL, /* executed here, or by an MCP server; the item itself has the output */
    ITEM_KIND_HOSTED_CALL, /* the same, with fields that depend on the tool */
    ITEM_KIND_OUTPUT,      /* a client's answer to a call */
};

/* Which statuses an item has for clients. */
enum item_statuses {
    ITEM_STATUSES_USUAL, /* in_progress, completed, incomplete; a failed item is shown as incomplete */
    ITEM_STATUSES_FAILED, /* these, and failed */
    ITEM_STATUSES_WHOLE, /* in_progress, completed, failed; an incomplete item is shown as failed */
    ITEM_STATUSES_ENDED,  /* completed and failed alone: see item_shown_status() */
    ITEM_STATUSES_CLOSED, /* completed and incomplete alone: the same */
    ITEM_STATUSES_NONE,   /* the item has no status */
};

/* The name in the API; "" for the three types of other names (item_row_type_name() has those). */
const char *item_type_name(enum item_type type);
enum item_type item_type_parse(const char *name);

/* The beginning of ids of such items: "msg_", "fc_", "mcp_" ... */
const char *item_type_prefix(enum item_type type);

enum item_kind item_type_kind(enum item_type type);
enum item_statuses item_type_statuses(enum item_type type);

/* For an output, the type of the calls that it answers. ITEM_OTHER for all other types. */
enum item_type item_type_answers(enum item_type type);

/* A call of any kind, server-side or client-side. */
bool item_type_is_call(enum item_type type);
bool item_type_is_client_call(enum item_type type);
bool item_type_is_output(enum item_type type);

/* The tools in its `tools` are offered to the model from then on. */
bool item_type_brings_tools(enum item_type type);

/* A call that makes calls itself, and waits for their outputs before it has its own: a program. */
bool item_type_makes_calls(enum item_type type);

#endif
