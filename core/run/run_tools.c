/*
 * What the model asked for. A call is the client's, shown as it comes and left to the client; or
 * ours, run by the executor, whose output comes back through the channel in floor order.
 */

#include "core/run/run.h"

#include <assert.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/tool_choice.h"
#include "core/tool/arguments.h"
#include "core/tool/cut.h"
#include "core/tool/files_view.h"
#include "core/tool/registry.h"

/* Outputs that one call may be ahead of its loop. */
#define CHANNEL_CAPACITY 64

/* Bytes of a message that a tool may say. */
#define OUTPUT_KEPT_LIMIT ((size_t)1 << 20)

/* ---- Calls as the model makes them ---- */

static void clear_call(struct call *call)
{
    free(call->name);
    buf_clear(&call->arguments);
    buf_clear(&call->said);
}

void run_clear_calls(struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++)
        clear_call(&run->calls[i]);
    free(TAKE(run->calls));
    free(TAKE(run->final_order));
    run->call_count = run->final_count = 0;
    run->server_calls = run->started_calls = run->ended_calls = 0;
}

/* What the model was not offered is not there. */
static const struct tool_use *find_offered(const struct run *run, const char *name)
{
    const struct tool_use *use = tool_set_find(&run->tools, name);
    const json_t *choice = json_object_get(run->config, "tool_choice");

    if (run->choice_spent)
        choice = tool_choice_standing(choice);
    return use && tool_choice_offers(&run->tools, choice, use) ? use : NULL;
}

static struct call *add_call(struct run *run, const char *id, const char *name)
{
    const struct tool_use *use = find_offered(run, name);
    struct call *call;

    run->calls = mem_resize(run->calls, run->call_count + 1, sizeof(*run->calls));
    call = &run->calls[run->call_count++];
    memset(call, 0, sizeof(*call));
    (void)snprintf(call->id, sizeof(call->id), "%s", id);
    call->name = mem_strdup(name);
    call->use = use;
    call->client = use && tool_use_is_clients(use);
    call->hidden = use && use->handler->flags & TOOL_HIDDEN;
    call->final = use && use->handler->flags & TOOL_FINAL;
    return call;
}

/* A function's arguments are shown while the model writes them, and so is the input of a custom
 * tool; what other definition-only tools show is made from the whole. */
static bool is_live(const struct call *call)
{
    return call->client && !call->use->handler->announce;
}

static struct item *new_call_item(struct run *run, struct call *call, const char *type)
{
    struct item *item = run_new_item(run, type);

    item->row.turn = run->call_turn;
    item->row.model_index = (int)(call - run->calls) + 1000; /* after the turn's text */
    (void)snprintf(item->row.call_id, sizeof(item->row.call_id), "%s", call->id);
    item->name = mem_strdup(call->client ? call->use->own : call->name);
    if (call->use && call->use->label)
        item->label = mem_strdup(call->use->label);
    if (call->client && call->use->space)
        item->fields = json_build("{s:s}", "namespace", call->use->space);
    call->item = item;
    return item;
}

/* The fields of an announcement become the item's, beside what it has already. */
static void set_fields(struct item *item, json_t *fields)
{
    if (!item->fields)
        item->fields = json_object();
    json_object_update(item->fields, fields);
}

static void open_announced(struct run *run, struct call *call, const char *type, json_t *fields)
{
    struct item *item = new_call_item(run, call, type);

    set_fields(item, fields);
    json_set_string(item->fields, "call_id", call->id);
    run_open_item(run, item);
}

/* A tool that opens with an input, whatever the arguments will be, can be followed. */
static void open_input(struct run *run, struct call *call)
{
    struct tool_announcement shown = {0};

    if (call->use->handler->announce(call->use->own, "", &shown, NULL) == ERR_OK &&
        json_get_string(shown.opening, "input", NULL))
        open_announced(run, call, shown.item_type, shown.opening);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

void run_begin_call(struct run *run, const char *id, const char *name)
{
    struct call *call = add_call(run, id, name);

    run->call_turn = run->row.turn;
    run_close_item(run, ITEM_COMPLETED);
    if (is_live(call))
        run_open_item(run, new_call_item(run, call, "function_call"));
    else if (call->client)
        open_input(run, call);
}

static void tell_arguments(struct run *run, struct item *item, const char *text, size_t length)
{
    buf_add(&item->arguments, text, length);
    run_tell(run,
             &(struct run_event){
                 .kind = RUN_EVENT_ARGUMENTS, .item = item, .text = text, .length = length});
}

static void tell_input(struct run *run, struct call *call, const char *text, size_t length)
{
    AUTO_BUF input = {0};

    input_text_feed(&call->input, text, length, &input);
    if (input.length)
        tell_arguments(run, call->item, input.data, input.length);
}

void run_add_arguments(struct run *run, unsigned position, const char *text, size_t length)
{
    struct call *call = &run->calls[position];

    buf_add(&call->arguments, text, length);
    if (!call->item || call->item != run->open)
        return;
    if (is_live(call))
        tell_arguments(run, call->item, text, length);
    else
        tell_input(run, call, text, length);
}

static void tell_arguments_done(struct run *run, struct item *item)
{
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_ARGUMENTS_DONE, .item = item});
}

