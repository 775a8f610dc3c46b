/* Scans and sums: which files a workspace has, what a command has changed, what counts as room. */

#include "core/sandbox/workspace/workspace_scan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

static struct workspace_scan scan(void)
{
    struct workspace_scan result;

    assert_int_equal(workspace_scan(ground_workspace, &result, &err), ERR_OK);
    return result;
}

/* The changes as "+a ~b -c". */
static char *changes_text(const struct workspace_scan *before,
                          const struct workspace_scan *after)
{
    struct workspace_changes changes;
    AUTO_BUF text = {0};

    workspace_compare(before, after, &changes);
    for (size_t i = 0; i < changes.count; i++)
        buf_addf(&text, "%s%c%s", i ? " " : "", "+~-"[changes.changes[i].event],
                 changes.changes[i].file->path);
    workspace_changes_clear(&changes);
    return buf_take(&text);
}

static void assert_changed(struct workspace_scan before, const char *expected)
{
    struct workspace_scan after = scan();
    AUTO_FREE char *text = changes_text(&before, &after);

    assert_string_equal(text, expected);
    workspace_scan_clear(&before);
    workspace_scan_clear(&after);
}

TEST(a_scan_has_regular_files_in_order)
{
    struct workspace_scan found;
    AUTO_FREE char *fifo = mem_printf("%s/fifo", ground_folder);

    ground_make_folder("b/c");
    ground_file("b/c/2", "22");
    ground_file("b/1", "");
    ground_file("a", "");
    ground_link("a", "link");
    ground_link("b", "to-b");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    found = scan();
    assert_int_equal(found.count, 3);
    assert_string_equal(found.files[0].path, "a");
    assert_string_equal(found.files[1].path, "b/1");
    assert_string_equal(found.files[2].path, "b/c/2");
    assert_int_equal(found.files[2].stat.size, 2);
    assert_false(found.cut);
    workspace_scan_clear(&found);
}

TEST(created_changed_and_deleted_files_are_told_apart)
{
    struct workspace_scan before;
    AUTO_FREE char *from = mem_printf("%s/moved", ground_folder);
    AUTO_FREE char *to = mem_printf("%s/over", ground_folder);
    AUTO_FREE char *gone = mem_printf("%s/gone", ground_folder);

    ground_file("same", "1");
    ground_file("grown", "1");
    ground_file("gone", "1");
    ground_file("moved", "1");
    ground_file("over", "1");
    before = scan();
    ground_file("grown", "12");
    ground_file("new", "");
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(rename(from, to), 0);
    assert_changed(before, "-gone ~grown -moved +new ~over");
}

TEST(another_file_of_the_same_size_and_time_is_a_change)
{
    AUTO_FREE char *path = mem_printf("%s/a", ground_folder);
    AUTO_FREE char *fresh = mem_printf("%s/b", ground_folder);
    struct workspace_scan before;
    struct stat found;

    ground_file("a", "1");
    ground_file("b", "2");
    before = scan();
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(
        utimensat(AT_FDCWD, fresh, (struct timespec[]){found.st_atim, found.st_mtim}, 0), 0);
    assert_int_equal(rename(fresh, path), 0);
    assert_changed(before, "~a -b");
}

TEST(names_that_are_no_text_are_counted_and_left_out)
{
    struct workspace_scan found;

    ground_file("\xff", "");
    ground_file("\xef", "");
    ground_file("a\nb", "");
    ground_make_folder("\xc3");
    ground_file("\xc3/inner", "");
    ground_file("\xef\xbf\xbd", "");
    found = scan();
    assert_int_equal(found.count, 1);
    assert_string_equal(found.files[0].path, "\xef\xbf\xbd");
    assert_int_equal(found.nameless, 4);
    workspace_scan_clear(&found);
}

TEST(of_a_cut_scan_nothing_is_claimed_that_it_cannot_know)
{
    struct workspace_scan small, large;
    AUTO_FREE char *text = NULL, *back = NULL;

    ground_file("a", "");
    ground_file("b", "");
    small = scan();
    for (unsigned i = 0; i < GROUND_FILES; i++) {
        char name[16];

        snprintf(name, sizeof(name), "c%u", i);
        ground_file(name, "");
    }
    large = scan();
    assert_true(large.cut);
    assert_int_equal(large.count, GROUND_FILES);
    text = changes_text(&small, &large);
    assert_null(strchr(text, '-'));
    back = changes_text(&large, &small);
    assert_null(strchr(back, '+'));
    workspace_scan_clear(&small);
    workspace_scan_clear(&large);
}

