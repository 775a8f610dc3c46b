/*
 * Runs as clients make, read, answer and delete them. What their owner writes is test_writer.c,
 * and how nodes share them test_leases.c.
 *
 * Where two clients may come at once, they do: several threads make a run in one thread, or
 * submit outputs for one run, and exactly one succeeds. Error texts are OpenAI's, so they are
 * compared whole.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/deleted.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/run_samples.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* ---- Making ---- */

TEST(a_run_is_made_and_leased_in_one_transaction)
{
    char thread[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    assert_int_equal(load.fence, 1);
    assert_int_equal(load.next_seq, 0);
    assert_int_equal(load.next_position, 0);
    assert_int_equal(load.item_count, 0);
    assert_false(load.log_open);
    assert_string_equal(load.run.thread_id, thread);
    assert_string_equal(
        pg_fixture_ask("SELECT owner FROM run_leases WHERE run_id = '%s'", load.run.id),
        "node_test/boot_1");
    end_run(&load);
}

TEST(a_thread_has_one_active_run)
{
    char thread[ID_SIZE], expected[256];
    struct run_load load, second = {0};
    struct err err;

    sample_thread(thread);
    load = sample_created(store, thread);
    assert_int_equal(create(thread, &second, &err), ERR_CONFLICT);
    snprintf(expected, sizeof(expected), "Thread %s already has an active run %s.", thread,
             load.run.id);
    assert_string_equal(err.text, expected);
    end_run(&load);
    assert_int_equal(create(thread, &second, &err), ERR_OK);
    end_run(&second);
}

TEST(a_run_needs_a_thread)
{
    struct run_load load;
    struct err err;

    assert_int_equal(create("thread_unknown", &load, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "No thread found with id 'thread_unknown'.");
}

static struct item_row message(const char *thread_id, const char *body)
{
    struct run_row none = {0};
    struct item_row item;

    memcpy(none.thread_id, thread_id, ID_SIZE);
    item = sample_item(&none, 0, body);
    snprintf(item.role, sizeof(item.role), "user");
    item.turn = -1;
    return item;
}

TEST(a_thread_can_be_made_with_its_run)
{
    struct thread_row thread = {.created_at = 1};
    struct item_row messages[2];
    struct run_creation creation;
    struct run_load load;
    struct run_row run;

    id_make(thread.id, "thread_");
    messages[0] = message(thread.id, "\"one\"");
    messages[1] = message(thread.id, "\"two\"");
    run = sample_run(thread.id, RUN_QUEUED);
    creation = (struct run_creation){.tenant = TENANT,
                                     .run = &run,
                                     .thread = &thread,
                                     .messages = messages,
                                     .message_count = 2,
                                     .context_limit = CONTEXT};
    assert_int_equal(store_run_create(store, &creation, &load, NULL), ERR_OK);
    assert_int_equal(load.item_count, 2);
    assert_string_equal(load.items[0].body, "\"one\"");
    assert_string_equal(load.items[1].body, "\"two\"");
    assert_int_equal(load.next_position, 2);
    end_run(&load);

    /* Again, with one more message; only the newest two are wanted. */
    run_row_clear(&run);
    run = sample_run(thread.id, RUN_QUEUED);
    item_row_clear(&messages[0]);
    messages[0] = message(thread.id, "\"three\"");
    creation = (struct run_creation){.tenant = TENANT,
                                     .run = &run,
                                     .messages = messages,
                                     .message_count = 1,
                                     .last_messages = 2,
                                     .context_limit = CONTEXT};
    assert_int_equal(store_run_create(store, &creation, &load, NULL), ERR_OK);
    assert_int_equal(messages[0].position, 2);
    assert_int_equal(load.item_count, 2);
    assert_string_equal(load.items[0].body, "\"two\"");
    assert_string_equal(load.items[1].body, "\"three\"");
    assert_int_equal(load.next_position, 3);
    end_run(&load);
    item_row_clear(&messages[0]);
    item_row_clear(&messages[1]);
    run_row_clear(&run);
}

/* A client of several that make a run in the same thread at once. The lock of the thread orders
 * them, so one finds the thread idle and all others find its run. */
struct racer {
    const char *thread;
    enum err_code rc;
    struct run_load load;
};

static void *race(void *arg)
{
    struct racer *racer = arg;

    racer->rc = create(racer->thread, &racer->load, NULL);
    store_thread_end(store);
    return NULL;
}

TEST(of_runs_that_are_created_at_once_one_is_made)
{
    struct racer racers[4] = {0};
    pthread_t threads[4];
    char thread[ID_SIZE];
    size_t made = 0;

    sample_thread(thread);
    for (size_t i = 0; i < COUNT_OF(racers); i++) {
        racers[i].thread = thread;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(racers); i++) {
        pthread_join(threads[i], NULL);
        made += racers[i].rc == ERR_OK;
        assert_true(racers[i].rc == ERR_OK || racers[i].rc == ERR_CONFLICT);
    }
    assert_int_equal(made, 1);
    for (size_t i = 0; i < COUNT_OF(racers); i++) {
        if (racers[i].rc == ERR_OK)
            end_run(&racers[i].load);
    }
}

/* ---- Chains ---- */

static void put_response(const char *parent, const char *text, char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct item_row question = sample_item(&run, 0, text), answer = sample_item(&run, 1, text);
    struct run_write *write;

    snprintf(run.parent_id, sizeof(run.parent_id), "%s", parent);
    write = sample_write(&run, 0);
    write->create = true;
    question.input = true;
    sample_add_item(write, &question);
    sample_add_item(write, &answer);
    assert_int_equal(sample_put(store, write), ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_row_clear(&run);
}

TEST(a_chain_is_read_oldest_first)
{
    char first[ID_SIZE], second[ID_SIZE], third[ID_SIZE], thread[ID_SIZE] = "x";
    struct item_row *items;
    bool cut;
    size_t count;

    put_response("", "\"1\"", first);
    put_response(first, "\"2\"", second);
    put_response(second, "\"3\"", third);
    assert_int_equal(
        store_chain_load(store, TENANT, third, CONTEXT, &items, &count, &cut, thread, NULL),
        ERR_OK);
    assert_int_equal(count, 6);
    assert_string_equal(thread, "");
    for (size_t i = 0; i < count; i++) {
        char expected[] = {'"', (char)('1' + i / 2), '"', '\0'};

        assert_string_equal(items[i].body, expected);
        assert_int_equal(items[i].input, i % 2 == 0);
    }
    item_rows_free(items, count);

    /* A limit keeps the newest. */
    assert_int_equal(
        store_chain_load(store, TENANT, third, 3, &items, &count, &cut, thread, NULL), ERR_OK);
    assert_int_equal(count, 3);
    assert_true(cut);
    assert_string_equal(items[0].body, "\"2\"");
    assert_string_equal(items[2].body, "\"3\"");
    item_rows_free(items, count);
    assert_int_equal(
        store_chain_load(store, TENANT, third, 6, &items, &count, &cut, thread, NULL), ERR_OK);
    assert_false(cut);
    item_rows_free(items, count);
}

/* Its input is a rule. */
static void put_rule(const char *parent, const char *body, char ret_id[ID_SIZE])
{
    put_response(parent, body, ret_id);
    assert_int_equal(pg_fixture_count("WITH done AS (UPDATE items SET role = 'developer'"
                                      " WHERE run_id = '%s' AND input RETURNING 1)"
                                      " SELECT count(*) FROM done",
                                      ret_id),
                     1);
}

static void expect_newest(const char *id, size_t limit, const char *expected)
{
    char thread[ID_SIZE];
    struct item_row *items;
    AUTO_BUF seen = {0};
    size_t count;
    bool cut;

    assert_int_equal(
        store_chain_load(store, TENANT, id, limit, &items, &count, &cut, thread, NULL), ERR_OK);
    for (size_t i = 0; i < count; i++)
        buf_addf(&seen, "%s%s ", items[i].body, item_row_is_rule(&items[i]) ? "!" : "");
    buf_addf(&seen, "%s", cut ? "cut" : "whole");
    assert_string_equal(seen.data, expected);
    item_rows_free(items, count);
}

TEST(rules_before_the_limit_stay)
{
    char a[ID_SIZE], b[ID_SIZE], c[ID_SIZE], d[ID_SIZE];

    put_rule("", "1", a);
    put_response(a, "2", b);
    put_rule(b, "3", c);
    put_response(c, "4", d);
    expect_newest(d, 8, "1! 1 2 2 3! 3 4 4 whole");
    expect_newest(d, 7, "1! 1 2 2 3! 3 4 4 cut");
    expect_newest(d, 4, "1! 3! 3 4 4 cut");
    expect_newest(d, 3, "1! 3! 3 4 4 cut");
    expect_newest(d, 1, "1! 3! 4 cut");
}

/* A run that goes on has the history it began with, however much it has made. */
TEST(the_items_of_a_run_do_not_count)
{
    struct thread_row thread = {.created_at = 1};
    struct item_row messages[2], made;
    struct tool_answer answers[] = {{.call_id = "a", .output = "\"o\""},
                                    {.call_id = "b", .output = "\"o\""}};
    struct run_load first = {0}, load = {0};
    struct run_creation creation;
    struct run_write *write;
    struct run_row run;
    bool repeated;

    id_make(thread.id, "thread_");
    messages[0] = message(thread.id, "\"one\"");
    messages[1] = message(thread.id, "\"two\"");
    run = sample_run(thread.id, RUN_QUEUED);
    creation = (struct run_creation){.tenant = TENANT,
                                     .run = &run,
                                     .thread = &thread,
                                     .messages = messages,
                                     .message_count = 2,
                                     .context_limit = 1};
    assert_int_equal(store_run_create(store, &creation, &first, NULL), ERR_OK);
    assert_int_equal(first.item_count, 1);
    write = sample_write(&first.run, first.fence);
    for (int i = 0; i < 3; i++) {
        made = sample_item(&first.run, first.next_position + i, "\"made\"");
        sample_add_item(write, &made);
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
    sample_ask_client(store, &first);
    assert_int_equal(store_run_submit(store,
                                      &(struct submission){.tenant = TENANT,
                                                           .thread_id = thread.id,
                                                           .run_id = run.id,
                                                           .answers = answers,
                                                           .count = 2,
                                                           .hash = hash_one,
                                                           .context_limit = 1},
                                      &load, &repeated, NULL),
                     ERR_OK);
    assert_string_equal(load.items[0].body, "\"two\"");
    assert_true(load.item_count >= 4);
    run_load_clear(&first);
    end_run(&load);
    item_row_clear(&messages[0]);
    item_row_clear(&messages[1]);
    run_row_clear(&run);
}

TEST(a_chain_begins_with_a_response_that_has_ended)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);
    char thread[ID_SIZE], expected[128], ended[ID_SIZE];
    struct item_row *items;
    struct err err;
    bool cut;
    size_t count;

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_chain_load(store, TENANT, run.id, CONTEXT, &items, &count, &cut, thread, &err),
        ERR_INVALID);
    snprintf(expected, sizeof(expected), "Previous response with id '%s' not found.", run.id);
    assert_string_equal(err.text, expected);
    assert_int_equal(err.reason, REASON_UNKNOWN_PARENT);

    put_response("", "\"1\"", ended);
    assert_int_equal(store_chain_load(store, TENANT_OF("proj_other"), ended, CONTEXT, &items,
                                      &count, &cut, thread, &err),
                     ERR_INVALID);
    run_row_clear(&run);
}

/* ---- Looking ---- */

TEST(a_run_is_found_in_its_thread_only)
{
    char thread[ID_SIZE], elsewhere[ID_SIZE], expected[128];
    struct run_load load;
    struct run_row run;
    struct err err;

    sample_thread(thread);
    sample_thread(elsewhere);
    load = sample_created(store, thread);
    assert_int_equal(store_run_get(store, TENANT, thread, load.run.id, &run, NULL), ERR_OK);
    run_row_clear(&run);
    assert_int_equal(store_run_get(store, TENANT, "thread_x", load.run.id, &run, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "No thread found with id 'thread_x'.");
    assert_int_equal(store_run_get(store, TENANT, elsewhere, load.run.id, &run, &err),
                     ERR_NOT_FOUND);
    snprintf(expected, sizeof(expected), "No run found with id '%s'.", load.run.id);
    assert_string_equal(err.text, expected);
    assert_int_equal(
        store_run_get(store, TENANT_OF("proj_other"), thread, load.run.id, &run, NULL),
        ERR_NOT_FOUND);
    assert_int_equal(store_run_get(store, TENANT, NULL, load.run.id, &run, &err),
                     ERR_NOT_FOUND);
    snprintf(expected, sizeof(expected), "Response with id '%s' not found.", load.run.id);
    assert_string_equal(err.text, expected);
    end_run(&load);
}

TEST(runs_are_listed_in_pages_both_ways)
{
    char thread[ID_SIZE], ids[5][ID_SIZE];
    struct page page = {.limit = 2};
    struct run_row *runs;
    size_t count;
    bool more;

    sample_thread(thread);
    for (size_t i = 0; i < 5; i++) {
        struct run_load load = sample_created(store, thread);

        memcpy(ids[i], load.run.id, ID_SIZE);
        end_run(&load);
    }
    /* Newest first, from the top and on from there. */
    assert_int_equal(store_run_list(store, TENANT, thread, &page, &runs, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assert_true(more);
    assert_string_equal(runs[0].id, ids[4]);
    assert_string_equal(runs[1].id, ids[3]);
    free(TAKE(runs[0].config));
    free(TAKE(runs[0].metadata));
    free(TAKE(runs[1].config));
    free(TAKE(runs[1].metadata));
    free(runs);

    /* What stands directly in front of the oldest. */
    memcpy(page.before, ids[0], ID_SIZE);
    assert_int_equal(store_run_list(store, TENANT, thread, &page, &runs, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assert_true(more);
    assert_string_equal(runs[0].id, ids[2]);
    assert_string_equal(runs[1].id, ids[1]);
    for (size_t i = 0; i < count; i++)
        run_row_clear(&runs[i]);
    free(runs);

    page = (struct page){.limit = 10, .ascending = true};
    memcpy(page.after, ids[2], ID_SIZE);
    assert_int_equal(store_run_list(store, TENANT, thread, &page, &runs, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assert_false(more);
    assert_string_equal(runs[0].id, ids[3]);
    for (size_t i = 0; i < count; i++)
        run_row_clear(&runs[i]);
    free(runs);
}

TEST(items_of_a_run_are_listed_without_hidden_ones)
{
    struct page page = {.limit = 2, .ascending = true};
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct run_write *write = sample_write(&run, 0);
    struct item_row *items;
    char ids[4][ID_LIMIT + 1];
    size_t count;
    bool more;

    write->create = true;
    for (int i = 0; i < 4; i++) {
        struct item_row item = sample_item(&run, i, "{}");

        item.hidden = i == 1;
        memcpy(ids[i], item.id, sizeof(item.id));
        sample_add_item(write, &item);
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_run_items(store, TENANT, run.id, false, &page, &items, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 2);
    assert_true(more);
    assert_string_equal(items[0].id, ids[0]);
    assert_string_equal(items[1].id, ids[2]);
    item_rows_free(items, count);

    memcpy(page.after, ids[2], sizeof(ids[2]));
    assert_int_equal(
        store_run_items(store, TENANT, run.id, false, &page, &items, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    assert_false(more);
    assert_string_equal(items[0].id, ids[3]);
    item_rows_free(items, count);
    run_row_clear(&run);
}

TEST(metadata_is_replaced_or_kept)
{
    char thread[ID_SIZE];
    struct run_load load;
    struct run_row run;

    sample_thread(thread);
    load = sample_created(store, thread);
    assert_int_equal(
        store_run_modify(store, TENANT, thread, load.run.id, "{\"a\":\"b\"}", &run, NULL),
        ERR_OK);
    assert_string_equal(run.metadata, "{\"a\":\"b\"}");
    run_row_clear(&run);
    /* The owner's next status does not undo it. */
    end_run(&load);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM runs WHERE thread_id = '%s'"
                         " AND metadata = '{\"a\":\"b\"}' AND status = 'completed'",
                         thread),
        1);
}

TEST(a_response_that_is_deleted_before_its_end_leaves_nothing)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&run, 0, "{}");
    struct call_row call = sample_call(&run, 0, "c");
    struct step_row step = sample_step(&run);
    struct run_write *write = sample_write(&run, 0);
    struct err err;

    write->create = true;
    sample_add_item(write, &item);
    sample_add_call(write, &call);
    sample_add_step(write, &step);
    sample_add_log(write, 0, "data: x\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(store_response_delete(store, TENANT_OF("proj_other"), run.id, 0, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_response_delete(store, TENANT, run.id, 0, NULL), ERR_OK);
    assert_int_equal(
        pg_fixture_count("SELECT (SELECT count(*) FROM runs WHERE id = '%1$s')"
                         " + (SELECT count(*) FROM run_leases WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM items WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM run_steps WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM tool_calls WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM run_events WHERE run_id = '%1$s')",
                         run.id),
        0);
    assert_int_equal(store_response_delete(store, TENANT, run.id, 0, &err), ERR_NOT_FOUND);
    run_row_clear(&run);
}

/* ---- Submitting ---- */

TEST(exactly_the_required_answers_are_accepted)
{
    static const struct {
        const char *ids[3];
        size_t count;
        const char *got;
    } wrong[] = {
        {{"a"}, 1, "['a']"},
        {{"a", "b", "c"}, 3, "['a', 'b', 'c']"},
        {{"a", "a"}, 2, "['a', 'a']"},
        {{NULL}, 0, "[]"},
    };
    const char *const right[] = {"b", "a"};
    struct run_load load, accepted = {0};
    char thread[ID_SIZE], expected[128];
    struct err err;
    bool repeated = true;

    sample_thread(thread);
    load = sample_created(store, thread);
    sample_ask_client(store, &load);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(submit(&load.run, wrong[i].ids, wrong[i].count, hash_one, &accepted,
                                &repeated, &err),
                         ERR_INVALID);
        snprintf(expected, sizeof(expected),
                 "Expected tool outputs for call_ids ['a', 'b'], got %s", wrong[i].got);
        assert_string_equal(err.text, expected);
    }
    assert_string_equal(status_of(load.run.id), "requires_action");

    assert_int_equal(submit(&load.run, right, 2, hash_one, &accepted, &repeated, &err), ERR_OK);
    assert_false(repeated);
    assert_int_equal(accepted.run.status, RUN_QUEUED);
    assert_null(accepted.run.required_action);
    assert_int_equal(accepted.fence, 2);
    assert_int_equal(accepted.call_count, 2);
    assert_string_equal(accepted.calls[0].call_id, "a");
    assert_int_equal(accepted.calls[0].state, CALL_DONE);
    assert_string_equal(accepted.calls[1].output, "\"o\"");
    end_run(&accepted);
    run_load_clear(&load);
}

TEST(the_same_answers_again_are_no_error)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load, accepted, again = {0};
    char thread[ID_SIZE];
    struct err err;
    bool repeated;

    sample_thread(thread);
    load = sample_created(store, thread);
    sample_ask_client(store, &load);
    assert_int_equal(submit(&load.run, ids, 2, hash_one, &accepted, &repeated, NULL), ERR_OK);
    assert_int_equal(submit(&load.run, ids, 2, hash_one, &again, &repeated, NULL), ERR_OK);
    assert_true(repeated);
    assert_string_equal(again.run.id, load.run.id);
    assert_int_equal(again.fence, 0);
    run_load_clear(&again);

    assert_int_equal(submit(&load.run, ids, 2, hash_two, &again, &repeated, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "Runs in status \"queued\" do not accept tool outputs.");
    end_run(&accepted);
    assert_int_equal(submit(&load.run, ids, 2, hash_one, &again, &repeated, NULL), ERR_OK);
    assert_true(repeated);
    assert_int_equal(again.run.status, RUN_COMPLETED);
    run_load_clear(&again);
    run_load_clear(&load);
}

TEST(answers_that_come_too_late_are_refused)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load, late = {0};
    char thread[ID_SIZE];
    struct err err;
    bool repeated;

    sample_thread(thread);
    load = sample_created(store, thread);
    sample_ask_client(store, &load);
    pg_fixture_ask("UPDATE runs SET expires_at = 1 WHERE id = '%s'", load.run.id);
    assert_int_equal(submit(&load.run, ids, 2, hash_one, &late, &repeated, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "Runs in status \"expired\" do not accept tool outputs.");
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id = '%s'", load.run.id);
    run_load_clear(&load);
}

struct submitter {
    const struct run_row *run;
    unsigned char hash[32];
    enum err_code rc;
    bool repeated;
};

static void *submit_once(void *arg)
{
    const char *const ids[] = {"a", "b"};
    struct submitter *submitter = arg;
    struct run_load load = {0};

    submitter->rc =
        submit(submitter->run, ids, 2, submitter->hash, &load, &submitter->repeated, NULL);
    run_load_clear(&load);
    store_thread_end(store);
    return NULL;
}

TEST(of_two_submissions_at_once_one_is_accepted)
{
    struct submitter submitters[2] = {0};
    pthread_t threads[2];
    struct run_load load;
    char thread[ID_SIZE];

    sample_thread(thread);
    load = sample_created(store, thread);
    sample_ask_client(store, &load);
    for (size_t i = 0; i < 2; i++) {
        submitters[i].run = &load.run;
        submitters[i].hash[0] = (unsigned char)i;
        assert_int_equal(pthread_create(&threads[i], NULL, submit_once, &submitters[i]), 0);
    }
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true((submitters[0].rc == ERR_OK) != (submitters[1].rc == ERR_OK));
    assert_true(submitters[0].rc == ERR_CONFLICT || submitters[1].rc == ERR_CONFLICT);
    pg_fixture_ask("UPDATE runs SET status = 'failed' WHERE id = '%s'", load.run.id);
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id = '%s'", load.run.id);
    run_load_clear(&load);
}

/* ---- Steps ---- */

TEST(steps_come_with_their_items)
{
    char thread[ID_SIZE];
    struct page page = {.limit = 10, .ascending = true};
    struct step_load *steps, step;
    struct step_row rows[2];
    struct run_load load;
    struct run_write *write;
    struct err err;
    size_t count;
    bool more;

    sample_thread(thread);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    for (int i = 0; i < 2; i++) {
        rows[i] = sample_step(&load.run);
        sample_add_step(write, &rows[i]);
        for (int k = 0; k < 3; k++) {
            struct item_row item = sample_item(&load.run, 3 * i + k, "{}");

            /* A hidden call is left out. A hidden message was cut, and the step still names it. */
            memcpy(item.step_id, rows[i].id, ID_SIZE);
            item.type = k == 1 ? ITEM_MCP_CALL : ITEM_MESSAGE;
            item.hidden = k >= 1;
            sample_add_item(write, &item);
        }
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_step_list(store, TENANT, thread, load.run.id, &page, &steps, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(steps[0].step.id, rows[0].id);
    assert_int_equal(steps[0].item_count, 2);
    assert_int_equal(steps[1].items[0].position, 3);
    assert_int_equal(steps[1].items[1].position, 5);
    step_loads_free(steps, count);

    assert_int_equal(
        store_step_get(store, TENANT, thread, load.run.id, rows[1].id, &step, NULL), ERR_OK);
    assert_int_equal(step.item_count, 2);
    assert_int_equal(step.step.status, STEP_IN_PROGRESS);
    step_row_clear(&step.step);
    item_rows_free(step.items, step.item_count);

    assert_int_equal(store_step_get(store, TENANT, thread, load.run.id, "step_x", &step, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "No run step found with id 'step_x'.");
    assert_int_equal(
        store_step_get(store, TENANT, "thread_x", load.run.id, rows[1].id, &step, &err),
        ERR_NOT_FOUND);
    assert_string_equal(err.text, "No thread found with id 'thread_x'.");
    end_run(&load);
}

/* ---- The log's partitions ---- */

TEST(partitions_are_made_and_dropped)
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct run_write *write = sample_write(&run, 0);
    int64_t next, old_us = clock_wall_us() - 5 * 86400 * US_PER_SECOND;
    size_t length;
    char *frames;

    pg_fixture_ask("DELETE FROM run_leases");
    /* Before there is a partition for today, the log of today is kept all the same. */
    write->create = true;
    sample_add_log(write, 0, "data: x\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_true(pg_fixture_count("SELECT count(*) FROM run_events_default") > 0);

    assert_int_equal(store_events_maintain(store, 86400, NULL), ERR_OK);
    assert_int_equal(store_events_maintain(other_store, 86400, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM pg_inherits"
                                      " WHERE inhparent = 'run_events'::regclass"),
                     3);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_events_default"), 0);
    assert_int_equal(
        store_events_read(store, TENANT, run.id, 0, 1 << 20, &frames, &length, &next, NULL),
        ERR_OK);
    assert_string_equal(frames, "data: x\n\n");
    free(frames);

    /* Past retention, unless a run of that time has not ended. */
    pg_fixture_ask("CREATE TABLE run_events_20010101 PARTITION OF run_events"
                   " FOR VALUES FROM (978307200000000) TO (978393600000000)");
    pg_fixture_ask("INSERT INTO run_events VALUES ('p', 'r', 0, 0, %lld, '')",
                   (long long)old_us);
    pg_fixture_ask("INSERT INTO run_leases VALUES"
                   " ('p', 'r', NULL, 1, now(), NULL, false, 978307200000001, -1, -1)");
    assert_int_equal(store_events_maintain(store, 86400, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM pg_class"
                                      " WHERE relname = 'run_events_20010101'"),
                     1);
    pg_fixture_ask("DELETE FROM run_leases");
    assert_int_equal(store_events_maintain(store, 86400, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM pg_class"
                                      " WHERE relname = 'run_events_20010101'"),
                     0);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_events WHERE run_id = 'r'"), 0);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM run_events WHERE run_id = '%s'", run.id), 1);
    run_row_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_made_and_leased_in_one_transaction),
        cmocka_unit_test(a_thread_has_one_active_run),
        cmocka_unit_test(a_run_needs_a_thread),
        cmocka_unit_test(a_thread_can_be_made_with_its_run),
        cmocka_unit_test(of_runs_that_are_created_at_once_one_is_made),
        cmocka_unit_test(a_chain_is_read_oldest_first),
        cmocka_unit_test(rules_before_the_limit_stay),
        cmocka_unit_test(the_items_of_a_run_do_not_count),
        cmocka_unit_test(a_chain_begins_with_a_response_that_has_ended),
        cmocka_unit_test(a_run_is_found_in_its_thread_only),
        cmocka_unit_test(runs_are_listed_in_pages_both_ways),
        cmocka_unit_test(items_of_a_run_are_listed_without_hidden_ones),
        cmocka_unit_test(metadata_is_replaced_or_kept),
        cmocka_unit_test(a_response_that_is_deleted_before_its_end_leaves_nothing),
        cmocka_unit_test(exactly_the_required_answers_are_accepted),
        cmocka_unit_test(the_same_answers_again_are_no_error),
        cmocka_unit_test(answers_that_come_too_late_are_refused),
        cmocka_unit_test(of_two_submissions_at_once_one_is_accepted),
        cmocka_unit_test(steps_come_with_their_items),
        cmocka_unit_test(partitions_are_made_and_dropped),
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