static void show_announced(struct run *run, struct call *call,
                           const struct tool_announcement *shown)
{
    open_announced(run, call, shown->item_type,
                   shown->opening ? shown->opening : shown->fields);
    if (shown->opening) {
        set_fields(call->item, shown->fields);
        tell_arguments_done(run, call->item);
    }
    run_close_item(run, ITEM_COMPLETED);
}

/* What of the input was not told while it came. Arguments that turn out to mean something else
 * than was told mean what was told. */
static void tell_rest_of_input(struct run *run, struct call *call)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    const struct buf *so_far = &call->item->arguments;
    struct tool_announcement shown = {0};
    const char *input;

    (void)!call->use->handler->announce(call->use->own, arguments, &shown, NULL);
    input = json_get_string(shown.fields, "input", "");
    if (!so_far->length)
        tell_arguments(run, call->item, input, strlen(input));
    else if (strlen(input) > so_far->length && memcmp(input, so_far->data, so_far->length) == 0)
        tell_arguments(run, call->item, input + so_far->length, strlen(input) - so_far->length);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

/* What the client is shown of a call that is not a plain function's. One that makes no sense is
 * not the client's to execute: the model is told. */
static void announce(struct run *run, struct call *call)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    struct tool_announcement shown = {0};

    run_close_item(run, ITEM_COMPLETED);
    if (call->use->handler->announce(call->use->own, arguments, &shown, NULL))
        call->client = false;
    else
        show_announced(run, call, &shown);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

bool run_call_is_open(const struct run *run)
{
    const struct call *last = run->call_count ? &run->calls[run->call_count - 1] : NULL;

    return last && last->item && last->item == run->open;
}

void run_end_call(struct run *run, unsigned position)
{
    struct call *call = &run->calls[position];

    if (call->item && call->item == run->open) {
        if (!is_live(call))
            tell_rest_of_input(run, call);
        tell_arguments_done(run, call->item);
        run_close_item(run, ITEM_COMPLETED);
    } else if (call->client && !call->item) {
        announce(run, call);
    }
}

/* ---- Calls in the store ---- */

static void put_call(struct run *run, const struct call *call, enum call_state state,
                     const char *output)
{
    struct call_row row = {
        .turn = run->call_turn,
        .position = (int)(call - run->calls),
        .client = call->client,
        .state = state,
        .arguments = call->arguments.data ? call->arguments.data : mem_strdup(""),
        .output = mem_strdup(output),
    };
    AUTO_FREE char *spare = call->arguments.data ? NULL : row.arguments;
    AUTO_FREE char *given = row.output;

    memcpy(row.run_id, run->row.id, ID_SIZE);
    memcpy(row.call_id, call->id, sizeof(row.call_id));
    if (call->item)
        memcpy(row.item_id, call->item->row.id, sizeof(row.item_id));
    if (run->step)
        memcpy(row.step_id, run->step->row.id, ID_SIZE);
    row.tool = call->name;
    run_put_call(run, &row);
}

/* ---- Calls of ours ---- */

static void after_tools(struct run *run);

/* To be executed here, now. */
static bool is_ours(const struct call *call)
{
    return !call->client && !call->settled;
}

/* Why the client could not be asked. */
static void explain_announcement(const struct call *call, struct err *err)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    struct tool_announcement shown = {0};

    err_set(err, ERR_INVALID, "The arguments cannot be used.");
    (void)!call->use->handler->announce(call->use->own, arguments, &shown, err);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

