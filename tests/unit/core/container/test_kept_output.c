/* What is kept of a program's output: both ends, within the limit, and where figures stand between them. */

#include "core/container/kept_output.h"

#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static void add(struct kept_output *kept, const char *text)
{
    kept_output_add(kept, text, strlen(text));
}

static void assert_text(const struct kept_output *kept, uint64_t from, uint64_t to,
                        const char *expected)
{
    AUTO_FREE char *text = kept_output_text(kept, from, to);

    assert_string_equal(text, expected);
}

TEST(within_the_limit_all_is_kept)
{
    struct kept_output kept = {.limit = 10};

    assert_text(&kept, 0, 0, "");
    add(&kept, "abc");
    assert_text(&kept, 0, 3, "abc");
    add(&kept, "defghij");
    assert_text(&kept, 0, 10, "abcdefghij");
    assert_int_equal(kept_output_dropped(&kept), 0);
    kept_output_clear(&kept);
}

TEST(beyond_it_the_middle_is_left_out_and_counted)
{
    struct kept_output kept = {.limit = 10};

    for (char letter = 'a'; letter <= 'z'; letter++)
        kept_output_add(&kept, &letter, 1);
    assert_text(&kept, 0, kept.total, "abcde\n[... 16 bytes left out ...]\nvwxyz");
    assert_int_equal(kept_output_dropped(&kept), 16);
    /* All at once. */
    kept_output_clear(&kept);
    add(&kept, "abcdefghijklmnopqrstuvwxyz");
    assert_text(&kept, 0, kept.total, "abcde\n[... 16 bytes left out ...]\nvwxyz");
    kept_output_clear(&kept);
}

TEST(endless_output_takes_no_more_memory)
{
    static char piece[1000];
    struct kept_output kept = {.limit = 4096};

    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 10000; i++)
        kept_output_add(&kept, piece, sizeof(piece));
    assert_int_equal(kept.total, 10000000);
    assert_int_equal(kept_output_dropped(&kept), 10000000 - 4096);
    assert_true(kept.head.capacity + kept.tail.capacity < 3 * 4096);
    kept_output_clear(&kept);
}

TEST(a_part_of_it_says_only_what_that_part_lacks)
{
    struct kept_output kept = {.limit = 4};

    add(&kept, "abcdefghij"); /* ab......ij */
    assert_text(&kept, 0, 1, "a");
    assert_text(&kept, 1, 5, "b\n[... 3 bytes left out ...]\n");
    assert_text(&kept, 5, 7, "\n[... 2 bytes left out ...]\n");
    assert_text(&kept, 7, 10, "\n[... 1 bytes left out ...]\nij");
    assert_text(&kept, 9, 10, "j");
    kept_output_clear(&kept);
}

TEST(a_character_that_the_cut_divides_is_left_out)
{
    struct kept_output kept = {.limit = 8};

    add(&kept, "abc\xC3\xA4.....\xE2\x82\xAC"
               "de"); /* the cuts are within a two-byte and a three-byte character */
    assert_text(&kept, 0, kept.total, "abc\n[... 7 bytes left out ...]\nde");
    kept_output_clear(&kept);
}

TEST(bytes_that_are_no_text_are_replaced)
{
    struct kept_output kept = {.limit = 100};

    kept_output_add(&kept, "a\xFF\0b", 4);
    assert_text(&kept, 0, 4,
                "a\xEF\xBF\xBD\xEF\xBF\xBD"
                "b");
    kept_output_clear(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_the_limit_all_is_kept),
        cmocka_unit_test(beyond_it_the_middle_is_left_out_and_counted),
        cmocka_unit_test(endless_output_takes_no_more_memory),
        cmocka_unit_test(a_part_of_it_says_only_what_that_part_lacks),
        cmocka_unit_test(a_character_that_the_cut_divides_is_left_out),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
