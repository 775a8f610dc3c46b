/*
 * The promises of slots.h: the order in which runs are served, and what a limit holds back.
 *
 * Each test is a small play with up to six runs, whose projects are letters. take() says whether a run has a
 * slot at once; `served` of a run that had to wait says as which it was served, 0 if it was not. One thread
 * suffices: slots have one lock and no waits, so threads could only change the order of the calls.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/run/engine/slots.h"
#include "tests/support/test.h"

#define WAITERS 6

/* The limits of every project; a test sets them before its first call. */
static struct tenant_limits limits;

static struct tenant tenant_of(const char *project)
{
    struct tenant tenant = tenant_of_project(project);

    tenant.limits = limits;
    return tenant;
}

struct waiting_run {
    struct slot_waiter waiter;
    struct tenant tenant;
    unsigned served; /* as the n-th */
};

static struct waiting_run runs[WAITERS];
static unsigned served;

static void note(struct slot_waiter *waiter)
{
    CONTAINER_OF(waiter, struct waiting_run, waiter)->served = ++served;
}

static bool take(struct slots *slots, unsigned number, const char *project)
{
    struct slot_waiter *waiter = &runs[number].waiter;

    runs[number].tenant = tenant_of(project);
    waiter->tenant = &runs[number].tenant;
    waiter->ready = note;
    return slots_take(slots, waiter);
}

static void give(struct slots *slots, const char *project)
{
    const struct tenant tenant = tenant_of(project);

    slots_give(slots, &tenant);
}

static bool hold(struct slots *slots, const char *project)
{
    const struct tenant tenant = tenant_of(project);

    return slots_hold(slots, &tenant);
}

static void unhold(struct slots *slots, const char *project)
{
    const struct tenant tenant = tenant_of(project);

    slots_unhold(slots, &tenant);
}

static int begin(void **state)
{
    (void)state;
    memset(runs, 0, sizeof(runs));
    served = 0;
    limits = (struct tenant_limits){0};
    return 0;
}

TEST(slots_serve_the_queue_in_order)
{
    struct slots *slots = slots_new(&(struct slots_limits){.node = 1});

    assert_true(take(slots, 0, "a"));
    assert_false(take(slots, 1, "a"));
    assert_false(take(slots, 2, "b"));
    give(slots, "a");
    assert_int_equal(runs[1].served, 1);
    assert_int_equal(runs[2].served, 0);
    give(slots, "a");
    assert_int_equal(runs[2].served, 2);
    give(slots, "b");
    assert_true(take(slots, 3, "c"));
    slots_free(slots);
}

TEST(slots_of_a_full_project_do_not_delay_other_projects)
{
    struct slots *slots = slots_new(&(struct slots_limits){.node = 2});

    limits.runs = 1;
    assert_true(take(slots, 0, "a"));
    assert_false(take(slots, 1, "a"));
    assert_true(take(slots, 2, "b"));
    assert_false(take(slots, 3, "c"));
    give(slots, "b");
    assert_int_equal(runs[1].served, 0);
    assert_int_equal(runs[3].served, 1);
    give(slots, "a");
    assert_int_equal(runs[1].served, 2);
    slots_free(slots);
}

TEST(slots_alternate_between_projects)
{
    struct slots *slots = slots_new(&(struct slots_limits){.node = 1});

    assert_true(take(slots, 0, "a"));
    for (unsigned i = 1; i < 4; i++)
        assert_false(take(slots, i, "a"));
    assert_false(take(slots, 4, "b"));
    for (unsigned i = 0; i < 4; i++)
        give(slots, i == 2 ? "b" : "a");
    assert_int_equal(runs[1].served, 1);
    assert_int_equal(runs[4].served, 2);
    assert_int_equal(runs[2].served, 3);
    assert_int_equal(runs[3].served, 4);
    slots_free(slots);
}

TEST(slots_waiters_can_leave_from_anywhere_in_the_queue)
{
    struct slots *slots = slots_new(&(struct slots_limits){.node = 2});

    limits.runs = 1;
    assert_true(take(slots, 0, "a"));
    assert_true(take(slots, 1, "b"));
    for (unsigned i = 2; i < 5; i++)
        assert_false(take(slots, i, "a"));
    assert_true(slots_leave(slots, &runs[3].waiter)); /* from the middle, the end, the front */
    assert_true(slots_leave(slots, &runs[4].waiter));
    assert_true(slots_leave(slots, &runs[2].waiter));
    give(slots, "a");
    give(slots, "b");
    assert_int_equal(served, 0);
    assert_true(take(slots, 5, "a"));
    give(slots, "a");
    slots_free(slots);
}

