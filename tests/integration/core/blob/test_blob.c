/*
 * Bytes under an id, in all places: what was written comes back, and nothing else is ever left.
 */

#include "core/blob/blob.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/net/s3_client.h"
#include "core/store/tables/files/blobs.h"
#include "tests/integration/core/blob/s3_fixture.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/remove_tree.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE    TENANT_OF("proj_blobs")
#define THEIRS  TENANT_OF("proj_others")
#define HOUR_US ((int64_t)BLOB_GRACE_SECONDS * 1000000)

static char dir[] = "/tmp/runnel-blobs-XXXXXX";
static struct blobs *blobs[3]; /* by place */
static const enum blob_place places[] = {BLOB_DIR, BLOB_DATABASE, BLOB_S3};

#define PLACES COUNT_OF(places)

/* Larger than a part of an upload to S3. */
#define LARGE (((size_t)8 << 20) + 5)

static struct blobs *opened(const char *path, enum blob_place place)
{
    const struct s3_options s3 = s3_fixture_options();
    const struct blobs_options options = {
        .store = store, .dir = path, .place = place, .s3 = &s3};
    struct blobs *made;
    struct err err;

    if (blobs_open(&options, &made, &err))
        fail_msg("%s", err.text);
    return made;
}

static int set_up(void **state)
{
    if (open_store(state) || !mkdtemp(dir) || !s3_fixture_start())
        return -1;
    for (size_t i = 0; i < PLACES; i++)
        blobs[places[i]] = opened(dir, places[i]);
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < PLACES; i++)
        blobs_free(blobs[places[i]]);
    s3_fixture_stop();
    (void)remove_tree(dir);
    return close_store(state);
}

/* ---- What there is ---- */

static size_t file_count;

static int count_file(const char *path, const struct stat *stat, int type, struct FTW *at)
{
    (void)stat;
    if (type == FTW_F && strcmp(path + at->base, "home") != 0)
        file_count++;
    return 0;
}

/* "rows pages files objects uploads" */
static char *left(void)
{
    const char *rows = pg_fixture_ask("SELECT (SELECT count(*) FROM blobs) || ' ' ||"
                                      " (SELECT count(*) FROM blob_pages)");

    file_count = 0;
    nftw(dir, count_file, 8, FTW_PHYS);
    return mem_printf("%s %zu %s", rows, file_count, s3_fixture_ask("left"));
}

static void assert_left(const char *expected)
{
    AUTO_FREE char *there = left();

    assert_string_equal(there, expected);
}

static size_t swept(struct blobs *which, int64_t grace_us)
{
    size_t count = 0;
    struct err err;

    if (blobs_sweep(which, grace_us, 100, &count, &err))
        fail_msg("%s", err.text);
    return count;
}

/* ---- Writing and reading ---- */

static char *sample(size_t size)
{
    char *bytes = mem_zeroed(size + 1, 1);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    return bytes;
}

static enum err_code write_all(struct blobs *to, const char *bytes, size_t size, size_t piece,
                               struct blob_row *ret_row, struct err *err)
{
    struct blob_write *write = NULL;
    enum err_code rc = blob_write_begin(to, MINE, &write, err);

    for (size_t at = 0; !rc && at < size; at += piece)
        rc = blob_write_add(write, bytes + at, size - at < piece ? size - at : piece, err);
    if (!rc)
        rc = blob_write_finish(write, ret_row, err);
    blob_write_free(write);
    return rc;
}

static struct blob_row written(struct blobs *to, const char *bytes, size_t size, size_t piece)
{
    struct blob_row row = {0};
    struct err err;

    if (write_all(to, bytes, size, piece, &row, &err))
        fail_msg("%s", err.text);
    return row;
}

static void assert_range(struct blob_read *read, const char *bytes, size_t size, size_t at,
                         size_t wanted)
{
    AUTO_FREE char *got = mem_zeroed(wanted + 1, 1);
    size_t expected = at >= size ? 0 : size - at < wanted ? size - at : wanted;
    size_t count = 12345;

    assert_int_equal(blob_read_at(read, at, got, wanted, &count, NULL), ERR_OK);
    assert_int_equal(count, expected);
    if (count)
        assert_memory_equal(got, bytes + at, count);
}

