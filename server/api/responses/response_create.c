/*
 * From the body of a create request to a run that is ready for the engine.
 *
 *   body ─▶ trigger ─▶ checks ─▶ prompt ─▶ skills ─▶ settings ─▶ context ─▶ means, size ─▶ answers ─▶ run_start
 *
 * The body is only read. A step that changes it makes a copy and passes that on: a trigger at the end
 * of the input is taken off, a prompt template is filled in, the ids of skills are resolved. So the
 * later steps see one plain request, however it was written.
 *
 * The order of the checks is the order in which OpenAI reports errors, because clients and tests
 * compare the first error. Checks that need the database come after those that need only the body:
 * a malformed request costs no query.
 *
 * A response continues one of three things: a chain (previous_response_id), a conversation, or
 * nothing. Its items are loaded here, on a worker, since a loop must not block. Tokens are counted
 * here for the same reason. Counts are stored with the items, so the run finds them on its loop.
 *
 * What is in the store when this returns:
 *
 *   in a conversation, with answers, or under a key   the row, leased to this node (make_stored)
 *   with a container of another node                  the row, for that node to claim; the client follows it
 *   every other response                              nothing: the run's first write stores it
 *
 * A row in a conversation is its lock: no second response can begin there. Answers to approval
 * requests are taken up in the transaction that makes the row, so that a crash leaves both or
 * neither. A key (Idempotency-Key) is claimed in that transaction too: of two equal requests one makes
 * the response, and the other finds it. All other responses save this transaction. Their client learns the id with the
 * first event, or with the answer, and so does not know of a response that a crash has lost, unless it has
 * already seen a part of it.
 *
 * Decided against: to store every response here. That is one transaction more for each request, for
 * clients that mostly stay connected until the end.
 */

#include "server/api/responses/response_create.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/container/containers.h"
#include "core/model/tokens/tokenizer.h"
#include "core/run/catalog/programmatic.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/run/catalog/unavailable.h"
#include "core/run/context/compaction.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/context/context_request.h"
#include "core/run/context/fingerprint.h"
#include "core/run/context/past_programs.h"
#include "core/run/context/past_reasoning.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/prompts.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/conversations.h"
#include "server/api/responses/response_past.h"
#include "server/complaint.h"
#include "server/files/file_finder.h"
#include "server/params/params.h"
#include "server/params/responses/prompt_template.h"
#include "server/params/responses/response_approvals.h"
#include "server/params/responses/response_calls.h"
#include "server/params/responses/response_input.h"
#include "server/params/responses/response_params.h"
#include "server/params/runnel_params.h"
#include "server/params/skill_params.h"
#include "server/params/tool_settings_params.h"
#include "server/params/variable_params.h"
#include "server/sandbox/container_assign.h"
#include "server/sandbox/container_check.h"
#include "server/sandbox/run_node.h"
#include "server/scripts/script_params.h"

static bool has_key(const struct response_create *create)
{
    return create->key && *create->key->key;
}

/* Under a key, a foreground response is resumable: a repeat of its request joins it by its log. */
static unsigned flags_of(const struct response_create *create)
{
    const json_t *body = create->body;
    unsigned flags = has_key(create) ? RUN_RESUMABLE : 0;

    if (json_get_bool(body, "store", true))
        flags |= RUN_STORED;
    if (json_get_bool(body, "background", false))
        flags |= RUN_BACKGROUND | RUN_RESUMABLE;
    if (json_get_bool(body, "stream", false))
        flags |= RUN_STREAMED;
    return flags;
}

/* The loop of a run follows from its id. For a certain loop, ids are made until one fits: with N loops, N
 * tries on average. */
static void make_id(const struct response_create *create, char ret_id[ID_SIZE])
{
    do
        id_make(ret_id, "resp_");
    while (create->loop && engine_loop(create->server->engine, ret_id) != create->loop);
}

