/*
 * A search over several stores: each file once, of this project alone, and in the same order every time.
 */

#include "core/ingest/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/ingest/rerank.h"
#include "core/net/http_client.h"
#include "core/retrieval/segment.h"
#include "core/store/tables/files/files.h"
#include "server/fakemodel/server.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_search")
#define THEIRS TENANT_OF("proj_others")

static struct retrieval *retrieval;

static struct loop *loop;

#define CHUNKS_LIMIT ((size_t)5)

static int open_with(struct reranker *reranker)
{
    AUTO_FREE char *dir = mem_printf("%s/cache", pg_fixture_directory());
    struct retrieval_options options = {.store = store,
                                        .cache_dir = dir,
                                        .cache_bytes = 1 << 20,
                                        .sets_bytes = 1 << 20,
                                        .chunks_limit = CHUNKS_LIMIT,
                                        .timeout_seconds = 10,
                                        .reranker = reranker};

    return retrieval_open(&options, &retrieval, NULL) ? -1 : 0;
}

static int open_retrieval(void **state)
{
    int rc = open_store(state);

    http_client_global_init();
    loop = loop_new("search");
    return rc || loop_start(loop, NULL) || open_with(NULL) ? -1 : 0;
}

static int close_retrieval(void **state)
{
    retrieval_free(retrieval);
    loop_stop(loop);
    loop_free(loop);
    http_client_global_free();
    return close_store(state);
}

/* What is queued becomes a document that says `text`. */
static void publish_text(const char *text)
{
    struct segment_builder *builder = segment_builder_new();
    struct document_work work = claimed();
    struct buf segment = {0};

    segment_builder_add(builder, text, strlen(text));
    segment_builder_finish(builder, &segment);
    segment_builder_free(builder);
    {
        const struct document_text page = {text, strlen(text)};
        const struct document_chunk chunk = {.heading = "", .text = text};
        const struct document_made made = {.texts = &page,
                                           .text_count = 1,
                                           .chunks = &chunk,
                                           .chunk_count = 1,
                                           .segment = segment.data,
                                           .segment_size = segment.length,
                                           .usage_bytes = segment.length};

        assert_int_equal(store_document_publish(store, &work, &made, NULL), ERR_OK);
    }
    buf_clear(&segment);
    document_work_clear(&work);
}

static struct sample_id file_with(struct sample_id store_id, const char *text)
{
    struct sample_id file = sample_file(MINE);

    attach(MINE, store_id, file);
    publish_text(text);
    return file;
}

static bool (*unwanted)(void *arg);
static int asked;
static enum search_ranker ranker;
static double threshold;

static enum err_code search(const struct tenant *tenant, const struct sample_id *stores,
                            size_t count, const char *words, struct search_result *result,
                            struct err *err)
{
    const char *ids[2] = {stores[0].text, count > 1 ? stores[1].text : NULL};
    const char *queries[1] = {words};
    const struct search_query query = {.stores = ids,
                                       .store_count = count,
                                       .queries = queries,
                                       .query_count = 1,
                                       .limit = 10,
                                       .embedding_weight = 1,
                                       .text_weight = 1,
                                       .ranker = ranker,
                                       .threshold = threshold,
                                       .unwanted = unwanted,
                                       .unwanted_arg = &asked};

    return retrieval_search(retrieval, tenant, &query, result, err);
}