/* Why a call cannot even start: told to the model, which may do better. */
static const char *refusal_of(struct run *run, const struct call *call, json_t **ret_args,
                              struct err *err)
{
    json_int_t limit = json_get_int(run->config, "max_tool_calls", -1);
    const char *text = call->arguments.length ? call->arguments.data : "{}";
    json_auto_t *parameters = NULL;

    if (!call->use) {
        err_set(err, ERR_NOT_FOUND, "Tool %s not found", call->name);
        return err->text;
    }
    if (tool_use_is_clients(call->use)) {
        explain_announcement(call, err);
        return err->text;
    }
    if (limit >= 0 && (json_int_t)run->tool_calls_made >= limit) {
        err_set(err, ERR_LIMIT,
                "The limit of %lld tool calls was reached; this call was not "
                "executed.",
                (long long)limit);
        return err->text;
    }
    parameters = json_parse_own(call->use->handler->parameters);
    if (tool_arguments_read(call->name, parameters, text, ret_args, err))
        return err->text;
    return NULL;
}

static void refuse_call(struct run *run, const struct call *call, const struct err *err)
{
    struct tool_output output = {.kind = TOOL_OUTPUT_END, .rc = err->code, .error = *err};
    enum err_code rc = tool_channel_put(run->channel, call->channel_position, &output);

    (void)rc; /* closed: then nobody wants to hear it */
}

/* Which files which tool type may see, of the request and of the attachments of messages. Made
 * once, when the first tool runs. */
static const json_t *files_view(struct run *run)
{
    if (run->files)
        return run->files;
    run->files = files_view_from_resources(json_object_get(run->config, "tool_resources"));
    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        if (strcmp(item->type, "message") == 0 && item->body &&
            strstr(item->body, "\"attachments\"")) {
            json_auto_t *body = json_parse_own(item->body);

            files_view_add_attachments(run->files, json_object_get(body, "attachments"));
        }
    }
    return run->files;
}

/* Tools of a group stand under its label. */
static const json_t *visible_files(struct run *run, const struct tool_use *use)
{
    return files_view_of(files_view(run), use->label ? use->label : use->type);
}

static void start_call(struct run *run, struct call *call)
{
    json_auto_t *args = NULL;
    struct err err;

    if (refusal_of(run, call, &args, &err)) {
        refuse_call(run, call, &err);
        return;
    }
    run->tool_calls_made++;
    tool_executor_submit(engine_options(run->engine)->executor,
                         &(struct tool_call_spec){
                             .handler = call->use->handler,
                             .channel = run->channel,
                             .position = call->channel_position,
                             .call_id = call->id,
                             .project = run->row.project,
                             .run = run->row.id,
                             .thread = run->row.thread_id,
                             .user = json_get_string(run->config, "user", ""),
                             .args = args,
                             .config = call->use->entry,
                             .files = visible_files(run, call->use),
                             .context = run->context,
                         });
}

static bool is_parallel(const struct run *run)
{
    return json_get_bool(run->config, "parallel_tool_calls", true);
}

/* All at once, or one after another when the request says so. */
static void start_calls(struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        struct call *call = &run->calls[i];

        if (!is_ours(call) || call->channel_position != run->started_calls)
            continue;
        run->started_calls++;
        start_call(run, call);
        if (!is_parallel(run))
            return;
    }
}

static void start_committed_calls(struct run *run)
{
    if (run->life != RUN_ALIVE || !run->channel)
        return;
    start_calls(run);
    run_collect_output(run);
}

/* What may have an effect is in the store before it has one. */
static void start_next_calls(struct run *run)
{
    unsigned next = run->started_calls;
    unsigned end = is_parallel(run) ? run->server_calls : next + 1;

    for (unsigned i = 0; i < run->call_count; i++) {
        const struct call *call = &run->calls[i];

        if (is_ours(call) && call->channel_position >= next && call->channel_position < end)
            put_call(run, call, CALL_RUNNING, NULL);
    }
    run_after_commit(run, start_committed_calls);
}

static void open_channel(struct run *run)
{
    AUTO_FREE bool *hidden = mem_new_array(bool, run->call_count);

    for (unsigned i = 0; i < run->call_count; i++) {
        struct call *call = &run->calls[i];

        if (!is_ours(call))
            continue;
        hidden[run->server_calls] = call->hidden;
        call->channel_position = run->server_calls++;
    }
    if (!run->server_calls)
        return;
    run->bell = engine_bell(run);
    run->channel =
        tool_channel_new(run->server_calls, hidden, CHANNEL_CAPACITY, bell_ring, run->bell);
}

