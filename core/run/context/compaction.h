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
 * compaction.h -- the item that replaces a long context: the user's messages, and a summary of the rest.
 *
 * A compaction item carries, sealed (core/base/seal.h), what is sent instead of that context:
 *
 *   keep     the user's messages and rules, word for word, as Chat Completions messages
 *   summary  a text about everything else, written by the model; sent as a message of the user
 *   tail     the last exchange with tools, which is not finished, and new input: messages, word for word
 *
 * There are two kinds. A whole compaction was made by a response itself. It replaces the context up to
 * its place: no item before it is sent any more. A part was made by POST /responses/compact. The client
 * holds that context and sends the messages to keep beside the item, so a part has only the summary.
 *
 * In the store the content is also noted in the clear (in the item's notes, notes.h), like all other
 * content. So only items that a client sends must be opened.
 *
 * No I/O, no state: any thread.
 */

/* Tokens, at most, of the user's messages that a whole compaction keeps. The newest are kept; rules are
 * kept in any case. */
#define COMPACTION_KEEP_TOKENS 20000

enum compaction_kind {
    COMPACTION_WHOLE,
    COMPACTION_PART,
};

/* What a new compaction item replaces, and how. All borrowed. */
struct compaction {
    enum compaction_kind kind;
    const struct tokenizer *tokenizer; /* NULL: tokens are estimated */
    int64_t keep_tokens;               /* COMPACTION_KEEP_TOKENS, or less for a small context */
    const char *run_id;                /* of the run that makes the item */
    const struct item_row *const *items;
    size_t count;
};

/* Turns `request`, made by context_request(), into a request for a summary: appends the prompt and
 * removes the members that shape an answer, such as response_format. */
void compaction_add_prompt(json_t *request);

/* The content of the new item: these three, and which kind it is. `summary` is the model's text.
 * New reference. */
json_t *compaction_content(const struct compaction *compaction, const char *summary);

/* The item's public body, with the content sealed as encrypted_content. The caller notes the content in
 * the clear. New reference. */
json_t *compaction_body(const struct seal *seal, const struct tenant *tenant,
                        const json_t *content);

/* Appends the messages that a compaction item stands for to `messages`. `body` is the item's, with the
 * note of its content; without that note nothing is appended. */
void compaction_add_messages(const json_t *body, json_t *messages);

/* True for a whole compaction: items before it are not sent. */
bool compaction_is_whole(const struct item_row *item);

/* Opens the compaction items among the items that a client has sent, and notes their content in their
 * bodies. ERR_INVALID when one was altered or belongs to another project: "The encrypted content ...
 * could not be verified. ..." Earlier items may have been changed then. */
enum err_code compaction_open(const struct seal *seal, const struct tenant *tenant,
                              struct item_row *items, size_t count, struct err *err) MUST_CHECK;

#endif
