/*
 * The reasoning of a turn.
 *
 * A Chat Completions upstream may want its reasoning back (context/past_reasoning.h). What that takes is
 * noted in the item when it closes. Entries of reasoning_details may come at any time. They are noted in the
 * item that is open: one of reasoning, or a message. While a call is open they wait, and without an open
 * item they begin one of reasoning, which is empty for clients. So Gemini's sealed thoughts are stored
 * although they have no text.
 *
 * Such upstreams send no summaries. A client that wants one, and may show nothing else, gets the beginning
 * of the text. It comes when the reasoning is over, because at most one part of an item is open.
 * To request a summary from the model would double the time and the cost of each turn.
 *
 * No setting fits all upstreams. Groq refuses the `reasoning` of some of its models; Kimi K2.5 refuses a
 * history in which another model called tools. So a refusal that speaks of reasoning is answered once, with
 * a request that does the contrary. The run keeps to that. It is not remembered for the upstream, because it
 * depends on the model and on the history. An operator who said `always` or `never` gets that.
 */

#include "core/run/turn/run.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/context/past_reasoning.h"

/* ---- Details ---- */

static bool is_open(const struct run *run, enum item_type type)
{
    return run->items.open && run->items.open->row.type == type;
}

static void note_detail(struct run *run, const json_t *detail)
{
    if (!is_open(run, ITEM_MESSAGE) && !is_open(run, ITEM_REASONING)) {
        run_close_item(run, ITEM_COMPLETED);
        run_open_item(run, run_new_item(run, ITEM_REASONING));
    }
    past_reasoning_note_detail(run->items.open, run->turn.upstream->name, detail);
}

void run_take_reasoning_detail(struct run *run, const json_t *detail)
{
    json_auto_t *copy = NULL;

    if (!run_call_is_open(run)) {
        note_detail(run, detail);
        return;
    }
    if (!run->turn.held_details)
        run->turn.held_details = json_array();
    copy = json_deep_copy(detail);
    json_array_append(run->turn.held_details, copy);
}

void run_add_held_details(struct run *run)
{
    json_auto_t *held = TAKE(run->turn.held_details);
    size_t i;
    json_t *detail;

    json_array_foreach (held, i, detail)
        note_detail(run, detail);
}

/* ---- The end of an item ---- */

/* How much of the text is the summary: all of it, or as many whole words as fit. */
static size_t summary_length(const char *text, size_t length)
{
    size_t fit, word;

    if (length <= RUN_SUMMARY_LIMIT)
        return length;
    fit = word = utf8_fit(text, RUN_SUMMARY_LIMIT);
    while (word && !strchr(" \t\r\n", text[word]))
        word--;
    return word ? word : fit;
}

static void add_summary(struct run *run, const char *text, size_t length)
{
    size_t shown = summary_length(text, length);

    run_open_part(run, PART_SUMMARY);
    run_add_text(run, text, shown);
    if (shown < length)
        run_add_text(run, " …", strlen(" …"));
    run_close_part(run);
}

static bool has_part(const struct item *item, enum part_kind kind)
{
    for (unsigned i = 0; i < item->part_count; i++) {
        if (item->parts[i].kind == kind && item->parts[i].text.length)
            return true;
    }
    return false;
}

/* A copy, because the parts move when one is added. */
static void make_summary(struct run *run)
{
    const struct item *item = run->items.open;
    AUTO_BUF text = {0};

    if (!run->settings.reasoning_summary || has_part(item, PART_SUMMARY))
        return;
    for (unsigned i = 0; i < item->part_count; i++)
        buf_add(&text, item->parts[i].text.data, item->parts[i].text.length);
    if (text.length)
        add_summary(run, text.data, text.length);
}

static void seal(struct run *run, struct item *item)
{
    AUTO_FREE char *sealed =
        past_reasoning_sealed(engine_options(run->engine)->seal, &run->tenant, item);

    if (sealed)
        item_set_field(item, "encrypted_content", json_string(sealed));
}

void run_finish_reasoning(struct run *run)
{
    struct item *item = run->items.open;
    const struct model_upstream *upstream = run->turn.upstream;

    make_summary(run);
    if (upstream->dialect != MODEL_DIALECT_CHAT)
        return;
    if (run->turn.reasoning_member && has_part(item, PART_REASONING))
        past_reasoning_note(item, upstream->name, run->turn.reasoning_member);
    if (run->settings.includes & RUN_INCLUDE_REASONING)
        seal(run, item);
}

/* ---- The request ---- */

unsigned run_reasoning_flags(const struct run *run)
{
    unsigned flags = context_reasoning(run->turn.upstream);

    if (run->turn.giving_back == RUN_GIVES_BACK_NONE)
        return 0;
    if (flags & (CONTEXT_GIVE_BACK | CONTEXT_GIVE_BACK_ALL) &&
        run->turn.giving_back == RUN_GIVES_BACK_MORE)
        flags |= CONTEXT_FILL_REASONING;
    return flags;
}

/* DeepSeek: "The `reasoning_content` in the thinking mode must be passed back to the API." Moonshot:
 * "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2". */
static bool says_missing(const char *text)
{
    return strstr(text, "reasoning_content") &&
           (strstr(text, "passed back") || strcasestr(text, "missing"));
}

/* Nothing of the turn's answer has come. */
static bool is_untouched(const struct run *run)
{
    const struct item *last = run->items.count ? run->items.list[run->items.count - 1] : NULL;

    return !last || last->row.turn != run->row.turn;
}

bool run_reasoning_refused(struct run *run, const struct err *error)
{
    const struct model_upstream *upstream = run->turn.upstream;
    bool missing = says_missing(error->text);

    if (error->code != ERR_INVALID || upstream->dialect != MODEL_DIALECT_CHAT ||
        upstream->reasoning != MODEL_REASONING_AUTO ||
        run->turn.giving_back != RUN_GIVES_BACK || !is_untouched(run))
        return false;
    if (!missing && !(run->turn.gave_back && strstr(error->text, "reasoning")))
        return false;
    log_warn("run %s: the upstream %s wants %s reasoning, and gets the request again: %.200s",
             run->row.id, upstream->name, missing ? "more" : "no", error->text);
    run->turn.giving_back = missing ? RUN_GIVES_BACK_MORE : RUN_GIVES_BACK_NONE;
    return true;
}