static bool waits_for_client(const struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        if (run->calls[i].client)
            return true;
    }
    return false;
}

/* It was asked for an answer without tools, and called some all the same: they are not run. What
 * it said besides is the answer; if that is nothing, the response is incomplete. */
static void end_without_calls(struct run *run)
{
    const struct item *last = run->item_count ? run->items[run->item_count - 1] : NULL;

    if (last && last->row.turn == run->row.turn && strcmp(last->row.type, "message") == 0)
        run_finish(run);
    else
        run_truncate(run, "max_output_tokens");
}

void run_dispatch_tools(struct run *run)
{
    if (run->last_answer && !waits_for_client(run)) {
        end_without_calls(run);
        return;
    }
    run->choice_spent = true;
    open_channel(run);
    for (unsigned i = 0; i < run->call_count; i++)
        put_call(run, &run->calls[i], CALL_WAITING, NULL);
    if (run->channel)
        start_next_calls(run);
    else
        after_tools(run);
}

void run_stop_tools(struct run *run)
{
    run->then = NULL;
    engine_hang_up(run);
    if (!run->channel)
        return;
    tool_channel_close(run->channel);
    tool_channel_release(TAKE(run->channel));
}

/* ---- What tools say ---- */

/* The shape of a hosted item before its tool has said anything. */
/* clang-format off */
static const struct {
    const char *item_type;
    const char *fields;
} hosted_shapes[] = {
    {"image_generation_call", "{\"result\":null}"},
    {"file_search_call",      "{\"queries\":[],\"results\":null}"},
    {"web_search_call",       "{\"action\":{\"type\":\"search\",\"query\":\"\"}}"},
    {"code_interpreter_call", "{\"code\":\"\",\"container_id\":\"\",\"outputs\":[]}"},
};
/* clang-format on */

static void shape_hosted(struct item *item, const struct call *call)
{
    for (size_t i = 0; i < COUNT_OF(hosted_shapes); i++) {
        if (strcmp(item->row.type, hosted_shapes[i].item_type) != 0)
            continue;
        item->fields = json_parse_own(hosted_shapes[i].fields);
        item->tool_type = mem_strdup(call->use->type);
    }
}

static void tell_stage(struct run *run, struct item *item, const char *stage, json_t *fields)
{
    run_tell(run, &(struct run_event){
                      .kind = RUN_EVENT_STAGE, .item = item, .name = stage, .fields = fields});
}

/* The call has the floor: its item opens, its arguments as one delta. */
static void show_call(struct run *run, struct call *call)
{
    bool ours = call->use && !tool_use_is_clients(call->use);
    const char *type = ours ? tool_use_item_type(call->use) : "mcp_call";
    struct item *item;

    run_close_item(run, ITEM_COMPLETED);
    item = new_call_item(run, call, type);
    shape_hosted(item, call);
    run_open_item(run, item);
    tell_stage(run, item, "in_progress", NULL);
    if (call->arguments.length)
        tell_arguments(run, item, call->arguments.data, call->arguments.length);
    tell_arguments_done(run, item);
}

/* A final tool's text is the answer: it streams as a message, one part per call. */
static void want_final_message(struct run *run, struct call *call)
{
    if (call->message && run->open == call->message && call->message->part_open)
        return;
    if (!run->open || strcmp(run->open->row.type, "message") != 0) {
        run_close_item(run, ITEM_COMPLETED);
        run->row.turn = run->call_turn + 1; /* said after the calls, whatever the order shown */
        run_open_item(run, run_new_item(run, "message"));
    }
    run_open_part(run, PART_TEXT);
    call->message = run->open;
}

static void take_tool_text(struct run *run, struct call *call, const struct tool_output *output)
{
    if (call->said.length + output->length <= OUTPUT_KEPT_LIMIT)
        buf_add(&call->said, output->text, output->length);
    if (!call->final || !output->length)
        return;
    want_final_message(run, call);
    run_add_text(run, output->text, output->length);
    call->said_text = true;
}

static void take_tool_stage(struct run *run, struct call *call,
                            const struct tool_output *output)
{
    if (!call->item || call->item != run->open)
        return;
    item_settle(call->item);
    tell_stage(run, call->item, output->name, output->fields);
}