TEST(a_file_in_two_stores_is_found_once_as_of_the_first)
{
    struct sample_id stores[2] = {sample_store(MINE), sample_store(MINE)};
    struct sample_id turned[2] = {stores[1], stores[0]};
    struct sample_id shared = file_with(stores[0], "amber birch");
    struct sample_id other = file_with(stores[1], "amber cobalt cobalt");
    struct search_result result;

    attach(MINE, stores[1], shared);
    for (size_t turn = 0; turn < 2; turn++) {
        assert_int_equal(search(MINE, turn ? turned : stores, 2, "amber", &result, NULL),
                         ERR_OK);
        assert_int_equal(result.count, 2);
        assert_int_equal(result.mode, SEARCH_LEXICAL);
        assert_string_equal(result.hits[0].file_id, shared.text); /* the shorter one */
        assert_string_equal(result.hits[0].store_id, stores[turn].text);
        assert_string_equal(result.hits[0].text, "amber birch");
        assert_string_equal(result.hits[0].filename, "手册.txt");
        assert_string_equal(result.hits[0].attributes, "{}");
        assert_string_equal(result.hits[1].file_id, other.text);
        assert_true(result.hits[0].score >= result.hits[1].score);
        search_result_clear(&result);
    }
    /* It left the first. */
    assert_int_equal(store_store_file_delete(store, MINE, stores[0].text, shared.text, NULL),
                     ERR_OK);
    assert_int_equal(search(MINE, stores, 2, "birch", &result, NULL), ERR_OK);
    assert_int_equal(result.count, 1);
    assert_string_equal(result.hits[0].store_id, stores[1].text);
    search_result_clear(&result);
    assert_int_equal(store_file_delete(store, MINE, shared.text, NULL), ERR_OK);
    assert_int_equal(search(MINE, stores, 2, "birch", &result, NULL), ERR_OK);
    assert_int_equal(result.count, 0);
    search_result_clear(&result);
}

TEST(a_store_that_is_missing_or_expired_ends_the_search)
{
    struct sample_id stores[2] = {sample_store(MINE), {"vs_none"}};
    struct search_result result;
    struct err err;

    assert_int_equal(search(MINE, stores, 2, "amber", &result, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "vs_none"));
    assert_int_equal(search(THEIRS, stores, 1, "amber", &result, NULL), ERR_NOT_FOUND);
    pg_fixture_ask("UPDATE vector_stores SET expires_at = 1 WHERE id = '%s'", stores[0].text);
    assert_int_equal(search(MINE, stores, 1, "amber", &result, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORE_EXPIRED);
}

TEST(a_search_of_too_many_chunks_is_refused_whether_they_are_cached_or_not)
{
    struct sample_id stores[2] = {sample_store(MINE), sample_store(MINE)};
    struct search_result result;
    struct err err;

    for (size_t i = 0; i < CHUNKS_LIMIT; i++)
        file_with(stores[0], "amber birch");
    file_with(stores[1], "amber cobalt");
    for (size_t turn = 0; turn < 2; turn++) {
        assert_int_equal(search(MINE, stores, 2, "amber", &result, &err), ERR_INVALID);
        assert_int_equal(err.reason, REASON_SEARCH_TOO_LARGE);
        assert_int_equal(search(MINE, stores, 1, "amber", &result, NULL), ERR_OK);
        assert_int_equal(result.count, CHUNKS_LIMIT);
        search_result_clear(&result);
    }
}

#ifdef RUNNEL_FAULTS
/* Each of them is too large to be read together with another. */
TEST(the_newest_documents_are_read_first)
{
    struct sample_id all = sample_store(MINE), older = sample_store(MINE),
                     newer = sample_store(MINE);
    struct sample_id old = file_with(all, "amber");
    struct sample_id recent = file_with(all, "amber birch");
    struct retrieval_stats before, after;
    struct search_result result;

    attach(MINE, older, old);
    attach(MINE, newer, recent);
    (void)pg_fixture_ask("UPDATE vector_store_files SET usage_bytes = 20000000"
                         " WHERE vector_store_id = '%s' RETURNING 1",
                         all.text);
    fault_arm("store_segments_read", 2);
    assert_int_equal(search(MINE, &all, 1, "amber", &result, NULL), ERR_STORE);
    fault_disarm();
    retrieval_stats(retrieval, &before);
    assert_int_equal(search(MINE, &newer, 1, "amber", &result, NULL), ERR_OK);
    search_result_clear(&result);
    retrieval_stats(retrieval, &after);
    assert_int_equal(after.missed, before.missed);
    assert_int_equal(search(MINE, &older, 1, "amber", &result, NULL), ERR_OK);
    search_result_clear(&result);
    retrieval_stats(retrieval, &after);
    assert_int_equal(after.missed, before.missed + 1);
}

TEST(searches_are_counted_by_their_end)
{
    struct sample_id id = sample_store(MINE), none = {"vs_none"};
    struct retrieval_stats before, after;
    struct search_result result;

    retrieval_stats(retrieval, &before);
    assert_int_equal(search(MINE, &id, 1, "amber", &result, NULL), ERR_OK);
    search_result_clear(&result);
    assert_int_equal(search(MINE, &none, 1, "amber", &result, NULL), ERR_NOT_FOUND);
    fault_arm("search.timeout", 1);
    assert_int_equal(search(MINE, &id, 1, "amber", &result, NULL), ERR_TIMEOUT);
    fault_disarm();
    retrieval_stats(retrieval, &after);
    for (size_t i = 0; i < SEARCH_ENDS; i++)
        assert_int_equal(after.ended[i] - before.ended[i], i <= SEARCH_TIMED_OUT);
    assert_string_equal(search_end_name(SEARCH_UNWANTED), "unwanted");
}
#endif

TEST(a_search_is_a_use_of_its_stores)
{
    struct sample_id id = sample_store(MINE);
    struct search_result result;

    pg_fixture_ask("UPDATE vector_stores SET last_active_at = 1 WHERE id = '%s'", id.text);
    assert_int_equal(search(MINE, &id, 1, "amber", &result, NULL), ERR_OK);
    search_result_clear(&result);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM vector_stores WHERE id = '%s'"
                                      " AND last_active_at > 1",
                                      id.text),
                     1);
}