TEST(bytes_come_back_as_they_were_written)
{
    static const size_t sizes[] = {
        0, 1, BLOB_PAGE - 1, BLOB_PAGE, BLOB_PAGE + 1, 3 * BLOB_PAGE + 77, LARGE - 5, LARGE};

    for (size_t i = 0; i < PLACES * COUNT_OF(sizes); i++) {
        struct blobs *to = blobs[places[i % PLACES]];
        size_t size = sizes[i / PLACES];
        AUTO_FREE char *bytes = sample(size);
        struct blob_row row = written(to, bytes, size, 70001);
        struct blob_read *read;
        struct sha256_ctx context;
        uint8_t hash[BLOB_HASH_SIZE];

        sha256_init(&context);
        sha256_update(&context, size, (const uint8_t *)bytes);
        sha256_digest(&context, sizeof(hash), hash);
        assert_int_equal(row.bytes, size);
        assert_memory_equal(row.sha256, hash, sizeof(hash));
        assert_int_equal(blob_read_open(to, MINE, row.id, &read, NULL), ERR_OK);
        assert_int_equal(blob_read_row(read)->bytes, size);
        assert_memory_equal(blob_read_row(read)->sha256, hash, sizeof(hash));
        assert_range(read, bytes, size, 0, size + 10);
        assert_range(read, bytes, size, size / 3, 1000);
        assert_range(read, bytes, size, BLOB_PAGE - 5, 10);
        assert_range(read, bytes, size, size, 1);
        assert_range(read, bytes, size, size + 5, 1);
        blob_read_free(read);
        assert_int_equal(blob_remove(to, MINE, row.id, NULL), ERR_OK);
        assert_left("0 0 0 0 0");
    }
}

TEST(old_bytes_are_read_where_they_are_when_new_ones_go_elsewhere)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct blob_row row = written(blobs[places[i]], "abc", 3, 3);
        struct blob_read *read;

        assert_int_equal(
            blob_read_open(blobs[places[(i + 1) % PLACES]], MINE, row.id, &read, NULL), ERR_OK);
        assert_range(read, "abc", 3, 0, 3);
        blob_read_free(read);
        assert_int_equal(blob_remove(blobs[places[(i + 1) % PLACES]], MINE, row.id, NULL),
                         ERR_OK);
    }
    assert_left("0 0 0 0 0");
}

TEST(another_project_neither_reads_nor_removes)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct blobs *to = blobs[places[i]];
        struct blob_row row = written(to, "abc", 3, 3);
        struct blob_read *read;

        assert_int_equal(blob_read_open(to, THEIRS, row.id, &read, NULL), ERR_NOT_FOUND);
        assert_int_equal(blob_remove(to, THEIRS, row.id, NULL), ERR_NOT_FOUND);
        assert_int_equal(blob_read_open(to, MINE, row.id, &read, NULL), ERR_OK);
        blob_read_free(read);
        assert_int_equal(blob_remove(to, MINE, row.id, NULL), ERR_OK);
    }
}

TEST(nothing_is_read_before_it_is_finished)
{
    struct blob_write *write;
    struct blob_read *read;
    AUTO_FREE char *id = NULL;

    assert_int_equal(blob_write_begin(blobs[BLOB_DIR], MINE, &write, NULL), ERR_OK);
    assert_int_equal(blob_write_add(write, "abc", 3, NULL), ERR_OK);
    id = mem_strdup(pg_fixture_ask("SELECT id FROM blobs"));
    assert_int_equal(blob_read_open(blobs[BLOB_DIR], MINE, id, &read, NULL), ERR_NOT_FOUND);
    blob_write_free(write);
    assert_left("0 0 0 0 0");
}

/* ---- Removing ---- */

/* What there is after the first LARGE bytes. */
static const char *const begun[] = {
    [BLOB_DIR] = "1 0 1 0 0",
    [BLOB_DATABASE] = "1 8 0 0 0",
    [BLOB_S3] = "1 0 0 0 1",
};

TEST(a_write_that_is_given_up_leaves_nothing)
{
    AUTO_FREE char *bytes = sample(LARGE);

    for (size_t i = 0; i < PLACES; i++) {
        struct blob_write *write;

        assert_int_equal(blob_write_begin(blobs[places[i]], MINE, &write, NULL), ERR_OK);
        assert_int_equal(blob_write_add(write, bytes, LARGE, NULL), ERR_OK);
        assert_left(begun[places[i]]);
        blob_write_free(write);
        assert_left("0 0 0 0 0");
    }
}