/* A field of the item grows: the item will show the whole when it closes. */
static void take_tool_delta(struct run *run, struct call *call,
                            const struct tool_output *output)
{
    struct item *item = call->item;

    if (!item || item != run->open)
        return;
    item_grow(item, output->name, output->text, output->length);
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_DELTA,
                                      .item = item,
                                      .name = output->name,
                                      .text = output->text,
                                      .length = output->length});
}

static void take_tool_metadata(struct run *run, struct call *call,
                               const struct tool_output *output)
{
    struct item *item = call->item;

    if (!item || item != run->open)
        return;
    if (!item->metadata)
        item->metadata = json_object();
    if (output->text)
        json_set_string(item->metadata, "title", output->text);
    if (output->fields)
        json_object_set(item->metadata, "metadata", output->fields);
    run_tell(run, &(struct run_event){
                      .kind = RUN_EVENT_METADATA, .item = item, .fields = item->metadata});
}

/* What the model is shown of it. The caller frees. */
static char *shown_text(const struct run *run, const struct call *call, const char *text,
                        bool *ret_truncated)
{
    const struct tool_handler *handler = call->use ? call->use->handler : NULL;
    size_t limit = handler && handler->shown_limit ? handler->shown_limit : CUT_DEFAULT_LIMIT;
    const char *written = call->arguments.length ? call->arguments.data : "{}";
    json_auto_t *args = NULL;
    struct cut_rule rule;

    if (json_parse(written, strlen(written), &args, NULL))
        args = NULL; /* then that is what the text is about */
    rule = cut_rule(json_object_get(run->config, "runnel"), args, limit);
    return handler && handler->cut && !call->failed ? handler->cut(text, &rule, ret_truncated)
                                                    : cut_text(text, &rule, ret_truncated);
}

/* As much of it as a message may have. The caller frees. */
static char *kept_text(const char *text)
{
    size_t length = strlen(text);

    if (length > OUTPUT_KEPT_LIMIT)
        length = OUTPUT_KEPT_LIMIT;
    while (length && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return mem_strndup(text, length);
}

/* What a call gave, as text. The caller frees. */
static char *output_text(const struct call *call, const struct tool_output *output)
{
    AUTO_FREE char *whole = NULL;

    if (output->rc)
        return mem_strdup(output->error.text);
    whole = tool_result_text(&output->result);
    if (!*whole && call->said.length) {
        free(whole);
        whole = mem_strdup(call->said.data);
    }
    return TAKE(whole);
}

/* Fields of a hosted item that its result fills in. */
static void fill_hosted(struct item *item, const struct call *call,
                        const struct tool_output *output)
{
    if (strcmp(item->row.type, "image_generation_call") == 0) {
        for (size_t i = 0; i < output->result.count; i++) {
            const struct tool_part *part = &output->result.parts[i];

            if (part->kind == TOOL_PART_IMAGE && part->data)
                json_set_string(item->fields, "result", part->data);
        }
    }
    if (strcmp(item->row.type, "file_search_call") == 0 ||
        strcmp(item->row.type, "web_search_call") == 0) {
        json_auto_t *args = NULL;
        const char *text = call->arguments.length ? call->arguments.data : "{}";
        const char *query;

        if (json_parse(text, strlen(text), &args, NULL))
            return;
        query = json_get_string(args, "query", "");
        if (strcmp(item->row.type, "file_search_call") == 0)
            json_set(item->fields, "queries", json_build("[s]", query));
        else
            json_set(item->fields, "action",
                     json_build("{s:s, s:s}", "type", "search", "query", query));
    }
}

/* A result in the store: {"output":...} or {"error":...}. */
static void put_result(struct run *run, const struct call *call, const char *text)
{
    json_auto_t *output = json_build("{s:s}", call->failed ? "error" : "output", text);
    AUTO_FREE char *json = json_text(output);

    put_call(run, call, CALL_DONE, json);
}

static void note_truncated(struct item *item)
{
    if (!item->metadata)
        item->metadata = json_object();
    json_set_bool(item->metadata, "is_truncated", true);
}

static void close_call(struct run *run, struct call *call, const struct tool_output *output,
                       const char *text)
{
    struct item *item = call->item;

    item->output = mem_strdup(text);
    if (call->failed)
        item->error = mem_strdup(text);
    else if (item->tool_type)
        fill_hosted(item, call, output);
    if (call->truncated)
        note_truncated(item);
    tell_stage(run, item, call->failed ? "failed" : "completed", NULL);
    run_close_item(run, call->failed ? ITEM_FAILED : ITEM_COMPLETED);
}

static void store_hidden_call(struct run *run, struct call *call, const char *text)
{
    struct item *item = new_call_item(run, call, "mcp_call");

    item->row.hidden = true;
    if (call->arguments.length)
        buf_add(&item->arguments, call->arguments.data, call->arguments.length);
    item->output = mem_strdup(text);
    if (call->failed)
        item->error = mem_strdup(text);
    run_store_silently(run, item, call->failed ? ITEM_FAILED : ITEM_COMPLETED);
}

static void end_final_call(struct run *run, struct call *call, const char *text)
{
    if (!call->failed && !call->said_text && *text) {
        want_final_message(run, call);
        run_add_text(run, text, strlen(text));
    }
    if (call->message && run->open == call->message)
        run_close_part(run);
    if (!call->said.length)
        buf_add_text(&call->said, text);
    run->final_order = mem_resize(run->final_order, run->final_count + 1, sizeof(unsigned));
    run->final_order[run->final_count++] = (unsigned)(call - run->calls);
}

/* It had given its answer before the crash; only its record is missing. */
static void end_final_call_again(struct run *run, struct call *call, const char *text)
{
    call->said_text = true;
    end_final_call(run, call, text);
}

static void take_tool_end(struct run *run, struct call *call, const struct tool_output *output)
{
    AUTO_FREE char *whole = NULL;
    AUTO_FREE char *kept = NULL;
    AUTO_FREE char *text = NULL;

    call->ended = true;
    run->ended_calls++;
    call->failed = output->rc != ERR_OK;
    whole = output_text(call, output);
    kept = kept_text(whole);
    text = shown_text(run, call, whole, &call->truncated);
    if (call->hidden)
        store_hidden_call(run, call, text);
    else if (call->final)
        end_final_call(run, call, kept);
    else
        close_call(run, call, output, text);
    put_result(run, call, text);
    if (run->started_calls < run->server_calls && run->started_calls == run->ended_calls)
        start_next_calls(run);
}

static struct call *call_at(struct run *run, unsigned channel_position)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        if (is_ours(&run->calls[i]) && run->calls[i].channel_position == channel_position)
            return &run->calls[i];
    }
    assert(false);
    return NULL;
}

