/*
 * Vectors as rows of pgvector's table: they are written with a document, searched under its project, and go with it.
 *
 * A PostgreSQL without the extension skips this program. test_pgvector.py of the end-to-end tests runs it with one that
 * has it.
 */

#include "core/store/tables/vector_stores/pgvector.h"

#include <libpq-fe.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/store/pg/state.h"
#include "core/store/tables/vector_stores/document_vectors.h"
#include "core/store/tables/vector_stores/embedding_models.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE       TENANT_OF("proj_rows")
#define MODEL      7
#define DIMENSIONS 3
#define CHUNKS     4
#define DOCUMENTS  20 /* of the larger set, with ROWS chunks each */
#define ROWS       100
#define LIMIT      10

static const float numbers[CHUNKS * DIMENSIONS] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0};

static int open_table(void **state)
{
    if (open_store(state))
        return -1;
    if (!pg_fixture_count("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"))
        return 0;
    return store_pgvector_open(store, PGVECTOR_USED, NULL) ? -1 : 0;
}

#define NEEDS_PGVECTOR()                         \
    do {                                         \
        if (!store_pgvector_is_used(store)) {    \
            printf("SKIPPED 1 (no pgvector)\n"); \
            skip();                              \
        }                                        \
    } while (0)

static struct document_work embedded(struct sample_id *ret_store)
{
    struct document_chunk chunks[CHUNKS];
    const struct document_text page = {"text", 4};
    struct document_made made = {.texts = &page,
                                 .text_count = 1,
                                 .chunks = chunks,
                                 .chunk_count = CHUNKS,
                                 .segment = "words",
                                 .segment_size = 5,
                                 .usage_bytes = 9};
    struct document_work work;

    for (size_t i = 0; i < CHUNKS; i++)
        chunks[i] = (struct document_chunk){.page = 1, .heading = "", .text = "chunk"};
    *ret_store = sample_store(MINE);
    store_set_embedding_model(store, MODEL);
    attach(MINE, *ret_store, sample_file(MINE));
    work = claimed();
    assert_int_equal(store_document_cut(store, &work, &made, NULL), ERR_OK);
    assert_int_equal(store_pgvector_index(store, MODEL, DIMENSIONS, -1, NULL), ERR_OK);
    assert_int_equal(store_document_embedded(store, &work, numbers, 3, DIMENSIONS, NULL),
                     ERR_OK);
    assert_int_equal(
        store_document_embedded(store, &work, numbers + 3 * DIMENSIONS, 1, DIMENSIONS, NULL),
        ERR_OK);
    return work;
}

static long rows_of(const char *document_id)
{
    return pg_fixture_count("SELECT count(*) FROM pgvector_chunks WHERE document_id = '%s'",
                            document_id);
}

