#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SET_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * tool_set.h -- the tools of one request, resolved: who executes what the model may call.
 *
 * A set is made from the `tools` of the request and its `runnel.tool_groups`. The model sees
 * every tool as a function. There are three kinds:
 *
 *   the client's     definition-only: function, custom, local_shell, shell, apply_patch,
 *                    computer, and a tool_search that the client executes
 *   the server's     members of a group. Offered by an mcp entry with the server_url
 *                    "builtin:<group>", or because the group is on
 *   a remote one's   of an mcp entry with another URL, or with the name of a server that the
 *                    operator has configured (mcp_named.h), by connector_id or by label. They
 *                    are added when the server has listed them (run_servers.h), and their names
 *                    begin with the server's label
 *
 * The name of a member of a namespace begins with the namespace. For a server that the operator
 * has named, the operator decides what is sent to it, and requests bring no secrets.
 *
 * Which groups are on. tool_groups is {"<group>": {"enabled": true, "tools": {"<tool>":
 * true}}}, or true or false for a group. A group is off until it is named, and its tools are on
 * until they are named. What tool_groups turns off is off, also for an mcp entry. A group that
 * the operator or the settings of project and user (tool_settings.h) have turned on is on until
 * the request names it, and its tools give way to tools of the same name that the request
 * brings. What those settings turn off stays off unless tool_groups turns it on.
 *
 * ReadVar and ListVars are implied by every tool that is executed here or on a remote server,
 * because results are kept in variables. A request with the client's tools alone does not get
 * them: it is the same as at OpenAI.
 *
 * A tool with defer_loading is hidden until the client's tool_search loads it. Without such a
 * search it is offered like any other.
 *
 * A set belongs to one run or request and has no lock: one thread at a time. Functions with a
 * const set only read it.
 */

/* The reserved function with which a thread's run asks for approvals (run_approvals.h). A
 * request may not have a tool of this name. */
#define RUN_APPROVAL_FUNCTION "runnel_approval"

/* Tools of a set, members of groups and namespaces included. Searches are linear. */
#define TOOL_SET_LIMIT ((size_t)1024)

struct mcp_extra;

/* One tool of the set. Texts are borrowed from the request, its handler or the fields marked as
 * owned. */
struct tool_use {
    const char *name;     /* in the model's calls; unique in the set */
    const char *own;      /* without the prefix of a namespace or server */
    const char *original; /* the server's name for it, if `own` is another; or NULL */
    const char *space;    /* its namespace; or NULL */
    const char *type;     /* of its entry: "function", "custom", "mcp" ... */
    const char *label;    /* server_label of an mcp entry; NULL: another entry */
    json_t *entry;        /* of `tools`, borrowed; NULL: implied */
    const struct tool_handler *handler; /* never NULL */
    char *made_name;                    /* owned: `name`, if it had to be composed; or NULL */
    json_t *made; /* owned: what init() returned; NULL: it has no init() */
    json_t *read; /* owned: an object; its handler's parameters, once they were read */
    const struct mcp_named *named; /* the operator's server that has it; or NULL */
    struct remote_tool *remote;    /* owned: of a remote server; or NULL */
    const struct mcp_extra *extra; /* a resource or prompt offered as a tool; or NULL */
    bool read_only;                /* it changes nothing, as its handler or server says */
    bool deferred;                 /* hidden until the client's tool_search loads it */
    bool implied;                  /* offered along with others, and not listed */
    bool passed;                   /* the upstream executes it: passed_tools.h */
};

/* A remote MCP server of the request. Borrows from the request and the configuration. */
struct tool_server {
    const char *label;
    const char *url;
    const struct mcp_named *named; /* the operator's; NULL: the request brought it */
    json_t *entry;                 /* borrowed from the request */
    size_t index;                  /* of the entry */
};

struct tool_set {
    json_t *tools; /* arrays of entries: the request's first, then those of items and groups */
    struct tool_use *uses;
    size_t count;
    struct tool_server *servers;
    size_t server_count;
    bool searched;                       /* the client has a tool_search for deferred tools */
    const struct run_settings *settings; /* borrowed */
    json_t *groups; /* overrides of project, user and request, merged; or NULL */
    char *rules;    /* text for the model about the offered groups and servers (rules.h) */
};

