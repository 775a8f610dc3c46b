/*
 * The remote MCP servers of a run.
 *
 *   request --> run_open_servers(): lists that the conversation has
 *           --> run_list_servers(): the others, over the network --> first turn
 *   call    --> run_call_server(): session --> progress, result --> channel --> run_output.c
 *
 * A list is an item of the conversation (mcp_list_tools), as in OpenAI's API. So it costs one
 * request in a conversation and not one in each turn, the client sees what the model was
 * offered, and the same list comes again after a crash. The mark of a list says what it was
 * made for: another URL or another choice of tools needs another list. A list without a mark
 * came from the client, which OpenAI's API allows. It does not count for a server that the
 * operator has named: the client could claim that a tool is read-only, and a policy may depend
 * on that.
 *
 * A run of the Assistants API has no such item. Its list is stored as a hidden item of the run,
 * so that every residency of the run offers the same tools.
 *
 * Secrets of a request (`authorization`, `headers`) are in memory only, see tool_secrets.h. A
 * residency after a crash or a pause has lost them, and its calls of that server fail with a
 * sentence that says so. Calling without them would be worse: the server might act for another
 * user.
 *
 * A remote call uses the output channel like a tool of this server, so everything after it is
 * the same. It has no flags (tool_entries.c): whatever a server says of its tools, a call that
 * may have been executed is never sent again.
 */

#include "core/run/calls/run_servers.h"

#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/mcp/mcp_extra.h"
#include "core/mcp/mcp_named.h"
#include "core/mcp/mcp_result.h"
#include "core/mcp/mcp_session.h"
#include "core/mcp/mcp_tools.h"
#include "core/run/calls/run_calls.h"
#include "core/run/catalog/tool_secrets.h"

#define CONNECT_SECONDS  10
#define DISCOVER_SECONDS 10
#define LIST_SECONDS     30

struct run_server {
    struct run *run;
    const struct tool_server *server;
    const json_t *secrets;        /* borrowed from the run; NULL: none */
    struct mcp_session *session;  /* NULL until the first question */
    struct mcp_question *listing; /* NULL: no list is under way */
    struct item *item;            /* the item that shows the list */
    json_t *tools;                /* as listed in this residency */
    char *error;                  /* why the server was not listed; or NULL */
    bool known;                   /* its list is settled: found in the conversation, or shown */
};

/* A call that is under way. */
struct server_call {
    struct server_call *next;
    struct run *run;
    unsigned index; /* of the call in the turn; the array of calls may move */
    struct mcp_question *question;
};

/* ---- Sessions ---- */

/* The request had secrets for the server, and this residency does not have them. */
static bool lost_secrets(const struct run_server *server)
{
    return !server->secrets && tool_had_secrets(server->server->entry);
}

static char *lost_secrets_text(const struct run_server *server)
{
    return mem_printf(
        "MCP server '%s' cannot be used any more: its 'authorization' and 'headers' "
        "are not kept after the request that they came with.",
        server->server->label);
}

static uint64_t seconds(double count)
{
    return (uint64_t)(count * (double)NS_PER_SECOND);
}

static struct mcp_session *session_of(struct run_server *server)
{
    const struct engine_options *options = engine_options(server->run->engine);
    const struct mcp_named *named = server->server->named;

    if (!server->session)
        server->session = mcp_session_new(&(struct mcp_session_options){
            .loop = server->run->loop,
            .url = server->server->url,
            .authorization = named ? named->authorization
                                   : json_get_string(server->secrets, "authorization", NULL),
            .headers = named ? named->headers : json_object_get(server->secrets, "headers"),
            .egress = named ? &named->egress : options->egress,
            .processes = named && named->command ? options->mcp_processes : NULL,
            .named = named,
            .tenant = &server->run->tenant,
            .connect_ns = seconds(CONNECT_SECONDS),
            .discover_ns = seconds(DISCOVER_SECONDS),
            .list_ns = seconds(LIST_SECONDS),
            .call_ns = seconds(options->tool_timeout_seconds),
        });
    return server->session;
}

/* Clients must not learn where a server is that the operator has named. Errors of the
 * network contain its address, so they are cut. */
static const char *fault_text(const struct run_server *server, const struct mcp_answer *answer)
{
    static const char unreachable[] = "cannot be reached";

    if (server->server->named && strncmp(answer->text, unreachable, strlen(unreachable)) == 0)
        return unreachable;
    return answer->text;
}