/* Wanted so often, and then no more. */
static int wanted;

static bool has_left(void *arg)
{
    return ++*(int *)arg > wanted;
}

TEST(a_search_that_is_not_wanted_ends_at_its_next_step)
{
    struct sample_id id = sample_store(MINE);
    struct search_result result;

    (void)file_with(id, "amber birch");
    unwanted = has_left;
    for (wanted = 0; wanted < 100; wanted++) {
        asked = 0;
        if (search(MINE, &id, 1, "amber", &result, NULL) != ERR_CANCELLED)
            break;
        assert_int_equal(asked, wanted + 1); /* and at once */
    }
    unwanted = NULL;
    assert_in_range(wanted, 2, 99);
    assert_int_equal(result.count, 1);
    search_result_clear(&result);
}

static struct sample_id changing, changed;

/* At the last step before the texts: its file has another document by now. */
static bool has_changed(void *arg)
{
    (void)arg;
    (void)pg_fixture_ask("WITH changes AS (UPDATE vector_stores SET version = version + 1)"
                         " UPDATE vector_store_files f SET document_id = n.document_id,"
                         " searched_id = n.document_id FROM vector_store_files n"
                         " WHERE f.file_id = '%s' AND n.file_id = '%s' RETURNING f.file_id",
                         changing.text, changed.text);
    return false;
}

TEST(a_file_that_changes_to_a_newer_document_is_found_as_it_was)
{
    struct sample_id id = sample_store(MINE);
    struct search_result result;

    changing = file_with(id, "amber birch");
    changed = file_with(id, "cedar");
    unwanted = has_changed;
    assert_int_equal(search(MINE, &id, 1, "amber", &result, NULL), ERR_OK);
    unwanted = NULL;
    assert_int_equal(result.count, 1);
    assert_string_equal(result.hits[0].text, "amber birch");
    search_result_clear(&result);
    assert_int_equal(search(MINE, &id, 1, "amber", &result, NULL), ERR_OK);
    assert_int_equal(result.count, 0);
    search_result_clear(&result);
}

