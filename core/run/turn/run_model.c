/*
 * A turn of the model: the context goes up as one request, and the answer becomes items as it comes.
 *
 * A turn begins in run_begin_turn(). Everything that can end the run between two turns is looked at
 * there, because nothing is under way at that moment: a draining server, steering, a missing upstream,
 * used-up tokens, a context that must be compacted first. Then the items become a request, what does
 * not fit is left out (context/), and it goes through the operator's hook (run_send.c).
 *
 * The upstream answers with callbacks (struct model_events). One item is open at a time. So the kind of
 * the next piece decides: a piece of the open item's kind extends it, and any other closes that item
 * and opens its own. Each piece is emitted before the next one is read. Nothing of the answer is
 * collected first, except text that comes in the middle of a client's call (hold_back()).
 *
 * When the answer is complete, the turn has calls (calls/stages.c), or the run ends. There are two
 * exceptions. A model that has called tools and then writes nothing is requested once more, without
 * tools: otherwise the user would get no answer at all. A thread's run that has used more tokens than it
 * may ends as incomplete even when the answer is whole: OpenAI's API says so of max_prompt_tokens and
 * max_completion_tokens.
 *
 * Failures. The model layer repeats a request until the first piece was announced (model/model.h). What
 * reaches this file is final and fails the run: a second answer behind half of a first one would
 * contradict what the client has seen. For the same reason a crash in the middle of a turn drops the
 * turn's items from the context, and the turn is requested anew (engine/recover.c).
 *
 * Callbacks run on the run's loop. Those that emit something end with run_pump(), but for pieces of text: these are
 * published when the read that brought them has ended.
 */

#include "core/run/turn/run.h"

#include <assert.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/context/configuration_updates.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/context/context_request.h"
#include "core/run/context/past/past_text.h"
#include "core/run/context/past_reasoning.h"

#define BLANKS " \t\r\n"

/* ---- The answer, piece by piece ---- */

/* Some models send text between the pieces of a call. If the call is the client's, its item is open,
 * and no other can open: the text waits until the call has ended. False: the text need not wait. */
static bool hold_back(struct run *run, enum part_kind kind, const char *text, size_t length)
{
    struct part *last = run->turn.held_count ? &run->turn.held[run->turn.held_count - 1] : NULL;

    if (!run_call_is_open(run))
        return false;
    if (!last || last->kind != kind) {
        run->turn.held =
            mem_resize(run->turn.held, run->turn.held_count + 1, sizeof(*run->turn.held));
        last = &run->turn.held[run->turn.held_count++];
        *last = (struct part){.kind = kind};
    }
    buf_add(&last->text, text, length);
    return true;
}

/* Afterwards a message is open, and its open part is of this kind. */
static void want_message(struct run *run, enum part_kind kind)
{
    struct item *item = run->items.open;

    if (!item || item->row.type != ITEM_MESSAGE) {
        run_close_item(run, ITEM_COMPLETED);
        run_open_item(run, run_new_item(run, ITEM_MESSAGE));
        run_show_made(run);
        run_open_part(run, kind);
        return;
    }
    if (!item->part_open || item->parts[item->part_count - 1].kind != kind)
        run_open_part(run, kind);
}

static bool is_open(const struct run *run, enum item_type type)
{
    return run->items.open && run->items.open->row.type == type;
}

static void want_reasoning_item(struct run *run)
{
    if (is_open(run, ITEM_REASONING))
        return;
    run_close_item(run, ITEM_COMPLETED);
    run_open_item(run, run_new_item(run, ITEM_REASONING));
}

static void want_reasoning(struct run *run, enum part_kind kind)
{
    struct item *item;

    want_reasoning_item(run);
    item = run->items.open;
    if (!item->part_open || item->parts[item->part_count - 1].kind != kind)
        run_open_part(run, kind);
}

/* Some models write a line break behind each call. No message begins with it: it would say nothing. */
static bool is_gap(const struct run *run, enum part_kind kind, const char *text, size_t length)
{
    if (kind != PART_TEXT || !run->calls.count || is_open(run, ITEM_MESSAGE))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!strchr(BLANKS, text[i]))
            return false;
    }
    return true;
}

