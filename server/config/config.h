#ifndef RUNNEL_SERVER_CONFIG_CONFIG_H
#define RUNNEL_SERVER_CONFIG_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/domain/permission.h"
#include "core/domain/tenant.h"
#include "core/model/model.h"
#include "core/net/egress.h"
#include "server/config/embeddings.h"
#include "server/config/files.h"
#include "server/config/images.h"
#include "server/config/mcp.h"
#include "server/config/ocr.h"
#include "server/config/rerank.h"
#include "server/config/retrieval.h"
#include "server/config/web_search.h"
#include "server/config/webhooks.h"

/*
 * config.h -- the settings, read once at start and never changed.
 *
 * Every setting is one row of the table in config.c. That makes it a flag (--run-expiry), an environment
 * variable (RUNNEL_RUN_EXPIRY), a key of the YAML file (run_expiry:), and a line of `runnel settings` and of
 * the manual. A flag wins over the environment, the environment over the file, the file over the default.
 *
 * The file may also have sections, for what does not fit on a line: upstreams, embeddings, images, ocr, rerank,
 * rewrite, retrieval, mcp_servers, tools, files, approval_webhooks, hooks, network, sandbox, web_search. Every key of
 * them is checked, also in sections of features that this version does not have, so that a typing error never passes
 * for a setting.
 *
 * No variable OPENAI_* is ever read: users set those to point their clients at this server.
 *
 * Read on one thread, then constant: any thread.
 */

struct masks;

enum unknown_parameters {
    UNKNOWN_IGNORE,
    UNKNOWN_REJECT,
};

enum sandbox_mode {
    SANDBOX_AUTO, /* what the machine lets it do */
    SANDBOX_OFF,
    SANDBOX_BWRAP, /* required */
};

enum sandbox_copies {
    SANDBOX_COPIES_CITED,
    SANDBOX_COPIES_ALL,
};

enum file_storage {
    FILE_STORAGE_AUTO, /* by the database */
    FILE_STORAGE_DIR,
    FILE_STORAGE_DATABASE,
    FILE_STORAGE_S3,
};

enum ocr {
    OCR_OFF,
    OCR_TESSERACT,
    OCR_UPSTREAM, /* the model of the section `ocr` */
};

enum retrieval_engine {
    RETRIEVAL_BUILTIN,
    RETRIEVAL_PGVECTOR,
};

struct config {
    char *config; /* the file, or NULL */
    char *listen; /* "127.0.0.1:8080", "[::1]:8080" */
    char *database_url;
    char *database_direct_url; /* NULL: as database_url */
    char *data_dir;
    char *upstream_url; /* NULL: none */
    char *upstream_api_key;
    char *api_key; /* NULL: generated once and kept in data_dir */
    bool no_auth;
    int file_storage;     /* enum file_storage */
    int retrieval_engine; /* enum retrieval_engine */
    int ocr;              /* enum ocr */
    char *ocr_languages;  /* "eng+deu" */
    char *files_dir;      /* NULL: files, in data_dir */

    /* Seconds. */
    double run_expiry, response_timeout;
    double upstream_connect_timeout, upstream_first_byte_timeout;
    double upstream_idle_timeout, upstream_total_timeout;
    double tool_timeout, run_regex_time;
    double sse_ping_interval;
    double stream_stall_timeout;
    double event_retention;
    double idempotency_grace;
    double log_flush_max;
    double lease_ttl;
    double drain_timeout;
    double store_timeout;
    double header_timeout, body_timeout, keep_alive;
    double websocket_age;
    double ingest_deadline, search_timeout;

    unsigned http_workers, run_loops, tool_workers, web_calls, store_writers;
    unsigned max_connections, max_connections_per_ip, max_connection_requests;
    unsigned max_runs, max_runs_per_project, max_held_per_project, max_waiting_runs;
    unsigned max_waiting_files;
    unsigned max_rounds, max_calls, max_items;
    size_t max_file, max_upload, max_upload_part;
    size_t max_project_bytes; /* 0: no limit */
    size_t loaded_files, max_body, max_form, max_bodies, max_run_bytes, max_header,
        stream_buffer, stream_buffers; /* bytes */
    unsigned websocket_lanes, websocket_workers;
    size_t websocket_memory; /* bytes */
    unsigned file_workers, ingest_workers, search_workers;
    unsigned file_search_tokens; /* of passages that one search shows the model */
    size_t segment_cache;        /* bytes */
    size_t chain_cache;          /* bytes */