/* ---- With a re-ranker ---- */

static struct loop *any_loop(void *arg)
{
    (void)arg;
    return loop;
}

/* The re-ranker answers as `fault` says. Checks the order of two files, of which words prefer the first. */
static void expect_order(const char *fault, const struct sample_id *id, const char *first,
                         const char *second, struct retrieval_stats *ret_stats)
{
    AUTO_FREE char *script =
        mem_printf("rules:\n  - match: {path: /v1/rerank}\n    answer: {fault: {%s}}\n", fault);
    struct rerank_options options = {.any_loop = any_loop};
    struct upstream_server *upstream;
    struct reranker *reranker;
    struct search_result result;

    assert_int_equal(upstream_server_start_controlled(script, "127.0.0.1:0", &upstream, NULL),
                     ERR_OK);
    options.url = upstream_server_url(upstream);
    reranker = reranker_new(&options);
    retrieval_free(retrieval);
    assert_int_equal(open_with(reranker), 0);
    assert_int_equal(search(MINE, id, 1, "amber", &result, NULL), ERR_OK);
    assert_int_equal(result.count, second ? 2 : 1);
    assert_string_equal(result.hits[0].file_id, first);
    if (second)
        assert_string_equal(result.hits[1].file_id, second);
    retrieval_stats(retrieval, ret_stats);
    assert_int_equal(result.reranked, ret_stats->reranked);
    search_result_clear(&result);
    retrieval_free(retrieval);
    assert_int_equal(open_with(NULL), 0);
    reranker_close(reranker);
    reranker_free(reranker);
    upstream_server_stop(upstream);
}

#define BETTER_SECOND                                                                \
    "kind: status, status: 200, body: {results: [{index: 1, relevance_score: 0.9}, " \
    "{index: 0, relevance_score: 0.2}]}"

TEST(a_reranker_decides_the_order_or_it_stays_as_it_was)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id one = file_with(id, "amber birch");
    struct sample_id two = file_with(id, "amber cobalt cobalt");
    struct retrieval_stats stats;

    expect_order(BETTER_SECOND, &id, two.text, one.text, &stats);
    assert_int_equal(stats.reranked, 1);
    threshold = 0.5; /* of its scores */
    expect_order(BETTER_SECOND, &id, two.text, NULL, &stats);
    threshold = 0;
    ranker = SEARCH_RANKER_NONE;
    expect_order(BETTER_SECOND, &id, one.text, two.text, &stats);
    ranker = SEARCH_RANKER_AUTO;
    assert_int_equal(stats.reranked + stats.rerank_failures, 0);
    expect_order("kind: status, status: 500", &id, one.text, two.text, &stats);
    assert_int_equal(stats.rerank_failures, 1);
    expect_order("kind: garbage", &id, one.text, two.text, &stats);
    assert_int_equal(stats.rerank_failures, 1);
    expect_order("kind: status, status: 200, body: {results: [{index: 1, relevance_score: 1}]}",
                 &id, one.text, two.text, &stats);
    assert_int_equal(stats.rerank_failures, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_in_two_stores_is_found_once_as_of_the_first),
        cmocka_unit_test(a_store_that_is_missing_or_expired_ends_the_search),
        cmocka_unit_test(a_search_of_too_many_chunks_is_refused_whether_they_are_cached_or_not),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(the_newest_documents_are_read_first),
        cmocka_unit_test(searches_are_counted_by_their_end),
#endif
        cmocka_unit_test(a_search_is_a_use_of_its_stores),
        cmocka_unit_test(a_file_that_changes_to_a_newer_document_is_found_as_it_was),
        cmocka_unit_test(a_search_that_is_not_wanted_ends_at_its_next_step),
        cmocka_unit_test(a_reranker_decides_the_order_or_it_stays_as_it_was),
    };

    return cmocka_run_group_tests(tests, open_retrieval, close_retrieval);
}
