#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_INPUT_ITEMS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_INPUT_ITEMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/item_type.h"

/*
 * input_items.h -- the types of items that a client may send, one table.
 *
 * What a client sends is either new (messages, outputs of its tools) or replayed: whatever any
 * server made of the Responses vocabulary, so also calls of tools that nobody here executes. Each
 * type is checked field by field, and completed to the shape in which it is shown again.
 *
 * Pure functions: any thread.
 */

struct input_field;

struct input_type {
    enum item_type type;
    const char *words; /* of a client's call and its output: what complaints call the call */
    const struct input_field *fields; /* ends with a key of NULL */
};

#define INPUT_TEXT_LIMIT ((size_t)10485760)

/* NULL for a type that clients cannot send. */
const struct input_type *input_type_find(enum item_type type);

/* "Invalid value: ..." with the types that exist. */
enum err_code input_type_unknown(struct err *err, const char *param, const char *type);

/* Whether the item has what its type requires, all of the right kind. Content of messages is
 * not looked at. */
enum err_code input_item_check(const json_t *item, const struct input_type *type,
                               const char *path, struct err *err) MUST_CHECK;

/* A string, or a list of parts: {"type":"input_text","text":...} ... */
enum err_code input_content_check(const json_t *content, const char *path,
                                  struct err *err) MUST_CHECK;

/* Fields that were left out get the value that says so; those that are null and need not be
 * there are taken out. */
void input_item_complete(json_t *item, const struct input_type *type);

#endif
