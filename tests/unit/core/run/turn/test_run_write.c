#include "core/base/clock.h"
#include "core/run/turn/run_write.h"
#include "tests/support/test.h"

#define MOST (200 * NS_PER_MS)

TEST(few_streams_are_flushed_every_25_ms)
{
    assert_int_equal(run_flush_interval_ns(0, MOST), 25 * NS_PER_MS);
    assert_int_equal(run_flush_interval_ns(250, MOST), 25 * NS_PER_MS);
}

TEST(many_streams_together_write_a_number_of_chunks)
{
    for (size_t flows = 250; flows <= 2000; flows += 50) {
        uint64_t interval = run_flush_interval_ns(flows, MOST);

        assert_int_equal(flows * NS_PER_SECOND / interval, 10000);
    }
}

TEST(no_stream_waits_longer_than_the_setting)
{
    assert_int_equal(run_flush_interval_ns(100000, MOST), MOST);
    assert_int_equal(run_flush_interval_ns(100000, 0), 25 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_streams_are_flushed_every_25_ms),
        cmocka_unit_test(many_streams_together_write_a_number_of_chunks),
        cmocka_unit_test(no_stream_waits_longer_than_the_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
