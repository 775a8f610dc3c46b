#ifndef RUNNEL_SERVER_API_RESPONSES_RESPONSE_PAST_H
#define RUNNEL_SERVER_API_RESPONSES_RESPONSE_PAST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "server/server.h"

/*
 * response_past.h -- the history that a response continues by previous_response_id. Blocks on the store: for workers.
 */

struct past_text;

/* As store_chain_load(). *ret_text, held, is what these items are sent as; NULL: it is not known. */
enum err_code response_past_load(struct server *server, const struct tenant *tenant,
                                 const char *response_id, struct item_row **ret_items,
                                 size_t *ret_count, bool *ret_cut, struct past_text **ret_text,
                                 struct err *err) MUST_CHECK;

#endif