static void add_text(struct run *run, enum part_kind kind, const char *text, size_t length)
{
    if (hold_back(run, kind, text, length) || is_gap(run, kind, text, length))
        return;
    if (kind == PART_REASONING || kind == PART_SUMMARY)
        want_reasoning(run, kind);
    else
        want_message(run, kind);
    if (run->citations && kind == PART_TEXT)
        run_add_cited_text(run, text, length);
    else
        run_add_text(run, text, length);
}

/* A call has ended: the text that came in the middle of it follows. */
static void add_held_text(struct run *run)
{
    for (size_t i = 0; i < run->turn.held_count; i++) {
        const struct buf *text = &run->turn.held[i].text;

        add_text(run, run->turn.held[i].kind, text->data, text->length);
    }
    run_add_held_details(run);
    run_forget_held(run);
}

static void take_text(void *arg, const char *text, size_t length)
{
    add_text(arg, PART_TEXT, text, length);
}

/* They come before their text and wait for it. An upstream may send them although the request did not
 * want them. */
static void take_logprobs(void *arg, json_t *tokens)
{
    struct run *run = arg;

    if (run_call_is_open(run) || !run_settings_want_logprobs(&run->settings))
        return;
    if (!run->turn.logprobs)
        run->turn.logprobs = json_array();
    json_array_extend(run->turn.logprobs, tokens);
}

static void take_refusal(void *arg, const char *text, size_t length)
{
    add_text(arg, PART_REFUSAL, text, length);
}

static void take_reasoning(void *arg, const char *text, size_t length)
{
    add_text(arg, PART_REASONING, text, length);
}

static void take_reasoning_member(void *arg, const char *member)
{
    struct run *run = arg;

    run->turn.reasoning_member = member;
}

static void take_reasoning_detail(void *arg, const json_t *detail)
{
    run_take_reasoning_detail(arg, detail);
    run_pump(arg);
}

static void take_summary(void *arg, const char *text, size_t length)
{
    add_text(arg, PART_SUMMARY, text, length);
}

/* An annotation belongs to the text so far. While a call is open, that text is closed, and the
 * annotation is dropped. */
static void take_annotation(void *arg, const json_t *annotation)
{
    struct run *run = arg;

    if (run_call_is_open(run))
        return;
    want_message(run, PART_TEXT);
    run_annotate(run, json_deep_copy(annotation));
    run_pump(run);
}

static void take_part_end(void *arg)
{
    run_close_part(arg);
    run_pump(arg);
}

/* Encrypted reasoning goes back to its upstream as it came. The upstream's name and its id of the item
 * are noted for that, where no client sees them. The encrypted form itself is a note, too, unless the
 * request includes it (include: reasoning.encrypted_content). */
static void seal_reasoning(struct run *run, const struct model_item *end)
{
    struct item *item = run->items.open;

    item_note(item, "upstream", run->turn.upstream->name);
    if (end->id)
        item_note(item, "upstream_id", end->id);
    if (!end->encrypted_content)
        return;
    if (!(run->settings.includes & RUN_INCLUDE_REASONING)) {
        item_note(item, "encrypted_content", end->encrypted_content);
        return;
    }
    if (!item->fields)
        item->fields = json_object();
    json_set_string(item->fields, "encrypted_content", end->encrypted_content);
}

static void take_item_end(void *arg, const struct model_item *end)
{
    struct run *run = arg;

    if (end->kind == MODEL_ITEM_REASONING) {
        want_reasoning_item(run);
        seal_reasoning(run, end);
        run_close_item(run, ITEM_COMPLETED);
    } else if (is_open(run, ITEM_MESSAGE)) {
        run_close_item(run, ITEM_COMPLETED);
    }
    run_pump(run);
}

/* The request wants one call a turn, and the turn has it. Not every upstream obeys, so the calls
 * behind it are dropped, as if the model had not made them. */