/* ---- What the conversation knows ---- */

/* The extras that the request wants beside the tools: resources, prompts. */
static const json_t *extras_of(const struct run_server *server)
{
    return mcp_extras_wanted(server->server->entry);
}

static const char *mark_of_extra(const struct run_server *server, const char *extra)
{
    return mcp_extra_is_wanted(extras_of(server), extra) ? extra : "";
}

/* Identifies a list: another URL, other allowed tools or other extras make another one. The
 * caller frees. */
static char *mark_of(const struct run_server *server)
{
    const json_t *allowed = json_object_get(server->server->entry, "allowed_tools");
    const struct mcp_named *named = server->server->named;
    AUTO_FREE char *text = json_text(allowed);
    AUTO_FREE char *operators = named ? json_text(named->allowed_tools) : mem_strdup("");

    return mem_printf("%s %s%s%s%s", server->server->url, text, operators,
                      mark_of_extra(server, "resources"), mark_of_extra(server, "prompts"));
}

/* The tools that the operator allows, and of these the ones that the request allows. New
 * reference. */
static json_t *allowed_of(const struct run_server *server, const json_t *tools)
{
    const struct mcp_named *named = server->server->named;
    json_auto_t *some = mcp_tools_allowed(tools, named ? named->allowed_tools : NULL);

    return mcp_tools_allowed(some, json_object_get(server->server->entry, "allowed_tools"));
}

/* The item is a complete list of this server. One without a mark must come from the client,
 * and is not accepted for a server that the operator has named. */
static bool is_list_of(const struct run_server *server, const struct item_row *item,
                       const json_t *body, const char *mark)
{
    const char *label = json_get_string(body, "server_label", "");
    const char *its = json_get_string(notes_of(body), "server", NULL);

    if (strcmp(label, server->server->label) != 0 ||
        (its ? strcmp(its, mark) != 0 : server->server->named || !item->input))
        return false;
    return json_absent(json_object_get(body, "error")) && item->status != ITEM_INCOMPLETE &&
           item->status != ITEM_IN_PROGRESS;
}

/* The item is a call during which the server has reported that its list has changed. */
static bool is_change_of(const struct run_server *server, const struct item_row *item)
{
    json_auto_t *body = NULL;

    if (item->type != ITEM_MCP_CALL || !strstr(item->body, "\"" RUN_LIST_CHANGED "\":true"))
        return false;
    body = json_parse_own(item->body);
    return strcmp(json_get_string(body, "server_label", ""), server->server->label) == 0;
}

static void add_tools(struct run_server *server, const json_t *tools)
{
    json_auto_t *allowed = allowed_of(server, tools);

    tool_set_add_remote(&server->run->tools, server->server, allowed);
    server->run->turn.frame = (struct context_frame){0};
    server->known = true;
}

/* From the newest item back: the first list counts, and a report of a change before it means
 * that there is no valid one. */
static void find_list(struct run_server *server)
{
    const struct run *run = server->run;
    AUTO_FREE char *mark = mark_of(server);

    for (size_t i = run->history_count; i-- > 0 && !server->known;) {
        const struct item_row *item = &run->history[i];
        json_auto_t *body = NULL;

        if (is_change_of(server, item))
            return;
        if (item->type != ITEM_MCP_LIST_TOOLS ||
            (run_is_assistants(run) && strcmp(item->run_id, run->row.id) != 0))
            continue;
        body = json_parse_own(item->body);
        if (is_list_of(server, item, body, mark))
            add_tools(server, json_object_get(body, "tools"));
    }
}

void run_open_servers(struct run *run)
{
    size_t count = run->tools.server_count;

    if (!count)
        return;
    run->remote.servers = mem_new_array(struct run_server, count);
    run->remote.count = count;
    for (size_t i = 0; i < count; i++) {
        const struct tool_server *server = &run->tools.servers[i];
        const json_t *secrets = json_array_get(run->remote.secrets, server->index);

        run->remote.servers[i] = (struct run_server){
            .run = run,
            .server = server,
            .secrets = json_is_object(secrets) ? secrets : NULL,
        };
        find_list(&run->remote.servers[i]);
    }
}

/* ---- Listing ---- */

