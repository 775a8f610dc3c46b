/*
 * api/health.c -- the operator's endpoints: liveness, readiness and metrics. None needs a key.
 *
 * /healthz and /readyz answer two different questions of an orchestrator. "Restart me?" must not
 * depend on the database, or an outage of the database would restart every node and make its end
 * slower. "Send me traffic?" does depend on it, on a schema that this program knows, and on an
 * upstream. A node that drains is alive and not ready: its load balancer stops sending requests
 * while the open streams finish.
 *
 * /metrics is the text format of Prometheus, version 0.0.4, written by hand: a client library would
 * bring a registry and its locks, and every figure here exists already, as a counter of the layer
 * that counts. A counter ends in _total and only grows; everything else is a gauge. The counters
 * start at zero when the server does, as Prometheus expects.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/container/boxes.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/histogram.h"
#include "core/ingest/ingest.h"
#include "core/ingest/search.h"
#include "core/mcp/mcp_process.h"
#include "core/model/tokens/tokenizer.h"
#include "core/net/proxy/proxy.h"
#include "core/run/engine/engine.h"
#include "core/sandbox/sandbox.h"
#include "core/store/store.h"
#include "core/store/wakeup.h"
#include "server/api/api.h"
#include "server/files/file_loading.h"
#include "server/http/http.h"
#include "server/server.h"

/* Never queries the store: an outage of the database must not restart the server. */
enum err_code api_health(struct request *request, struct err *err)
{
    (void)err;
    request_answer(request, 200, json_build("{s:s}", "status", "ok"));
    return ERR_OK;
}

static const char *why_not_ready(struct server *server, struct err *err)
{
    if (atomic_load(&server->draining))
        return "draining";
    if (!store_is_up(server->store))
        return "the database is away";
    if (store_schema_check(server->store, err))
        return err->text;
    if (!server->config->upstream_count)
        return "no upstream is configured";
    return NULL;
}

enum err_code api_ready(struct request *request, struct err *err)
{
    const char *why = why_not_ready(request_server(request), err);

    if (why)
        request_answer(request, 503,
                       json_build("{s:s, s:s}", "status", "unavailable", "reason", why));
    else
        request_answer(request, 200, json_build("{s:s}", "status", "ready"));
    return ERR_OK;
}

/* ---- Metrics ---- */

static void head(struct buf *text, const char *name, const char *type, const char *help)
{
    buf_addf(text, "# HELP runnel_%s %s\n# TYPE runnel_%s %s\n", name, help, name, type);
}

static void figure(struct buf *text, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    head(text, name, type, help);
    buf_addf(text, "runnel_%s %llu\n", name, (unsigned long long)value);
}

/* As Prometheus wants it: each bucket has those below it, too. */
static void add_histogram(struct buf *text, const char *name, const char *help,
                          const struct histogram *histogram)
{
    uint64_t count = 0;

    head(text, name, "histogram", help);
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        count += atomic_load(&histogram->counts[i]);
        buf_addf(text, "runnel_%s_bucket{le=\"%.15g\"} %llu\n", name, histogram_bounds[i],
                 (unsigned long long)count);
    }
    count += atomic_load(&histogram->counts[HISTOGRAM_BOUNDS]);
    buf_addf(text, "runnel_%s_bucket{le=\"+Inf\"} %llu\nrunnel_%s_sum %.9g\n", name,
             (unsigned long long)count, name,
             (double)atomic_load(&histogram->sum_ns) / (double)NS_PER_SECOND);
    buf_addf(text, "runnel_%s_count %llu\n", name, (unsigned long long)count);
}

/* One line for each operation and class of status. Operations without a request have no line: with
 * a hundred routes, most lines would be zeros. The last row counts requests without a route. */
static void add_answers(struct buf *text, struct http *http)
{
    static const char *const classes[HTTP_CLASS_COUNT] = {"2xx", "3xx", "4xx", "5xx"};

    head(text, "http_requests_total", "counter", "Requests answered, by operation and status.");
    for (size_t row = 0; row <= route_count; row++) {
        for (int class = 0; class < HTTP_CLASS_COUNT; class ++) {
            uint64_t count = http_answers(http, row, (enum http_class) class);

            if (count)
                buf_addf(text,
                         "runnel_http_requests_total{operation=\"%s\",code=\"%s\"} %llu\n",
                         row < route_count ? routes[row].operation : "none", classes[class],
                         (unsigned long long)count);
        }
    }
}

