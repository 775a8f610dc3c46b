/*
 * Vector stores and their files as rows: the counters are right after every change.
 */

#include "core/store/tables/vector_stores/vector_stores.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/search_set.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_stores")
#define THEIRS TENANT_OF("proj_others")

static const struct idempotency no_key = {.key = ""};

TEST(a_store_is_read_as_it_was_made)
{
    struct vector_store_row row = {.name = mem_strdup("手册"),
                                   .description = mem_strdup("about"),
                                   .metadata = mem_strdup("{\"a\":\"b\"}"),
                                   .expires_days = 7,
                                   .created_at = clock_wall_us()};
    struct vector_store_row read;

    id_make(row.id, "vs_");
    assert_int_equal(store_vector_store_create(store, MINE, &no_key, NULL, 0, &row, NULL),
                     ERR_OK);
    assert_int_equal(store_vector_store_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_string_equal(read.name, "手册");
    assert_string_equal(read.description, "about");
    assert_string_equal(read.metadata, "{\"a\":\"b\"}");
    assert_int_equal(read.expires_days, 7);
    assert_int_equal(read.last_active_at, row.created_at);
    assert_int_equal(read.expires_at, row.created_at + 7 * 86400 * US_PER_SECOND);
    assert_false(read.expired);
    vector_store_row_clear(&read);
    assert_int_equal(store_vector_store_delete(store, MINE, row.id, NULL), ERR_OK);
    assert_int_equal(store_vector_store_get(store, MINE, row.id, &read, NULL), ERR_NOT_FOUND);
    vector_store_row_clear(&row);
}

TEST(a_repeated_request_makes_one_store)
{
    const struct idempotency key = {.key = "store-key", .hash = "one"};
    struct sample_id made[2];

    for (size_t i = 0; i < 2; i++) {
        struct vector_store_row row = {.name = mem_strdup(""), .metadata = mem_strdup("{}")};

        id_make(row.id, "vs_");
        assert_int_equal(store_vector_store_create(store, MINE, &key, NULL, 0, &row, NULL),
                         ERR_OK);
        memcpy(made[i].text, row.id, sizeof(made[i].text));
        vector_store_row_clear(&row);
    }
    assert_string_equal(made[0].text, made[1].text);
    assert_int_equal(store_vector_store_delete(store, MINE, made[0].text, NULL), ERR_OK);
}

TEST(a_store_of_another_project_is_unknown)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    struct sample_id foreign = sample_file(THEIRS);
    const char *ids[] = {id.text, "vs_none"};
    struct vector_store_row row;
    struct store_file_row file_row;
    struct err err;
    size_t bad = 9;

    attach(MINE, id, file);
    assert_int_equal(store_vector_store_get(store, THEIRS, id.text, &row, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "No vector store found with id 'vs_"));
    assert_int_equal(store_vector_store_delete(store, THEIRS, id.text, NULL), ERR_NOT_FOUND);
    assert_int_equal(try_attach(THEIRS, id, foreign, 800, NULL), ERR_NOT_FOUND);
    assert_int_equal(try_attach(MINE, id, foreign, 800, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "No such File object: file-"));
    assert_int_equal(store_store_file_get(store, THEIRS, id.text, file.text, &file_row, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_store_file_delete(store, THEIRS, id.text, file.text, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_vector_stores_check(store, MINE, ids, 1, &bad, NULL), ERR_OK);
    assert_int_equal(store_vector_stores_check(store, MINE, ids, 2, &bad, NULL), ERR_NOT_FOUND);
    assert_int_equal(bad, 1);
    assert_int_equal(store_vector_stores_check(store, THEIRS, ids, 1, &bad, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(bad, 0);
    assert_counters(id, "1 0 0 0 bytes 0");
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    publish_all();
}

TEST(a_file_in_two_stores_is_one_document)
{
    struct sample_id first = sample_store(MINE), second = sample_store(MINE);
    struct sample_id file = sample_file(MINE);

    attach(MINE, first, file);
    attach(MINE, second, file);
    assert_counters(first, "1 0 0 0 bytes 0");
    assert_int_equal(publish_all(), 1);
    assert_counters(first, "0 1 0 0 bytes 10");
    assert_counters(second, "0 1 0 0 bytes 10");
    /* The third finds it ready. */
    struct sample_id third = sample_store(MINE);

    attach(MINE, third, file);
    assert_counters(third, "0 1 0 0 bytes 10");
    assert_int_equal(publish_all(), 0);
    assert_int_equal(store_vector_store_delete(store, MINE, first.text, NULL), ERR_OK);
    assert_int_equal(store_vector_store_delete(store, MINE, second.text, NULL), ERR_OK);
    assert_nothing_orphaned();
    assert_counters(third, "0 1 0 0 bytes 10");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunks"), 1);
    assert_int_equal(store_vector_store_delete(store, MINE, third.text, NULL), ERR_OK);
    assert_nothing_orphaned();
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 0);
}

static size_t searched(struct sample_id id, const struct filter *filter,
                       char ret_document[ID_SIZE])
{
    const char *ids[] = {id.text};
    AUTO_FREE struct searched_file *files = NULL;
    size_t count = 0;

    assert_int_equal(store_search_set(store, MINE, ids, 1, filter, &files, &count, NULL),
                     ERR_OK);
    if (count && ret_document)
        memcpy(ret_document, files[0].document_id, ID_SIZE);
    return count;
}

TEST(with_another_chunking_a_file_is_searched_as_before_until_it_is_ready)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    char before[ID_SIZE], now[ID_SIZE];

    attach(MINE, id, file);
    assert_int_equal(searched(id, NULL, NULL), 0);
    publish_all();
    assert_int_equal(searched(id, NULL, before), 1);
    assert_int_equal(try_attach(MINE, id, file, 100, NULL), ERR_OK);
    assert_counters(id, "1 0 0 0 bytes 0");
    assert_int_equal(searched(id, NULL, now), 1);
    assert_string_equal(now, before);
    assert_nothing_orphaned();
    publish_all();
    assert_counters(id, "0 1 0 0 bytes 10");
    assert_int_equal(searched(id, NULL, now), 1);
    assert_string_not_equal(now, before);
    assert_nothing_orphaned();
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 1);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}

TEST(a_failed_file_is_tried_anew_when_it_is_attached_again)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    struct document_work work;
    struct store_file_row row;

    attach(MINE, id, file);
    work = claimed();
    assert_int_equal(
        store_document_fail(store, &work, "invalid_file", "The file is damaged.", NULL),
        ERR_OK);
    document_work_clear(&work);
    assert_counters(id, "0 0 1 0 bytes 0");
    assert_int_equal(store_store_file_get(store, MINE, id.text, file.text, &row, NULL), ERR_OK);
    assert_string_equal(row.error_code, "invalid_file");
    assert_string_equal(row.error_message, "The file is damaged.");
    store_file_row_clear(&row);
    attach(MINE, id, file);
    assert_counters(id, "1 0 0 0 bytes 0");
    publish_all();
    assert_counters(id, "0 1 0 0 bytes 10");
    assert_int_equal(store_store_file_get(store, MINE, id.text, file.text, &row, NULL), ERR_OK);
    assert_null(row.error_code);
    assert_int_equal(row.chunks, 1);
    store_file_row_clear(&row);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}