/* A crash: what is given up cannot even be doomed. */
TEST(what_a_crash_has_left_is_swept_after_the_grace_and_not_before)
{
    AUTO_FREE char *bytes = sample(LARGE);

    for (size_t i = 0; i < PLACES; i++) {
        struct blob_write *write;

        assert_int_equal(blob_write_begin(blobs[places[i]], MINE, &write, NULL), ERR_OK);
        assert_int_equal(blob_write_add(write, bytes, LARGE, NULL), ERR_OK);
        fault_arm("store_blob_doom", 1);
        blob_write_free(write);
        assert_true(fault_fired());
        fault_disarm();
        assert_int_equal(swept(blobs[BLOB_DIR], HOUR_US), 0);
        assert_left(begun[places[i]]);
        assert_int_equal(swept(blobs[BLOB_DIR], 0), 1);
        assert_left("0 0 0 0 0");
    }
}

TEST(what_is_held_is_not_removed)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct blob_row row = written(blobs[places[i]], "abc", 3, 3);

        pg_fixture_ask("UPDATE blobs SET holders = 1 WHERE id = '%s' RETURNING 1", row.id);
        assert_int_equal(swept(blobs[BLOB_DIR], 0), 0);
        assert_int_equal(blob_remove(blobs[BLOB_DIR], MINE, row.id, NULL), ERR_NOT_FOUND);
        pg_fixture_ask("UPDATE blobs SET holders = 0 WHERE id = '%s' RETURNING 1", row.id);
        assert_int_equal(swept(blobs[BLOB_DIR], 0), 1);
        assert_left("0 0 0 0 0");
    }
}

TEST(a_removal_that_failed_is_repeated_by_the_next_sweep)
{
    static const char *const points[][2] = {
        [BLOB_DIR] = {"blob.remove", "store_blob_forget"},
        [BLOB_DATABASE] = {"store_blob_pages_remove", "store_blob_forget"},
        [BLOB_S3] = {"s3.send", "store_blob_forget"},
    };

    for (size_t i = 0; i < PLACES * 2; i++) {
        struct blobs *to = blobs[places[i / 2]];
        struct blob_row row = written(to, "abc", 3, 3);
        struct blob_read *read;

        fault_arm(points[places[i / 2]][i % 2], 1);
        assert_int_not_equal(blob_remove(to, MINE, row.id, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        /* It cannot be read any more, whatever is left of it. */
        assert_int_equal(blob_read_open(to, MINE, row.id, &read, NULL), ERR_NOT_FOUND);
        assert_int_equal(swept(to, 0), 1);
        assert_left("0 0 0 0 0");
    }
}

TEST(a_writer_that_was_swept_adds_and_finishes_nothing)
{
    AUTO_FREE char *bytes = sample(BLOB_PAGE);

    for (size_t i = 0; i < PLACES; i++) {
        struct blob_write *write;
        struct blob_row row;

        assert_int_equal(blob_write_begin(blobs[places[i]], MINE, &write, NULL), ERR_OK);
        assert_int_equal(swept(blobs[BLOB_DIR], 0), 1);
        if (places[i] == BLOB_DATABASE)
            assert_int_equal(blob_write_add(write, bytes, BLOB_PAGE, NULL), ERR_NOT_FOUND);
        else
            assert_int_not_equal(blob_write_finish(write, &row, NULL), ERR_OK);
        blob_write_free(write);
        assert_left("0 0 0 0 0");
    }
}

/* ---- Failures ---- */

/* Each point fails at each of its visits, until the write succeeds. */
static void fail_everywhere(struct blobs *to, const char *point)
{
    AUTO_FREE char *bytes = sample(2 * BLOB_PAGE + 1);

    for (unsigned visit = 1;; visit++) {
        struct blob_row row;
        enum err_code rc;

        fault_arm(point, visit);
        rc = write_all(to, bytes, 2 * BLOB_PAGE + 1, BLOB_PAGE / 2, &row, NULL);
        if (!fault_fired()) {
            fault_disarm();
            assert_int_equal(rc, ERR_OK);
            assert_int_equal(blob_remove(to, MINE, row.id, NULL), ERR_OK);
            assert_true(visit > 1);
            break;
        }
        fault_disarm();
        assert_int_not_equal(rc, ERR_OK);
        swept(to, 0);
        assert_left("0 0 0 0 0");
    }
    assert_left("0 0 0 0 0");
}

TEST(a_write_that_fails_at_any_step_leaves_nothing)
{
    static const char *const of_dir[] = {"blob.begin", "blob.add", "blob.finish"};
    static const char *const of_all[] = {"store_blob_begin", "store_blob_written",
                                         "blob.durable"};

    for (size_t i = 0; i < COUNT_OF(of_dir); i++)
        fail_everywhere(blobs[BLOB_DIR], of_dir[i]);
    fail_everywhere(blobs[BLOB_DATABASE], "store_blob_page_write");
    for (size_t i = 0; i < COUNT_OF(of_all) * PLACES; i++)
        fail_everywhere(blobs[places[i % PLACES]], of_all[i / PLACES]);
}

TEST(a_full_disk_is_said_as_such)
{
    static const char *const points[] = {"blob.room", "blob.add", "blob.finish"};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct blob_row row;
        struct err err = {0};

        fault_arm(points[i], 1);
        assert_int_equal(write_all(blobs[BLOB_DIR], "abc", 3, 3, &row, &err), ERR_FULL);
        fault_disarm();
        assert_int_equal(err.reason, REASON_STORAGE_FULL);
        assert_string_equal(err.text, "The server has no disk space for this file.");
    }
    assert_left("0 0 0 0 0");
    assert_int_equal(blobs_have_room(blobs[BLOB_DIR], (uint64_t)1 << 62, NULL), ERR_FULL);
    assert_int_equal(blobs_have_room(blobs[BLOB_DIR], 1, NULL), ERR_OK);
    assert_int_equal(blobs_have_room(blobs[BLOB_DATABASE], (uint64_t)1 << 62, NULL), ERR_OK);
}

TEST(a_database_that_is_away_is_an_outage)
{
    static const char *const points[] = {"store_blob_begin", "store_blob_page_write",
                                         "store_blob_written"};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct blob_row row;

        fault_arm(points[i], 1);
        assert_int_equal(write_all(blobs[BLOB_DATABASE], "abc", 3, 3, &row, NULL), ERR_STORE);
        fault_disarm();
    }
    swept(blobs[BLOB_DATABASE], 0);
    assert_left("0 0 0 0 0");
}