static void make_row(const struct response_create *create, const struct run_settings *settings,
                     struct run_row *run)
{
    const json_t *body = create->body;
    double timeout = create->server->config->response_timeout;
    json_t *metadata = json_object_get(body, "metadata");
    const char *parent = json_get_string(body, "previous_response_id", "");

    memset(run, 0, sizeof(*run));
    make_id(create, run->id);
    response_conversation(body, run->thread_id);
    (void)snprintf(run->project, sizeof(run->project), "%s", create->tenant->project);
    (void)snprintf(run->parent_id, sizeof(run->parent_id), "%.*s",
                   (int)utf8_fit(parent, sizeof(run->parent_id) - 1), parent);
    run->face = FACE_RESPONSES;
    run->flags = flags_of(create);
    run->status = run->flags & RUN_BACKGROUND ? RUN_QUEUED : RUN_IN_PROGRESS;
    run->config = run_settings_store(settings);
    run->metadata = json_is_object(metadata) ? json_text(metadata) : mem_strdup("{}");
    run->created_at = clock_wall_us();
    run->expires_at = run->created_at + (int64_t)(timeout * 1e6);
}

/* The checks that need only the body, in the order in which OpenAI reports errors: required and excluded
 * parameters, the input, the other parameters. */
static enum err_code check_request(const struct response_create *create, struct err *err)
{
    const json_t *body = create->body;
    enum err_code rc = response_head_check(body, err);

    if (!rc)
        rc = response_input_check(json_object_get(body, "input"), err);
    if (!rc)
        rc = response_params_check(body, err);
    return rc ? rc : runnel_params_check(body, err);
}

static bool is_call_of(const struct run_load *load, const char *call_id,
                       const struct item_row *program)
{
    for (size_t i = 0; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];
        bool same = item_type_is_call(item->type) && strcmp(item->call_id, call_id) == 0;
        json_auto_t *body = same ? json_parse_own(item->body) : NULL;
        const json_t *caller = json_object_get(body, "caller");

        if (strcmp(json_get_string(caller, "caller_id", ""), program->call_id) == 0)
            return true;
    }
    return false;
}

/* The input has an output of a call of the program, or a decision, which names no program. */
static bool is_answered(const struct run_load *load, const struct item_row *program)
{
    for (size_t i = load->item_count - (size_t)load->next_position; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];

        if (item->type == ITEM_MCP_APPROVAL_RESPONSE ||
            (item_type_is_output(item->type) && is_call_of(load, item->call_id, program)))
            return true;
    }
    return false;
}

/* A program that waits goes on in this response, if the request has what that takes: a tool that runs it, and the
 * fingerprint that this server has given it. Who answers its calls is refused without them. Others may go on without
 * the program: it ends. */
static enum err_code check_programs(const struct response_create *create,
                                    const struct tool_set *tools, const struct run_load *load,
                                    struct err *err)
{
    size_t count = load->item_count;

    for (size_t at = 0; (at = past_programs_next(load->items, count, at)) < count; at++) {
        const struct item_row *program = &load->items[at];
        json_auto_t *body = json_parse_own(program->body);
        struct fingerprint print;

        if (!is_answered(load, program))
            continue;
        if (!tool_set_find_program(tools))
            return err_invalid(err, "invalid_value", "tools",
                               "Invalid 'tools': the program %s waits for outputs, and no tool "
                               "of this request runs programs.",
                               program->call_id);
        if (fingerprint_open(&create->server->seal, create->tenant,
                             json_get_string(body, "fingerprint", ""),
                             json_get_string(body, "code", ""), &print, err))
            return err_invalid(err, "invalid_value", "input",
                               "Invalid 'input': the program %s waits for outputs, and its "
                               "fingerprint is not the one that this server has made for its "
                               "code.",
                               program->call_id);
    }
    return ERR_OK;
}

/* Whether the server has what the request needs: its tools, the tool of its tool_choice, its approval
 * channel, its model. Tools may have come with earlier items. The list in the body is used, because the
 * settings' copy has no secrets: a tool that must not bring any is refused only here. */
