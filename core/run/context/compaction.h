#ifndef RUNNEL_CORE_RUN_CONTEXT_COMPACTION_H
#define RUNNEL_CORE_RUN_CONTEXT_COMPACTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/seal.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/model/model.h"

/*
 * compaction.h -- a long context, made short: what the user said, and a summary of the rest.
 *
 * A compaction item carries, sealed, what stands in the place of what it was made of:
 *
 *   keep     messages of the user and rules, word for word
 *   summary  what else there was, told by the model
 *   tail     the last exchange with tools, which is not over, and new input: word for word
 *
 * as messages of Chat Completions. There are two kinds. One that a response made by itself is the
 * whole context up to there: whatever lies before it is not looked at any more. One that was asked
 * for (POST /responses/compact) is a part of a context that the client holds: it comes with the
 * messages to keep beside it, and has only the summary.
 *
 * In the store the content of an item is noted in the clear as well, as everything else is, so
 * that only what a client sends must be opened.
 */

/* Of messages that are kept word for word, the newest: tokens at most, in an item that is the whole
 * context. */
#define COMPACTION_KEEP_TOKENS 20000

enum compaction_kind {
    COMPACTION_WHOLE,
    COMPACTION_PART,
};

/* Which of the items the new one stands for, and how. */
struct compaction {
    enum compaction_kind kind;
    const struct tokenizer *tokenizer;
    int64_t keep_tokens;
    const char *run_id;
    const struct item_row *const *items;
    size_t count;
};

/* What the model is asked: `request` (of context_request()) with the wish for a summary behind it,
 * and without what shapes an answer. Changes the request. */
void compaction_add_prompt(json_t *request);

/* What is sealed: takes the summary's text. New reference. */
json_t *compaction_content(const struct compaction *compaction, const char *summary);

/* An item's body: encrypted_content. The note of its content goes under "runnel". New reference. */
json_t *compaction_body(const struct seal *seal, const struct tenant *tenant,
                        const json_t *content);

/* The messages that a compaction item's body stands for, appended to `messages`. */
void compaction_add_messages(const json_t *body, json_t *messages);

/* Whether what lies before the item does not count any more. */
bool compaction_is_whole(const struct item_row *item);

/* Opens the compaction items among these, which a client has sent. ERR_INVALID when one was altered,
 * or is not of this project: "The encrypted content ... could not be verified. ..." */
enum err_code compaction_open(const struct seal *seal, const struct tenant *tenant,
                              struct item_row *items, size_t count, struct err *err) MUST_CHECK;

#endif
