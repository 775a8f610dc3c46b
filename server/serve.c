/*
 * serve.c -- the order in which the server is put together and taken apart.
 *
 * Going up is the list `steps`. What can fail without a trace comes first (the lock, the key, the
 * port), what a client could notice comes last. So a second server on the same data directory, or on
 * a used port, fails before it touches the database, and the port answers only when everything
 * behind it works.
 *
 * Going down has two phases. Draining is for clients: no new work, streams and runs may end, runs that
 * another node can continue are released. After drain_timeout what is left is cut. Then the parts are
 * stopped in the reverse order, each after those that use it:
 *
 *   http       takes no requests; its suspended connections still belong to loops
 *   workers, keeper, ingestion, log reader    would give the loops more work
 *   engine     its loops give the connections back
 *   executor, masking, writers     the loops wait for them, so they end later
 *   http, database   are freed when no part has a pointer into them
 *
 * The loops outlive HTTP, because only they can return its connections. The store outlives the loops,
 * because what they announced to a client must be written.
 *
 * go_down() is also what undoes a failed start, from any step: each part is NULL or has a flag until it
 * exists. A start that fails before the database knows the key removes its files again.
 *
 * A crash skips all of this, and nothing depends on it: acknowledged work is committed, and leases
 * expire.
 *
 * Signals are blocked in all threads and taken by sigwaitinfo() on the main one, so no code runs in a
 * signal handler while the server is up. The exception is the second signal, which ends the process
 * at once.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/container/boxes.h"
#include "core/container/containers.h"
#include "core/document/document.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/ingest.h"
#include "core/ingest/rerank.h"
#include "core/ingest/search.h"
#include "core/ingest/search_sets.h"
#include "core/ingest/vector_model.h"
#include "core/model/tokens/tokenizer.h"
#include "core/net/http_client.h"
#include "core/net/listen.h"
#include "core/picture/picture_model.h"
#include "core/run/catalog/passed_tools.h"
#include "core/run/catalog/unavailable.h"
#include "core/run/engine/engine.h"
#include "core/sandbox/compute.h"
#include "core/sandbox/confine.h"
#include "core/sandbox/sandbox.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/store/cluster/log_reader.h"
#include "core/store/embedded/embedded.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/keys.h"
#include "core/store/tables/secrets.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/pgvector.h"
#include "core/store/writer/writer.h"
#include "core/tool/executor.h"
#include "core/web/pages.h"
#include "core/web/web_search.h"
#include "server/api/auth.h"
#include "server/api/files/turns.h"
#include "server/api/responses/chain_cache.h"
#include "server/api/responses/socket/memory.h"
#include "server/api/vector_stores/held_poll.h"
#include "server/cli/commands.h"
#include "server/config/config.h"
#include "server/config/tools.h"
#include "server/data_dir.h"
#include "server/database.h"
#include "server/encode/faces.h"
#include "server/fakemodel/server.h"
#include "server/files/cited_copies.h"
#include "server/files/file_check.h"
#include "server/files/file_desk.h"
#include "server/files/file_finder.h"
#include "server/files/file_loading.h"
#include "server/files/file_places.h"
#include "server/http/http.h"
#include "server/http/stream/sse.h"
#include "server/keeper.h"
#include "server/masking.h"
#include "server/outgoing.h"
#include "server/params/params.h"
#include "server/pictures/picture_desk.h"
#include "server/query_rewriter.h"
#include "server/sandbox/container_asks.h"
#include "server/sandbox/container_desk.h"
#include "server/sandbox/mcp_hosts.h"
#include "server/sandbox/sandbox_roots.h"
#include "server/sandbox/sandboxes.h"
#include "server/scan_model.h"
#include "server/server.h"
#include "server/web/page_desk.h"
#include "server/web/web_desk.h"
#include "server/web/web_workers.h"
#include "server/workers.h"

/* How long a thread of the crew sleeps before it ends. */
#define CREW_IDLE_NS (60 * NS_PER_SECOND)

#define DEMO_LISTEN "127.0.0.1:0"

