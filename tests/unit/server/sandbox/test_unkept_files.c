#include "server/sandbox/unkept_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

TEST(each_file_has_a_line_with_its_reason)
{
    struct unkept_files unkept = {0};

    assert_null(unkept_files_take(&unkept));
    unkept_files_add(&unkept, "a.bin", "it is too large");
    unkept_files_add(&unkept, "b\n\"c", "there is no room");

    AUTO_FREE char *text = unkept_files_take(&unkept);

    assert_string_equal(text, "The user does not get \"a.bin\": it is too large.\n"
                              "The user does not get \"b\\n\\\"c\": there is no room.");
    assert_null(unkept_files_take(&unkept));
}

TEST(what_is_too_much_is_counted)
{
    struct unkept_files unkept = {0};

    for (size_t i = 0; i < UNKEPT_NAMED + 3; i++)
        unkept_files_add(&unkept, "a", "no");

    AUTO_FREE char *text = unkept_files_take(&unkept);

    assert_non_null(strstr(text, "\": no.\nNor does the user get 3 more files."));
}

TEST(a_long_path_is_cut_between_characters)
{
    struct unkept_files unkept = {0};
    char path[2 * UNKEPT_PATH_BYTES] = "x";

    for (size_t i = 1; i + 2 < sizeof(path); i += 2)
        memcpy(path + i, "é", 3);
    unkept_files_add(&unkept, path, "no");

    AUTO_FREE char *text = unkept_files_take(&unkept);

    assert_non_null(strstr(text, "é...\": no."));
    assert_true(strlen(text) < UNKEPT_PATH_BYTES + 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_has_a_line_with_its_reason),
        cmocka_unit_test(what_is_too_much_is_counted),
        cmocka_unit_test(a_long_path_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
