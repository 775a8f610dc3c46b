#include "server/config/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/proxy/domain.h"
#include "server/config/section.h"
#include "server/config/yaml.h"
#include "server/params/mcp_tool.h"

/*
 * A server that the operator names is a tool entry whose secret parts stay on this side. A request
 * refers to it by connector_id or by label, and never learns its URL or its key; it can narrow what the
 * operator allows, and not widen it (core/mcp/mcp_named.h).
 *
 * So the entry obeys the rules of a request's entry, and is checked by the same function: read_one()
 * makes a tool of it and calls mcp_tool_check(). The differences are the file's. Every value of YAML
 * is text, so switches become booleans first; and a secret may be the name of an environment variable,
 * because files are copied and committed.
 *
 * `internal: true` lets this one server be on a private network. It does so by egress rules of its own
 * that open one host and port. Adding the address to network.allow_internal_hosts would open it to
 * every URL that any client sends.
 *
 * Nothing is copied: struct mcp_named points into the tree of the file and into the environment, and
 * both live as long as the process needs them.
 */

/* The text of a switch becomes a boolean. Another text stays, and mcp_tool_check() refuses it. */
static void read_switch(json_t *filter)
{
    const char *word = json_get_string(filter, "read_only", "");
    bool on;

    if (config_switch_parse(word, &on))
        json_set_bool(filter, "read_only", on);
}

/* Checks the server as a tool entry of a request would be. */
static enum err_code check_as_tool(json_t *server, const char *token, const char *path,
                                   struct err *err)
{
    static const char *const keys[] = {"headers", "allowed_tools", "require_approval"};
    json_t *require = json_object_get(server, "require_approval");
    json_auto_t *tool = json_object();
    struct err why;
    enum err_code rc;

    read_switch(json_object_get(server, "allowed_tools"));
    read_switch(json_object_get(require, "always"));
    read_switch(json_object_get(require, "never"));
    json_set_string(tool, "server_label", json_get_string(server, "name", ""));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(server, keys[i]);

        if (value)
            json_object_set(tool, keys[i], value);
    }
    if (token)
        json_set_string(tool, "authorization", token);
    json_set_string(tool, "server_description", json_get_string(server, "description", ""));
    rc = mcp_tool_check(tool, path, &why);
    if (!rc)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "%s: %s", *why.place ? why.place : path, why.text);
}

/* The token, or the value of the variable that authorization_env names. */
static enum err_code find_authorization(const json_t *server, const char *path,
                                        const char **ret_token, struct err *err)
{
    const char *variable = json_get_string(server, "authorization_env", NULL);
    const char *token = json_get_string(server, "authorization", NULL);

    if (!variable) {
        *ret_token = token;
        return ERR_OK;
    }
    if (token)
        return err_set(err, ERR_INVALID,
                       "%s: expected 'authorization' or 'authorization_env', not both", path);
    *ret_token = getenv(variable);
    if (!*ret_token || !**ret_token)
        return err_set(err, ERR_INVALID,
                       "%s.authorization_env: the environment variable %.64s is not set", path,
                       variable);
    return ERR_OK;
}

static enum err_code check_url(const char *url, const char *path, struct err *err)
{
    struct err why;

    if (!url || egress_url_check(url, &why) == ERR_OK)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "%s.url: %s", path, why.text);
}

/* ---- Processes ---- */

#define MEMORY_MIB 512 /* of a process whose entry names none */

static enum err_code check_environment(const json_t *environment, const char *path,
                                       struct err *err)
{
    const char *name;
    json_t *value;

    if (environment && !json_is_object(environment))
        return err_set(err, ERR_INVALID, "%s.environment: expected names with values", path);
    json_object_foreach ((json_t *)(uintptr_t)environment, name, value) {
        if (!*name || strchr(name, '=') || !json_is_string(value))
            return err_set(err, ERR_INVALID, "%s.environment.%.64s: expected one value", path,
                           name);
    }
    return ERR_OK;
}

static enum err_code check_network(const json_t *network, const char *path, struct err *err)
{
    size_t i;
    json_t *domain;

    json_array_foreach (network, i, domain) {
        if (!domain_is_pattern(json_string_value(domain)))
            return err_set(err, ERR_INVALID,
                           "%s.network[%zu]: expected a host name, or '*.' before one", path,
                           i);
    }
    return ERR_OK;
}

/* What only a process has, and what only a URL has. */
static enum err_code check_kind(const json_t *server, const char *path, struct err *err)
{
    static const char *const of_urls[] = {"url", "authorization", "authorization_env",
                                          "headers", "internal"};
    static const char *const of_processes[] = {"environment", "network", "folder", "memory"};
    bool process = json_object_get(server, "command");