static void add_http(struct buf *text, struct http *http)
{
    struct http_stats stats;

    http_stats(http, &stats);
    add_answers(text, http);
    figure(text, "http_connections", "gauge", "Open client connections.", stats.connections);
    figure(text, "http_suspended", "gauge", "Open streams and requests that wait for a run.",
           stats.suspended);
    figure(text, "http_websockets", "gauge", "Open WebSockets.", stats.websockets);
    figure(text, "http_body_bytes", "gauge", "Request bodies in memory.", stats.body_bytes);
    figure(text, "http_refused_total", "counter",
           "Requests refused for their form or for the number of connections.", stats.refused);
    figure(text, "http_late_total", "counter", "Connections closed for being too slow.",
           stats.late);
    figure(text, "streams_cut_total", "counter", "Streams whose client did not keep up.",
           stats.cut);
    figure(text, "streams_waiting_bytes", "gauge", "Bytes kept for clients that read slowly.",
           stats.waiting);
}

static void add_loaded_files(struct buf *text, struct file_loading *loading)
{
    size_t held, waiting;

    file_loading_stats(loading, &held, &waiting);
    figure(text, "loaded_files_bytes", "gauge",
           "Bytes of files that requests to models hold, within the setting loaded_files.",
           held);
    figure(text, "loaded_files_waiting_bytes", "gauge",
           "Bytes of files whose requests wait for others to be sent.", waiting);
}

static void add_engine(struct buf *text, struct engine *engine)
{
    struct engine_stats stats;

    engine_stats(engine, &stats);
    figure(text, "runs_live", "gauge", "Runs in memory.", stats.live);
    figure(text, "runs_bytes", "gauge",
           "Bytes of the conversations that runs in memory have loaded.", stats.bytes);
    figure(text, "runs_started_total", "counter", "Runs taken up.", stats.started);
    figure(text, "runs_ended_total", "counter", "Runs ended or handed on.", stats.ended);
    figure(text, "runs_failed_total", "counter", "Of these, failed.", stats.failed);
}

static void add_sandbox(struct buf *text, const struct sandbox_report *report)
{
    head(text, "sandbox_check", "gauge",
         "Whether a part of the sandbox works on this machine.");
    for (int i = 0; i < SANDBOX_CHECKS; i++)
        buf_addf(text, "runnel_sandbox_check{check=\"%s\"} %d\n",
                 sandbox_check_name((enum sandbox_check)i), report->findings[i].passed);
}

static void add_boxes(struct buf *text, struct boxes *boxes)
{
    struct boxes_counts counts;

    boxes_count(boxes, &counts);
    head(text, "boxes", "gauge", "Boxes of containers, by whether a call has them.");
    buf_addf(text, "runnel_boxes{state=\"ready\"} %zu\nrunnel_boxes{state=\"busy\"} %zu\n",
             counts.ready, counts.busy);
    figure(text, "boxes_waiting", "gauge", "Calls that wait for a box.", counts.waiting);
    figure(text, "boxes_bytes", "gauge", "Memory that boxes may have, all together.",
           counts.memory);
    figure(text, "boxes_started_total", "counter", "Boxes that were made.", counts.started);
    head(text, "boxes_start_seconds_total", "counter", "How long that took.");
    buf_addf(text, "runnel_boxes_start_seconds_total %.6f\n", counts.start_seconds);
    head(text, "boxes_ended_total", "counter",
         "Boxes that have ended: not used, for the room of another, because they have written "
         "too "
         "much, or with their container.");
    buf_addf(text,
             "runnel_boxes_ended_total{why=\"idle\"} %llu\n"
             "runnel_boxes_ended_total{why=\"room\"} %llu\n"
             "runnel_boxes_ended_total{why=\"full\"} %llu\n"
             "runnel_boxes_ended_total{why=\"other\"} %llu\n",
             (unsigned long long)counts.ended_idle, (unsigned long long)counts.ended_for_room,
             (unsigned long long)counts.ended_full, (unsigned long long)counts.ended_otherwise);
}

static void add_proxies(struct buf *text, const struct proxies *proxies)
{
    uint64_t counts[PROXY_VERDICTS];

    proxies_count(proxies, counts);
    head(text, "proxy_connections_total", "counter",
         "Connections from boxes to the network, by what became of them.");
    for (int i = 0; i < PROXY_VERDICTS; i++)
        buf_addf(text, "runnel_proxy_connections_total{verdict=\"%s\"} %llu\n",
                 proxy_verdict_name((enum proxy_verdict)i), (unsigned long long)counts[i]);
}

static void add_mcp(struct buf *text, const struct mcp_processes *processes)
{
    struct mcp_processes_counts counts;

    mcp_processes_count(processes, &counts);
    figure(text, "mcp_processes", "gauge", "MCP servers that run as processes.",
           counts.running);
    figure(text, "mcp_processes_started_total", "counter", "Processes that were started.",
           counts.started);
    figure(text, "mcp_processes_ended_total", "counter",
           "Of these, that ended by themselves or could not be started.", counts.ended);
}

