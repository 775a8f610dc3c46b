#include "server/sandbox/sandboxes.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/container/boxes.h"
#include "core/container/containers.h"
#include "core/container/python.h"
#include "core/net/proxy/proxy.h"
#include "core/sandbox/sandbox.h"
#include "core/tool/executor.h"
#include "core/tool/registry.h"
#include "server/config/config.h"
#include "server/sandbox/mcp_hosts.h"
#include "server/server.h"

/* A call may wait for memory, and its box must start: its handler has so much more time than its command. */
#define AROUND_SECONDS 60.0

#define QUEUE_SECONDS 30.0

#define SMALLEST ((uint64_t)CONTAINER_GIB << 30)

static uint64_t half_of_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

/* Of all boxes. */
static uint64_t memory_of(const struct config *config)
{
    return config->sandbox_memory ? config->sandbox_memory : half_of_memory();
}

uint64_t sandboxes_largest(const struct config *config)
{
    uint64_t all = memory_of(config);
    uint64_t most = config->sandbox_memory_max < all ? config->sandbox_memory_max : all;

    return most > SMALLEST ? most : SMALLEST;
}

static void want_room(void *argument)
{
    mcp_hosts_want_room(argument);
}

static void start_boxes(struct server *server)
{
    const struct config *config = server->config;
    struct boxes_options options = {
        .count = config->sandbox_containers,
        .memory = memory_of(config),
        .calls = config->sandbox_calls_per_container,
        .idle_ns = clock_ns_from_seconds(config->sandbox_idle),
        .queue_ns = clock_ns_from_seconds(QUEUE_SECONDS),
        .user = geteuid() == 0 ? config->sandbox_uids : 0,
        .limits = {.temporary = config->sandbox_tmp,
                   .file = config->sandbox_disk,
                   .processes = config->sandbox_processes,
                   .cpus = config->sandbox_cpus},
        .proxies = server->proxies,
        .want_room = want_room,
        .argument = server,
    };

    server->boxes = boxes_new(&options);
}

/* Some MCP server is a process that may reach something. */
static bool has_networks(const struct config *config)
{
    for (size_t i = 0; i < config->mcp.count; i++) {
        if (json_array_size(config->mcp.servers[i].network))
            return true;
    }
    return false;
}

enum err_code sandboxes_start(struct server *server, struct err *err)
{
    const struct config *config = server->config;
    enum err_code rc;

    if (!server->sandbox || sandbox_obstacle(server->sandbox) != SANDBOX_CHECKS)
        return ERR_OK;
    rc = json_array_size(config->sandbox_domains) || has_networks(config)
             ? proxies_new(&config->egress, NULL, &server->proxies, err)
             : ERR_OK;
    if (rc)
        return rc;
    start_boxes(server);
    server->code_executor =
        tool_executor_new(config->sandbox_calls, config->sandbox_exec_max + AROUND_SECONDS);
    tool_executor_share(server->code_executor);
    return tool_executor_start(server->code_executor, err);
}

/* As long as the process: requests that are refused say it. */
static char missing[384];

const char *sandboxes_obstacle(const struct server *server)
{
    enum sandbox_check obstacle;

    if (!server->sandbox)
        return "the setting 'sandbox' is 'off'";
    obstacle = sandbox_obstacle(server->sandbox);
    if (obstacle != SANDBOX_CHECKS) {
        const char *seen = server->sandbox->findings[obstacle].seen;

        (void)snprintf(missing, sizeof(missing), "the check '%s' of the sandbox failed%s%s",
                       sandbox_check_name(obstacle), *seen ? ": " : "", seen);
        return missing;
    }
    if (!server->containers)
        return "this machine cannot have containers";
    return memory_of(server->config) < SMALLEST ? "its boxes have less than 1 GiB together"
                                                : NULL;
}

void sandboxes_declare(const struct server *server)
{
    tool_registry_lack(TOOL_NEEDS_SANDBOX, sandboxes_obstacle(server));
    tool_registry_lack(TOOL_NEEDS_PYTHON,
                       python_is_installed() ? NULL : "python3 is not installed");
    tool_registry_lack(TOOL_NEEDS_RIPGREP,
                       access("/usr/bin/rg", X_OK) == 0 ? NULL : "ripgrep is not installed");
    tool_registry_lack(TOOL_NEEDS_NODE,
                       access("/usr/bin/node", X_OK) == 0 ? NULL : "nodejs is not installed");
    tool_registry_lack(TOOL_NEEDS_PANDOC,
                       access("/usr/bin/pandoc", X_OK) == 0 ? NULL : "pandoc is not installed");
}

void sandboxes_drain(struct server *server)
{
    if (server->boxes)
        boxes_drain(server->boxes);
}

void sandboxes_cut(struct server *server)
{
    if (!server->boxes)
        return;
    boxes_drain(server->boxes);
    boxes_kill(server->boxes);
}

void sandboxes_stop(struct server *server, uint64_t patience_ns)
{
    sandboxes_cut(server);
    if (server->code_executor)
        tool_executor_stop(server->code_executor, patience_ns);
}

void sandboxes_free(struct server *server)
{
    struct boxes_counts counts = {0};

    if (server->code_executor)
        tool_executor_free(server->code_executor);
    if (server->boxes)
        boxes_count(server->boxes, &counts);
    /* A handler that does not return has a box that has ended. What it holds ends with the process. */
    if (counts.busy)
        return;
    boxes_free(server->boxes);
    proxies_free(server->proxies);
}
