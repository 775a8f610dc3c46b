/* How workspaces go: their name is free at once, and everything a box can leave is removed. */

#include "core/sandbox/workspace/workspace_trash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

static void discard(void)
{
    assert_int_equal(workspace_discard(ground, "proj_a", "cntr_a", &err), ERR_OK);
}

/* Steps of `budget`, until nothing is left. Returns how many. */
static unsigned empty(size_t budget)
{
    unsigned steps = 1;

    while (workspace_trash_empty(ground, budget))
        steps++;
    assert_int_equal(ground_count("workspaces/.trash"), 0);
    return steps;
}

TEST(a_discarded_workspace_is_missing_and_its_name_is_free)
{
    struct workspace *workspace = NULL;

    ground_file("a", "old");
    discard();
    discard();
    assert_int_equal(workspace_open(ground, "proj_a", "cntr_a", &workspace, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(ground_count("workspaces/proj_a"), 0);
    assert_int_equal(workspace_make(ground, "proj_a", "cntr_a", 0, &workspace, &err), ERR_OK);
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a/data"), 0);
    assert_int_equal(ground_count("workspaces/.trash"), 1);
    workspace_close(workspace);
    empty(100);
}

TEST(a_project_keeps_its_other_workspaces)
{
    struct workspace *other = NULL;

    assert_int_equal(workspace_make(ground, "proj_a", "cntr_b", 0, &other, &err), ERR_OK);
    workspace_close(other);
    discard();
    assert_int_equal(ground_count("workspaces/proj_a"), 1);
    assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
    assert_int_equal(workspace_discard(ground, "..", "cntr_b", &err), ERR_INVALID);
}

TEST(a_removal_has_a_budget)
{
    for (unsigned i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%u", i);
        ground_file(name, "");
    }
    discard();
    assert_true(workspace_trash_empty(ground, 5));
    assert_int_equal(ground_count("workspaces/.trash"), 1);
    /* Files, data, the container's folder. */
    assert_in_range(empty(5), 3, 5);
}

/* The next start knows nothing of the last one but its trash. */
TEST(a_removal_goes_on_after_a_crash)
{
    ground_make_folder("a/b/c");
    ground_file("a/b/c/d", "");
    ground_file("a/e", "");
    discard();
    assert_true(workspace_trash_empty(ground, 2));
    ground_reopen(GROUND_BYTES, GROUND_FILES, 0);
    empty(100);
}

TEST(links_in_the_trash_are_not_followed)
{
    AUTO_FREE char *outside = mem_printf("%s/outside", ground_dir);
    AUTO_FREE char *file = mem_printf("%s/outside/file", ground_dir);
    int fd;

    assert_int_equal(mkdir(outside, 0500), 0);
    assert_int_equal(chmod(outside, 0700), 0);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);
    close(fd);
    assert_int_equal(chmod(outside, 0500), 0);
    ground_link("../../../../outside", "folder");
    ground_link(outside, "absolute");
    ground_link("../../../../outside/file", "file");
    discard();
    empty(100);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(chmod(outside, 0700), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(outside), 0);
}

TEST(odd_names_and_kinds_go_too)
{
    char longest[256] = "";
    AUTO_FREE char *fifo = mem_printf("%s/fifo", ground_folder);

    memset(longest, 'n', 255);
    ground_file(longest, "");
    ground_file("a\nb", "");
    ground_file("\xff\xfe", "");
    ground_file(" ", "");
    ground_file("-rf", "");
    ground_file("*", "");
    ground_make_folder("...");
    assert_int_equal(mkfifo(fifo, 0), 0);
    discard();
    empty(100);
}

static void descend(unsigned levels, mode_t mode)
{
    int fd = open(ground_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (unsigned i = 0; i < levels; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        next = openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        if (i)
            assert_int_equal(fchmodat(fd, ".", mode, 0), 0);
        close(fd);
        fd = next;
    }
    close(fd);
}

TEST(ten_thousand_levels_are_removed_with_few_descriptors)
{
    struct rlimit before, few;

    descend(10000 / (unsigned)CASE_STRIDE, 0700);
    discard();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){100, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    empty(1000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Also as an ordinary user, whom modes bind. */
TEST(folders_without_rights_are_removed)
{
    descend(100, 0000);
    discard();
    empty(1000);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(a_discarded_workspace_is_missing_and_its_name_is_free),
        GROUNDED(a_project_keeps_its_other_workspaces),
        GROUNDED(a_removal_has_a_budget),
        GROUNDED(a_removal_goes_on_after_a_crash),
        GROUNDED(links_in_the_trash_are_not_followed),
        GROUNDED(odd_names_and_kinds_go_too),
        GROUNDED(ten_thousand_levels_are_removed_with_few_descriptors),
        GROUNDED(folders_without_rights_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
