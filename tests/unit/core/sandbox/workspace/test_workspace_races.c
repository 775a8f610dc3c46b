/* Writes that meet other writes, and names that are links. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

/* The last step before a new file goes to its place: a box writes now. */
static const char *other_path, *other_text;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    if (other_path) {
        AUTO_FREE char *path = mem_printf("%s/%s", ground_folder, other_path);

        if (other_text)
            ground_file(other_path, other_text);
        else
            assert_int_equal(remove(path), 0);
        other_path = NULL;
    }
    return __real_fsync(fd);
}

static enum err_code write_as(enum workspace_place place, const char *path, const char *text)
{
    struct workspace_target target = {.path = path, .place = place};

    if (place == WORKSPACE_SAME)
        assert_int_equal(workspace_stat(ground_workspace, path, &target.expected, &err),
                         ERR_OK);
    return workspace_write(ground_workspace, &target, text, strlen(text), NULL, &err);
}

static void assert_holds(const char *path, const char *expected)
{
    AUTO_FREE char *text = ground_text(path);

    assert_string_equal(text, expected);
}

static bool is_link(const char *path)
{
    AUTO_FREE char *name = mem_printf("%s/%s", ground_folder, path);
    struct stat found;

    return lstat(name, &found) == 0 && S_ISLNK(found.st_mode);
}

TEST(a_write_just_before_the_exchange_is_kept)
{
    ground_file("a", "read");
    other_path = "a";
    other_text = "written by the box";
    assert_int_equal(write_as(WORKSPACE_SAME, "a", "mine"), ERR_CONFLICT);
    assert_string_equal(err.text, "a was changed since it was read. Read it again.");
    assert_holds("a", "written by the box");
}

TEST(a_file_that_goes_just_before_the_exchange_stays_away)
{
    AUTO_FREE char *path = mem_printf("%s/a", ground_folder);

    ground_file("a", "read");
    other_path = "a";
    other_text = NULL;
    assert_int_equal(write_as(WORKSPACE_SAME, "a", "mine"), ERR_CONFLICT);
    assert_int_not_equal(access(path, F_OK), 0);
}

TEST(the_version_that_was_read_is_replaced)
{
    ground_file("a", "read");
    assert_int_equal(write_as(WORKSPACE_SAME, "a", "mine"), ERR_OK);
    assert_holds("a", "mine");
}

TEST(writing_by_the_name_of_a_link_keeps_the_link)
{
    ground_make_folder("sub");
    ground_file("sub/target", "old");
    ground_link("sub/target", "link");
    ground_link("link", "second");
    ground_link("sub", "folder");
    assert_int_equal(write_as(WORKSPACE_ANY, "link", "new"), ERR_OK);
    assert_true(is_link("link"));
    assert_holds("sub/target", "new");
    assert_int_equal(write_as(WORKSPACE_SAME, "second", "newer"), ERR_OK);
    assert_true(is_link("second") && is_link("link"));
    assert_holds("sub/target", "newer");
    assert_int_equal(write_as(WORKSPACE_ANY, "folder/target", "newest"), ERR_OK);
    assert_true(is_link("folder"));
    assert_holds("sub/target", "newest");
    assert_int_equal(write_as(WORKSPACE_FREE, "link", "x"), ERR_CONFLICT);
}

int main(void)
{
#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)
    const struct CMUnitTest tests[] = {
        GROUNDED(a_write_just_before_the_exchange_is_kept),
        GROUNDED(a_file_that_goes_just_before_the_exchange_stays_away),
        GROUNDED(the_version_that_was_read_is_replaced),
        GROUNDED(writing_by_the_name_of_a_link_keeps_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