/* Time for runs that were cut to send their last events. */
#define LAST_EVENTS_NS (2 * NS_PER_SECOND)
/* Time for tools to return after they were cancelled. */
#define TOOL_PATIENCE_NS (2 * NS_PER_SECOND)

struct serving {
    struct server server;
    struct config *config;
    struct ws_budget past_responses;
    int lock_fd;                   /* of data_dir; -1 */
    struct data_dir_traces before; /* what data_dir had before this start */
    char node[DATA_DIR_LINE_SIZE]; /* without the boot */
    char node_id[2 * DATA_DIR_LINE_SIZE];
    char key[DATA_DIR_LINE_SIZE];
    int listen_fd; /* -1 once http owns it */
    char url[LISTEN_URL_SIZE];
    struct database database;
    struct workspaces *workspaces;
    struct sandbox_roots *roots;
    struct cited_copies *cited_copies; /* NULL without containers */
    struct upstream_server *demo;
    struct keeper *keeper;
    struct log_reader *log_reader;
    bool key_known; /* the database has the key: the files of data_dir must stay */
    struct tool_finder finder;
    struct tool_desk desk;
    struct tool_web web;
    struct tool_containers containers;
    struct tool_painter painter;
    struct document_scans scans;
    struct sandbox_report sandbox;
    bool engine_started, executor_started, writers_started;
};

typedef enum err_code step_fn(struct serving *serving, struct err *err);

/* ---- Signals ---- */

static void ending_signals(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGTERM);
    sigaddset(ret_set, SIGINT);
}

/* Before the first thread, so that none of them is ever interrupted. */
static void block_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t set;

    ending_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

/* A signal has arrived during the start. */
static bool has_signal(void)
{
    sigset_t pending;

    sigemptyset(&pending);
    (void)sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

/* ---- Up ---- */

static void make_node_id(char ret_line[DATA_DIR_LINE_SIZE])
{
    id_make(ret_line, "node_");
}

static void make_key(char ret_line[DATA_DIR_LINE_SIZE])
{
    char letters[49];

    id_random(letters, sizeof(letters) - 1);
    (void)snprintf(ret_line, DATA_DIR_LINE_SIZE, "sk-runnel-%s", letters);
}

static enum err_code lock_data_dir(struct serving *serving, struct err *err)
{
    data_dir_inspect(serving->config->data_dir, &serving->before);
    return data_dir_lock(serving->config->data_dir, &serving->lock_fd, err);
}

/* The id of the node outlives restarts, the boot is new each time. Leases have both, so that a node recognises
 * those of its own earlier boots and claims them at once. */
static enum err_code find_identity(struct serving *serving, struct err *err)
{
    char node[DATA_DIR_LINE_SIZE];
    char boot[ID_SIZE];
    enum err_code rc =
        data_dir_line(serving->config->data_dir, "node_id", make_node_id, node, err);

    if (rc)
        return rc;
    id_make(boot, "boot_");
    (void)snprintf(serving->node_id, sizeof(serving->node_id), "%s/%s", node, boot);
    memcpy(serving->node, node, sizeof(node));
    return ERR_OK;
}

static enum err_code find_key(struct serving *serving, struct err *err)
{
    const char *given = serving->config->api_key;

    if (!given)
        return data_dir_line(serving->config->data_dir, "api_key", make_key, serving->key, err);
    (void)snprintf(serving->key, sizeof(serving->key), "%s", given);
    return ERR_OK;
}

static enum err_code open_socket(struct serving *serving, struct err *err)
{
    return listen_open(serving->config->listen, &serving->listen_fd, serving->url, err);
}

/* All servers of a database have one seal key: what one has sealed, any other can open. */
static enum err_code share_key(struct serving *serving, struct err *err)
{
    unsigned char fresh[SEAL_KEY_SIZE];

    seal_make_key(fresh);
    return store_secret_ensure(serving->server.store, "seal", fresh, sizeof(fresh),
                               serving->server.seal.key, err);
}

/* A private database may replay its log for minutes after a crash, and another server may be migrating. A signal
 * ends the wait for either; signals are blocked, so it is read from a descriptor. */
static enum err_code open_database(struct serving *serving, struct err *err)
{
    enum err_code rc;
    sigset_t set;
    int stop_fd;

    ending_signals(&set);
    stop_fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (stop_fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot wait for signals: %s", strerror(errno));
    rc = database_start(serving->config, stop_fd, &serving->database, err);
    if (!rc)
        rc = database_open(&serving->database, serving->config, serving->node_id, stop_fd, err);
    close(stop_fd);
    return rc;
}

static enum err_code start_database(struct serving *serving, struct err *err)
{
    enum err_code rc = open_database(serving, err);

    serving->server.store = serving->database.store;
    if (!rc)
        store_set_storage_limit(serving->server.store, serving->config->max_project_bytes);
    if (!rc && has_signal())
        rc = err_set(err, ERR_CANCELLED, "a signal ended the start");
    return rc ? rc : share_key(serving, err);
}

static enum err_code start_writers(struct serving *serving, struct err *err)
{
    enum err_code rc = store_writers_start(serving->server.store, err);

    serving->writers_started = !rc;
    if (!rc)
        rc = log_reader_start(serving->server.store, &serving->log_reader, err);
    return rc;
}

/* The newest key of the default project; NULL if it has none. */
static const struct key_row *latest_key(const struct key_row *rows, size_t count)
{
    const struct key_row *latest = NULL;

    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].project, DEFAULT_PROJECT) == 0 &&
            (!latest || rows[i].created_at > latest->created_at))
            latest = &rows[i];
    return latest;
}

