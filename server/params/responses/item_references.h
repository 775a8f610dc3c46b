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
 * One that the request continues is in its context already. Any other item of the project's stored
 * responses and conversations is looked up and becomes new input, as if it had been sent.
 */

/* Whoever decodes a longer list refuses it, so nothing is looked up. */
#define ITEM_REFERENCES_LIMIT ((size_t)10000)

struct item_references {
    json_t *context; /* ids of the context, as keys */
    json_t *places;  /* index in rows, by id */
    struct item_row *rows;
    size_t count;
};

bool item_is_reference(const json_t *item);

/* Looks up whatever `input`, an array or something else, refers to. `context` are the items that the
 * request continues. Asks the store only when it must; what is not found is not complained about
 * here. item_references_clear() releases, also after an error. */
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
