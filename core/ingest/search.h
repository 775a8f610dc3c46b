#ifndef RUNNEL_CORE_INGEST_SEARCH_H
#define RUNNEL_CORE_INGEST_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"

/*
 * search.h -- one search over the files of vector stores.
 *
 *     struct search_query query = {.stores = ids, .store_count = 1, .queries = texts, .query_count = 1,
 *                                  .limit = 20, .embedding_weight = 1, .text_weight = 1};
 *     struct search_result result;
 *
 *     rc = retrieval_search(retrieval, tenant, &query, &result, err);
 *     ...
 *     search_result_clear(&result);
 *
 * The database says which documents a search may see (search_sets.h): files of these stores, of this project, that are
 * completed and pass the filter. Then their segments are searched, in memory. So a file that was removed is not found
 * by any search that begins afterwards, on any node, and one that is completed is.
 *
 * With an embeddings model chunks are found by words and by meaning (candidates.h). When the model fails, a search does
 * without: the result says so, and the log. It never fails for that.
 *
 * A re-ranker judges the first RERANK_TEXTS of what was found. If it fails, the order stays as it was, and the log says
 * so.
 *
 * A search counts as a use of its stores (last_active_at).
 *
 * Any thread that may wait: a worker, never a loop. It waits for the database, and for segments that this node has not
 * read yet.
 */

struct embeddings;
struct histogram; /* core/ingest/histogram.h */
struct filter;    /* core/domain/filter.h */
struct reranker;  /* core/ingest/rerank.h */
struct retrieval;
struct store;
struct vector_model;

#define SEARCH_STORES_LIMIT    ((size_t)32)
#define SEARCH_QUERIES_LIMIT   ((size_t)8)
#define SEARCH_HITS_LIMIT      ((size_t)50)
#define SEARCH_CHUNKS_LIMIT    ((size_t)1000000) /* that a search may see, past its filter */
#define SEARCH_RESULTS_DEFAULT 20                /* of the tool */

enum search_ranker {
    SEARCH_RANKER_AUTO, /* a re-ranker, if the server has one; also "default-2024-11-15" */
    SEARCH_RANKER_NONE, /* the order of the lists alone */
};

/* All of it is borrowed for the length of the call. */
struct search_query {
    const char *const *stores; /* ids; 1 to SEARCH_STORES_LIMIT */
    size_t store_count;
    const struct filter *filter; /* NULL: all files */
    const char *const *queries;  /* 1 to SEARCH_QUERIES_LIMIT texts */
    size_t query_count;
    size_t limit;            /* hits; 1 to SEARCH_HITS_LIMIT */
    double embedding_weight; /* of meaning, and of words; not both 0 */
    double text_weight;
    double threshold; /* of scores, 0 to 1: hits below it are left out */
    enum search_ranker ranker;
    /* True: the result is not wanted, and never will be. It is asked often, by the thread that searches. NULL: it is
     * wanted. */
    bool (*unwanted)(void *arg);
    void *unwanted_arg;
};

/* How a search was done. */
enum search_mode {
    SEARCH_LEXICAL, /* by words alone */
    SEARCH_HYBRID,  /* by words and meaning */
};
const char *search_mode_name(enum search_mode mode); /* "lexical" */

/* One chunk. */
struct search_hit {
    char file_id[ID_LIMIT + 1];
    char store_id[ID_LIMIT + 1]; /* the first of the query's stores that has the file */
    char *filename;
    char *attributes; /* JSON object, "{}" without any */
    double score;     /* 0 to 1, and never more than that of the hit before it */
    char *text;       /* of the chunk, as the file has it */
    char *heading;    /* the headings above it, joined by " > "; "" without any */
    size_t chunk;     /* its number in the file, from 0 */
    size_t page;      /* from 1; 0: the file has no pages */
};

struct search_result {
    struct search_hit *hits; /* in the order of rank */
    size_t count;
    enum search_mode mode;
    bool degraded; /* the embeddings model failed: words alone, although there are vectors */
    bool reranked; /* the order and the scores are those of the re-ranker */
};

/* What is borrowed is so until retrieval_free(). */
struct retrieval_options {
    struct store *store;
    struct embeddings *embeddings; /* borrowed; NULL: words alone, as the next */
    struct vector_model *model;
    struct reranker *reranker; /* borrowed; NULL: without */
    const char *cache_dir;     /* made if it is missing */
    uint64_t cache_bytes;      /* of segments kept there */
    size_t sets_bytes;         /* SEARCH_SETS_BYTES of search_sets.h, and less in tests */
    size_t chunks_limit;       /* SEARCH_CHUNKS_LIMIT, and less in tests */
    double timeout_seconds;    /* of a search */
};

enum err_code retrieval_open(const struct retrieval_options *options,
                             struct retrieval **ret_retrieval, struct err *err) MUST_CHECK;
void retrieval_free(struct retrieval *retrieval); /* NULL is fine; nothing may be searching */

/* ERR_NOT_FOUND: there is no such store; the first that is missing is named. ERR_INVALID with REASON_STORE_EXPIRED.
 * ERR_INVALID with REASON_SEARCH_TOO_LARGE: it would see more chunks than it may; it sees none then. They are counted
 * as their segments are fetched, and no more of those are. ERR_TIMEOUT with REASON_SEARCH_TIMEOUT: `search_timeout` is
 * over; no file is skipped silently. ERR_STORE: the database is away. ERR_CANCELLED: it was unwanted. Time and being
 * unwanted are looked at between statements of the database, and every few milliseconds of a scan. They are not while a
 * model is waited for: the embeddings model and the re-ranker have 5 seconds each, and no more than is left of the
 * time. *ret_result is untouched after an error. */
enum err_code retrieval_search(struct retrieval *retrieval, const struct tenant *tenant,
                               const struct search_query *query,
                               struct search_result *ret_result, struct err *err) MUST_CHECK;

void search_result_clear(struct search_result *result);

/* How a search ended. */
enum search_end {
    SEARCH_COMPLETED,
    SEARCH_REFUSED, /* a store is missing or has expired, or there is too much to search */
    SEARCH_TIMED_OUT,
    SEARCH_UNWANTED, /* its client has left, or its call was cancelled */
    SEARCH_FAILED,   /* the database is away */
    SEARCH_ENDS
};
const char *search_end_name(enum search_end end); /* "completed" */

struct retrieval_stats {
    uint64_t ended[SEARCH_ENDS]; /* searches since the start */
    /* Of those that completed; borrowed until retrieval_free() */
    const struct histogram *seconds;
    uint64_t degraded;    /* searches without the embeddings model, which failed */
    size_t segments;      /* in the cache */
    uint64_t bytes;       /* of these */
    uint64_t missed;      /* segments that the cache did not have */
    size_t sets;          /* of stores, kept in memory (search_sets.h) */
    size_t set_bytes;     /* of these */
    uint64_t sets_missed; /* that had to be read */
    uint64_t reranked, rerank_failures; /* searches */
};
void retrieval_stats(struct retrieval *retrieval, struct retrieval_stats *ret_stats);

#endif
