/* Folders of the operator: their paths, what is below them, and what cannot be written. */

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

static struct workspace *open_root(bool writable)
{
    struct workspace *root = NULL;

    assert_int_equal(
        workspace_open_root(ground, "shared", ground_folder, writable, &root, &err), ERR_OK);
    return root;
}

TEST(a_path_in_a_root_has_its_name_and_the_rest)
{
    static const struct {
        const char *text, *root, *path;
    } paths[] = {
        {"/mnt/roots/shared/a/b", "shared", "a/b"},
        {"/mnt/roots/shared", "shared", "."},
        {"/mnt/./roots//shared/a/../b/", "shared", "b"},
        {"/mnt/data/../roots/shared/a", "shared", "a"},
        {"/mnt/roots/shared/../../../etc", NULL, NULL},
        {"/mnt/roots", NULL, NULL},
        {"/mnt/roots/", NULL, NULL},
        {"mnt/roots/shared/a", NULL, NULL},
        {"/mnt/data/a", NULL, NULL},
        {"/mnt/rootsx/shared", NULL, NULL},
    };

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        char *path = NULL;
        AUTO_FREE char *root = workspace_path_root(paths[i].text, &path);

        if (paths[i].root) {
            assert_string_equal(root, paths[i].root);
            assert_string_equal(path, paths[i].path);
        } else {
            assert_null(root);
        }
        free(path);
    }
}

TEST(a_root_is_read_by_its_own_paths_only)
{
    struct workspace *root = open_root(false);
    AUTO_BUF bytes = {0};
    AUTO_FREE char *shown = workspace_in_box(root, "a");

    ground_file("a", "text");
    ground_link("/etc/passwd", "out");
    assert_string_equal(shown, "/mnt/roots/shared/a");
    assert_int_equal(workspace_read(root, "/mnt/roots/shared/a", 100, &bytes, NULL, &err),
                     ERR_OK);
    assert_string_equal(bytes.data, "text");
    assert_int_equal(workspace_read(root, "a", 100, &bytes, NULL, &err), ERR_FORBIDDEN);
    assert_int_equal(workspace_read(root, "/mnt/roots/other/a", 100, &bytes, NULL, &err),
                     ERR_FORBIDDEN);
    assert_int_equal(workspace_read(root, "/mnt/roots/shared/out", 100, &bytes, NULL, &err),
                     ERR_FORBIDDEN);
    workspace_close(root);
}

TEST(only_a_writable_root_is_written_and_leaves_nothing_beside)
{
    const struct workspace_target target = {.path = "/mnt/roots/shared/new/a"};
    struct workspace *closed = open_root(false), *open = open_root(true);
    AUTO_FREE char *text = NULL;

    assert_int_equal(workspace_write(closed, &target, "x", 1, NULL, &err), ERR_FORBIDDEN);
    assert_string_equal(err.text, "/mnt/roots/shared can only be read.");
    assert_int_equal(workspace_remove(closed, "/mnt/roots/shared/a", &err), ERR_FORBIDDEN);
    assert_int_equal(workspace_write(open, &target, "x", 1, NULL, &err), ERR_OK);
    text = ground_text("new/a");
    assert_string_equal(text, "x");
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a/data"), 1);
    workspace_close(closed);
    workspace_close(open);
}

TEST(what_is_no_folder_is_no_root)
{
    struct workspace *root = NULL;

    assert_int_equal(workspace_open_root(ground, "a", "/none", true, &root, &err), ERR_INVALID);
    assert_int_equal(workspace_open_root(ground, "a", "/etc/passwd", true, &root, &err),
                     ERR_INVALID);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(a_path_in_a_root_has_its_name_and_the_rest),
        GROUNDED(a_root_is_read_by_its_own_paths_only),
        GROUNDED(only_a_writable_root_is_written_and_leaves_nothing_beside),
        GROUNDED(what_is_no_folder_is_no_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
