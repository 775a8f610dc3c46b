#include "server/web/web_workers.h"

#include "core/tool/executor.h"
#include "server/config/config.h"
#include "server/server.h"

enum err_code web_workers_start(struct server *server, struct err *err)
{
    const struct config *config = server->config;

    server->web_executor = tool_executor_new(config->web_calls, config->tool_timeout);
    tool_executor_share(server->web_executor);
    return tool_executor_start(server->web_executor, err);
}

void web_workers_stop(struct server *server, uint64_t patience_ns)
{
    if (server->web_executor)
        tool_executor_stop(server->web_executor, patience_ns);
}

void web_workers_free(struct server *server)
{
    tool_executor_free(server->web_executor);
}
