/*
 * search.c -- from the set in the database, through segments, to the texts.
 *
 * Segments that are missing here are read in groups of some megabytes, so the memory of a cold search has a limit. Its
 * time is looked at between groups, and in the middle of a scan. A search that runs out of time fails: one that skipped
 * files would seem to say that they have nothing.
 *
 * Between the set and the texts a file may go. Its chunks are left out then. It may also change to a newer document.
 * The one of the set stays for an hour (left_documents), and its texts are what was searched.
 */

#include "core/ingest/search.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/ingest/candidates.h"
#include "core/ingest/histogram.h"
#include "core/ingest/query_vectors.h"
#include "core/ingest/rerank.h"
#include "core/ingest/search_sets.h"
#include "core/ingest/segment_cache.h"
#include "core/ingest/vector_model.h"
#include "core/ingest/vector_rows.h"
#include "core/retrieval/fusion.h"
#include "core/retrieval/scan_stop.h"
#include "core/store/tables/vector_stores/pgvector.h"
#include "core/store/tables/vector_stores/search_set.h"
#include "core/store/tables/vector_stores/vector_stores.h"

#define QUERY_SECONDS     5.0 /* that a model has for queries */
#define COMPLAIN_EVERY_NS (60 * NS_PER_SECOND)
#define GROUP_BYTES       ((uint64_t)16 << 20) /* of segments that are read at once */
#define GROUP_COUNT       ((size_t)256)

struct retrieval {
    struct store *store;
    struct search_sets *sets;
    struct segment_cache *cache;
    struct vector_model *model;    /* NULL: words alone */
    struct query_vectors *queries; /* NULL, too */
    double timeout_seconds;
    size_t chunks_limit;
    struct reranker *reranker;
    struct histogram seconds;
    atomic_ullong ended[SEARCH_ENDS];
    atomic_ullong missed, reranked, rerank_failures;
    atomic_ullong degraded;
    _Atomic uint64_t complain_ns, complain_rerank_ns; /* when the next failure is logged */
};

const char *search_mode_name(enum search_mode mode)
{
    return mode == SEARCH_HYBRID ? "hybrid" : "lexical";
}

const char *search_end_name(enum search_end end)
{
    static const char *const names[SEARCH_ENDS] = {
        [SEARCH_COMPLETED] = "completed", [SEARCH_REFUSED] = "refused",
        [SEARCH_TIMED_OUT] = "timed_out", [SEARCH_UNWANTED] = "unwanted",
        [SEARCH_FAILED] = "failed",
    };

    return names[end];
}

void search_result_clear(struct search_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        struct search_hit *hit = &result->hits[i];

        free(hit->filename);
        free(hit->attributes);
        free(hit->text);
        free(hit->heading);
    }
    free(result->hits);
    *result = (struct search_result){0};
}

enum err_code retrieval_open(const struct retrieval_options *options,
                             struct retrieval **ret_retrieval, struct err *err)
{
    struct segment_cache *cache;
    enum err_code rc = segment_cache_open(options->cache_dir, options->cache_bytes,
                                          SEGMENT_CACHE_MAPS, &cache, err);

    if (rc)
        return rc;
    *ret_retrieval = mem_new(struct retrieval);
    **ret_retrieval = (struct retrieval){
        .store = options->store,
        .sets = search_sets_new(options->store, options->sets_bytes),
        .cache = cache,
        .model = options->model,
        .queries = options->model ? query_vectors_new(options->embeddings) : NULL,
        .timeout_seconds = options->timeout_seconds,
        .chunks_limit = options->chunks_limit,
        .reranker = options->reranker};
    return ERR_OK;
}

void retrieval_free(struct retrieval *retrieval)
{
    if (!retrieval)
        return;
    search_sets_free(retrieval->sets);
    segment_cache_free(retrieval->cache);
    query_vectors_free(retrieval->queries);
    free(retrieval);
}

/* ---- The set ---- */

struct search {
    struct retrieval *retrieval;
    const struct tenant *tenant;
    const struct search_query *query;
    uint64_t deadline_ns;
    struct search_set set;
    const struct searched_file *files; /* of the set */
    size_t count;
    struct held_segment **held; /* of each; NULL: not here yet, or gone */
    size_t chunks;              /* of those that are held */
    size_t missing_left;        /* files whose segments may be missing: the first so many */
};

