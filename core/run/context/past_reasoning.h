#ifndef RUNNEL_CORE_RUN_CONTEXT_PAST_REASONING_H
#define RUNNEL_CORE_RUN_CONTEXT_PAST_REASONING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/seal.h"
#include "core/domain/item.h"
#include "core/domain/tenant.h"

/*
 * past_reasoning.h -- the reasoning of a Chat Completions upstream, on its way back to it.
 *
 * Some models refuse calls that come back without the reasoning which led to them: DeepSeek V4 and Kimi K2.5
 * want `reasoning_content`, Gemini 3 by way of OpenRouter `reasoning_details`. Each gets it in the member in
 * which it sent it. No other upstream gets it.
 *
 * The notes of an item have what is needed for that, and no client sees them:
 *
 *   upstream   the name of the upstream that made it
 *   reasoning  {"member": "reasoning_content", "details": [...], "text": "..."}, each if there is one.
 *              `text` is the reasoning, if it is not the item's content.
 *
 * Items of reasoning have them, and messages whose text was followed by an entry of details. A client that
 * keeps its own history gets the notes and the text as `encrypted_content`, sealed for its project. What
 * a client sends without that has no maker, and is meant for the upstream that serves the request. It
 * goes there as `reasoning_content`, the name that most servers read.
 *
 * Pure functions: any thread that owns the trees.
 */

/* Who made the reasoning in an item, as the upstream that is asked sees it. */
enum past_reasoning_maker {
    PAST_REASONING_CLIENTS, /* it has no note: a client sent it */
    PAST_REASONING_OWN,
    PAST_REASONING_ANOTHERS,
};
enum past_reasoning_maker past_reasoning_maker(const json_t *body, const char *upstream);

/* Notes who made the item, and the member that its text came in; `member` may be NULL. */
void past_reasoning_note(struct item *item, const char *upstream, const char *member);
/* Notes who made it, and one more entry of details. Borrowed. */
void past_reasoning_note_detail(struct item *item, const char *upstream, const json_t *detail);

/* What a client carries of an item with these notes; NULL for an item without any, and for one that is
 * longer than a client may send. The caller frees. */
char *past_reasoning_sealed(const struct seal *seal, const struct tenant *tenant,
                            const struct item *item);
/* Notes in the items that a client has sent what was sealed in them. Other encrypted content is left alone:
 * it may be an upstream's. */
void past_reasoning_open(const struct seal *seal, const struct tenant *tenant,
                         struct item_row *items, size_t count);

/* The reasoning among these items that another upstream made, so that `upstream` does not get it: the
 * `input_transformations` of a response. `input` is what the client sent, and has the client's ids. New reference;
 * NULL: it lacks such reasoning. */
json_t *past_reasoning_withheld(const struct item_row *items, size_t count, const json_t *input,
                                const char *upstream);

enum past_reasoning_part {
    PAST_REASONING_DETAILS, /* what came in reasoning_details */
    PAST_REASONING_ALL,     /* and the text in its own member */
};

/* Adds the reasoning in an item to the assistant's message that it belongs to, if `upstream` made it or
 * a client means it for that. Several items of one message are joined without anything between them. */
void past_reasoning_give_back(json_t *message, const struct item_row *item, const json_t *body,
                              const char *upstream, enum past_reasoning_part part);

/* Some upstreams want `reasoning_content` with every message that has calls, even if the model did not
 * reason: those without it get an empty one. */
void past_reasoning_fill(json_t *messages);

/* True if some message has reasoning that was given back, but not only an empty one. */
bool past_reasoning_is_in(const json_t *messages);
/* True if some message has it in `reasoning_content`. */
bool past_reasoning_is_content(const json_t *messages);

#endif
