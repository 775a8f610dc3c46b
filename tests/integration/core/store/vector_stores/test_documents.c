/*
 * Documents as work: claimed by one, written by its owner alone, taken up when the owner died, and gone when nothing
 * waits for them.
 */

#include "core/store/tables/vector_stores/documents.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/cluster/document_leases.h"
#include "core/store/pg/db.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/document_counts.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_documents")
#define THEIRS TENANT_OF("proj_others")

static struct sample_id queued(const struct tenant *tenant)
{
    struct sample_id id = sample_store(tenant);

    attach(tenant, id, sample_file(tenant));
    return id;
}

static void end_all(void)
{
    pg_fixture_ask(
        "UPDATE documents SET state = 'queued', owner = NULL WHERE state = 'parsing'");
    publish_all();
}

TEST(claims_go_to_the_project_with_the_fewest_at_work)
{
    struct document_work work[4];

    queued(MINE);
    queued(MINE);
    queued(MINE);
    queued(THEIRS);
    for (size_t i = 0; i < 4; i++)
        work[i] = claimed();
    assert_string_equal(work[0].project, MINE->project);
    assert_string_equal(work[1].project, THEIRS->project);
    assert_string_equal(work[2].project, MINE->project);
    assert_string_equal(work[3].project, MINE->project);
    assert_string_equal(work[0].filename, "手册.txt");
    assert_int_equal(work[0].chunk_tokens, 800);
    assert_int_equal(work[0].overlap_tokens, 400);
    for (size_t i = 0; i < 4; i++)
        document_work_clear(&work[i]);
    end_all();
}

/* One worker: each document is ready before the next one is claimed. */
TEST(projects_take_turns_also_if_nothing_is_at_work)
{
    const struct tenant *const order[] = {MINE, THEIRS, MINE, THEIRS, MINE, MINE};

    pg_fixture_ask("DELETE FROM ingest_turns");
    for (size_t i = 0; i < 4; i++)
        queued(MINE);
    for (size_t i = 0; i < 2; i++)
        queued(THEIRS);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        struct document_work work = claimed();

        assert_string_equal(work.project, order[i]->project);
        assert_int_equal(publish(&work, "text", NULL), ERR_OK);
        document_work_clear(&work);
    }
}

TEST(a_document_that_is_locked_does_not_keep_the_others_from_being_renewed)
{
    static const struct db_statement lock = {"test_lock_document",
                                             "SELECT 1 FROM documents WHERE project_id = $1"
                                             " AND id = $2 FOR UPDATE"};
    struct document_work work[2];
    const char *held[2];
    int64_t fences[2];
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};

    queued(MINE);
    queued(MINE);
    for (size_t i = 0; i < 2; i++) {
        work[i] = claimed();
        held[i] = work[i].id;
        fences[i] = work[i].fence;
    }
    pg_fixture_ask("UPDATE documents SET lease_until = now() WHERE state = 'parsing'");
    assert_int_equal(db_begin(other_store, &db, NULL), ERR_OK);
    db_arg_tenant(&args, MINE);
    db_arg_text(&args, work[0].id);
    assert_int_equal(db_exec(db, &lock, &args, &rows, NULL), ERR_OK);
    assert_int_equal(db_count(rows), 1);
    assert_int_equal(store_document_leases_renew(store, held, fences, 2, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents WHERE id = '%s'"
                                      " AND lease_until > clock_timestamp()",
                                      work[1].id),
                     1);
    assert_int_equal(db_commit(db, NULL), ERR_OK); /* it did not have to be cut off */
    db_end(TAKE(db));
    for (size_t i = 0; i < 2; i++)
        document_work_clear(&work[i]);
    end_all();
}