/* Resolves `tools` (an array, or NULL) and the groups that the settings turn on. `tools` are
 * those of the settings, or the same with their secrets. Both stay borrowed until
 * tool_set_clear(). What this server cannot execute is left out (unavailable.h). ERR_INVALID, with
 * the param tools[i]..., for an unknown group, or a name that is there twice; then the set is
 * cleared. */
enum err_code tool_set_init(struct tool_set *set, json_t *tools,
                            const struct run_settings *settings, struct err *err) MUST_CHECK;
void tool_set_clear(struct tool_set *set);

/* Checks that every line of the settings' permissions names a tool ("label/tool") or all
 * tools of a label. ERR_INVALID otherwise: with a misspelt name, a tool would run without
 * the approval that the request wants. */
enum err_code tool_set_check_permissions(const struct tool_set *set,
                                         struct err *err) MUST_CHECK;

/* Adds the tools that items of the conversation bring: tool_search_output, additional_tools.
 * A tool that the set has is replaced, and is no longer deferred. Tools that this server
 * cannot offer are skipped, and so are the oldest items when there are more than
 * TOOL_SET_LIMIT tools. */
struct item_row;
void tool_set_load_items(struct tool_set *set, const struct item_row *items, size_t count);

/* Adds the tools that a remote server has listed: {"name", "description", "input_schema"}
 * each, as mcp_tools.h makes them. `tools` is borrowed for the call. Tools without a schema,
 * with a name that is taken, or beyond TOOL_SET_LIMIT are skipped. */
void tool_set_add_remote(struct tool_set *set, const struct tool_server *server, json_t *tools);

/* True if the choice can be met by a tool of a remote server that has not been listed yet. */
bool tool_set_awaits(const struct tool_set *set, const json_t *choice);

/* The tool with the name in a model's call; or NULL. Pointers to uses are valid until tools are
 * added. */
const struct tool_use *tool_set_find(const struct tool_set *set, const char *name);

/* The tool with which the model reads a variable by its name (TOOL_READER); NULL if the set has none. */
const struct tool_use *tool_set_find_reader(const struct tool_set *set);

/* The tool of a label (or of a type, for entries without one) by its own name; or NULL. */
const struct tool_use *tool_set_find_labelled(const struct tool_set *set, const char *label,
                                              const char *own);

/* True if the request has a remote server with this label, listed or not. */
bool tool_set_has_server(const struct tool_set *set, const char *label);

/* The name of a member of a namespace, as the model calls it. The caller frees. */
char *tool_set_spaced_name(const char *space, const char *own);

/* How policies and questions name where it comes from: the label of its server, "hosted" for a hosted tool, else the
 * type of its entry. Borrowed. */
const char *tool_use_label(const struct tool_use *use);

/* What a person calls the tool: the title that its server gives it, else its name. Borrowed. */
const char *tool_use_title(const struct tool_use *use);

/* True if the client executes the tool. */
bool tool_use_is_clients(const struct tool_use *use);

/* The description (borrowed, never NULL) and the schema (a new reference) of a tool in this
 * run: the handler's, or what its init() returned. Not for the client's functions, whose
 * entries have them. */
const char *tool_use_description(const struct tool_use *use);
json_t *tool_use_parameters(const struct tool_use *use);

/* Its own policy: the handler's (registry.h), or what its definition in this run says. */
struct permission tool_use_permission(const struct tool_use *use);

/* The functions that the model is offered: a Chat Completions `tools` array, in the order of
 * the request. NULL if there is no tool. `choice` is the request's tool_choice: one that names
 * a server narrows the list (tool_choice_lists()). New reference. */
json_t *tool_set_offer(const struct tool_set *set, const json_t *choice);

/* The details of a handler for people: {"returns","tags"}, each if the handler has it. New
 * reference. */
json_t *tool_extras(const struct tool_handler *handler);

/* The tool of the set whose calls are items of this type, if the upstream executes it; or NULL. */
const struct tool_use *tool_set_find_passed(const struct tool_set *set, const char *item_type);

/* True if the upstream executes any tool of the set. */
bool tool_set_passes(const struct tool_set *set);

/* The tools of one mcp entry, as an mcp_list_tools item shows them: without hidden and
 * implied tools. New reference. */
json_t *tool_set_listing(const struct tool_set *set, const char *label);

#endif
