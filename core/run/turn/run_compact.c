/*
 * Compaction: the model writes a summary of the conversation. Later requests send the summary instead,
 * together with messages that are kept word for word (context/compaction.h).
 *
 * A compaction is a turn of the model like any other, with a request, usage and an end. But its answer is
 * not emitted. It is collected, and becomes one item, which opens with the first word. So most callbacks of
 * the answer do nothing here.
 *
 * It happens before a request, when the context has reached the threshold of the run's request, or of
 * its upstream. Or it is all that the run was made for (settings.compact). `turn.compacted` keeps a
 * context that is still too long after a compaction from being compacted again and again.
 *
 * The summary is made from the whole context, as far as the model can read it. Limits of the request
 * are lifted for it: after the compaction only the summary is left, so what it does not cover is lost
 * for the conversation. Its tokens count in the run's usage, but do not use up the request's limits.
 *
 * A summary that was not finished is in no row and in no frame. Its item is closed as cut, in this process
 * (run_items.c) or by the next owner, and is in no output and no later request. The next owner compacts
 * anew.
 *
 * Rejected: to cut the oldest items instead. Requests that want that say so (truncation: auto), and
 * context_fit() does it.
 */

#include "core/run/turn/run.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/compaction.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/context/context_items.h"
#include "core/run/context/context_request.h"

/* Clients see progress once for so many bytes of a summary. An event for each piece would fill the log. */
#define PROGRESS_BYTES ((size_t)1024)

/* Where the request names no threshold: four fifths of what the model can read. */
#define THRESHOLD(context_tokens) ((context_tokens) / 10 * 8)

/* ---- Whether ---- */

/* The run was made for the compaction alone. */
static bool is_requested(const struct run *run)
{
    return run->settings.compact != RUN_COMPACT_UNASKED;
}

/* In tokens; 0: never. */
static int64_t threshold_of(const struct run *run)
{
    int64_t threshold = run->settings.compact_threshold;

    if (!run->settings.compacts)
        return 0;
    return threshold ? threshold : THRESHOLD(run->turn.upstream->context_tokens);
}

struct context run_context(struct run *run)
{
    return (struct context){.upstream = run->turn.upstream,
                            .run_id = run->row.id,
                            .settings = &run->settings,
                            .tools = &run->tools,
                            .compact = run_is_compact(run),
                            .frame = &run->turn.frame};
}

bool run_is_compact(const struct run *run)
{
    return context_is_compact(&run->settings, engine_options(run->engine)->history);
}

/* Whether some items are sent shorter than they are stored, so that their rows do not say their length. */
static bool shortens_items(const struct context *context)
{
    return context->compact || long_message_rule(context->settings, context->tools).limit;
}

/* Counting is not free, so it is done only for what will be used: in tokens if the context may be
 * truncated or compacted, in bytes if a budget has to know the length of what is shortened. Only items of
 * the history are shortened: it has all turns that are over. */
void run_count_items(struct run *run)
{
    const struct context context = run_context(run);

    if (!context_is_counted(run->turn.upstream, &run->settings)) {
        if (shortens_items(&context) && budget_limits_prompts(&run->budget))
            context_count(&context, CONTEXT_BYTES, run->history, run->history_count);
        return;
    }
    context_count(&context, CONTEXT_TOKENS, run->history, run->history_count);
    for (size_t i = 0; i < run->items.count; i++) {
        struct item *item = run->items.list[i];

        if (item->open)
            continue;
        context_count_item(run->turn.upstream->tokenizer, &item->row);
        context_count_reasoning(&context, &item->row);
    }
}

/* Some item would become shorter: it is neither new nor a compaction already. Without this, a long new
 * message alone would be compacted before each request. */
static bool is_worthwhile(const struct run *run, const struct item_row *const *items,
                          size_t count)
{
    AUTO_FREE bool *newest = mem_new_array(bool, count + 1);

    context_mark_newest(items, count, run->row.id, newest);
    for (size_t i = 0; i < count; i++) {
        if (!newest[i] && !compaction_is_whole(items[i]))
            return true;
    }
    return false;
}

bool run_must_compact(struct run *run)
{
    struct context context = run_context(run);
    int64_t threshold = threshold_of(run);
    AUTO_FREE const struct item_row **items = NULL;
    size_t count, first;

    if (run->turn.compacted || is_requested(run) || threshold <= 0)
        return !run->turn.compacted && is_requested(run);
    items = run_gather_items(run, &count);
    run_count_items(run);
    first = context_window(items, count);
    context_order(items + first, count - first);
    return context_total(&context, items + first, count - first) >= threshold &&
           is_worthwhile(run, items + first, count - first);
}

/* ---- The item ---- */

/* A threshold below twice COMPACTION_KEEP_TOKENS would be reached by the kept messages again. Then half
 * of the threshold is kept. */
static json_t *new_content(struct run *run)
{
    size_t count;
    AUTO_FREE const struct item_row **items = run_gather_items(run, &count);
    size_t first = context_window(items, count);
    int64_t threshold = threshold_of(run);
    bool small = threshold && threshold / 2 < COMPACTION_KEEP_TOKENS;
    const struct compaction compaction = {
        .kind =
            run->settings.compact == RUN_COMPACT_WINDOW ? COMPACTION_PART : COMPACTION_WHOLE,
        .tokenizer = run->turn.upstream->tokenizer,
        .keep_tokens = small ? threshold / 2 : COMPACTION_KEEP_TOKENS,
        .run_id = run->row.id,
        .items = items + first,
        .count = count - first,
    };

    return compaction_content(&compaction, run->turn.summary.data);
}