static void take_tool_output(struct run *run, const struct tool_output *output)
{
    struct call *call = call_at(run, output->call);

    if (!call->hidden && !call->final && !call->item)
        show_call(run, call);
    switch (output->kind) {
    case TOOL_OUTPUT_TEXT: take_tool_text(run, call, output); break;
    case TOOL_OUTPUT_STAGE: take_tool_stage(run, call, output); break;
    case TOOL_OUTPUT_DELTA: take_tool_delta(run, call, output); break;
    case TOOL_OUTPUT_METADATA: take_tool_metadata(run, call, output); break;
    case TOOL_OUTPUT_END: take_tool_end(run, call, output); break;
    }
}

void run_collect_output(struct run *run)
{
    struct tool_output output;

    while (run->channel && tool_channel_take(run->channel, &output)) {
        take_tool_output(run, &output);
        tool_output_clear(&output);
    }
    if (run->channel && tool_channel_finished(run->channel)) {
        run_stop_tools(run);
        after_tools(run);
    }
}

/* ---- When all calls of ours have ended ---- */

/* The calls whose output became the message are recorded behind it. */
static void show_final_calls(struct run *run)
{
    for (unsigned i = 0; i < run->final_count; i++) {
        struct call *call = &run->calls[run->final_order[i]];
        struct tool_output nothing = {.kind = TOOL_OUTPUT_END};

        show_call(run, call);
        close_call(run, call, &nothing, call->said.length ? call->said.data : "");
    }
}

/* Every call of the turn was a final tool's, and none failed: the answer has been given. */
static bool answered_by_tools(const struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        if (!run->calls[i].final || run->calls[i].failed)
            return false;
    }
    return run->call_count > 0;
}

static void after_tools(struct run *run)
{
    bool client = waits_for_client(run);

    run_close_item(run, ITEM_COMPLETED);
    show_final_calls(run);
    if (client && run_is_assistants(run)) {
        run_require_action(run);
        return;
    }
    run_close_step(run, STEP_COMPLETED);
    if (client || answered_by_tools(run)) {
        run_finish(run);
        return;
    }
    run_end_turn(run);
    run->rounds++;
    run_ask_model(run);
}

