#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_CONTEXT_HISTORY_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_CONTEXT_HISTORY_H

#include <stddef.h>

#include "core/domain/rows.h"
#include "core/run/catalog/tool_set.h"

/*
 * history.h -- the items of a conversation, for tests of what is sent to a model.
 */

#define HISTORY_LIMIT 256

extern struct item_row rows[HISTORY_LIMIT]; /* in the order of adding */
extern const struct item_row *items[HISTORY_LIMIT];
extern size_t count;

/* Adds an item, as a client gives it; takes the body. */
struct item_row *history_add(const char *type, const char *role, char *body);

/* For cmocka: after each test. */
int clear_items(void **state);

/* The tools of a request with which long messages can be read. */
extern const struct tool_set reading_tools;

#endif
