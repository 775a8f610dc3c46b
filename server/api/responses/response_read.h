#ifndef RUNNEL_SERVER_API_RESPONSES_RESPONSE_READ_H
#define RUNNEL_SERVER_API_RESPONSES_RESPONSE_READ_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/config/config.h"
#include "server/http/request.h"

/*
 * response_read.h -- a response out of the store, as the API shows it.
 */

/* The object of a response, with its output, page after page. A cancelled one is shown without output, here
 * and in the answer to the cancel request. `include` is a set of enum run_include. Blocks on the store.
 * *ret_object is a new reference. */
enum err_code response_read(struct request *request, const struct run_row *run,
                            unsigned include, json_t **ret_object, struct err *err) MUST_CHECK;

/* Answers 200 with a list of items, whose pictures it reads. `more` becomes has_more. The caller frees the rows
 * afterwards. */
enum err_code answer_items(struct request *request, struct item_row *items, size_t count,
                           unsigned include, bool more, struct err *err) MUST_CHECK;

/* Whether the log of its events may have been deleted. */
bool response_log_is_over(const struct run_row *run, const struct config *config);

#endif