TEST(a_document_that_was_put_back_waits_for_its_time)
{
    struct sample_id id = queued(MINE);
    struct document_work work = claimed(), other;
    bool found = true;

    assert_int_equal(
        store_document_retry(store, &work, 3600 * INT64_C(1000000), RETRY_COUNTED, NULL),
        ERR_OK);
    assert_int_equal(publish(&work, "text", NULL), ERR_CANCELLED);
    assert_int_equal(store_document_claim(store, &other, &found, NULL), ERR_OK);
    assert_false(found);
    pg_fixture_ask("UPDATE documents SET next_try_at = 0");
    document_work_clear(&work);
    work = claimed();
    assert_int_equal(work.tries, 1);
    assert_int_equal(publish(&work, "text", NULL), ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 10");
    document_work_clear(&work);
}

TEST(waits_and_unknown_failures_are_counted_apart)
{
    static const struct {
        enum document_retry retry;
        int tries, faults; /* then */
    } steps[] = {{RETRY_UNCOUNTED, 0, 0}, {RETRY_COUNTED, 1, 0}, {RETRY_FAULT, 2, 1}};
    struct document_work work;

    queued(MINE);
    work = claimed();
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        assert_int_equal(store_document_retry(store, &work, 0, steps[i].retry, NULL), ERR_OK);
        document_work_clear(&work);
        work = claimed();
        assert_int_equal(work.tries, steps[i].tries);
        assert_int_equal(work.faults, steps[i].faults);
    }
    assert_int_equal(publish(&work, "text", NULL), ERR_OK);
    document_work_clear(&work);
}

TEST(progress_says_whether_a_file_still_waits)
{
    struct document_work work;
    bool wanted = false;

    queued(MINE);
    work = claimed();
    assert_int_equal(store_document_progress(store, &work, 3, 7, &wanted, NULL), ERR_OK);
    assert_true(wanted);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents WHERE id = '%s' AND"
                                      " page_count = 3 AND chunk_count = 7",
                                      work.id),
                     1);
    pg_fixture_ask(
        "UPDATE vector_store_files SET status = 'cancelled' WHERE document_id = '%s'", work.id);
    assert_int_equal(store_document_progress(store, &work, 3, 7, &wanted, NULL), ERR_OK);
    assert_false(wanted);
    pg_fixture_ask(
        "UPDATE vector_store_files SET status = 'in_progress' WHERE document_id = '%s'",
        work.id);
    assert_int_equal(publish(&work, "text", NULL), ERR_OK);
    document_work_clear(&work);
}

