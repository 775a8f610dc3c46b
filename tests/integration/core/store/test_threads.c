/*
 * Threads and messages: made, listed, changed, deleted, also by many clients at once.
 *
 * Lists are compared with a model: the ids that were made, in order. A page must be the same
 * stretch of it, in both directions. Between the messages stand items that are none, which a
 * list leaves out.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/conversations.h"
#include "core/store/tables/threads/threads.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_mine")
#define THEIRS TENANT_OF("proj_theirs")

/* ---- Making things ---- */

static struct item_row new_message(const char *thread_id, const char *role)
{
    struct item_row row = {.input = true,
                           .turn = -1,
                           .status = ITEM_COMPLETED,
                           .type = ITEM_MESSAGE,
                           .created_at = clock_wall_us()};

    row.completed_at = row.created_at;
    row.body = mem_printf("{\"role\":\"%s\",\"content\":[]}", role);
    row.metadata = mem_strdup("{}");
    id_make(row.id, "msg_");
    (void)snprintf(row.role, sizeof(row.role), "%s", role);
    (void)snprintf(row.thread_id, sizeof(row.thread_id), "%s", thread_id);
    return row;
}

static void make_thread(const struct tenant *tenant, char ret_id[ID_SIZE])
{
    struct thread_row row = {.created_at = clock_wall_us()};

    row.metadata = mem_strdup("{\"a\":\"b\"}");
    row.tool_resources = mem_strdup("{}");
    id_make(row.id, "thread_");
    assert_int_equal(store_thread_create(store, tenant, &row, NULL, 0, NULL), ERR_OK);
    memcpy(ret_id, row.id, ID_SIZE);
    thread_row_clear(&row);
}

static int64_t append(const struct tenant *tenant, const char *thread_id, char ret_id[ID_SIZE])
{
    struct item_row row = new_message(thread_id, "user");
    int64_t position;

    assert_int_equal(store_message_create(store, tenant, &row, NULL), ERR_OK);
    position = row.position;
    if (ret_id)
        memcpy(ret_id, row.id, ID_SIZE);
    item_row_clear(&row);
    return position;
}

/* Statements of the test's own, for what only a run loop writes. */
static void run_sql(const char *sql, const struct tenant *tenant, const char *a, const char *b)
{
    const struct db_statement statement = {NULL, sql};
    AUTO_DB_ARGS args = {0};
    struct err err = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, a);
    db_arg_text(&args, b);
    if (db_once(store, &statement, &args, NULL, &err))
        fail_msg("%s: %s", sql, err.text);
}

static int64_t count_sql(const char *sql, const struct tenant *tenant, const char *a)
{
    const struct db_statement statement = {NULL, sql};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, a);
    assert_int_equal(db_once(store, &statement, &args, &rows, NULL), ERR_OK);
    return db_int(rows, 0, 0);
}