static void search_clear(struct search *search)
{
    for (size_t i = 0; search->held && i < search->count; i++)
        if (search->held[i])
            segment_cache_release(search->retrieval->cache, search->held[i]);
    free(search->held);
    search_set_clear(&search->set);
}

static enum err_code find_set(struct search *search, struct err *err)
{
    const struct search_query *query = search->query;
    enum err_code rc = search_sets_find(search->retrieval->sets, search->tenant, query->stores,
                                        query->store_count, query->filter, &search->set, err);

    if (rc)
        return rc;
    search->files = search->set.files;
    search->count = search->set.count;
    search->held = mem_zeroed(search->count + 1, sizeof(struct held_segment *));
    return ERR_OK;
}

/* ---- Segments ---- */

static bool is_unwanted(const struct search *search)
{
    return search->query->unwanted && search->query->unwanted(search->query->unwanted_arg);
}

static bool is_late(const struct search *search)
{
    return clock_mono_ns() >= search->deadline_ns;
}

/* For scans. */
static bool is_to_stop(void *arg)
{
    return is_late(arg) || is_unwanted(arg);
}

static enum err_code look_at_limits(const struct search *search, struct err *err)
{
    if (is_unwanted(search))
        return err_set(err, ERR_CANCELLED, "the result of a search is not wanted any more");
    if (!is_late(search) && !FAULT("search.timeout"))
        return ERR_OK;
    return err_refuse(err, ERR_TIMEOUT, REASON_SEARCH_TIMEOUT, NULL,
                      "The search took longer than %.15g seconds.",
                      search->retrieval->timeout_seconds);
}

static void hold(struct search *search, size_t i, struct held_segment *held)
{
    search->held[i] = held;
    search->chunks += held ? held_index(held)->terms.chunks : 0;
}

static int by_id(const void *id, const void *file)
{
    return strcmp(id, ((const struct searched_file *)file)->document_id);
}

static void take_segment(void *arg, const char *document_id, char *bytes, size_t size)
{
    struct search *search = arg;
    const struct searched_file *file;
    struct held_segment *held = NULL;
    struct err err;

    file = bsearch(document_id, search->files, search->count, sizeof(*file), by_id);
    if (!file) {
        free(bytes);
        return;
    }
    if (segment_cache_put(search->retrieval->cache, document_id, bytes, size, &held, &err))
        log_warn("the index of %s is not searched: %s", document_id, err.text);
    hold(search, (size_t)(file - search->files), held);
}

/* The next documents whose segments are missing, up to some megabytes; the newest first, by their ids. A search that
 * runs out of time leaves them here for the next one. Returns how many. */
static size_t next_group(struct search *search, const char **ret_ids)
{
    uint64_t bytes = 0;
    size_t count = 0;

    for (; search->missing_left && count < GROUP_COUNT && bytes < GROUP_BYTES;
         search->missing_left--) {
        size_t i = search->missing_left - 1;
        const struct searched_file *file = &search->files[i];

        if (search->held[i])
            continue;
        ret_ids[count++] = file->document_id;
        bytes += file->usage_bytes ? file->usage_bytes : GROUP_BYTES / 16;
    }
    return count;
}

static enum err_code look_at_size(const struct search *search, struct err *err)
{
    size_t limit = search->retrieval->chunks_limit;

    if (search->chunks <= limit)
        return ERR_OK;
    return err_refuse(
        err, ERR_INVALID, REASON_SEARCH_TOO_LARGE, NULL,
        "The search covers more than %zu chunks of text. Search fewer vector stores "
        "at once, or use 'filters'.",
        limit);
}

static enum err_code hold_segments(struct search *search, struct err *err)
{
    const char *ids[GROUP_COUNT];
    enum err_code rc = look_at_limits(search, err);
    size_t count;

    for (size_t i = 0; i < search->count; i++)
        hold(search, i,
             segment_cache_find(search->retrieval->cache, search->files[i].document_id));
    if (!rc)
        rc = look_at_size(search, err);
    search->missing_left = search->count;
    while (!rc && (count = next_group(search, ids))) {
        atomic_fetch_add(&search->retrieval->missed, count);
        rc = store_segments_read(search->retrieval->store, search->tenant, ids, count,
                                 take_segment, search, err);
        if (!rc)
            rc = look_at_limits(search, err);
        if (!rc)
            rc = look_at_size(search, err);
    }
    return rc;
}