TEST(what_dead_owners_had_is_queued_again_and_counts_as_an_attempt)
{
    struct sample_id id = queued(MINE);
    struct document_work work = claimed(), again;
    const char *held[] = {work.id};
    bool wanted;
    size_t count;

    /* It lives: its lease is good, or it is this very boot and has it at work. */
    assert_int_equal(store_documents_recover(other_store, CLAIM_ALL, NULL, 0, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, 0);
    pg_fixture_ask("UPDATE documents SET lease_until = now() - interval '1 h'");
    assert_int_equal(store_documents_recover(store, CLAIM_ALL, held, 1, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(store_documents_recover(other_store, CLAIM_LEFT, NULL, 0, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(store_document_leases_renew(store, held, &work.fence, 1, NULL), ERR_OK);
    assert_int_equal(store_documents_recover(other_store, CLAIM_ALL, NULL, 0, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, 0);
    /* It could not give it back. */
    pg_fixture_ask("UPDATE documents SET lease_until = now() - interval '1 h'");
    assert_int_equal(store_documents_recover(store, CLAIM_LEFT, NULL, 0, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    again = claimed();
    assert_int_equal(again.attempts, 0);
    assert_int_equal(again.fence, work.fence + 1);
    /* It died. */
    pg_fixture_ask("UPDATE documents SET owner = 'node_dead/boot_1', lease_until = now()"
                   " - interval '1 h'");
    assert_int_equal(store_documents_recover(store, CLAIM_ALL, NULL, 0, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(publish(&again, "text", NULL), ERR_CANCELLED);
    assert_int_equal(store_document_fail(store, &again, "x", "x", NULL), ERR_CANCELLED);
    assert_int_equal(store_document_progress(store, &again, 1, 1, &wanted, NULL),
                     ERR_CANCELLED);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM chunks WHERE document_id = '%s'", again.id), 0);
    document_work_clear(&work);
    document_work_clear(&again);
    again = claimed();
    assert_int_equal(again.attempts, 1);
    assert_int_equal(publish(&again, "text", NULL), ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 10");
    document_work_clear(&again);
}

TEST(an_earlier_boot_of_this_node_is_dead_even_under_a_lease)
{
    struct sample_id id = queued(MINE);
    struct document_work work = claimed();
    size_t count;

    pg_fixture_ask("UPDATE documents SET owner = 'node_test/boot_0' WHERE state = 'parsing'");
    assert_int_equal(store_documents_recover(store, CLAIM_LEFT, NULL, 0, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    document_work_clear(&work);
    publish_all();
    assert_counters(id, "0 1 0 0 bytes 10");
}

TEST(a_document_that_nothing_waits_for_is_dropped_by_its_owner)
{
    struct sample_id id = sample_store(MINE), file = sample_file(MINE);
    struct document_work work;

    /* Queued. */
    attach(MINE, id, file);
    assert_int_equal(store_store_file_delete(store, MINE, id.text, file.text, NULL), ERR_OK);
    assert_int_equal(publish_all(), 0);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM documents WHERE file_id = '%s'", file.text), 0);
    /* At work, and attached again meanwhile: it is wanted. */
    attach(MINE, id, file);
    work = claimed();
    assert_int_equal(store_store_file_delete(store, MINE, id.text, file.text, NULL), ERR_OK);
    attach(MINE, id, file);
    assert_int_equal(publish(&work, "text", NULL), ERR_OK);
    document_work_clear(&work);
    assert_counters(id, "0 1 0 0 bytes 10");
    assert_int_equal(store_store_file_delete(store, MINE, id.text, file.text, NULL), ERR_OK);
    assert_nothing_orphaned();
    /* At work. The sweep leaves it to its owner. */
    attach(MINE, id, file);
    work = claimed();
    assert_int_equal(store_file_delete(store, MINE, file.text, NULL), ERR_OK);
    size_t count;

    assert_int_equal(store_documents_sweep(store, 0, 100, &count, NULL), ERR_OK);
    assert_int_equal(store_document_fail(store, &work, "server_error", "x", NULL),
                     ERR_CANCELLED);
    document_work_clear(&work);
    assert_nothing_orphaned();
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM documents WHERE file_id = '%s'", file.text), 0);
}

TEST(a_long_document_is_written_whole)
{
    enum { CHUNKS = 2500, PAGES = 1500 };
    struct sample_id id = queued(MINE);
    struct document_work work = claimed();
    AUTO_FREE struct document_chunk *chunks = mem_zeroed(CHUNKS, sizeof(*chunks));
    AUTO_FREE struct document_text *pages = mem_zeroed(PAGES, sizeof(*pages));
    AUTO_FREE char *segment = mem_zeroed(1, 3 * DOCUMENT_PIECE / 2);
    AUTO_FREE char *text = NULL;
    bool found;

    for (size_t i = 0; i < CHUNKS; i++)
        chunks[i] =
            (struct document_chunk){.page = i + 1, .heading = "", .text = "a \"{,}\\ 电池"};
    for (size_t i = 0; i < PAGES; i++)
        pages[i] = (struct document_text){&"0123456789"[i % 10], 1 + (i % 10 == 0)};
    const struct document_made made = {.texts = pages,
                                       .text_count = PAGES,
                                       .chunks = chunks,
                                       .chunk_count = CHUNKS,
                                       .segment = segment,
                                       .segment_size = 3 * DOCUMENT_PIECE / 2};

    assert_int_equal(store_document_publish(store, &work, &made, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunks WHERE document_id = '%s'"
                                      " AND text = 'a \"{,}\\ 电池' AND page = n + 1",
                                      work.id),
                     CHUNKS);
    assert_int_equal(pg_fixture_count("SELECT sum(length(bytes)) FROM document_segments"
                                      " WHERE document_id = '%s'",
                                      work.id),
                     3 * DOCUMENT_PIECE / 2);
    assert_int_equal(store_document_text(store, MINE, work.id, 1010, &text, &found, NULL),
                     ERR_OK);
    assert_true(found);
    assert_string_equal(text, "01");
    assert_int_equal(store_document_text(store, THEIRS, work.id, 0, &text, &found, NULL),
                     ERR_OK);
    assert_false(found);
    assert_int_equal(store_document_text(store, MINE, work.id, PAGES, &text, &found, NULL),
                     ERR_OK);
    assert_false(found);
    document_work_clear(&work);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}

/* A document counts once, and no more when it is gone. */
TEST(texts_and_indexes_count_for_the_limit_of_the_project)
{
    const struct tenant *tenant = TENANT_OF("proj_limited");
    struct sample_id first = sample_store(tenant), second = sample_store(tenant);
    struct sample_id file = sample_file(tenant), other = sample_file(tenant);
    uint64_t used;
    struct err err;

    attach(tenant, first, file);
    publish_all();
    attach(tenant, second, file);
    used = (uint64_t)pg_fixture_count("SELECT bytes + document_bytes FROM storage_use"
                                      " WHERE project_id = 'proj_limited'");
    assert_int_equal(pg_fixture_count("SELECT document_bytes FROM storage_use"
                                      " WHERE project_id = 'proj_limited'"),
                     10);
    store_set_storage_limit(store, used);
    assert_int_equal(try_attach(tenant, first, other, 800, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORAGE_QUOTA);
    store_set_storage_limit(store, used + 1);
    attach(tenant, first, other);
    publish_all(); /* what was attached is read, and may bring it beyond */
    assert_int_equal(try_attach(tenant, second, other, 800, NULL), ERR_INVALID);
    assert_int_equal(store_store_file_delete(store, tenant, first.text, other.text, NULL),
                     ERR_OK);
    assert_nothing_orphaned();
    attach(tenant, second, other);
    store_set_storage_limit(store, 0);
    publish_all();
}

TEST(pages_of_a_document_that_is_ready_are_found_by_its_file)
{
    struct sample_id id = sample_store(MINE), file = sample_file(MINE);
    char document_id[ID_SIZE];
    size_t pages = 0;
    bool found = true;

    attach(MINE, id, file);
    assert_int_equal(
        store_document_paged(store, MINE, file.text, document_id, &pages, &found, NULL),
        ERR_OK);
    assert_false(found); /* not yet */
    publish_all();
    assert_int_equal(
        store_document_paged(store, THEIRS, file.text, document_id, &pages, &found, NULL),
        ERR_OK);
    assert_false(found);
    assert_int_equal(
        store_document_paged(store, MINE, file.text, document_id, &pages, &found, NULL),
        ERR_OK);
    assert_true(found);
    assert_int_equal(pages, 1);
    /* A page in two pieces. */
    pg_fixture_ask("INSERT INTO document_texts SELECT project_id, document_id, 1, 'more'"
                   " FROM document_texts WHERE document_id = '%s'",
                   document_id);
    assert_int_equal(
        store_document_paged(store, MINE, file.text, document_id, &pages, &found, NULL),
        ERR_OK);
    assert_false(found);
    pg_fixture_ask("DELETE FROM document_texts WHERE document_id = '%s' AND n = 1",
                   document_id);
}

/* ---- Two at once ---- */

enum { ROUNDS = 60 };

static void *publish_for_ever(void *arg)
{
    bool *stop = arg;

    while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE))
        publish_all();
    store_thread_end(store);
    return NULL;
}

/* A file is attached to a second store while its document is made ready, or deleted. */
TEST(who_attaches_while_a_document_becomes_ready_is_not_left_waiting)
{
    bool stop = false;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, publish_for_ever, &stop), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample_id first = sample_store(MINE), second = sample_store(MINE);
        struct sample_id file = sample_file(MINE);

        attach(MINE, first, file);
        attach(MINE, second, file);
        if (i % 3 == 0)
            assert_int_equal(store_file_delete(store, MINE, file.text, NULL), ERR_OK);
        if (i % 3 == 1)
            assert_int_equal(store_vector_store_delete(store, MINE, first.text, NULL), ERR_OK);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    publish_all();
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM vector_store_files WHERE status = 'in_progress'"),
        0);
    assert_nothing_orphaned();
    assert_counters(queued(MINE), "1 0 0 0 bytes 0");
    end_all();
}

struct publisher {
    struct document_work work;
    enum err_code rc;
};

static void *publish_one(void *arg)
{
    struct publisher *publisher = arg;

    publisher->rc = publish(&publisher->work, "text", NULL);
    store_thread_end(store);
    return NULL;
}

/* The chunks of a long document take a while: the lock of another session makes it as long as it needs to be. */
TEST(a_file_is_attached_while_its_document_is_written)
{
    struct sample_id first = sample_store(MINE), second = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    PGconn *holder = PQconnectdb(pg_fixture_url());
    struct publisher publisher;
    pthread_t thread;

    attach(MINE, first, file);
    publisher.work = claimed();
    PQclear(PQexec(holder, "BEGIN"));
    PQclear(PQexec(holder, "LOCK TABLE chunks IN EXCLUSIVE MODE"));
    assert_int_equal(pthread_create(&thread, NULL, publish_one, &publisher), 0);
    while (pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted") < 1)
        continue;
    attach(MINE, second, file);
    PQclear(PQexec(holder, "COMMIT"));
    pthread_join(thread, NULL);
    PQfinish(holder);
    assert_int_equal(publisher.rc, ERR_OK);
    assert_counters(first, "0 1 0 0 bytes 10");
    assert_counters(second, "0 1 0 0 bytes 10");
    document_work_clear(&publisher.work);
}

/* A fork may copy a store behind the locks of the others: then only the row itself is locked, when it is changed. */
TEST(a_file_that_is_cancelled_meanwhile_is_not_completed)
{
    struct sample_id id = queued(MINE);
    PGconn *holder = PQconnectdb(pg_fixture_url());
    const char *const values[] = {id.text};
    struct publisher publisher = {.work = claimed()};
    pthread_t thread;

    PQclear(PQexec(holder, "BEGIN"));
    PQclear(PQexecParams(holder,
                         "UPDATE vector_store_files SET status = 'cancelled'"
                         " WHERE vector_store_id = $1",
                         1, NULL, values, NULL, NULL, 0));
    assert_int_equal(pthread_create(&thread, NULL, publish_one, &publisher), 0);
    while (pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted") < 1)
        continue;
    PQclear(PQexec(holder, "COMMIT"));
    pthread_join(thread, NULL);
    PQfinish(holder);
    assert_int_equal(publisher.rc, ERR_CANCELLED);
    pg_fixture_ask("UPDATE vector_stores SET in_progress = 0, cancelled = 1 WHERE id = '%s'",
                   id.text);
    assert_counters(id, "0 0 0 1 bytes 0");
    document_work_clear(&publisher.work);
}

static void *attach_for_ever(void *arg)
{
    const struct sample_id *ids = arg; /* a store, then ROUNDS files */

    for (int i = 0; i < ROUNDS; i++) {
        enum err_code rc = try_attach(MINE, ids[0], ids[1 + i], 800, NULL);

        assert_true(rc == ERR_OK || rc == ERR_NOT_FOUND);
    }
    store_thread_end(store);
    return NULL;
}

TEST(a_file_that_is_deleted_while_it_is_attached_is_in_no_store)
{
    struct sample_id ids[1 + ROUNDS];
    pthread_t thread;

    ids[0] = sample_store(MINE);
    for (int i = 0; i < ROUNDS; i++)
        ids[1 + i] = sample_file(MINE);
    assert_int_equal(pthread_create(&thread, NULL, attach_for_ever, ids), 0);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(store_file_delete(store, MINE, ids[1 + i].text, NULL), ERR_OK);
    pthread_join(thread, NULL);
    assert_counters(ids[0], "0 0 0 0 bytes 0");
    publish_all();
    assert_nothing_orphaned();
}

TEST(documents_are_counted_by_their_state)
{
    const struct tenant *tenant = TENANT_OF("proj_counted");
    struct document_counts counts;
    struct document_queue queue;
    struct document_work work;

    assert_int_equal(store_document_counts(store, tenant, &counts, NULL), ERR_OK);
    assert_int_equal(counts.vector_stores + counts.queued + counts.ready + counts.chunks, 0);
    publish_all();
    assert_int_equal(store_document_queue(store, &queue, NULL), ERR_OK);
    assert_int_equal(queue.count, 0);
    assert_int_equal(queue.oldest_us, 0);
    queued(tenant);
    publish_all();
    queued(tenant);
    queued(tenant);
    pg_fixture_ask(
        "UPDATE documents SET queued_at = queued_at - 60000000 WHERE state = 'queued'");
    assert_int_equal(store_document_queue(store, &queue, NULL), ERR_OK);
    assert_int_equal(queue.count, 2);
    assert_in_range(queue.oldest_us, 60000000, 3600000000);
    work = claimed();
    assert_int_equal(store_document_counts(store, tenant, &counts, NULL), ERR_OK);
    assert_int_equal(counts.vector_stores, 3);
    assert_int_equal(counts.queued, 1);
    assert_int_equal(counts.parsing, 1);
    assert_int_equal(counts.ready, 1);
    assert_int_equal(counts.failed, 0);
    assert_int_equal(counts.chunks, 1);
    assert_true(counts.usage_bytes > 0);
    document_work_clear(&work);
    end_all();
}

/* With lz4 where PostgreSQL has it, as other long texts. */
TEST(texts_are_compressed_as_those_of_runs_are)
{
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM pg_attribute a, pg_attribute i"
                         " WHERE i.attrelid = 'items'::regclass AND i.attname = 'body'"
                         " AND (a.attrelid, a.attname) IN (('chunks'::regclass, 'text'),"
                         "  ('document_texts'::regclass, 'text'))"
                         " AND a.attcompression = i.attcompression"),
        2);
}

TEST(two_nodes_share_the_work)
{
    struct document_work mine, theirs;
    bool found;

    queued(MINE);
    queued(MINE);
    mine = claimed();
    assert_int_equal(store_document_claim(other_store, &theirs, &found, NULL), ERR_OK);
    assert_true(found);
    assert_string_not_equal(mine.id, theirs.id);
    /* A node writes nothing of another's. */
    assert_int_equal(publish(&theirs, "text", NULL), ERR_CANCELLED);
    document_work_clear(&mine);
    document_work_clear(&theirs);
    end_all();
}

#ifdef RUNNEL_FAULTS
TEST(a_statement_that_fails_publishes_nothing)
{
    static const char *const points[] = {"store_document_hold",   "store_document_texts",
                                         "store_document_chunks", "store_document_segment",
                                         "store_document_stores", "store_document_files",
                                         "store_document_end",    "store.commit"};
    struct sample_id id = queued(MINE);
    struct document_work work = claimed();

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        fault_arm(points[i], 1);
        assert_int_not_equal(publish(&work, "text", NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_counters(id, "1 0 0 0 bytes 0");
        assert_int_equal(
            pg_fixture_count("SELECT count(*) FROM chunks WHERE document_id = '%s'", work.id),
            0);
    }
    assert_int_equal(publish(&work, "text", NULL), ERR_OK);
    assert_counters(id, "0 1 0 0 bytes 10");
    document_work_clear(&work);
}

TEST(a_statement_that_fails_claims_and_sweeps_nothing)
{
    static const char *const points[] = {"store_document_claim", "store_document_claimed",
                                         "store.commit"};
    static const char *const sweeps[] = {"store_documents_left", "store_document_left_lock",
                                         "store_document_named", "store_document_drop",
                                         "store.commit"};
    struct sample_id id = queued(MINE);
    struct document_work work;
    size_t count;
    bool found;

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        fault_arm(points[i], 1);
        assert_int_not_equal(store_document_claim(store, &work, &found, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
    }
    publish_all();
    assert_counters(id, "0 1 0 0 bytes 10");
    assert_nothing_orphaned();
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(sweeps); i++) {
        fault_arm(sweeps[i], 1);
        assert_int_not_equal(store_documents_sweep(store, 0, 10, &count, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
    }
    assert_nothing_orphaned();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_go_to_the_project_with_the_fewest_at_work),
        cmocka_unit_test(projects_take_turns_also_if_nothing_is_at_work),
        cmocka_unit_test(a_document_that_is_locked_does_not_keep_the_others_from_being_renewed),
        cmocka_unit_test(a_document_that_was_put_back_waits_for_its_time),
        cmocka_unit_test(waits_and_unknown_failures_are_counted_apart),
        cmocka_unit_test(documents_are_counted_by_their_state),
        cmocka_unit_test(texts_are_compressed_as_those_of_runs_are),
        cmocka_unit_test(progress_says_whether_a_file_still_waits),
        cmocka_unit_test(what_dead_owners_had_is_queued_again_and_counts_as_an_attempt),
        cmocka_unit_test(an_earlier_boot_of_this_node_is_dead_even_under_a_lease),
        cmocka_unit_test(a_document_that_nothing_waits_for_is_dropped_by_its_owner),
        cmocka_unit_test(a_long_document_is_written_whole),
        cmocka_unit_test(texts_and_indexes_count_for_the_limit_of_the_project),
        cmocka_unit_test(who_attaches_while_a_document_becomes_ready_is_not_left_waiting),
        cmocka_unit_test(a_file_is_attached_while_its_document_is_written),
        cmocka_unit_test(a_file_that_is_cancelled_meanwhile_is_not_completed),
        cmocka_unit_test(a_file_that_is_deleted_while_it_is_attached_is_in_no_store),
        cmocka_unit_test(pages_of_a_document_that_is_ready_are_found_by_its_file),
        cmocka_unit_test(two_nodes_share_the_work),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_publishes_nothing),
        cmocka_unit_test(a_statement_that_fails_claims_and_sweeps_nothing),
#endif
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
