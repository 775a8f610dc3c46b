/*
 * Conversations: what a response adds to them, and when.
 *
 * A response keeps its items until the write that ends it. So each way of ending is tried, also
 * by an owner that has lost its lease, by a node that dies, and by a deletion in the middle;
 * then the conversation is read as a client and as the next response would.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/threads/conversations.h"
#include "core/store/tables/threads/threads.h"
#include "core/store/writer/writer.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* An item that no run has made, as clients add them. */
static struct item_row loose_item(const char *body)
{
    static const struct run_row no_run;
    struct item_row item = sample_item(&no_run, 0, body);

    item.input = true;
    return item;
}

static void append(const char *thread, const char *body)
{
    struct item_row item = loose_item(body);

    assert_int_equal(
        store_conversation_append(store, TENANT, NULL, thread, &item, &(size_t){1}, NULL),
        ERR_OK);
    item_row_clear(&item);
}

/* Bodies of what a client sees, oldest first. Overwritten by the next call. */
static const char *seen_in(const char *thread)
{
    return pg_fixture_ask("SELECT string_agg(body, ' ' ORDER BY position) FROM items"
                          " WHERE thread_id = '%s' AND left_position IS NULL",
                          thread);
}

static struct run_row response_in(const char *thread, unsigned flags)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);

    memcpy(run.thread_id, thread, ID_SIZE);
    run.flags |= flags;
    return run;
}

/* Makes a response with one question, where `seen` items lie already. */
static enum err_code begin(const struct run_row *run, int64_t seen, struct err *err)
{
    struct item_row question = sample_item(run, 0, "question");
    struct run_load made = {0};
    enum err_code rc;

    question.input = true;
    question.thread_id[0] = '\0';
    rc = store_run_create(store,
                          &(struct run_creation){.tenant = TENANT,
                                                 .run = run,
                                                 .messages = &question,
                                                 .message_count = 1,
                                                 .seen_position = seen},
                          &made, err);
    if (!rc)
        assert_int_equal(made.fence, 1);
    run_load_clear(&made);
    item_row_clear(&question);
    return rc;
}

static struct item_row answer_of(const struct run_row *run)
{
    struct item_row answer = sample_item(run, 1, "answer");

    answer.thread_id[0] = '\0';
    return answer;
}

static enum err_code end(struct run_row *run, enum run_status status)
{
    struct item_row answer = answer_of(run);
    struct run_write *write;

    run->status = status;
    write = sample_write(run, 1);
    write->update = true;
    sample_add_item(write, &answer);
    return sample_put(store, write);
}

/* ---- Responses ---- */

TEST(all_items_of_a_response_arrive_with_its_end)
{
    struct run_row run;
    char thread[ID_SIZE];

    sample_thread(thread);
    append(thread, "before");
    run = response_in(thread, 0);
    assert_int_equal(begin(&run, 1, NULL), ERR_OK);
    assert_string_equal(seen_in(thread), "before");
    assert_int_equal(end(&run, RUN_COMPLETED), ERR_OK);
    assert_string_equal(seen_in(thread), "before question answer");
    append(thread, "after");
    assert_string_equal(
        pg_fixture_ask("SELECT string_agg(position::text, ' ' ORDER BY position)"
                       " FROM items WHERE thread_id = '%s'",
                       thread),
        "0 1 2 3");
    run_row_clear(&run);
}

TEST(only_responses_that_ended_well_leave_items)
{
    static const struct {
        enum run_status status;
        const char *seen;
    } ends[] = {
        {RUN_COMPLETED, "question answer"},
        {RUN_INCOMPLETE, "question answer"},
        {RUN_FAILED, ""},
        {RUN_CANCELLED, ""},
    };

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        char thread[ID_SIZE];
        struct run_row run;

        sample_thread(thread);
        run = response_in(thread, 0);
        assert_int_equal(begin(&run, 0, NULL), ERR_OK);
        assert_int_equal(end(&run, ends[i].status), ERR_OK);
        assert_string_equal(seen_in(thread), ends[i].seen);
        assert_int_equal(
            pg_fixture_count("SELECT count(*) FROM items WHERE run_id = '%s'", run.id), 2);
        run_row_clear(&run);
    }
}

/* Another node has the lease: nothing of the old owner's end may be seen. */
TEST(a_stale_owner_gives_nothing_to_the_conversation)
{
    char thread[ID_SIZE];
    struct run_row run;

    sample_thread(thread);
    run = response_in(thread, 0);
    assert_int_equal(begin(&run, 0, NULL), ERR_OK);
    pg_fixture_ask("UPDATE run_leases SET fence = 2 WHERE run_id = '%s'", run.id);
    assert_int_equal(end(&run, RUN_COMPLETED), ERR_CONFLICT);
    assert_string_equal(seen_in(thread), "");
    run_row_clear(&run);
}

