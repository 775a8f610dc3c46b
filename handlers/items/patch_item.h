#ifndef RUNNEL_HANDLERS_ITEMS_PATCH_ITEM_H
#define RUNNEL_HANDLERS_ITEMS_PATCH_ITEM_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/tool/tool_item.h"

/*
 * patch_item.h -- the items of apply_patch: the client's calls, and those that are applied in a container.
 *
 * Both are the same to a model.
 */

extern const struct tool_item patch_item;

/* JSON Schema of the arguments: the members of an operation. */
extern const char patch_parameters[];

/* The operation that the model wrote, a new reference: {"type", "path"}, and "diff" of a file that is created or
 * changed. Some models put it into an object of its own, as in the item. ERR_INVALID: it is not complete. */
enum err_code patch_operation(const json_t *arguments, json_t **ret_operation,
                              struct err *err) MUST_CHECK;

/* What the model reads of a patch: {"status", "output"}, as a JSON string. `output` may be NULL. New reference. */
json_t *patch_outcome(bool applied, const char *output);

#endif