static enum err_code check_means(const struct response_create *create,
                                 const struct run_settings *settings,
                                 const struct run_load *load, struct err *err)
{
    const struct config *config = create->server->config;
    json_t *list = json_object_get(create->body, "tools");
    struct tool_set tools = {0};
    enum err_code rc = unavailable_tools_check(settings, list, err);

    if (!rc)
        rc = file_finder_check(create->server, create->tenant, list, err);
    if (!rc)
        rc = container_check_tools(create->server, create->tenant, list, err);
    if (!rc)
        rc = tool_set_init(&tools, json_is_array(list) ? list : NULL, settings, err);
    if (rc)
        return rc;
    tool_set_load_items(&tools, load->items, load->item_count);
    rc = tool_choice_check(&tools, settings->tool_choice, err);
    if (!rc)
        rc = check_programs(create, &tools, load, err);
    if (!rc)
        rc = tool_set_check_permissions(&tools, err);
    if (!rc)
        rc = runnel_channel_check(create->server->engine, create->tenant, settings, err);
    tool_set_clear(&tools);
    if (rc)
        return rc;
    if (!model_upstream_find(config->upstreams, config->upstream_count, settings->model))
        return err_invalid(err, "model_not_found", "model",
                           "The requested model '%s' does not exist.", settings->model);
    return ERR_OK;
}

static bool has_answers(const json_t *input)
{
    size_t i;
    json_t *item;

    json_array_foreach (input, i, item) {
        if (strcmp(json_get_string(item, "type", ""), "mcp_approval_response") == 0)
            return true;
    }
    return false;
}

/* A client may answer an approval request as soon as it has received it, and the response that asked may
 * still be running then. Its question would be missing from the context, so the request is refused
 * (conversation_locked) and the client tries again. */
static enum err_code load_conversation(const struct response_create *create,
                                       struct run_load *load, int64_t *ret_position,
                                       bool *ret_cut, struct err *err)
{
    struct server *server = create->server;
    const struct load_span span = {.items = engine_context_limit(server->engine)};
    enum err_code rc = ERR_OK;

    if (has_answers(json_object_get(create->body, "input")))
        rc = store_conversation_idle(server->store, create->tenant, load->run.thread_id, err);
    return rc ? rc
              : store_conversation_context(server->store, create->tenant, load->run.thread_id,
                                           &span, &load->items, &load->item_count, ret_cut,
                                           ret_position, err);
}

/* The items before the new input: those of a chain or of a conversation. *ret_cut: there were more than
 * the server reads. *ret_position is where the conversation ends. */
static enum err_code load_past(const struct response_create *create, struct run_load *load,
                               struct past_text **ret_past, int64_t *ret_position,
                               bool *ret_cut, struct err *err)
{
    if (*load->run.thread_id)
        return load_conversation(create, load, ret_position, ret_cut, err);
    if (create->past && *load->run.parent_id) {
        load->items = TAKE(*create->past);
        load->item_count = create->past_count;
        *ret_cut = create->past_cut;
        return ERR_OK;
    }
    if (*load->run.parent_id)
        return response_past_load(create->server, create->tenant, load->run.parent_id,
                                  &load->items, &load->item_count, ret_cut, ret_past, err);
    return ERR_OK;
}

static enum err_code load_input(const struct response_create *create,
                                const struct run_load *load, struct item_row **ret_items,
                                size_t *ret_count, struct err *err)
{
    const json_t *input = json_object_get(create->body, "input");
    struct item_references references;
    enum err_code rc = item_references_load(create->server->store, create->tenant, input,
                                            load->items, load->item_count, &references, err);

    if (!rc)
        rc = response_input_decode(input, load->run.id, &references, ret_items, ret_count, err);
    item_references_clear(&references);
    if (rc)
        return rc;
    past_reasoning_open(&create->server->seal, create->tenant, *ret_items, *ret_count);
    rc = compaction_open(&create->server->seal, create->tenant, *ret_items, *ret_count, err);
    if (rc)
        item_rows_free(*ret_items, *ret_count);
    return rc;
}