/* Keys are only added. An operator who changes the setting may believe that the former key is revoked. */
static enum err_code mention_former_key(struct store *store, const struct key_row *former,
                                        size_t count_before, struct err *err)
{
    AUTO_FREE struct key_row *rows = NULL;
    size_t count = 0;
    enum err_code rc = store_key_list(store, &rows, &count, err);

    if (!rc && former && count > count_before)
        log_warn("the key is new, but %s (%s...) is still a key of the project '%s': "
                 "`runnel keys revoke %s` revokes it",
                 former->id, former->prefix, DEFAULT_PROJECT, former->id);
    return rc;
}

static enum err_code ensure_key(struct serving *serving, struct err *err)
{
    struct store *store = serving->server.store;
    AUTO_FREE struct key_row *rows = NULL;
    size_t count = 0;
    enum err_code rc = store_key_list(store, &rows, &count, err);

    if (!rc)
        rc = store_key_ensure(store, DEFAULT_PROJECT, serving->key,
                              serving->server.default_project, err);
    if (rc)
        return rc;
    serving->key_known = true;
    return mention_former_key(store, latest_key(rows, count), count, err);
}

static enum err_code open_blobs(struct serving *serving, struct err *err)
{
    return file_places_open(serving->config, FILE_PLACES_ALL, serving->server.store,
                            &serving->server.blobs, err);
}

static void end_box(void *argument, const char *container_id)
{
    const struct server *server = argument;

    boxes_end(server->boxes, container_id);
}

static void look_at_asks(void *argument)
{
    const struct server *server = argument;

    container_asks_look(server->container_asks);
}

/* Containers are files; whether code runs in them is another question. Without openat2() the server has no
 * containers. */
static enum err_code open_containers(struct serving *serving, struct err *err)
{
    const struct config *config = serving->config;
    const struct workspaces_options folders = {
        .data_dir = config->data_dir,
        .bytes = config->sandbox_disk,
        .files = config->sandbox_files,
        .reserve = config->sandbox_disk_reserve,
    };
    struct containers_options options = {
        .store = serving->server.store,
        .blobs = serving->server.blobs,
        .node_id = serving->node,
        .per_project = config->sandbox_containers_per_project,
        .idle_seconds = (int64_t)config->sandbox_idle,
        .first_user = geteuid() == 0 ? config->sandbox_uids : 0,
        .copies = config->sandbox_copies == SANDBOX_COPIES_ALL ? CONTAINER_COPIES_ALL
                                                               : CONTAINER_COPIES_CITED,
        .end = serving->server.boxes ? end_box : NULL,
        .is_free = look_at_asks,
        .argument = &serving->server,
    };
    enum err_code rc;

