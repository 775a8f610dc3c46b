/*
 * past_text.c -- what a history is sent as, kept as bytes.
 *
 * context.c says why messages are not kept between turns: there would be two histories, which differ after a
 * crash, a branch or a compaction. This text is no second history. It is made of the rows of runs that have ended,
 * which nothing changes any more, and it is dropped with them (server/api/responses/past_cache.h). What could depend on
 * the rest of a request is not plain:
 *
 *   a call without an output         an output may come later, and the call is then sent with it
 *   reasoning, its notes             goes back to its maker only
 *   what an upstream has attached    the same
 *   a result that is withheld        a person may approve it
 *   a compaction, a changed setting  decides what is sent of the items before
 *   pictures and files               they are loaded for each request
 *
 * One thing is left for the request to check: some upstreams want reasoning with every message that has calls.
 * `calls` says whether there are any.
 *
 * The slow twin is context_make_messages(), which also renders this text. The unit test compares both.
 */

#include "core/run/context/past/past_text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/call_outputs.h"
#include "core/run/context/context.h"
#include "core/run/context/context_items.h"
#include "core/run/context/past_calls.h"

struct text {
    struct past_text shown; /* first: what holders see */
    atomic_size_t holders;
    struct buf bytes;
};

/* Keys of notes on which it depends what is sent, and to whom. A quote within a string of the body has a backslash
 * before it, so a text never looks like one of them. */
static bool has_deciding_notes(const char *body)
{
    static const char *const keys[] = {
        "\"extra_content\":", "\"reasoning\":",     "\"upstream\":",
        "\"cut\":",           "\"model_visible\":", "\"async\":"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strstr(body, keys[i]))
            return true;
    }
    return false;
}

static bool is_plain(const struct item_row *row, bool answered)
{
    json_auto_t *body = NULL;

    if (has_deciding_notes(row->body))
        return false;
    if (row->type == ITEM_MESSAGE || row->type == ITEM_MCP_LIST_TOOLS || context_is_output(row))
        return true;
    body = json_parse_own(row->body);
    return past_is_call(row->type, body) && (answered || past_own_output(row->type, body));
}

/* Notes whether there are calls among the rows. */
static bool are_plain(const struct item_row *const *items, size_t count, bool *ret_calls)
{
    AUTO_FREE size_t *outputs = call_outputs_find(items, 0, count);

    for (size_t i = 0; i < count; i++) {
        if (!is_plain(items[i], outputs[i] != count))
            return false;
        if (items[i]->type != ITEM_MESSAGE)
            *ret_calls = true;
    }
    return true;
}

static bool is_text(const json_t *message)
{
    const json_t *content = json_object_get(message, "content");

    return json_is_string(content) || json_is_null(content);
}

/* False if some message is more than text. */
static bool add_messages(struct buf *bytes, const json_t *messages)
{
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message) {
        if (!is_text(message))
            return false;
        if (bytes->length)
            buf_add_char(bytes, ',');
        json_add_text(bytes, message);
    }
    return true;
}

static bool add_rows(struct text *text, const struct item_row *rows, size_t count)
{
    AUTO_FREE const struct item_row **items = mem_zeroed(count, sizeof(*items));
    json_auto_t *messages = NULL;

    for (size_t i = 0; i < count; i++)
        items[i] = &rows[i];
    if (!are_plain(items, count, &text->shown.calls))
        return false;
    messages = context_messages(NULL, items, count);
    if (!add_messages(&text->bytes, messages))
        return false;
    text->shown.bytes = text->bytes.data;
    text->shown.length = text->bytes.length;
    text->shown.items += count;
    return true;
}

static struct text *text_new(void)
{
    struct text *text = mem_new(struct text);

    atomic_init(&text->holders, 1);
    return text;
}

/* What `past` is, for its only holder to change. A run may still hold it: then a copy. Takes `past`. */
static struct text *own(struct past_text *past)
{
    struct text *text = CONTAINER_OF(past, struct text, shown);
    struct text *copy;

    if (atomic_load(&text->holders) == 1)
        return text;
    copy = text_new();
    copy->shown = text->shown;
    buf_add(&copy->bytes, text->bytes.data, text->bytes.length);
    past_text_release(past);
    return copy;
}

struct past_text *past_text_new(const struct item_row *rows, size_t count)
{
    return past_text_add(&text_new()->shown, rows, count);
}

struct past_text *past_text_add(struct past_text *past, const struct item_row *rows,
                                size_t count)
{
    struct text *text;

    if (!past)
        return NULL;
    text = own(past);
    if (add_rows(text, rows, count))
        return &text->shown;
    past_text_release(&text->shown);
    return NULL;
}

struct past_text *past_text_hold(struct past_text *past)
{
    if (past)
        atomic_fetch_add(&CONTAINER_OF(past, struct text, shown)->holders, 1);
    return past;
}

void past_text_release(struct past_text *past)
{
    struct text *text = past ? CONTAINER_OF(past, struct text, shown) : NULL;

    if (!text || atomic_fetch_sub(&text->holders, 1) > 1)
        return;
    buf_clear(&text->bytes);
    free(text);
}
