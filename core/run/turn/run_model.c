/*
 * A turn of the model: the conversation goes up, and what comes down becomes items as it comes.
 */

#include "core/run/turn/run.h"

#include <assert.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"

/* ---- What the model says ---- */

/* Some models talk on while they write a call. What they say meanwhile waits: the call's item is
 * open, and items come one after another. */
static bool held_back(struct run *run, enum part_kind kind, const char *text, size_t length)
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

/* A message is open and takes this kind of text next. */
static void want_message(struct run *run, enum part_kind kind)
{
    struct item *item = run->items.open;

    if (!item || item->row.type != ITEM_MESSAGE) {
        run_close_item(run, ITEM_COMPLETED);
        run_open_item(run, run_new_item(run, ITEM_MESSAGE));
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

static void say(struct run *run, enum part_kind kind, const char *text, size_t length)
{
    if (held_back(run, kind, text, length))
        return;
    if (kind == PART_REASONING || kind == PART_SUMMARY)
        want_reasoning(run, kind);
    else
        want_message(run, kind);
    run_add_text(run, text, length);
}

/* What waited for the end of a call. */
static void say_held(struct run *run)
{
    for (size_t i = 0; i < run->turn.held_count; i++) {
        const struct buf *text = &run->turn.held[i].text;

        say(run, run->turn.held[i].kind, text->data, text->length);
    }
    run_forget_held(run);
}

static void take_text(void *arg, const char *text, size_t length)
{
    say(arg, PART_TEXT, text, length);
    run_pump(arg);
}

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
    say(arg, PART_REFUSAL, text, length);
    run_pump(arg);
}

static void take_reasoning(void *arg, const char *text, size_t length)
{
    say(arg, PART_REASONING, text, length);
    run_pump(arg);
}

static void take_summary(void *arg, const char *text, size_t length)
{
    say(arg, PART_SUMMARY, text, length);
    run_pump(arg);
}

/* Of what was said before a call began there is nothing left to annotate. */
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

/* Reasoning goes back to the upstream that made it in the form in which it came; the client sees
 * that form if it asked for it. */
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

static void take_call_begin(void *arg, unsigned call, const char *id, const char *name)
{
    struct run *run = arg;

    assert(call == run->calls.count);
    run_begin_call(run, id, name);
    run_pump(run);
}

static void take_call_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    struct run *run = arg;

    run_add_arguments(run, call, text, length);
    run_pump(run);
}

static void take_call_extra(void *arg, unsigned call, const json_t *extra)
{
    run_add_extra(arg, call, extra);
}

static void take_call_end(void *arg, unsigned call)
{
    struct run *run = arg;

    run_end_call(run, call);
    say_held(run);
    run_pump(run);
}

/* ---- The end of the turn ---- */

static json_t *usage_object(const struct model_usage *usage)
{
    return json_build("{s:I, s:I, s:I}", "input_tokens", (json_int_t)usage->input,
                      "output_tokens", (json_int_t)usage->output, "total_tokens",
                      (json_int_t)(usage->input + usage->output));
}

/* The tokens of a turn stand in the step that closes next: the message's, or that of the calls. A
 * step that waits for the client shows them already. */
static void settle_step(struct run *run, const struct model_usage *usage)
{
    free(run->turn.usage);
    {
        json_auto_t *tokens = usage_object(usage);

        run->turn.usage = json_text(tokens);
    }
    if (run->items.step && run->items.step->row.type == STEP_TOOL_CALLS) {
        free(run->items.step->row.usage);
        run->items.step->row.usage = TAKE(run->turn.usage);
        run_put_step(run, &run->items.step->row);
    }
}

/* Something that a user can read. */
static bool says_something(const struct item *item)
{
    static const char blanks[] = " \t\r\n";

    for (unsigned i = 0; i < item->part_count; i++) {
        const struct buf *text = &item->parts[i].text;

        if (text->length && strspn(text->data, blanks) < text->length)
            return true;
    }
    return false;
}

bool run_has_answered(const struct run *run)
{
    for (size_t i = run->items.count; i-- > 0;) {
        const struct item *item = run->items.list[i];

        if (item->row.turn != run->row.turn)
            break;
        if (item->row.type == ITEM_MESSAGE && says_something(item))
            return true;
    }
    return false;
}

/* Tools were called here, or the answer was demanded, and then nothing was said. */
static bool ends_in_silence(const struct run *run)
{
    return (run->chain.rounds || run->turn.last_answer) && !run_has_answered(run);
}

/* Once. */
static void ask_to_speak(struct run *run)
{
    if (run->turn.last_answer) {
        run_truncate(run, "max_output_tokens");
        return;
    }
    run->chain.stop = CHAIN_SILENT;
    run_end_turn(run);
    run_ask_model(run);
}

/* All of it was said, but perhaps too much: of a run, then, nothing more comes. A response may end. */
static void end_whole_turn(struct run *run)
{
    const char *exceeded = run_is_assistants(run) ? budget_exceeded(&run->budget) : NULL;

    run_close_item(run, ITEM_COMPLETED);
    if (run->items.step && run->items.step->row.type == STEP_MESSAGE)
        run_close_step(run, STEP_COMPLETED);
    if (exceeded)
        run_truncate(run, exceeded);
    else if (run->calls.count)
        run_dispatch_tools(run);
    else if (ends_in_silence(run))
        ask_to_speak(run);
    else
        run_finish(run);
}

