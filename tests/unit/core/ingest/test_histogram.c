#include "core/ingest/histogram.h"

#include "core/base/clock.h"
#include "tests/support/test.h"

static size_t count(const struct histogram *histogram, double up_to)
{
    size_t sum = 0;

    for (size_t i = 0; i < HISTOGRAM_BOUNDS && histogram_bounds[i] <= up_to; i++)
        sum += histogram->counts[i];
    return sum;
}

TEST(times_are_counted_up_to_their_bound)
{
    static struct histogram histogram;

    histogram_add(&histogram, 0);
    histogram_add(&histogram, NS_PER_MS); /* exactly on a bound: not above it */
    histogram_add(&histogram, NS_PER_MS + 1);
    histogram_add(&histogram, 600 * NS_PER_SECOND); /* above all */
    assert_int_equal(count(&histogram, 0.001), 2);
    assert_int_equal(count(&histogram, 0.0025), 3);
    assert_int_equal(count(&histogram, 1000), 3);
    assert_int_equal(histogram.counts[HISTOGRAM_BOUNDS], 1);
    assert_int_equal(histogram.sum_ns, 600 * NS_PER_SECOND + 2 * NS_PER_MS + 1);
    for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
        assert_true(histogram_bounds[i] > histogram_bounds[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_counted_up_to_their_bound)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