static bool is_surplus(const struct run *run, unsigned call)
{
    return run->settings.one_call && call > 0;
}

static void take_call_begin(void *arg, unsigned call, const char *id, const char *name)
{
    struct run *run = arg;

    if (is_surplus(run, call))
        return;
    assert(call == run->calls.count);
    run_begin_call(run, id, name);
    run_pump(run);
}

static void take_call_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    if (!is_surplus(arg, call))
        run_add_arguments(arg, call, text, length);
}

/* One send for each read, not for each piece: less than half the cost of a token from a model that hurries. */
static void take_read_end(void *arg)
{
    run_pump(arg);
}

static void take_call_extra(void *arg, unsigned call, const json_t *extra)
{
    if (!is_surplus(arg, call))
        run_add_extra(arg, call, extra);
}

static void take_call_end(void *arg, unsigned call)
{
    struct run *run = arg;

    if (is_surplus(run, call))
        return;
    run_end_call(run, call);
    add_held_text(run);
    run_pump(run);
}

/* ---- The end of the turn ---- */

/* The tokens of a turn belong to the step that closes next: the message's, or that of the calls. An
 * open step of calls gets them at once, because it may stay open until the client answers. */
static void settle_step(struct run *run, const struct model_usage *usage)
{
    json_auto_t *tokens = json_build(
        "{s:I, s:I, s:I}", "input_tokens", (json_int_t)usage->input, "output_tokens",
        (json_int_t)usage->output, "total_tokens", (json_int_t)(usage->input + usage->output));

    free(run->turn.usage);
    run->turn.usage = json_text(tokens);
    if (run->items.step && run->items.step->row.type == STEP_TOOL_CALLS) {
        free(run->items.step->row.usage);
        run->items.step->row.usage = TAKE(run->turn.usage);
        run_put_step(run, &run->items.step->row);
    }
}

/* Whether the message has anything but white space. */
static bool has_visible_text(const struct item *item)
{
    for (unsigned i = 0; i < item->part_count; i++) {
        const struct buf *text = &item->parts[i].text;

        if (text->length && strspn(text->data, BLANKS) < text->length)
            return true;
    }
    return false;
}

static bool is_any(const struct item *item)
{
    (void)item;
    return true;
}

static bool turn_has_message(const struct run *run, bool (*is_wanted)(const struct item *item))
{
    for (size_t i = run->items.count; i-- > 0;) {
        const struct item *item = run->items.list[i];

        if (item->row.turn != run->row.turn)
            break;
        if (item->row.type == ITEM_MESSAGE && is_wanted(item))
            return true;
    }
    return false;
}

bool run_has_answered(const struct run *run)
{
    return turn_has_message(run, has_visible_text);
}

/* The last turn of a thread's run has neither text nor calls: it gets an empty message. Clients read
 * the newest message of the thread as the answer, and would find an earlier one there. */
static void complete_last_turn(struct run *run)
{
    if (run_is_assistants(run) && !run->calls.count && !turn_has_message(run, is_any))
        want_message(run, PART_TEXT);
}

/* The turn is over, and ends the run as incomplete. */
static void truncate_here(struct run *run, const char *reason)
{
    complete_last_turn(run);
    run_truncate(run, reason);
}

/* The server executed calls, or the last answer was requested, and the model has written no text. */
static bool ends_in_silence(const struct run *run)
{
    return (run->chain.rounds || run->turn.last_answer) && !run_has_answered(run);
}

/* Requests an answer without tools. If this turn was such a request already, the run ends: a model that
 * is silent twice would be so for ever. */
static void request_answer(struct run *run)
{
    if (run->turn.last_answer) {
        truncate_here(run, "max_output_tokens");
        return;
    }
    run->chain.stop = CHAIN_SILENT;
    run_end_turn(run);
    run_begin_turn(run);
}

/* The upstream has sent the whole answer. A thread's run that has exceeded its tokens with it executes no
 * more calls. A response that has ends as it would without a limit. */
