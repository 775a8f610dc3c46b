#include "core/domain/status/approval_status.h"
#include "tests/support/test.h"

#define for_each_approval(s) \
    for (enum approval_status s = APPROVAL_PENDING; s < APPROVAL_STATUS_COUNT; s++)
#define for_each_approval_event(e) for (enum approval_event e = 0; e < APPROVAL_EV_COUNT; e++)

TEST(test_names_survive_a_round_trip)
{
    for_each_approval(status)
        assert_int_equal(approval_status_parse(approval_status_name(status)), status);
    assert_int_equal(approval_status_parse("none"), APPROVAL_STATUS_NONE);
    assert_int_equal(approval_status_parse("Approved"), APPROVAL_STATUS_NONE);
}

/* F46. */
TEST(test_the_first_answer_wins)
{
    for_each_approval(status)
    {
        for_each_approval_event(event)
        {
            enum approval_status next = approval_status_next(status, event);

            if (status != APPROVAL_PENDING)
                assert_true(next == status || next == APPROVAL_STATUS_NONE);
        }
    }
    assert_int_equal(approval_status_next(APPROVAL_PENDING, APPROVAL_EV_APPROVE),
                     APPROVAL_APPROVED);
    assert_int_equal(approval_status_next(APPROVAL_PENDING, APPROVAL_EV_REJECT),
                     APPROVAL_REJECTED);
}

/* F46. */
TEST(test_repeating_an_answer_is_harmless_and_contradicting_it_a_conflict)
{
    assert_int_equal(approval_status_next(APPROVAL_APPROVED, APPROVAL_EV_APPROVE),
                     APPROVAL_APPROVED);
    assert_int_equal(approval_status_next(APPROVAL_REJECTED, APPROVAL_EV_REJECT),
                     APPROVAL_REJECTED);
    assert_int_equal(approval_status_next(APPROVAL_APPROVED, APPROVAL_EV_REJECT),
                     APPROVAL_STATUS_NONE);
    assert_int_equal(approval_status_next(APPROVAL_REJECTED, APPROVAL_EV_APPROVE),
                     APPROVAL_STATUS_NONE);
}

/* F46. */
TEST(test_an_expired_approval_cannot_be_answered)
{
    assert_int_equal(approval_status_next(APPROVAL_PENDING, APPROVAL_EV_EXPIRE),
                     APPROVAL_EXPIRED);
    assert_int_equal(approval_status_next(APPROVAL_EXPIRED, APPROVAL_EV_APPROVE),
                     APPROVAL_STATUS_NONE);
    assert_int_equal(approval_status_next(APPROVAL_APPROVED, APPROVAL_EV_EXPIRE),
                     APPROVAL_APPROVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_survive_a_round_trip),
        cmocka_unit_test(test_the_first_answer_wins),
        cmocka_unit_test(test_repeating_an_answer_is_harmless_and_contradicting_it_a_conflict),
        cmocka_unit_test(test_an_expired_approval_cannot_be_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
