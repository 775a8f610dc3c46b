/*
 * Uploads as rows: they end once, their parts let go of their blobs, and the project's bytes are right, also
 * when requests come at once.
 */

#include "core/store/tables/files/uploads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/tables/files/blobs.h"
#include "core/store/tables/files/files.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_uploads")
#define THEIRS TENANT_OF("proj_others")

static const struct idempotency no_key = {.key = ""};

static void make_blob(uint64_t bytes, char ret_id[ID_SIZE])
{
    struct blob_row blob = {.place = BLOB_DATABASE, .bytes = bytes};

    id_make(blob.id, "blob_");
    assert_int_equal(store_blob_begin(store, MINE, &blob, NULL), ERR_OK);
    assert_int_equal(store_blob_written(store, MINE, &blob, NULL), ERR_OK);
    memcpy(ret_id, blob.id, ID_SIZE);
}

static struct upload_row sample(uint64_t bytes)
{
    struct upload_row row = {.filename = mem_strdup("big.jsonl"),
                             .purpose = mem_strdup("user_data"),
                             .mime = mem_strdup("pdf"),
                             .bytes = bytes,
                             .status = UPLOAD_PENDING,
                             .created_at = clock_wall_us()};

    id_make(row.id, "upload_");
    row.expires_at = row.created_at + UPLOAD_SECONDS * US_PER_SECOND;
    return row;
}

static struct upload_row made(uint64_t bytes)
{
    struct upload_row row = sample(bytes);

    assert_int_equal(store_upload_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
    return row;
}

static struct part_row part_of(const char *upload, uint64_t bytes)
{
    struct part_row part = {.bytes = bytes, .created_at = clock_wall_us()};

    id_make(part.id, "part_");
    memcpy(part.upload_id, upload, strlen(upload) + 1);
    make_blob(bytes, part.blob_id);
    return part;
}

static struct part_row added(const char *upload, uint64_t bytes)
{
    struct part_row part = part_of(upload, bytes);

    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &part, NULL), ERR_OK);
    return part;
}

static struct file_row file_of(uint64_t bytes)
{
    struct file_row file = {.filename = mem_strdup("big.jsonl"),
                            .purpose = mem_strdup("user_data"),
                            .bytes = bytes,
                            .created_at = clock_wall_us()};

    id_make(file.id, "file-");
    make_blob(bytes, file.blob_id);
    return file;
}

/* "status parts holders bytes": of the upload, of all blobs, and of the project. */
static void assert_state(const char *upload, const char *expected)
{
    assert_string_equal(
        pg_fixture_ask("SELECT (SELECT status FROM uploads WHERE id = '%s') || ' ' ||"
                       " (SELECT count(*) FROM upload_parts WHERE upload_id = '%s') || ' ' ||"
                       " (SELECT coalesce(sum(holders), 0) FROM blobs) || ' ' ||"
                       " coalesce((SELECT bytes FROM storage_use WHERE project_id ="
                       " 'proj_uploads'), 0)",
                       upload, upload),
        expected);
}

static void age(const char *upload, int64_t seconds)
{
    pg_fixture_ask("UPDATE uploads SET expires_at = expires_at - %lld WHERE id = '%s'"
                   " RETURNING 1",
                   (long long)seconds * US_PER_SECOND, upload);
}

static void delete_file(struct file_row *file)
{
    assert_int_equal(store_file_delete(store, MINE, file->id, NULL), ERR_OK);
    file_row_clear(file);
}

static void cancel(struct upload_row *row)
{
    struct upload_row now;

    assert_int_equal(store_upload_cancel(store, MINE, row->id, &now, NULL), ERR_OK);
    upload_row_clear(&now);
    upload_row_clear(row);
}