    int unknown_parameters; /* enum unknown_parameters */
    int unavailable_tools;  /* enum unavailable_tools */
    int sandbox;            /* enum sandbox_mode */
    unsigned sandbox_containers, sandbox_calls, sandbox_calls_per_container;
    unsigned sandbox_cpus, sandbox_processes;
    size_t sandbox_memory, sandbox_tmp, sandbox_output; /* bytes; of memory, 0: half of it */
    double sandbox_exec_timeout, sandbox_exec_max;      /* seconds */
    unsigned sandbox_uids; /* the first one of boxes, if the server is root */
    unsigned sandbox_containers_per_project, sandbox_files;
    size_t sandbox_memory_max, sandbox_disk, sandbox_disk_reserve; /* bytes */
    double sandbox_idle;                                           /* seconds */
    int sandbox_copies;                                            /* enum sandbox_copies */
    int history;                                                   /* enum run_history */
    char *cors_origins; /* NULL: none; "*", or origins separated by commas */
    int log;            /* enum log_level */

    /* The section `upstreams` in its order, then upstream_url, for all models that none of them serves. If there
     * is no upstream at all, serve adds the demo model. */
    struct model_upstream *upstreams;
    size_t upstream_count;

    /* The section `network`: where requests may go whose URLs come from clients. */
    struct egress_rules egress;
    /* sandbox.network.allowed_domains: the most that containers may reach (core/net/proxy/domain.h). NULL: nothing. */
    const json_t *sandbox_domains;
    /* sandbox.roots: [{"name", "path", "writable"}], checked. NULL: none. */
    const json_t *sandbox_roots;
    /* The section hooks.before_send: see core/model/mask.h. Or NULL. */
    struct masks *masks;
    /* The section `tools`: config/tools.h. Or NULL. */
    json_t *tools;
    /* The section tools.permissions, by "group/tool" or "group". */
    struct permission_set permissions;
    /* The section mcp_servers. */
    struct config_mcp mcp;
    /* The section files. */
    struct config_files files;
    /* The section rerank. */
    struct config_rerank rerank;
    /* The section web_search. */
    struct config_web_search web_search;
    /* The section rewrite: the model for `rewrite_query`, and the upstream that serves it. NULL without one. */
    const char *rewrite_model;
    const struct model_upstream *rewrite_upstream;

    /* The section embeddings. */
    struct config_embeddings embeddings;
    /* The section retrieval. */
    struct config_retrieval retrieval;
    /* The section ocr. */
    struct config_ocr ocr_model;
    /* The section images. */
    struct config_images images;

    /* The section approval_webhooks. */
    struct config_webhooks webhooks;
};

/* Reads flags, environment and file. `argv` begins after the name of the subcommand. An argument that is not a
 * flag is an error. ERR_INVALID with one sentence that names the source and the mistake. The caller frees
 * *ret_config. */
enum err_code config_read(int argc, char **argv, struct config **ret_config,
                          struct err *err) MUST_CHECK;
void config_free(struct config *config);

/* The same for subcommands with arguments of their own: those that are not flags are moved to the front of
 * argv, and *ret_argc is their number. */
enum err_code config_read_some(int argc, char **argv, int *ret_argc, struct config **ret_config,
                               struct err *err) MUST_CHECK;

/* The limits that hold for every project. */
struct tenant_limits config_tenant_limits(const struct config *config);

/* Adds an upstream that serves every model: the demo model, if none was configured. */
void config_add_upstream(struct config *config, const char *name, const char *url);

/* Prints the table of settings in Markdown, as the manual has it. */
void config_print_settings(FILE *file);

#endif
