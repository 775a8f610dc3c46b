#include "core/domain/status/call_status.h"
#include "tests/support/test.h"

#define for_each_status(s) for (enum call_status s = CALL_PROPOSED; s < CALL_STATUS_COUNT; s++)
#define for_each_event(e)  for (enum call_event e = 0; e < CALL_EV_COUNT; e++)

/* Statuses that `from` leads to by any number of events, as bits. */
static unsigned reachable(enum call_status from)
{
    unsigned seen = 1u << from;

    for (int round = 0; round < CALL_STATUS_COUNT; round++) {
        for_each_status (status) {
            for_each_event (event) {
                if (seen & 1u << status)
                    seen |= 1u << call_status_next(status, event);
            }
        }
    }
    return seen & ~(1u << CALL_STATUS_NONE);
}

TEST(a_final_status_never_changes)
{
    for_each_status (status) {
        for_each_event (event) {
            if (call_status_is_final(status))
                assert_int_equal(call_status_next(status, event), CALL_STATUS_NONE);
        }
    }
}

TEST(every_call_can_come_to_an_end)
{
    for_each_status (status) {
        unsigned finals = 0;

        for_each_status (end)
            finals |= call_status_is_final(end) ? 1u << end : 0;
        assert_true(reachable(status) & finals);
    }
}

TEST(every_status_is_reached_from_a_proposed_call)
{
    for_each_status (status)
        assert_true(reachable(CALL_PROPOSED) & 1u << status);
}

/* What a tool may do to the world happens once, and only in one status. */
TEST(only_an_admitted_call_is_executed)
{
    for_each_status (status) {
        bool may = call_status_next(status, CALL_EV_EXECUTE) != CALL_STATUS_NONE;

        assert_int_equal(may, status == CALL_ADMITTED);
    }
    assert_false(reachable(CALL_EXECUTING) & 1u << CALL_ADMITTED);
}

TEST(a_refused_call_is_never_executed)
{
    assert_int_equal(reachable(CALL_REFUSED), 1u << CALL_REFUSED | 1u << CALL_REJECTED);
    assert_int_equal(reachable(CALL_LIMITED), 1u << CALL_LIMITED | 1u << CALL_SKIPPED);
}

TEST(a_call_that_needs_an_approval_waits_for_its_answer)
{
    for_each_event (event) {
        enum call_status next = call_status_next(CALL_ASKED, event);

        if (event != CALL_EV_APPROVE && event != CALL_EV_REFUSE)
            assert_int_equal(next, CALL_STATUS_NONE);
    }
}

/* A call is the client's, due here, over, or set aside: one of them. */
TEST(every_status_has_one_owner)
{
    for_each_status (status) {
        int owners = call_status_is_due(status) + (status == CALL_ASKED) +
                     (call_status_is_final(status) || status == CALL_OPEN);

        assert_int_equal(owners, 1);
        assert_int_equal(call_status_is_clients(status),
                         status == CALL_OPEN || status == CALL_ANSWERED);
        assert_non_null(call_status_name(status));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_final_status_never_changes),
        cmocka_unit_test(every_call_can_come_to_an_end),
        cmocka_unit_test(every_status_is_reached_from_a_proposed_call),
        cmocka_unit_test(only_an_admitted_call_is_executed),
        cmocka_unit_test(a_refused_call_is_never_executed),
        cmocka_unit_test(a_call_that_needs_an_approval_waits_for_its_answer),
        cmocka_unit_test(every_status_has_one_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
