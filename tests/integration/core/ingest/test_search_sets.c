/*
 * Which documents a search sees, where they are kept between searches: the same as the database says, after each
 * change, on each node.
 */

#include "core/ingest/search_sets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/embedding_models.h"
#include "core/store/tables/vector_stores/reindex.h"
#include "core/store/tables/vector_stores/search_set.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_sets")
#define THEIRS TENANT_OF("proj_others")

#define NODES  2
#define STORES 3
#define FILES  12
#define STEPS  400

static struct search_sets *nodes[NODES];

static int open_nodes(void **state)
{
    int rc = open_store(state);

    for (size_t i = 0; i < NODES; i++)
        nodes[i] = search_sets_new(store, 1 << 20);
    return rc;
}

static int close_nodes(void **state)
{
    for (size_t i = 0; i < NODES; i++)
        search_sets_free(nodes[i]);
    return close_store(state);
}

static struct search_sets_stats stats_of(struct search_sets *sets)
{
    struct search_sets_stats stats;

    search_sets_stats(sets, &stats);
    return stats;
}

static uint64_t missed(void)
{
    return stats_of(nodes[0]).missed;
}

static struct search_set find(struct search_sets *sets, const struct sample_id *stores,
                              size_t count)
{
    const char *ids[STORES];
    struct search_set set;

    for (size_t i = 0; i < count; i++)
        ids[i] = stores[i].text;
    assert_int_equal(search_sets_find(sets, MINE, ids, count, NULL, &set, NULL), ERR_OK);
    return set;
}

static size_t count_of(struct search_sets *sets, struct sample_id id)
{
    struct search_set set = find(sets, &id, 1);
    size_t count = set.count;

    search_set_clear(&set);
    return count;
}

/* Of a document that several stores have, the first row counts. */
static bool is_first(const struct searched_file *files, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(files[j].document_id, files[i].document_id) == 0)
            return false;
    }
    return true;
}

static void expect_file(const struct search_set *set, const struct searched_file *file)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->files[i].document_id, file->document_id) == 0) {
            assert_string_equal(set->files[i].file_id, file->file_id);
            assert_string_equal(set->files[i].store_id, file->store_id);
            assert_int_equal(set->files[i].usage_bytes, file->usage_bytes);
            return;
        }
    }
    fail_msg("%s is not in the set", file->document_id);
}

/* By the statement that looks at every row. */
static void expect_as_in_database(struct search_sets *sets, const struct sample_id *stores,
                                  size_t count)
{
    struct search_set set = find(sets, stores, count);
    struct searched_file *files;
    const char *ids[STORES];
    size_t rows = 0, once = 0;

    for (size_t i = 0; i < count; i++)
        ids[i] = stores[i].text;
    assert_int_equal(store_search_set(store, MINE, ids, count, NULL, &files, &rows, NULL),
                     ERR_OK);
    for (size_t i = 0; i < rows; i++) {
        if (!is_first(files, i))
            continue;
        expect_file(&set, &files[i]);
        once++;
    }
    assert_int_equal(set.count, once);
    for (size_t i = 1; i < set.count; i++)
        assert_true(strcmp(set.files[i - 1].document_id, set.files[i].document_id) < 0);
    search_set_clear(&set);
    free(files);
}

/* ---- Random changes ---- */

struct walk {
    struct sample_id stores[STORES];
    struct sample_id files[FILES];
    int model;
};

static uint64_t seed;

static size_t any(size_t count)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed >> 11) % count;
}

static void renew_store(struct walk *walk)
{
    struct sample_id *id = &walk->stores[any(STORES)];

    assert_int_equal(store_vector_store_delete(store, MINE, id->text, NULL), ERR_OK);
    *id = sample_store(MINE);
}

static void renew_file(struct walk *walk)
{
    struct sample_id *id = &walk->files[any(FILES)];

    assert_int_equal(store_file_delete(store, MINE, id->text, NULL), ERR_OK);
    *id = sample_file(MINE);
}

static void remove_file(struct walk *walk)
{
    enum err_code rc = store_store_file_delete(store, MINE, walk->stores[any(STORES)].text,
                                               walk->files[any(FILES)].text, NULL);

    assert_true(rc == ERR_OK || rc == ERR_NOT_FOUND);
}

static void cancel_batch(struct walk *walk)
{
    const struct sample_id *id = &walk->stores[any(STORES)];
    const struct store_file_new file = {
        .file_id = walk->files[any(FILES)].text, .chunk_tokens = 200, .overlap_tokens = 100};
    const struct idempotency no_key = {.key = ""};
    struct file_batch_row row = {0}, cancelled = {0};

    id_make(row.id, "vsfb_");
    memcpy(row.store_id, id->text, sizeof(id->text));
    assert_int_equal(store_file_batch_create(store, MINE, &no_key, &file, 1, &row, NULL),
                     ERR_OK);
    if (any(2))
        assert_int_equal(
            store_file_batch_cancel(store, MINE, id->text, row.id, &cancelled, NULL), ERR_OK);
}

