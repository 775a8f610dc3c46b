/*
 * Containers as rows: whose they are, how many there are, how they end.
 */

#include "core/store/tables/containers/containers.h"

#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/store/tables/containers/container_files.h"
#include "core/store/tables/threads/threads.h"
#include "tests/integration/core/store/containers/failing.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_boxes")
#define THEIRS TENANT_OF("proj_others")

static const struct idempotency no_key = {.key = ""};

static struct container_row sample(const char *name)
{
    struct container_row row = {.name = mem_strdup(name),
                                .node_id = mem_strdup("node_a"),
                                .memory_gib = 1,
                                .idle_seconds = 1200};

    id_make(row.id, "cntr_");
    return row;
}

static struct container_row made(const char *name)
{
    struct container_row row = sample(name);

    assert_int_equal(store_container_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
    return row;
}

static struct container_row owned(const char *owner, int gib, bool *ret_made)
{
    struct container_row row = sample("auto");

    row.memory_gib = gib;
    memcpy(row.owner_id, owner, strlen(owner) + 1);
    assert_int_equal(store_container_of_owner(store, MINE, 0, 1, &row, ret_made, NULL), ERR_OK);
    return row;
}

static enum container_status status_of(const char *id)
{
    CLEANUP(container_row_clear) struct container_row row = {0};

