/*
 * What a deletion takes away, and what it must leave.
 *
 * Responses continue each other, and conversations are read by responses. So each test builds a
 * chain or a conversation, deletes part of it, purges, and reads what the next response would be
 * sent. Bodies are single letters, so that a context is one short string.
 *
 * Purging runs with no grace and one response at a time, which is the order that could break
 * chains. The one test about the grace gives it an hour.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/store/tables/threads/conversations.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/threads/threads.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

#define NO_GRACE ((int64_t)0)
#define HOUR     ((int64_t)3600 * 1000000)

/* A response that has ended, with one item; continues `parent`, which may be NULL. */
static void respond(const char *parent, const char *body, char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct item_row item = sample_item(&run, 0, body);
    struct run_write *write;

    if (parent)
        (void)snprintf(run.parent_id, sizeof(run.parent_id), "%s", parent);
    write = sample_write(&run, 0);
    write->create = true;
    sample_add_item(write, &item);
    assert_int_equal(sample_put(store, write), ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_row_clear(&run);
}

/* A response in a conversation in which `seen` positions are taken. */
static void respond_in(const char *thread, int64_t seen, const char *body, char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&run, 0, body);
    struct run_load made = {0};
    struct run_write *write;

    memcpy(run.thread_id, thread, ID_SIZE);
    item.thread_id[0] = '\0';
    item.input = true;
    assert_int_equal(store_run_create(store,
                                      &(struct run_creation){.tenant = TENANT,
                                                             .run = &run,
                                                             .messages = &item,
                                                             .message_count = 1,
                                                             .seen_position = seen},
                                      &made, NULL),
                     ERR_OK);
    run_load_clear(&made);
    item_row_clear(&item);
    run.status = RUN_COMPLETED;
    write = sample_write(&run, 1);
    write->update = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_row_clear(&run);
}

static void append(const char *thread, const char *body, char ret_id[ID_LIMIT + 1])
{
    static const struct run_row no_run;
    struct item_row item = sample_item(&no_run, 0, body);

    item.input = true;
    (void)snprintf(item.role, sizeof(item.role), "user");
    assert_int_equal(
        store_conversation_append(store, TENANT, NULL, thread, &item, &(size_t){1}, NULL),
        ERR_OK);
    memcpy(ret_id, item.id, ID_LIMIT + 1);
    item_row_clear(&item);
}

/* Bodies, oldest first. */
static void expect_items(struct item_row *items, size_t count, const char *expected)
{
    AUTO_BUF bodies = {0};

    for (size_t i = 0; i < count; i++)
        buf_addf(&bodies, "%s%s", i ? " " : "", items[i].body);
    assert_string_equal(bodies.data ? bodies.data : "", expected);
    item_rows_free(items, count);
}

/* The context of a response that continues this one. */
static void expect_chain(const char *id, const char *expected)
{
    struct item_row *items = NULL;
    char thread[ID_SIZE];
    bool cut;
    size_t count = 0;

    assert_int_equal(
        store_chain_load(store, TENANT, id, CONTEXT, &items, &count, &cut, thread, NULL),
        ERR_OK);
    expect_items(items, count, expected);
}

/* The context of the next response in the conversation. */
static void expect_context(const char *thread, const char *expected)
{
    struct item_row *items = NULL;
    int64_t position;
    bool cut;
    size_t count = 0;

    assert_int_equal(store_conversation_context(store, TENANT, thread,
                                                &(struct load_span){.items = CONTEXT}, &items,
                                                &count, &cut, &position, NULL),
                     ERR_OK);
    expect_items(items, count, expected);
}

static void delete (const char *id)
{
    assert_int_equal(store_response_delete(store, TENANT, id, NO_GRACE, NULL), ERR_OK);
}

/* Purges everything that is due. */
static void purge(void)
{
    size_t count = 1;

    while (count)
        assert_int_equal(store_responses_purge(store, 1, NO_GRACE, &count, NULL), ERR_OK);
}

static void expect_rows(const char *id, long runs, long items)
{
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM runs WHERE id = '%s'", id), runs);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM items WHERE run_id = '%s'", id),
                     items);
}

/* ---- Chains ---- */

TEST(descendants_keep_the_context_that_was_deleted)
{
    char a[ID_SIZE], b[ID_SIZE], c[ID_SIZE];

    respond(NULL, "a", a);
    respond(a, "b", b);
    respond(b, "c", c);
    delete (b);
    purge();
    expect_chain(c, "a b c");
    delete (a);
    purge();
    expect_chain(c, "a b c");
}

TEST(a_deleted_response_is_not_found)
{
    char a[ID_SIZE], b[ID_SIZE], thread[ID_SIZE];
    struct item_row *items;
    struct run_row run;
    struct err err;
    bool cut;
    size_t count;

    respond(NULL, "a", a);
    respond(a, "b", b);
    assert_int_equal(store_response_delete(store, TENANT_OF("proj_other"), a, NO_GRACE, NULL),
                     ERR_NOT_FOUND);
    expect_chain(a, "a");
    delete (a);
    assert_int_equal(store_response_delete(store, TENANT, a, NO_GRACE, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_run_get(store, TENANT, NULL, a, &run, NULL), ERR_NOT_FOUND);
    assert_int_equal(
        store_chain_load(store, TENANT, a, CONTEXT, &items, &count, &cut, thread, &err),
        ERR_INVALID);
    assert_int_equal(err.reason, REASON_UNKNOWN_PARENT);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM runs WHERE id = '%s'"
                                      " AND coalesce(config, metadata, usage) IS NULL",
                                      a),
                     1);
}