static void end_whole_turn(struct run *run)
{
    const char *exceeded = run_is_assistants(run) ? budget_exceeded(&run->budget) : NULL;

    run_close_item(run, ITEM_COMPLETED);
    if (run->items.step && run->items.step->row.type == STEP_MESSAGE)
        run_close_step(run, STEP_COMPLETED);
    if (exceeded) {
        truncate_here(run, exceeded);
    } else if (run->calls.count) {
        run_dispatch_tools(run);
    } else if (ends_in_silence(run)) {
        request_answer(run);
    } else {
        complete_last_turn(run);
        run_finish(run);
    }
}

static void count_tokens(struct run *run, const struct model_usage *usage)
{
    budget_add(&run->budget, usage);
    chain_add_turn(&run->chain, run->row.turn, usage);
    settle_step(run, usage);
}

static void take_done(void *arg, enum model_finish finish, const struct model_usage *usage)
{
    struct run *run = arg;

    run->turn.model = NULL;
    run->turn.compacted = false;
    count_tokens(run, usage);
    (void)FAULT(
        "run.turn_done"); /* a test may crash here: the answer is complete, not stored */
    if (finish == MODEL_FINISH_LENGTH)
        truncate_here(run, "max_output_tokens");
    else if (finish == MODEL_FINISH_CONTENT_FILTER)
        truncate_here(run, "content_filter");
    else
        end_whole_turn(run);
    run_pump(run);
}

/* The code that OpenAI's error objects have for a failure of the model. Applications compare it, so the
 * upstream's own counts if it has one. */
static const char *error_code(const struct err *error)
{
    if (error->word)
        return error->word;
    switch (error->code) {
    case ERR_LIMIT: return "rate_limit_exceeded";
    case ERR_INVALID: return "invalid_prompt";
    default: return "server_error";
    }
}

/* An upstream's refusal is written for the client, and is passed on. All other texts may name
 * addresses of the operator's network: they are for the log. */
static const char *public_text(const struct err *error)
{
    switch (error->code) {
    case ERR_LIMIT:
    case ERR_INVALID: return error->text;
    case ERR_TIMEOUT: return "The model did not answer in time.";
    default: return "The model failed to answer.";
    }
}

void run_model_failed(struct run *run, const struct model_failure *failure)
{
    const struct err *error = &failure->err;
    struct run_failure shown = {.kind = error->code,
                                .code = error_code(error),
                                .message = public_text(error),
                                .retry_after_ns = failure->retry_after_ns};
    AUTO_FREE char *no_model = NULL;

    run->turn.model = NULL;
    run->chain.failed = run->turn.last_answer ? CHAIN_FINAL_RESPONSE : CHAIN_LLM_RESPONSE;
    log_info("run %s: %s", run->row.id, error->text);
    if (error->reason == REASON_NO_MODEL) {
        /* The same text as for a model that no upstream of the table serves. */
        no_model = mem_printf("The requested model '%s' does not exist.", run->settings.model);
        shown.code = RUN_NO_MODEL;
        shown.message = no_model;
    }
    run_fail_as(run, &shown);
    run_pump(run);
}

static void take_failure(void *arg, const struct model_failure *failure)
{
    struct run *run = arg;

    if (failure->usage.known)
        count_tokens(run, &failure->usage);
    if (!run_reasoning_refused(run, &failure->err)) {
        run_model_failed(run, failure);
        return;
    }
    run->turn.model = NULL;
    run_begin_turn(run);
    run_pump(run);
}

#define EVENTS                                                                                 \
    .text = take_text, .reasoning = take_reasoning, .reasoning_member = take_reasoning_member, \
    .reasoning_detail = take_reasoning_detail, .refusal = take_refusal,                        \
    .summary = take_summary, .annotation = take_annotation, .logprobs = take_logprobs,         \
    .part_end = take_part_end, .item_end = take_item_end, .call_begin = take_call_begin,       \
    .call_arguments = take_call_arguments, .call_extra = take_call_extra,                      \
    .call_end = take_call_end, .read_end = take_read_end, .done = take_done,                   \
    .failed = take_failure