    return store_container_get(store, MINE, id, &row, NULL) ? CONTAINER_STATUS_NONE
                                                            : row.status;
}

/* Its time has passed by so many seconds. */
static void make_late(const char *id, int seconds)
{
    (void)pg_fixture_ask("UPDATE containers SET expires_at ="
                         " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint -"
                         " %d::bigint * 1000000, last_active_at = 1 WHERE id = '%s'"
                         " RETURNING 1",
                         seconds, id);
}

TEST(a_container_is_read_as_it_was_made)
{
    CLEANUP(container_row_clear) struct container_row row = made("My \"box\"");
    CLEANUP(container_row_clear) struct container_row read = {0};

    assert_int_equal(store_container_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_string_equal(read.name, "My \"box\"");
    assert_string_equal(read.node_id, "node_a");
    assert_string_equal(read.owner_id, "");
    assert_int_equal(read.status, CONTAINER_RUNNING);
    assert_int_equal(read.memory_gib, 1);
    assert_int_equal(read.idle_seconds, 1200);
    assert_int_equal(read.expires_at, read.last_active_at + INT64_C(1200) * 1000000);
    assert_false(read.had_python);
    container_row_clear(&read);
    assert_int_equal(store_container_has_python(store, MINE, row.id, NULL), ERR_OK);
    assert_int_equal(store_container_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_true(read.had_python);
}

TEST(another_project_does_not_see_it)
{
    CLEANUP(container_row_clear) struct container_row row = made("mine");
    struct container_row read;
    struct err err;

    assert_int_equal(store_container_get(store, THEIRS, row.id, &read, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text + strlen("Container with id '") + strlen(row.id),
                        "' not found.");
    assert_int_equal(store_container_use(store, THEIRS, row.id, &read, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_container_delete(store, THEIRS, row.id, NULL), ERR_NOT_FOUND);
    assert_int_equal(status_of(row.id), CONTAINER_RUNNING);
}

TEST(a_project_has_no_more_of_them_than_it_may)
{
    const struct tenant *few = TENANT_OF("proj_few");
    struct container_row rows[3] = {sample("1"), sample("2"), sample("3")};
    struct err err;

    assert_int_equal(store_container_create(store, few, &no_key, 2, &rows[0], NULL), ERR_OK);
    assert_int_equal(store_container_create(store, few, &no_key, 2, &rows[1], NULL), ERR_OK);
    assert_int_equal(store_container_create(store, few, &no_key, 2, &rows[2], &err), ERR_LIMIT);
    assert_int_equal(err.reason, REASON_BUSY);
    make_late(rows[0].id, 1); /* it counts no longer, although the keeper has not seen it */
    assert_int_equal(store_container_create(store, few, &no_key, 2, &rows[2], NULL), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        container_row_clear(&rows[i]);
}

TEST(a_repeated_request_makes_nothing)
{
    const struct idempotency key = {.key = "k-1", .hash = {7}};
    CLEANUP(container_row_clear) struct container_row first = sample("once");
    CLEANUP(container_row_clear) struct container_row second = sample("once");

    assert_int_equal(store_container_create(store, MINE, &key, 0, &first, NULL), ERR_OK);
    assert_int_equal(store_container_create(store, MINE, &key, 0, &second, NULL), ERR_OK);
    assert_string_equal(first.id, second.id);
}

TEST(an_owner_has_one_container_at_a_time)
{
    bool made_first, made_second, made_other;
    CLEANUP(container_row_clear) struct container_row first = owned("thread_1", 0, &made_first);
    CLEANUP(container_row_clear)
    struct container_row second = owned("thread_1", 1, &made_second);
    CLEANUP(container_row_clear) struct container_row other = owned("thread_2", 0, &made_other);

    assert_true(made_first && made_other);
    assert_false(made_second);
    assert_string_equal(first.id, second.id);
    assert_int_equal(first.memory_gib, 1);
    assert_string_not_equal(first.id, other.id);
}

TEST(a_container_that_cannot_serve_its_owner_gives_way)
{
    bool made_anew;
    CLEANUP(container_row_clear) struct container_row small = owned("thread_3", 1, &made_anew);
    CLEANUP(container_row_clear) struct container_row large = owned("thread_3", 4, &made_anew);
    CLEANUP(container_row_clear) struct container_row again = {0};

    assert_true(made_anew);
    assert_int_equal(status_of(small.id), CONTAINER_RUNNING); /* for those who have its id */
    make_late(large.id, 1);
    again = owned("thread_3", 0, &made_anew);
    assert_true(made_anew);
    assert_string_not_equal(again.id, large.id);
    assert_string_not_equal(again.id, small.id);
}

TEST(a_use_gives_it_its_time_again)
{
    CLEANUP(container_row_clear) struct container_row row = made("used");
    CLEANUP(container_row_clear) struct container_row soon = {0};
    CLEANUP(container_row_clear) struct container_row later = {0};

    assert_int_equal(store_container_use(store, MINE, row.id, &soon, NULL), ERR_OK);
    assert_int_equal(soon.last_active_at, row.last_active_at); /* too soon to be written */
    (void)pg_fixture_ask("UPDATE containers SET last_active_at = last_active_at - 16000000,"
                         " expires_at = expires_at - 16000000 WHERE id = '%s' RETURNING 1",
                         row.id);
    assert_int_equal(store_container_use(store, MINE, row.id, &later, NULL), ERR_OK);
    assert_true(later.last_active_at >= row.last_active_at);
    assert_int_equal(later.expires_at, later.last_active_at + INT64_C(1200) * 1000000);
}

TEST(a_late_container_cannot_be_used_again)
{
    CLEANUP(container_row_clear) struct container_row row = made("late");
    CLEANUP(container_row_clear) struct container_row read = {0};

    make_late(row.id, 1);
    assert_int_equal(store_container_use(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_int_equal(read.status, CONTAINER_EXPIRED);
    assert_int_equal(status_of(row.id), CONTAINER_EXPIRED);
}

/* Every one that ended before is gone afterwards. */
static void expire_all(void)
{
    size_t count = 100;

    while (count == 100)
        assert_int_equal(store_containers_expire(store, 100, &count, NULL), ERR_OK);
}

static bool is_left(const char *node, const char *id)
{
    AUTO_FREE struct left_container *left = NULL;
    size_t count;

    assert_int_equal(store_containers_left(store, node, 100, &left, &count, NULL), ERR_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(left[i].id, id) == 0)
            return true;
    return false;
}

TEST(an_expired_container_is_shown_for_a_day)
{
    CLEANUP(container_row_clear) struct container_row row = made("expires");
    size_t count;

    make_late(row.id, 1);
    expire_all();
    assert_int_equal(status_of(row.id), CONTAINER_EXPIRED);
    assert_true(is_left("node_a", row.id));
    assert_false(is_left("node_b", row.id));
    assert_int_equal(store_container_cleared(store, MINE, row.id, NULL), ERR_OK);
    assert_false(is_left("node_a", row.id));
    assert_int_equal(store_containers_forget(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(status_of(row.id), CONTAINER_EXPIRED);
    make_late(row.id, CONTAINER_KEPT_SECONDS + 1);
    assert_int_equal(store_containers_forget(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(status_of(row.id), CONTAINER_STATUS_NONE);
}

TEST(a_deleted_container_is_unknown_at_once_and_its_row_goes_with_its_folder)
{
    CLEANUP(container_row_clear) struct container_row row = made("deleted");
    AUTO_FREE struct container_row *rows = NULL;
    const struct page page = {.limit = 10};
    size_t count;
    bool more;

    assert_int_equal(store_container_delete(store, MINE, row.id, NULL), ERR_OK);
    assert_int_equal(
        store_container_list(store, MINE, "deleted", &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(status_of(row.id), CONTAINER_STATUS_NONE);
    assert_int_equal(store_container_delete(store, MINE, row.id, NULL), ERR_NOT_FOUND);
    assert_true(is_left("node_a", row.id));
    assert_int_equal(store_container_cleared(store, MINE, row.id, NULL), ERR_OK);
    assert_string_equal(
        pg_fixture_ask("SELECT count(*) FROM containers WHERE id = '%s'", row.id), "0");
}

TEST(a_container_goes_with_the_thread_that_it_was_made_for)
{
    struct thread_row thread = {.metadata = mem_strdup("{}"), .created_at = 1};
    CLEANUP(container_row_clear) struct container_row row = {0};
    bool made_it;

    id_make(thread.id, "thread_");
    assert_int_equal(store_thread_create(store, MINE, &thread, NULL, 0, NULL), ERR_OK);
    row = owned(thread.id, 0, &made_it);
    assert_int_equal(store_thread_delete(store, MINE, thread.id, NULL), ERR_OK);
    assert_int_equal(status_of(row.id), CONTAINER_STATUS_NONE);
    assert_true(is_left("node_a", row.id));
    thread_row_clear(&thread);
}

TEST(a_list_has_the_names_that_were_asked_for)
{
    const struct tenant *lists = TENANT_OF("proj_lists");
    struct container_row rows[3] = {sample("a"), sample("b"), sample("a")};
    struct container_row *found;
    struct page page = {.limit = 1};
    size_t count;
    bool more;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(store_container_create(store, lists, &no_key, 0, &rows[i], NULL),
                         ERR_OK);
    assert_int_equal(
        store_container_list(store, lists, "a", &page, &found, &count, &more, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_true(more);
    assert_string_equal(found[0].id, rows[2].id);
    container_rows_free(found, count);
    memcpy(page.after, rows[2].id, sizeof(rows[2].id));
    assert_int_equal(
        store_container_list(store, lists, NULL, &page, &found, &count, &more, NULL), ERR_OK);
    assert_string_equal(found[0].id, rows[1].id);
    container_rows_free(found, count);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        container_row_clear(&rows[i]);
}

#ifdef RUNNEL_FAULTS
/* The rows, in one text. */
static char *all_rows(void)
{
    return mem_strdup(pg_fixture_ask("SELECT coalesce(string_agg(id || status || "
                                     "coalesce(owner_id, ''), ',' ORDER BY id), '')"
                                     " FROM containers WHERE project_id = 'proj_boxes'"));
}

static const char *failing; /* the container that the steps below are about */

static enum err_code make_one(void)
{
    CLEANUP(container_row_clear) struct container_row row = sample("fails");

    return store_container_create(store, MINE, &no_key, 100, &row, NULL);
}

static enum err_code make_larger(void)
{
    CLEANUP(container_row_clear) struct container_row row = sample("auto");
    bool made_it;

    row.memory_gib = 16;
    memcpy(row.owner_id, "thread_fails", sizeof("thread_fails"));
    return store_container_of_owner(store, MINE, 100, 1, &row, &made_it, NULL);
}

static enum err_code delete_one(void)
{
    return store_container_delete(store, MINE, failing, NULL);
}

static enum err_code expire_one(void)
{
    size_t count;

    make_late(failing, 1);
    return store_containers_expire(store, 100, &count, NULL);
}

TEST(a_statement_that_fails_leaves_nothing_half_done)
{
    static const struct failing cases[] = {
        {"store_container_lock_project", make_one},
        {"store_container_count", make_one},
        {"store_container_create", make_one},
        {"store_container_lock_project", make_larger},
        {"store_container_owned", make_larger},
        {"store_container_disown", make_larger},
        {"store_container_create", make_larger},
        {"store_container_delete", delete_one},
        {"store_container_files_forget", delete_one},
        {"store_containers_late", expire_one},
        {"store_container_expire", expire_one},
        {"store_container_files_forget", expire_one},
    };
    bool made_it;
    CLEANUP(container_row_clear) struct container_row row = owned("thread_fails", 1, &made_it);

    failing = row.id;
    assert_undone(cases, COUNT_OF(cases), all_rows);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_read_as_it_was_made),
        cmocka_unit_test(another_project_does_not_see_it),
        cmocka_unit_test(a_project_has_no_more_of_them_than_it_may),
        cmocka_unit_test(a_repeated_request_makes_nothing),
        cmocka_unit_test(an_owner_has_one_container_at_a_time),
        cmocka_unit_test(a_container_that_cannot_serve_its_owner_gives_way),
        cmocka_unit_test(a_use_gives_it_its_time_again),
        cmocka_unit_test(a_late_container_cannot_be_used_again),
        cmocka_unit_test(an_expired_container_is_shown_for_a_day),
        cmocka_unit_test(
            a_deleted_container_is_unknown_at_once_and_its_row_goes_with_its_folder),
        cmocka_unit_test(a_container_goes_with_the_thread_that_it_was_made_for),
        cmocka_unit_test(a_list_has_the_names_that_were_asked_for),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_leaves_nothing_half_done),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
