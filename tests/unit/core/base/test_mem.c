#include <malloc.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

TEST(new_memory_is_zero)
{
    AUTO_FREE int *numbers = mem_new_array(int, 1000);

    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], 0);
}

TEST(allocating_nothing_gives_a_pointer_that_can_be_freed)
{
    AUTO_FREE void *none = mem_zeroed(0, 8);
    AUTO_FREE void *resized = mem_resize(NULL, 0, 8);

    assert_non_null(none);
    assert_non_null(resized);
}

TEST(copies_are_exact)
{
    AUTO_FREE char *text = mem_strdup("text");
    AUTO_FREE char *part = mem_strndup("te\0xt", 4);
    AUTO_FREE char *made = mem_printf("%s-%d", "n", 12);

    assert_string_equal(text, "text");
    assert_memory_equal(part, "te\0x", 5);
    assert_string_equal(made, "n-12");
    assert_null(mem_strdup(NULL));
}

TEST(taking_leaves_null_behind)
{
    char *kept;
    AUTO_FREE char *local = mem_strdup("mine");

    kept = TAKE(local);
    assert_null(local);
    assert_string_equal(kept, "mine");
    free(kept);
}

/* The number of blocks with a mapping of their own while one of `size` bytes is allocated. */
static size_t mappings_with(size_t size)
{
    AUTO_FREE char *block = mem_zeroed(size, 1);

    return mallinfo2().hblks;
}

TEST(large_blocks_return_to_the_system_even_after_larger_ones)
{
    size_t before = mappings_with(1);

    mem_give_back_early();
    if (mappings_with((size_t)32 << 20) == before)
        skip(); /* a sanitizer's malloc does not count them */
    assert_int_equal(mappings_with((size_t)32 << 20), before + 1);
    assert_int_equal(mappings_with((size_t)1 << 20), before + 1);
    assert_int_equal(mappings_with(1), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zero),
        cmocka_unit_test(allocating_nothing_gives_a_pointer_that_can_be_freed),
        cmocka_unit_test(copies_are_exact),
        cmocka_unit_test(taking_leaves_null_behind),
        cmocka_unit_test(large_blocks_return_to_the_system_even_after_larger_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
