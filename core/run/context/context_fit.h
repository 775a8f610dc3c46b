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
 * context_fit.h -- how much of a context is sent: from the last compaction on, and no more than the model
 * can read.
 *
 * The tokens of an item are counted once and noted in its row (item_row.cost). Counting a long history
 * takes seconds, so the worker that accepts a response counts it, before the items reach a loop. A sum
 * over items is a little too high, because each counts as a message of its own.
 *
 * Items that are sent in another form than they are stored in are called condensed: a stretch of finished
 * turns that compact history sends as one message, and a long message that is cut. Condensed items
 * cost what is sent for them. A picture is long and costs little: its bytes count as CONTEXT_IMAGE_BYTES.
 *
 * Functions that take `const struct item_row` only read the rows: any thread. The others write the notes:
 * the thread that owns the rows.
 */

/* The part of the model's context that is reserved for the answer, if the request has no limit for it. */
#define CONTEXT_ANSWER_SHARE 8

/* What an image costs, however long its data are: so many tokens, and so many bytes for each token. */
#define CONTEXT_IMAGE_TOKENS    1000
#define CONTEXT_BYTES_PER_TOKEN 3
#define CONTEXT_IMAGE_BYTES     ((size_t)CONTEXT_IMAGE_TOKENS * CONTEXT_BYTES_PER_TOKEN)

/* True if a run of this request must know what its items cost in tokens: it truncates or compacts. */
bool context_is_counted(const struct model_upstream *upstream,
                        const struct run_settings *settings);

/* Which reasoning goes back to such an upstream: flags of enum context_flags. */
unsigned context_reasoning(const struct model_upstream *upstream);

/* Notes the tokens of an item as it is stored, unless they are noted. */
void context_count_item(const struct tokenizer *tokenizer, struct item_row *item);
/* The same number, without noting it. */
int64_t context_cost(const struct tokenizer *tokenizer, const struct item_row *item);

/* The cost of what is sent beside the items: instructions, rules and tools. 0: not counted yet. Code that
 * changes the tools of a run sets it to zero. */
struct context_frame {
    int64_t tokens;
    size_t bytes;
};

/* What the cost of a request depends on, beside its items. All borrowed. */
struct context {
    const struct model_upstream *upstream;
    const char *run_id;
    const struct run_settings *settings;
    const struct tool_set *tools;
    bool compact;                /* finished turns are sent in compact form */
    struct context_frame *frame; /* where the frame's cost is noted; NULL: nowhere */
};

enum context_measure {
    CONTEXT_TOKENS, /* of all items */
    CONTEXT_BYTES,  /* of condensed items only: others weigh as much as their bodies */
};

/* Notes the tokens of the item's reasoning, unless they are noted: it may go back with an answer. */
void context_count_reasoning(const struct context *context, struct item_row *item);

/* Notes the cost of all items that may be sent, unless it is noted. `rows` is a whole history, in its
 * order. The cost of a condensed stretch is noted in its first row. */
void context_count(const struct context *context, enum context_measure measure,
                   struct item_row *rows, size_t count);

/* Notes the tokens of each item as it is stored: a compaction is made of items in full form. */
void context_count_each(const struct context *context, struct item_row *rows, size_t count);

/* The tokens of a request with these items, and of all that is sent beside them. */
int64_t context_total(const struct context *context, const struct item_row *const *items,
                      size_t count);

/* Which of the items are condensed. */
struct context_condensing {
    size_t past;                   /* items of finished turns, in compact history */
    struct long_message_rule rule; /* how long messages are cut */
    unsigned reasoning;            /* context_reasoning() */
    const char *upstream;          /* its name; NULL without one */
};
struct context_condensing context_condensing(const struct context *context,
                                             const struct item_row *const *items, size_t count);
/* The end of the condensed stretch that begins at `at`: of compact history, or a message that may be cut.
 * `at`, if the item there is sent as it is stored. */
size_t context_condensed_end(const struct context_condensing *condensing,
                             const struct item_row *const *items, size_t at);

/* The weight of a JSON text: its bytes, but no more than CONTEXT_IMAGE_BYTES for a picture's data. */
size_t context_weight(const char *json);

/* The bytes of the frame, and of the message that the condensed items[first..end) are sent as. Uses what is
 * noted. */
size_t context_frame_bytes(const struct context *context);
size_t context_condensed_bytes(const struct context_condensing *condensing,
                               const struct item_row *const *items, size_t first, size_t end);

/* The index of the last whole compaction, where the sent items begin; 0 without one. */
size_t context_window(const struct item_row *const *items, size_t count);

/* Sets the marks of the items that the model must read word for word: what the run's last turn made or,
 * before the first turn, the new input at the end; and the calls whose outputs are among these. Leaves
 * other marks alone. */
void context_mark_newest(const struct item_row *const *items, size_t count, const char *run_id,
                         bool *marks);

/*
 * Reduces the list to what is sent, and puts it in order. It begins at the window. With truncation auto,
 * and if the size of the model's context is known, the oldest items are left out until the rest fits. The
 * answer must fit as well. System and developer messages, the user's last message and what
 * context_mark_newest() marks always stay. A call is never left out without its output, nor an output
 * without its call. What is left begins with a message of the user if possible.
 */
void context_fit(const struct context *context, const struct item_row **items, size_t *count);

#endif