/* Successors of all documents of a store, for a newer model. */
static void reindex(struct walk *walk)
{
    size_t queued = 0;
    bool more = false;

    store_set_embedding_model(store, ++walk->model);
    assert_int_equal(store_vector_store_reindex(store, MINE, walk->stores[any(STORES)].text,
                                                &queued, &more, NULL),
                     ERR_OK);
}

static void end_one(void)
{
    struct document_work work;
    bool found = false;
    enum err_code rc;

    assert_int_equal(store_document_claim(store, &work, &found, NULL), ERR_OK);
    if (!found)
        return;
    rc = any(5) ? publish(&work, "text", NULL)
                : store_document_fail(store, &work, "invalid_file", "It is bad.", NULL);
    assert_true(rc == ERR_OK || rc == ERR_CANCELLED);
    document_work_clear(&work);
}

static void step(struct walk *walk)
{
    size_t dice = any(100);

    if (dice < 30)
        assert_int_equal(try_attach(MINE, walk->stores[any(STORES)], walk->files[any(FILES)],
                                    any(3) ? 800 : 400, NULL),
                         ERR_OK);
    else if (dice < 68)
        end_one();
    else if (dice < 80)
        remove_file(walk);
    else if (dice < 86)
        cancel_batch(walk);
    else if (dice < 92)
        renew_file(walk);
    else if (dice < 97)
        reindex(walk);
    else
        renew_store(walk);
}

TEST(after_every_change_each_node_sees_what_the_database_says)
{
    const char *given = getenv("RUNNEL_SEED");
    struct walk walk = {0};
    size_t searches = 0, most = 0;

    seed = given ? strtoull(given, NULL, 10) : 20261128;
    print_message("RUNNEL_SEED=%llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < STORES; i++)
        walk.stores[i] = sample_store(MINE);
    for (size_t i = 0; i < FILES; i++)
        walk.files[i] = sample_file(MINE);
    for (size_t i = 0; i < STEPS; i++) {
        size_t node = any(NODES), first = any(STORES), count;

        step(&walk);
        expect_as_in_database(nodes[node], &walk.stores[first], 1);
        expect_as_in_database(nodes[node], walk.stores, 1 + any(STORES));
        count = count_of(nodes[node], walk.stores[first]);
        most = count > most ? count : most;
        searches += 3;
    }
    store_set_embedding_model(store, 0);
    assert_true(most > 3);
    assert_true(stats_of(nodes[0]).missed + stats_of(nodes[1]).missed < searches / 2);
}

/* ---- What is kept ---- */

TEST(a_set_is_read_once_until_its_store_changes)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    uint64_t before = missed();

    assert_int_equal(count_of(nodes[0], id), 0);
    assert_int_equal(count_of(nodes[0], id), 0);
    assert_int_equal(missed(), before + 1);
    attach(MINE, id, file);
    publish_all();
    assert_int_equal(count_of(nodes[0], id), 1);
    assert_int_equal(count_of(nodes[0], id), 1);
    assert_int_equal(missed(), before + 2);
}

/* What it would do, written down: the counters move, and the version does not. */
TEST(a_change_by_a_node_that_knows_no_versions_is_seen)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);

    attach(MINE, id, file);
    publish_all();
    assert_int_equal(count_of(nodes[0], id), 1);
    (void)pg_fixture_ask("WITH gone AS (DELETE FROM vector_store_files WHERE file_id = '%s')"
                         " UPDATE vector_stores SET completed = completed - 1"
                         " WHERE id = '%s' RETURNING id",
                         file.text, id.text);
    assert_int_equal(count_of(nodes[0], id), 0);
}

