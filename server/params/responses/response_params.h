#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_PARAMS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/run_settings.h"

/*
 * response_params.h -- the parameters of a create-response request, checked in OpenAI's order and
 * with its texts, and made into what the run remembers.
 */

/* First: what every request must have, and by the setting unknown_parameters what none may. */
enum err_code response_head_check(const json_t *body, struct err *err) MUST_CHECK;

/* Then, after `input`: the other parameters, and what goes together. Not whether there is what
 * the request refers to. */
enum err_code response_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* The same of a request that only wants its tokens counted: of which any parameter may be missing. */
enum err_code response_count_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* The same of a request for a compaction. */
enum err_code response_compact_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* Of the parameters that `keys` (ends with NULL) names, those that are checked one by one. */
enum err_code response_fields_check(const json_t *body, const char *const *keys,
                                    struct err *err) MUST_CHECK;

/* What `include` asks to be shown, as a list that a query gave instead of a body. */
enum err_code response_include_check(json_t *include, struct err *err) MUST_CHECK;

/* The conversation that a checked request names, as the store knows it; untouched when it names
 * none. */
void response_conversation(const json_t *body, char ret_thread[ID_SIZE]);

extern const char *const response_compact_param_keys[]; /* ends with NULL */

/* The request as its run reads it: without input and without what has a column of its own. `tools` comes
 * with description and strict filled in. The caller clears. */
void response_settings(const json_t *body, struct run_settings *ret_settings);

#endif
