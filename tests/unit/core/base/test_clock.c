#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <time.h>

#include "core/base/clock.h"

static void the_monotonic_clock_does_not_go_back(void **state)
{
    uint64_t before = clock_mono_ns();

    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_mono_ns();

        assert_true(now >= before);
        before = now;
    }
}

static void the_wall_clock_agrees_with_the_seconds_of_the_system(void **state)
{
    time_t before = time(NULL);
    int64_t shown = clock_wall_us() / US_PER_SECOND;
    time_t after = time(NULL);

    (void)state;
    /* time() may lag behind by a tick of the kernel. */
    assert_true(shown >= before);
    assert_true(shown <= after + 1);
}

static void seconds_become_nanoseconds(void **state)
{
    (void)state;
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