TEST(bytes_that_are_missing_are_not_made_up)
{
    struct blob_row in_dir = written(blobs[BLOB_DIR], "abc", 3, 3);
    struct blob_row in_pages = written(blobs[BLOB_DATABASE], "abc", 3, 3);
    AUTO_FREE char *path =
        mem_printf("%s/%s/%s", dir, in_dir.id + strlen(in_dir.id) - 2, in_dir.id);
    struct blob_read *read;
    char bytes[3];
    size_t got;

    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(blob_read_open(blobs[BLOB_DIR], MINE, in_dir.id, &read, NULL),
                     ERR_INTERNAL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(blob_read_open(blobs[BLOB_DIR], MINE, in_dir.id, &read, NULL),
                     ERR_INTERNAL);
    pg_fixture_ask("UPDATE blob_pages SET bytes = 'ab' RETURNING 1");
    assert_int_equal(blob_read_open(blobs[BLOB_DIR], MINE, in_pages.id, &read, NULL), ERR_OK);
    assert_int_equal(blob_read_at(read, 0, bytes, 3, &got, NULL), ERR_INTERNAL);
    blob_read_free(read);
    assert_int_equal(swept(blobs[BLOB_DIR], 0), 2);
    assert_left("0 0 0 0 0");
}

/* ---- S3 ---- */

/* Each request of a large write fails in each way: most are asked again, and none leaves anything. */
TEST(a_write_to_s3_survives_what_passes_and_leaves_nothing_otherwise)
{
    static const char *const requests[] = {"begin", "part", "complete", "put",
                                           "abort", "list", "delete"};
    static const char *const ways[] = {"cut before",   "cut after", "cut within", "slow down",
                                       "error inside", "garbage",   "full",       "denied"};
    AUTO_FREE char *bytes = sample(LARGE);

    for (size_t i = 0; i < COUNT_OF(requests) * COUNT_OF(ways); i++) {
        const char *request = requests[i / COUNT_OF(ways)], *way = ways[i % COUNT_OF(ways)];
        size_t size = strcmp(request, "put") == 0 ? 100 : LARGE;
        AUTO_FREE char *fault = mem_printf("fail %s %s", request, way);
        struct blob_row row;
        struct err err = {0};
        enum err_code rc;

        s3_fixture_ask(fault);
        rc = write_all(blobs[BLOB_S3], bytes, size, BLOB_PAGE, &row, &err);
        if (!rc) {
            struct blob_read *read;

            assert_int_equal(blob_read_open(blobs[BLOB_S3], MINE, row.id, &read, NULL), ERR_OK);
            assert_range(read, bytes, size, 0, size);
            blob_read_free(read);
            rc = blob_remove(blobs[BLOB_S3], MINE, row.id, NULL);
        } else if (strcmp(way, "full") == 0) {
            assert_int_equal(rc, ERR_FULL);
        } else {
            assert_true(rc == ERR_UPSTREAM || rc == ERR_INTERNAL);
        }
        (void)swept(blobs[BLOB_S3], 0);
        (void)s3_fixture_ask("heal");
        (void)swept(blobs[BLOB_S3], 0);
        assert_left("0 0 0 0 0");
    }
}

TEST(what_passes_is_asked_again)
{
    static const char *const faults[] = {"fail part cut before",    "fail part cut after",
                                         "fail begin slow down",    "fail begin cut after",
                                         "fail complete cut after", "fail complete cut before"};
    AUTO_FREE char *bytes = sample(LARGE);

    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct blob_row row;

        s3_fixture_ask(faults[i]);
        row = written(blobs[BLOB_S3], bytes, LARGE, LARGE);
        /* Of two beginnings one is aborted. */
        assert_left("1 0 0 1 0");
        assert_int_equal(blob_remove(blobs[BLOB_S3], MINE, row.id, NULL), ERR_OK);
    }
    for (unsigned visit = 1; visit <= 3; visit++) {
        struct blob_row row;

        fault_arm("s3.receive", visit);
        row = written(blobs[BLOB_S3], bytes, LARGE, LARGE);
        assert_true(fault_fired());
        fault_disarm();
        assert_int_equal(blob_remove(blobs[BLOB_S3], MINE, row.id, NULL), ERR_OK);
        assert_left("0 0 0 0 0");
    }
}

