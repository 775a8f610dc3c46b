#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_INPUT_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_INPUT_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/params/params.h"
#include "server/params/responses/item_references.h"

/*
 * response_input.h -- turns the `input` of a response into items, with OpenAI's complaints.
 *
 * Pure functions, apart from the clock and fresh ids: any thread.
 */

#define INPUT_ITEM_LIMIT ITEM_REFERENCES_LIMIT /* entries of `input` */

/* Checks `input` by itself, without context and store: references are skipped. */
enum err_code response_input_check(const json_t *input, struct err *err) MUST_CHECK;

/* `input` is a string or an array of items; absent, null and "" give no rows. Fills in new rows: id (always
 * a new one), type, role, call_id, body, run_id, position from 0; input set. A referenced item becomes a row
 * too, unless it is in the context. Beside the complaints of the check:
 *   Item with id 'msg_X' not found. Items are not persisted when `store` is set to false. ...
 *   Duplicate item found with id msg_X. Remove duplicate items from your input and try again.
 * The caller frees with item_rows_free(). */
enum err_code response_input_decode(const json_t *input, const char *run_id,
                                    const struct item_references *references,
                                    struct item_row **ret_items, size_t *ret_count,
                                    struct err *err) MUST_CHECK;

/* The same for items outside of runs, such as those of a conversation: object[key], an array of at most
 * `limit` entries. */
enum err_code response_items_decode(const json_t *object, const char *key, enum param_need need,
                                    size_t limit, const struct item_references *references,
                                    struct item_row **ret_items, size_t *ret_count,
                                    struct err *err) MUST_CHECK;

#endif
