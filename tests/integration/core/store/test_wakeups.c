/*
 * Hints between nodes. Two stores on one database are two nodes; a plain session that listens to
 * the channel of all nodes, and to that of a node "test", reads the notifications as they are
 * sent.
 *
 * Hints may be sent together or apart, depending on when the thread wakes up. Where a test is
 * about being together, it tries again until it was quick enough; it never sleeps. What must not
 * be sent at all is shown by a later hint that arrives while the other has not.
 */

#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/store/cluster/leases.h"
#include "core/store/cluster/wakeups.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/patience.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* For what should come at once. */
#define PATIENCE_NS patience_ns(60)

#define RECEIVED_LIMIT 64

/* A node that notes the hints that it receives. */
struct node {
    struct store *store;
    const char *channel;
    struct lock lock;
    pthread_cond_t changed;
    struct wakeup
        received[RECEIVED_LIMIT]; /* guarded by lock, as all below; those not taken yet */
    size_t count;
    struct wakeup taken; /* the last one that was taken */
};

static struct node first, second;

static void receive(void *arg, const struct wakeup *wakeup)
{
    struct node *node = arg;

    lock_acquire(&node->lock);
    if (node->count <
        RECEIVED_LIMIT) /* on the thread for wake-ups, where cmocka cannot assert */
        node->received[node->count++] = *wakeup;
    pthread_cond_broadcast(&node->changed);
    lock_release(&node->lock);
}

static bool take_received_locked(struct node *node, enum wakeup_kind kind, const char *run_id)
    REQUIRES(node->lock)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->received[i].kind != kind || strcmp(node->received[i].run_id, run_id) != 0)
            continue;
        node->taken = node->received[i];
        node->received[i] = node->received[--node->count];
        return true;
    }
    return false;
}

/* Waits for this hint, and takes it. */
static bool receives(struct node *node, enum wakeup_kind kind, const char *run_id)
{
    uint64_t deadline = clock_mono_ns() + PATIENCE_NS;
    bool found;

    lock_acquire(&node->lock);
    while (!(found = take_received_locked(node, kind, run_id)) &&
           lock_wait_until(&node->lock, &node->changed, deadline))
        continue;
    lock_release(&node->lock);
    return found;
}

static size_t count_received(struct node *node)
{
    size_t count;

    lock_acquire(&node->lock);
    count = node->count;
    lock_release(&node->lock);
    return count;
}

static void forget_received(struct node *node)
{
    lock_acquire(&node->lock);
    node->count = 0;
    lock_release(&node->lock);
}

/* Idle sessions whose last statement was the LISTEN for this node's own channel. */
static long listeners(const struct node *node)
{
    return pg_fixture_count("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle'"
                            " AND query = 'LISTEN \"%s\"'",
                            node->channel);
}

static void start(struct node *node)
{
    assert_int_equal(store_wakeups_start(node->store, receive, node, NULL), ERR_OK);
}

/* Earlier connections may still be listed for a moment; their last statement is the same. */
static void await_listening(const struct node *node)
{
    while (!listeners(node))
        continue;
}

static void renew(struct node *node)
{
    assert_int_equal(store_leases_renew(node->store, NULL, NULL, 0, NULL, NULL), ERR_OK);
}

static void open_node(struct node *node, const char *node_id, const char *channel)
{
    const struct store_options options = {.node_id = node_id};

    node->store = pg_fixture_store_with(&options);
    node->channel = channel;
    lock_init(&node->lock, LOCK_KEEPER);
    lock_cond_init(&node->changed);
}

static void close_node(struct node *node)
{
    store_wakeups_stop(node->store);
    pthread_cond_destroy(&node->changed);
    lock_destroy(&node->lock);
}

/* ---- One node alone ---- */

/* A session that receives the hints for all nodes, and those for the node "test". */
static PGconn *listen_in(void)
{
    PGconn *connection = PQconnectdb(pg_fixture_url());

    PQclear(PQexec(connection, "LISTEN runnel; LISTEN runnel_test"));
    return connection;
}

