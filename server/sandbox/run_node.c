/*
 * run_node.c -- asks in the order of their costs: are there other nodes, is the container on one of them, does a tool
 * of the run use it at all.
 */

#include "server/sandbox/run_node.h"

#include <string.h>

#include "core/run/catalog/run_files.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/run/catalog/tool_set.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/wakeup.h"
#include "server/params/runnel_params.h"
#include "server/server.h"

/* All of it is in its row. */
static bool can_move(const struct run_node *wanted)
{
    json_auto_t *secrets = tool_secrets_of(json_object_get(wanted->body, "tools"));
    json_auto_t *context = runnel_context(wanted->body);

    return wanted->run->flags & RUN_STORED && !secrets && !context;
}

/* As container_choice (containers.h) has it: the named one, that of the context, that of the owner. */
static void find_container(const struct run_node *wanted, char ret_id[ID_SIZE])
{
    size_t i;
    json_t *entry;

    json_array_foreach (wanted->settings->tools, i, entry) {
        const char *member;
        const char *named = run_container_of(run_wanted_container(entry, &member));

        if (named && strlen(named) < ID_SIZE) {
            memcpy(ret_id, named, strlen(named) + 1);
            return;
        }
    }
    run_files_past_container(wanted->items, wanted->item_count, ret_id);
}

/* A list that cannot be resolved is the run's to report. */
static bool uses_container(const struct run_node *wanted)
{
    struct tool_set tools = {0};
    bool uses = false;

    if (tool_set_init(&tools, wanted->settings->tools, wanted->settings, NULL))
        return false;
    tool_set_load_items(&tools, wanted->items, wanted->item_count);
    for (size_t i = 0; i < tools.count; i++)
        uses |= (tools.uses[i].handler->flags & TOOL_NEEDS_SANDBOX) != 0;
    tool_set_clear(&tools);
    return uses;
}

enum err_code run_node_wanted(struct server *server, const struct run_node *wanted,
                              char ret_node[ID_SIZE], struct err *err)
{
    char id[ID_SIZE];
    enum err_code rc;

    *ret_node = '\0';
    if (!server->containers || !store_has_peers(server->store) || !can_move(wanted))
        return ERR_OK;
    find_container(wanted, id);
    if (!*id && !*wanted->run->thread_id)
        return ERR_OK;
    rc = store_container_node(server->store, wanted->tenant, id, wanted->run->thread_id,
                              ret_node, err);
    if (!rc && *ret_node && !uses_container(wanted))
        *ret_node = '\0';
    return rc;
}