static void take_done(void *arg, enum model_finish finish, const struct model_usage *usage)
{
    struct run *run = arg;

    run->turn.model = NULL;
    run->turn.compacted = false;
    budget_add(&run->budget, usage);
    chain_add_turn(&run->chain, run->row.turn, usage);
    settle_step(run, usage);
    (void)FAULT("run.turn_done"); /* a place to die: said, and not stored */
    if (finish == MODEL_FINISH_LENGTH) {
        run_truncate(run, "max_output_tokens");
    } else if (finish == MODEL_FINISH_CONTENT_FILTER) {
        run_truncate(run, "content_filter");
    } else {
        end_whole_turn(run);
    }
    run_pump(run);
}

/* The word that OpenAI's error objects have for what went wrong upstream. */
static const char *error_code(const struct err *error)
{
    switch (error->code) {
    case ERR_LIMIT: return "rate_limit_exceeded";
    case ERR_INVALID: return "invalid_prompt";
    default: return "server_error";
    }
}

/* What an upstream itself says is passed on; what we say of it names our own network, and is for
 * the log. */
static const char *public_text(const struct err *error)
{
    switch (error->code) {
    case ERR_LIMIT:
    case ERR_INVALID: return error->text;
    case ERR_TIMEOUT: return "The model did not answer in time.";
    default: return "The model failed to answer.";
    }
}

/* In the words that somebody hears whose model no upstream serves. */
static void fail_without_model(struct run *run)
{
    AUTO_FREE char *text =
        mem_printf("The requested model '%s' does not exist.", run->settings.model);

    run_fail(run, RUN_NO_MODEL, text);
}

void run_model_failed(struct run *run, const struct err *error)
{
    run->turn.model = NULL;
    run->chain.failed = run->turn.last_answer ? CHAIN_FINAL_RESPONSE : CHAIN_LLM_RESPONSE;
    log_info("run %s: %s", run->row.id, error->text);
    if (error->reason == REASON_NO_MODEL)
        fail_without_model(run);
    else
        run_fail(run, error_code(error), public_text(error));
    run_pump(run);
}

static void take_failure(void *arg, const struct err *error)
{
    run_model_failed(arg, error);
}

static const struct model_events events = {
    .text = take_text,
    .reasoning = take_reasoning,
    .refusal = take_refusal,
    .summary = take_summary,
    .annotation = take_annotation,
    .logprobs = take_logprobs,
    .part_end = take_part_end,
    .item_end = take_item_end,
    .call_begin = take_call_begin,
    .call_arguments = take_call_arguments,
    .call_extra = take_call_extra,
    .call_end = take_call_end,
    .done = take_done,
    .failed = take_failure,
};

/* ---- Asking ---- */

/* Here, where nothing was left out yet. */
static void mark_answered(const struct run *run, const struct item_row *const *items,
                          size_t count)
{
    size_t past = long_message_past(items, count);
    size_t at = 0;

    for (size_t i = 0; i < run->history_count && at < past; i++, at++)
        run->history[i].answered = true;
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

    for (size_t i = 0; i < run->history_count; i++)
        items[used++] = &run->history[i];
    for (size_t i = 0; i < run->items.count; i++) {
        if (!run->items.list[i]->open)
            items[used++] = &run->items.list[i]->row;
    }
    mark_answered(run, items, used);
    *ret_count = used;
    return items;
}

/* NULL when there are not enough tokens left for it. */
static json_t *build_request(struct run *run, const struct run_settings *settings)
{
    size_t count;
    AUTO_FREE const struct item_row **items = run_gather_items(run, &count);
    struct context context = run_context(run);
    unsigned flags = 0;
    json_t *chat;

    context.settings = settings;
    run_count_items(run); /* once it is marked what was answered */
    context_fit(&context, items, &count);
    if (!budget_fit(&run->budget, &context, items, &count))
        return NULL;
    if (run->turn.last_answer)
        flags |= CONTEXT_LAST_ANSWER;
    if (run->turn.choice_spent)
        flags |= CONTEXT_CHOICE_SPENT;
    if (run->turn.upstream->dialect == MODEL_DIALECT_RESPONSES)
        flags |= CONTEXT_REASONING;
    if (context.compact)
        flags |= CONTEXT_COMPACT;
    chat = context_request(run->row.id, settings, &run->tools, items, count, flags,
                           run->turn.upstream->name);
    if (run->turn.last_answer)
        json_array_append_new(json_object_get(chat, "messages"),
                              chain_final_prompt(&run->chain));
    return chat;
}

void run_ask_model(struct run *run)
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
    /* Steering is accepted once the first turn has begun: this is the next. */
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
    run_clear_calls(run);
    run->turn.next_model_index = 0;
    json_decref(TAKE(run->turn.logprobs));
    run->turn.upstream = upstream;
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
    run_send(run, request, &events);
}

void run_forget_held(struct run *run)
{
    for (size_t i = 0; i < run->turn.held_count; i++)
        buf_clear(&run->turn.held[i].text);
    free(TAKE(run->turn.held));
    run->turn.held_count = 0;
}

void run_stop_model(struct run *run)
{
    run_stop_sending(run);
    if (run->turn.model)
        model_turn_cancel(TAKE(run->turn.model));
}