TEST(a_read_of_s3_is_whole_or_an_error)
{
    static const struct {
        const char *fault;
        enum err_code rc;
    } cases[] = {
        {"fail get cut before", ERR_OK},   {"fail get cut within", ERR_OK},
        {"fail get slow down", ERR_OK},    {"fail get garbage", ERR_INTERNAL},
        {"fail get denied", ERR_INTERNAL}, {"fail get ignores range", ERR_INTERNAL},
    };
    struct blob_row row = written(blobs[BLOB_S3], "abcdefghij", 10, 10);
    struct blob_read *read;
    char bytes[10];
    size_t got;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s3_fixture_ask(cases[i].fault);
        assert_int_equal(blob_read_open(blobs[BLOB_S3], MINE, row.id, &read, NULL), ERR_OK);
        assert_int_equal(blob_read_at(read, 2, bytes, 8, &got, NULL), cases[i].rc);
        if (!cases[i].rc)
            assert_memory_equal(bytes, "cdefghij", 8);
        blob_read_free(read);
    }
    s3_fixture_ask("clear");
    assert_int_equal(blob_read_open(blobs[BLOB_S3], MINE, row.id, &read, NULL), ERR_OK);
    assert_int_equal(blob_read_at(read, 0, bytes, 10, &got, NULL), ERR_INTERNAL);
    blob_read_free(read);
    assert_int_equal(blob_remove(blobs[BLOB_S3], MINE, row.id, NULL), ERR_OK);
}

TEST(too_many_bytes_in_memory_are_refused)
{
    struct blob_row row;
    struct err err;

    fault_arm("s3.buffers", 1);
    assert_int_equal(write_all(blobs[BLOB_S3], "abc", 3, 3, &row, &err), ERR_LIMIT);
    fault_disarm();
    assert_int_equal(err.reason, REASON_BUSY);
    assert_left("0 0 0 0 0");
}