/* An item that is_list_of() recognises later. */
static struct item *new_list_item(struct run_server *server)
{
    struct item *item = run_new_item(server->run, ITEM_MCP_LIST_TOOLS);
    AUTO_FREE char *mark = mark_of(server);

    item->fields = json_build("{s:s, s:[]}", "server_label", server->server->label, "tools");
    item_note(item, "server", mark);
    return item;
}

/* For later residencies of a thread's run. */
static void keep_list(struct run_server *server)
{
    struct item *item = new_list_item(server);

    json_object_set(item->fields, "tools", server->tools);
    item->row.hidden = true;
    run_store_silently(server->run, item, ITEM_COMPLETED);
}

static void open_list(struct run_server *server)
{
    server->item = new_list_item(server);
    run_open_item(server->run, server->item);
    run_emit_stage(server->run, server->item, "in_progress", NULL);
}

static void close_list(struct run_server *server)
{
    struct item *item = server->item;

    if (server->error)
        json_set_string(item->fields, "error", server->error);
    else
        json_object_set(item->fields, "tools", server->tools);
    run_emit_stage(server->run, item, server->error ? "failed" : "completed", NULL);
    run_close_item(server->run, server->error ? ITEM_FAILED : ITEM_COMPLETED);
}

/* Shows or keeps a list that has arrived, and adds its tools. False: the run has failed because
 * of it. */
static bool settle_list(struct run_server *server)
{
    struct run *run = server->run;

    if (run_is_assistants(run) && server->error) {
        run_fail(run, "server_error", server->error);
        return false;
    }
    if (run_is_assistants(run))
        keep_list(server);
    else
        close_list(server);
    if (server->tools)
        add_tools(server, server->tools);
    server->known = true;
    return true;
}

/* Only one item of a stream is open at a time, and the order of lists must not depend on the
 * network. So lists are shown in the order of the request, as far as they have arrived. */
static void show_lists(struct run *run)
{
    void (*then)(struct run *);

    for (size_t i = 0; i < run->remote.count; i++) {
        struct run_server *server = &run->remote.servers[i];

        if (server->known)
            continue;
        if (!run_is_assistants(run) && !server->item)
            open_list(server);
        if (server->listing || !settle_list(server))
            return;
    }
    then = TAKE(run->remote.after_listing);
    then(run);
}

static json_t *listed_of(const struct run_server *server, const json_t *result)
{
    json_t *tools = json_object_get(result, "tools");

    mcp_extra_add(tools, json_object_get(result, "capabilities"), extras_of(server));
    return allowed_of(server, tools);
}

static void take_list(void *arg, const struct mcp_answer *answer)
{
    struct run_server *server = arg;
    struct run *run = server->run;

    server->listing = NULL;
    if (answer->fault)
        server->error = mem_printf("MCP server '%s' did not list its tools: it %s",
                                   server->server->label, fault_text(server, answer));
    else
        server->tools = listed_of(server, answer->result);
    show_lists(run);
    run_pump(run);
}

void run_list_servers(struct run *run, void (*then)(struct run *run))
{
    run->remote.after_listing = then;
    for (size_t i = 0; i < run->remote.count; i++) {
        struct run_server *server = &run->remote.servers[i];

        if (server->known)
            continue;
        if (lost_secrets(server))
            server->error = lost_secrets_text(server);
        else
            server->listing = mcp_session_list(session_of(server), take_list, server);
    }
    show_lists(run);
}

/* ---- Calls ---- */

static struct run_server *server_of(struct run *run, const struct call *call)
{
    for (size_t i = 0; i < run->remote.count; i++) {
        if (run->remote.servers[i].server->entry == call->use->entry)
            return &run->remote.servers[i];
    }
    assert(false);
    return NULL;
}

static void put_end(struct run *run, const struct call *call, struct tool_output *output)
{
    output->kind = TOOL_OUTPUT_END;
    output->rc = output->error.code;
    /* ERR_CANCELLED when the channel is closed: nothing reads the output then. */
    (void)!tool_channel_put(run->calls.channel, call->channel_position, output);
}

/* The error of the item, with the types that OpenAI's API has. */
static void note_fault(struct call *call, const struct mcp_answer *answer, const char *text)
{
    bool http = answer->fault != MCP_FAULT_PROTOCOL;

    json_decref(call->fault);
    call->fault = json_build("{s:s, s:i}", "type", http ? "http_error" : "mcp_protocol_error",
                             "code", answer->code);
    json_set_string(call->fault, "message", text);
}