/* ---- Vectors ---- */

/* The newest model whose vectors a document of the set has; 0: none. */
static int newest_model(const struct search *search)
{
    int newest = 0;

    for (size_t i = 0; i < search->count; i++) {
        int model = search->held[i] ? (int)held_index(search->held[i])->model : 0;

        newest = model > newest ? model : newest;
    }
    return newest;
}

static bool has_vectors(const struct search *search, const struct vector_space *space)
{
    for (size_t i = 0; i < search->count; i++) {
        if (search->held[i] && held_index(search->held[i])->model == (uint32_t)space->id)
            return true;
    }
    return false;
}

/* What is left of a search's time, at most `limit`; 0: nothing. */
static double seconds_left(const struct search *search, double limit)
{
    uint64_t now = clock_mono_ns();
    double left = search->deadline_ns > now
                      ? (double)(search->deadline_ns - now) / (double)NS_PER_SECOND
                      : 0;

    return left < limit ? left : limit;
}

/* Once a minute is enough for the log. That a model rests after a failure says nothing new. */
static bool is_to_complain(_Atomic uint64_t *due_ns, enum err_code rc)
{
    uint64_t now = clock_mono_ns(), due = atomic_load(due_ns);

    return rc != ERR_CONFLICT && now >= due &&
           atomic_compare_exchange_strong(due_ns, &due, now + COMPLAIN_EVERY_NS);
}

/* The space of the vectors that the set has; *ret_space is NULL if all are still to be made. */
static enum err_code find_space(struct search *search, struct vector_rows *rows,
                                const struct vector_space **ret_space, struct err *err)
{
    struct retrieval *retrieval = search->retrieval;
    bool in_rows = store_pgvector_is_used(retrieval->store);
    int newest = in_rows ? 0 : newest_model(search);
    const struct vector_space *space = NULL;
    bool has = false;
    enum err_code rc;

    if (!newest && !in_rows)
        return ERR_OK;
    rc = vector_model_known(retrieval->model, newest, &space, err);
    if (rc || !space)
        return rc;
    if (in_rows)
        rc = vector_rows_begin(rows, space, &has, err);
    else
        has = has_vectors(search, space);
    if (!rc && has)
        *ret_space = space;
    return rc;
}

/* Fills in what a search by meaning needs. Without it the search is by words. */
static void find_vectors(struct search *search, const struct search_query *query,
                         struct vector_rows *rows, struct candidates *candidates,
                         float **ret_vectors, struct search_result *result)
{
    struct retrieval *retrieval = search->retrieval;
    const struct vector_space *space = NULL;
    double seconds = seconds_left(search, QUERY_SECONDS);
    struct err err;
    enum err_code rc;

    if (!retrieval->model || !search->count || !(query->embedding_weight > 0))
        return;
    rc = find_space(search, rows, &space, &err);
    if (!rc && !space)
        return;
    if (!rc && seconds <= 0)
        rc = err_set(&err, ERR_TIMEOUT, "no time is left");
    if (!rc)
        rc = query_vectors_find(retrieval->queries, search->tenant, space, query->queries,
                                query->query_count, seconds, ret_vectors, &err);
    if (rc) {
        atomic_fetch_add(&retrieval->degraded, 1);
        if (is_to_complain(&retrieval->complain_ns, rc))
            log_warn("searches are by words alone: %s", err.text);
        result->degraded = true;
        return;
    }
    candidates->space = space;
    candidates->table = rows->space ? &rows->table : NULL;
    candidates->vectors = *ret_vectors;
    result->mode = SEARCH_HYBRID;
}

/* ---- Ranking ---- */

/* The caller looks at the limits afterwards: a scan that they ended has found nothing. Fails for vectors alone that are
 * in the database. */
