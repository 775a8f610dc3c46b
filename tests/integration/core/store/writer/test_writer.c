/*
 * Writes of a run, from outside: each is handed over, and what comes back is compared with the
 * rows.
 *
 *   one write        stores everything that it carries, or nothing
 *   a second time    changes nothing: a group is repeated after a lost answer
 *   the fence        a write with an old one changes nothing and harms no other
 *
 * test_writer_groups.c has the writes of several runs.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/writer/writer.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/writer/writer_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* ---- One write ---- */

TEST(a_finished_response_is_one_write_without_a_lease)
{
    struct item_row *items;
    struct page page = {.limit = 10, .ascending = true};
    struct run_row run, found;
    size_t count;
    bool more;

    assert_int_equal(sample_put(store, finished_response(&run)), ERR_OK);
    assert_int_equal(leases_of(&run), 0);
    assert_int_equal(store_run_get(store, TENANT, NULL, run.id, &found, NULL), ERR_OK);
    assert_int_equal(found.status, RUN_COMPLETED);
    assert_int_equal(found.completed_at, run.completed_at);
    assert_int_equal(found.started_at, 0);
    assert_string_equal(found.config, run.config);
    assert_null(found.usage);
    run_row_clear(&found);

    assert_int_equal(
        store_run_items(store, TENANT, run.id, true, &page, &items, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(items[0].body, "{\"content\":\"say \\\"hi\\\"\"}");
    item_rows_free(items, count);
    run_row_clear(&run);
}

TEST(a_run_that_is_not_final_is_leased_to_this_node)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(pg_fixture_ask("SELECT owner || ' ' || fence || ' ' ||"
                                       " (lease_until > now()) FROM run_leases"
                                       " WHERE run_id = '%s'",
                                       run.id),
                        "node_test/boot_1 1 true");

    run.status = RUN_COMPLETED;
    write = sample_write(&run, 1);
    write->update = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(status_of(&run), "completed");
    assert_int_equal(leases_of(&run), 0);
    run_row_clear(&run);
}

TEST(what_is_written_twice_is_stored_once)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&run, 0, "{\"n\":1}");
    struct step_row step = sample_step(&run);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    sample_add_item(write, &item);
    sample_add_step(write, &step);
    assert_int_equal(sample_put(store, write), ERR_OK);

    item.body = mem_strdup("{\"n\":2}");
    step.status = STEP_COMPLETED;
    write = sample_write(&run, 1);
    sample_add_item(write, &item);
    sample_add_step(write, &step);
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(pg_fixture_ask("SELECT string_agg(body, '') FROM items"
                                       " WHERE run_id = '%s'",
                                       run.id),
                        "{\"n\":2}");
    assert_string_equal(pg_fixture_ask("SELECT string_agg(status, '') FROM run_steps"
                                       " WHERE run_id = '%s'",
                                       run.id),
                        "completed");
    run_row_clear(&run);
}

