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
 * Made from the `tools` of the request and its `runnel.tool_groups`. A tool is the client's (function, custom, local_shell,
 * shell, apply_patch, computer, a client's tool_search: definition-only) or ours (a member of a
 * group, offered through an mcp entry whose server_url is "builtin:<group>", or because tool_groups
 * names the group), or a remote server's: an mcp entry with a URL of the web, whose tools come in when
 * the server has listed them (run_servers.h), each under a name that begins with the server's label.
 * The model sees all of them as functions. A member of a namespace is one whose name begins with the
 * namespace's.
 *
 * An mcp entry without a URL is for a server that the operator has named (mcp_named.h): by its
 * connector_id, else by its label. What it is told is the operator's to say.
 *
 * tool_groups is {"<group>": {"enabled": true, "tools": {"<tool>": true}}}, or true or false for a
 * group. Groups are off until they are named, the tools of a group on until they are named. What it
 * turns off is off, also where an mcp entry would offer it. Groups that the operator has turned on, or
 * the settings of project and user (tool_settings.h), are on until they are named, and a tool of theirs
 * gives way to one of that name that the request brings. What those settings turn off is off unless
 * tool_groups turns it on.
 *
 * ReadVar and ListVars come along with any tool that is executed here or by a remote server: results
 * are kept in variables. They are offered as soon as one of those is, and not with the client's alone,
 * whose requests stay what they would be elsewhere.
 *
 * A tool with defer_loading waits for the client's tool_search to load it. Without such a search
 * there is nothing to wait for, and it is offered like any other.
 */

/* The function that a run of a thread calls to ask for an approval (run_approvals.h). It is reserved: no
 * tool of a request may have this name. */
#define RUN_APPROVAL_FUNCTION "runnel_approval"

/* What a model is offered at most. Looking for a tool goes through all of them. */
#define TOOL_SET_LIMIT ((size_t)1024)

struct mcp_extra;

struct tool_use {
    const char *name;                   /* what the model calls it */
    const char *own;                    /* what the client calls it: differs in a namespace */
    const char *space;                  /* the namespace, or NULL */
    const char *type;                   /* of the entry: "function", "custom", "mcp" ... */
    const char *label;                  /* server_label of an mcp entry, or NULL */
    json_t *entry;                      /* of `tools`; borrowed from the request; or NULL */
    const struct tool_handler *handler; /* never NULL */
    char *made_name;                    /* owned: `name`, where it stands in no entry */
    json_t *made;                  /* owned: what init() has made of it; NULL without one */
    const struct mcp_named *named; /* of a server of the operator's; NULL otherwise */
    struct remote_tool *remote;    /* owned: of a remote server; NULL otherwise */
    const struct mcp_extra *extra; /* of a remote server, no tool of its own; or NULL */
    bool read_only;                /* its handler or server says that it changes nothing */
    bool deferred;
    bool implied; /* comes along with others: no entry, and not listed */
};

/* A remote MCP server of the request. */
struct tool_server {
    const char *label;
    const char *url;
    const struct mcp_named *named; /* the operator's; NULL: the request brought it */
    json_t *entry;                 /* borrowed from the request */
    size_t index;                  /* of the entry */
};

struct tool_set {
    json_t *tools; /* arrays of tools: the request's, and those that came with items */
    struct tool_use *uses;
    size_t count;
    struct tool_server *servers;
    size_t server_count;
    bool searched;                       /* the client loads what is deferred */
    const struct run_settings *settings; /* borrowed */
    json_t *
        groups; /* which groups are on: the request's over those of project and user; or NULL */
    char *rules; /* what the model is told about the groups that are offered (rules.h) */
};

/* Resolves `tools` (an array, or NULL: of the settings, or with the secrets that those have not) and the
 * groups that the settings turn on. Both stay borrowed until tool_set_clear(). The request is refused (ERR_INVALID, param tools[i]...) for
 * a type that nobody here executes yet, an unknown group, a name twice. */
enum err_code tool_set_init(struct tool_set *set, json_t *tools,
                            const struct run_settings *settings, struct err *err) MUST_CHECK;
void tool_set_clear(struct tool_set *set);

/* Every line of the settings' permissions names a tool, "label/tool", or all tools of a label.
 * ERR_INVALID otherwise: a typing error must not leave a tool without a question. */
enum err_code tool_set_check_permissions(const struct tool_set *set,
                                         struct err *err) MUST_CHECK;

/* Adds the tools that came with items of the conversation: tool_search_output, additional_tools.
 * One that is there already is loaded now; what nobody here executes is passed over, and so are the
 * oldest of more than TOOL_SET_LIMIT. */
struct item_row;
void tool_set_load_items(struct tool_set *set, const struct item_row *items, size_t count);

/* Adds what a remote server has listed: {"name", "description", "input_schema"} each, as
 * mcp_tools.h makes them; `tools` stays borrowed. What there is no room for, or has a name that is
 * taken, is passed over. */
void tool_set_add_remote(struct tool_set *set, const struct tool_server *server, json_t *tools);

/* The choice is for tools of a remote server that may not have listed them yet. */
bool tool_set_awaits(const struct tool_set *set, const json_t *choice);

const struct tool_use *tool_set_find(const struct tool_set *set, const char *name);

/* The tool with which the model reads a variable by its name (TOOL_READER); NULL if the set has none. */
const struct tool_use *tool_set_find_reader(const struct tool_set *set);

/* The tool of that label, by what its server calls it. */
const struct tool_use *tool_set_find_labelled(const struct tool_set *set, const char *label,
                                              const char *own);

/* Whether a server of that label is there, of which tools may not be known yet. */
bool tool_set_has_server(const struct tool_set *set, const char *label);

/* What the model calls a member of a namespace. The caller frees. */
char *tool_set_spaced_name(const char *space, const char *own);

/* True when the client executes it. */
bool tool_use_is_clients(const struct tool_use *use);

/* What the tool is told to be for this run: as its handler has it, or as init() has made it. Borrowed,
 * never NULL; a new reference. Not for functions of the client's, which are as they are written. */
const char *tool_use_description(const struct tool_use *use);
json_t *tool_use_parameters(const struct tool_use *use);

/* The functions that the model is offered: a Chat Completions `tools` array, in the order of the
 * request; NULL when there are none. `choice` is the request's tool_choice: allowed_tools narrow the
 * list. New reference. */
json_t *tool_set_offer(const struct tool_set *set, const json_t *choice);

/* What a handler says about itself for people: {"returns","tags"}, each where there is something to
 * say. New reference. */
json_t *tool_extras(const struct tool_handler *handler);

/* The tools of one mcp entry as an mcp_list_tools item shows them. New reference. */
json_t *tool_set_listing(const struct tool_set *set, const char *label);

#endif