/* Deeper than a path can say: the test itself has to descend. */
static void make_deep(unsigned levels)
{
    int fd = open(ground_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (unsigned i = 0; i < levels; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "dd", 0755), 0);
        next = openat(fd, "dd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(fd);
        fd = next;
    }
    close(fd);
}

TEST(folders_that_cannot_be_counted_make_the_workspace_full)
{
    struct workspace_scan found;
    struct workspace_usage usage;
    uint64_t room = 0;

    ground_reopen(GROUND_BYTES << 6, 20000, 0);
    make_deep(WORKSPACE_PATH_LIMIT / 3 + 2);
    found = scan();
    assert_true(found.cut);
    workspace_scan_clear(&found);
    assert_int_equal(workspace_usage(ground_workspace, &usage, &err), ERR_OK);
    assert_true(usage.hidden);
    assert_int_equal(workspace_room(ground_workspace, 1, &room, &err), ERR_FULL);
    assert_string_equal(err.text, "The workspace is full: it has a folder that is too deep or "
                                  "cannot be read. Delete it.");
}

TEST(blocks_count_and_not_sizes)
{
    struct workspace_usage usage;
    AUTO_FREE char *sparse = mem_printf("%s/sparse", ground_folder);
    AUTO_FREE char *full = mem_printf("%s/full", ground_folder);
    AUTO_FREE char *second = mem_printf("%s/second", ground_folder);
    AUTO_FREE char *mebibyte = mem_zeroed(1 << 20, 1);
    struct workspace_target target = {.path = "full"};

    ground_reopen(GROUND_BYTES * 2, GROUND_FILES, 0);
    ground_file("sparse", "");
    assert_int_equal(truncate(sparse, (off_t)1 << 40), 0);
    assert_int_equal(workspace_write(ground_workspace, &target, mebibyte, 1 << 20, NULL, &err),
                     ERR_OK);
    assert_int_equal(link(full, second), 0);
    assert_int_equal(workspace_usage(ground_workspace, &usage, &err), ERR_OK);
    assert_int_equal(usage.files, 3);
    assert_in_range(usage.bytes, 1 << 20, (1 << 20) + 16384);
}

TEST(a_full_workspace_takes_no_more_and_says_so)
{
    AUTO_FREE char *bytes = mem_zeroed(GROUND_BYTES, 1);
    struct workspace_target target = {.path = "a"};

    memset(bytes, 'a', GROUND_BYTES);
    assert_int_equal(
        workspace_write(ground_workspace, &target, bytes, GROUND_BYTES, NULL, &err), ERR_OK);
    target.path = "b";
    assert_int_equal(workspace_write(ground_workspace, &target, "x", 1, NULL, &err), ERR_FULL);
    assert_string_equal(err.text, "The workspace is full: 1 MiB of 1 MiB. Delete files.");
    ground_reopen(GROUND_BYTES * 2, GROUND_FILES, 0);
    assert_int_equal(
        workspace_write(ground_workspace, &target, bytes, GROUND_BYTES, NULL, &err), ERR_OK);
    target.path = "c";
    ground_reopen(GROUND_BYTES * 2 + 8192, GROUND_FILES, 0);
    assert_int_equal(
        workspace_write(ground_workspace, &target, bytes, GROUND_BYTES, NULL, &err), ERR_FULL);
    assert_string_equal(err.text,
                        "The file does not fit into the workspace: 2 MiB of 2 MiB are "
                        "used. Delete files.");
    /* The old file makes room for the new one. */
    target.path = "a";
    assert_int_equal(
        workspace_write(ground_workspace, &target, bytes, GROUND_BYTES, NULL, &err), ERR_OK);
    assert_int_equal(ground_count("workspaces/.incoming"), 0);
}

