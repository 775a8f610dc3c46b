/*
 * unavailable.c -- tools that this server cannot execute.
 *
 *   tools ─┬─▶ tool_set_init(): leaves them out
 *          ├─▶ unavailable_tools_check(): refuses them, if the operator wants that
 *          └─▶ unavailable_tools_note() ─▶ snapshot of the run ─▶ runnel.unavailable_tools
 *
 * What is left out is kept in the snapshot and not found anew each time: a response says what it lacked when it
 * was made, also on a server that has learnt more since.
 *
 * No type is named here. What the registry has no handler for, nobody executes. A handler that serves only
 * some entries of its type says so itself.
 */

#include "core/run/catalog/unavailable.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/run/catalog/passed_tools.h"
#include "core/tool/registry.h"

static enum unavailable_tools chosen = UNAVAILABLE_SKIP;

void unavailable_tools_set(enum unavailable_tools setting)
{
    chosen = setting;
}

/* Entries that stand for other tools. */
static bool is_list(const char *type)
{
    return strcmp(type, "mcp") == 0 || strcmp(type, "namespace") == 0;
}

const char *unavailable_reason(const struct run_settings *settings, const json_t *entry)
{
    const char *type = json_get_string(entry, "type", "");
    const struct tool_handler *handler = tool_registry_serving(entry);

    if (is_list(type) || passed_tools_take(settings, entry))
        return NULL;
    if (!handler)
        return "this version does not execute it";
    if (tool_registry_lacks(handler))
        return tool_registry_lacks(handler);
    return handler->unavailable ? handler->unavailable(entry) : NULL;
}

enum err_code unavailable_tool_refuse(const struct run_settings *settings, const json_t *entry,
                                      size_t index, struct err *err)
{
    char param[64];

    (void)snprintf(param, sizeof(param), "tools[%zu]", index);
    return err_refuse(
        err, ERR_INVALID, REASON_UNSUPPORTED, param,
        "Unsupported value: the tool '%.64s' is not available on this server: %s.",
        json_get_string(entry, "type", ""), unavailable_reason(settings, entry));
}

enum err_code unavailable_tools_check(const struct run_settings *settings, const json_t *tools,
                                      struct err *err)
{
    size_t i;
    json_t *entry;

    if (chosen == UNAVAILABLE_SKIP)
        return ERR_OK;
    json_array_foreach (tools, i, entry) {
        if (unavailable_reason(settings, entry))
            return unavailable_tool_refuse(settings, entry, i, err);
    }
    return ERR_OK;
}

/* NULL: nothing. New reference. */
static json_t *left_out(const struct run_settings *settings)
{
    json_t *list = NULL;
    size_t i;
    json_t *entry;

    json_array_foreach (settings->tools, i, entry) {
        const char *reason = unavailable_reason(settings, entry);

        if (!reason)
            continue;
        if (!list)
            list = json_array();
        json_array_append_new(list,
                              json_build("{s:s, s:s}", "type",
                                         json_get_string(entry, "type", ""), "reason", reason));
    }
    return list;
}

#define WARNING_INTERVAL (60 * NS_PER_SECOND)

/* When the next warning may be written. The thread that moves it writes. */
static _Atomic uint64_t next_warning;

static void warn(const json_t *entry, uint64_t now)
{
    uint64_t due = atomic_load(&next_warning);

    if (now < due ||
        !atomic_compare_exchange_strong(&next_warning, &due, now + WARNING_INTERVAL))
        return;
    log_warn("a request goes on without the tool '%s': %s (unavailable_tools: skip)",
             json_get_string(entry, "type", ""), json_get_string(entry, "reason", ""));
}

void unavailable_tools_note(struct run_settings *settings, uint64_t now)
{
    json_t *list = chosen == UNAVAILABLE_SKIP ? left_out(settings) : NULL;

    if (!list)
        return;
    warn(json_array_get(list, 0), now);
    run_settings_set_unavailable(settings, list);
}