    if (workspaces_open(&folders, &serving->workspaces, err)) {
        log_warn("there are no containers: %s", err->text);
        return ERR_OK;
    }
    options.workspaces = serving->workspaces;
    rc = containers_open(&options, &serving->server.containers, err);
    if (!rc)
        rc = sandbox_roots_open(config, serving->workspaces, &serving->roots, err);
    if (!rc)
        serving->server.container_asks = container_asks_start(&serving->server);
    if (!rc)
        serving->cited_copies = cited_copies_start(&serving->server);
    return rc;
}

static enum err_code declare_sandboxes(struct serving *serving, struct err *err)
{
    sandboxes_declare(&serving->server);
    return mcp_hosts_start(&serving->server, err);
}

/* One line for the log. What to do about it is too long for that. */
static void log_sandbox(const struct sandbox_report *report)
{
    enum sandbox_check obstacle = sandbox_obstacle(report);

    if (obstacle != SANDBOX_CHECKS)
        log_warn("sandbox: no command can be executed: %s: %s; `runnel sandbox` says more",
                 sandbox_check_name(obstacle), report->findings[obstacle].seen);
    else
        log_info("sandbox: commands can be executed, %s Landlock",
                 report->findings[SANDBOX_LANDLOCK].passed ? "with" : "without");
}

static enum err_code try_sandbox(struct serving *serving, struct err *err)
{
    struct sandbox_report *report = &serving->sandbox;
    enum sandbox_check obstacle;

    if (serving->config->sandbox == SANDBOX_OFF)
        return ERR_OK;
    sandbox_check(serving->config->sandbox_uids, report);
    serving->server.sandbox = report;
    log_sandbox(report);
    obstacle = sandbox_obstacle(report);
    if (serving->config->sandbox != SANDBOX_BWRAP || obstacle == SANDBOX_CHECKS)
        return ERR_OK;
    return err_set(err, ERR_INTERNAL, "sandbox is `bwrap`, and this machine cannot: %s: %s",
                   sandbox_check_name(obstacle), report->findings[obstacle].seen);
}

static enum err_code start_sandboxes(struct serving *serving, struct err *err)
{
    return sandboxes_start(&serving->server, err);
}

/* Without an upstream the scripted model answers, in this process, so that the first request after an installation
 * works. */
static enum err_code start_demo(struct serving *serving, struct err *err)
{
    enum err_code rc;

    if (serving->config->upstream_count)
        return ERR_OK;
    rc = upstream_server_start(NULL, DEMO_LISTEN, &serving->demo, err);
    if (rc)
        return rc;
    config_add_upstream(serving->config, "demo", upstream_server_url(serving->demo));
    log_info("no upstream is configured: the demo model answers");
    return ERR_OK;
}

static enum err_code start_executor(struct serving *serving, struct err *err)
{
    struct tool_executor *executor =
        tool_executor_new(serving->config->tool_workers, serving->config->tool_timeout);
    enum err_code rc;

    config_tools_apply(serving->config->tools);
    serving->server.executor = executor;
    rc = tool_executor_start(executor, err);
    serving->executor_started = !rc;
    return rc;
}

static enum err_code start_pictures(struct serving *serving, struct err *err)
{
    pictures_declare(&serving->server);
    return pictures_start(&serving->server, err);
}

static enum err_code start_web_workers(struct serving *serving, struct err *err)
{
    return web_workers_start(&serving->server, err);
}

static enum err_code start_hooks(struct serving *serving, struct err *err)
{
    (void)err;
    serving->server.masking = masking_start(serving->config->masks, serving->server.crew);
    serving->server.file_loading = file_loading_start(&serving->server);
    return ERR_OK;
}