/* ---- What was there before ---- */

static const struct item_row *find_item(const struct run *run, const char *call_id)
{
    for (size_t i = run->history_count; i-- > 0;) {
        if (strcmp(run->history[i].call_id, call_id) == 0 && !run->history[i].input)
            return &run->history[i];
    }
    return NULL;
}

void run_take_answers(struct run *run, const struct call_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct item_row *asked = find_item(run, rows[i].call_id);
        struct item *item;

        if (!rows[i].client || rows[i].state != CALL_DONE)
            continue;
        item = run_new_item(run, "function_call_output");
        (void)snprintf(item->row.call_id, sizeof(item->row.call_id), "%s", rows[i].call_id);
        item->row.turn = rows[i].turn;
        item->fields = json_build("{s:s, s:s}", "call_id", rows[i].call_id, "output",
                                  rows[i].output ? rows[i].output : "");
        if (asked)
            memcpy(item->row.step_id, asked->step_id, ID_SIZE);
        run_store_silently(run, item, ITEM_COMPLETED);
    }
    run_close_step(run, STEP_COMPLETED);
    run_end_turn(run);
    run->choice_spent = true;
}

static const char interrupted[] =
    "The server restarted while this tool ran; it may or may not have taken effect.";

static struct call *restore_call(struct run *run, const struct call_row *row)
{
    struct call *call = add_call(run, row->call_id, row->tool ? row->tool : "");
    json_auto_t *stored = NULL;
    const char *text;

    run->call_turn = row->turn;
    if (row->arguments)
        buf_add_text(&call->arguments, row->arguments);
    call->client = row->client;
    call->begun = row->state != CALL_WAITING;
    if (row->client || row->state != CALL_DONE)
        return call;

    call->ended = call->settled = true;
    stored = json_parse_own(row->output ? row->output : "{}");
    call->failed = json_object_get(stored, "error");
    text = json_get_string(stored, "output", "");
    if (call->final && !find_item(run, call->id))
        end_final_call_again(run, call, text);
    return call;
}

/* A call that was running when its server died is run again only if that can do no harm. */
static void resume_call(struct run *run, struct call *call)
{
    struct err err;

    run->started_calls++;
    if (!call->use || call->use->handler->flags & TOOL_IDEMPOTENT) {
        start_call(run, call);
        return;
    }
    err_set(&err, ERR_INTERNAL, "%s", interrupted);
    refuse_call(run, call, &err);
}

/* Goes on with a turn whose calls were asked for before this server had the run. */
void run_resume_calls(struct run *run, const struct call_row *rows, size_t count)
{
    run_clear_calls(run);
    run->choice_spent = true;
    for (size_t i = 0; i < count; i++)
        restore_call(run, &rows[i]);
    open_channel(run);
    for (unsigned i = 0; i < run->call_count; i++) {
        if (is_ours(&run->calls[i]) && run->calls[i].begun)
            resume_call(run, &run->calls[i]);
    }
    if (!run->channel) {
        after_tools(run);
        return;
    }
    if (!run->started_calls)
        start_next_calls(run);
    run_collect_output(run);
}

/* ---- The tools of a group, listed once in a conversation ---- */

static bool was_listed(const struct run *run, const char *label)
{
    AUTO_FREE char *mark = mem_printf("\"server_label\":\"%s\"", label);

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        if (strcmp(item->type, "mcp_list_tools") == 0 && item->body && strstr(item->body, mark))
            return true;
    }
    return false;
}

void run_list_tools(struct run *run)
{
    const char *last = NULL;

    if (run_is_assistants(run))
        return;
    for (size_t i = 0; i < run->tools.count; i++) {
        const char *label = run->tools.uses[i].label;
        struct item *item;

        if (!label || (last && strcmp(last, label) == 0) || was_listed(run, label))
            continue;
        last = label;
        item = run_new_item(run, "mcp_list_tools");
        item->fields = json_build("{s:s, s:[]}", "server_label", label, "tools");
        run_open_item(run, item);
        tell_stage(run, item, "in_progress", NULL);
        json_set(item->fields, "tools", tool_set_listing(&run->tools, label));
        tell_stage(run, item, "completed", NULL);
        run_close_item(run, ITEM_COMPLETED);
    }
}
