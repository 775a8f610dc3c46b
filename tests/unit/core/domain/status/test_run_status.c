#include "core/base/compiler.h"
#include "core/domain/status/run_status.h"
#include "tests/support/test.h"

TEST(status_names_survive_a_round_trip)
{
    for_each_status (status)
        assert_int_equal(run_status_parse(run_status_name(status)), status);
    assert_int_equal(run_status_parse("no such status"), RUN_STATUS_NONE);
}

TEST(status_final_matches_what_the_api_calls_terminal)
{
    for_each_status (status) {
        bool final = status == RUN_CANCELLED || status == RUN_COMPLETED ||
                     status == RUN_INCOMPLETE || status == RUN_FAILED || status == RUN_EXPIRED;

        assert_int_equal(run_status_is_final(status), final);
    }
}

TEST(status_final_never_changes)
{
    for_each_status (status) {
        if (!run_status_is_final(status))
            continue;
        for_each_event (event) {
            if (event != RUN_EV_TAKE_BACK)
                assert_int_equal(run_status_next(status, event), RUN_STATUS_NONE);
        }
    }
}

TEST(status_only_an_end_or_a_pause_is_taken_back)
{
    for_each_status (status) {
        enum run_status next = run_status_next(status, RUN_EV_TAKE_BACK);

        /* A cancelled run was stopped by others, who may have stored that. */
        if ((run_status_is_final(status) && status != RUN_CANCELLED) ||
            status == RUN_REQUIRES_ACTION)
            assert_int_equal(next, RUN_IN_PROGRESS);
        else
            assert_int_equal(next, RUN_STATUS_NONE);
    }
}

/* The peer's run could not expire while it was in progress, and stayed so for ever. */
TEST(status_bella_A2_every_live_run_can_expire_and_fail)
{
    for_each_status (status) {
        if (run_status_is_final(status))
            continue;
        assert_int_equal(run_status_next(status, RUN_EV_EXPIRE), RUN_EXPIRED);
        assert_int_equal(run_status_next(status, RUN_EV_FAIL), RUN_FAILED);
    }
}

/* The peer's cancel of a waiting run left it cancelling for ever. */
TEST(status_bella_A4_cancelling_always_has_an_end)
{
    assert_int_equal(run_status_next(RUN_QUEUED, RUN_EV_CANCEL), RUN_CANCELLING);
    assert_int_equal(run_status_next(RUN_IN_PROGRESS, RUN_EV_CANCEL), RUN_CANCELLING);
    assert_int_equal(run_status_next(RUN_REQUIRES_ACTION, RUN_EV_CANCEL), RUN_CANCELLING);
    assert_int_equal(run_status_next(RUN_CANCELLING, RUN_EV_STOPPED), RUN_CANCELLED);
    for_each_event (event) {
        enum run_status next = run_status_next(RUN_CANCELLING, event);

        if (next != RUN_STATUS_NONE)
            assert_true(run_status_is_final(next));
    }
}

TEST(status_only_the_client_moves_requires_action_back_to_work)
{
    for_each_event (event) {
        enum run_status next = run_status_next(RUN_REQUIRES_ACTION, event);

        if (event == RUN_EV_TAKE_BACK)
            continue; /* the pause was never stored: the client does not know of it */
        if (next != RUN_STATUS_NONE && next != RUN_CANCELLING && !run_status_is_final(next))
            assert_int_equal(event, RUN_EV_SUBMIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_names_survive_a_round_trip),
        cmocka_unit_test(status_final_matches_what_the_api_calls_terminal),
        cmocka_unit_test(status_final_never_changes),
        cmocka_unit_test(status_only_an_end_or_a_pause_is_taken_back),
        cmocka_unit_test(status_bella_A2_every_live_run_can_expire_and_fail),
        cmocka_unit_test(status_bella_A4_cancelling_always_has_an_end),
        cmocka_unit_test(status_only_the_client_moves_requires_action_back_to_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