    for (size_t i = 0; process && i < COUNT_OF(of_urls); i++) {
        if (json_object_get(server, of_urls[i]))
            return err_set(err, ERR_INVALID, "%s: a server with a 'command' has no '%s'", path,
                           of_urls[i]);
    }
    for (size_t i = 0; !process && i < COUNT_OF(of_processes); i++) {
        if (json_object_get(server, of_processes[i]))
            return err_set(err, ERR_INVALID, "%s: only a server with a 'command' has '%s'",
                           path, of_processes[i]);
    }
    if (process && !json_array_size(json_object_get(server, "command")))
        return err_set(err, ERR_INVALID, "%s.command: expected a program and its arguments",
                       path);
    return ERR_OK;
}

/* The URL stands for it where others have one. */
static enum err_code read_process(struct config_mcp *mcp, size_t i, const json_t *server,
                                  const char *path, struct mcp_named *named, struct err *err)
{
    long mib = MEMORY_MIB;
    enum err_code rc = check_kind(server, path, err);

    if (rc || !json_object_get(server, "command"))
        return rc;
    named->command = json_object_get(server, "command");
    named->environment = json_object_get(server, "environment");
    named->network = json_object_get(server, "network");
    named->folder = json_get_string(server, "folder", NULL);
    rc = section_number(server, path, "memory", 16, 65536, MEMORY_MIB, &mib, err);
    named->memory = (uint64_t)mib << 20;
    if (!rc)
        rc = check_environment(named->environment, path, err);
    if (!rc)
        rc = check_network(named->network, path, err);
    mcp->pairs[i] = mem_printf("stdio:%s", named->name);
    named->url = mcp->pairs[i];
    return rc;
}

static bool is_switched_on(const json_t *server, const char *key)
{
    bool on = false;

    (void)config_switch_parse(json_get_string(server, key, ""), &on);
    return on;
}

/* An internal server gets rules that open its own host and port; any other has those of all URLs. */
static void set_egress(struct config_mcp *mcp, size_t i, const json_t *server,
                       const struct egress_rules *egress)
{
    mcp->servers[i].egress = *egress;
    if (!is_switched_on(server, "internal") || !mcp->servers[i].url)
        return;
    mcp->pairs[i] = egress_pair_of(mcp->servers[i].url);
    mcp->opens[i] = mcp->pairs[i];
    mcp->servers[i].egress = (struct egress_rules){.open = &mcp->opens[i], .open_count = 1};
}

static enum err_code read_one(struct config_mcp *mcp, size_t i, json_t *server,
                              const struct egress_rules *egress, struct err *err)
{
    char path[64];
    struct mcp_named named = {
        .name = json_get_string(server, "name", ""),
        .url = json_get_string(server, "url", NULL),
        .headers = json_object_get(server, "headers"),
        .allowed_tools = json_object_get(server, "allowed_tools"),
        .require_approval = json_object_get(server, "require_approval"),
        .description = json_get_string(server, "description", NULL),
        .resources = is_switched_on(server, "resources"),
        .prompts = is_switched_on(server, "prompts"),
    };
    enum err_code rc;

    (void)snprintf(path, sizeof(path), "mcp_servers[%zu]", i);
    for (size_t n = 0; n < i; n++) {
        if (strcmp(mcp->servers[n].name, named.name) == 0)
            return err_set(err, ERR_INVALID, "%s: there are two servers named '%.64s'", path,
                           named.name);
    }
    rc = read_process(mcp, i, server, path, &named, err);
    if (!rc && !named.command)
        rc = check_url(named.url, path, err);
    if (!rc)
        rc = find_authorization(server, path, &named.authorization, err);
    if (!rc)
        rc = check_as_tool(server, named.authorization, path, err);
    if (rc)
        return rc;
    mcp->servers[i] = named;
    set_egress(mcp, i, server, egress);
    return ERR_OK;
}

enum err_code config_mcp_read(json_t *list, const struct egress_rules *egress,
                              struct config_mcp *ret_mcp, struct err *err)
{
    size_t count = json_array_size(list);
    size_t i;
    json_t *server;

    *ret_mcp = (struct config_mcp){.servers = mem_new_array(struct mcp_named, count + 1),
                                   .count = count,
                                   .pairs = mem_new_array(char *, count + 1),
                                   .opens = mem_new_array(const char *, count + 1)};
    json_array_foreach (list, i, server) {
        enum err_code rc = read_one(ret_mcp, i, server, egress, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

void config_mcp_clear(struct config_mcp *mcp)
{
    for (size_t i = 0; i < mcp->count; i++)
        free(mcp->pairs[i]);
    free(mcp->servers);
    free(mcp->pairs);
    free(mcp->opens);
    *mcp = (struct config_mcp){0};
}
