/*
 * Documents with vectors: their first step is kept, vectors are stored once, and one that replaces another takes its
 * place everywhere at once.
 */

#include "core/store/tables/vector_stores/document_vectors.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/cluster/document_leases.h"
#include "core/store/tables/vector_stores/embedding_models.h"
#include "core/store/tables/vector_stores/reindex.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE       TENANT_OF("proj_vectors")
#define DIMENSIONS 3
#define CHUNKS     5

static const float numbers[CHUNKS * DIMENSIONS] = {1, 2,  3,  4,  5,  6,  7, 8,
                                                   9, 10, 11, 12, 13, 14, 15};

static enum err_code cut(struct document_work *work)
{
    struct document_chunk chunks[CHUNKS];
    const struct document_text page = {"text", 4};
    struct document_made made = {.texts = &page,
                                 .text_count = 1,
                                 .chunks = chunks,
                                 .chunk_count = CHUNKS,
                                 .segment = "words",
                                 .segment_size = 5,
                                 .pages = 2,
                                 .usage_bytes = 9};

    for (size_t i = 0; i < CHUNKS; i++)
        chunks[i] =
            (struct document_chunk){.page = 1, .heading = i ? "" : "Safety", .text = "chunk"};
    return store_document_cut(store, work, &made, NULL);
}

static enum err_code embed(struct document_work *work, size_t count)
{
    return store_document_embedded(store, work, numbers + work->embedded * DIMENSIONS, count,
                                   DIMENSIONS, NULL);
}

static enum err_code read_vectors(const struct document_work *work, size_t first,
                                  uint32_t dimensions)
{
    float *vectors;
    size_t count;
    enum err_code rc =
        store_document_vectors(store, work, dimensions, first, &vectors, &count, NULL);

    if (!rc)
        free(vectors);
    return rc;
}

static void assert_vectors(const struct document_work *work, size_t first, size_t expected)
{
    float *vectors;
    size_t count;

    assert_int_equal(
        store_document_vectors(store, work, DIMENSIONS, first, &vectors, &count, NULL), ERR_OK);
    assert_int_equal(count, expected);
    assert_memory_equal(vectors, numbers + first * DIMENSIONS,
                        count * DIMENSIONS * sizeof(*numbers));
    free(vectors);
}

/* The owner dies, and another claims it. */
static struct document_work claimed_anew(struct document_work *work)
{
    size_t count = 0;

