#include "tests/unit/core/run/context/history.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

struct item_row rows[HISTORY_LIMIT];
const struct item_row *items[HISTORY_LIMIT];
size_t count;

struct item_row *history_add(const char *type, const char *role, char *body)
{
    struct item_row *row = &rows[count];

    *row = (struct item_row){.turn = -1, .input = true, .body = body};
    (void)snprintf(row->id, sizeof(row->id), "item_%zu", count);
    item_row_set_type(row, type);
    (void)snprintf(row->role, sizeof(row->role), "%s", role);
    items[count++] = row;
    return row;
}

int clear_items(void **state)
{
    (void)state;
    for (size_t i = 0; i < HISTORY_LIMIT; i++) /* also those that did not fit */
        free(TAKE(rows[i].body));
    count = 0;
    return 0;
}

static enum err_code never_run(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    (void)call;
    (void)ret_result;
    return err_set(err, ERR_INTERNAL, "not in this test");
}

static const struct tool_handler reader = {.name = "ReadVar",
                                           .group = "vars",
                                           .description = "",
                                           .parameters = "{\"type\":\"object\"}",
                                           .flags = TOOL_VARIABLES | TOOL_READER,
                                           .run = never_run};
static struct tool_use use = {
    .name = "ReadVar", .own = "ReadVar", .type = "mcp", .label = "vars", .handler = &reader};
const struct tool_set reading_tools = {.uses = &use, .count = 1};
