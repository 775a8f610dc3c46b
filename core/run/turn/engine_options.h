#ifndef RUNNEL_CORE_RUN_TURN_ENGINE_OPTIONS_H
#define RUNNEL_CORE_RUN_TURN_ENGINE_OPTIONS_H

#include <stddef.h>

#include "core/domain/run_settings.h"
#include "core/domain/tenant.h"
#include "core/run/turn/slot_waiter.h"

/*
 * engine_options.h -- what an engine is made with, and what its runs read of it. A run gets them by
 * engine_options() in home.h. They are constant as long as the engine lives.
 */

struct approval_webhook;
struct before_send;
struct egress_rules;
struct face;
struct log_reader;
struct mcp_processes;
struct model_upstream;
struct permission_set;
struct run_cited;
struct seal;
struct store;
struct tool_executor;
struct tool_containers;
struct tool_desk;
struct tool_finder;
struct tool_web;
struct tool_painter;

/* What the pointers refer to outlives the engine. */
struct engine_options {
    struct store *store;
    struct log_reader *log_reader; /* for followers */
    struct tool_executor *executor;
    /* For tools that run code (TOOL_NEEDS_SANDBOX): their own workers, because commands take minutes, and their
     * containers. NULL: nothing is executed */
    struct tool_executor *code_executor;
    const struct tool_containers *containers;
    /* For tools that draw (TOOL_DRAWS): their own workers, because a picture takes a minute, and what they ask. NULL:
     * nothing is drawn */
    struct tool_executor *picture_executor;
    const struct tool_painter *painter;
    /* For tools with TOOL_WAITS_FOR_WEB: their own workers, because a page may take half a minute. NULL: those of all
     * tools */
    struct tool_executor *web_executor;
    struct run_cited
        *cited; /* files of containers that responses cite are copied; NULL: they are not */
    const struct tool_desk *desk;     /* for tools that look through files; NULL: none can */
    const struct tool_finder *finder; /* for tools that search files; NULL: none can */
    const struct tool_web *web;       /* for tools that search the web; NULL: none can */
    const struct face *assistants;    /* the two faces */
    const struct face *responses;
    const struct permission_set *permissions; /* the operator's; NULL: the operator set none */
    bool ignore_taint;       /* foreign results change no policy (approval/run_taint.h) */
    bool containers_online;  /* the operator allows containers a network */
    const struct seal *seal; /* for what clients carry */
    struct before_send *before_send; /* sees all requests to models; NULL: nothing does */
    struct before_send *load_files;  /* sees those that name files; NULL: they go as they are */
    const struct model_upstream *upstreams; /* fixed at start */
    size_t upstream_count;
    unsigned loops;                  /* 0: one for each core */
    double response_timeout_seconds; /* a response that runs longer fails */
    /* A foreground response under a key that no client waits for is cancelled after this time. */
    double idempotency_grace_seconds;
    double
        log_flush_max_seconds; /* the longest between two flushes of a log; 0: never stretched */
    unsigned round_limit;      /* turns in a row without the client; 0: 10 */
    unsigned call_limit;       /* server-side calls of one run; 0: no limit */
    enum run_history history;  /* for requests that do not choose one */
    size_t context_limit;      /* items that a run may load; 0: 20000 */
    size_t byte_limit;         /* of the texts that all live runs have loaded; 0: no limit */
    struct slots_limits slots; /* runs at work at once, and how many may wait for a slot */
    struct tenant_limits tenant_limits; /* of every project */
    const struct egress_rules *egress;  /* where remote MCP servers may be */
    struct mcp_processes
        *mcp_processes; /* for MCP servers that are processes; NULL: none can run */
    const struct approval_webhook *webhooks; /* at most one of a project */
    size_t webhook_count;
    double notice_seconds;       /* between two notices of a response that is held; 0: 15 */
    double tool_timeout_seconds; /* of a call on a remote MCP server; 0: no limit */
    double regex_seconds;        /* of all regular expressions of a run's tools; 0: no limit */
};

#endif