static enum err_code start_engine(struct serving *serving, struct err *err)
{
    const struct config *config = serving->config;
    struct engine_options options = {
        .store = serving->server.store,
        .log_reader = serving->log_reader,
        .executor = serving->server.executor,
        .code_executor = serving->server.code_executor,
        .picture_executor = serving->server.picture_executor,
        .web_executor = serving->server.web_executor,
        .painter = &serving->painter,
        .finder = &serving->finder,
        .cited = cited_copies_hook(serving->cited_copies),
        .desk = &serving->desk,
        .web = &serving->web,
        .containers = &serving->containers,
        .assistants = &assistants_face,
        .responses = &responses_face,
        .permissions = &config->permissions,
        .ignore_taint = config_tools_ignore_taint(config->tools),
        .containers_online = json_array_size(config->sandbox_domains) > 0,
        .seal = &serving->server.seal,
        .before_send = masking_hook(serving->server.masking),
        .load_files = file_loading_hook(serving->server.file_loading),
        .upstreams = config->upstreams,
        .upstream_count = config->upstream_count,
        .loops = config->run_loops,
        .response_timeout_seconds = config->response_timeout,
        .idempotency_grace_seconds = config->idempotency_grace,
        .log_flush_max_seconds = config->log_flush_max,
        .round_limit = config->max_rounds,
        .call_limit = config->max_calls,
        .history = (enum run_history)config->history,
        .context_limit = config->max_items,
        .egress = &config->egress,
        .mcp_processes = serving->server.mcp_processes,
        .webhooks = config->webhooks.webhooks,
        .webhook_count = config->webhooks.count,
        .notice_seconds = config->sse_ping_interval,
        .tool_timeout_seconds = config->tool_timeout,
        .regex_seconds = config->run_regex_time,
        .byte_limit = config->max_run_bytes,
        .slots = {.node = config->max_runs, .queue = config->max_waiting_runs},
        .tenant_limits = config_tenant_limits(config),
    };
    enum err_code rc = config_webhooks_find(&config->webhooks, serving->server.store, err);

    if (rc)
        return rc;
    mcp_named_set(config->mcp.servers, config->mcp.count);
    passed_tools_set(config->upstreams, config->upstream_count, &config->permissions);
    serving->server.engine = engine_new(&options);
    rc = engine_start(serving->server.engine, err);
    serving->engine_started = !rc;
    return rc;
}

/* The fast way writes to the socket behind libmicrohttpd's back, which the self-test tries with the library that is
 * installed (sse_self_test.c). */
static bool can_stream_directly(void)
{
    struct err err;

    if (!sse_self_test(&err))
        return true;
    log_warn("streams use the slower way through libmicrohttpd: %s", err.text);
    return false;
}

static enum err_code start_crew(struct serving *serving, struct err *err)
{
    const struct config *config = serving->config;
    struct server *server = &serving->server;
    enum err_code rc = crew_start(server->store, CREW_IDLE_NS, &server->crew, err);

    if (rc)
        return rc;
    server->workers = workers_new(server->crew, config->websocket_workers);
    server->readers = workers_new(server->crew, config->file_workers);
    server->file_workers = workers_new(server->crew, config->file_workers);
    server->script_workers = workers_new(server->crew, 1);
    server->searchers = workers_new(server->crew, config->search_workers);
    server->joins = turns_new();
    return file_check_open(server, err);
}

static enum err_code start_http(struct serving *serving, struct err *err)
{
    struct http_options options = {
        .config = serving->config,
        .server = &serving->server,
        .routes = routes,
        .route_count = route_count,
        .absent = absent_routes,
        .absent_count = absent_route_count,
        .authenticate = auth_check,
        .listen_fd = serving->listen_fd,
        .direct_stream = can_stream_directly(),
    };

    serving->listen_fd = -1;
    return http_start(&options, &serving->server.http, err);
}

