#include "core/domain/status/upload_status.h"

#include "core/base/compiler.h"
#include "tests/support/test.h"

TEST(names_survive_a_round_trip)
{
    for (enum upload_status s = UPLOAD_PENDING; s < UPLOAD_STATUS_COUNT; s++)
        assert_int_equal(upload_status_parse(upload_status_name(s)), s);
    assert_int_equal(upload_status_parse("none"), UPLOAD_STATUS_NONE);
    assert_int_equal(upload_status_parse("Pending"), UPLOAD_STATUS_NONE);
}

TEST(an_upload_ends_once)
{
    for (enum upload_status s = UPLOAD_COMPLETED; s < UPLOAD_STATUS_COUNT; s++) {
        for (enum upload_event event = 0; event < UPLOAD_EV_COUNT; event++) {
            enum upload_status next = upload_status_next(s, event);

            assert_true(next == s || next == UPLOAD_STATUS_NONE);
        }
    }
}

TEST(what_has_happened_may_happen_again)
{
    static const enum upload_event ends[] = {UPLOAD_EV_COMPLETE, UPLOAD_EV_CANCEL,
                                             UPLOAD_EV_EXPIRE};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        enum upload_status ended = upload_status_next(UPLOAD_PENDING, ends[i]);

        for (size_t j = 0; j < COUNT_OF(ends); j++)
            assert_int_equal(upload_status_next(ended, ends[j]),
                             i == j ? ended : UPLOAD_STATUS_NONE);
    }
}

TEST(only_a_pending_upload_takes_parts)
{
    for (enum upload_status s = UPLOAD_PENDING; s < UPLOAD_STATUS_COUNT; s++)
        assert_int_equal(upload_status_next(s, UPLOAD_EV_PART),
                         s == UPLOAD_PENDING ? UPLOAD_PENDING : UPLOAD_STATUS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_survive_a_round_trip),
        cmocka_unit_test(an_upload_ends_once),
        cmocka_unit_test(what_has_happened_may_happen_again),
        cmocka_unit_test(only_a_pending_upload_takes_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