static void assert_batch(struct sample_id id, const char *batch, const char *expected)
{
    struct file_batch_row row;
    char text[80];

    assert_int_equal(store_file_batch_get(store, MINE, id.text, batch, &row, NULL), ERR_OK);
    snprintf(text, sizeof(text), "%d %d %d %d%s", (int)row.counts[0], (int)row.counts[1],
             (int)row.counts[2], (int)row.counts[3], row.cancelled ? " cancelled" : "");
    assert_string_equal(text, expected);
}

static struct file_batch_row batch_of(struct sample_id id, const struct sample_id *files,
                                      size_t count)
{
    struct store_file_new new_files[8];
    struct file_batch_row batch = {0};

    for (size_t i = 0; i < count; i++)
        new_files[i] = (struct store_file_new){
            .file_id = files[i].text, .chunk_tokens = 800, .overlap_tokens = 400};
    id_make(batch.id, "vsfb_");
    memcpy(batch.store_id, id.text, sizeof(id.text));
    assert_int_equal(
        store_file_batch_create(store, MINE, &no_key, new_files, count, &batch, NULL), ERR_OK);
    return batch;
}

TEST(cancelling_a_batch_ends_what_is_in_progress_and_leaves_the_rest)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id files[3] = {sample_file(MINE), sample_file(MINE), sample_file(MINE)};
    struct file_batch_row batch = batch_of(id, files, 3);
    struct document_work work = claimed();

    assert_batch(id, batch.id, "3 0 0 0");
    assert_int_equal(publish(&work, "text", NULL), ERR_OK);
    document_work_clear(&work);
    work = claimed();
    assert_batch(id, batch.id, "2 1 0 0");
    assert_int_equal(store_file_batch_cancel(store, MINE, id.text, batch.id, &batch, NULL),
                     ERR_OK);
    assert_batch(id, batch.id, "0 1 0 2 cancelled");
    assert_counters(id, "0 1 0 2 bytes 10");
    /* The one at work comes back, and the one that waits is never begun. */
    assert_int_equal(publish(&work, "text", NULL), ERR_CANCELLED);
    document_work_clear(&work);
    assert_int_equal(publish_all(), 0);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 1);
    /* Of a batch that has ended nothing changes. */
    struct file_batch_row ended = batch_of(id, files, 1);

    assert_batch(id, batch.id, "0 0 0 2 cancelled");
    assert_int_equal(store_file_batch_cancel(store, MINE, id.text, ended.id, &ended, NULL),
                     ERR_OK);
    assert_batch(id, ended.id, "0 1 0 0");
    assert_int_equal(store_file_batch_get(store, THEIRS, id.text, ended.id, &ended, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM file_batches"), 0);
    assert_nothing_orphaned();
}

TEST(a_deleted_file_leaves_all_stores)
{
    struct sample_id first = sample_store(MINE), second = sample_store(MINE);
    struct sample_id file = sample_file(MINE), other = sample_file(MINE);

    attach(MINE, first, file);
    attach(MINE, first, other);
    attach(MINE, second, file);
    publish_all();
    attach(MINE, sample_store(MINE), other);
    assert_int_equal(store_file_delete(store, MINE, file.text, NULL), ERR_OK);
    assert_counters(first, "0 1 0 0 bytes 10");
    assert_counters(second, "0 0 0 0 bytes 0");
    assert_nothing_orphaned();
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 1);
    pg_fixture_ask("UPDATE files SET expires_at = 1 WHERE id = '%s'", other.text);
    assert_int_equal(try_attach(MINE, second, other, 800, NULL), ERR_NOT_FOUND);
    size_t count;

    assert_int_equal(store_files_expire(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_counters(first, "0 0 0 0 bytes 0");
    assert_nothing_orphaned();
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 0);
}

TEST(an_expired_store_has_no_files_and_takes_none)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    const char *ids[] = {id.text};
    const struct vector_store_change change = {.expires_days = 3, .name = "New"};
    struct vector_store_row row;
    struct err err;
    size_t count, bad;

    attach(MINE, id, file);
    publish_all();
    assert_int_equal(store_vector_store_modify(store, MINE, id.text, &change, &row, NULL),
                     ERR_OK);
    assert_string_equal(row.name, "New");
    assert_int_equal(row.expires_at, row.last_active_at + 3 * 86400 * US_PER_SECOND);
    vector_store_row_clear(&row);
    /* It was last used long ago. Nothing has looked yet, and it has expired all the same. */
    pg_fixture_ask(
        "UPDATE vector_stores SET last_active_at = 1, expires_at = 2 WHERE id = '%s'", id.text);
    assert_int_equal(store_vector_store_get(store, MINE, id.text, &row, NULL), ERR_OK);
    assert_true(row.expired);
    assert_int_equal(row.counts[STORE_FILE_COMPLETED], 0);
    vector_store_row_clear(&row);
    assert_int_equal(try_attach(MINE, id, file, 800, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORE_EXPIRED);
    assert_int_equal(store_vector_store_modify(store, MINE, id.text, &change, &row, &err),
                     ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORE_EXPIRED);
    assert_int_equal(store_vector_stores_check(store, MINE, ids, 1, &bad, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORE_EXPIRED);
    assert_int_equal(store_vector_stores_touch(store, MINE, ids, 1, NULL), ERR_OK);
    assert_int_equal(searched(id, NULL, NULL), 0);
    assert_int_equal(store_vector_stores_expire(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_counters(id, "0 0 0 0 bytes 0");
    assert_int_equal(store_vector_stores_expire(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    assert_nothing_orphaned();
    assert_int_equal(store_vector_store_get(store, MINE, id.text, &row, NULL), ERR_OK);
    assert_true(row.expired);
    vector_store_row_clear(&row);
}

TEST(a_use_puts_off_the_end)
{
    struct sample_id id = sample_store(MINE);
    const char *ids[] = {id.text};

    pg_fixture_ask(
        "UPDATE vector_stores SET expires_days = 1, last_active_at = last_active_at -"
        " 3600000000, expires_at = last_active_at WHERE id = '%s'",
        id.text);
    pg_fixture_ask("UPDATE vector_stores SET expires_at = last_active_at + 86400000000"
                   " WHERE id = '%s'",
                   id.text);
    assert_int_equal(store_vector_stores_touch(store, MINE, ids, 1, NULL), ERR_OK);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM vector_stores WHERE id = '%s' AND expires_at ="
                         " last_active_at + 86400000000 AND last_active_at > 1000000 *"
                         " extract(epoch FROM clock_timestamp() - interval '30 s')",
                         id.text),
        1);
}

static void assert_page(struct sample_id id, const struct page *page, const char *status,
                        size_t expected, bool expected_more, struct sample_id first)
{
    const struct store_file_filter filter = {.store_id = id.text, .status = status};
    struct store_file_row *rows;
    size_t count;
    bool more;

    assert_int_equal(
        store_store_file_list(store, MINE, &filter, page, &rows, &count, &more, NULL), ERR_OK);
    assert_int_equal(count, expected);
    assert_int_equal(more, expected_more);
    if (count)
        assert_string_equal(rows[0].file_id, first.text);
    store_file_rows_free(rows, count);
}

TEST(lists_go_by_the_time_of_attaching_also_behind_a_file_that_is_gone)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id files[4];
    struct page page = {.limit = 2};
    const struct store_file_filter filter = {.store_id = id.text};
    struct store_file_row *rows;
    size_t count;
    bool more;
    struct err err;

    for (size_t i = 0; i < 4; i++)
        files[i] = sample_file(MINE);
    for (size_t i = 4; i-- > 0;) /* not in the order of their ids */
        attach(MINE, id, files[i]);
    assert_page(id, &page, NULL, 2, true, files[0]);
    assert_page(id, &page, "in_progress", 2, true, files[0]);
    assert_page(id, &page, "completed", 0, false, files[0]);
    memcpy(page.after, files[1].text, ID_SIZE);
    assert_page(id, &page, NULL, 2, false, files[2]);
    assert_int_equal(store_store_file_delete(store, MINE, id.text, files[1].text, NULL),
                     ERR_OK);
    assert_page(id, &page, NULL, 2, false, files[2]);
    page.ascending = true;
    assert_page(id, &page, NULL, 1, false, files[0]);
    page.after[0] = '\0';
    memcpy(page.before, files[0].text, ID_SIZE);
    assert_page(id, &page, NULL, 2, false, files[3]);
    snprintf(page.before, sizeof(page.before), "file-none");
    assert_int_equal(
        store_store_file_list(store, MINE, &filter, &page, &rows, &count, &more, &err),
        ERR_INVALID);
    assert_string_equal(err.place, "before");
    publish_all();
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}

TEST(a_store_has_no_more_files_than_it_may)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    struct err err;

    pg_fixture_ask("UPDATE vector_stores SET completed = 10000 WHERE id = '%s'", id.text);
    assert_int_equal(try_attach(MINE, id, file, 800, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_TOO_MANY_FILES);
    pg_fixture_ask("UPDATE vector_stores SET completed = 9999 WHERE id = '%s'", id.text);
    assert_int_equal(try_attach(MINE, id, file, 800, NULL), ERR_OK);
    assert_int_equal(try_attach(MINE, id, file, 800, NULL), ERR_OK); /* it has it */
    pg_fixture_ask("UPDATE vector_stores SET completed = 0 WHERE id = '%s'", id.text);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    publish_all();
}

TEST(attributes_are_kept_replaced_and_asked_for)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);
    struct store_file_row row;

    attach(MINE, id, file);
    publish_all();
    assert_int_equal(store_store_file_modify(store, MINE, id.text, file.text,
                                             "{\"year\": 2026, \"lang\": \"zh\"}", &row, NULL),
                     ERR_OK);
    assert_string_equal(row.attributes, "{\"lang\": \"zh\", \"year\": 2026}");
    store_file_row_clear(&row);
    attach(MINE, id, file); /* without attributes: those that it has */
    struct filter filter = {.type = FILTER_EQ, .key = mem_strdup("year")};

    filter.value = json_real(2026.0);
    assert_int_equal(searched(id, &filter, NULL), 1);
    filter.type = FILTER_GT;
    assert_int_equal(searched(id, &filter, NULL), 0);
    filter_clear(&filter);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}

/* ---- Anything, in any order ---- */

enum { STORES = 4, FILES = 12 };

struct zoo {
    struct sample_id stores[STORES], files[FILES];
    struct file_batch_row batch;
    unsigned random;
};

static unsigned next_random(struct zoo *zoo, unsigned below)
{
    zoo->random = zoo->random * 1103515245 + 12345;
    return (zoo->random >> 16) % below;
}

static void do_anything(struct zoo *zoo)
{
    struct sample_id *id = &zoo->stores[next_random(zoo, STORES)];
    struct sample_id *file = &zoo->files[next_random(zoo, FILES)];
    struct document_work work;
    bool found = false;
    enum err_code rc = ERR_OK;

    switch (next_random(zoo, 12)) {
    case 0:
    case 1:
    case 2: rc = try_attach(MINE, *id, *file, 800, NULL); break;
    case 3: rc = try_attach(MINE, *id, *file, 200, NULL); break;
    case 4: zoo->batch = batch_of(*id, zoo->files, 5); break;
    case 5:
        rc = store_file_batch_cancel(store, MINE, zoo->batch.store_id, zoo->batch.id,
                                     &zoo->batch, NULL);
        break;
    case 6: rc = store_store_file_delete(store, MINE, id->text, file->text, NULL); break;
    case 7:
        assert_int_equal(store_vector_store_delete(store, MINE, id->text, NULL), ERR_OK);
        *id = sample_store(MINE);
        break;
    case 8:
        assert_int_equal(store_file_delete(store, MINE, file->text, NULL), ERR_OK);
        *file = sample_file(MINE);
        break;
    default:
        assert_int_equal(store_document_claim(store, &work, &found, NULL), ERR_OK);
        if (!found)
            return;
        rc = next_random(zoo, 3)
                 ? publish(&work, "text", NULL)
                 : store_document_fail(store, &work, "invalid_file", "No.", NULL);
        document_work_clear(&work);
    }
    assert_true(rc == ERR_OK || rc == ERR_NOT_FOUND);
}

TEST(counters_are_right_after_anything)
{
    struct zoo zoo = {.random = 7};

    for (size_t i = 0; i < STORES; i++)
        zoo.stores[i] = sample_store(MINE);
    for (size_t i = 0; i < FILES; i++)
        zoo.files[i] = sample_file(MINE);
    zoo.batch = batch_of(zoo.stores[0], zoo.files, 3);
    for (int i = 0; i < 2000; i++)
        do_anything(&zoo);
    publish_all();
    for (size_t i = 0; i < STORES; i++)
        assert_counters(zoo.stores[i], pg_fixture_ask("SELECT in_progress || ' ' || completed"
                                                      " || ' ' || failed || ' ' || cancelled ||"
                                                      " ' bytes ' || usage_bytes FROM"
                                                      " vector_stores WHERE id = '%s'",
                                                      zoo.stores[i].text));
    assert_int_equal(
        pg_fixture_count("SELECT sum(in_progress) FROM vector_stores WHERE project_id ="
                         " 'proj_stores'"),
        0);
    assert_nothing_orphaned();
    for (size_t i = 0; i < STORES; i++)
        assert_int_equal(store_vector_store_delete(store, MINE, zoo.stores[i].text, NULL),
                         ERR_OK);
    assert_nothing_orphaned();
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM vector_store_files"), 0);
}

/* ---- Files in progress ---- */

static bool is_busy(const char *project, struct sample_id id)
{
    const char *projects[] = {project, project};
    const char *ids[] = {"vs_none", id.text};
    bool busy[] = {true, true};

    assert_int_equal(store_vector_stores_busy(store, projects, ids, 2, busy, NULL), ERR_OK);
    assert_false(busy[0]);
    return busy[1];
}

TEST(a_store_is_busy_while_a_file_is_in_progress)
{
    struct sample_id id = sample_store(MINE);

    assert_false(is_busy("proj_stores", id));
    attach(MINE, id, sample_file(MINE));
    assert_true(is_busy("proj_stores", id));
    assert_false(is_busy("proj_others", id));
    publish_all();
    assert_false(is_busy("proj_stores", id));
    attach(MINE, id, sample_file(MINE));
    pg_fixture_ask("UPDATE vector_stores SET expires_at = 2 WHERE id = '%s'", id.text);
    assert_false(is_busy("proj_stores", id));
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}

static void count_files(void *arg, const struct wakeup *wakeup)
{
    *(atomic_int *)arg += wakeup->kind == WAKEUP_FILES;
}

TEST(a_file_that_ends_or_leaves_is_announced)
{
    struct sample_id id = sample_store(MINE);
    struct sample_id files[3] = {sample_file(MINE), sample_file(MINE), sample_file(MINE)};
    struct document_work work;
    atomic_int announced = 0;

    assert_int_equal(store_wakeups_start(store, count_files, &announced, NULL), ERR_OK);
    attach(MINE, id, files[0]);
    assert_int_equal(announced, 0);
    publish_all();
    assert_int_equal(announced, 1);
    attach(MINE, id, files[1]);
    work = claimed();
    assert_int_equal(store_document_fail(store, &work, "invalid_file", "", NULL), ERR_OK);
    document_work_clear(&work);
    assert_int_equal(announced, 2);
    attach(MINE, id, files[2]);
    assert_int_equal(store_store_file_delete(store, MINE, id.text, files[2].text, NULL),
                     ERR_OK);
    assert_int_equal(announced, 3);
    assert_int_equal(store_file_delete(store, MINE, files[1].text, NULL), ERR_OK);
    assert_int_equal(announced, 4);
    assert_int_equal(store_vector_store_delete(store, MINE, id.text, NULL), ERR_OK);
    assert_int_equal(announced, 5);
    store_wakeups_stop(store);
    assert_nothing_orphaned();
}

#ifdef RUNNEL_FAULTS
TEST(a_statement_that_fails_attaches_nothing)
{
    static const char *const points[] = {"store_files_lock",        "store_files_documents",
                                         "store_files_use",         "store_files_put",
                                         "store_file_batch_create", "store.commit"};
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        const struct store_file_new new_file = {
            .file_id = file.text, .chunk_tokens = 800, .overlap_tokens = 400};
        struct file_batch_row batch = {0};

        id_make(batch.id, "vsfb_");
        memcpy(batch.store_id, id.text, sizeof(id.text));
        fault_arm(points[i], 1);
        assert_int_not_equal(
            store_file_batch_create(store, MINE, &no_key, &new_file, 1, &batch, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_counters(id, "0 0 0 0 bytes 0");
        assert_int_equal(pg_fixture_count("SELECT count(*) FROM documents"), 0);
        assert_int_equal(pg_fixture_count("SELECT count(*) FROM file_batches"), 0);
    }
}

TEST(a_statement_that_fails_removes_nothing)
{
    static const char *const points[] = {
        "vector_store_lock",  "store_vector_store_empty", "store_vector_store_delete",
        "store_files_stores", "store_files_forget",       "store.commit"};
    struct sample_id id = sample_store(MINE);
    struct sample_id file = sample_file(MINE);

    attach(MINE, id, file);
    publish_all();
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        fault_arm(points[i], 1);
        assert_int_not_equal(i == 3 || i == 4
                                 ? store_file_delete(store, MINE, file.text, NULL)
                                 : store_vector_store_delete(store, MINE, id.text, NULL),
                             ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_counters(id, "0 1 0 0 bytes 10");
        assert_nothing_orphaned();
        assert_int_equal(pg_fixture_count("SELECT count(*) FROM chunks"), 1);
    }
    assert_int_equal(store_file_delete(store, MINE, file.text, NULL), ERR_OK);
    assert_nothing_orphaned();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_read_as_it_was_made),
        cmocka_unit_test(a_repeated_request_makes_one_store),
        cmocka_unit_test(a_store_of_another_project_is_unknown),
        cmocka_unit_test(a_file_in_two_stores_is_one_document),
        cmocka_unit_test(with_another_chunking_a_file_is_searched_as_before_until_it_is_ready),
        cmocka_unit_test(a_failed_file_is_tried_anew_when_it_is_attached_again),
        cmocka_unit_test(cancelling_a_batch_ends_what_is_in_progress_and_leaves_the_rest),
        cmocka_unit_test(a_deleted_file_leaves_all_stores),
        cmocka_unit_test(an_expired_store_has_no_files_and_takes_none),
        cmocka_unit_test(a_use_puts_off_the_end),
        cmocka_unit_test(lists_go_by_the_time_of_attaching_also_behind_a_file_that_is_gone),
        cmocka_unit_test(a_store_has_no_more_files_than_it_may),
        cmocka_unit_test(attributes_are_kept_replaced_and_asked_for),
        cmocka_unit_test(counters_are_right_after_anything),
        cmocka_unit_test(a_store_is_busy_while_a_file_is_in_progress),
        cmocka_unit_test(a_file_that_ends_or_leaves_is_announced),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_attaches_nothing),
        cmocka_unit_test(a_statement_that_fails_removes_nothing),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