/* Channel and text of the next notification; the caller frees. */
static char *next_notice(PGconn *connection)
{
    struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
    PGnotify *notice;
    char *text;

    while (!(notice = PQnotifies(connection))) {
        assert_int_equal(poll(&socket, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
        assert_int_equal(PQconsumeInput(connection), 1);
    }
    text = mem_printf("%s: %s", notice->relname, notice->extra);
    PQfreemem(notice);
    return text;
}

static void assert_notice(PGconn *connection, const char *expected)
{
    AUTO_FREE char *text = next_notice(connection);

    assert_string_equal(text, expected);
}

/* Alone, it sends hints to named nodes only. The second renewal finds another node. */
TEST(a_node_that_is_alone_sends_nothing_to_all)
{
    PGconn *connection = listen_in();

    start(&first);
    await_listening(&first);
    renew(&first);
    store_wake_others(first.store, WAKEUP_CLAIM, NULL);
    store_wake_node(first.store, "test/boot_9", WAKEUP_CANCEL, "run_x");
    assert_notice(connection, "runnel_test: cancel run_x\n");

    renew(&second);
    renew(&first);
    assert_notice(connection, "runnel: hello\n");
    store_wake_others(first.store, WAKEUP_CLAIM, NULL);
    assert_notice(connection, "runnel: claim\n");
    PQfinish(connection);
}

static void forget_peers(struct node *node)
{
    store_note_peers(node->store, PEERS_NONE, store_hints_received(node->store));
}

/* The keeper renews before the thread that greets has started. */
TEST(a_node_that_found_others_before_it_listened_greets_them_then)
{
    PGconn *connection = listen_in();

    forget_peers(&first);
    start(&second); /* its renewal was before */
    assert_notice(connection, "runnel: hello\n");
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_greeted");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_greeted"));
    assert_true(store_has_peers(first.store));
    PQfinish(connection);
}

/* Another node may have greeted before. So the keeper looks for others after this node has begun to listen. */
TEST(a_node_that_begins_to_listen_assumes_that_it_has_missed_hints)
{
    forget_received(&second);
    store_wakeups_stop(second.store);
    forget_peers(&second);
    start(&second);
    assert_true(receives(&second, WAKEUP_MISSED, ""));
    await_listening(&second);
}

/* The greeting came after the renewal had looked and before it said what it saw. */
TEST(a_renewal_that_saw_no_other_node_does_not_undo_a_greeting)
{
    unsigned received = store_hints_received(second.store);

    renew(&first);
    store_wake_node(first.store, "node_second", WAKEUP_CANCEL, "run_meanwhile");
    assert_true(receives(&second, WAKEUP_CANCEL, "run_meanwhile"));
    store_note_peers(second.store, PEERS_NONE, received);
    assert_true(store_has_peers(second.store));
}

/* The first has not renewed its leases since then: it learns of the second by the greeting,
 * which it does not answer. */
TEST(a_new_node_greets_the_others)
{
    PGconn *connection = listen_in();

    forget_peers(&first);
    forget_peers(&second);
    renew(&second);
    assert_notice(connection, "runnel: hello\n");
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_known");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_known"));
    store_wake_others(first.store, WAKEUP_CLAIM, NULL);
    assert_notice(connection, "runnel: claim\n");
    assert_true(receives(&second, WAKEUP_CLAIM, ""));
    PQfinish(connection);
}

/* ---- Two ---- */

/* On the calling thread: a session does not receive its own notifications. */
TEST(a_hint_to_all_arrives_here_too)
{
    store_wake_all(second.store, WAKEUP_ANSWERED, "resp_for_all");
    assert_true(count_received(&second) >= 1);
    assert_true(receives(&second, WAKEUP_ANSWERED, "resp_for_all"));
    assert_true(receives(&first, WAKEUP_ANSWERED, "resp_for_all"));
}

