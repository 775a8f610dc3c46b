#include <time.h>

#include "core/base/clock.h"
#include "tests/support/test.h"

TEST(the_monotonic_clock_does_not_go_back)
{
    uint64_t before = clock_mono_ns();

    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_mono_ns();

        assert_true(now >= before);
        before = now;
    }
}

TEST(the_wall_clock_agrees_with_the_seconds_of_the_system)
{
    time_t before = time(NULL);
    int64_t shown = clock_wall_us() / US_PER_SECOND;
    time_t after = time(NULL);

    /* time() may lag behind by a tick of the kernel. */
    assert_true(shown >= before);
    assert_true(shown <= after + 1);
}

TEST(seconds_become_nanoseconds)
{
    assert_int_equal(clock_ns_from_seconds(0.25), 250 * NS_PER_MS);
    assert_int_equal(clock_ns_from_seconds(3600), 3600 * NS_PER_SECOND);
    assert_int_equal(clock_ns_from_seconds(0), 0);
    assert_int_equal(clock_ns_from_seconds(-1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_does_not_go_back),
        cmocka_unit_test(the_wall_clock_agrees_with_the_seconds_of_the_system),
        cmocka_unit_test(seconds_become_nanoseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
