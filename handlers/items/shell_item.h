#ifndef RUNNEL_HANDLERS_ITEMS_SHELL_ITEM_H
#define RUNNEL_HANDLERS_ITEMS_SHELL_ITEM_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/tool/tool_item.h"

/*
 * shell_item.h -- the items of shell calls: the client's, and those that run in a container.
 *
 * Both are the same to a model. Where a call ran is in its `environment`.
 */

extern const struct tool_item shell_item;

/* The fields of the call's item. Takes commands and environment. `arguments` may be NULL. New reference. */
json_t *shell_fields(const json_t *arguments, json_t *commands, json_t *environment);

/* The commands that the model wrote, a new reference; one string is one command. ERR_INVALID: it wrote none, or one is
 * no string. */
enum err_code shell_commands(const json_t *arguments, json_t **ret_commands,
                             struct err *err) MUST_CHECK;

#endif