TEST(a_response_that_has_not_ended_locks_its_conversation)
{
    struct run_row run, second, assistants;
    struct item_row item = loose_item("no");
    struct thread_row row;
    struct run_load load;
    char thread[ID_SIZE];
    struct err err;

    sample_thread(thread);
    append(thread, "before");
    run = response_in(thread, 0);
    second = response_in(thread, 0);
    assistants = sample_run(thread, RUN_QUEUED);
    assert_int_equal(begin(&run, 1, NULL), ERR_OK);

    assert_int_equal(begin(&second, 1, NULL), ERR_CONFLICT);
    assert_int_equal(
        store_run_create(store, &(struct run_creation){.tenant = TENANT, .run = &assistants},
                         &load, NULL),
        ERR_CONFLICT);
    assert_int_equal(
        store_conversation_append(store, TENANT, NULL, thread, &item, &(size_t){1}, &err),
        ERR_CONFLICT);
    assert_int_equal(err.reason, REASON_CONVERSATION_LOCKED);
    assert_int_equal(store_conversation_item_delete(store, TENANT, thread, item.id, &row, &err),
                     ERR_CONFLICT);
    assert_int_equal(err.reason, REASON_CONVERSATION_LOCKED);
    memcpy(item.thread_id, thread, ID_SIZE);
    assert_int_equal(store_message_create(store, TENANT, &item, NULL), ERR_CONFLICT);

    assert_int_equal(end(&run, RUN_COMPLETED), ERR_OK);
    assert_int_equal(begin(&second, 3, NULL), ERR_OK);
    item_row_clear(&item);
    run_row_clear(&run);
    run_row_clear(&second);
    run_row_clear(&assistants);
}

/* A response continues exactly the conversation that its request has read. */
TEST(a_conversation_that_has_grown_refuses_a_response)
{
    char thread[ID_SIZE];
    struct run_row run;

    sample_thread(thread);
    append(thread, "seen");
    append(thread, "not seen");
    run = response_in(thread, 0);
    assert_int_equal(begin(&run, 1, NULL), ERR_CONFLICT);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM runs WHERE id = '%s'", run.id), 0);
    assert_int_equal(begin(&run, 2, NULL), ERR_OK);
    run_row_clear(&run);
}

/* ---- After a crash ---- */

static struct run_load claim(void)
{
    struct run_load *loads;
    struct run_load load;
    size_t count;