/* Its content is not known yet, so it opens without. */
static void open_item(struct run *run)
{
    struct item *item = run_new_item(run, ITEM_COMPACTION);

    item->fields = json_build("{s:s}", "encrypted_content", "");
    run_open_item(run, item);
}

static void finish_item(struct run *run)
{
    json_auto_t *content = new_content(run);
    struct item *item = run->items.open;

    json_decref(item->fields);
    item->fields = compaction_body(engine_options(run->engine)->seal, &run->tenant, content);
    item->metadata = json_build("{s:O}", "compaction", content);
    run_close_item(run, ITEM_COMPLETED);
}

/* The tokens of the summary are used, but not from the request's limits: the limits grow by them. */
static void count_usage(struct run *run, const struct model_usage *usage)
{
    struct budget *budget = &run->budget;

    budget->sent_weight = 0;
    budget_add(budget, usage);
    if (budget->prompt != INT64_MAX)
        budget->prompt += usage->input;
    if (budget->completion != INT64_MAX)
        budget->completion += usage->output;
}

/* ---- The turn ---- */

/* As by OpenAI only for a compaction that was requested: older versions of its strict stream helper for Node do
 * not know the event. The others see that the item is open. */
static void show_progress(struct run *run)
{
    if (is_requested(run))
        run_emit(run, &(struct run_event){.kind = RUN_EVENT_STAGE,
                                          .item = run->items.open,
                                          .name = "compacting"});
    run_pump(run);
}

static void take_text(void *arg, const char *text, size_t length)
{
    struct run *run = arg;
    struct buf *summary = &run->turn.summary;
    size_t before = summary->length;

    buf_add(summary, text, length);
    if (!before)
        open_item(run);
    if (!before || before / PROGRESS_BYTES != summary->length / PROGRESS_BYTES)
        show_progress(run);
}

static void ignore_text(void *arg, const char *text, size_t length)
{
    (void)arg;
    (void)text;
    (void)length;
}

static void ignore_annotation(void *arg, const json_t *annotation)
{
    (void)arg;
    (void)annotation;
}

static void ignore_logprobs(void *arg, json_t *tokens)
{
    (void)arg;
    (void)tokens;
}

static void ignore_part_end(void *arg)
{
    (void)arg;
}

static void ignore_item_end(void *arg, const struct model_item *item)
{
    (void)arg;
    (void)item;
}

static void ignore_reasoning_member(void *arg, const char *member)
{
    (void)arg;
    (void)member;
}

static void ignore_call_begin(void *arg, unsigned call, const char *id, const char *name)
{
    (void)arg;
    (void)call;
    (void)id;
    (void)name;
}

static void ignore_call_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    (void)call;
    ignore_text(arg, text, length);
}

static void ignore_call_extra(void *arg, unsigned call, const json_t *extra)
{
    (void)arg;
    (void)call;
    (void)extra;
}

static void ignore_call_end(void *arg, unsigned call)
{
    (void)arg;
    (void)call;
}

/* Nothing is shown before the end. */
static void ignore_read_end(void *arg)
{
    (void)arg;
}

static void take_done(void *arg, enum model_finish finish, const struct model_usage *usage)
{
    struct run *run = arg;

    run->turn.model = NULL;
    count_usage(run, usage);
    if (finish == MODEL_FINISH_CONTENT_FILTER || !run->turn.summary.length) {
        run_fail(run, "server_error", "The model did not summarize the conversation.");
    } else {
        finish_item(run);
        run->turn.compacted = true;
        run_end_turn(run);
        if (is_requested(run))
            run_finish(run);
        else
            run_begin_turn(run);
    }
    run_pump(run);
}

static void take_failure(void *arg, const struct model_failure *failure)
{
    if (failure->usage.known)
        count_usage(arg, &failure->usage);
    run_model_failed(arg, failure);
}

static const struct model_events events = {
    .text = take_text,
    .reasoning = ignore_text,
    .reasoning_member = ignore_reasoning_member,
    .reasoning_detail = ignore_annotation,
    .refusal = ignore_text,
    .summary = ignore_text,
    .annotation = ignore_annotation,
    .logprobs = ignore_logprobs,
    .part_end = ignore_part_end,
    .item_end = ignore_item_end,
    .call_begin = ignore_call_begin,
    .call_arguments = ignore_call_arguments,
    .call_extra = ignore_call_extra,
    .call_end = ignore_call_end,
    .read_end = ignore_read_end,
    .done = take_done,
    .failed = take_failure,
};

/* The whole context, as far as the model can read it. */
static json_t *build_request(struct run *run, const struct run_settings *settings)
{
    struct context context = run_context(run);
    size_t count;
    AUTO_FREE const struct item_row **items = run_gather_items(run, &count);
    json_t *request;

    context.settings = settings;
    context.compact = false; /* a summary is made from the items, not from their logs */
    context.frame = NULL;    /* the noted frame has tools, and this request has none */
    /* The cost of an item is noted in its row: it is counted once, however often this is tried. */
    if (run->turn.upstream->context_tokens)
        context_count_each(&context, run->history, run->history_count);
    context_fit(&context, items, &count);
    request =
        context_request(run->row.id, settings, &run->tools, items, count,
                        CONTEXT_LAST_ANSWER | CONTEXT_CHOICE_SPENT | run_reasoning_flags(run),
                        run->turn.upstream->name);
    compaction_add_prompt(request);
    return request;
}

/* Settings that would shorten the summary or what it is made from are lifted. Only what the model cannot
 * read is left out. */
void run_compact(struct run *run)
{
    struct run_settings settings = run->settings;

    settings.max_completion_tokens = RUN_NO_LIMIT;
    settings.truncates = true;
    settings.message_limit = 0;
    buf_reset(&run->turn.summary);
    run_send(run, build_request(run, &settings), &events);
}
