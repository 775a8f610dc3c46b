#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/deleted.h"
#include "core/store/runs.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"

static const char *status_of(const char *run_id)
{
    return pg_fixture_ask("SELECT status FROM runs WHERE id = '%s'", run_id);
}

static enum err_code create(const char *thread_id, struct run_load *ret_load, struct err *err)
{
    struct run_row run = sample_run(thread_id, RUN_QUEUED);
    const struct run_creation creation = {.run = &run, .context_limit = CONTEXT};
    enum err_code rc = store_run_create(store, &creation, ret_load, err);

    run_row_clear(&run);
    return rc;
}

static void end_run(struct run_load *load)
{
    struct run_write *write;

    load->run.status = RUN_COMPLETED;
    write = sample_write(&load->run, load->fence);
    write->update = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    run_load_clear(load);
}

/* ---- Making ---- */

static void a_run_is_made_and_leased_in_one(void **state)
{
    char thread[ID_SIZE];
    struct run_load load;

    (void)state;
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

static void a_thread_has_one_active_run(void **state)
{
    char thread[ID_SIZE], expected[256];
    struct run_load load, second = {0};
    struct err err;

    (void)state;
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

static void a_run_needs_a_thread(void **state)
{
    struct run_load load;
    struct err err;

    (void)state;
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

static void a_thread_can_be_made_with_its_run(void **state)
{
    struct thread_row thread = {.created_at = 1};
    struct item_row messages[2];
    struct run_creation creation;
    struct run_load load;
    struct run_row run;

    (void)state;
    id_make(thread.id, "thread_");
    messages[0] = message(thread.id, "\"one\"");
    messages[1] = message(thread.id, "\"two\"");
    run = sample_run(thread.id, RUN_QUEUED);
    creation = (struct run_creation){.run = &run,
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

    /* Again, with a message more, of which only the newest two are wanted. */
    run_row_clear(&run);
    run = sample_run(thread.id, RUN_QUEUED);
    item_row_clear(&messages[0]);
    messages[0] = message(thread.id, "\"three\"");
    creation = (struct run_creation){.run = &run,
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

static void of_runs_that_come_at_once_one_is_made(void **state)
{
    struct racer racers[4] = {0};
    pthread_t threads[4];
    char thread[ID_SIZE];
    size_t made = 0;

    (void)state;
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

static void a_chain_is_read_oldest_first(void **state)
{
    char first[ID_SIZE], second[ID_SIZE], third[ID_SIZE], thread[ID_SIZE] = "x";
    struct item_row *items;
    size_t count;

    (void)state;
    put_response("", "\"1\"", first);
    put_response(first, "\"2\"", second);
    put_response(second, "\"3\"", third);
    assert_int_equal(
        store_chain_load(store, PROJECT, third, CONTEXT, &items, &count, thread, NULL), ERR_OK);
    assert_int_equal(count, 6);
    assert_string_equal(thread, "");
    for (size_t i = 0; i < count; i++) {
        char expected[] = {'"', (char)('1' + i / 2), '"', '\0'};

        assert_string_equal(items[i].body, expected);
        assert_int_equal(items[i].input, i % 2 == 0);
    }
    item_rows_free(items, count);

    /* A limit keeps the newest. */
    assert_int_equal(store_chain_load(store, PROJECT, third, 3, &items, &count, thread, NULL),
                     ERR_OK);
    assert_int_equal(count, 3);
    assert_string_equal(items[0].body, "\"2\"");
    assert_string_equal(items[2].body, "\"3\"");
    item_rows_free(items, count);
}

static void a_chain_begins_with_a_response_that_has_ended(void **state)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);
    char thread[ID_SIZE], expected[128], ended[ID_SIZE];
    struct item_row *items;
    struct err err;
    size_t count;

    (void)state;
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_chain_load(store, PROJECT, run.id, CONTEXT, &items, &count, thread, &err),
        ERR_INVALID);
    snprintf(expected, sizeof(expected), "Previous response with id '%s' not found.", run.id);
    assert_string_equal(err.text, expected);
    assert_string_equal(err.param, "previous_response_id");
    assert_string_equal(err.api_code, "previous_response_not_found");

    put_response("", "\"1\"", ended);
    assert_int_equal(
        store_chain_load(store, "proj_other", ended, CONTEXT, &items, &count, thread, &err),
        ERR_INVALID);
    run_row_clear(&run);
}

/* ---- Looking ---- */

static void a_run_is_found_in_its_thread_only(void **state)
{
    char thread[ID_SIZE], elsewhere[ID_SIZE], expected[128];
    struct run_load load;
    struct run_row run;
    struct err err;

    (void)state;
    sample_thread(thread);
    sample_thread(elsewhere);
    load = sample_created(store, thread);
    assert_int_equal(store_run_get(store, PROJECT, thread, load.run.id, &run, NULL), ERR_OK);
    run_row_clear(&run);
    assert_int_equal(store_run_get(store, PROJECT, "thread_x", load.run.id, &run, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "No thread found with id 'thread_x'.");
    assert_int_equal(store_run_get(store, PROJECT, elsewhere, load.run.id, &run, &err),
                     ERR_NOT_FOUND);
    snprintf(expected, sizeof(expected), "No run found with id '%s'.", load.run.id);
    assert_string_equal(err.text, expected);
    assert_int_equal(store_run_get(store, "proj_other", thread, load.run.id, &run, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_run_get(store, PROJECT, NULL, load.run.id, &run, &err),
                     ERR_NOT_FOUND);
    snprintf(expected, sizeof(expected), "Response with id '%s' not found.", load.run.id);
    assert_string_equal(err.text, expected);
    end_run(&load);
}

static void runs_are_listed_in_pages_both_ways(void **state)
{
    char thread[ID_SIZE], ids[5][ID_SIZE];
    struct page page = {.limit = 2};
    struct run_row *runs;
    size_t count;
    bool more;

    (void)state;
    sample_thread(thread);
    for (size_t i = 0; i < 5; i++) {
        struct run_load load = sample_created(store, thread);

        memcpy(ids[i], load.run.id, ID_SIZE);
        end_run(&load);
    }
    /* Newest first, from the top and on from there. */
    assert_int_equal(store_run_list(store, PROJECT, thread, &page, &runs, &count, &more, NULL),
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
    assert_int_equal(store_run_list(store, PROJECT, thread, &page, &runs, &count, &more, NULL),
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
    assert_int_equal(store_run_list(store, PROJECT, thread, &page, &runs, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assert_false(more);
    assert_string_equal(runs[0].id, ids[3]);
    for (size_t i = 0; i < count; i++)
        run_row_clear(&runs[i]);
    free(runs);
}

static void items_of_a_run_are_listed_without_hidden_ones(void **state)
{
    struct page page = {.limit = 2, .ascending = true};
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct run_write *write = sample_write(&run, 0);
    struct item_row *items;
    char ids[4][ID_LIMIT + 1];
    size_t count;
    bool more;

    (void)state;
    write->create = true;
    for (int i = 0; i < 4; i++) {
        struct item_row item = sample_item(&run, i, "{}");

        item.hidden = i == 1;
        memcpy(ids[i], item.id, sizeof(item.id));
        sample_add_item(write, &item);
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_run_items(store, PROJECT, run.id, false, &page, &items, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 2);
    assert_true(more);
    assert_string_equal(items[0].id, ids[0]);
    assert_string_equal(items[1].id, ids[2]);
    item_rows_free(items, count);

    memcpy(page.after, ids[2], sizeof(ids[2]));
    assert_int_equal(
        store_run_items(store, PROJECT, run.id, false, &page, &items, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    assert_false(more);
    assert_string_equal(items[0].id, ids[3]);
    item_rows_free(items, count);
    run_row_clear(&run);
}

static void metadata_is_replaced_or_kept(void **state)
{
    char thread[ID_SIZE];
    struct run_load load;
    struct run_row run;

    (void)state;
    sample_thread(thread);
    load = sample_created(store, thread);
    assert_int_equal(
        store_run_modify(store, PROJECT, thread, load.run.id, "{\"a\":\"b\"}", &run, NULL),
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

static void a_response_that_is_deleted_while_it_goes_on_leaves_nothing(void **state)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&run, 0, "{}");
    struct call_row call = sample_call(&run, 0, "c");
    struct step_row step = sample_step(&run);
    struct run_write *write = sample_write(&run, 0);
    struct err err;

    (void)state;
    write->create = true;
    sample_add_item(write, &item);
    sample_add_call(write, &call);
    sample_add_step(write, &step);
    sample_add_log(write, 0, "data: x\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(store_response_delete(store, "proj_other", run.id, 0, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_response_delete(store, PROJECT, run.id, 0, NULL), ERR_OK);
    assert_int_equal(
        pg_fixture_count("SELECT (SELECT count(*) FROM runs WHERE id = '%1$s')"
                         " + (SELECT count(*) FROM run_leases WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM items WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM run_steps WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM tool_calls WHERE run_id = '%1$s')"
                         " + (SELECT count(*) FROM run_events WHERE run_id = '%1$s')",
                         run.id),
        0);
    assert_int_equal(store_response_delete(store, PROJECT, run.id, 0, &err), ERR_NOT_FOUND);
    run_row_clear(&run);
}

/* ---- Submitting ---- */

static const unsigned char hash_one[32] = {1};
static const unsigned char hash_two[32] = {2};

static enum err_code submit(const struct run_row *run, const char *const *ids, size_t count,
                            const unsigned char *hash, struct run_load *ret_load,
                            bool *ret_repeated, struct err *err)
{
    struct tool_answer answers[8];

    for (size_t i = 0; i < count; i++)
        answers[i] = (struct tool_answer){.call_id = ids[i], .output = "\"o\""};
    return store_run_submit(store,
                            &(struct submission){.project = PROJECT,
                                                 .thread_id = run->thread_id,
                                                 .run_id = run->id,
                                                 .answers = answers,
                                                 .count = count,
                                                 .hash = hash,
                                                 .context_limit = CONTEXT},
                            ret_load, ret_repeated, err);
}

static void exactly_the_required_answers_are_accepted(void **state)
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

    (void)state;
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

static void the_same_answers_again_are_no_error(void **state)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load, accepted, again = {0};
    char thread[ID_SIZE];
    struct err err;
    bool repeated;

    (void)state;
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

static void answers_that_come_too_late_are_refused(void **state)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load, late = {0};
    char thread[ID_SIZE];
    struct err err;
    bool repeated;

    (void)state;
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

static void of_two_submissions_at_once_one_is_accepted(void **state)
{
    struct submitter submitters[2] = {0};
    pthread_t threads[2];
    struct run_load load;
    char thread[ID_SIZE];

    (void)state;
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

/* ---- Cancelling ---- */

static void cancelling_says_who_has_the_run(void **state)
{
    char here[ID_SIZE], away[ID_SIZE], nobody[ID_SIZE];
    enum cancel_outcome outcome;
    struct run_load owned, foreign, waiting, load;
    struct err err;

    (void)state;
    sample_thread(here);
    sample_thread(away);
    sample_thread(nobody);
    owned = sample_created(store, here);
    foreign = sample_created(other_store, away);
    waiting = sample_created(store, nobody);
    sample_ask_client(store, &waiting);

    assert_int_equal(
        store_run_cancel(store, PROJECT, here, owned.run.id, CONTEXT, &outcome, &load, NULL),
        ERR_OK);
    assert_int_equal(outcome, CANCEL_OWNED_HERE);
    assert_int_equal(load.run.status, RUN_CANCELLING);
    assert_true(load.run.cancel_requested);
    run_load_clear(&load);

    assert_int_equal(
        store_run_cancel(store, PROJECT, away, foreign.run.id, CONTEXT, &outcome, &load, NULL),
        ERR_OK);
    assert_int_equal(outcome, CANCEL_OWNED_AWAY);
    run_load_clear(&load);

    assert_int_equal(store_run_cancel(store, PROJECT, nobody, waiting.run.id, CONTEXT, &outcome,
                                      &load, NULL),
                     ERR_OK);
    assert_int_equal(outcome, CANCEL_CLAIMED);
    assert_int_equal(load.fence, 2);
    assert_int_equal(load.call_count, 2);
    assert_null(load.run.required_action);

    assert_int_equal(store_run_cancel(store, PROJECT, nobody, waiting.run.id, CONTEXT, &outcome,
                                      &foreign, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "Cannot cancel run with status 'cancelling'.");
    end_run(&load);
    assert_int_equal(store_run_cancel(store, PROJECT, nobody, waiting.run.id, CONTEXT, &outcome,
                                      &foreign, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "Cannot cancel run with status 'completed'.");
    run_load_clear(&owned);
    run_load_clear(&foreign);
    run_load_clear(&waiting);
    pg_fixture_ask("DELETE FROM run_leases");
}

/* ---- Leases ---- */

static void heartbeats_keep_what_is_ours(void **state)
{
    char threads[3][ID_SIZE];
    struct run_load loads[3], cancelled;
    enum lease_state states[3];
    const char *ids[3];
    int64_t fences[3];
    enum cancel_outcome outcome;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        sample_thread(threads[i]);
        loads[i] = sample_created(store, threads[i]);
        ids[i] = loads[i].run.id;
        fences[i] = loads[i].fence;
    }
    fences[1] = 9;
    assert_int_equal(store_run_cancel(store, PROJECT, threads[2], ids[2], CONTEXT, &outcome,
                                      &cancelled, NULL),
                     ERR_OK);
    pg_fixture_ask("UPDATE run_leases SET lease_until = now()");
    assert_int_equal(store_leases_renew(store, ids, fences, 3, states, NULL), ERR_OK);
    assert_int_equal(states[0], LEASE_HELD);
    assert_int_equal(states[1], LEASE_LOST);
    assert_int_equal(states[2], LEASE_CANCEL_REQUESTED);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM run_leases WHERE lease_until > now()"), 2);
    assert_string_equal(pg_fixture_ask("SELECT boot FROM nodes WHERE id = 'node_test'"),
                        "boot_1");

    /* Another node has no say. */
    assert_int_equal(store_leases_renew(other_store, ids, fences, 1, states, NULL), ERR_OK);
    assert_int_equal(states[0], LEASE_LOST);
    for (size_t i = 0; i < 3; i++)
        run_load_clear(&loads[i]);
    run_load_clear(&cancelled);
    pg_fixture_ask("DELETE FROM run_leases");
}

struct claimer {
    struct store *store;
    struct run_load *loads;
    size_t count;
    enum err_code rc;
};

static void *claim(void *arg)
{
    struct claimer *claimer = arg;

    claimer->rc = store_runs_claim(claimer->store, CLAIM_ALL, 100, CONTEXT, &claimer->loads,
                                   &claimer->count, NULL);
    store_thread_end(claimer->store);
    return NULL;
}

#define ORPHANS 20

static void two_nodes_share_the_orphans_without_overlap(void **state)
{
    struct claimer claimers[2] = {{.store = store}, {.store = other_store}};
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < ORPHANS; i++) {
        char thread[ID_SIZE];
        struct run_load load;

        sample_thread(thread);
        load = sample_created(store, thread);
        run_load_clear(&load);
    }
    pg_fixture_ask("UPDATE run_leases SET lease_until = now(), owner = 'node_dead/boot_1'");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim, &claimers[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(claimers[i].rc, ERR_OK);
    }
    assert_int_equal(claimers[0].count + claimers[1].count, ORPHANS);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases WHERE fence = 2"),
                     ORPHANS);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < claimers[i].count; k++) {
            assert_int_equal(claimers[i].loads[k].fence, 2);
            assert_int_equal(claimers[i].loads[k].run.attempts, 1);
            run_load_clear(&claimers[i].loads[k]);
        }
        free(claimers[i].loads);
    }
    pg_fixture_ask("DELETE FROM run_leases");
}

static size_t claim_all(struct store *node, size_t limit, char ret_first[ID_SIZE])
{
    struct run_load *loads;
    size_t count;

    assert_int_equal(store_runs_claim(node, CLAIM_ALL, limit, CONTEXT, &loads, &count, NULL),
                     ERR_OK);
    if (count > 0)
        memcpy(ret_first, loads[0].run.id, ID_SIZE);
    for (size_t i = 0; i < count; i++)
        run_load_clear(&loads[i]);
    free(loads);
    return count;
}

static void only_what_nobody_has_is_claimed_orphans_first(void **state)
{
    char threads[5][ID_SIZE], first[ID_SIZE];
    struct run_load loads[5];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        sample_thread(threads[i]);
        loads[i] = sample_created(store, threads[i]);
    }
    /* 0 is owned, 1 was given back, 2 waits, 3 waited too long, 4 is an orphan. */
    pg_fixture_ask("UPDATE run_leases SET owner = NULL WHERE run_id = '%s'", loads[1].run.id);
    pg_fixture_ask("UPDATE run_leases SET owner = NULL, wait_until = %lld WHERE run_id = '%s'",
                   (long long)INT64_MAX, loads[2].run.id);
    pg_fixture_ask("UPDATE run_leases SET owner = NULL, wait_until = 1 WHERE run_id = '%s'",
                   loads[3].run.id);
    pg_fixture_ask("UPDATE run_leases SET lease_until = '-infinity' WHERE run_id = '%s'",
                   loads[4].run.id);
    assert_int_equal(claim_all(other_store, 1, first), 1);
    assert_string_equal(first, loads[4].run.id);
    assert_int_equal(claim_all(other_store, 10, first), 2);
    assert_string_equal(first, loads[1].run.id);
    assert_int_equal(claim_all(other_store, 10, first), 0);
    for (size_t i = 0; i < 5; i++)
        run_load_clear(&loads[i]);
    pg_fixture_ask("DELETE FROM run_leases");
}

static void a_node_that_was_started_again_finds_its_runs_at_once(void **state)
{
    const struct store_options options = {.node_id = "node_test/boot_2"};
    struct store *reborn = pg_fixture_store_with(&options);
    char thread[ID_SIZE], first[ID_SIZE];
    struct run_load load;

    (void)state;
    sample_thread(thread);
    load = sample_created(store, thread);
    assert_int_equal(claim_all(other_store, 10, first), 0);
    assert_int_equal(claim_all(reborn, 10, first), 1);
    assert_string_equal(first, load.run.id);
    run_load_clear(&load);
    store_free(reborn);
    pg_fixture_ask("DELETE FROM run_leases");
}

static void make_own(struct run_load *ret_load)
{
    char thread[ID_SIZE];

    sample_thread(thread);
    *ret_load = sample_created(store, thread);
    pg_fixture_ask("UPDATE run_leases SET lease_until = '-infinity'");
}

/* After the database stood still every lease is over: ours must stay ours, and the others' are to
 * have time to be renewed. */
static void a_live_run_is_not_taken_from_its_owner(void **state)
{
    struct run_load *loads, load;
    char first[ID_SIZE];
    size_t count;

    (void)state;
    make_own(&load);
    assert_int_equal(claim_all(store, 10, first), 0);
    assert_int_equal(
        store_runs_claim(other_store, CLAIM_LEFT, 10, CONTEXT, &loads, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    free(loads);
    assert_int_equal(claim_all(other_store, 10, first), 1);
    run_load_clear(&load);
    pg_fixture_ask("DELETE FROM run_leases");
}

static void what_is_ours_but_does_not_live_here_is_given_back(void **state)
{
    struct run_load alive, forgotten, fresh;
    char thread[ID_SIZE], first[ID_SIZE];
    const char *ids[1];
    size_t count;

    (void)state;
    make_own(&alive);
    make_own(&forgotten);
    sample_thread(thread);
    fresh = sample_created(store, thread); /* on its way to its loop */
    ids[0] = alive.run.id;
    assert_int_equal(store_leases_give_back(other_store, NULL, 0, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(store_leases_give_back(store, ids, 1, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(claim_all(store, 10, first), 1);
    assert_string_equal(first, forgotten.run.id);
    run_load_clear(&alive);
    run_load_clear(&forgotten);
    run_load_clear(&fresh);
    pg_fixture_ask("DELETE FROM run_leases");
}

/* The claim waited longer than others need to renew what they have. */
static void a_claim_that_waited_takes_nothing(void **state)
{
    const struct store_options options = {.node_id = "node_hasty/boot_1",
                                          .lease_seconds = 0.000001};
    struct store *hasty = pg_fixture_store_with(&options);
    struct run_load *loads, load;
    struct err err;
    size_t count;

    (void)state;
    make_own(&load);
    assert_int_equal(store_runs_claim(hasty, CLAIM_ALL, 10, CONTEXT, &loads, &count, &err),
                     ERR_STORE);
    assert_string_equal(err.text, "the database stood still for a while");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases WHERE fence = 1"), 1);
    run_load_clear(&load);
    store_free(hasty);
    pg_fixture_ask("DELETE FROM run_leases");
}

/* Frames do not move the lease, so what comes after them has to look where they end. */
static void a_state_without_events_closes_the_log_as_far_as_it_goes(void **state)
{
    struct run_load load, *claimed;
    char thread[ID_SIZE];
    struct run_write *write;
    struct item_row item;
    size_t count;

    (void)state;
    sample_thread(thread);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    sample_add_log(write, 0, "data: x\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    write = sample_write(&load.run, load.fence);
    item = sample_item(&load.run, 0, "{}");
    sample_add_item(write, &item);
    assert_int_equal(sample_put(store, write), ERR_OK);

    pg_fixture_ask("UPDATE run_leases SET owner = 'node_dead/boot_1',"
                   " lease_until = '-infinity'");
    assert_int_equal(store_runs_claim(store, CLAIM_ALL, 1, CONTEXT, &claimed, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(claimed[0].next_seq, 1);
    assert_false(claimed[0].log_open);
    load.fence = claimed[0].fence;
    run_load_clear(&claimed[0]);
    free(claimed);
    end_run(&load);
}

static void an_event_behind_the_last_state_leaves_the_log_open(void **state)
{
    struct run_load load, *claimed;
    char thread[ID_SIZE];
    struct run_write *write;
    struct item_row item;
    size_t count;

    (void)state;
    sample_thread(thread);
    load = sample_created(store, thread);
    for (int round = 0; round < 2; round++) {
        write = sample_write(&load.run, load.fence);
        if (round == 1) {
            item = sample_item(&load.run, 0, "{}");
            sample_add_item(write, &item);
        }
        sample_add_log(write, round, "data: x\n\n");
        assert_int_equal(sample_put(store, write), ERR_OK);
        pg_fixture_ask("UPDATE run_leases SET owner = 'node_dead/boot_1',"
                       " lease_until = '-infinity'");
        assert_int_equal(store_runs_claim(store, CLAIM_ALL, 1, CONTEXT, &claimed, &count, NULL),
                         ERR_OK);
        assert_int_equal(count, 1);
        assert_int_equal(claimed[0].log_open, round == 0);
        assert_int_equal(claimed[0].next_seq, round + 1);
        assert_int_equal(claimed[0].next_position, round);
        load.fence = claimed[0].fence;
        run_load_clear(&claimed[0]);
        free(claimed);
    }
    end_run(&load);
}

static void foreground_responses_of_a_dead_node_fail(void **state)
{
    struct run_row dead = sample_run("", RUN_IN_PROGRESS),
                   alive = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write;
    char first[ID_SIZE];
    size_t count;

    (void)state;
    write = sample_write(&dead, 0);
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    write = sample_write(&alive, 0);
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    pg_fixture_ask("UPDATE run_leases SET lease_until = '-infinity' WHERE run_id = '%s'",
                   dead.id);

    assert_int_equal(claim_all(other_store, 10, first), 0);
    assert_int_equal(store_runs_fail_foreground(store, CLAIM_ALL, &count, NULL), ERR_OK);
    assert_int_equal(count, 0); /* our own */
    assert_int_equal(store_runs_fail_foreground(other_store, CLAIM_LEFT, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(store_runs_fail_foreground(other_store, CLAIM_ALL, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(status_of(dead.id), "failed");
    assert_string_equal(status_of(alive.id), "in_progress");
    assert_string_equal(
        pg_fixture_ask("SELECT error::json->>'code' FROM runs WHERE id = '%s'", dead.id),
        "server_error");
    assert_int_equal(store_runs_fail_foreground(other_store, CLAIM_ALL, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    run_row_clear(&dead);
    run_row_clear(&alive);
    pg_fixture_ask("DELETE FROM run_leases");
}

/* ---- Steps ---- */

static void steps_come_with_their_items(void **state)
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

    (void)state;
    sample_thread(thread);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    for (int i = 0; i < 2; i++) {
        rows[i] = sample_step(&load.run);
        sample_add_step(write, &rows[i]);
        for (int k = 0; k < 3; k++) {
            struct item_row item = sample_item(&load.run, 3 * i + k, "{}");

            memcpy(item.step_id, rows[i].id, ID_SIZE);
            item.hidden = k == 1;
            sample_add_item(write, &item);
        }
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(store_step_list(store, PROJECT, thread, load.run.id, &page, &steps, &count,
                                     &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(steps[0].step.id, rows[0].id);
    assert_int_equal(steps[0].item_count, 2);
    assert_int_equal(steps[1].items[0].position, 3);
    assert_int_equal(steps[1].items[1].position, 5);
    step_loads_free(steps, count);

    assert_int_equal(
        store_step_get(store, PROJECT, thread, load.run.id, rows[1].id, &step, NULL), ERR_OK);
    assert_int_equal(step.item_count, 2);
    assert_int_equal(step.step.status, STEP_IN_PROGRESS);
    step_row_clear(&step.step);
    item_rows_free(step.items, step.item_count);

    assert_int_equal(store_step_get(store, PROJECT, thread, load.run.id, "step_x", &step, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "No run step found with id 'step_x'.");
    assert_int_equal(
        store_step_get(store, PROJECT, "thread_x", load.run.id, rows[1].id, &step, &err),
        ERR_NOT_FOUND);
    assert_string_equal(err.text, "No thread found with id 'thread_x'.");
    end_run(&load);
}

/* ---- The log's partitions ---- */

static void partitions_are_made_and_dropped(void **state)
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct run_write *write = sample_write(&run, 0);
    int64_t next, old_us = clock_wall_us() - 5 * 86400 * US_PER_SECOND;
    size_t length;
    char *frames;

    (void)state;
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
        store_events_read(store, PROJECT, run.id, 0, 1 << 20, &frames, &length, &next, NULL),
        ERR_OK);
    assert_string_equal(frames, "data: x\n\n");
    free(frames);

    /* Past retention; unless a run of that time still goes on. */
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

/* ---- Faults ---- */

#ifdef RUNNEL_FAULTS

/* What was stored must not be called an outage, or the client would be refused when it tries again. */
static void a_commit_that_went_unanswered_is_looked_up(void **state)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load, accepted, cancelled;
    enum cancel_outcome outcome;
    char thread[ID_SIZE];
    bool repeated;

    (void)state;
    sample_thread(thread);
    fault_arm("store.commit_unanswered", 1);
    fault_arm_also("commit.look", 1);
    assert_int_equal(create(thread, &load, NULL), ERR_OK);
    assert_int_equal(load.fence, 1);
    sample_ask_client(store, &load);
    fault_arm("store.commit_unanswered", 1);
    assert_int_equal(submit(&load.run, ids, 2, hash_one, &accepted, &repeated, NULL), ERR_OK);
    assert_int_equal(accepted.fence, 2);
    assert_false(repeated);
    fault_arm("store.commit_unanswered", 1);
    assert_int_equal(store_run_cancel(store, PROJECT, thread, load.run.id, CONTEXT, &outcome,
                                      &cancelled, NULL),
                     ERR_OK);
    assert_true(fault_fired());
    fault_disarm();
    assert_int_equal(outcome, CANCEL_OWNED_HERE);
    run_load_clear(&load);
    run_load_clear(&cancelled);
    end_run(&accepted);
}

/* Of a response outside conversations: no row of it can be seen until it is committed. */
struct slow_commit {
    PGconn *holder;  /* of what the COMMIT waits for */
    const char *end; /* said when somebody waits for the COMMIT, or nobody will */
    atomic_bool over;
};

static void say(PGconn *connection, const char *sql)
{
    PQclear(PQexec(connection, sql));
}

static bool somebody_waits(PGconn *connection)
{
    PGresult *result =
        PQexec(connection, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted"
                           " AND locktype = 'transactionid')");
    bool waits = PQgetvalue(result, 0, 0)[0] == 't';

    PQclear(result);
    return waits;
}

static void *end_commit(void *arg)
{
    struct slow_commit *slow = arg;

    while (!atomic_load(&slow->over) && !somebody_waits(slow->holder))
        continue;
    say(slow->holder, slow->end);
    return NULL;
}

/* A response whose connection breaks while its COMMIT waits. */
static enum err_code create_slowly(const char *end, struct run_load *ret_load)
{
    struct slow_commit slow = {.holder = PQconnectdb(pg_fixture_url()), .end = end};
    pthread_t thread;
    enum err_code rc;

    say(slow.holder, "SELECT pg_advisory_lock(84)");
    assert_int_equal(pthread_create(&thread, NULL, end_commit, &slow), 0);
    fault_arm("store.commit_under_way", 1);
    rc = create("", ret_load, NULL);
    fault_disarm();
    atomic_store(&slow.over, true);
    pthread_join(thread, NULL);
    PQfinish(slow.holder);
    return rc;
}

static void a_commit_that_is_under_way_is_waited_for(void **state)
{
    const char *const end = "SELECT pg_advisory_unlock(84)";
    const char *const kill = "SELECT pg_terminate_backend(pid) FROM pg_locks"
                             " WHERE NOT granted AND locktype = 'advisory'";
    struct run_load load = {0};
    long leases;

    (void)state;
    pg_fixture_ask("CREATE FUNCTION wait_84() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN PERFORM pg_advisory_xact_lock(84); RETURN NULL; END'");
    pg_fixture_ask("CREATE CONSTRAINT TRIGGER wait_84 AFTER INSERT ON runs"
                   " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_84()");
    leases = pg_fixture_count("SELECT count(*) FROM run_leases");
    assert_int_equal(create_slowly(end, &load), ERR_OK);
    assert_string_equal(status_of(load.run.id), "queued");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases"), leases + 1);
    assert_int_equal(create_slowly(kill, &load), ERR_STORE);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases"), leases + 1);
    pg_fixture_ask("DROP TRIGGER wait_84 ON runs");
    end_run(&load);
}

/* A client's whole acquaintance with a run. False, with an outage's code, when the fault struck. */
static bool live(const char *thread)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load = {0}, accepted = {0}, cancelled = {0};
    enum cancel_outcome outcome;
    bool repeated, well = false;
    enum err_code rc;

    rc = create(thread, &load, NULL);
    if (rc)
        goto out;
    sample_ask_client(store, &load);
    rc = submit(&load.run, ids, 2, hash_one, &accepted, &repeated, NULL);
    if (rc)
        goto out;
    rc = store_run_cancel(store, PROJECT, thread, load.run.id, CONTEXT, &outcome, &cancelled,
                          NULL);
    well = rc == ERR_OK;
out:
    assert_true(rc == ERR_OK || rc == ERR_STORE);
    run_load_clear(&load);
    run_load_clear(&accepted);
    run_load_clear(&cancelled);
    return well;
}

/* Whatever statement fails: an error says so, nothing is half done, and the next call works. */
static void every_statement_may_fail(void **state)
{
    const char *const points[] = {"store.begin", "store.exec", "store.commit",
                                  "store.commit_unanswered", "store.commit_under_way"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        bool fired = true;

        for (unsigned visit = 1; fired; visit++) {
            char thread[ID_SIZE];
            bool well;

            assert_true(visit < 100);
            sample_thread(thread);
            fault_arm(points[i], visit);
            well = live(thread);
            fired = fault_fired();
            fault_disarm();
            assert_int_equal(well, !fired || i >= 3);
            /* A run without a lease, or a lease without a run, would be half of something. */
            assert_int_equal(
                pg_fixture_count("SELECT (SELECT count(*) FROM runs WHERE thread_id = '%s'"
                                 "  AND id NOT IN (SELECT run_id FROM run_leases))"
                                 " + (SELECT count(*) FROM run_leases"
                                 "  WHERE run_id NOT IN (SELECT id FROM runs))",
                                 thread),
                0);
            pg_fixture_ask("DELETE FROM run_leases");
            pg_fixture_ask("DELETE FROM runs WHERE thread_id = '%s'", thread);
        }
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_made_and_leased_in_one),
        cmocka_unit_test(a_thread_has_one_active_run),
        cmocka_unit_test(a_run_needs_a_thread),
        cmocka_unit_test(a_thread_can_be_made_with_its_run),
        cmocka_unit_test(of_runs_that_come_at_once_one_is_made),
        cmocka_unit_test(a_chain_is_read_oldest_first),
        cmocka_unit_test(a_chain_begins_with_a_response_that_has_ended),
        cmocka_unit_test(a_run_is_found_in_its_thread_only),
        cmocka_unit_test(runs_are_listed_in_pages_both_ways),
        cmocka_unit_test(items_of_a_run_are_listed_without_hidden_ones),
        cmocka_unit_test(metadata_is_replaced_or_kept),
        cmocka_unit_test(a_response_that_is_deleted_while_it_goes_on_leaves_nothing),
        cmocka_unit_test(exactly_the_required_answers_are_accepted),
        cmocka_unit_test(the_same_answers_again_are_no_error),
        cmocka_unit_test(answers_that_come_too_late_are_refused),
        cmocka_unit_test(of_two_submissions_at_once_one_is_accepted),
        cmocka_unit_test(cancelling_says_who_has_the_run),
        cmocka_unit_test(heartbeats_keep_what_is_ours),
        cmocka_unit_test(two_nodes_share_the_orphans_without_overlap),
        cmocka_unit_test(only_what_nobody_has_is_claimed_orphans_first),
        cmocka_unit_test(a_node_that_was_started_again_finds_its_runs_at_once),
        cmocka_unit_test(a_live_run_is_not_taken_from_its_owner),
        cmocka_unit_test(what_is_ours_but_does_not_live_here_is_given_back),
        cmocka_unit_test(a_claim_that_waited_takes_nothing),
        cmocka_unit_test(an_event_behind_the_last_state_leaves_the_log_open),
        cmocka_unit_test(a_state_without_events_closes_the_log_as_far_as_it_goes),
        cmocka_unit_test(foreground_responses_of_a_dead_node_fail),
        cmocka_unit_test(steps_come_with_their_items),
        cmocka_unit_test(partitions_are_made_and_dropped),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_commit_that_went_unanswered_is_looked_up),
        cmocka_unit_test(a_commit_that_is_under_way_is_waited_for),
        cmocka_unit_test(every_statement_may_fail),
#endif
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
