#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_ITEM_REFERENCES_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_ITEM_REFERENCES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * item_references.h -- items that a request names by id instead of sending them.
 *
 *     {"type": "item_reference", "id": "fc_..."}, or {"id": "fc_..."} alone
 *
 * A reference to an item of the context, which the request continues anyway, adds nothing. Any other item
 * of the project's stored responses and conversations is looked up and becomes new input, as if the client
 * had sent it.
 *
 * Loaded once a request, then only read. One thread at a time.
 */

/* Entries of an input. A longer one is refused when it is decoded, so nothing is looked up for it. */
#define ITEM_REFERENCES_LIMIT ((size_t)10000)

struct item_references {
    json_t *context; /* {id: true} of the context's items */
    json_t *places;  /* {id: index in rows} */
    struct item_row *rows;
    size_t count;
};

bool item_is_reference(const json_t *item);

/* Looks up the items that `input` refers to; it need not be an array. `context` has the items that the
 * request continues. Blocks on the store if there is a reference to another item. An unknown id is no error
 * here: the decoder complains. The caller clears, also after an error. */
enum err_code item_references_load(struct store *store, const struct tenant *tenant,
                                   const json_t *input, const struct item_row *context,
                                   size_t context_count, struct item_references *ret_references,
                                   struct err *err) MUST_CHECK;
void item_references_clear(struct item_references *references);

bool item_references_in_context(const struct item_references *references, const char *id);
/* NULL when there is no such item. */
const struct item_row *item_references_find(const struct item_references *references,
                                            const char *id);

#endif