/* A chain with two ends: what only the deleted end has read goes, what both have read stays
 * until the other end goes as well. */
TEST(responses_that_no_other_continues_are_purged)
{
    char a[ID_SIZE], b[ID_SIZE], c[ID_SIZE], d[ID_SIZE];

    respond(NULL, "a", a);
    respond(a, "b", b);
    respond(b, "c", c);
    respond(b, "d", d);
    delete (a);
    delete (b);
    delete (c);
    purge();
    expect_rows(c, 0, 0);
    expect_chain(d, "a b d");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM runs WHERE purge_at IS NOT NULL"),
                     0);
    delete (d);
    purge();
    expect_rows(a, 0, 0);
    expect_rows(b, 0, 0);
    expect_rows(d, 0, 0);
}

TEST(a_purge_leaves_what_was_not_deleted)
{
    char a[ID_SIZE], b[ID_SIZE];

    respond(NULL, "a", a);
    respond(a, "b", b);
    delete (b);
    purge();
    expect_rows(b, 0, 0);
    expect_rows(a, 1, 1);
    expect_chain(a, "a");
}

TEST(a_request_that_continues_it_has_time_to_store_its_response)
{
    char a[ID_SIZE], b[ID_SIZE];
    size_t count = 1;

    respond(NULL, "a", a);
    assert_int_equal(store_response_delete(store, TENANT, a, HOUR, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 10, HOUR, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    respond(a, "b", b);
    pg_fixture_ask("UPDATE runs SET purge_at = 1 WHERE id = '%s'", a);
    purge();
    expect_chain(b, "a b");
    delete (b);
    purge();
    expect_rows(a, 0, 0);
}

/* ---- Conversations ---- */

TEST(earlier_responses_keep_items_that_are_removed)
{
    char thread[ID_SIZE], first[ID_SIZE], second[ID_SIZE];
    char before[ID_LIMIT + 1], last[ID_LIMIT + 1];
    struct thread_row row;
    struct item_row item;

    sample_thread(thread);
    append(thread, "before", before);
    respond_in(thread, 1, "first", first);
    append(thread, "last", last);
    assert_int_equal(store_conversation_item_delete(store, TENANT, thread, before, &row, NULL),
                     ERR_OK);
    thread_row_clear(&row);
    assert_int_equal(store_message_delete(store, TENANT, thread, last, NULL), ERR_OK);
    assert_int_equal(store_message_delete(store, TENANT, thread, last, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_conversation_item_get(store, TENANT, thread, before, &item, NULL),
                     ERR_NOT_FOUND);

    expect_context(thread, "first");
    respond_in(thread, 3, "second", second);
    expect_context(thread, "first second");
    expect_chain(first, "before first");
    expect_chain(second, "first second");
}

TEST(items_that_no_response_has_read_are_deleted_at_once)
{
    char thread[ID_SIZE], id[ID_LIMIT + 1];
    struct thread_row row;

    sample_thread(thread);
    append(thread, "x", id);
    assert_int_equal(store_conversation_item_delete(store, TENANT, thread, id, &row, NULL),
                     ERR_OK);
    thread_row_clear(&row);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM items WHERE thread_id = '%s'", thread), 0);
}

/* Two responses in the conversation and one that continues the first outside of it: each keeps
 * the items that its own context had, and the last one to go takes the items along. */
TEST(responses_keep_the_items_of_a_deleted_conversation)
{
    char thread[ID_SIZE], first[ID_SIZE], second[ID_SIZE], child[ID_SIZE];
    char id[ID_LIMIT + 1];

    sample_thread(thread);
    append(thread, "before", id);
    respond_in(thread, 1, "first", first);
    append(thread, "between", id);
    respond_in(thread, 3, "second", second);
    respond(first, "child", child);
    assert_int_equal(store_thread_delete(store, TENANT, thread, NULL), ERR_OK);
    assert_int_equal(store_conversation_item_delete(store, TENANT, thread, id, NULL, NULL),
                     ERR_NOT_FOUND);
    expect_chain(first, "before first");
    expect_chain(second, "before first between second");
    expect_chain(child, "before first child");

    delete (first);
    delete (second);
    purge();
    expect_chain(child, "before first child");
    delete (child);
    purge();
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM items WHERE thread_id = '%s'", thread), 0);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM runs WHERE thread_id = '%s'", thread), 0);
}

TEST(a_response_that_is_deleted_leaves_its_items_to_its_conversation)
{
    char thread[ID_SIZE], first[ID_SIZE];
    char id[ID_LIMIT + 1];

    sample_thread(thread);
    append(thread, "before", id);
    respond_in(thread, 1, "first", first);
    delete (first);
    purge();
    expect_rows(first, 0, 1);
    expect_context(thread, "before first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descendants_keep_the_context_that_was_deleted),
        cmocka_unit_test(a_deleted_response_is_not_found),
        cmocka_unit_test(responses_that_no_other_continues_are_purged),
        cmocka_unit_test(a_purge_leaves_what_was_not_deleted),
        cmocka_unit_test(a_request_that_continues_it_has_time_to_store_its_response),
        cmocka_unit_test(earlier_responses_keep_items_that_are_removed),
        cmocka_unit_test(items_that_no_response_has_read_are_deleted_at_once),
        cmocka_unit_test(responses_keep_the_items_of_a_deleted_conversation),
        cmocka_unit_test(a_response_that_is_deleted_leaves_its_items_to_its_conversation),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
