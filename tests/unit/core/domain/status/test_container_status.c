#include "core/domain/status/container_status.h"

#include "core/base/compiler.h"
#include "tests/support/test.h"

TEST(names_survive_a_round_trip)
{
    for (enum container_status s = CONTAINER_RUNNING; s < CONTAINER_STATUS_COUNT; s++)
        assert_int_equal(container_status_parse(container_status_name(s)), s);
    assert_int_equal(container_status_parse("none"), CONTAINER_STATUS_NONE);
    assert_int_equal(container_status_parse("active"), CONTAINER_STATUS_NONE);
}

TEST(only_a_running_container_is_used)
{
    for (enum container_status s = CONTAINER_RUNNING; s < CONTAINER_STATUS_COUNT; s++)
        assert_int_equal(container_status_next(s, CONTAINER_EV_USE),
                         s == CONTAINER_RUNNING ? CONTAINER_RUNNING : CONTAINER_STATUS_NONE);
}

TEST(no_event_brings_an_ended_container_back)
{
    for (enum container_status s = CONTAINER_EXPIRED; s < CONTAINER_STATUS_COUNT; s++)
        for (enum container_event event = 0; event < CONTAINER_EV_COUNT; event++) {
            enum container_status next = container_status_next(s, event);

            assert_true(next == CONTAINER_STATUS_NONE || next >= s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_survive_a_round_trip),
        cmocka_unit_test(only_a_running_container_is_used),
        cmocka_unit_test(no_event_brings_an_ended_container_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
