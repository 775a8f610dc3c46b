#ifndef RUNNEL_SERVER_SERVER_H
#define RUNNEL_SERVER_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/ids.h"
#include "core/base/seal.h"
#include "server/config/config.h"

/*
 * server.h -- the parts of a running server: made by serve.c, lent to endpoints.
 *
 * All members are set before the first request and constant until the last one has ended, so any thread may read
 * them. `draining` and `ending` are the exceptions.
 */

struct blobs;
struct boxes;
struct chain_cache;
struct mcp_processes;
struct proxies;
struct containers;
struct embeddings;
struct engine;
struct file_loading;
struct held_polls;
struct http;
struct ingest;
struct masking;
struct picture_model;
struct pages;
struct query_rewriter;
struct reranker;
struct retrieval;
struct sandbox_report;
struct scan_model;
struct store;
struct tool_executor;
struct turns;
struct vector_model;
struct web_searcher;
struct crew;
struct workers;
struct ws_budget;

struct server {
    const struct config *config;
    struct store *store;
    struct blobs *blobs;           /* bytes of files */
    struct containers *containers; /* NULL: this machine cannot have them */
    struct container_asks
        *container_asks; /* does what other nodes ask of them; NULL with them */
    struct engine *engine;
    struct tool_executor *executor;
    /* For handlers with TOOL_NEEDS_SANDBOX, and the boxes that they run code in: sandboxes.h. NULL: nothing is
     * executed here */
    struct tool_executor *code_executor;
    struct mcp_processes *mcp_processes; /* NULL: no MCP server is a process */
    struct workers *mcp_hosts;           /* start them */
    struct workers *mcp_ends;            /* end them, so that those that start get room */
    struct proxies *proxies;             /* of the boxes; NULL: they have no network */
    struct boxes *boxes;
    /* For handlers with TOOL_DRAWS: pictures/picture_desk.h. NULL: nothing is drawn */
    struct tool_executor *picture_executor;
    struct picture_model *picture_model;
    struct masking *masking; /* NULL without masks */
    struct file_loading *file_loading;
    struct http *http;
    struct crew *crew;              /* the threads of all workers */
    struct workers *workers;        /* for messages of WebSockets */
    struct workers *readers;        /* for files of requests */
    struct workers *script_workers; /* for scripts to be parsed in a box */
    struct workers *file_workers;   /* for bytes on their way to the disk, or to another blob */
    struct workers *checkers;       /* for uploads that are checked; NULL: none is */
    int checks_stop_fd;             /* an eventfd that ends them; only with checkers */
    struct turns *joins;            /* uploads whose parts are being joined */
    struct ingest *ingest;          /* makes files of vector stores searchable */
    struct retrieval *retrieval;    /* searches them */
    struct pages *pages;            /* that tools fetch */
    struct tool_executor
        *web_executor; /* for handlers with TOOL_WAITS_FOR_WEB: web/web_workers.h */
    struct query_rewriter *rewriter; /* of queries; NULL: the configuration names no model */
    struct scan_model *scan_model;   /* reads pictures of pages; NULL: no model does */
    struct reranker *reranker;     /* judges what was found; NULL: the configuration has none */
    struct embeddings *embeddings; /* NULL: search is by words; so is the next */
    struct vector_model *vector_model;
    struct web_searcher *web_searcher;    /* NULL: the configuration has no provider */
    struct workers *searchers;            /* for searches over HTTP */
    struct held_polls *held_polls;        /* of pollers of files */
    const struct sandbox_report *sandbox; /* what this machine can confine; NULL: off */
    struct seal seal;                     /* the same on all servers of the database */
    char default_project
        [ID_SIZE]; /* of the key in the setting api_key, and of requests under no_auth */
    struct chain_cache *chain_cache;  /* of histories; NULL: none are kept */
    struct ws_budget *past_responses; /* for the responses that WebSockets remember */
    atomic_bool draining;             /* set once, when the server goes down */
    atomic_bool ending;               /* set once, when its drain is over */
};

#endif