TEST(another_project_does_not_see_what_is_kept)
{
    struct sample_id id = sample_store(MINE);
    const char *ids[] = {id.text};
    struct search_set set;
    struct err err;

    attach(MINE, id, sample_file(MINE));
    publish_all();
    assert_int_equal(count_of(nodes[0], id), 1);
    assert_int_equal(search_sets_find(nodes[0], THEIRS, ids, 1, NULL, &set, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(set.count, 0);
}

TEST(a_store_that_is_gone_or_has_expired_is_not_searched_from_memory)
{
    struct sample_id gone = sample_store(MINE), expired = sample_store(MINE);
    const char *ids[] = {gone.text, expired.text};
    struct search_set set;
    struct err err;

    attach(MINE, gone, sample_file(MINE));
    attach(MINE, expired, sample_file(MINE));
    publish_all();
    assert_int_equal(count_of(nodes[0], gone) + count_of(nodes[0], expired), 2);
    (void)pg_fixture_ask("UPDATE vector_stores SET expires_at = 1 WHERE id = '%s' RETURNING id",
                         expired.text);
    assert_int_equal(search_sets_find(nodes[0], MINE, ids, 2, NULL, &set, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORE_EXPIRED);
    assert_int_equal(store_vector_store_delete(store, MINE, gone.text, NULL), ERR_OK);
    assert_int_equal(search_sets_find(nodes[0], MINE, ids, 2, NULL, &set, &err), ERR_NOT_FOUND);
}

/* ---- Threads ---- */

#define SEARCHERS 4
#define SEARCHES  100

struct searchers {
    struct search_sets *sets;
    struct sample_id stores[STORES];
    atomic_size_t wrong;
};

/* Each set is whole: sorted, and of its store. */
static void *search_often(void *arg)
{
    struct searchers *searchers = arg;

    for (size_t i = 0; i < SEARCHES; i++) {
        const char *ids[] = {searchers->stores[i % STORES].text};
        struct search_set set;

        if (search_sets_find(searchers->sets, MINE, ids, 1, NULL, &set, NULL)) {
            atomic_fetch_add(&searchers->wrong, 1);
            continue;
        }
        for (size_t j = 0; j < set.count; j++) {
            const struct searched_file *file = &set.files[j];

            if (strcmp(file->store_id, ids[0]) != 0 ||
                (j && strcmp(file[-1].document_id, file->document_id) >= 0))
                atomic_fetch_add(&searchers->wrong, 1);
        }
        search_set_clear(&set);
    }
    store_thread_end(store);
    return NULL;
}

TEST(threads_share_sets_that_change_and_go)
{
    struct searchers searchers = {.sets =
                                      search_sets_new(store, 6 * sizeof(struct searched_file))};
    pthread_t threads[SEARCHERS];

    for (size_t i = 0; i < STORES; i++) {
        searchers.stores[i] = sample_store(MINE);
        attach(MINE, searchers.stores[i], sample_file(MINE));
    }
    publish_all();
    for (size_t i = 0; i < SEARCHERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, search_often, &searchers), 0);
    for (size_t i = 0; i < 20; i++) {
        attach(MINE, searchers.stores[i % STORES], sample_file(MINE));
        publish_all();
    }
    for (size_t i = 0; i < SEARCHERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&searchers.wrong), 0);
    for (size_t i = 0; i < STORES; i++)
        expect_as_in_database(searchers.sets, &searchers.stores[i], 1);
    search_sets_free(searchers.sets);
}

/* ---- The limit ---- */

TEST(sets_have_a_limit_and_those_that_are_held_stay_whole)
{
    size_t one = sizeof(struct searched_file);
    struct search_sets *small = search_sets_new(store, 5 * one);
    struct sample_id ids[STORES];
    struct search_set first;

    for (size_t i = 0; i < STORES; i++) {
        ids[i] = sample_store(MINE);
        attach(MINE, ids[i], sample_file(MINE));
        attach(MINE, ids[i], sample_file(MINE));
    }
    publish_all();
    first = find(small, ids, 1);
    for (size_t turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < STORES; i++)
            expect_as_in_database(small, &ids[i], 1);
        assert_true(stats_of(small).bytes <= 5 * one);
        assert_true(stats_of(small).count < STORES);
    }
    assert_int_equal(first.count, 2);
    assert_string_equal(first.files[0].store_id, ids[0].text);
    search_set_clear(&first);
    search_sets_free(small);
}

TEST(a_set_that_was_used_stays_longer)
{
    struct search_sets *small;
    struct sample_id ids[STORES];
    size_t two;

    for (size_t i = 0; i < STORES; i++)
        ids[i] = sample_store(MINE);
    small = search_sets_new(store, 1 << 20);
    (void)count_of(small, ids[0]);
    two = 2 * stats_of(small).bytes;
    search_sets_free(small);
    small = search_sets_new(store, two);
    (void)count_of(small, ids[0]);
    (void)count_of(small, ids[1]);
    (void)count_of(small, ids[0]); /* used */
    (void)count_of(small, ids[2]); /* the second goes */
    assert_int_equal(stats_of(small).missed, 3);
    (void)count_of(small, ids[0]);
    assert_int_equal(stats_of(small).missed, 3);
    (void)count_of(small, ids[1]);
    assert_int_equal(stats_of(small).missed, 4);
    search_sets_free(small);
}

TEST(a_set_larger_than_the_limit_is_found_and_not_kept)
{
    struct search_sets *none = search_sets_new(store, 0);
    struct sample_id id = sample_store(MINE);

    attach(MINE, id, sample_file(MINE));
    publish_all();
    assert_int_equal(count_of(none, id), 1);
    assert_int_equal(count_of(none, id), 1);
    assert_int_equal(stats_of(none).count, 0);
    assert_int_equal(stats_of(none).bytes, 0);
    assert_int_equal(stats_of(none).missed, 2);
    search_sets_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_every_change_each_node_sees_what_the_database_says),
        cmocka_unit_test(a_set_is_read_once_until_its_store_changes),
        cmocka_unit_test(a_change_by_a_node_that_knows_no_versions_is_seen),
        cmocka_unit_test(another_project_does_not_see_what_is_kept),
        cmocka_unit_test(a_store_that_is_gone_or_has_expired_is_not_searched_from_memory),
        cmocka_unit_test(threads_share_sets_that_change_and_go),
        cmocka_unit_test(sets_have_a_limit_and_those_that_are_held_stay_whole),
        cmocka_unit_test(a_set_that_was_used_stays_longer),
        cmocka_unit_test(a_set_larger_than_the_limit_is_found_and_not_kept),
    };

    return cmocka_run_group_tests(tests, open_nodes, close_nodes);
}
