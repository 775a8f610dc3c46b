#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_INPUT_ITEMS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_INPUT_ITEMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/item_type.h"

/*
 * input_items.h -- the types of items that a client may send, as one table.
 *
 * An item is either new (a message, the output of a client's tool) or replayed: any server of the
 * Responses API may have produced it, for a tool that this server does not have. An item is checked field by
 * field, and completed to the form in which it is shown.
 *
 * Pure functions: any thread.
 */

struct input_field;

struct input_type {
    enum item_type type;
    const char
        *words; /* what complaints call a client's call, and the call of an output; else NULL */
    const struct input_field *fields; /* ends with a key of NULL */
};

#define INPUT_TEXT_LIMIT ((size_t)10485760) /* characters of one text */

/* NULL for a type that a client cannot send. */
const struct input_type *input_type_find(enum item_type type);

/* "Invalid value: ..." with a list of the types. */
enum err_code input_type_unknown(struct err *err, const char *param, const char *type);

/* Checks the fields of the item. ERR_INVALID with OpenAI's complaints. The content of a message is not
 * checked here, but with the next function. */
enum err_code input_item_check(const json_t *item, const struct input_type *type,
                               const char *path, struct err *err) MUST_CHECK;

/* A string, or a list of parts: {"type":"input_text","text":...} ... */
enum err_code input_content_check(const json_t *content, const char *path,
                                  struct err *err) MUST_CHECK;

/* Gives a checked item the form in which it is shown: missing fields get their defaults, and null fields
 * without a default are removed. Changes `item`, whose objects must be the caller's own. */
void input_item_complete(json_t *item, const struct input_type *type);

#endif