static bool has_compaction(const struct item_row *items, size_t count)
{
    while (count && !compaction_is_whole(&items[count - 1]))
        count--;
    return count;
}

/* ERR_INVALID for a history that was cut although the request does not allow it. What lies before a
 * compaction is sent in no case, so it may be missing. */
static enum err_code check_history(const struct response_create *create,
                                   const struct run_settings *settings,
                                   const struct run_load *load, bool cut, struct err *err)
{
    if (!cut || settings->truncates || has_compaction(load->items, load->item_count))
        return ERR_OK;
    return err_invalid(
        err, "context_length_exceeded", "input",
        "Your input has more than %zu items of history, which is this server's "
        "limit (max_items). Set truncation to 'auto' to leave out the oldest ones.",
        engine_context_limit(create->server->engine));
}

/* The whole context: the past, and the new input behind it. */
static enum err_code load_context(const struct response_create *create,
                                  const struct run_settings *settings, struct run_load *load,
                                  struct past_text **ret_past, int64_t *ret_position,
                                  struct err *err)
{
    struct item_row *input = NULL;
    size_t count = 0;
    bool cut = false;
    enum err_code rc = load_past(create, load, ret_past, ret_position, &cut, err);

    if (!rc)
        rc = load_input(create, load, &input, &count, err);
    if (rc)
        return rc;
    response_calls_name(load->items, load->item_count, input, count);
    rc = response_calls_match(load->items, load->item_count, input, &count, err);
    if (rc) {
        item_rows_free(input, count);
        return rc;
    }
    load->items = mem_resize(load->items, load->item_count + count, sizeof(*load->items));
    if (count)
        memcpy(load->items + load->item_count, input, count * sizeof(*input));
    free(input);
    load->item_count += count;
    load->next_position = (int64_t)count;
    return check_history(create, settings, load, cut, err);
}

/* Where the response is made. */
struct place {
    int64_t position;   /* the end of its conversation, as its context has it */
    char node[ID_SIZE]; /* that has its container; "": this one */
};

/* Whether the row is made here, and not by the run's first write: see the top of this file. A response
 * with store:false has no row at all. */
static bool is_made_here(const struct response_create *create, const struct run_load *load,
                         const struct place *place, const struct response_approvals *approvals)
{
    return (*load->run.thread_id || approvals->count || has_key(create) || *place->node) &&
           load->run.flags & RUN_STORED;
}

static enum err_code make_stored(const struct response_create *create, struct run_start *start,
                                 const struct response_approvals *approvals,
                                 const struct place *place, struct err *err)
{
    struct run_load *load = &start->load;
    size_t input_count = (size_t)load->next_position;
    struct run_load made = {0};
    enum err_code rc;

    rc = store_run_create(
        create->server->store,
        &(struct run_creation){.tenant = create->tenant,
                               .run = &load->run,
                               .messages = load->items + load->item_count - input_count,
                               .message_count = input_count,
                               .seen_position = place->position,
                               .answers = approvals->answers,
                               .answer_count = approvals->count,
                               .grants = &approvals->grants,
                               .idempotency = create->key,
                               .variables = start->variables,
                               .variable_count = start->variable_count,
                               .wanted_node = place->node},
        &made, err);
    variables_free(TAKE(start->variables), start->variable_count);
    start->variable_count = 0;
    load->fence = made.fence;
    if (!rc && !made.fence) {
        *create->repeated = made.run;
        memset(&made.run, 0, sizeof(made.run));
    }
    run_load_clear(&made);
    return rc;
}

enum err_code response_create_load(const struct response_create *create,
                                   const struct run_settings *settings,
                                   struct run_load *ret_load, struct past_text **ret_past,
                                   int64_t *ret_position, struct err *err)
{
    make_row(create, settings, &ret_load->run);
    return load_context(create, settings, ret_load, ret_past, ret_position, err);
}

/* ---- Rewriting the body ---- */

static bool is_trigger(const json_t *item)
{
    return strcmp(json_get_string(item, "type", ""), "compaction_trigger") == 0;
}

