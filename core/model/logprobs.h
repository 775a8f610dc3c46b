#ifndef RUNNEL_CORE_MODEL_LOGPROBS_H
#define RUNNEL_CORE_MODEL_LOGPROBS_H

#include <jansson.h>

/*
 * logprobs.h -- how probable a model found the tokens of its answer, as a client may see it.
 *
 *     {"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}, ...]}
 */

/* The tokens with all of these members and no others; `bytes` are those of the token where its
 * server left them out. What is no token is passed over. New reference; NULL when none is left. */
json_t *logprobs_clean(const json_t *given);

#endif