/* Without confinement only plain text is read; document.h. */
static enum err_code try_readers(struct serving *serving, struct err *err)
{
    (void)serving;
    (void)err;
    if (!confine_landlock_version() || !confine_has_seccomp())
        log_warn("the kernel has no %s: HTML and PDF files in requests cannot be read",
                 confine_has_seccomp() ? "Landlock" : "seccomp");
    return ERR_OK;
}

static enum err_code open_embeddings(struct serving *serving, struct err *err)
{
    const struct tokenizer *tokenizer = serving->config->retrieval.tokenizer;
    bool used = serving->config->retrieval_engine == RETRIEVAL_PGVECTOR;
    enum err_code rc =
        store_pgvector_open(serving->server.store, used ? PGVECTOR_USED : PGVECTOR_LEFT, err);

    store_documents_counted_by(serving->server.store,
                               tokenizer ? tokenizer_number(tokenizer) : 0);
    return rc ? rc : outgoing_open_embeddings(&serving->server, err);
}

static enum err_code start_retrieval(struct serving *serving, struct err *err)
{
    const struct config *config = serving->config;
    AUTO_FREE char *dir = mem_printf("%s/cache", config->data_dir);
    struct retrieval_options options = {
        .store = serving->server.store,
        .embeddings = serving->server.embeddings,
        .model = serving->server.vector_model,
        .cache_dir = dir,
        .cache_bytes = config->segment_cache,
        .sets_bytes = SEARCH_SETS_BYTES,
        .chunks_limit = SEARCH_CHUNKS_LIMIT,
        .timeout_seconds = config->search_timeout,
    };
    enum err_code rc;

    outgoing_open_models(&serving->server);
    scan_model_open(&serving->server);
    options.reranker = serving->server.reranker;
    rc = retrieval_open(&options, &serving->server.retrieval, err);
    serving->finder = file_finder(&serving->server);
    serving->desk = file_desk(&serving->server);
    serving->web = web_desk(&serving->server);
    web_desk_open(&serving->server);
    page_desk_open(&serving->server, &serving->web);
    serving->containers = container_desk(&serving->server);
    serving->painter = picture_desk(&serving->server);
    return rc;
}

static enum err_code start_ingest(struct serving *serving, struct err *err)
{
    const struct config *config = serving->config;
    struct ingest_options options = {
        .store = serving->server.store,
        .blobs = serving->server.blobs,
        .embeddings = serving->server.embeddings,
        .model = serving->server.vector_model,
        .reindex = config->embeddings.reindex,
        .spool_dir = config->data_dir,
        .workers = config->ingest_workers,
        .deadline_seconds = config->ingest_deadline,
        .ended = held_polls_ended,
    };

    if (config->retrieval.tokenizer)
        options.counter = &config->retrieval.counter;
    if (scan_model_scans(&serving->server, &serving->scans))
        options.scans = &serving->scans;
    serving->server.held_polls = held_polls_new();
    options.ended_arg = serving->server.held_polls;
    return ingest_start(&options, &serving->server.ingest, err);
}

static enum err_code start_keeper(struct serving *serving, struct err *err)
{
    return keeper_start(&serving->server, &serving->database, &serving->keeper, err);
}

static step_fn *const steps[] = {
    lock_data_dir, try_sandbox,     start_sandboxes,   find_identity,     find_key,
    open_socket,   start_database,  start_writers,     ensure_key,        open_blobs,
    start_crew,    open_containers, declare_sandboxes, open_embeddings,   start_retrieval,
    start_demo,    start_executor,  start_pictures,    start_web_workers, start_hooks,
    start_engine,  try_readers,     start_ingest,      start_keeper,      start_http,
};