/* A compaction_trigger at the end of the input is not an item: it requests a compaction. *ret_body is the
 * request without it. It stays untouched if the input has no trigger. */
static enum err_code take_trigger(const json_t *body, json_t **ret_body, struct err *err)
{
    const json_t *input = json_object_get(body, "input");
    size_t last =
        json_array_size(input) - 1; /* of an empty input: SIZE_MAX, which is never reached */
    json_t *rest;
    size_t i;
    json_t *item;

    json_array_foreach (input, i, item) {
        struct param_path path = param_index("input", i);

        if (is_trigger(item) && i < last)
            return err_invalid(
                err, "invalid_value", path.text,
                "Invalid '%s': a 'compaction_trigger' must be the last item of the "
                "input.",
                path.text);
    }
    if (!is_trigger(json_array_get(input, last)))
        return ERR_OK;
    rest = json_copy((json_t *)(uintptr_t)input);
    json_array_remove(rest, last);
    *ret_body = json_copy((json_t *)(uintptr_t)body);
    json_set(*ret_body, "input", rest);
    return ERR_OK;
}

/* The request with its prompt template filled in. *ret_body stays NULL if it has no prompt. */
static enum err_code fill_in_prompt(const struct response_create *create, json_t **ret_body,
                                    struct err *err)
{
    const json_t *prompt = json_object_get(create->body, "prompt");
    const char *id = json_get_string(prompt, "id", NULL);
    CLEANUP(prompt_row_clear) struct prompt_row row = {0};
    json_auto_t *template = NULL;
    int version = PROMPT_NEWEST;
    enum err_code rc;

    if (!id)
        return ERR_OK;
    rc = prompt_version_parse(id, json_get_string(prompt, "version", NULL), &version, err);
    if (!rc)
        rc = store_prompt_get(create->server->store, create->tenant, id, version, &row, err);
    if (rc)
        return rc;
    template = json_parse_own(row.body);
    return prompt_apply(template, row.version, create->body, ret_body, err);
}

/* ---- The size of the context ---- */

static enum err_code too_long(struct err *err)
{
    return err_invalid(
        err, "context_length_exceeded", "input",
        "Your input exceeds the context window of this model. Please adjust your "
        "input and try again.");
}

/* ERR_INVALID if the context does not fit the model. Sums over items are a little too large, so they can
 * only prove that a request fits. A request is refused only by an exact count of the bytes that would
 * be sent, with the model's own tokenizer. */
static enum err_code check_size(const struct context *context, const struct item_row **items,
                                size_t count, struct err *err)
{
    const struct model_upstream *upstream = context->upstream;
    json_auto_t *request = NULL;

    context_fit(context, items, &count);
    if (context_total(context, items, count) <= upstream->context_tokens)
        return ERR_OK;
    request = context_request(
        context->run_id, context->settings, context->tools, items, count,
        context_reasoning(upstream) | (context->compact ? CONTEXT_COMPACT : 0), upstream->name);
    return tokenizer_count_request(upstream->tokenizer, request) > upstream->context_tokens
               ? too_long(err)
               : ERR_OK;
}

/* Counts the items of the context and notes the counts in their rows, so that the run on its loop need
 * not. Then checks the size. A request whose context may still be compacted is not refused. */
static enum err_code count_context(const struct response_create *create,
                                   const struct run_settings *settings, struct run_load *load,
                                   struct err *err)
{
    const struct config *config = create->server->config;
    struct tool_set tools = {0};
    const struct context context = {
        .upstream =
            model_upstream_find(config->upstreams, config->upstream_count, settings->model),
        .run_id = load->run.id,
        .settings = settings,
        .tools = &tools,
        .compact = context_is_compact(settings, (enum run_history)config->history)};
    AUTO_FREE const struct item_row **items = NULL;
    bool shortened = settings->compact || settings->compacts;
    bool checked =
        !shortened && context.upstream->tokenizer && context.upstream->context_tokens;
    bool compacted = shortened && context.upstream->context_tokens;
    enum err_code rc;