TEST(an_upload_is_read_as_it_was_made)
{
    struct upload_row row = sample(13);
    struct upload_row read;

    row.file_seconds = 3600;
    assert_int_equal(store_upload_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
    added(row.id, 6);
    assert_int_equal(store_upload_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_string_equal(read.id, row.id);
    assert_string_equal(read.filename, "big.jsonl");
    assert_string_equal(read.purpose, "user_data");
    assert_string_equal(read.mime, "pdf");
    assert_int_equal(read.bytes, 13);
    assert_int_equal(read.in_parts, 6);
    assert_int_equal(read.status, UPLOAD_PENDING);
    assert_int_equal(read.file_seconds, 3600);
    assert_int_equal(read.created_at, row.created_at);
    assert_int_equal(read.expires_at, row.expires_at);
    assert_null(read.part_ids);
    assert_string_equal(read.file_id, "");
    upload_row_clear(&read);
    assert_state(row.id, "pending 1 1 13");
    cancel(&row);
}

TEST(an_upload_of_another_project_is_unknown)
{
    struct upload_row row = made(13);
    struct part_row part = part_of(row.id, 1);
    struct file_row file = file_of(13);
    struct part_row *parts;
    struct upload_row read;
    size_t count;
    struct err err;

    added(row.id, 6);
    assert_int_equal(store_upload_get(store, THEIRS, row.id, &read, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "No upload found with id 'upload_"));
    assert_int_equal(store_upload_part_add(store, THEIRS, &no_key, &part, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_upload_complete(store, THEIRS, row.id, "[]", &file, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_upload_cancel(store, THEIRS, row.id, &read, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_upload_parts(store, THEIRS, row.id, &parts, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    free(parts);
    assert_state(row.id, "pending 1 1 13");
    file_row_clear(&file);
    cancel(&row);
}

TEST(parts_have_no_more_bytes_than_the_upload)
{
    struct upload_row row = made(13);
    struct part_row part = part_of(row.id, 2);
    struct part_row huge = part_of(row.id, UINT64_MAX >> 1);
    struct part_row *parts;
    size_t count;
    struct err err;

    added(row.id, 12);
    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &part, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_UPLOAD_TOO_LARGE);
    assert_string_equal(err.text,
                        "The parts would have more bytes than the upload was made for (13).");
    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &huge, &err), ERR_INVALID);
    assert_state(row.id, "pending 1 1 13");
    added(row.id, 1);
    assert_int_equal(store_upload_parts(store, MINE, row.id, &parts, &count, NULL), ERR_OK);
    assert_int_equal(count, 2);
    assert_int_equal(parts[0].bytes, 12);
    assert_int_equal(parts[1].bytes, 1);
    free(parts);
    cancel(&row);
}

TEST(an_upload_has_no_more_parts_than_it_may)
{
    struct upload_row row = made(20000);
    struct part_row part = part_of(row.id, 1);
    struct err err;

    pg_fixture_ask("UPDATE uploads SET part_count = %zu WHERE id = '%s' RETURNING 1",
                   UPLOAD_PARTS_LIMIT - 1, row.id);
    added(row.id, 1);
    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &part, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_LIST_TOO_LONG);
    cancel(&row);
}

TEST(a_completed_upload_is_a_file_and_its_parts_are_gone)
{
    struct upload_row row = made(13);
    struct file_row file = file_of(13);
    struct file_row again = file_of(13);
    struct file_row other = file_of(13);
    struct part_row part = added(row.id, 13);
    struct part_row late = part_of(row.id, 1);
    struct upload_row read;
    struct err err;

    assert_int_equal(store_upload_complete(store, MINE, row.id, "[\"a\"]", &file, NULL),
                     ERR_OK);
    assert_state(row.id, "completed 0 1 13");
    assert_string_equal(
        pg_fixture_ask("SELECT holders FROM blobs WHERE id = '%s'", part.blob_id), "0");
    assert_int_equal(store_upload_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_string_equal(read.file_id, file.id);
    upload_row_clear(&read);

    /* The same again, and another. */
    assert_int_equal(store_upload_complete(store, MINE, row.id, "[\"a\"]", &again, NULL),
                     ERR_OK);
    assert_string_equal(again.id, file.id);
    assert_string_equal(again.blob_id, file.blob_id);
    assert_int_equal(store_upload_complete(store, MINE, row.id, "[\"b\"]", &other, &err),
                     ERR_CONFLICT);
    assert_int_equal(err.reason, REASON_UPLOAD_ENDED);
    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &late, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, " is completed; no parts can be added to it."));
    assert_int_equal(store_upload_cancel(store, MINE, row.id, &read, &err), ERR_CONFLICT);
    assert_state(row.id, "completed 0 1 13");

    /* Its file is deleted; the upload remains what it was. */
    delete_file(&file);
    assert_int_equal(store_upload_complete(store, MINE, row.id, "[\"a\"]", &again, NULL),
                     ERR_OK);
    assert_string_equal(again.id, "");
    assert_state(row.id, "completed 0 0 0");
    file_row_clear(&other);
    file_row_clear(&again);
    upload_row_clear(&row);
}

TEST(a_cancelled_upload_gives_everything_back)
{
    struct upload_row row = made(13);
    struct part_row late = part_of(row.id, 1);
    struct file_row file = file_of(13);
    struct upload_row read;
    struct err err;

    added(row.id, 6);
    added(row.id, 7);
    assert_state(row.id, "pending 2 2 13");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_upload_cancel(store, MINE, row.id, &read, NULL), ERR_OK);
        assert_int_equal(read.status, UPLOAD_CANCELLED);
        upload_row_clear(&read);
        assert_state(row.id, "cancelled 0 0 0");
    }
    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &late, &err), ERR_CONFLICT);
    assert_int_equal(store_upload_complete(store, MINE, row.id, "[]", &file, &err),
                     ERR_CONFLICT);
    assert_non_null(strstr(err.text, " is cancelled; it cannot be completed."));
    assert_state(row.id, "cancelled 0 0 0");
    file_row_clear(&file);
    upload_row_clear(&row);
}