TEST(hints_of_one_round_are_one_notification)
{
    PGconn *connection = listen_in();
    AUTO_FREE char *text = NULL;

    /* Again if the thread has taken the first of them before the others were queued. */
    do {
        free(text);
        store_wake_node(first.store, "test", WAKEUP_CANCEL, "run_a");
        store_wake_node(first.store, "node_second", WAKEUP_CANCEL, "run_c");
        store_wake_node(first.store, "test", WAKEUP_CANCEL, "run_b");
        store_wake_node(first.store, "test", WAKEUP_CANCEL, "run_b");
        text = next_notice(connection);
        assert_true(receives(&second, WAKEUP_CANCEL, "run_c"));
    } while (strcmp(text, "runnel_test: cancel run_a\ncancel run_b\n") != 0);
    PQfinish(connection);
}

TEST(many_hints_are_sent_in_pieces)
{
    PGconn *connection = listen_in();
    size_t received = 0, length = 0;

    for (unsigned i = 0; i < 1000; i++) {
        AUTO_FREE char *run_id = mem_printf("run_%060u", i);

        store_wake_node(first.store, "test", WAKEUP_CANCEL, run_id);
    }
    /* Hints of the last test may still arrive. */
    while (received < 1000) {
        AUTO_FREE char *text = next_notice(connection);

        length = strlen(text);
        assert_true(length < 8000);
        for (const char *at = text; (at = strstr(at, "cancel run_0")); at++)
            received++;
    }
    assert_int_equal(received, 1000);
    PQfinish(connection);
}

/* Whether the hint that was queued last was sent first. */
static bool cancel_overtakes(PGconn *connection)
{
    bool overtook = false;

    store_wake_node(first.store, "test", WAKEUP_EVENTS, "run_a");
    store_wake_node(first.store, "test", WAKEUP_EVENTS, "run_b");
    store_wake_node(first.store, "test", WAKEUP_CANCEL, "run_c");
    for (unsigned lines = 0; lines < 3;) {
        AUTO_FREE char *text = next_notice(connection);

        overtook = overtook || (!lines && strstr(text, ": cancel run_c\n"));
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            lines++;
    }
    return overtook;
}

TEST(a_cancel_does_not_wait_behind_streams)
{
    PGconn *connection = listen_in();
    unsigned tries = 0;

    /* Again if the thread has taken the hints of streams before the cancel was queued. */
    while (!cancel_overtakes(connection))
        assert_true(++tries < 1000);
    PQfinish(connection);
}

TEST(the_owner_is_notified_of_a_cancel)
{
    enum cancel_outcome outcome;
    struct run_load owned, load;
    char thread[ID_SIZE];

    sample_thread(thread);
    owned = sample_created(first.store, thread);
    assert_int_equal(store_run_cancel(second.store, TENANT, thread, owned.run.id, CONTEXT,
                                      &outcome, &load, NULL),
                     ERR_OK);
    assert_int_equal(outcome, CANCEL_OWNED_AWAY);
    assert_true(receives(&first, WAKEUP_CANCEL, owned.run.id));
    run_load_clear(&load);
    run_load_clear(&owned);
}

/* The node that follows knows only the run. No node is notified of a run of the sender's own, or of
 * one that no node owns. */
TEST(the_owner_learns_which_node_follows)
{
    struct run_load away, own;
    char thread[ID_SIZE];

    forget_received(&second);
    sample_thread(thread);
    away = sample_created(first.store, thread);
    sample_thread(thread);
    own = sample_created(second.store, thread);
    store_wake_followed(second.store, TENANT, own.run.id);
    store_wake_followed(second.store, TENANT, "run_unknown");
    store_wake_followed(second.store, TENANT, away.run.id);
    store_wake_followed(second.store, TENANT, away.run.id);
    assert_true(receives(&first, WAKEUP_FOLLOW, away.run.id));
    assert_string_equal(first.taken.node, "node_second");
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_last");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_last"));
    forget_received(&first); /* the two hints about it may have been sent apart */
    assert_int_equal(count_received(&second), 0);
    run_load_clear(&away);
    run_load_clear(&own);
}

TEST(a_node_that_is_alone_sends_no_follow_hints)
{
    struct run_load away;
    char thread[ID_SIZE];

    sample_thread(thread);
    away = sample_created(first.store, thread);
    forget_peers(&second);
    store_wake_followed(second.store, TENANT, away.run.id);
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_last");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_last"));
    assert_int_equal(count_received(&first), 0);
    renew(&second);
    run_load_clear(&away);
}