/* There are three ways to fail: the server was not reached or did not speak the protocol,
 * its result cannot be read, or the tool itself reports an error. Only the first two are
 * faults of the item. */
static void put_answer(struct run *run, struct call *call, const struct mcp_answer *answer)
{
    struct tool_output output = {0};
    bool failed = false;
    struct err why;

    if (answer->fault) {
        const char *text = fault_text(server_of(run, call), answer);

        note_fault(call, answer, text);
        err_set(&output.error, ERR_UPSTREAM, "MCP server '%.64s' %s", call->use->label, text);
    } else if (mcp_result_read(answer->result, &output.result, &failed, &why)) {
        note_fault(call, &(struct mcp_answer){.fault = MCP_FAULT_PROTOCOL}, why.text);
        err_set(&output.error, ERR_UPSTREAM, "MCP server '%.64s': %s", call->use->label,
                why.text);
    } else if (failed) {
        err_set(&output.error, ERR_UPSTREAM, "%.64s failed and did not say why",
                call->use->own);
    }
    put_end(run, call, &output);
}

static void forget_call(struct server_call *call)
{
    struct server_call **at = &call->run->remote.open_calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    free(call);
}

static void take_result(void *arg, const struct mcp_answer *answer)
{
    struct server_call *call = arg;
    struct call *its = &call->run->calls.list[call->index];

    its->list_changed = mcp_session_list_changed(server_of(call->run, its)->session);
    put_answer(call->run, its, answer);
    forget_call(call);
}

static void add_number(json_t *metadata, const json_t *params, const char *key)
{
    json_t *value = json_object_get(params, key);

    if (json_is_number(value))
        json_set(metadata, key, json_copy(value));
}

/* Progress becomes live metadata of the call, like tool_call_metadata() of a handler. */
static void take_progress(void *arg, const json_t *params)
{
    const struct server_call *call = arg;
    const char *message = json_get_string(params, "message", NULL);
    AUTO_FREE char *title = message ? mcp_clean_description(message) : NULL;
    struct tool_output output = {.kind = TOOL_OUTPUT_METADATA,
                                 .text = title,
                                 .length = title ? strlen(title) : 0,
                                 .fields = json_object()};

    (void)TAKE(title);
    add_number(output.fields, params, "progress");
    add_number(output.fields, params, "total");
    (void)!tool_channel_put(call->run->calls.channel,
                            call->run->calls.list[call->index].channel_position, &output);
}

static const char *name_at_server(const struct tool_use *use)
{
    return use->original ? use->original : use->own;
}

void run_call_server(struct run *run, struct call *call, const json_t *args)
{
    struct run_server *server = server_of(run, call);
    json_auto_t *schema = NULL;
    struct server_call *open;

    if (lost_secrets(server)) {
        AUTO_FREE char *text = lost_secrets_text(server);
        struct tool_output output = {0};

        err_set(&output.error, ERR_UNAUTHORIZED, "%s", text);
        put_end(run, call, &output);
        return;
    }
    open = mem_new(struct server_call);
    *open = (struct server_call){.next = run->remote.open_calls,
                                 .run = run,
                                 .index = (unsigned)(call - run->calls.list)};
    run->remote.open_calls = open;
    schema = tool_use_parameters(call->use);
    open->question =
        mcp_session_call(session_of(server), name_at_server(call->use), call->use->extra,
                         schema, args, take_progress, take_result, open);
}

/* ---- The end ---- */

void run_stop_server_calls(struct run *run)
{
    while (run->remote.open_calls) {
        mcp_question_cancel(run->remote.open_calls->question);
        forget_call(run->remote.open_calls);
    }
}

void run_close_servers(struct run *run)
{
    run_stop_server_calls(run);
    run->remote.after_listing = NULL;
    for (size_t i = 0; i < run->remote.count; i++) {
        struct run_server *server = &run->remote.servers[i];

        server->listing = NULL; /* ends with its session */
        mcp_session_close(TAKE(server->session));
    }
}

void run_free_servers(struct run *run)
{
    run_close_servers(run);
    for (size_t i = 0; i < run->remote.count; i++) {
        json_decref(run->remote.servers[i].tools);
        free(run->remote.servers[i].error);
    }
    free(run->remote.servers);
    json_decref(run->remote.secrets);
}