static enum err_code rank(struct search *search, const struct search_query *query,
                          struct search_result *result, struct fusion_hit **ret_hits,
                          size_t *ret_count, struct err *err)
{
    AUTO_FREE const char **ids = mem_new_array(const char *, search->count + 1);
    struct vector_rows rows = {.store = search->retrieval->store,
                               .tenant = search->tenant,
                               .documents = ids,
                               .count = search->count,
                               .chunks = search->chunks};
    AUTO_FREE const struct index **indexes =
        mem_zeroed(search->count + 1, sizeof(const struct index *));
    AUTO_FREE float *vectors = NULL;
    struct scan_stop stop = {.asks = is_to_stop, .arg = search};
    struct candidates candidates = {
        .indexes = indexes,
        .count = search->count,
        .queries = query->queries,
        .query_count = query->query_count,
        .weights = {.vectors = query->embedding_weight, .words = query->text_weight},
        .stop = &stop,
    };

    for (size_t i = 0; i < search->count; i++) {
        indexes[i] = search->held[i] ? held_index(search->held[i]) : NULL;
        ids[i] = search->files[i].document_id;
    }
    find_vectors(search, query, &rows, &candidates, &vectors, result);
    *ret_count = candidates_find(&candidates, ret_hits);
    if (rows.rc)
        *err = rows.err;
    return rows.rc;
}

/* ---- Texts ---- */

static void take_chunk(const struct searched_file *file, struct found_chunk *chunk,
                       const struct fusion_hit *found, struct search_hit *ret_hit)
{
    *ret_hit = (struct search_hit){
        .filename = TAKE(chunk->filename),
        .attributes = TAKE(chunk->attributes),
        .text = TAKE(chunk->text),
        .heading = TAKE(chunk->heading),
        .score = found->score,
        .chunk = found->chunk,
        .page = chunk->page,
    };
    memcpy(ret_hit->file_id, file->file_id, sizeof(ret_hit->file_id));
    memcpy(ret_hit->store_id, file->store_id, sizeof(ret_hit->store_id));
}

/* Of each hit, in their order. The caller clears all of them, also after an error. */
static enum err_code read_chunks(const struct search *search, const struct fusion_hit *found,
                                 size_t count, struct found_chunk *ret_chunks, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        ret_chunks[i] = (struct found_chunk){.file = &search->files[found[i].document],
                                             .n = found[i].chunk};
    if (!count)
        return ERR_OK;
    return store_chunks_read(search->retrieval->store, search->tenant, ret_chunks, count, err);
}

static enum err_code read_texts(const struct search *search, const struct fusion_hit *found,
                                size_t count, struct search_result *ret_result, struct err *err)
{
    struct found_chunk chunks[SEARCH_HITS_LIMIT] = {0};
    enum err_code rc = read_chunks(search, found, count, chunks, err);

    if (!rc) {
        ret_result->hits = mem_zeroed(count + 1, sizeof(*ret_result->hits));
        for (size_t i = 0; i < count; i++)
            if (chunks[i].text)
                take_chunk(chunks[i].file, &chunks[i], &found[i],
                           &ret_result->hits[ret_result->count++]);
    }
    for (size_t i = 0; i < count; i++)
        found_chunk_clear(&chunks[i]);
    return rc;
}

/* ---- The re-ranker ---- */

/* Scores of `count` chunks that all have a text. False: it gave none. */
static bool ask_reranker(const struct search *search, const struct found_chunk *chunks,
                         size_t count, double *ret_scores)
{
    struct retrieval *retrieval = search->retrieval;
    struct rerank_request request = {.queries = search->query->queries,
                                     .query_count = search->query->query_count,
                                     .count = count,
                                     .seconds = seconds_left(search, RERANK_SECONDS)};
    char *texts[RERANK_TEXTS];
    struct err err;
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        texts[i] = mem_printf("%s%s%s", chunks[i].heading, *chunks[i].heading ? "\n" : "",
                              chunks[i].text);
    request.texts = (const char *const *)texts;
    rc = request.seconds > 0 ? rerank(retrieval->reranker, &request, ret_scores, &err)
                             : err_set(&err, ERR_TIMEOUT, "no time is left");
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    atomic_fetch_add(rc ? &retrieval->rerank_failures : &retrieval->reranked, 1);
    if (rc && is_to_complain(&retrieval->complain_rerank_ns, rc))
        log_warn("searches are not re-ranked: %s", err.text);
    return !rc;
}