/* Searching the queue for each of them would take two thousand million steps. The time is the thread's own,
 * so a busy machine does not matter. */
TEST(slots_are_fast_with_a_long_queue)
{
    static struct waiting_run crowd[65536];
    struct tenant tenant;
    struct slots *slots = slots_new(&(struct slots_limits){.node = 2});
    uint64_t start = clock_thread_ns();

    limits.runs = 1;
    tenant = tenant_of("a");
    for (size_t i = 0; i < COUNT_OF(crowd); i++) {
        crowd[i].waiter.tenant = &tenant;
        crowd[i].waiter.ready = note;
        (void)slots_take(slots, &crowd[i].waiter);
    }
    for (size_t i = 0; i < COUNT_OF(crowd); i++) {
        assert_true(take(slots, 0, "b"));
        give(slots, "b");
    }
    for (size_t i = COUNT_OF(crowd); i-- > 1;)
        assert_true(slots_leave(slots, &crowd[i].waiter));
    assert_true(clock_thread_ns() - start < 5 * NS_PER_SECOND);
    slots_free(slots);
}

TEST(slots_waiters_that_leave_are_not_served)
{
    struct slots *slots = slots_new(&(struct slots_limits){.node = 1});

    assert_true(take(slots, 0, "a"));
    assert_false(take(slots, 1, "a"));
    assert_false(take(slots, 2, "a"));
    assert_true(slots_leave(slots, &runs[2].waiter));
    assert_false(take(slots, 3, "a"));
    give(slots, "a");
    assert_false(slots_leave(slots, &runs[1].waiter)); /* served meanwhile: it has one */
    give(slots, "a");
    assert_int_equal(runs[2].served, 0);
    assert_int_equal(runs[3].served, 2);
    slots_free(slots);
}

TEST(slots_queue_has_a_limit)
{
    struct slots *slots = slots_new(&(struct slots_limits){.node = 1, .queue = 2});

    assert_true(take(slots, 0, "a"));
    assert_false(take(slots, 1, "a"));
    assert_false(slots_queue_full(slots));
    assert_false(take(slots, 2, "a"));
    assert_true(slots_queue_full(slots));
    assert_true(slots_leave(slots, &runs[1].waiter));
    assert_false(slots_queue_full(slots));
    slots_free(slots);
}

TEST(slots_without_limits_are_always_free)
{
    struct slots *slots = slots_new(&(struct slots_limits){0});

    for (unsigned i = 0; i < WAITERS; i++)
        assert_true(take(slots, i, "a"));
    assert_false(slots_queue_full(slots));
    slots_free(slots);
}

/* F44. */
TEST(slots_of_a_project_can_be_held_by_some_runs_only)
{
    struct slots *slots = slots_new(&(struct slots_limits){0});

    limits.held = 2;
    for (unsigned i = 0; i < 3; i++)
        assert_true(take(slots, i, "a"));
    assert_true(take(slots, 3, "b"));
    assert_true(hold(slots, "a"));
    assert_true(hold(slots, "a"));
    assert_false(hold(slots, "a"));
    assert_true(hold(slots, "b"));
    unhold(slots, "a");
    assert_true(hold(slots, "a"));
    assert_false(hold(slots, "a"));
    slots_free(slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slots_serve_the_queue_in_order, begin),
        cmocka_unit_test_setup(slots_of_a_full_project_do_not_delay_other_projects, begin),
        cmocka_unit_test_setup(slots_alternate_between_projects, begin),
        cmocka_unit_test_setup(slots_waiters_can_leave_from_anywhere_in_the_queue, begin),
        cmocka_unit_test_setup(slots_are_fast_with_a_long_queue, begin),
        cmocka_unit_test_setup(slots_waiters_that_leave_are_not_served, begin),
        cmocka_unit_test_setup(slots_queue_has_a_limit, begin),
        cmocka_unit_test_setup(slots_without_limits_are_always_free, begin),
        cmocka_unit_test_setup(slots_of_a_project_can_be_held_by_some_runs_only, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