TEST(a_bucket_that_cannot_be_used_is_no_place)
{
    struct s3_options s3 = s3_fixture_options();
    struct blobs_options options = {.store = store, .dir = dir, .place = BLOB_S3, .s3 = &s3};
    static const struct {
        const char *bucket, *access_key, *secret_key, *endpoint, *says;
    } cases[] = {
        {"other", NULL, NULL, NULL, "NoSuchBucket"},
        {NULL, "AKIDOTHER", NULL, NULL, "InvalidAccessKeyId"},
        {NULL, NULL, "wrong", NULL, "SignatureDoesNotMatch"},
        {"a/b", NULL, NULL, NULL, "no name of a bucket"},
        {NULL, NULL, NULL, "ftp://127.0.0.1", "expected http:// or https://"},
        {NULL, NULL, NULL, "http://127.0.0.1/path", "without a path"},
        {NULL, NULL, "", NULL, "empty"},
    };
    struct blobs *made;
    struct err err;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s3 = s3_fixture_options();
        s3.bucket = cases[i].bucket ? cases[i].bucket : s3.bucket;
        s3.access_key = cases[i].access_key ? cases[i].access_key : s3.access_key;
        s3.secret_key = cases[i].secret_key ? cases[i].secret_key : s3.secret_key;
        s3.endpoint = cases[i].endpoint ? cases[i].endpoint : s3.endpoint;
        assert_int_not_equal(blobs_open(&options, &made, &err), ERR_OK);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(strstr(err.text, "secret/key"));
    }
    /* One that is away may come back. */
    s3 = s3_fixture_options();
    s3.endpoint = "http://127.0.0.1:1";
    assert_int_equal(blobs_open(&options, &made, &err), ERR_OK);
    blobs_free(made);
}

TEST(another_bucket_is_another_place)
{
    struct s3_options s3 = s3_fixture_options();
    struct blobs_options options = {.store = store, .dir = dir, .place = BLOB_DIR};
    struct blob_row row = written(blobs[BLOB_S3], "abc", 3, 3);
    struct blobs *other;
    struct blob_read *read;
    struct err err;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(blobs_open(&options, &other, &err), ERR_OK);
        assert_int_equal(blob_read_open(other, MINE, row.id, &read, &err), ERR_STORE);
        assert_int_equal(err.reason, REASON_ELSEWHERE);
        assert_int_equal(swept(other, 0), 0);
        blobs_free(other);
        s3.endpoint = "http://127.0.0.1:1";
        options.s3 = &s3;
    }
    assert_int_equal(swept(blobs[BLOB_DIR], 0), 1);
    assert_left("0 0 0 0 0");
}

/* ---- Several nodes ---- */

TEST(a_directory_keeps_its_id_and_another_one_has_another)
{
    AUTO_FREE char *other_dir = mem_printf("%s/other", dir);
    struct blobs *again = opened(dir, BLOB_DIR);
    struct blobs *other = opened(other_dir, BLOB_DIR);
    struct blob_row row = written(blobs[BLOB_DIR], "abc", 3, 3);
    struct blob_read *read;
    struct err err;

    assert_int_equal(blob_read_open(again, MINE, row.id, &read, NULL), ERR_OK);
    blob_read_free(read);
    assert_int_equal(blob_read_open(other, MINE, row.id, &read, &err), ERR_STORE);
    assert_int_equal(err.reason, REASON_ELSEWHERE);
    /* The other's keeper has nothing there that it could remove. */
    assert_int_equal(swept(other, 0), 0);
    assert_int_equal(swept(again, 0), 1);
    assert_left("0 0 0 0 0");
    blobs_free(again);
    blobs_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back_as_they_were_written),
        cmocka_unit_test(old_bytes_are_read_where_they_are_when_new_ones_go_elsewhere),
        cmocka_unit_test(another_project_neither_reads_nor_removes),
        cmocka_unit_test(nothing_is_read_before_it_is_finished),
        cmocka_unit_test(a_write_that_is_given_up_leaves_nothing),
        cmocka_unit_test(what_a_crash_has_left_is_swept_after_the_grace_and_not_before),
        cmocka_unit_test(what_is_held_is_not_removed),
        cmocka_unit_test(a_removal_that_failed_is_repeated_by_the_next_sweep),
        cmocka_unit_test(a_writer_that_was_swept_adds_and_finishes_nothing),
        cmocka_unit_test(a_write_that_fails_at_any_step_leaves_nothing),
        cmocka_unit_test(a_full_disk_is_said_as_such),
        cmocka_unit_test(a_database_that_is_away_is_an_outage),
        cmocka_unit_test(bytes_that_are_missing_are_not_made_up),
        cmocka_unit_test(a_write_to_s3_survives_what_passes_and_leaves_nothing_otherwise),
        cmocka_unit_test(what_passes_is_asked_again),
        cmocka_unit_test(a_read_of_s3_is_whole_or_an_error),
        cmocka_unit_test(too_many_bytes_in_memory_are_refused),
        cmocka_unit_test(a_bucket_that_cannot_be_used_is_no_place),
        cmocka_unit_test(another_bucket_is_another_place),
        cmocka_unit_test(a_directory_keeps_its_id_and_another_one_has_another),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