TEST(an_upload_counts_from_its_beginning)
{
    struct upload_row row = sample(60);
    struct upload_row more = sample(41);
    struct err err;

    assert_int_equal(store_upload_create(store, MINE, &no_key, 100, &row, NULL), ERR_OK);
    assert_int_equal(store_upload_create(store, MINE, &no_key, 100, &more, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORAGE_QUOTA);
    assert_state(row.id, "pending 0 0 60");
    cancel(&row);
    upload_row_clear(&more);
}

TEST(a_request_that_is_repeated_under_its_key_makes_one_upload_and_one_part)
{
    const struct idempotency key = {.key = "upload-key", .hash = "one"};
    const struct idempotency part_key = {.key = "part-key", .hash = "two"};
    struct upload_row row = sample(13);
    struct upload_row again = sample(13);
    struct part_row first, second;

    assert_int_equal(store_upload_create(store, MINE, &key, 0, &row, NULL), ERR_OK);
    assert_int_equal(store_upload_create(store, MINE, &key, 0, &again, NULL), ERR_OK);
    assert_string_equal(again.id, row.id);
    first = part_of(row.id, 13);
    second = part_of(row.id, 13);
    assert_int_equal(store_upload_part_add(store, MINE, &part_key, &first, NULL), ERR_OK);
    assert_int_equal(store_upload_part_add(store, MINE, &part_key, &second, NULL), ERR_OK);
    assert_string_equal(second.id, first.id);
    assert_string_equal(second.blob_id, first.blob_id);
    assert_state(row.id, "pending 1 1 13");
    upload_row_clear(&again);
    cancel(&row);
}

TEST(an_upload_expires_at_once_and_gives_back_with_the_keeper)
{
    struct upload_row row = made(13);
    struct part_row late = part_of(row.id, 1);
    struct upload_row read;
    size_t count;
    struct err err;

    added(row.id, 6);
    age(row.id, UPLOAD_SECONDS + 1);
    assert_int_equal(store_upload_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_int_equal(read.status, UPLOAD_EXPIRED);
    upload_row_clear(&read);
    assert_int_equal(store_upload_part_add(store, MINE, &no_key, &late, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, " is expired; no parts can be added to it."));
    assert_int_equal(store_upload_cancel(store, MINE, row.id, &read, NULL), ERR_CONFLICT);

    /* A file that is being made of it may still be finished. */
    assert_int_equal(store_uploads_expire(store, 10, &count, NULL), ERR_OK);
    assert_state(row.id, "pending 1 1 13");
    age(row.id, UPLOAD_FINISH_SECONDS);
    assert_int_equal(store_uploads_expire(store, 10, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_state(row.id, "expired 0 0 0");

    age(row.id, UPLOAD_KEPT_SECONDS);
    assert_int_equal(store_uploads_expire(store, 10, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(store_upload_get(store, MINE, row.id, &read, NULL), ERR_NOT_FOUND);
    upload_row_clear(&row);
}

TEST(a_file_that_was_begun_in_time_is_finished)
{
    struct upload_row row = made(13);
    struct file_row file = file_of(13);

    added(row.id, 13);
    age(row.id, UPLOAD_SECONDS + 1);
    assert_int_equal(store_upload_complete(store, MINE, row.id, "[]", &file, NULL), ERR_OK);
    assert_state(row.id, "completed 0 1 13");
    delete_file(&file);
    upload_row_clear(&row);
}

/* ---- At once ---- */

struct racer {
    pthread_t thread;
    const char *upload;
    enum err_code added, completed, cancelled;
};

static void *race(void *arg)
{
    struct racer *racer = arg;
    struct part_row part = part_of(racer->upload, 1);
    struct file_row file = file_of(4);
    struct upload_row row = {0};

    racer->added = store_upload_part_add(store, MINE, &no_key, &part, NULL);
    racer->completed = store_upload_complete(store, MINE, racer->upload, "[]", &file, NULL);
    racer->cancelled = store_upload_cancel(store, MINE, racer->upload, &row, NULL);
    upload_row_clear(&row);
    file_row_clear(&file);
    store_thread_end(store);
    return NULL;
}

TEST(an_upload_ends_once_when_requests_come_at_once)
{
    for (int round = 0; round < 20; round++) {
        struct upload_row row = made(4);
        struct upload_row read;
        struct racer racers[8] = {0};
        size_t parts = 0;

        for (size_t i = 0; i < COUNT_OF(racers); i++) {
            racers[i].upload = row.id;
            assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
        }
        for (size_t i = 0; i < COUNT_OF(racers); i++) {
            pthread_join(racers[i].thread, NULL);
            parts += racers[i].added == ERR_OK;
            assert_int_equal(racers[i].completed, ERR_OK);
            assert_int_equal(racers[i].cancelled, ERR_CONFLICT);
        }
        assert_in_range(parts, 1, 4);
        assert_state(row.id, "completed 0 1 4");
        assert_int_equal(store_upload_get(store, MINE, row.id, &read, NULL), ERR_OK);
        assert_int_equal(store_file_delete(store, MINE, read.file_id, NULL), ERR_OK);
        assert_state(row.id, "completed 0 0 0");
        upload_row_clear(&read);
        upload_row_clear(&row);
    }
}

#ifdef RUNNEL_FAULTS
static enum err_code try_create(const char *upload)
{
    struct upload_row row = sample(13);
    enum err_code rc = store_upload_create(store, MINE, &no_key, 0, &row, NULL);

    (void)upload;
    upload_row_clear(&row);
    return rc;
}

static enum err_code try_part(const char *upload)
{
    struct part_row part = part_of(upload, 1);

    return store_upload_part_add(store, MINE, &no_key, &part, NULL);
}

static enum err_code try_complete(const char *upload)
{
    struct file_row file = file_of(13);
    enum err_code rc = store_upload_complete(store, MINE, upload, "[]", &file, NULL);

    file_row_clear(&file);
    return rc;
}

static enum err_code try_cancel(const char *upload)
{
    struct upload_row row = {0};
    enum err_code rc = store_upload_cancel(store, MINE, upload, &row, NULL);

    upload_row_clear(&row);
    return rc;
}

TEST(a_statement_that_fails_leaves_nothing_half_done)
{
    static const struct {
        const char *point;
        enum err_code (*call)(const char *upload);
    } cases[] = {
        {"store_upload_create", try_create},  {"store_file_count", try_create},
        {"store.commit", try_create},         {"store_upload_lock", try_part},
        {"store_file_hold", try_part},        {"store_upload_part_add", try_part},
        {"store.commit", try_part},           {"store_upload_lock", try_complete},
        {"store_file_hold", try_complete},    {"store_file_create", try_complete},
        {"store_upload_end", try_complete},   {"store_upload_release", try_complete},
        {"store.commit", try_complete},       {"store_upload_end", try_cancel},
        {"store_upload_release", try_cancel}, {"store_file_count", try_cancel},
        {"store.commit", try_cancel},
    };
    struct upload_row row = made(13);

    added(row.id, 12);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fault_arm(cases[i].point, 1);
        assert_int_not_equal(cases[i].call(row.id), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_state(row.id, "pending 1 1 13");
    }
    cancel(&row);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upload_is_read_as_it_was_made),
        cmocka_unit_test(an_upload_of_another_project_is_unknown),
        cmocka_unit_test(parts_have_no_more_bytes_than_the_upload),
        cmocka_unit_test(an_upload_has_no_more_parts_than_it_may),
        cmocka_unit_test(a_completed_upload_is_a_file_and_its_parts_are_gone),
        cmocka_unit_test(a_cancelled_upload_gives_everything_back),
        cmocka_unit_test(an_upload_counts_from_its_beginning),
        cmocka_unit_test(
            a_request_that_is_repeated_under_its_key_makes_one_upload_and_one_part),
        cmocka_unit_test(an_upload_expires_at_once_and_gives_back_with_the_keeper),
        cmocka_unit_test(a_file_that_was_begun_in_time_is_finished),
        cmocka_unit_test(an_upload_ends_once_when_requests_come_at_once),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_leaves_nothing_half_done),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
