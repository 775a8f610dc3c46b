#ifndef RUNNEL_CORE_RUN_CONTEXT_BUDGET_H
#define RUNNEL_CORE_RUN_CONTEXT_BUDGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/rows.h"
#include "core/model/model.h"
#include "core/run/context/context_fit.h"

/*
 * budget.h -- the tokens that a run may use in all of its turns together.
 *
 * The limits are max_prompt_tokens, and max_completion_tokens of a run or max_output_tokens of a
 * response. After each turn the upstream reports what it used. The next request then carries what is
 * left for the answer. The cost of a prompt must be known before it is sent, so it is estimated from
 * the bytes that are sent. The ratio is that of the prompts which the upstream has counted in this run;
 * before the first, it is BUDGET_BYTES_PER_TOKEN. An upstream that reports no usage uses nothing up.
 *
 * Without limits in the request, every function here permits everything.
 *
 * The run's loop owns the struct and is the only thread that uses it.
 */

/* Low on purpose: an estimate that is too low would let a prompt cost more than the client allows. */
#define BUDGET_BYTES_PER_TOKEN CONTEXT_BYTES_PER_TOKEN
/* The estimate for an image inside a message, however long its data are. */
#define BUDGET_IMAGE_TOKENS CONTEXT_IMAGE_TOKENS

/* Token limits are INT64_MAX when the request has none. */
struct budget {
    int64_t prompt;
    int64_t completion;
    struct model_usage used; /* summed over the turns that have ended */
    int64_t counted_weight;  /* bytes of the prompts whose tokens are in `used` */
    int64_t sent_weight;     /* bytes of the prompt that was sent last; 0 after its turn */
};

/* Takes the limits from `settings`, and what earlier residencies used from `usage`: the JSON text of an
 * object that budget_object() made, or NULL for a new run. */
void budget_init(struct budget *budget, const struct run_settings *settings, const char *usage);

/* What was used, for the run's row: the usage object of the Responses API, and in its notes (notes.h) the
 * bytes that belong to the counted tokens. New reference. */
json_t *budget_object(const struct budget *budget);

/* A turn has ended. `usage` is as the upstream reported it; without a report nothing is used. */
void budget_add(struct budget *budget, const struct model_usage *usage);

/* Which limit was reached, so that no other turn may follow: "max_prompt_tokens", "max_output_tokens",
 * or NULL. */
const char *budget_spent(const struct budget *budget);
/* Which limit was passed, and not only reached; the same values. */
const char *budget_exceeded(const struct budget *budget);

/* A copy of the settings in which max_completion_tokens is what is left. It borrows everything from the
 * original. */
struct run_settings budget_settings(const struct budget *budget,
                                    const struct run_settings *settings);

/* True if the request limits prompts. Otherwise nothing needs to be weighed. */
bool budget_limits_prompts(const struct budget *budget);

/*
 * Leaves out messages of before the run, and the items between them, until the prompt fits. `items` is
 * in the order of context_order(); *count becomes the number of items that are left.
 *
 * With the truncation strategy auto, the messages in the middle of the thread go first and its first
 * message goes last. With last_messages, the oldest go first. What is condensed (context_fit.h) goes as
 * a whole. The newest message and what the run itself has made always stay.
 *
 * Returns false when not even those fit. That is decided only with the upstream's own ratio of tokens
 * to bytes, so the first turn of a run is always sent.
 */
bool budget_fit(struct budget *budget, const struct context *context,
                const struct item_row **items, size_t *count);

#endif