    assert_int_equal(
        store_runs_claim(other_store, CLAIM_ALL, 10, CONTEXT, &loads, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    load = loads[0];
    free(loads);
    return load;
}

TEST(a_node_that_takes_over_loads_the_conversation_then_the_response)
{
    struct run_write *write;
    struct item_row answer;
    struct run_load load;
    char thread[ID_SIZE];
    struct run_row run;

    sample_thread(thread);
    append(thread, "before");
    run = response_in(thread, RUN_BACKGROUND | RUN_RESUMABLE);
    assert_int_equal(begin(&run, 1, NULL), ERR_OK);
    answer = answer_of(&run);
    write = sample_write(&run, 1);
    sample_add_item(write, &answer);
    assert_int_equal(sample_put(store, write), ERR_OK);

    pg_fixture_ask("UPDATE run_leases SET lease_until = now() - interval '1 s'"
                   " WHERE run_id = '%s'",
                   run.id);
    load = claim();
    assert_string_equal(load.run.id, run.id);
    assert_int_equal(load.item_count, 3);
    assert_string_equal(load.items[0].body, "before");
    assert_string_equal(load.items[1].body, "question");
    assert_string_equal(load.items[2].body, "answer");
    assert_int_equal(load.next_position, 2);
    run_load_clear(&load);
    run_row_clear(&run);
}

TEST(a_dead_nodes_foreground_gives_the_conversation_back)
{
    struct run_row run, next;
    char thread[ID_SIZE];
    size_t count;

    sample_thread(thread);
    run = response_in(thread, 0);
    next = response_in(thread, 0);
    assert_int_equal(begin(&run, 0, NULL), ERR_OK);
    pg_fixture_ask("UPDATE run_leases SET lease_until = now() - interval '1 s'"
                   " WHERE run_id = '%s'",
                   run.id);
    assert_int_equal(store_runs_fail_foreground(other_store, CLAIM_ALL, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(seen_in(thread), "");
    assert_int_equal(begin(&next, 0, NULL), ERR_OK);
    run_row_clear(&run);
    run_row_clear(&next);
}

/* ---- Deleting ---- */

TEST(a_response_that_has_ended_outlives_its_conversation)
{
    char thread[ID_SIZE];
    struct run_row run, going;

    sample_thread(thread);
    append(thread, "before");
    run = response_in(thread, 0);
    going = response_in(thread, 0);
    assert_int_equal(begin(&run, 1, NULL), ERR_OK);
    assert_int_equal(end(&run, RUN_COMPLETED), ERR_OK);
    assert_int_equal(begin(&going, 3, NULL), ERR_OK);
    assert_int_equal(store_thread_delete(store, TENANT, thread, NULL), ERR_OK);

    assert_string_equal(seen_in(thread), "");
    assert_string_equal(pg_fixture_ask("SELECT string_agg(body, ' ' ORDER BY position)"
                                       " FROM items WHERE run_id = '%s'",
                                       run.id),
                        "question answer");
    assert_int_equal(
        pg_fixture_count("SELECT (SELECT count(*) FROM runs WHERE id = '%s')"
                         " + (SELECT count(*) FROM items WHERE run_id = '%s')"
                         " + (SELECT count(*) FROM run_leases WHERE run_id = '%s')",
                         going.id, going.id, going.id),
        0);
    assert_int_equal(end(&going, RUN_COMPLETED), ERR_NOT_FOUND);
    assert_string_equal(seen_in(thread), "");
    run_row_clear(&run);
    run_row_clear(&going);
}

/* ---- Chains ---- */

TEST(a_chain_begins_with_what_lay_before_it)
{
    struct item_row *items = NULL;
    char thread[ID_SIZE], left[ID_SIZE];
    struct run_row run;
    bool cut;
    size_t count = 0;

    sample_thread(thread);
    append(thread, "before");
    run = response_in(thread, 0);
    assert_int_equal(begin(&run, 1, NULL), ERR_OK);
    assert_int_equal(end(&run, RUN_COMPLETED), ERR_OK);
    append(thread, "after");

    assert_int_equal(
        store_chain_load(store, TENANT, run.id, CONTEXT, &items, &count, &cut, left, NULL),
        ERR_OK);
    assert_int_equal(count, 3);
    assert_string_equal(items[0].body, "before");
    assert_string_equal(items[1].body, "question");
    assert_string_equal(items[2].body, "answer");
    item_rows_free(items, count);
    run_row_clear(&run);
}

/* ---- Limits ---- */

#ifdef RUNNEL_FAULTS
TEST(a_repeat_that_cannot_find_what_was_appended_appends_nothing)
{
    const struct idempotency once = {.key = "append", .hash = {1}};
    struct item_row item = loose_item("one");
    char thread[ID_SIZE], first[ID_SIZE];
    size_t count = 1;

    sample_thread(thread);
    assert_int_equal(
        store_conversation_append(store, TENANT, &once, thread, &item, &count, NULL), ERR_OK);
    memcpy(first, item.id, ID_SIZE);
    item_row_clear(&item);
    item = loose_item("one");
    fault_arm("conversation_find_appended", 1);
    assert_int_equal(
        store_conversation_append(store, TENANT, &once, thread, &item, &count, NULL),
        ERR_STORE);
    assert_true(fault_fired());
    fault_disarm();
    assert_string_equal(seen_in(thread), "one");
    assert_int_equal(
        store_conversation_append(store, TENANT, &once, thread, &item, &count, NULL), ERR_OK);
    assert_string_equal(item.id, first);
    assert_string_equal(seen_in(thread), "one");
    item_row_clear(&item);
}
#endif

TEST(a_conversation_can_be_full)
{
    struct item_row items[2] = {loose_item("one"), loose_item("two")};
    char thread[ID_SIZE];
    struct err err;

    sample_thread(thread);
    pg_fixture_ask(
        "INSERT INTO items (project_id, id, thread_id, position, input, hidden, turn,"
        " model_index, status, type, created_at)"
        " SELECT '%s', '%s_' || n, '%s', n, true, false, -1, 0, 'completed',"
        " 'message', 1 FROM generate_series(1, %d) n",
        PROJECT, thread, thread, CONVERSATION_ITEM_LIMIT - 1);
    assert_int_equal(
        store_conversation_append(store, TENANT, NULL, thread, items, &(size_t){2}, &err),
        ERR_CONFLICT);
    assert_non_null(strstr(err.text, "100000 items"));
    assert_int_equal(
        store_conversation_append(store, TENANT, NULL, thread, items, &(size_t){1}, &err),
        ERR_OK);
    item_row_clear(&items[0]);
    item_row_clear(&items[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_items_of_a_response_arrive_with_its_end),
        cmocka_unit_test(only_responses_that_ended_well_leave_items),
        cmocka_unit_test(a_stale_owner_gives_nothing_to_the_conversation),
        cmocka_unit_test(a_response_that_has_not_ended_locks_its_conversation),
        cmocka_unit_test(a_conversation_that_has_grown_refuses_a_response),
        cmocka_unit_test(a_node_that_takes_over_loads_the_conversation_then_the_response),
        cmocka_unit_test(a_dead_nodes_foreground_gives_the_conversation_back),
        cmocka_unit_test(a_response_that_has_ended_outlives_its_conversation),
        cmocka_unit_test(a_chain_begins_with_what_lay_before_it),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_repeat_that_cannot_find_what_was_appended_appends_nothing),
#endif
        cmocka_unit_test(a_conversation_can_be_full),
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