/* Brings the first hits into the order of the re-ranker, and leaves those behind them out. */
static enum err_code judge(const struct search *search, struct fusion_hit *hits, size_t *count,
                           bool *ret_reranked, struct err *err)
{
    AUTO_FREE struct found_chunk *chunks = mem_zeroed(RERANK_TEXTS, sizeof(struct found_chunk));
    double scores[RERANK_TEXTS];
    size_t seen = *count < RERANK_TEXTS ? *count : RERANK_TEXTS;
    size_t kept = 0;
    enum err_code rc = read_chunks(search, hits, seen, chunks, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < seen; i++) {
        if (!chunks[i].text)
            continue; /* it went meanwhile */
        hits[kept] = hits[i];
        chunks[kept++] = chunks[i];
    }
    memmove(hits + kept, hits + seen, (*count - seen) * sizeof(*hits));
    *count -= seen - kept;
    *ret_reranked = kept && ask_reranker(search, chunks, kept, scores);
    for (size_t i = 0; *ret_reranked && i < kept; i++)
        hits[i].score = scores[i];
    for (size_t i = 0; i < kept; i++)
        found_chunk_clear(&chunks[i]);
    if (*ret_reranked) {
        fusion_rerank(hits, kept, kept);
        *count = kept;
    }
    return ERR_OK;
}

static enum err_code do_search(struct retrieval *retrieval, const struct tenant *tenant,
                               const struct search_query *query,
                               struct search_result *ret_result, struct err *err)
{
    CLEANUP(search_clear)
    struct search search = {
        .retrieval = retrieval,
        .tenant = tenant,
        .query = query,
        .deadline_ns = clock_mono_ns() + clock_ns_from_seconds(retrieval->timeout_seconds),
    };
    AUTO_FREE struct fusion_hit *found = NULL;
    struct search_result result = {.mode = SEARCH_LEXICAL};
    size_t count = 0;
    enum err_code rc = find_set(&search, err);

    if (!rc)
        rc = hold_segments(&search, err);
    if (rc)
        return rc;
    rc = rank(&search, query, &result, &found, &count, err);
    if (!rc)
        rc = look_at_limits(&search, err);
    if (!rc && count && retrieval->reranker && query->ranker == SEARCH_RANKER_AUTO)
        rc = judge(&search, found, &count, &result.reranked, err);
    count = fusion_cut(found, count, query->threshold, query->limit);
    if (!rc)
        rc = read_texts(&search, found, count, &result, err);
    if (!rc && !search.set.used)
        rc = store_vector_stores_touch(retrieval->store, tenant, query->stores,
                                       query->store_count, err);
    if (rc) {
        search_result_clear(&result);
        return rc;
    }
    *ret_result = result;
    return ERR_OK;
}

static enum search_end end_of(enum err_code rc)
{
    switch (rc) {
    case ERR_OK: return SEARCH_COMPLETED;
    case ERR_NOT_FOUND:
    case ERR_INVALID: return SEARCH_REFUSED;
    case ERR_TIMEOUT: return SEARCH_TIMED_OUT;
    case ERR_CANCELLED: return SEARCH_UNWANTED;
    default: return SEARCH_FAILED;
    }
}

enum err_code retrieval_search(struct retrieval *retrieval, const struct tenant *tenant,
                               const struct search_query *query,
                               struct search_result *ret_result, struct err *err)
{
    uint64_t began_ns = clock_mono_ns();
    enum err_code rc = do_search(retrieval, tenant, query, ret_result, err);

    atomic_fetch_add(&retrieval->ended[end_of(rc)], 1);
    if (!rc)
        histogram_add(&retrieval->seconds, clock_mono_ns() - began_ns);
    return rc;
}

void retrieval_stats(struct retrieval *retrieval, struct retrieval_stats *ret_stats)
{
    struct segment_cache_stats stats;
    struct search_sets_stats sets;

    segment_cache_stats(retrieval->cache, &stats);
    search_sets_stats(retrieval->sets, &sets);
    *ret_stats = (struct retrieval_stats){
        .seconds = &retrieval->seconds,
        .segments = stats.count,
        .bytes = stats.bytes,
        .degraded = atomic_load(&retrieval->degraded),
        .missed = atomic_load(&retrieval->missed),
        .sets = sets.count,
        .set_bytes = sets.bytes,
        .sets_missed = sets.missed,
        .reranked = atomic_load(&retrieval->reranked),
        .rerank_failures = atomic_load(&retrieval->rerank_failures),
    };
    for (size_t i = 0; i < SEARCH_ENDS; i++)
        ret_stats->ended[i] = atomic_load(&retrieval->ended[i]);
}
