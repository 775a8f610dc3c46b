#ifndef RUNNEL_CORE_RUN_CONTEXT_PAST_TEXT_H
#define RUNNEL_CORE_RUN_CONTEXT_PAST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"

/*
 * past_text.h -- the messages of a history as the text that a request has of them, rendered once.
 *
 * Without this every turn of a chain renders all turns before it again. A text is only made of a plain history:
 * texts of messages, and calls with their outputs. However the conversation continues, a plain history is sent as
 * the same messages, to each upstream that speaks Chat Completions. Everything else is rendered anew for each
 * request (context.h): reasoning, pictures, open calls, compactions, what was cut or withheld.
 *
 * A text that has several holders does not change. Any thread.
 */

struct past_text {
    const char *bytes; /* the messages, with commas between them and no brackets */
    size_t length;
    size_t items; /* so many rows of the history it replaces */
    bool calls;   /* there are some among them */
};

/* The text of these rows, which are whole runs; NULL if they are not plain. The caller holds it. */
struct past_text *past_text_new(const struct item_row *rows, size_t count);
/* The same of the text's rows and these behind them. Takes `text`; NULL gives NULL. */
struct past_text *past_text_add(struct past_text *text, const struct item_row *rows,
                                size_t count);

/* Every holder releases once, and the last release frees. NULL is fine in both. */
struct past_text *past_text_hold(struct past_text *text);
void past_text_release(struct past_text *text);

#endif
