/*
 * The tools of groups and of remote servers, listed once in a conversation.
 *
 * A list is an item (mcp_list_tools) of the response that first needs it. It shows the client what the
 * model may call, and it is part of the history: the next response finds it there and lists nothing.
 * So the model knows the same tools from turn to turn, and a remote server is asked once.
 *
 * Groups of this server are listed here, at once. Remote servers take time, and are listed by
 * run_servers.c, which continues with the first turn when their lists have come. A run that was
 * taken over or has been answered lists no groups again: its first residency did. A run of a thread
 * never lists groups, because the Assistants API has no such item.
 */

#include "core/run/calls/run_calls.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/calls/run_servers.h"

/* The label is looked for in the text of the body: decoding each list of a long history would cost more,
 * and the body is compact JSON of this server's own. */
static bool was_listed(const struct run *run, const char *label)
{
    AUTO_FREE char *mark = mem_printf("\"server_label\":\"%s\"", label);

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        if (item->type == ITEM_MCP_LIST_TOOLS && item->body && strstr(item->body, mark))
            return true;
    }
    return false;
}

static void list_groups(struct run *run)
{
    const char *last = NULL;

    for (size_t i = 0; i < run->tools.count; i++) {
        const char *label = run->tools.uses[i].label;
        struct item *item;

        if (!label || run->tools.uses[i].remote || run->tools.uses[i].implied ||
            (last && strcmp(last, label) == 0) || was_listed(run, label))
            continue;
        last = label; /* the uses of a group stand together */
        item = run_new_item(run, ITEM_MCP_LIST_TOOLS);
        item->fields = json_build("{s:s, s:[]}", "server_label", label, "tools");
        run_open_item(run, item);
        run_emit_stage(run, item, "in_progress", NULL);
        json_set(item->fields, "tools", tool_set_listing(&run->tools, label));
        run_emit_stage(run, item, "completed", NULL);
        run_close_item(run, ITEM_COMPLETED);
    }
}

void run_list_tools(struct run *run)
{
    if (run->arrival == ARRIVAL_NEW && !run_is_assistants(run))
        list_groups(run);
    run_list_servers(run, run_continue);
}