TEST(rows_come_with_vectors_are_found_and_go_with_their_document)
{
    struct sample_id id;
    struct document_work work;
    const float vector[DIMENSIONS] = {0, 2, 0};
    const char *documents[1];
    struct pgvector_query query = {.vector = vector,
                                   .dimensions = DIMENSIONS,
                                   .model = MODEL,
                                   .documents = documents,
                                   .count = 1,
                                   .chunks = CHUNKS};
    struct pgvector_hit hits[LIMIT];
    size_t count;
    bool has;

    NEEDS_PGVECTOR();
    work = embedded(&id);
    documents[0] = work.id;
    assert_int_equal(rows_of(work.id), CHUNKS);
    assert_int_equal(store_document_publish_rows(store, &work, CHUNKS * DIMENSIONS * 2, NULL),
                     ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 33");
    assert_int_equal(store_pgvector_near(store, MINE, &query, LIMIT, hits, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, CHUNKS);
    assert_int_equal(hits[0].chunk, 1);
    assert_float_equal(hits[0].cosine, 1, 0.001);
    assert_int_equal(hits[1].chunk, 3);
    assert_float_equal(hits[1].cosine, sqrtf(0.5F), 0.001);
    assert_int_equal(store_pgvector_near(store, TENANT_OF("proj_strangers"), &query, LIMIT,
                                         hits, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, 0);
    query.model = MODEL + 1;
    assert_int_equal(store_pgvector_has(store, MINE, &query, &has, NULL), ERR_OK);
    assert_false(has);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_int_equal(store_documents_sweep(store, 0, 100, &count, NULL), ERR_OK);
    assert_int_equal(rows_of(work.id), 0);
    document_work_clear(&work);
}

TEST(vectors_that_are_begun_anew_leave_no_rows)
{
    struct sample_id id;
    struct document_work work;

    NEEDS_PGVECTOR();
    work = embedded(&id);
    assert_int_equal(store_document_unembed(store, &work, NULL), ERR_OK);
    assert_int_equal(rows_of(work.id), 0);
    assert_int_equal(store_document_embedded(store, &work, numbers, CHUNKS, DIMENSIONS, NULL),
                     ERR_OK);
    assert_int_equal(rows_of(work.id), CHUNKS);
    document_work_clear(&work);
}

/* The same query by the index and row by row: how many of the first places agree. */
static size_t agreeing(struct pgvector_query *query)
{
    struct pgvector_hit by_index[LIMIT], exact[LIMIT];
    size_t count, same = 0;

    query->chunks = PGVECTOR_EXACT + 1;
    assert_int_equal(store_pgvector_near(store, MINE, query, LIMIT, by_index, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, LIMIT);
    query->chunks = ROWS;
    assert_int_equal(store_pgvector_near(store, MINE, query, LIMIT, exact, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, LIMIT);
    for (size_t i = 0; i < LIMIT; i++) {
        for (size_t j = 0; j < LIMIT; j++)
            same += strcmp(by_index[i].document_id, exact[j].document_id) == 0 &&
                    by_index[i].chunk == exact[j].chunk;
        assert_true(!i || by_index[i].cosine <= by_index[i - 1].cosine);
    }
    return same;
}

TEST(the_index_finds_what_a_comparison_of_all_rows_finds_and_a_filter_empties_no_list)
{
    const float vector[DIMENSIONS] = {0.3F, -0.5F, 0.8F};
    char ids[DOCUMENTS][16];
    const char *documents[DOCUMENTS];
    struct pgvector_query query = {.vector = vector,
                                   .dimensions = DIMENSIONS,
                                   .model = MODEL,
                                   .documents = documents,
                                   .count = DOCUMENTS};
    struct pgvector_hit hits[2] = {{.document_id = "doc_3", .chunk = 5},
                                   {.document_id = "doc_3", .chunk = ROWS}};

    NEEDS_PGVECTOR();
    assert_int_equal(store_pgvector_index(store, MODEL, DIMENSIONS, -1, NULL), ERR_OK);
    pg_fixture_ask("INSERT INTO pgvector_chunks SELECT 'proj_rows', 'doc_' || d, n, %d,"
                   " format('[%%s,%%s,%%s]', sin(d * 37 + n), cos(n * 11 + d), sin(n * n))"
                   "  ::halfvec FROM generate_series(0, %d) d, generate_series(0, %d) n",
                   MODEL, DOCUMENTS - 1, ROWS - 1);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "doc_%zu", i);
        documents[i] = ids[i];
    }
    assert_true(agreeing(&query) >= LIMIT - 1);
    query.count = 1;
    assert_true(agreeing(&query) >= LIMIT - 1);
    assert_int_equal(store_pgvector_compare(store, MINE, &query, hits, 2, NULL), ERR_OK);
    assert_true(hits[0].cosine > -1 && hits[0].cosine < 1);
    assert_true(isnan(hits[1].cosine));
}

/* Another session holds the table, so the statement does not even begin. */
TEST(a_search_that_takes_too_long_fails_and_the_database_is_not_away)
{
    const float vector[DIMENSIONS] = {1, 0, 0};
    const char *documents[] = {"doc_0"};
    const struct pgvector_query query = {.vector = vector,
                                         .dimensions = DIMENSIONS,
                                         .model = MODEL,
                                         .documents = documents,
                                         .count = 1,
                                         .chunks = ROWS};
    struct pgvector_hit hits[LIMIT];
    size_t count;
    struct err err = {0};
    PGconn *other;
    uint64_t began_ns = clock_mono_ns();

    NEEDS_PGVECTOR();
    other = PQconnectdb(pg_fixture_url());
    PQclear(PQexec(other, "BEGIN"));
    PQclear(PQexec(other, "LOCK TABLE pgvector_chunks IN ACCESS EXCLUSIVE MODE"));
    assert_int_equal(store_pgvector_near(store, MINE, &query, LIMIT, hits, &count, &err),
                     ERR_STORE);
    assert_non_null(strstr(err.text, "statement timeout"));
    assert_true(clock_mono_ns() - began_ns >= 4 * NS_PER_SECOND);
    assert_true(store_is_up(store));
    PQfinish(other);
    assert_int_equal(store_pgvector_near(store, MINE, &query, LIMIT, hits, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, LIMIT);
}

static long valid_indexes(int model)
{
    return pg_fixture_count("SELECT count(*) FROM pg_index WHERE indisvalid"
                            " AND indexrelid = to_regclass('pgvector_chunks_%d')",
                            model);
}

TEST(an_index_that_a_crash_has_left_is_made_again)
{
    NEEDS_PGVECTOR();
    pg_fixture_ask("CREATE INDEX pgvector_chunks_%d ON pgvector_chunks (n)", MODEL + 1);
    pg_fixture_ask("UPDATE pg_index SET indisvalid = false"
                   " WHERE indexrelid = to_regclass('pgvector_chunks_%d')",
                   MODEL + 1);
    assert_int_equal(store_pgvector_index(store, MODEL + 1, DIMENSIONS, -1, NULL), ERR_OK);
    assert_int_equal(valid_indexes(MODEL + 1), 1);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM pg_indexes WHERE indexdef LIKE"
                                      " '%%hnsw%%' AND indexname = 'pgvector_chunks_%d'",
                                      MODEL + 1),
                     1);
}

TEST(a_server_that_goes_down_does_not_wait_for_an_index)
{
    int stop = eventfd(1, EFD_CLOEXEC);
    struct err err = {0};

    NEEDS_PGVECTOR();
    assert_int_equal(store_pgvector_index(store, MODEL + 2, DIMENSIONS, stop, &err),
                     ERR_CANCELLED);
    assert_int_equal(valid_indexes(MODEL + 2), 0);
    close(stop);
    atomic_store(&store->pgvector_index_ns, 0);
}

TEST(an_index_that_fails_holds_up_nothing_and_is_not_tried_at_once)
{
    NEEDS_PGVECTOR();
    fault_arm("pgvector.index", 1);
    assert_int_equal(store_pgvector_index(store, MODEL + 3, DIMENSIONS, -1, NULL), ERR_OK);
    assert_int_equal(store_pgvector_index(store, MODEL + 3, DIMENSIONS, -1, NULL), ERR_OK);
    assert_int_equal(valid_indexes(MODEL + 3), 0);
    atomic_store(&store->pgvector_index_ns, 0); /* the minute is over */
    assert_int_equal(store_pgvector_index(store, MODEL + 3, DIMENSIONS, -1, NULL), ERR_OK);
    assert_int_equal(valid_indexes(MODEL + 3), 1);
}

TEST(rows_go_with_their_document_on_a_node_that_started_before_the_table)
{
    struct sample_id id;
    size_t count;
    struct document_work work;

    NEEDS_PGVECTOR();
    work = embedded(&id);
    assert_int_equal(store_document_publish_rows(store, &work, 24, NULL), ERR_OK);
    atomic_store(&store->pgvector_there, false);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_int_equal(store_documents_sweep(store, 0, 100, &count, NULL), ERR_OK);
    assert_int_equal(rows_of(work.id), 0);
    document_work_clear(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_with_vectors_are_found_and_go_with_their_document),
        cmocka_unit_test(vectors_that_are_begun_anew_leave_no_rows),
        cmocka_unit_test(
            the_index_finds_what_a_comparison_of_all_rows_finds_and_a_filter_empties_no_list),
        cmocka_unit_test(a_search_that_takes_too_long_fails_and_the_database_is_not_away),
        cmocka_unit_test(an_index_that_a_crash_has_left_is_made_again),
        cmocka_unit_test(a_server_that_goes_down_does_not_wait_for_an_index),
        cmocka_unit_test(an_index_that_fails_holds_up_nothing_and_is_not_tried_at_once),
        cmocka_unit_test(rows_go_with_their_document_on_a_node_that_started_before_the_table),
    };

    return cmocka_run_group_tests(tests, open_table, close_store);
}
