#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_FIT_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_FIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/rows.h"
#include "core/model/model.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/context/long_messages.h"

/*
 * context_fit.h -- how much of a context a model is shown: from the last compaction on, and no more
 * than it can read.
 *
 * What an item costs in tokens is counted once and noted in its row (item_row.cost), by whoever
 * may take the time for it. A sum over items is a little too large: what stands between them is
 * counted for each, as if it were a message of its own. In compact history all of a turn that is over
 * costs what its log does, however much its calls have given. A picture is long, and costs little: its
 * bytes count as CONTEXT_IMAGE_BYTES.
 */

/* The part of a context's tokens that is left for the answer, where the request says nothing. */
#define CONTEXT_ANSWER_SHARE 8

/* What an image weighs, however long its data are: so many tokens, and bytes for each. */
#define CONTEXT_IMAGE_TOKENS    1000
#define CONTEXT_BYTES_PER_TOKEN 3
#define CONTEXT_IMAGE_BYTES     ((size_t)CONTEXT_IMAGE_TOKENS * CONTEXT_BYTES_PER_TOKEN)

/* Whether a run will want to know what this request's items cost. */
bool context_is_counted(const struct model_upstream *upstream,
                        const struct run_settings *settings);

/* Notes what the item costs, unless that was done before. */
void context_count_item(const struct tokenizer *tokenizer, struct item_row *item);
/* What it costs, noted or not. */
int64_t context_cost(const struct tokenizer *tokenizer, const struct item_row *item);

/* What goes up with the items: instructions, rules and tools. 0: not known yet. Whoever changes the tools
 * zeroes it. */
struct context_frame {
    int64_t tokens;
    size_t bytes;
};

/* What a request costs: its items, and all that goes up with them. */
struct context {
    const struct model_upstream *upstream;
    const char *run_id;
    const struct run_settings *settings;
    const struct tool_set *tools;
    bool compact;                /* turns that are over are sent in compact form */
    struct context_frame *frame; /* where that is noted; NULL: nowhere */
};

enum context_measure {
    CONTEXT_TOKENS, /* of everything */
    CONTEXT_BYTES,  /* of what is told otherwise than it is stored, only: rows tell their own */
};

/* Notes what the items cost that the context begins with, where it was not done before: all that is told
 * as one message together. */
void context_count(const struct context *context, enum context_measure measure,
                   struct item_row *rows, size_t count);

/* The same for each of them by itself, however they are told: as a compaction reads them. */
void context_count_each(const struct context *context, struct item_row *rows, size_t count);

int64_t context_total(const struct context *context, const struct item_row *const *items,
                      size_t count);

/* What of these items is told otherwise than it is stored. */
struct context_condensing {
    size_t past;                   /* before it turns are over, in compact history */
    struct long_message_rule rule; /* by which those that were answered are cut */
};
struct context_condensing context_condensing(const struct context *context,
                                             const struct item_row *const *items, size_t count);
/* Where that ends which is told as one message from `at` on: a stretch of compact history, or a message
 * that is cut. `at`, when what lies there is told as it is. */
size_t context_condensed_end(const struct context_condensing *telling,
                             const struct item_row *const *items, size_t at);

/* Bytes of JSON as they count: all, and of a picture's data no more than CONTEXT_IMAGE_BYTES. */
size_t context_weight(const char *json);

/* How long the frame is, and the message that items[first..end) are told as; noted or not. */
size_t context_frame_bytes(const struct context *context);
size_t context_condensed_bytes(const struct context_condensing *telling,
                               const struct item_row *const *items, size_t first, size_t end);

/* Index of the first item that counts: what a compaction stands for, and what came before it, is
 * left out. */
size_t context_window(const struct item_row *const *items, size_t count);

/* Sets the marks of what must be seen word for word, and leaves the others alone: what the run's last
 * turn made or, before it has made anything, the new input at the end; and the calls whose outputs
 * are among it. */
void context_mark_newest(const struct item_row *const *items, size_t count, const char *run_id,
                         bool *marks);

/*
 * Cuts the list down to what the model is shown, in its order: to the window; and where the request says
 * truncation auto and the model's context is known, leaves out the oldest items until the rest fits
 * beside the answer. Always stay: system and developer messages, the user's last message, and what
 * context_mark_newest() marks. A call never goes without its output. What is left begins with a
 * message of the user where it can.
 */
void context_fit(const struct context *context, const struct item_row **items, size_t *count);

#endif