    if (!checked && !compacted && !context_is_counted(context.upstream, settings))
        return ERR_OK;
    items = mem_new_array(const struct item_row *, load->item_count + 1);
    for (size_t i = 0; i < load->item_count; i++)
        items[i] = &load->items[i];
    rc = tool_set_init(&tools, settings->tools, settings, err);
    if (!rc) {
        tool_set_load_items(&tools, load->items, load->item_count);
        long_messages_mark(load->items, load->item_count);
        context_count(&context, CONTEXT_TOKENS, load->items, load->item_count);
        if (compacted)
            context_count_each(&context, load->items, load->item_count);
    }
    if (!rc && checked)
        rc = check_size(&context, items, load->item_count, err);
    tool_set_clear(&tools);
    return rc;
}

/* Notes in the settings which reasoning of the input the model does not get. */
static void note_withheld(const struct response_create *create, struct run_settings *settings,
                          struct run_load *load)
{
    const struct config *config = create->server->config;
    size_t count = (size_t)load->next_position;
    json_auto_t *withheld = past_reasoning_withheld(
        load->items + load->item_count - count, count, json_object_get(create->body, "input"),
        model_upstream_find(config->upstreams, config->upstream_count, settings->model)->name);

    if (!withheld)
        return;
    run_settings_set_transformations(settings, withheld);
    free(load->run.config);
    load->run.config = run_settings_store(settings);
}

/* ---- Preparing ---- */

/* Has the response take up the answers to approval requests: in the transaction that makes its row or,
 * for a response that is not stored, in one of its own. */
static enum err_code take_answers(const struct response_create *create, struct run_start *start,
                                  struct response_approvals *approvals,
                                  const struct place *place, struct err *err)
{
    struct run_load *load = &start->load;
    enum err_code rc;

    if (is_made_here(create, load, place, approvals)) {
        response_approvals_apply(approvals, &start->settings, load);
        return make_stored(create, start, approvals, place, err);
    }
    rc = store_approvals_take(create->server->store, create->tenant, load->run.id,
                              approvals->answers, approvals->count, &approvals->grants, err);
    if (!rc)
        response_approvals_apply(approvals, &start->settings, load);
    return rc;
}

static enum err_code make(const struct response_create *create, struct run_start *start,
                          const struct place *place, struct err *err)
{
    struct run_load *load = &start->load;
    CLEANUP(response_approvals_clear) struct response_approvals approvals = {0};
    /* Answers in the input of an idle response are not taken up: the next response of the chain finds
     * them in its context. */
    const json_t *input = create->idle ? NULL : json_object_get(create->body, "input");
    enum err_code rc = response_approvals_load(create->server->store, create->tenant, load,
                                               input, &approvals, err);

    if (rc)
        return rc;
    if (create->idle)
        response_approvals_clear(&approvals);
    rc = response_approvals_settle(load, &start->settings, &approvals, err);
    if (rc || (!approvals.count && !is_made_here(create, load, place, &approvals)))
        return rc;
    return take_answers(create, start, &approvals, place, err);
}

/* The settings of the request, with the tool settings of project and user. */
static enum err_code read_settings(const struct response_create *create,
                                   struct run_settings *ret_settings, struct err *err)
{
    response_settings(create->body, ret_settings);
    unavailable_tools_note(ret_settings, clock_mono_ns());
    run_settings_set_compact(ret_settings, create->compact);
    return create->tenant->features & TENANT_TOOL_SETTINGS
               ? tool_settings_apply(create->server->store, create->tenant, ret_settings, err)
               : ERR_OK;
}

/* A client that cannot join the response by its log, as that of a socket, has it here. */
static enum err_code find_node(const struct response_create *create, struct run_start *start,
                               char ret_node[ID_SIZE], struct err *err)
{
    struct run_load *load = &start->load;
    enum err_code rc = ERR_OK;

    if (create->repeated && !create->idle)
        rc = run_node_wanted(create->server,
                             &(struct run_node){.tenant = create->tenant,
                                                .run = &load->run,
                                                .settings = &start->settings,
                                                .body = create->body,
                                                .items = load->items,
                                                .item_count = load->item_count},
                             ret_node, err);
    if (*ret_node)
        load->run.flags |= RUN_RESUMABLE;
    return rc;
}