static const struct model_events events = {EVENTS};

/* For a request that has passed a tool on. */
static const struct model_events passing_events = {EVENTS, .hosted = &run_passed_events};

/* ---- The request ---- */

/* One that an earlier owner began. It replaces nothing, and the input before it is still new. */
static bool is_cut_compaction(const struct item_row *item)
{
    return item->type == ITEM_COMPACTION && item->hidden;
}

/* Which items the model has answered, and may therefore see cut (context/long_messages.h). That depends
 * on the whole list, so it is decided here, before anything is left out. */
static void mark_answered(const struct run *run, const struct item_row *const *items,
                          size_t count)
{
    size_t past = long_message_past(items, count);
    size_t at = 0;

    for (size_t i = 0; i < run->history_count && at < past; i++) {
        if (is_cut_compaction(&run->history[i]))
            continue;
        run->history[i].answered = true;
        at++;
    }
    for (size_t i = 0; i < run->items.count && at < past; i++) {
        if (!run->items.list[i]->open) {
            run->items.list[i]->row.answered = true;
            at++;
        }
    }
}

const struct item_row **run_gather_items(const struct run *run, size_t *ret_count)
{
    size_t count = run->history_count + run->items.count;
    const struct item_row **items = mem_zeroed(count, sizeof(*items));
    size_t used = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        if (!is_cut_compaction(&run->history[i]))
            items[used++] = &run->history[i];
    }
    for (size_t i = 0; i < run->items.count; i++) {
        if (!run->items.list[i]->open)
            items[used++] = &run->items.list[i]->row;
    }
    mark_answered(run, items, used);
    *ret_count = used;
    return items;
}

/* Calls that the upstream executes count, too. When none is left, it is not offered them. */
static void limit_passed(const struct run *run, json_t *chat)
{
    int64_t left = chain_calls_left(&run->chain);
    json_t *tools = json_object_get(chat, "tools");

    if (left == INT64_MAX || !tool_set_passes(&run->tools))
        return;
    if (left > 0) {
        json_set_int(chat, "max_tool_calls", left);
        return;
    }
    for (size_t i = json_array_size(tools); i-- > 0;) {
        if (!json_object_get(json_array_get(tools, i), "function"))
            json_array_remove(tools, i);
    }
    if (json_array_size(tools))
        return;
    json_object_del(chat, "tools");
    json_object_del(chat, "tool_choice");
    json_object_del(chat, "parallel_tool_calls");
}

/* How many of the items are sent as the text of run->past. It is the text of the whole beginning of the history, in
 * full form, for Chat Completions. A hook must see all messages. */
static size_t rendered_items(const struct run *run, const struct context *context,
                             const struct item_row *const *items, size_t count)
{
    const struct past_text *past = run->past;

    if (!past || !past->length || context->compact ||
        engine_options(run->engine)->before_send ||
        run->turn.upstream->dialect != MODEL_DIALECT_CHAT || run->turn.upstream->passes ||
        long_message_rule(context->settings, context->tools).limit ||
        context->settings->last_messages || context->settings->template_messages)
        return 0;
    if (count < past->items || items[0] != &run->history[0] ||
        items[past->items - 1] != &run->history[past->items - 1])
        return 0;
    return past->items;
}

/* Some upstreams want reasoning with every message that has calls, as soon as one has some. */
static bool changes_past(const struct run *run, unsigned flags, const json_t *messages)
{
    return run->past->calls &&
           (flags & CONTEXT_FILL_REASONING || past_reasoning_is_content(messages));
}

/* The request with these items. Those that were rendered before are not rendered again. */
static json_t *request_of_items(struct run *run, const struct context *context,
                                const struct item_row *const *items, size_t count,
                                unsigned flags)
{
    size_t rendered = rendered_items(run, context, items, count);
    json_t *chat, *messages;

    for (;;) {
        chat = context_request(run->row.id, context->settings, context->tools, items + rendered,
                               count - rendered, flags, run->turn.upstream->name);
        messages = json_object_get(chat, "messages");
        if (!rendered)
            return chat;
        if (!changes_past(run, flags, messages))
            break;
        json_decref(chat);
        rendered = 0;
    }
    run->turn.past = (struct json_splice){
        .key = "messages",
        .at = context_instructions(context->settings, context->tools),
        .text = run->past->bytes,
        .length = run->past->length,
    };
    return chat;
}

