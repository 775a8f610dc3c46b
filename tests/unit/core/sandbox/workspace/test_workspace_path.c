/* Paths as models write them: what they mean, what is outside, and what an error shows. */

#include "core/sandbox/workspace/workspace_path.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static void assert_means(const char *text, const char *expected)
{
    AUTO_FREE char *path = NULL;
    struct err err;

    assert_int_equal(workspace_path_parse(text, &path, &err), ERR_OK);
    assert_string_equal(path, expected);
}

static void assert_refused(const char *text, enum err_code code, const char *sentence)
{
    char *path = NULL;
    struct err err;

    assert_int_equal(workspace_path_parse(text, &path, &err), code);
    assert_string_equal(err.text, sentence);
    assert_null(path);
}

TEST(three_ways_to_write_a_path_mean_the_same)
{
    assert_means("report.csv", "report.csv");
    assert_means("/report.csv", "report.csv");
    assert_means("/mnt/data/report.csv", "report.csv");
    assert_means("./plots/../report.csv", "report.csv");
    assert_means("//mnt//data/./a//b/", "a/b");
    assert_means("/mnt/data/../data/a", "a");
    assert_means("/../a", "a");
    assert_means("etc/passwd", "etc/passwd");
    assert_means("/etcetera", "etcetera");
    assert_means("/mnt/data/etc/passwd", "etc/passwd");
    assert_means("...", "...");
    assert_means("a/..b", "a/..b");
}

TEST(the_folder_itself_is_a_dot)
{
    assert_means("/", ".");
    assert_means(".", ".");
    assert_means("/mnt/data", ".");
    assert_means("/mnt/data/", ".");
    assert_means("a/..", ".");
}

TEST(paths_of_the_system_are_outside)
{
    assert_refused("/etc/passwd", ERR_FORBIDDEN, "/etc/passwd is outside of the workspace.");
    assert_refused("/mnt/data/../../etc/passwd", ERR_FORBIDDEN,
                   "/mnt/data/../../etc/passwd is outside of the workspace.");
    assert_refused("..", ERR_FORBIDDEN, ".. is outside of the workspace.");
    assert_refused("a/../../b", ERR_FORBIDDEN, "a/../../b is outside of the workspace.");
    assert_refused("/mnt/database", ERR_FORBIDDEN,
                   "/mnt/database is outside of the workspace.");
    assert_refused("/mnt", ERR_FORBIDDEN, "/mnt is outside of the workspace.");
    assert_refused("/proc", ERR_FORBIDDEN, "/proc is outside of the workspace.");
}

TEST(a_path_is_neither_empty_nor_endless)
{
    AUTO_FREE char *longest = mem_zeroed(WORKSPACE_PATH_LIMIT + 2, 1);

    assert_refused("", ERR_INVALID, "The path is empty.");
    memset(longest, 'a', WORKSPACE_PATH_LIMIT);
    assert_means(longest, longest);
    longest[WORKSPACE_PATH_LIMIT] = 'a';
    assert_refused(longest, ERR_INVALID, "The path has more than 4095 bytes.");
}

TEST(an_error_shows_a_path_as_one_line_of_text)
{
    char text[402] = "/etc/\n\t\x1b\xff\xc2\x85";
    struct err err;

    assert_int_equal(workspace_path_outside(text, &err), ERR_FORBIDDEN);
    assert_string_equal(err.text, "/etc/???\xef\xbf\xbd? is outside of the workspace.");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    workspace_path_outside(text, &err);
    assert_int_equal(strlen(err.text), 200 + strlen("... is outside of the workspace."));
}

TEST(boxes_see_another_path)
{
    AUTO_FREE char *file = workspace_path_in_box("a/b"), *folder = workspace_path_in_box(".");

    assert_string_equal(file, "/mnt/data/a/b");
    assert_string_equal(folder, "/mnt/data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_ways_to_write_a_path_mean_the_same),
        cmocka_unit_test(the_folder_itself_is_a_dot),
        cmocka_unit_test(paths_of_the_system_are_outside),
        cmocka_unit_test(a_path_is_neither_empty_nor_endless),
        cmocka_unit_test(an_error_shows_a_path_as_one_line_of_text),
        cmocka_unit_test(boxes_see_another_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
