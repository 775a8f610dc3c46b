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
 * What was used, the upstream says after each turn. What is left of the completion goes up with the
 * next one. What a prompt will cost has to be known before it is sent, and is estimated from its
 * length, in the form in which it is sent: by what the upstream has counted so far in this run, and
 * before that with BUDGET_BYTES_PER_TOKEN. An upstream that counts nothing uses nothing up.
 *
 * Without limits in the request everything here lets everything pass. The loop's only.
 */

/* Rather too few than too many: a prompt that was estimated too short costs more than is allowed. */
#define BUDGET_BYTES_PER_TOKEN CONTEXT_BYTES_PER_TOKEN
/* An image inside a message costs about this many tokens, however long its data are. */
#define BUDGET_IMAGE_TOKENS CONTEXT_IMAGE_TOKENS

struct budget {
    int64_t prompt; /* max_prompt_tokens, or INT64_MAX */
    int64_t
        completion; /* max_completion_tokens of a run, max_output_tokens of a response; or INT64_MAX */
    struct model_usage used; /* summed over the turns that have ended */
    int64_t counted_weight;  /* bytes of the prompts whose tokens are in `used` */
    int64_t sent_weight;     /* bytes of the prompt that was sent last; 0 once it is counted */
};

/* Limits from the request as accepted, the rest from `usage` as budget_object() made it; or NULL. */
void budget_init(struct budget *budget, const struct run_settings *settings, const char *usage);

/* What was used, in the words of the Responses API, for the run's row. New reference. */
json_t *budget_object(const struct budget *budget);

/* A turn has ended. */
void budget_add(struct budget *budget, const struct model_usage *usage);

/* The word for why no other turn may come, or NULL. */
const char *budget_spent(const struct budget *budget);
/* The word for which limit was passed, not only reached; or NULL. */
const char *budget_exceeded(const struct budget *budget);

/* The settings with what is left for the next turn in them; borrowed from the original. */
struct run_settings budget_settings(const struct budget *budget,
                                    const struct run_settings *settings);

/* Whether what a prompt will cost matters. */
bool budget_limits_prompts(const struct budget *budget);

/*
 * Leaves out messages from before the run until the prompt fits, and what lies between them: with
 * truncation_strategy auto those in the middle of the thread, so that its first one goes last;
 * otherwise the oldest. What compact history tells as one message goes as a whole. The newest message
 * and what the run itself has made always stay. *count is the new number of items. False when not even
 * those fit, as far as the upstream's own counting tells: the first turn is always asked.
 */
bool budget_fit(struct budget *budget, const struct context *context,
                const struct item_row **items, size_t *count);

#endif