TEST(all_nodes_learn_that_a_run_has_moved)
{
    enum cancel_outcome outcome;
    struct run_load waiting, claimed;
    char thread[ID_SIZE];

    sample_thread(thread);
    waiting = sample_created(first.store, thread);
    pg_fixture_ask("UPDATE run_leases SET owner = NULL WHERE run_id = '%s'", waiting.run.id);
    assert_int_equal(store_run_cancel(second.store, TENANT, thread, waiting.run.id, CONTEXT,
                                      &outcome, &claimed, NULL),
                     ERR_OK);
    assert_int_equal(outcome, CANCEL_CLAIMED);
    assert_true(receives(&first, WAKEUP_MOVED, waiting.run.id));
    run_load_clear(&waiting);
    run_load_clear(&claimed);
}

TEST(lines_of_unknown_kinds_are_skipped)
{
    AUTO_FREE char *long_id = mem_printf("%0200d", 1);

    pg_fixture_ask("SELECT pg_notify('runnel_node_first', E'\\n \\ndance run_1\\ncancel %s\\n"
                   "cancel\\ncancel run_2')",
                   long_id);
    assert_true(receives(&first, WAKEUP_CANCEL, ""));
    assert_true(receives(&first, WAKEUP_CANCEL, "run_2"));
    assert_int_equal(count_received(&first), 0);
}

/* ---- When the connection is lost ---- */

static void hang_up(const struct node *node)
{
    while (!pg_fixture_count("SELECT count(pg_terminate_backend(pid, 5000))"
                             " FROM pg_stat_activity WHERE query = 'LISTEN \"%s\"'",
                             node->channel))
        continue;
}

TEST(a_lost_connection_is_made_again)
{
    store_wakeups_stop(first.store);
    start(&first);
    assert_true(receives(&first, WAKEUP_MISSED, "")); /* it listens, and there are others */
    for (unsigned i = 0; i < 3; i++) {
        hang_up(&first);
        assert_true(receives(&first, WAKEUP_MISSED, ""));
        store_wake_node(second.store, "node_first/boot_1", WAKEUP_CANCEL, "run_after");
        assert_true(receives(&first, WAKEUP_CANCEL, "run_after"));
    }
}

/* While the connection is lost, more hints are queued than the queue holds. */
TEST(a_cancel_is_not_dropped_for_streams)
{
    hang_up(&first);
    for (unsigned i = 0; i < 20000; i++)
        store_wake_node(first.store, "test", WAKEUP_EVENTS, "run_a");
    store_wake_node(first.store, "node_second", WAKEUP_CANCEL, "run_after_much");
    assert_true(receives(&second, WAKEUP_CANCEL, "run_after_much"));
    assert_true(receives(&first, WAKEUP_MISSED, ""));
}

#ifdef RUNNEL_FAULTS

static void connecting_is_repeated_after(const char *point, unsigned visit)
{
    store_wakeups_stop(first.store);
    fault_arm(point, visit);
    start(&first);
    assert_true(receives(&first, WAKEUP_MISSED, ""));
    assert_true(fault_fired());
    fault_disarm();
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_after");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_after"));
}

TEST(a_connection_that_fails_is_tried_again)
{
    connecting_is_repeated_after("wakeups.connect", 1);
    connecting_is_repeated_after("wakeups.listen", 1);
    connecting_is_repeated_after("wakeups.listen", 2);
}

#define MANY_HINTS 9000

/* Queued while there is no connection, so that all hints wait when there is one. */
static void gather_stream_hints(void)
{
    store_wakeups_stop(first.store);
    fault_arm("wakeups.connect", 1);
    start(&first);
    for (unsigned i = 0; i < MANY_HINTS; i++) {
        AUTO_FREE char *run_id = mem_printf("run_%u", i);

        store_wake_node(first.store, "test", WAKEUP_EVENTS, run_id);
    }
}

/* A cancel that is queued while hints of streams are being sent: whether it comes before the last
 * of them. */
