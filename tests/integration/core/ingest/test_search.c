/*
 * A search over several stores: each file once, of this project alone, and in the same order every time.
 */

#include "core/ingest/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/segment.h"
#include "core/store/tables/files/files.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_search")
#define THEIRS TENANT_OF("proj_others")

static struct retrieval *retrieval;

static int open_retrieval(void **state)
{
    AUTO_FREE char *dir = NULL;
    struct retrieval_options options = {.cache_bytes = 1 << 20, .timeout_seconds = 10};
    int rc = open_store(state);

    dir = mem_printf("%s/cache", pg_fixture_directory());
    options.store = store;
    options.cache_dir = dir;
    return rc || retrieval_open(&options, &retrieval, NULL) ? -1 : 0;
}

static int close_retrieval(void **state)
{
    retrieval_free(retrieval);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_in_two_stores_is_found_once_as_of_the_first),
        cmocka_unit_test(a_store_that_is_missing_or_expired_ends_the_search),
        cmocka_unit_test(a_search_is_a_use_of_its_stores),
        cmocka_unit_test(a_search_that_is_not_wanted_ends_at_its_next_step),
    };

    return cmocka_run_group_tests(tests, open_retrieval, close_retrieval);
}