    document_work_clear(work);
    pg_fixture_ask("UPDATE documents SET owner = 'gone/1', lease_until = now() - interval '1 s'"
                   " WHERE state = 'parsing'");
    assert_int_equal(store_documents_recover(store, CLAIM_ALL, NULL, 0, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    return claimed();
}

static struct sample_id queued(int model)
{
    struct sample_id id = sample_store(MINE);

    store_set_embedding_model(store, model);
    attach(MINE, id, sample_file(MINE));
    return id;
}

TEST(what_was_cut_and_embedded_outlives_its_owner)
{
    struct sample_id id = queued(7);
    struct document_work work = claimed();
    struct document_chunk *chunks;
    size_t count;

    assert_int_equal(work.model_id, 7);
    assert_false(work.cut);
    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(embed(&work, 2), ERR_OK);
    assert_counters(id, "1 0 0 0 bytes 0");
    work = claimed_anew(&work);
    assert_true(work.cut);
    assert_int_equal(work.attempts, 1);
    assert_int_equal(work.chunks, CHUNKS);
    assert_int_equal(work.embedded, 2);
    assert_int_equal(store_document_chunks(store, &work, 0, 2, &chunks, &count, NULL), ERR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(chunks[0].heading, "Safety");
    assert_string_equal(chunks[1].text, "chunk");
    document_chunks_free(chunks, count);
    assert_int_equal(embed(&work, 3), ERR_OK);
    assert_vectors(&work, 0, CHUNKS);
    assert_int_equal(store_document_publish_cut(store, &work, " bits", 5, NULL), ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 14");
    assert_string_equal(
        pg_fixture_ask("SELECT string_agg(bytes, ''::bytea ORDER BY n) = 'words bits'"
                       " FROM document_segments WHERE document_id = '%s'",
                       work.id),
        "t");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunk_vectors"), 0);
    assert_nothing_orphaned();
    document_work_clear(&work);
}

TEST(vectors_that_do_not_fit_are_made_anew)
{
    struct document_work work;

    queued(7);
    work = claimed();
    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(embed(&work, 4), ERR_OK);
    assert_int_equal(read_vectors(&work, 0, DIMENSIONS), ERR_INTERNAL); /* one is missing */
    assert_int_equal(embed(&work, 1), ERR_OK);
    assert_int_equal(read_vectors(&work, 0, 4), ERR_INTERNAL);
    assert_int_equal(read_vectors(&work, 3, DIMENSIONS), ERR_INTERNAL); /* none was stored so */
    assert_int_equal(store_document_unembed(store, &work, NULL), ERR_OK);
    assert_int_equal(work.embedded, 0);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunk_vectors"), 0);
    assert_int_equal(embed(&work, 5), ERR_OK);
    assert_int_equal(store_document_publish_cut(store, &work, "x", 1, NULL), ERR_OK);
    assert_nothing_orphaned();
    document_work_clear(&work);
}

TEST(vectors_are_read_in_windows)
{
    struct document_work work;

    queued(7);
    work = claimed();
    assert_int_equal(cut(&work), ERR_OK);
    for (size_t i = 0; i < CHUNKS; i++)
        assert_int_equal(embed(&work, 1), ERR_OK);
    assert_vectors(&work, 0, DOCUMENT_VECTORS);
    assert_vectors(&work, DOCUMENT_VECTORS, CHUNKS - DOCUMENT_VECTORS);
    assert_int_equal(read_vectors(&work, CHUNKS, DIMENSIONS), ERR_INTERNAL);
    assert_int_equal(store_document_publish_cut(store, &work, "x", 1, NULL), ERR_OK);
    document_work_clear(&work);
}

TEST(a_document_that_fails_leaves_nothing_of_its_first_step)
{
    struct sample_id id = queued(7);
    struct document_work work = claimed();

    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(embed(&work, 2), ERR_OK);
    assert_int_equal(store_document_fail(store, &work, "server_error", "It failed.", NULL),
                     ERR_OK);
    assert_counters(id, "0 0 1 0 bytes 0");
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM chunks WHERE document_id = '%s'", work.id), 0);
    assert_nothing_orphaned();
    document_work_clear(&work);
}

TEST(who_lost_the_lease_stores_no_vectors)
{
    struct document_work old, work;

    queued(7);
    old = claimed();
    assert_int_equal(cut(&old), ERR_OK);
    pg_fixture_ask("UPDATE documents SET fence = fence + 1 WHERE state = 'parsing'");
    assert_int_equal(embed(&old, 1), ERR_CANCELLED);
    assert_int_equal(cut(&old), ERR_CANCELLED);
    assert_int_equal(store_document_publish_cut(store, &old, "x", 1, NULL), ERR_CANCELLED);
    work = claimed_anew(&old);
    assert_int_equal(embed(&work, CHUNKS), ERR_OK);
    assert_int_equal(store_document_publish_cut(store, &work, "x", 1, NULL), ERR_OK);
    document_work_clear(&work);
}

TEST(a_store_that_goes_takes_vectors_along)
{
    struct sample_id id = queued(7);
    struct document_work work = claimed();

    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(embed(&work, CHUNKS), ERR_OK);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_int_equal(store_document_publish_cut(store, &work, "x", 1, NULL), ERR_CANCELLED);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM documents WHERE id = '%s'", work.id), 0);
    assert_nothing_orphaned();
    document_work_clear(&work);
}

TEST(a_document_without_its_vectors_gives_its_recipe_free)
{
    struct sample_id id = queued(7);
    struct document_work work = claimed();

    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(store_document_publish_cut(store, &work, NULL, 0, NULL), ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 9");
    assert_string_equal(pg_fixture_ask("SELECT model_id || ' ' || offered_model || ' ' ||"
                                       " (recipe LIKE '%%!%%') FROM documents WHERE id = '%s'",
                                       work.id),
                        "0 0 true");
    document_work_clear(&work);
}

/* ---- Documents of an older model ---- */

static size_t pass_for(int model)
{
    struct reindex_pass pass = {0};
    size_t all = 0;

    while (!pass.ended) {
        size_t queued;

        assert_int_equal(store_reindex_step(store, model, 1, &pass, &queued, NULL), ERR_OK);
        all += queued;
    }
    return all;
}

/* What is queued becomes ready, with vectors. */
static void make_all(void)
{
    for (;;) {
        struct document_work work;
        bool found = false;

        assert_int_equal(store_document_claim(store, &work, &found, NULL), ERR_OK);
        if (!found)
            return;
        assert_int_equal(cut(&work), ERR_OK);
        assert_int_equal(embed(&work, CHUNKS), ERR_OK);
        assert_int_equal(store_document_publish_cut(store, &work, "xx", 2, NULL), ERR_OK);
        document_work_clear(&work);
    }
}

static void begin_empty(void)
{
    pg_fixture_ask(
        "DELETE FROM vector_store_files; DELETE FROM documents;"
        " DELETE FROM left_documents; DELETE FROM document_texts; DELETE FROM chunks;"
        " DELETE FROM document_segments; DELETE FROM vector_stores;"
        " UPDATE storage_use SET document_bytes = 0");
}

TEST(a_document_of_an_older_model_is_searched_until_its_successor_is_ready)
{
    struct sample_id id, second, file;
    struct document_work work;
    AUTO_FREE char *old = NULL;

    begin_empty();
    id = sample_store(MINE);
    second = sample_store(MINE);
    file = sample_file(MINE);
    store_set_embedding_model(store, 7);
    attach(MINE, id, file);
    attach(MINE, second, file);
    make_all();
    assert_int_equal(pass_for(7), 0);
    old = mem_strdup(pg_fixture_ask("SELECT id FROM documents"));
    assert_int_equal(pass_for(8), 1);
    assert_int_equal(pass_for(8), 0); /* once */
    assert_counters(id, "0 1 0 0 bytes 11");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM vector_store_files"
                                      " WHERE searched_id = '%s'",
                                      old),
                     2);
    work = claimed();
    assert_int_equal(work.model_id, 8);
    assert_string_equal(work.replaces, old);
    assert_int_equal(work.chunk_tokens, 800);
    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(embed(&work, CHUNKS), ERR_OK);
    assert_int_equal(store_document_publish_cut(store, &work, "12345", 5, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM vector_store_files"
                                      " WHERE searched_id = '%s' AND document_id = searched_id",
                                      work.id),
                     2);
    assert_counters(id, "0 1 0 0 bytes 14");
    assert_counters(second, "0 1 0 0 bytes 14");
    assert_int_equal(pass_for(8), 0);
    assert_nothing_orphaned(); /* the old one is swept */
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 1);
    document_work_clear(&work);
}

TEST(a_successor_that_fails_leaves_the_old_document)
{
    struct sample_id id;
    struct document_work work;

    begin_empty();
    id = queued(7);
    make_all();
    assert_int_equal(pass_for(8), 1);
    work = claimed();
    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(store_document_fail(store, &work, "server_error", "It failed.", NULL),
                     ERR_CANCELLED); /* no file waits for it: it is gone */
    assert_counters(id, "0 1 0 0 bytes 11");
    assert_int_equal(pass_for(8), 0); /* not tried for ever */
    assert_int_equal(pass_for(9), 1);
    make_all();
    assert_nothing_orphaned();
    document_work_clear(&work);
}

TEST(a_file_that_was_attached_since_takes_over)
{
    struct sample_id id, second, file;

    begin_empty();
    id = sample_store(MINE);
    second = sample_store(MINE);
    file = sample_file(MINE);
    store_set_embedding_model(store, 7);
    attach(MINE, id, file);
    make_all();
    store_set_embedding_model(store, 8);
    attach(MINE, second, file);
    make_all(); /* ready, for the second store */
    assert_int_equal(
        pg_fixture_count("SELECT count(DISTINCT searched_id) FROM vector_store_files"), 2);
    assert_int_equal(pass_for(8), 0); /* nothing to do but to switch */
    assert_int_equal(
        pg_fixture_count("SELECT count(DISTINCT searched_id) FROM vector_store_files"), 1);
    assert_counters(id, "0 1 0 0 bytes 11");
    assert_nothing_orphaned();
}

static size_t searched_documents(void)
{
    return (size_t)pg_fixture_count(
        "SELECT count(DISTINCT searched_id) FROM vector_store_files");
}

TEST(a_successor_that_is_already_at_work_takes_over)
{
    struct sample_id id, second, file;
    struct document_work work;

    begin_empty();
    id = sample_store(MINE);
    second = sample_store(MINE);
    file = sample_file(MINE);
    store_set_embedding_model(store, 7);
    attach(MINE, id, file);
    make_all();
    store_set_embedding_model(store, 8);
    attach(MINE, second, file);
    work = claimed();
    assert_string_equal(work.replaces, "");
    assert_int_equal(pass_for(8), 1);
    assert_int_equal(cut(&work), ERR_OK);
    assert_int_equal(embed(&work, CHUNKS), ERR_OK);
    assert_int_equal(store_document_publish_cut(store, &work, "12345", 5, NULL), ERR_OK);
    assert_int_equal(searched_documents(), 1);
    assert_counters(id, "0 1 0 0 bytes 14");
    assert_counters(second, "0 1 0 0 bytes 14");
    assert_nothing_orphaned();
    document_work_clear(&work);
}

TEST(two_documents_with_one_successor_are_replaced_one_after_the_other)
{
    struct sample_id file;

    begin_empty();
    file = sample_file(MINE);
    for (int model = 7; model <= 8; model++) {
        store_set_embedding_model(store, model);
        attach(MINE, sample_store(MINE), file);
        make_all();
    }
    assert_int_equal(searched_documents(), 2);
    assert_int_equal(pass_for(9), 1);
    assert_int_equal(pass_for(9), 0); /* the other waits */
    make_all();
    assert_int_equal(searched_documents(), 2);
    assert_int_equal(pass_for(9), 0);
    assert_int_equal(searched_documents(), 1);
    assert_nothing_orphaned();
}

TEST(stores_that_are_not_used_are_left_alone)
{
    begin_empty();
    queued(7);
    make_all();
    pg_fixture_ask("UPDATE vector_stores SET last_active_at = 0");
    assert_int_equal(pass_for(8), 0);
    pg_fixture_ask("UPDATE vector_stores SET last_active_at ="
                   " (extract(epoch FROM now()) * 1000000)::bigint");
    assert_int_equal(pass_for(8), 1); /* in use again */
    make_all();
    assert_nothing_orphaned();
}

TEST(a_store_is_made_anew_when_its_client_asks_for_it)
{
    struct sample_id id, other;
    struct document_work work;
    size_t count;
    bool more;
    struct err err;

    begin_empty();
    id = queued(7);
    other = queued(7);
    make_all();
    assert_int_equal(store_vector_store_reindex(store, MINE, id.text, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 0); /* it is as today's recipe makes it */
    store_set_embedding_model(store, 8);
    for (size_t turn = 0; turn < 2; turn++) {
        assert_int_equal(store_vector_store_reindex(store, MINE, id.text, &count, &more, NULL),
                         ERR_OK);
        assert_int_equal(count, 1);
        assert_false(more);
        assert_int_equal(store_vector_store_reindex(store, MINE, id.text, &count, &more, NULL),
                         ERR_OK);
        assert_int_equal(count, 0); /* its successor is queued */
        if (turn)
            break;
        work = claimed();
        assert_int_equal(store_document_fail(store, &work, "server_error", "x", NULL),
                         ERR_CANCELLED);
        document_work_clear(&work);
    }
    make_all();
    assert_counters(id, "0 1 0 0 bytes 11");
    assert_counters(other, "0 1 0 0 bytes 11");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents WHERE model_id = 8"), 1);
    assert_nothing_orphaned();
    assert_int_equal(store_vector_store_reindex(store, MINE, "vs_none", &count, &more, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(store_vector_store_reindex(store, TENANT_OF("proj_others"), id.text,
                                                &count, &more, NULL),
                     ERR_NOT_FOUND);
}

#ifdef RUNNEL_FAULTS
TEST(a_statement_that_fails_stores_nothing_of_its_step)
{
    static const char *const cutting[] = {"store_document_hold",   "store_document_texts",
                                          "store_document_chunks", "store_document_segment",
                                          "store_document_cut",    "store.commit"};
    static const char *const embedding[] = {"store_document_hold", "store_document_vectors",
                                            "store_document_embedded", "store.commit"};
    static const char *const publishing[] = {
        "store_document_hold",  "store_document_segment",        "store_document_stores",
        "store_document_files", "store_document_forget_vectors", "store_document_end",
        "store.commit"};
    struct sample_id id = queued(7);
    struct document_work work = claimed();

    for (size_t i = 0; i < COUNT_OF(cutting); i++) {
        fault_arm(cutting[i], 1);
        assert_int_not_equal(cut(&work), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_false(work.cut);
        assert_nothing_orphaned();
    }
    assert_int_equal(cut(&work), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(embedding); i++) {
        fault_arm(embedding[i], 1);
        assert_int_not_equal(embed(&work, CHUNKS), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunk_vectors"), 0);
    }
    assert_int_equal(embed(&work, CHUNKS), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(publishing); i++) {
        fault_arm(publishing[i], 1);
        assert_int_not_equal(store_document_publish_cut(store, &work, "x", 1, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_counters(id, "1 0 0 0 bytes 0");
        assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunk_vectors"), 1);
    }
    assert_int_equal(store_document_publish_cut(store, &work, "x", 1, NULL), ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 10");
    assert_nothing_orphaned();
    document_work_clear(&work);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_cut_and_embedded_outlives_its_owner),
        cmocka_unit_test(vectors_that_do_not_fit_are_made_anew),
        cmocka_unit_test(vectors_are_read_in_windows),
        cmocka_unit_test(a_document_that_fails_leaves_nothing_of_its_first_step),
        cmocka_unit_test(who_lost_the_lease_stores_no_vectors),
        cmocka_unit_test(a_store_that_goes_takes_vectors_along),
        cmocka_unit_test(a_document_without_its_vectors_gives_its_recipe_free),
        cmocka_unit_test(a_document_of_an_older_model_is_searched_until_its_successor_is_ready),
        cmocka_unit_test(a_successor_that_fails_leaves_the_old_document),
        cmocka_unit_test(a_file_that_was_attached_since_takes_over),
        cmocka_unit_test(a_successor_that_is_already_at_work_takes_over),
        cmocka_unit_test(two_documents_with_one_successor_are_replaced_one_after_the_other),
        cmocka_unit_test(stores_that_are_not_used_are_left_alone),
        cmocka_unit_test(a_store_is_made_anew_when_its_client_asks_for_it),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_stores_nothing_of_its_step),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