/* NULL when the run's tokens do not suffice for it. */
static json_t *build_request(struct run *run, struct run_settings *settings)
{
    size_t count;
    AUTO_FREE const struct item_row **items = run_gather_items(run, &count);
    struct context context = run_context(run);
    json_auto_t *updates = NULL;
    unsigned flags = 0;
    json_t *chat;

    configuration_updates_apply(items, count, settings, &updates);
    context.settings = settings;
    run_count_items(run); /* after mark_answered(): a message that is cut costs less */
    context_fit(&context, items, &count);
    if (!budget_fit(&run->budget, &context, items, &count))
        return NULL;
    if (run->turn.last_answer)
        flags |= CONTEXT_LAST_ANSWER;
    if (run->turn.choice_spent)
        flags |= CONTEXT_CHOICE_SPENT;
    flags |= run_reasoning_flags(run);
    if (run->turn.upstream->passes)
        flags |= CONTEXT_PASSED;
    if (context.compact)
        flags |= CONTEXT_COMPACT;
    chat = request_of_items(run, &context, items, count, flags);
    run->turn.gave_back = past_reasoning_is_in(json_object_get(chat, "messages"));
    limit_passed(run, chat);
    if (run->turn.last_answer)
        json_array_append_new(json_object_get(chat, "messages"),
                              chain_final_prompt(&run->chain));
    return chat;
}

void run_begin_turn(struct run *run)
{
    const struct engine_options *options = engine_options(run->engine);
    const char *model = run->settings.model;
    const struct model_upstream *upstream =
        model_upstream_find(options->upstreams, options->upstream_count, model);
    const char *spent = budget_spent(&run->budget);
    struct run_settings settings;
    json_t *request;

    if (run->life != RUN_ALIVE)
        return;
    if (run->drain_wanted && run_is_resumable(run)) {
        run_release(run);
        return;
    }
    /* Steering is accepted from the first turn on. The run ends here as incomplete, and
     * another response continues it with the added input. */
    if (run->steered) {
        run_truncate(run, "steered");
        return;
    }
    if (FAULT("run.ask")) {
        run_fail(run, "server_error", "The model could not be asked.");
        return;
    }
    if (!upstream) {
        AUTO_FREE char *text = mem_printf("The requested model '%s' does not exist.", model);

        run_fail(run, "server_error", text);
        return;
    }
    /* Nothing of the last turn is needed any more: its calls are items now. */
    run_clear_calls(run);
    run->turn.next_model_index = 0;
    json_decref(TAKE(run->turn.logprobs));
    run->turn.reasoning_member = NULL;
    run->turn.passed = (struct run_passed){0};
    run->turn.past = (struct json_splice){0};
    run->turn.upstream = upstream;
    run_open_citations(run);
    run_open_made(run);
    if (run_must_compact(run)) {
        run_compact(run);
        return;
    }
    run->turn.last_answer = run->chain.stop != CHAIN_CONTINUES;
    settings = budget_settings(&run->budget, &run->settings);
    request = spent ? NULL : build_request(run, &settings);
    if (!request) {
        run_truncate(run, spent ? spent : "max_prompt_tokens");
        return;
    }
    run_send(run, request, tool_set_passes(&run->tools) ? &passing_events : &events);
}

void run_forget_held(struct run *run)
{
    for (size_t i = 0; i < run->turn.held_count; i++)
        buf_clear(&run->turn.held[i].text);
    free(TAKE(run->turn.held));
    run->turn.held_count = 0;
    json_decref(TAKE(run->turn.held_details));
}

void run_stop_model(struct run *run)
{
    run_stop_sending(run);
    if (run->turn.model)
        model_turn_cancel(TAKE(run->turn.model));
}
