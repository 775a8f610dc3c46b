#include "server/web/web_desk.h"

#include <stdint.h>

#include "core/base/json.h"
#include "core/tool/registry.h"
#include "core/web/web_search.h"
#include "server/outgoing.h"
#include "server/server.h"

static enum err_code wait(void *call, uint64_t ns)
{
    return tool_call_wait(call, ns);
}

static size_t count_of(const json_t *query)
{
    json_int_t count = json_get_int(query, "count", (json_int_t)WEB_RESULTS_LIMIT);

    return count > 0 && (size_t)count < WEB_RESULTS_LIMIT ? (size_t)count : WEB_RESULTS_LIMIT;
}

static enum err_code search(void *arg, struct tool_call *call, const json_t *query,
                            json_t **ret_found, struct err *err)
{
    const struct server *server = arg;
    const char *queries[WEB_QUERIES_LIMIT];
    struct web_search wanted = {
        .run = tool_call_run(call),
        .queries = queries,
        .about = {.freshness = json_get_string(query, "freshness", NULL),
                  .country = json_get_string(query, "country", NULL),
                  .domains = json_object_get(query, "domains"),
                  .count = count_of(query)},
        .wait = wait,
        .wait_arg = call,
    };
    size_t i;
    json_t *text;

    json_array_foreach (json_object_get(query, "queries"), i, text) {
        if (json_is_string(text) && wanted.query_count < WEB_QUERIES_LIMIT)
            queries[wanted.query_count++] = json_string_value(text);
    }
    if (!server->web_searcher || !wanted.query_count)
        return err_set(err, ERR_INVALID, "There is nothing to search for.");
    return web_search(server->web_searcher, &wanted, ret_found, err);
}

static char *result(void *arg, const struct tool_call *call, size_t number)
{
    const struct server *server = arg;

    return server->web_searcher
               ? web_search_result(server->web_searcher, tool_call_run(call), number)
               : NULL;
}

void web_desk_open(struct server *server)
{
    const struct config_web_search *config = &server->config->web_search;

    if (!config->count)
        return;
    server->web_searcher = web_searcher_new(&(struct web_searcher_options){
        .providers = config->providers,
        .count = config->count,
        .any_loop = outgoing_loop,
        .loop_arg = server,
    });
    tool_registry_lack(TOOL_NEEDS_WEB_SEARCH, NULL);
}

struct tool_web web_desk(struct server *server)
{
    return (struct tool_web){.search = search, .result = result, .arg = server};
}