TEST(the_number_of_files_is_limited_too)
{
    struct workspace_target target = {.path = "new/er"};

    ground_reopen(GROUND_BYTES, 3, 0);
    ground_file("a", "");
    ground_file("b", "");
    assert_int_equal(workspace_write(ground_workspace, &target, "x", 1, NULL, &err), ERR_FULL);
    assert_string_equal(err.text, "The workspace is full: 2 files of 3. Delete files.");
    target.path = "c";
    assert_int_equal(workspace_write(ground_workspace, &target, "x", 1, NULL, &err), ERR_OK);
    assert_int_equal(workspace_write(ground_workspace, &target, "y", 1, NULL, &err), ERR_OK);
    target.path = "d";
    assert_int_equal(workspace_write(ground_workspace, &target, "x", 1, NULL, &err), ERR_FULL);
}

TEST(the_reserve_of_the_disk_is_kept)
{
    struct workspace_target target = {.path = "a"};

    ground_reopen(GROUND_BYTES, GROUND_FILES, UINT64_MAX);
    assert_int_equal(workspace_write(ground_workspace, &target, "x", 1, NULL, &err), ERR_FULL);
    assert_string_equal(err.text, "The server has no disk space for files.");
}

/* As a box writes it. */
static void write_as_box(const char *name, size_t size)
{
    AUTO_FREE char *path = mem_printf("%s/%s", ground_folder, name);
    AUTO_FREE char *bytes = mem_zeroed(size, 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    memset(bytes, 'a', size);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

TEST(a_check_says_whether_a_box_has_written_too_much)
{
    struct workspace_watch watch = {0};
    AUTO_FREE char *second = mem_printf("%s/second", ground_folder);

    write_as_box("first", GROUND_BYTES / 2);
    assert_int_equal(workspace_check_growth(ground_workspace, &watch),
                     WORKSPACE_STILL); /* the first */
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_STILL);
    write_as_box("first", GROUND_BYTES / 4);
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_GROWN);
    write_as_box("second", GROUND_BYTES);
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_TOO_FAR);
    /* It is full, and can be made smaller. */
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_STILL);
    assert_int_equal(truncate(second, GROUND_BYTES / 2), 0);
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_STILL);
    write_as_box("second", 8192);
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_TOO_FAR);
}

TEST(a_check_counts_files_and_the_disk_too)
{
    struct workspace_watch watch = {0};

    ground_reopen(GROUND_BYTES, 2, 0);
    (void)workspace_check_growth(ground_workspace, &watch);
    ground_file("a", "");
    ground_file("b", "");
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_GROWN);
    ground_file("c", "");
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_TOO_FAR);
    ground_reopen(GROUND_BYTES, GROUND_FILES, UINT64_MAX);
    watch.known = false;
    (void)workspace_check_growth(ground_workspace, &watch);
    ground_file("d", "x");
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_TOO_FAR);
    /* A file without a name. */
    watch.disk += (uint64_t)1 << 30;
    assert_int_equal(workspace_check_growth(ground_workspace, &watch), WORKSPACE_TOO_FAR);
}

/* A scan that fails must not look as if files had gone. */
TEST(a_scan_that_fails_is_no_scan)
{
    struct workspace_scan found;

    fault_arm("workspace.open", 1);
    assert_int_equal(workspace_scan(ground_workspace, &found, &err), ERR_INTERNAL);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(a_scan_has_regular_files_in_order),
        GROUNDED(created_changed_and_deleted_files_are_told_apart),
        GROUNDED(another_file_of_the_same_size_and_time_is_a_change),
        GROUNDED(names_that_are_no_text_are_counted_and_left_out),
        GROUNDED(of_a_cut_scan_nothing_is_claimed_that_it_cannot_know),
        GROUNDED(folders_that_cannot_be_counted_make_the_workspace_full),
        GROUNDED(blocks_count_and_not_sizes),
        GROUNDED(a_full_workspace_takes_no_more_and_says_so),
        GROUNDED(the_number_of_files_is_limited_too),
        GROUNDED(the_reserve_of_the_disk_is_kept),
        GROUNDED(a_check_says_whether_a_box_has_written_too_much),
        GROUNDED(a_check_counts_files_and_the_disk_too),
        GROUNDED(a_scan_that_fails_is_no_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