static bool cancel_interrupts(PGconn *connection)
{
    bool last = false;

    gather_stream_hints();
    for (unsigned lines = 0; lines < MANY_HINTS + 1;) {
        AUTO_FREE char *text = next_notice(connection);

        if (!lines)
            store_wake_node(first.store, "test", WAKEUP_CANCEL, "run_c");
        last = strstr(text, ": cancel run_c\n");
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            lines++;
    }
    assert_true(fault_fired());
    fault_disarm();
    return !last;
}

TEST(a_cancel_is_sent_between_portions_of_stream_hints)
{
    PGconn *connection = listen_in();
    unsigned tries = 0;

    /* Again if this thread was held up until all of them were sent. */
    while (!cancel_interrupts(connection))
        assert_true(++tries < 20);
    PQfinish(connection);
    forget_received(&first);
}

static void the_next_hint_arrives(void)
{
    assert_true(receives(&second, WAKEUP_MISSED, "")); /* its connection broke */
    assert_true(fault_fired());
    fault_disarm();
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_next");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_next"));
    assert_int_equal(count_received(&first), 0);
}

TEST(hints_that_could_not_be_sent_are_dropped)
{
    forget_received(&second);
    fault_arm("wakeups_send", 1);
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_lost");
    the_next_hint_arrives();
    fault_arm("wakeups_follow", 1);
    store_wake_followed(second.store, TENANT, "run_unknown");
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_not_lost");
    assert_true(receives(&first, WAKEUP_CANCEL, "run_not_lost"));
    the_next_hint_arrives();
}

#endif

TEST(queued_hints_are_sent_before_the_thread_ends)
{
    for (unsigned i = 0; i < 5; i++) {
        AUTO_FREE char *run_id = mem_printf("run_last_%u", i);

        store_wake_node(second.store, "node_first", WAKEUP_CANCEL, run_id);
    }
    store_wakeups_stop(second.store);
    for (unsigned i = 0; i < 5; i++) {
        AUTO_FREE char *run_id = mem_printf("run_last_%u", i);

        assert_true(receives(&first, WAKEUP_CANCEL, run_id));
    }
    store_wake_node(second.store, "node_first", WAKEUP_CANCEL, "run_too_late");
}

static int set_up(void **state)
{
    (void)state;
    open_node(&first, "node_first/boot_1", "runnel_node_first");
    open_node(&second, "node_second/boot_1", "runnel_node_second");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_node(&first);
    close_node(&second);
    store_free(second.store);
    pg_fixture_end(first.store);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_is_alone_sends_nothing_to_all),
        cmocka_unit_test(a_node_that_found_others_before_it_listened_greets_them_then),
        cmocka_unit_test(a_node_that_begins_to_listen_assumes_that_it_has_missed_hints),
        cmocka_unit_test(a_renewal_that_saw_no_other_node_does_not_undo_a_greeting),
        cmocka_unit_test(a_new_node_greets_the_others),
        cmocka_unit_test(a_hint_to_all_arrives_here_too),
        cmocka_unit_test(hints_of_one_round_are_one_notification),
        cmocka_unit_test(many_hints_are_sent_in_pieces),
        cmocka_unit_test(a_cancel_does_not_wait_behind_streams),
        cmocka_unit_test(the_owner_is_notified_of_a_cancel),
        cmocka_unit_test(the_owner_learns_which_node_follows),
        cmocka_unit_test(a_node_that_is_alone_sends_no_follow_hints),
        cmocka_unit_test(all_nodes_learn_that_a_run_has_moved),
        cmocka_unit_test(lines_of_unknown_kinds_are_skipped),
        cmocka_unit_test(a_lost_connection_is_made_again),
        cmocka_unit_test(a_cancel_is_not_dropped_for_streams),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_connection_that_fails_is_tried_again),
        cmocka_unit_test(a_cancel_is_sent_between_portions_of_stream_hints),
        cmocka_unit_test(hints_that_could_not_be_sent_are_dropped),
#endif
        cmocka_unit_test(queued_hints_are_sent_before_the_thread_ends),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