TEST(the_log_is_read_from_any_number_on)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);
    char *frames;
    size_t length;
    int64_t next;

    write->create = true;
    sample_add_log(write, 0, "event: a\ndata: 0\n\nevent: b\ndata: 1\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    write = sample_write(&run, 1);
    sample_add_log(write, 2, "event: c\ndata: 2\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);

    assert_int_equal(
        store_events_read(store, TENANT, run.id, 1, 1 << 20, &frames, &length, &next, NULL),
        ERR_OK);
    assert_string_equal(frames, "event: b\ndata: 1\n\nevent: c\ndata: 2\n\n");
    assert_int_equal(length, strlen(frames));
    assert_int_equal(next, 3);
    free(frames);

    /* Before there is anything to read, and from another project. */
    assert_int_equal(
        store_events_read(store, TENANT, run.id, 3, 1 << 20, &frames, &length, &next, NULL),
        ERR_OK);
    assert_int_equal(length, 0);
    assert_int_equal(next, 3);
    free(frames);
    assert_int_equal(store_events_read(store, TENANT_OF("proj_other"), run.id, 0, 1 << 20,
                                       &frames, &length, &next, NULL),
                     ERR_OK);
    assert_int_equal(length, 0);
    free(frames);

    /* A small limit gives at least the first chunk. */
    assert_int_equal(
        store_events_read(store, TENANT, run.id, 0, 1, &frames, &length, &next, NULL), ERR_OK);
    assert_int_equal(next, 2);
    free(frames);
    run_row_clear(&run);
}

/* ---- Fences ---- */

TEST(a_write_with_an_old_fence_changes_nothing)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&run, 0, "{}");
    struct call_row call = sample_call(&run, 0, "x");
    struct step_row step = sample_step(&run);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    pg_fixture_ask("UPDATE run_leases SET fence = 2 WHERE run_id = '%s'", run.id);

    run.status = RUN_COMPLETED;
    write = sample_write(&run, 1);
    write->update = true;
    sample_add_item(write, &item);
    sample_add_step(write, &step);
    sample_add_call(write, &call);
    sample_add_log(write, 0, "data: x\n\n");
    assert_int_equal(sample_put(store, write), ERR_CONFLICT);
    assert_string_equal(status_of(&run), "in_progress");
    assert_int_equal(leases_of(&run), 1);
    assert_int_equal(items_of(&run), 0);
    assert_int_equal(
        pg_fixture_count("SELECT (SELECT count(*) FROM run_events WHERE run_id = '%s')"
                         " + (SELECT count(*) FROM run_steps WHERE run_id = '%s')"
                         " + (SELECT count(*) FROM tool_calls WHERE run_id = '%s')",
                         run.id, run.id, run.id),
        0);
    run_row_clear(&run);
}

TEST(a_write_of_a_deleted_run_says_so)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&run, 0, "{}");
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(store_response_delete(store, TENANT, run.id, 0, NULL), ERR_OK);
    write = sample_write(&run, 1);
    sample_add_item(write, &item);
    assert_int_equal(sample_put(store, write), ERR_NOT_FOUND);
    assert_int_equal(items_of(&run), 0);
    run_row_clear(&run);
}

TEST(a_cancellation_reaches_the_owner_and_is_not_overwritten)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);
    enum cancel_outcome outcome;
    struct run_load load;

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_run_cancel(store, TENANT, NULL, run.id, CONTEXT, &outcome, &load, NULL), ERR_OK);
    assert_int_equal(outcome, CANCEL_OWNED_HERE);
    run_load_clear(&load);

    /* In passing, with a status, and when it wants to wait for its client. */
    for (int way = 0; way < 3; way++) {
        run.status = way == 2 ? RUN_REQUIRES_ACTION : RUN_IN_PROGRESS;
        write = sample_write(&run, 1);
        write->update = way > 0;
        write->release = way == 2;
        sample_add_log(write, way, "data: x\n\n");
        sample_hand_over(store, &write, 1);
        assert_int_equal(write->rc, ERR_OK);
        assert_true(write->cancel_requested);
        run_write_free(write);
        assert_string_equal(status_of(&run), "cancelling");
    }
    assert_string_equal(
        pg_fixture_ask("SELECT owner FROM run_leases WHERE run_id = '%s'", run.id),
        "node_test/boot_1");

    run.status = RUN_CANCELLED;
    write = sample_write(&run, 1);
    write->update = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(status_of(&run), "cancelled");
    run_row_clear(&run);
}

static const char *log_of(const struct run_row *run)
{
    return pg_fixture_ask(
        "SELECT string_agg(first_seq || '-' || last_seq, ' ' ORDER BY first_seq)"
        " || ' ' || (SELECT last_seq || '/' || state_seq FROM run_leases"
        "  WHERE run_id = '%s') FROM run_events WHERE run_id = '%s'",
        run->id, run->id);
}

