#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_PARAMS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/run_settings.h"

/*
 * response_params.h -- checks the parameters of a create-response request, in OpenAI's order and with its
 * texts, and makes the settings of a run of them.
 *
 * A request is checked in three steps: response_head_check(), response_input_check() of response_input.h,
 * response_params_check(). Each returns the first complaint.
 *
 * Pure functions: any thread.
 */

/* First: the keys that every request must have, and unknown keys by the setting unknown_parameters. */
enum err_code response_head_check(const json_t *body, struct err *err) MUST_CHECK;

/* Third, after `input`: the other parameters, and which may be combined. Whether the objects exist that the
 * request refers to is not checked. */
enum err_code response_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* The parameters of a request that only counts tokens: none is required. The input is checked when it is
 * decoded, here and below. */
enum err_code response_count_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* The parameters of a request that only makes a compaction. */
enum err_code response_compact_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* Checks those parameters in `keys` (ends with NULL) that have a row in the table, each by itself. */
enum err_code response_fields_check(const json_t *body, const char *const *keys,
                                    struct err *err) MUST_CHECK;

/* Checks `include` of a query, which was made into a list. */
enum err_code response_include_check(json_t *include, struct err *err) MUST_CHECK;

/* The conversation that a checked request names, as the id of a thread. Untouched if it names none. */
void response_conversation(const json_t *body, char ret_thread[ID_SIZE]);

/* The keys of a request for a compaction; ends with NULL. */
extern const char *const response_compact_param_keys[];

/* The settings of the run of a checked request: without input, without secrets, and without what the row of
 * the run has in columns. `tools` has description and strict filled in. The caller clears. */
void response_settings(const json_t *body, struct run_settings *ret_settings);

#endif