static enum err_code go_up(struct serving *serving, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        enum err_code rc = steps[i](serving, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Down ---- */

static void drain(struct serving *serving)
{
    struct server *server = &serving->server;
    uint64_t deadline = clock_mono_ns() + clock_ns_from_seconds(serving->config->drain_timeout);

    atomic_store(&server->draining, true);
    log_info("draining: streams have %.15g seconds", serving->config->drain_timeout);
    http_drain(server->http);
    keeper_drain(serving->keeper);
    ingest_drain(server->ingest);
    engine_drain(server->engine);
    sandboxes_drain(server);
    if (engine_wait_idle(server->engine, deadline) && http_wait_idle(server->http, deadline))
        return;
    log_warn("drain_timeout is over: ending what is left");
    engine_abandon(server->engine);
    sandboxes_cut(server);
    file_checks_cut(server);
    (void)engine_wait_idle(server->engine, clock_mono_ns() + LAST_EVENTS_NS);
}

static void go_down(struct serving *serving)
{
    struct server *server = &serving->server;

    atomic_store(&server->ending, true);
    if (server->reranker)
        reranker_close(server->reranker);
    if (server->rewriter)
        query_rewriter_close(server->rewriter);
    if (server->web_searcher)
        web_searcher_close(server->web_searcher);
    if (server->picture_model)
        picture_model_close(server->picture_model);
    if (server->pages)
        pages_close(server->pages);
    ingest_cut(server->ingest);
    scan_model_close(server->scan_model); /* behind it, as ingestion closes its own model */
    /* Before http_stop(), which waits for turns that read files. */
    blobs_stop(server->blobs);
    file_checks_cut(server);
    file_loading_hurry(server->file_loading);
    if (server->http)
        http_stop(server->http);
    workers_stop(server->workers);
    workers_stop(server->readers);
    workers_stop(server->searchers);
    workers_stop(server->file_workers);
    workers_stop(server->checkers);
    file_checks_close(server);
    workers_stop(server->script_workers);
    turns_free(server->joins);
    ingest_stop(server->ingest);
    keeper_stop(serving->keeper);
    ingest_free(server->ingest);
    log_reader_stop(serving->log_reader);
    if (serving->engine_started)
        engine_stop(server->engine);
    if (serving->executor_started)
        tool_executor_stop(server->executor, TOOL_PATIENCE_NS);
    mcp_hosts_stop(server);
    sandboxes_stop(server, TOOL_PATIENCE_NS);
    pictures_stop(server, TOOL_PATIENCE_NS);
    web_workers_stop(server, TOOL_PATIENCE_NS);
    masking_stop(server->masking);
    cited_copies_stop(serving->cited_copies);
    container_asks_stop(server->container_asks);
    file_loading_stop(server->file_loading);
    crew_stop(server->crew);
    if (serving->writers_started)
        store_writers_stop(server->store);
    if (server->engine)
        engine_free(server->engine);
    http_free(server->http);
    if (server->executor)
        tool_executor_free(server->executor);
    sandboxes_free(server);
    pictures_free(server);
    web_workers_free(server);
    upstream_server_stop(serving->demo);
    held_polls_free(server->held_polls);
    retrieval_free(server->retrieval);
    reranker_free(server->reranker);
    scan_model_free(server->scan_model);
    vector_model_free(server->vector_model);
    embeddings_free(server->embeddings);
    query_rewriter_free(server->rewriter);
    web_searcher_free(server->web_searcher);
    pages_free(server->pages);
    containers_free(server->containers);
    sandbox_roots_close(serving->roots);
    workspaces_close(serving->workspaces);
    blobs_free(server->blobs);
    if (server->store)
        store_thread_end(server->store);
    database_close(&serving->database);
    if (serving->listen_fd >= 0)
        close(serving->listen_fd);
    if (serving->lock_fd >= 0 && !serving->key_known)
        data_dir_restore(serving->config->data_dir, &serving->before);
    if (serving->lock_fd >= 0)
        close(serving->lock_fd);
}

/* ---- Signals, once it is up ---- */

static void await_signal(void)
{
    sigset_t set;

    ending_signals(&set);
    while (sigwaitinfo(&set, NULL) < 0 && errno == EINTR)
        continue;
}

static void end_at_once(int signal_number)
{
    (void)signal_number;
    _exit(EXIT_DONE);
}

/* A second signal ends the process without draining. Acknowledged work is committed already. */
static void end_on_second_signal(void)
{
    struct sigaction at_once = {.sa_handler = end_at_once};
    sigset_t set;

    (void)sigaction(SIGTERM, &at_once, NULL);
    (void)sigaction(SIGINT, &at_once, NULL);
    ending_signals(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- The command ---- */

/* A stream needs two descriptors, one to the client and one to the model. The usual soft limit is 1024. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* The key for a person. A key that the operator has set is a secret of the operator, and stdout
 * often ends up in a log. One that this server has made is shown, because nobody knows it yet. */
static const char *shown_key(const struct serving *serving)
{
    if (serving->config->no_auth)
        return "none-needed";
    return serving->config->api_key ? "$RUNNEL_API_KEY" : serving->key;
}

/* For a person and for scripts that wait for the first line. The shell fills in $RUNNEL_API_KEY
 * between double quotes only. */
static void print_ready(const struct serving *serving)
{
    const char *key = shown_key(serving);

    printf(
        "Runnel " RUNNEL_VERSION " is ready.\n\n"
        "  base URL  %s\n"
        "  key       %s\n\n"
        "curl %s/responses -H \"Authorization: Bearer %s\" -H 'Content-Type: application/json' "
        "-d '{\"model\": \"demo\", \"input\": \"Hello!\"}'\n",
        serving->url, key, serving->url, key);
    (void)fflush(stdout);
}

static int serve(struct serving *serving)
{
    struct err err;
    enum err_code rc = go_up(serving, &err);

    if (!rc) {
        print_ready(serving);
        await_signal();
        end_on_second_signal();
        drain(serving);
    }
    go_down(serving);
    if (!rc || rc == ERR_CANCELLED)
        return EXIT_DONE;
    return command_failed(
        rc == ERR_CONFLICT && serving->lock_fd < 0 ? EXIT_DATA_DIR : EXIT_CANNOT, &err);
}

/* Reads the settings and the files that they name (tokenizers). */
static enum err_code read_config(int argc, char **argv, struct config **ret_config,
                                 struct err *err)
{
    struct config *config = NULL;
    enum err_code rc = config_read(argc - 1, argv + 1, &config, err);

    if (rc)
        return rc;
    rc = model_upstreams_load(config->upstreams, config->upstream_count, err);
    if (!rc) {
        rc = config_retrieval_load(&config->retrieval, err);
        if (rc)
            model_upstreams_unload(config->upstreams, config->upstream_count);
    }
    if (rc) {
        config_free(config);
        return rc;
    }
    *ret_config = config;
    return ERR_OK;
}

int cmd_serve(int argc, char **argv)
{
    struct serving *serving = mem_new(struct serving);
    struct err err;
    int status;

    serving->lock_fd = serving->listen_fd = -1;
    confine_hide();
    /* First of all: what it forks must have no thread, and see neither keys nor sockets. */
    if (compute_start(document_tasks, DOCUMENT_TASKS, &err)) {
        free(serving);
        return command_failed(EXIT_CANNOT, &err);
    }
    if (read_config(argc, argv, &serving->config, &err)) {
        free(serving);
        return command_failed(EXIT_USAGE, &err);
    }
    serving->server.config = serving->config;
    serving->past_responses.limit = serving->config->websocket_memory;
    serving->server.past_responses = &serving->past_responses;
    serving->server.chain_cache = chain_cache_new(serving->config->chain_cache);
    log_set_level((enum log_level)serving->config->log);
    params_set_unknown(serving->config->unknown_parameters == UNKNOWN_REJECT
                           ? PARAM_UNKNOWN_REJECT
                           : PARAM_UNKNOWN_IGNORE);
    unavailable_tools_set((enum unavailable_tools)serving->config->unavailable_tools);
    mem_give_back_early();
    raise_descriptor_limit();
    block_signals();
    http_client_global_init();
    status = serve(serving);
    http_client_global_free();
    compute_stop();
    chain_cache_free(serving->server.chain_cache);
    model_upstreams_unload(serving->config->upstreams, serving->config->upstream_count);
    config_free(serving->config);
    free(serving);
    return status;
}
