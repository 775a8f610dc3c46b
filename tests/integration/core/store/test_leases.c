/*
 * Which node has a run: leases, which node may claim one, and where a cancellation goes.
 *
 * Two stores on one database are two nodes. Time is not waited for: a lease expires by an UPDATE
 * of lease_until, and a dead node is an owner by whose name no store is open. Each test deletes
 * the leases that it leaves, because claiming takes whatever it finds.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/runs/runs.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/run_samples.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

TEST(renewals_keep_the_leases_of_this_node)
{
    char threads[3][ID_SIZE];
    struct run_load loads[3], cancelled;
    enum lease_state states[3];
    const char *ids[3];
    int64_t fences[3];
    enum cancel_outcome outcome;

    for (size_t i = 0; i < 3; i++) {
        sample_thread(threads[i]);
        loads[i] = sample_created(store, threads[i]);
        ids[i] = loads[i].run.id;
        fences[i] = loads[i].fence;
    }
    fences[1] = 9;
    assert_int_equal(store_run_cancel(store, TENANT, threads[2], ids[2], CONTEXT, &outcome,
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

    /* Another node renews nothing of it. */
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

/* Both claim at the same moment: each run must go to exactly one of them, and its fence grow by
 * one. */
TEST(two_nodes_share_the_orphans_without_overlap)
{
    struct claimer claimers[2] = {{.store = store}, {.store = other_store}};
    pthread_t threads[2];

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

static size_t claim_left(struct store *node)
{
    struct run_load *loads;
    size_t count;

    assert_int_equal(store_runs_claim(node, CLAIM_LEFT, 10, CONTEXT, &loads, &count, NULL),
                     ERR_OK);
    for (size_t i = 0; i < count; i++)
        run_load_clear(&loads[i]);
    free(loads);
    return count;
}

TEST(only_runs_without_a_live_owner_are_claimed_and_orphans_first)
{
    char threads[5][ID_SIZE], first[ID_SIZE];
    struct run_load loads[5];

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

/* Its lease has no owner: the node for which it was made claims it, and another one only when that is dead. */
TEST(a_run_that_was_made_for_a_node_waits_for_it)
{
    char threads[2][ID_SIZE], first[ID_SIZE];
    struct run_load loads[2];
    struct run_row runs[2];

    assert_int_equal(store_leases_renew(other_store, NULL, NULL, 0, NULL, NULL), ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        sample_thread(threads[i]);
        runs[i] = sample_run(threads[i], RUN_QUEUED);
        assert_int_equal(store_run_create(store,
                                          &(struct run_creation){.tenant = TENANT,
                                                                 .run = &runs[i],
                                                                 .context_limit = CONTEXT,
                                                                 .wanted_node = "node_other"},
                                          &loads[i], NULL),
                         ERR_OK);
        assert_int_equal(loads[i].fence, 0);
        assert_string_equal(loads[i].run.id, runs[i].id);
    }
    assert_int_equal(claim_all(store, 10, first), 0);
    assert_int_equal(claim_all(other_store, 1, first), 1);
    assert_string_equal(first, runs[0].id);
    pg_fixture_ask("UPDATE nodes SET seen_at = 0 WHERE id = 'node_other'");
    assert_int_equal(claim_left(store), 0);
    assert_int_equal(claim_all(store, 10, first), 1);
    assert_string_equal(first, runs[1].id);
    assert_string_equal(pg_fixture_ask("SELECT fence || ' ' || owner FROM run_leases"
                                       " WHERE run_id = '%s'",
                                       runs[1].id),
                        "2 node_test/boot_1");
    for (size_t i = 0; i < 2; i++) {
        run_load_clear(&loads[i]);
        run_row_clear(&runs[i]);
    }
    pg_fixture_ask("DELETE FROM run_leases");
}

/* A node that goes down begins nothing more, and what waits for it would wait until it is dead. */
TEST(a_run_that_was_made_for_a_node_that_goes_down_is_claimed_by_another)
{
    char thread[ID_SIZE], first[ID_SIZE];
    struct run_load load;
    struct run_row run;

    assert_int_equal(store_leases_renew(other_store, NULL, NULL, 0, NULL, NULL), ERR_OK);
    sample_thread(thread);
    run = sample_run(thread, RUN_QUEUED);
    assert_int_equal(store_run_create(store,
                                      &(struct run_creation){.tenant = TENANT,
                                                             .run = &run,
                                                             .context_limit = CONTEXT,
                                                             .wanted_node = "node_other"},
                                      &load, NULL),
                     ERR_OK);
    assert_int_equal(claim_all(store, 10, first), 0);
    store_begin_draining(other_store);
    assert_int_equal(store_leases_renew(other_store, NULL, NULL, 0, NULL, NULL), ERR_OK);
    assert_int_equal(claim_all(store, 10, first), 1);
    assert_string_equal(first, run.id);
    run_load_clear(&load);
    run_row_clear(&run);
    pg_fixture_ask("DELETE FROM run_leases; UPDATE nodes SET draining = false");
}

TEST(a_node_that_was_started_again_finds_its_runs_at_once)
{
    const struct store_options options = {.node_id = "node_test/boot_2"};
    struct store *reborn = pg_fixture_store_with(&options);
    char thread[ID_SIZE], first[ID_SIZE];
    struct run_load load;

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

/* After the database stood still every lease has expired. This node keeps its own, and other nodes
 * get time to renew theirs. */
TEST(a_live_run_is_not_taken_from_its_owner)
{
    struct run_load *loads, load;
    char first[ID_SIZE];
    size_t count;

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

TEST(a_lease_whose_run_is_not_in_memory_is_given_back)
{
    struct run_load alive, forgotten, fresh;
    char thread[ID_SIZE], first[ID_SIZE];
    const char *ids[1];
    size_t count;

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

/* The claim waited longer than other nodes need to renew their leases. A store whose leases last
 * a microsecond has always waited too long. */
TEST(a_claim_that_waited_takes_nothing)
{
    const struct store_options options = {.node_id = "node_hasty/boot_1",
                                          .lease_seconds = 0.000001};
    struct store *hasty = pg_fixture_store_with(&options);
    struct run_load *loads, load;
    struct err err;
    size_t count;

    make_own(&load);
    assert_int_equal(store_runs_claim(hasty, CLAIM_ALL, 10, CONTEXT, &loads, &count, &err),
                     ERR_STORE);
    assert_string_equal(err.text, "the database stood still for a while");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases WHERE fence = 1"), 1);
    run_load_clear(&load);
    store_free(hasty);
    pg_fixture_ask("DELETE FROM run_leases");
}

/* A write of frames does not update the lease, so the end of the log is read from the log. */
TEST(a_state_without_events_closes_the_log_as_far_as_it_goes)
{
    struct run_load load, *claimed;
    char thread[ID_SIZE];
    struct run_write *write;
    struct item_row item;
    size_t count;

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

TEST(an_event_behind_the_last_state_leaves_the_log_open)
{
    struct run_load load, *claimed;
    char thread[ID_SIZE];
    struct run_write *write;
    struct item_row item;
    size_t count;

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

TEST(foreground_responses_of_a_dead_node_fail)
{
    struct run_row dead = sample_run("", RUN_IN_PROGRESS),
                   alive = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write;
    char first[ID_SIZE];
    size_t count;

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
    assert_int_equal(count, 0); /* this node's own */
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

/* ---- Cancelling ---- */

TEST(cancelling_says_where_the_run_is)
{
    char here[ID_SIZE], away[ID_SIZE], unowned[ID_SIZE];
    enum cancel_outcome outcome;
    struct run_load owned, foreign, waiting, load;
    struct err err;

    sample_thread(here);
    sample_thread(away);
    sample_thread(unowned);
    owned = sample_created(store, here);
    foreign = sample_created(other_store, away);
    waiting = sample_created(store, unowned);
    sample_ask_client(store, &waiting);

    assert_int_equal(
        store_run_cancel(store, TENANT, here, owned.run.id, CONTEXT, &outcome, &load, NULL),
        ERR_OK);
    assert_int_equal(outcome, CANCEL_OWNED_HERE);
    assert_int_equal(load.run.status, RUN_CANCELLING);
    assert_true(load.run.cancel_requested);
    run_load_clear(&load);

    assert_int_equal(
        store_run_cancel(store, TENANT, away, foreign.run.id, CONTEXT, &outcome, &load, NULL),
        ERR_OK);
    assert_int_equal(outcome, CANCEL_OWNED_AWAY);
    run_load_clear(&load);

    assert_int_equal(store_run_cancel(store, TENANT, unowned, waiting.run.id, CONTEXT, &outcome,
                                      &load, NULL),
                     ERR_OK);
    assert_int_equal(outcome, CANCEL_CLAIMED);
    assert_int_equal(load.fence, 2);
    assert_int_equal(load.call_count, 2);
    assert_null(load.run.required_action);

    assert_int_equal(store_run_cancel(store, TENANT, unowned, waiting.run.id, CONTEXT, &outcome,
                                      &foreign, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "Cannot cancel run with status 'cancelling'.");
    end_run(&load);
    assert_int_equal(store_run_cancel(store, TENANT, unowned, waiting.run.id, CONTEXT, &outcome,
                                      &foreign, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "Cannot cancel run with status 'completed'.");
    run_load_clear(&owned);
    run_load_clear(&foreign);
    run_load_clear(&waiting);
    pg_fixture_ask("DELETE FROM run_leases");
}

#ifdef RUNNEL_FAULTS
/* The sanitizer finds the leak, if it leaks. */
TEST(a_claim_that_fails_changes_nothing)
{
    struct run_load load, *claimed;
    char thread[ID_SIZE], first[ID_SIZE];
    size_t count;

    sample_thread(thread);
    load = sample_created(store, thread);
    pg_fixture_ask("UPDATE run_leases SET owner = 'node_dead/boot_1',"
                   " lease_until = '-infinity'");
    fault_arm("lease_read_log", 1);
    assert_int_equal(store_runs_claim(store, CLAIM_ALL, 1, CONTEXT, &claimed, &count, NULL),
                     ERR_STORE);
    assert_true(fault_fired());
    fault_disarm();
    assert_string_equal(pg_fixture_ask("SELECT owner FROM run_leases"), "node_dead/boot_1");
    assert_int_equal(claim_all(store, 1, first), 1);
    assert_string_equal(first, load.run.id);
    pg_fixture_ask("DELETE FROM run_leases");
    run_load_clear(&load);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelling_says_where_the_run_is),
        cmocka_unit_test(renewals_keep_the_leases_of_this_node),
        cmocka_unit_test(two_nodes_share_the_orphans_without_overlap),
        cmocka_unit_test(only_runs_without_a_live_owner_are_claimed_and_orphans_first),
        cmocka_unit_test(a_run_that_was_made_for_a_node_waits_for_it),
        cmocka_unit_test(a_run_that_was_made_for_a_node_that_goes_down_is_claimed_by_another),
        cmocka_unit_test(a_node_that_was_started_again_finds_its_runs_at_once),
        cmocka_unit_test(a_live_run_is_not_taken_from_its_owner),
        cmocka_unit_test(a_lease_whose_run_is_not_in_memory_is_given_back),
        cmocka_unit_test(a_claim_that_waited_takes_nothing),
        cmocka_unit_test(an_event_behind_the_last_state_leaves_the_log_open),
        cmocka_unit_test(a_state_without_events_closes_the_log_as_far_as_it_goes),
        cmocka_unit_test(foreground_responses_of_a_dead_node_fail),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_claim_that_fails_changes_nothing),
#endif
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
