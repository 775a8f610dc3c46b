#ifndef RUNNEL_CORE_MODEL_LOGPROBS_H
#define RUNNEL_CORE_MODEL_LOGPROBS_H

#include <jansson.h>

/*
 * logprobs.h -- log probabilities of tokens, reduced to what a client may see.
 *
 *     {"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}, ...]}
 */

/* The tokens with all of these members and no others. `bytes` is filled in where the server left it
 * out. Invalid entries are skipped. New reference; NULL when nothing is left. */
json_t *logprobs_clean(const json_t *given);

#endif