/* Tools that are shown with their container have it from now on. */
static enum err_code find_containers(const struct response_create *create,
                                     struct run_start *start, char ret_made[ID_SIZE],
                                     struct err *err)
{
    struct run_load *load = &start->load;
    const struct container_assign wanted = {.tenant = create->tenant,
                                            .run = &load->run,
                                            .items = load->items,
                                            .item_count = load->item_count,
                                            .unpacked = true};
    const json_t *before = start->settings.tools;
    enum err_code rc =
        container_assign(create->server, &wanted, &start->settings, ret_made, err);

    if (rc || start->settings.tools == before)
        return rc;
    free(load->run.config);
    load->run.config = run_settings_store(&start->settings);
    return ERR_OK;
}

static enum err_code fill_start(const struct response_create *create, struct run_start *start,
                                struct err *err)
{
    const struct run_settings *settings = &start->settings;
    struct place place = {0};
    char made[ID_SIZE] = "";
    enum err_code rc = read_settings(create, &start->settings, err);

    if (!rc && !*settings->model)
        return param_missing(err, "model");
    if (!rc)
        rc = engine_admit(create->server->engine, err);
    if (!rc)
        rc = response_create_load(create, settings, &start->load, &start->past, &place.position,
                                  err);
    if (!rc)
        rc = check_means(create, settings, &start->load, err);
    if (!rc)
        rc = count_context(create, settings, &start->load, err);
    if (!rc)
        note_withheld(create, &start->settings, &start->load);
    if (!rc)
        variables_in_read(create->body, &start->variables, &start->variable_count);
    if (!rc)
        rc = run_start_admit_variables(create->tenant, start, err);
    /* Late, because a container that was there keeps the skills also of a request that is refused. */
    if (!rc)
        rc = find_containers(create, start, made, err);
    if (!rc)
        rc = find_node(create, start, place.node, err);
    if (!rc)
        rc = make(create, start, &place, err);
    if (*made && (rc || (create->repeated && *create->repeated->id)))
        containers_undo(create->server->containers, create->tenant, made);
    return rc;
}

static enum err_code prepare(const struct response_create *create, struct run_start *ret_start,
                             struct err *err)
{
    struct run_start start = {.arrival = ARRIVAL_NEW};
    enum err_code rc = fill_start(create, &start, err);

    if (rc || (create->repeated && *create->repeated->id)) {
        run_start_clear(&start);
        return rc;
    }
    start.context = runnel_context(create->body);
    start.secrets = tool_secrets_of(json_object_get(create->body, "tools"));
    *ret_start = start;
    return ERR_OK;
}

enum err_code response_create_prepare(const struct response_create *create,
                                      struct run_start *ret_start, struct err *err)
{
    struct response_create filled = *create;
    json_auto_t *body = NULL;
    json_auto_t *rest = NULL;
    json_auto_t *skilled = NULL;
    json_auto_t *scripted = NULL;
    enum err_code rc = take_trigger(create->body, &rest, err);

    if (rest) {
        filled.body = rest;
        filled.compact = RUN_COMPACT_ITEM;
    }
    if (!rc)
        rc = check_request(&filled, err);
    if (!rc)
        rc = fill_in_prompt(&filled, &body, err);
    if (rc)
        return rc;
    if (body)
        filled.body = body;
    rc =
        skill_params_resolve(create->server->store, create->tenant, filled.body, &skilled, err);
    if (rc)
        return rc;
    if (skilled)
        filled.body = skilled;
    rc = script_params_resolve(create->server->store, create->tenant, filled.body, &scripted,
                               err);
    if (rc)
        return rc;
    if (scripted)
        filled.body = scripted;
    return prepare(&filled, ret_start, err);
}