static void add_documents(struct buf *text, struct ingest *ingest)
{
    struct ingest_stats stats;

    ingest_stats(ingest, &stats);
    head(text, "documents_total", "counter", "Work on documents of vector stores, by its end.");
    buf_addf(text, "runnel_documents_total{end=\"ready\"} %llu\n",
             (unsigned long long)stats.ready);
    buf_addf(text, "runnel_documents_total{end=\"failed\"} %llu\n",
             (unsigned long long)stats.failed);
    buf_addf(text, "runnel_documents_total{end=\"put_back\"} %llu\n",
             (unsigned long long)stats.put_back);
    add_histogram(text, "document_seconds", "How long it took to make a document searchable.",
                  stats.seconds);
    figure(text, "documents_working", "gauge", "Documents at work on this node.",
           stats.working);
    figure(text, "documents_waiting", "gauge", "Documents that wait, of all nodes.",
           stats.waiting);
    head(text, "documents_oldest_seconds", "gauge", "How long the oldest of these has waited.");
    buf_addf(text, "runnel_documents_oldest_seconds %.3f\n", stats.oldest_seconds);
}

static void add_embeddings(struct buf *text, const struct embeddings *embeddings)
{
    struct embeddings_stats stats;

    embeddings_stats(embeddings, &stats);
    figure(text, "embedding_requests_total", "counter", "Requests to the embeddings model.",
           stats.requests);
    figure(text, "embedding_errors_total", "counter", "Of these, failed.", stats.errors);
    figure(text, "embedding_tokens_total", "counter", "Tokens that the model has counted.",
           stats.tokens);
}

static void add_searches(struct buf *text, struct retrieval *retrieval)
{
    struct retrieval_stats stats;

    retrieval_stats(retrieval, &stats);
    head(text, "searches_total", "counter", "Searches of vector stores, by their end.");
    for (int end = 0; end < SEARCH_ENDS; end++)
        buf_addf(text, "runnel_searches_total{end=\"%s\"} %llu\n",
                 search_end_name((enum search_end)end), (unsigned long long)stats.ended[end]);
    add_histogram(text, "search_seconds", "How long completed searches took.", stats.seconds);
    figure(text, "searches_degraded_total", "counter",
           "Searches by words alone because the embeddings model failed.", stats.degraded);
    figure(text, "searches_reranked_total", "counter", "Searches that a re-ranker has ordered.",
           stats.reranked);
    figure(text, "rerank_failures_total", "counter",
           "Searches that kept their order because the re-ranker failed.",
           stats.rerank_failures);
    figure(text, "segment_cache_bytes", "gauge", "Indexes of documents on this node's disk.",
           stats.bytes);
    figure(text, "segment_cache_documents", "gauge", "Documents whose indexes these are.",
           stats.segments);
    figure(text, "segment_cache_misses_total", "counter",
           "Indexes that searches had to read from the database.", stats.missed);
    figure(text, "search_sets_bytes", "gauge", "Sets of documents that are kept in memory.",
           stats.set_bytes);
    figure(text, "search_sets_stores", "gauge", "Vector stores whose sets these are.",
           stats.sets);
    figure(text, "search_sets_misses_total", "counter",
           "Sets that searches had to read from the database.", stats.sets_missed);
}

/* The second number in /proc/self/statm: resident pages (proc(5)). 0 if it cannot be read. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

enum err_code api_metrics(struct request *request, struct err *err)
{
    struct server *server = request_server(request);
    struct buf text = {0};
    size_t length;

    (void)err;
    head(&text, "build_info", "gauge", "The version.");
    buf_add_text(&text, "runnel_build_info{version=\"" RUNNEL_VERSION "\"} 1\n");
    if (server->http)
        add_http(&text, server->http);
    add_loaded_files(&text, server->file_loading);
    add_engine(&text, server->engine);
    if (server->retrieval)
        add_searches(&text, server->retrieval);
    if (server->ingest)
        add_documents(&text, server->ingest);
    if (server->embeddings)
        add_embeddings(&text, server->embeddings);
    if (server->sandbox)
        add_sandbox(&text, server->sandbox);
    if (server->boxes)
        add_boxes(&text, server->boxes);
    if (server->mcp_processes)
        add_mcp(&text, server->mcp_processes);
    if (server->proxies)
        add_proxies(&text, server->proxies);
    figure(&text, "tokenized_bytes_total", "counter",
           "Text whose tokens were counted or estimated.", tokenizer_bytes());
    figure(&text, "store_up", "gauge", "Whether the database is reachable.",
           store_is_up(server->store));
    figure(&text, "other_nodes", "gauge", "Whether other servers share the database.",
           store_has_peers(server->store));
    figure(&text, "draining", "gauge", "Whether the server is going down.",
           atomic_load(&server->draining));
    figure(&text, "resident_memory_bytes", "gauge", "Memory in use.", resident_bytes());
    length = text.length;
    request_answer_bytes(request, 200, "text/plain; version=0.0.4; charset=utf-8",
                         buf_take(&text), length);
    return ERR_OK;
}