/* A run that is not final, leased to this node. */
static void make_run(const struct tenant *tenant, const char *thread_id, char ret_id[ID_SIZE])
{
    struct run_row run = {.face = FACE_ASSISTANTS,
                          .flags = RUN_STORED | RUN_RESUMABLE,
                          .status = RUN_QUEUED,
                          .config = mem_strdup("{}"),
                          .metadata = mem_strdup("{}"),
                          .created_at = clock_wall_us()};
    struct run_load load = {0};

    id_make(run.id, "run_");
    (void)snprintf(run.project, sizeof(run.project), "%s", tenant->project);
    (void)snprintf(run.thread_id, sizeof(run.thread_id), "%s", thread_id);
    assert_int_equal(
        store_run_create(
            store, &(struct run_creation){.tenant = tenant, .run = &run, .context_limit = 10},
            &load, NULL),
        ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_load_clear(&load);
    run_row_clear(&run);
}

static void end_run(const struct tenant *tenant, const char *thread_id, const char *run_id)
{
    run_sql("UPDATE runs SET status = 'completed'"
            " WHERE project_id = $1 AND thread_id = $2 AND id = $3",
            tenant, thread_id, run_id);
}

/* ---- Threads ---- */

TEST(a_thread_is_made_with_its_messages)
{
    struct thread_row row = {.created_at = clock_wall_us()};
    struct thread_row found = {0};
    struct item_row messages[3];
    struct page page = {.limit = 10, .ascending = true};
    struct item_row *list = NULL;
    size_t count = 0;
    bool more;

    row.metadata = mem_strdup("{\"k\":\"v\"}");
    row.tool_resources = mem_strdup("{\"code_interpreter\":{\"file_ids\":[]}}");
    id_make(row.id, "thread_");
    for (int i = 0; i < 3; i++)
        messages[i] = new_message(row.id, i == 1 ? "assistant" : "user");
    assert_int_equal(store_thread_create(store, MINE, &row, messages, 3, NULL), ERR_OK);
    assert_int_equal(store_thread_get(store, MINE, row.id, &found, NULL), ERR_OK);
    assert_string_equal(found.id, row.id);
    assert_string_equal(found.metadata, row.metadata);
    assert_string_equal(found.tool_resources, row.tool_resources);
    assert_int_equal(found.created_at, row.created_at);

    assert_int_equal(
        store_message_list(store, MINE, row.id, NULL, &page, &list, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(list[i].id, messages[i].id);
        assert_int_equal(list[i].position, i);
        assert_int_equal(messages[i].position, i);
        assert_string_equal(list[i].role, messages[i].role);
        assert_string_equal(list[i].body, messages[i].body);
        assert_int_equal(list[i].status, ITEM_COMPLETED);
        assert_true(list[i].input && list[i].turn == -1);
        item_row_clear(&messages[i]);
    }
    item_rows_free(list, count);
    thread_row_clear(&row);
    thread_row_clear(&found);
}

TEST(changes_of_a_thread_keep_what_they_do_not_name)
{
    struct thread_row row = {0};
    char id[ID_SIZE];

    make_thread(MINE, id);
    assert_int_equal(
        store_thread_modify(store, MINE, id,
                            &(struct thread_change){.tool_resources = "{\"file_search\":{}}"},
                            &row, NULL),
        ERR_OK);
    assert_string_equal(row.metadata, "{\"a\":\"b\"}");
    assert_string_equal(row.tool_resources, "{\"file_search\":{}}");
    thread_row_clear(&row);
    assert_int_equal(store_thread_modify(store, MINE, id,
                                         &(struct thread_change){.metadata = "{}"}, &row, NULL),
                     ERR_OK);
    assert_string_equal(row.metadata, "{}");
    assert_string_equal(row.tool_resources, "{\"file_search\":{}}");
    thread_row_clear(&row);
}

TEST(a_deleted_thread_leaves_nothing)
{
    static const char *const leftovers[] = {
        "SELECT count(*) FROM items WHERE project_id = $1 AND thread_id = $2",
        "SELECT count(*) FROM runs WHERE project_id = $1 AND thread_id = $2",
        "SELECT count(*) FROM run_leases WHERE project_id = $1 AND run_id = $2",
        "SELECT count(*) FROM run_steps WHERE project_id = $1 AND run_id = $2",
        "SELECT count(*) FROM tool_calls WHERE project_id = $1 AND run_id = $2",
        "SELECT count(*) FROM run_events WHERE project_id = $1 AND run_id = $2",
    };
    struct thread_row row = {0};
    char id[ID_SIZE], other[ID_SIZE], run[ID_SIZE];

    make_thread(MINE, id);
    make_thread(MINE, other);
    append(MINE, id, NULL);
    append(MINE, other, NULL);
    make_run(MINE, id, run);
    run_sql("INSERT INTO run_steps (project_id, run_id, id, thread_id, type, status, turn,"
            " created_at) VALUES ($1, $3, 'step_1', $2, 'tool_calls', 'completed', 0, 1)",
            MINE, id, run);
    run_sql(
        "INSERT INTO tool_calls (project_id, run_id, turn, call_id, position, client, state,"
        " attempts) SELECT $1, $3, 0, 'call_1', 0, true, 'waiting', 0"
        " WHERE $2::text IS NOT NULL",
        MINE, id, run);
    run_sql("INSERT INTO run_events (project_id, run_id, first_seq, last_seq, run_created_at,"
            " bytes) SELECT $1, $3, 0, 0, 1, ''::bytea WHERE $2::text IS NOT NULL",
            MINE, id, run);
    for (size_t i = 0; i < COUNT_OF(leftovers); i++)
        assert_int_equal(count_sql(leftovers[i], MINE, i < 2 ? id : run), 1);

    assert_int_equal(store_thread_delete(store, MINE, id, NULL), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(leftovers); i++)
        assert_int_equal(count_sql(leftovers[i], MINE, i < 2 ? id : run), 0);
    assert_int_equal(store_thread_get(store, MINE, id, &row, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_thread_delete(store, MINE, id, NULL), ERR_NOT_FOUND);
    assert_int_equal(count_sql(leftovers[0], MINE, other), 1);
}

/* ---- Who sees what ---- */

static void expect_no_thread(enum err_code rc, const struct err *err, const char *id)
{
    char expected[128];

    (void)snprintf(expected, sizeof(expected), "No thread found with id '%s'.", id);
    assert_int_equal(rc, ERR_NOT_FOUND);
    assert_string_equal(err->text, expected);
}

static void try_everything(const struct tenant *tenant, const char *thread, const char *message)
{
    struct item_row row = new_message(thread, "user");
    struct item_row got = {0};
    struct thread_row found = {0};
    struct page page = {.limit = 1};
    struct item_row *list = NULL;
    size_t count;
    bool more;
    struct err err;
    enum err_code rc;

    rc = store_thread_get(store, tenant, thread, &found, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_thread_modify(store, tenant, thread, &(struct thread_change){.metadata = "{}"},
                             &found, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_thread_delete(store, tenant, thread, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_message_create(store, tenant, &row, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_message_get(store, tenant, thread, message, &got, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_message_modify(store, tenant, thread, message, "{}", &got, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_message_delete(store, tenant, thread, message, &err);
    expect_no_thread(rc, &err, thread);
    rc = store_message_list(store, tenant, thread, NULL, &page, &list, &count, &more, &err);
    expect_no_thread(rc, &err, thread);
    memcpy(page.after, message, strlen(message) + 1);
    rc = store_message_list(store, tenant, thread, NULL, &page, &list, &count, &more, &err);
    expect_no_thread(rc, &err, thread);
    item_row_clear(&row);
}

TEST(another_project_gets_the_error_for_a_missing_thread)
{
    struct item_row row = {0};
    char thread[ID_SIZE], message[ID_SIZE];

    make_thread(MINE, thread);
    append(MINE, thread, message);
    try_everything(THEIRS, thread, message);
    try_everything(MINE, "thread_unknown", message);
    assert_int_equal(store_message_get(store, MINE, thread, message, &row, NULL), ERR_OK);
    item_row_clear(&row);
}

TEST(a_message_is_found_in_its_thread_only)
{
    struct item_row row = {0};
    struct err err;
    char thread[ID_SIZE], other[ID_SIZE], message[ID_SIZE], expected[128];

    make_thread(MINE, thread);
    make_thread(MINE, other);
    append(MINE, thread, message);
    (void)snprintf(expected, sizeof(expected), "No message found with id '%s'.", message);
    assert_int_equal(store_message_get(store, MINE, other, message, &row, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, expected);
    assert_int_equal(store_message_modify(store, MINE, other, message, "{}", &row, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, expected);
    assert_int_equal(store_message_delete(store, MINE, other, message, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, expected);
}

/* ---- Messages ---- */

TEST(messages_are_changed_and_deleted)
{
    struct item_row row = {0};
    char thread[ID_SIZE], message[ID_SIZE];

    make_thread(MINE, thread);
    append(MINE, thread, message);
    assert_int_equal(
        store_message_modify(store, MINE, thread, message, "{\"x\":\"y\"}", &row, NULL),
        ERR_OK);
    assert_string_equal(row.metadata, "{\"x\":\"y\"}");
    item_row_clear(&row);
    assert_int_equal(store_message_modify(store, MINE, thread, message, NULL, &row, NULL),
                     ERR_OK);
    assert_string_equal(row.metadata, "{\"x\":\"y\"}");
    item_row_clear(&row);
    assert_int_equal(store_message_delete(store, MINE, thread, message, NULL), ERR_OK);
    assert_int_equal(store_message_get(store, MINE, thread, message, &row, NULL),
                     ERR_NOT_FOUND);
}

TEST(an_active_run_locks_its_thread)
{
    struct item_row message = {0};
    struct item_row row = {0};
    struct err err;
    char thread[ID_SIZE], id[ID_SIZE], run[ID_SIZE], expected[256];

    make_thread(MINE, thread);
    append(MINE, thread, id);
    make_run(MINE, thread, run);
    (void)snprintf(expected, sizeof(expected),
                   "Can't add messages to %s while a run %s is active.", thread, run);
    message = new_message(thread, "user");
    assert_int_equal(store_message_create(store, MINE, &message, &err), ERR_CONFLICT);
    assert_string_equal(err.text, expected);
    assert_int_equal(store_message_modify(store, MINE, thread, id, "{}", &row, &err), ERR_OK);
    item_row_clear(&row);
    assert_int_equal(store_message_delete(store, MINE, thread, id, &err), ERR_CONFLICT);
    assert_string_equal(err.text, expected);

    end_run(MINE, thread, run);
    assert_int_equal(store_message_create(store, MINE, &message, NULL), ERR_OK);
    assert_int_equal(message.position, 1);
    assert_int_equal(store_message_delete(store, MINE, thread, id, NULL), ERR_OK);
    item_row_clear(&message);
}

/* ---- Many at once ---- */

#define APPENDERS 8
#define APPENDS   1000

static struct {
    char thread[ID_SIZE];
    atomic_uint begun;
    atomic_uint failed;
    atomic_uint seen[APPENDS];
} rush;

static void *append_many(void *nothing)
{
    (void)nothing;
    while (atomic_fetch_add(&rush.begun, 1) < APPENDS) {
        struct item_row row = new_message(rush.thread, "user");

        if (store_message_create(store, MINE, &row, NULL) || row.position < 0 ||
            row.position >= APPENDS)
            atomic_fetch_add(&rush.failed, 1);
        else
            atomic_fetch_add(&rush.seen[row.position], 1);
        item_row_clear(&row);
    }
    store_thread_end(store);
    return NULL;
}

TEST(appends_from_many_threads_get_every_position_once)
{
    pthread_t threads[APPENDERS];

    make_thread(MINE, rush.thread);
    for (size_t i = 0; i < APPENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, NULL), 0);
    for (size_t i = 0; i < APPENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(rush.failed, 0);
    for (size_t i = 0; i < APPENDS; i++)
        assert_int_equal(rush.seen[i], 1);
    assert_int_equal(count_sql("SELECT count(DISTINCT position) FROM items"
                               " WHERE project_id = $1 AND thread_id = $2",
                               MINE, rush.thread),
                     APPENDS);
}

/* ---- Pages ---- */

#define ROWS 250

static char list_thread[ID_SIZE];
static char listed[ROWS][ID_SIZE]; /* oldest first */

/* Between the messages stand items that a list of messages does not show: one of another role, a
 * call, a hidden message. */
static void fill_thread(void)
{
    make_thread(MINE, list_thread);
    for (size_t i = 0; i < ROWS; i++) {
        append(MINE, list_thread, listed[i]);
        if (i % 50 == 0) {
            struct item_row other = new_message(list_thread, "developer");

            assert_int_equal(store_message_create(store, MINE, &other, NULL), ERR_OK);
            item_row_clear(&other);
        }
    }
    run_sql("INSERT INTO items (project_id, id, thread_id, position, input, hidden, turn,"
            " model_index, status, type, created_at)"
            " VALUES ($1, $3, $2, 1000, false, false, 0, 0, 'completed', 'function_call', 1)",
            MINE, list_thread, "fc_between");
    run_sql(
        "INSERT INTO items (project_id, id, thread_id, position, input, hidden, turn,"
        " model_index, status, type, role, created_at)"
        " VALUES ($1, $3, $2, 1001, false, true, 0, 0, 'completed', 'message', 'assistant', 1)",
        MINE, list_thread, "msg_hidden");
}

static const char *nth(bool ascending, size_t i)
{
    return listed[ascending ? i : ROWS - 1 - i];
}

static void expect_page(const struct page *page, size_t from, size_t count, bool more)
{
    struct item_row *rows = NULL;
    size_t got = 0;
    bool got_more = !more;

    assert_int_equal(
        store_message_list(store, MINE, list_thread, NULL, page, &rows, &got, &got_more, NULL),
        ERR_OK);
    assert_int_equal(got, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(rows[i].id, nth(page->ascending, from + i));
    assert_int_equal(got_more, more);
    item_rows_free(rows, got);
}

/* All pages in a row, then pages in front of a cursor, between two, and empty ones. */
TEST(pages_of_messages_are_exact)
{
    fill_thread();
    for (int ascending = 0; ascending < 2; ascending++) {
        struct page page = {.limit = 25, .ascending = ascending};

        for (size_t from = 0; from < ROWS; from += 25) {
            expect_page(&page, from, 25, from + 25 < ROWS);
            memcpy(page.after, nth(ascending, from + 24), ID_SIZE);
        }
        expect_page(&page, ROWS, 0, false);

        page = (struct page){.limit = 100, .ascending = ascending};
        memcpy(page.before, nth(ascending, 230), ID_SIZE);
        expect_page(&page, 130, 100, true);
        memcpy(page.before, nth(ascending, 100), ID_SIZE);
        expect_page(&page, 0, 100, false);
        memcpy(page.after, nth(ascending, 89), ID_SIZE);
        expect_page(&page, 90, 10, false);
        page.limit = 9;
        expect_page(&page, 90, 9, true);
        page = (struct page){.limit = 0, .ascending = ascending};
        expect_page(&page, 0, 0, true);
    }
}

/* The messages behind the cursor, in this order, as the numbers 0 to 9 of `ids`. */
static void expect_behind(const char *thread, char ids[][ID_SIZE], const char *cursor,
                          bool ascending, const char *expected)
{
    struct page page = {.limit = 20, .ascending = ascending};
    struct item_row *rows = NULL;
    char seen[20] = "";
    size_t count;
    bool more;

    memcpy(page.after, cursor, strlen(cursor) + 1);
    assert_int_equal(
        store_message_list(store, MINE, thread, NULL, &page, &rows, &count, &more, NULL),
        ERR_OK);
    for (size_t i = 0; i < count; i++) {
        for (char n = 0; n < 10; n++) {
            if (strcmp(ids[(size_t)n], rows[i].id) == 0)
                seen[i] = (char)('0' + n);
        }
    }
    assert_string_equal(seen, expected);
    item_rows_free(rows, count);
    rows = NULL;
    assert_int_equal(
        store_conversation_items(store, MINE, thread, &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, strlen(expected));
    item_rows_free(rows, count);
}

/* 0 and 1 are from elsewhere. A message that is added meanwhile may have the place of one that is gone. */
TEST(a_deleted_message_keeps_its_place_as_a_cursor)
{
    char thread[ID_SIZE], ids[10][ID_SIZE] = {"msg_zzzzzzzzzzzzzzzzzzzzzzzz", "msg_0"};

    make_thread(MINE, thread);
    for (size_t i = 0; i < 6; i++) {
        char made[ID_SIZE];

        append(MINE, thread, made);
        if (i < 2)
            run_sql("UPDATE items SET id = $2 WHERE project_id = $1 AND id = $3", MINE, ids[i],
                    made);
        else
            memcpy(ids[i], made, ID_SIZE);
    }
    assert_int_equal(store_message_delete(store, MINE, thread, ids[1], NULL), ERR_OK);
    assert_int_equal(store_message_delete(store, MINE, thread, ids[3], NULL), ERR_OK);
    assert_int_equal(store_message_delete(store, MINE, thread, ids[5], NULL), ERR_OK);
    append(MINE, thread, ids[6]);
    for (int marked = 1; marked >= 0; marked--) {
        expect_behind(thread, ids, ids[3], true, "46");
        expect_behind(thread, ids, ids[3], false, "20");
        expect_behind(thread, ids, ids[5], true, "6");
        expect_behind(thread, ids, ids[5], false, "420");
        if (marked) {
            expect_behind(thread, ids, ids[1], true, "246");
            expect_behind(thread, ids, ids[1], false, "0");
        }
        run_sql("DELETE FROM deletion_marks WHERE project_id = $1 AND list = $2"
                " AND $3::text IS NULL",
                MINE, thread, NULL);
    }
}

TEST(a_cursor_that_is_no_message_of_the_thread_is_refused)
{
    struct page page = {.limit = 5};
    struct item_row *rows = NULL;
    size_t count;
    bool more;
    struct err err;
    char thread[ID_SIZE], other[ID_SIZE], message[ID_SIZE];

    make_thread(MINE, thread);
    make_thread(MINE, other);
    append(MINE, thread, message);
    memcpy(page.after, message, ID_SIZE);
    assert_int_equal(
        store_message_list(store, MINE, other, NULL, &page, &rows, &count, &more, &err),
        ERR_INVALID);
    assert_string_equal(err.place, "after");
    assert_int_equal(err.reason, REASON_BAD_VALUE);
    (void)snprintf(page.before, sizeof(page.before), "msg_unknown");
    assert_int_equal(
        store_message_list(store, MINE, thread, NULL, &page, &rows, &count, &more, &err),
        ERR_INVALID);
    assert_string_equal(err.place, "before");
    assert_null(rows);
}

TEST(a_list_may_show_one_run_only)
{
    struct item_row answer;
    struct page page = {.limit = 5};
    struct item_row *rows = NULL;
    size_t count = 0;
    bool more = true;
    char thread[ID_SIZE];

    make_thread(MINE, thread);
    append(MINE, thread, NULL);
    answer = new_message(thread, "assistant");
    (void)snprintf(answer.run_id, sizeof(answer.run_id), "run_1");
    (void)snprintf(answer.assistant_id, sizeof(answer.assistant_id), "asst_1");
    assert_int_equal(store_message_create(store, MINE, &answer, NULL), ERR_OK);
    append(MINE, thread, NULL);
    assert_int_equal(
        store_message_list(store, MINE, thread, "run_1", &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    assert_false(more);
    assert_string_equal(rows[0].id, answer.id);
    assert_string_equal(rows[0].run_id, "run_1");
    assert_string_equal(rows[0].assistant_id, "asst_1");
    item_rows_free(rows, count);
    item_row_clear(&answer);
    assert_int_equal(
        store_message_list(store, MINE, thread, "run_2", &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 0);
    item_rows_free(rows, count);
}

/* The id of what was made under the key. */
static enum err_code say_once(const struct tenant *tenant, const char *thread,
                              unsigned char request, char ret_id[ID_SIZE], struct err *err)
{
    const struct idempotency once = {.key = "key", .hash = {request}};
    struct item_row row = new_message(thread, "user");
    enum err_code rc = store_message_create_once(store, tenant, &once, NULL, &row, err);

    memcpy(ret_id, row.id, ID_SIZE);
    item_row_clear(&row);
    return rc;
}

TEST(a_request_is_carried_out_once_under_its_key)
{
    char thread[ID_SIZE], foreign[ID_SIZE], first[ID_SIZE], id[ID_SIZE];
    struct err err = {0};

    make_thread(MINE, thread);
    make_thread(THEIRS, foreign);
    assert_int_equal(say_once(MINE, "thread_0", 1, id, NULL), ERR_NOT_FOUND);
    assert_int_equal(say_once(MINE, thread, 1, first, NULL), ERR_OK);
    assert_int_equal(say_once(MINE, thread, 1, id, NULL), ERR_OK);
    assert_string_equal(id, first);
    assert_int_equal(say_once(MINE, thread, 2, id, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_KEY_REUSED);
    assert_int_equal(say_once(THEIRS, foreign, 3, id, NULL), ERR_OK);

    /* A day later. */
    assert_int_equal(store_idempotency_forget(store, NULL), ERR_OK);
    assert_int_equal(say_once(MINE, thread, 2, id, NULL), ERR_INVALID);
    pg_fixture_ask("UPDATE idempotency_keys SET created_at = created_at - 86401000000");
    assert_int_equal(store_idempotency_forget(store, NULL), ERR_OK);
    assert_int_equal(say_once(MINE, thread, 2, id, NULL), ERR_OK);
    assert_string_not_equal(id, first);
}

#ifdef RUNNEL_FAULTS
/* The object under the key gives way, or stays with nothing made beside it. */
TEST(an_object_keeps_its_key_if_replacing_it_fails)
{
    char thread[ID_SIZE], first[ID_SIZE], id[ID_SIZE];
    struct idempotency again = {.key = "replaced", .hash = {1}, .replaces = first};
    struct item_row row;

    make_thread(MINE, thread);
    row = new_message(thread, "user");
    again.replaces = NULL;
    assert_int_equal(store_message_create_once(store, MINE, &again, NULL, &row, NULL), ERR_OK);
    memcpy(first, row.id, ID_SIZE);
    item_row_clear(&row);

    again.replaces = first;
    row = new_message(thread, "user");
    fault_arm("idempotency_replace", 1);
    assert_int_equal(store_message_create_once(store, MINE, &again, NULL, &row, NULL),
                     ERR_STORE);
    assert_true(fault_fired());
    fault_disarm();
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM items WHERE thread_id = '%s'", thread), 1);
    assert_string_equal(
        pg_fixture_ask("SELECT object_id FROM idempotency_keys WHERE key = 'replaced'"), first);

    assert_int_equal(store_message_create_once(store, MINE, &again, NULL, &row, NULL), ERR_OK);
    memcpy(id, row.id, ID_SIZE);
    assert_string_not_equal(id, first);
    assert_string_equal(
        pg_fixture_ask("SELECT object_id FROM idempotency_keys WHERE key = 'replaced'"), id);
    item_row_clear(&row);
}
#endif

/* ---- What a large row leaves behind ---- */

static struct connection *own_connection(void)
{
    return db_of_thread(store)->connection;
}

static void make_large_thread(char ret_id[ID_SIZE])
{
    struct thread_row row = {.created_at = clock_wall_us()};
    size_t size = (size_t)5 << 20;

    row.metadata = mem_zeroed(size, 1);
    memset(row.metadata, ' ', size - 1);
    memcpy(row.metadata, "{}", 2);
    row.tool_resources = mem_strdup("{}");
    id_make(row.id, "thread_");
    assert_int_equal(store_thread_create(store, MINE, &row, NULL, 0, NULL), ERR_OK);
    memcpy(ret_id, row.id, ID_SIZE);
    thread_row_clear(&row);
}

TEST(connections_do_not_keep_the_room_of_a_large_row)
{
    struct thread_row row;
    char small[ID_SIZE], large[ID_SIZE];

    make_thread(MINE, small);
    assert_non_null(own_connection());
    make_large_thread(large);
    assert_null(own_connection());

    assert_int_equal(store_thread_get(store, MINE, small, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    assert_non_null(own_connection());
    assert_int_equal(store_thread_get(store, MINE, large, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    assert_null(own_connection());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_made_with_its_messages),
        cmocka_unit_test(changes_of_a_thread_keep_what_they_do_not_name),
        cmocka_unit_test(a_deleted_thread_leaves_nothing),
        cmocka_unit_test(connections_do_not_keep_the_room_of_a_large_row),
        cmocka_unit_test(another_project_gets_the_error_for_a_missing_thread),
        cmocka_unit_test(a_message_is_found_in_its_thread_only),
        cmocka_unit_test(messages_are_changed_and_deleted),
        cmocka_unit_test(an_active_run_locks_its_thread),
        cmocka_unit_test(appends_from_many_threads_get_every_position_once),
        cmocka_unit_test(pages_of_messages_are_exact),
        cmocka_unit_test(a_deleted_message_keeps_its_place_as_a_cursor),
        cmocka_unit_test(a_cursor_that_is_no_message_of_the_thread_is_refused),
        cmocka_unit_test(a_list_may_show_one_run_only),
        cmocka_unit_test(a_request_is_carried_out_once_under_its_key),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(an_object_keeps_its_key_if_replacing_it_fails),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