/* A run whose log has two frames, and whose third says that it waits. */
static struct run_write *pausing(struct run_row *run)
{
    struct run_write *write = sample_write(run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    run->status = RUN_REQUIRES_ACTION;
    write = sample_write(run, 1);
    write->update = true;
    write->release = true;
    sample_add_log(write, 0, "data: x\n\ndata: y\n\ndata: waits\n\n");
    write->log_pause = strlen("data: waits\n\n");
    return write;
}

TEST(the_event_of_a_pause_is_logged_only_if_the_run_pauses)
{
    struct run_row waits = sample_run("", RUN_IN_PROGRESS);
    struct run_row cancelled = sample_run("", RUN_IN_PROGRESS);
    struct run_write *writes[] = {pausing(&waits), pausing(&cancelled)};
    enum cancel_outcome outcome;
    struct run_load load;

    assert_int_equal(
        store_run_cancel(store, TENANT, NULL, cancelled.id, CONTEXT, &outcome, &load, NULL),
        ERR_OK);
    run_load_clear(&load);
    sample_hand_over(store, writes, 2);
    assert_false(writes[0]->cancel_requested);
    assert_true(writes[1]->cancel_requested);
    run_write_free(writes[0]);
    run_write_free(writes[1]);
    assert_string_equal(log_of(&waits), "0-1 2-2 2/2");
    assert_string_equal(log_of(&cancelled), "0-1 1/1");
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id IN ('%s', '%s')", waits.id,
                   cancelled.id);
    run_row_clear(&waits);
    run_row_clear(&cancelled);
}

TEST(a_completed_turn_makes_up_for_the_deaths_before_it)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    pg_fixture_ask("UPDATE runs SET attempts = 4 WHERE id = '%s'", run.id);
    for (int turn = 0; turn < 2; turn++) {
        run.turn = turn;
        write = sample_write(&run, 1);
        write->update = true;
        assert_int_equal(sample_put(store, write), ERR_OK);
        assert_string_equal(pg_fixture_ask("SELECT attempts FROM runs WHERE id = '%s'", run.id),
                            turn ? "0" : "4");
    }
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id = '%s'", run.id);
    run_row_clear(&run);
}

TEST(a_run_that_has_ended_stays_as_it_is)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    pg_fixture_ask("UPDATE runs SET status = 'expired' WHERE id = '%s'", run.id);
    run.status = RUN_COMPLETED;
    write = sample_write(&run, 1);
    write->update = true;
    assert_int_equal(sample_put(store, write), ERR_CONFLICT);
    assert_string_equal(status_of(&run), "expired");
    run_row_clear(&run);
}

/* ---- Giving the lease back ---- */

static const char *lease_state(const struct run_row *run)
{
    return pg_fixture_ask(
        "SELECT CASE WHEN owner IS NOT NULL THEN 'owned'"
        " WHEN wait_until IS NULL THEN 'free'"
        " ELSE 'waits ' || wait_until END FROM run_leases WHERE run_id = '%s'",
        run->id);
}

TEST(a_released_run_waits_for_its_client_or_may_be_claimed)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);
    char expected[64];

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(lease_state(&run), "owned");

    run.status = RUN_REQUIRES_ACTION;
    write = sample_write(&run, 1);
    write->update = true;
    write->release = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    snprintf(expected, sizeof(expected), "waits %lld", (long long)run.expires_at);
    assert_string_equal(lease_state(&run), expected);

    write = sample_write(&run, 1);
    write->release = true;
    write->ready = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(lease_state(&run), "free");
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id = '%s'", run.id);
    run_row_clear(&run);
}

TEST(a_run_that_is_released_without_a_status_may_be_claimed)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);

    write = sample_write(&run, 1);
    run_row_clear(write->run);
    free(TAKE(write->run));
    write->release = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(lease_state(&run), "free");
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id = '%s'", run.id);
    run_row_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_response_is_one_write_without_a_lease),
        cmocka_unit_test(a_run_that_is_not_final_is_leased_to_this_node),
        cmocka_unit_test(what_is_written_twice_is_stored_once),
        cmocka_unit_test(the_log_is_read_from_any_number_on),
        cmocka_unit_test(a_write_with_an_old_fence_changes_nothing),
        cmocka_unit_test(a_write_of_a_deleted_run_says_so),
        cmocka_unit_test(a_cancellation_reaches_the_owner_and_is_not_overwritten),
        cmocka_unit_test(the_event_of_a_pause_is_logged_only_if_the_run_pauses),
        cmocka_unit_test(a_completed_turn_makes_up_for_the_deaths_before_it),
        cmocka_unit_test(a_run_that_has_ended_stays_as_it_is),
        cmocka_unit_test(a_released_run_waits_for_its_client_or_may_be_claimed),
        cmocka_unit_test(a_run_that_is_released_without_a_status_may_be_claimed),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
