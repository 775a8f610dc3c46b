#include "server/sandbox/sandboxes.h"

#include <unistd.h>

#include "server/config/config.h"
#include "tests/support/test.h"

#define GIB ((uint64_t)1 << 30)

static uint64_t largest(uint64_t all, uint64_t most)
{
    const struct config config = {.sandbox_memory = all, .sandbox_memory_max = most};

    return sandboxes_largest(&config);
}

TEST(the_largest_container_is_one_that_can_run)
{
    assert_int_equal(largest(8 * GIB, 4 * GIB), 4 * GIB);
    assert_int_equal(largest(2 * GIB, 4 * GIB), 2 * GIB);
    assert_int_equal(largest(GIB / 2, 4 * GIB), GIB);
}

TEST(all_boxes_have_half_of_the_machine_if_no_setting_says_otherwise)
{
    uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

    assert_int_equal(largest(0, UINT64_MAX), half > GIB ? half : GIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_container_is_one_that_can_run),
        cmocka_unit_test(all_boxes_have_half_of_the_machine_if_no_setting_says_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
