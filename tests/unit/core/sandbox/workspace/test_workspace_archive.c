/* A whole workspace as one archive: what comes along, what is left and named, and what a broken archive can do. */

#include "core/sandbox/workspace/workspace_archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace_trash.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

static enum err_code add(void *argument, const void *bytes, size_t size, struct err *err_out)
{
    (void)err_out;
    buf_add(argument, bytes, size);
    return ERR_OK;
}

struct source {
    const char *bytes;
    size_t length, step; /* `step`: at most so much at once */
};

static enum err_code take(void *argument, void *ret_bytes, size_t size, size_t *ret_got,
                          struct err *err_out)
{
    struct source *source = argument;
    size_t part = source->length < size ? source->length : size;

    (void)err_out;
    if (part > source->step)
        part = source->step;
    memcpy(ret_bytes, source->bytes, part);
    source->bytes += part;
    source->length -= part;
    *ret_got = part;
    return ERR_OK;
}

static void pack(struct buf *archive)
{
    assert_int_equal(workspace_pack(ground_workspace, add, archive, &err), ERR_OK);
}

static struct workspace *other(void)
{
    struct workspace *workspace = NULL;

    assert_int_equal(workspace_make(ground, "proj_a", "cntr_b", ground_user, &workspace, &err),
                     ERR_OK);
    return workspace;
}

static enum err_code unpack(const struct buf *archive, struct workspace *workspace,
                            struct workspace_left *left)
{
    struct source source = {archive->data, archive->length, SIZE_MAX};

    return workspace_unpack(workspace, take, &source, left, &err);
}

/* The path of something in the other workspace. The caller frees. */
static char *there(const struct workspace *workspace, const char *path)
{
    return mem_printf("%s/%s", workspace_folder(workspace), path);
}

static struct stat stat_of(const struct workspace *workspace, const char *path)
{
    AUTO_FREE char *full = there(workspace, path);
    struct stat found;

    assert_int_equal(lstat(full, &found), 0);
    return found;
}

static char *text_of(const struct workspace *workspace, const char *path)
{
    AUTO_FREE char *full = there(workspace, path);
    char text[64] = "";
    FILE *file = fopen(full, "r");

    assert_non_null(file);
    (void)!fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    return mem_strdup(text);
}

static void set_mode(const char *path, mode_t mode)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);

    assert_int_equal(chmod(full, mode), 0);
}

static int open_here(const char *path, int flags)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);
    int fd = open(full, flags | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    return fd;
}

TEST(everything_comes_along_listed_or_not)
{
    static const char *const paths[] = {
        "a.txt", ".git/objects/0a/bc", "node_modules/x.js", "new\nline", "bad\xffname",
        "empty", "deep/er/and/far"};
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    AUTO_BUF archive = {0};
    struct workspace *b;

    ground_make_folder(".git/objects/0a");
    ground_make_folder("node_modules");
    ground_make_folder("deep/er/and");
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        ground_file(paths[i], strcmp(paths[i], "empty") == 0 ? "" : paths[i]);
    pack(&archive);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        AUTO_FREE char *text = text_of(b, paths[i]);

        assert_string_equal(text, strcmp(paths[i], "empty") == 0 ? "" : paths[i]);
    }
    assert_int_equal(left.count, 0);
    workspace_close(b);
}

TEST(modes_times_links_and_shared_files_stay)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    AUTO_FREE char *one = mem_printf("%s/one", ground_folder);
    AUTO_FREE char *two = mem_printf("%s/closed/two", ground_folder);
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 1234567890, .tv_nsec = 42}};
    AUTO_FREE char *link = NULL;
    AUTO_BUF archive = {0};
    char target[64] = "";
    struct workspace *b;
    struct stat found;

    ground_make_folder("closed");
    ground_file("one", "1");
    ground_file("run.sh", "#!/bin/sh");
    assert_int_equal(linkat(AT_FDCWD, one, AT_FDCWD, two, 0), 0);
    ground_link("/etc/passwd", "out");
    ground_link("nowhere", "closed/dangling");
    set_mode("run.sh", 0755);
    set_mode("one", 0444);
    assert_int_equal(utimensat(AT_FDCWD, one, times, 0), 0);
    set_mode("closed", 0555);
    pack(&archive);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_OK);
    assert_int_equal(left.count, 0);
    found = stat_of(b, "one");
    assert_int_equal(found.st_mode & 07777, 0444);
    assert_int_equal(found.st_mtim.tv_sec, 1234567890);
    assert_int_equal(found.st_mtim.tv_nsec, 42);
    assert_int_equal(found.st_ino, stat_of(b, "closed/two").st_ino);
    assert_int_equal(stat_of(b, "run.sh").st_mode & 07777, 0755);
    assert_int_equal(stat_of(b, "closed").st_mode & 07777, 0555);
    assert_true(S_ISLNK(stat_of(b, "closed/dangling").st_mode));
    link = there(b, "out");
    assert_true(readlink(link, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/etc/passwd");
    set_mode("closed", 0755);
    workspace_close(b);
}

TEST(a_sparse_file_costs_its_data_and_stays_sparse)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    const off_t size = (off_t)64 << 30;
    AUTO_BUF archive = {0};
    struct workspace *b;
    struct stat found;
    char byte = 0;
    int fd = open_here("sparse", O_WRONLY | O_CREAT);
    AUTO_FREE char *path = NULL;

    assert_int_equal(pwrite(fd, "a", 1, 0), 1);
    assert_int_equal(pwrite(fd, "z", 1, size / 2), 1);
    assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
    pack(&archive);
    assert_true(archive.length < 64 << 10);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_OK);
    found = stat_of(b, "sparse");
    assert_int_equal(found.st_size, size);
    assert_true(found.st_blocks * 512 < 64 << 10);
    path = there(b, "sparse");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, size / 2), 1);
    assert_int_equal(byte, 'z');
    close(fd);
    workspace_close(b);
}

TEST(what_cannot_come_is_named)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    AUTO_FREE char *fifo = mem_printf("%s/pipe", ground_folder);
    AUTO_BUF archive = {0};
    struct workspace *b;

    ground_file("a", "1");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    pack(&archive);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_OK);
    assert_int_equal(left.count, 1);
    assert_int_equal(left.named, 1);
    assert_string_equal(left.paths[0], "pipe");
    assert_int_equal(stat_of(b, "a").st_size, 1);
    workspace_close(b);
}

/* A workspace can be a second ahead of its limits. */
TEST(files_beyond_the_limits_are_counted_and_fifty_are_named)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    AUTO_BUF archive = {0};
    struct workspace *b;
    size_t came;

    for (unsigned i = 0; i < GROUND_FILES + 80; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%u", i);
        ground_file(name, "");
    }
    pack(&archive);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_OK);
    came = ground_count("workspaces/proj_a/cntr_b/data");
    assert_int_equal(came, GROUND_FILES);
    assert_int_equal(left.count, 80);
    assert_int_equal(left.named, WORKSPACE_LEFT_LIMIT);
    workspace_close(b);
}

TEST(bytes_beyond_the_limit_stay_behind_on_either_side)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    CLEANUP(workspace_left_clear) struct workspace_left later = {0};
    AUTO_FREE char *large = mem_new_array(char, (size_t)GROUND_BYTES);
    AUTO_BUF archive = {0};
    struct workspace *b;
    int fd = open_here("large", O_WRONLY | O_CREAT);

    memset(large, 'x', (size_t)GROUND_BYTES);
    assert_int_equal(write(fd, large, (size_t)GROUND_BYTES), GROUND_BYTES);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    fd = open_here("half", O_WRONLY | O_CREAT);
    assert_int_equal(write(fd, large, (size_t)GROUND_BYTES / 2), GROUND_BYTES / 2);
    close(fd);
    ground_file("small", "s");
    pack(&archive);
    assert_true(archive.length < GROUND_BYTES);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_OK);
    assert_int_equal(left.count, 1);
    assert_string_equal(left.paths[0], "large");
    assert_int_equal(stat_of(b, "half").st_size, GROUND_BYTES / 2);
    workspace_close(b);
    assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
    ground_reopen(GROUND_BYTES / 4, GROUND_FILES, 0);
    b = other();
    assert_int_equal(unpack(&archive, b, &later), ERR_OK);
    assert_int_equal(later.count, 2);
    assert_int_equal(stat_of(b, "small").st_size, 1);
    workspace_close(b);
}

TEST(a_disk_without_room_ends_it)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    AUTO_BUF archive = {0};
    struct workspace *b;

    ground_file("a", "1");
    pack(&archive);
    b = other();
    fault_arm("workspace.unpack", 1);
    assert_int_equal(unpack(&archive, b, &left), ERR_FULL);
    fault_disarm();
    workspace_close(b);
    ground_reopen(GROUND_BYTES, GROUND_FILES, UINT64_MAX / 2);
    b = other();
    assert_int_equal(unpack(&archive, b, &left), ERR_FULL);
    assert_string_equal(err.text, "The server has no disk space for the container.");
    workspace_close(b);
}

/* In pieces of one byte, and cut at each. */
TEST(an_archive_that_is_cut_is_refused)
{
    AUTO_BUF archive = {0};
    struct workspace *b;

    ground_make_folder("d");
    ground_file("d/a", "12345");
    ground_link("a", "d/l");
    pack(&archive);
    b = other();
    for (size_t length = 0; length <= archive.length; length++) {
        CLEANUP(workspace_left_clear) struct workspace_left left = {0};
        struct source source = {archive.data, length, 1};
        enum err_code rc = workspace_unpack(b, take, &source, &left, &err);

        assert_int_equal(rc, length == archive.length ? ERR_OK : ERR_INVALID);
        workspace_close(b);
        assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
        b = other();
    }
    workspace_close(b);
}

static void replace(struct buf *archive, const char *from, const char *to)
{
    char *at = memmem(archive->data, archive->length, from, strlen(from));

    assert_non_null(at);
    memcpy(at, to, strlen(to));
}

TEST(a_path_that_leads_out_is_refused)
{
    static const char *const paths[] = {"../out", "AA/../", "/tmp/x",
                                        "AA//xx", "./AAxx", "AA/xx/"};

    ground_make_folder("AA");
    ground_file("AA/out", "1");
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        CLEANUP(workspace_left_clear) struct workspace_left left = {0};
        AUTO_BUF archive = {0};
        struct workspace *b = other();

        pack(&archive);
        replace(&archive, "AA/out", paths[i]);
        assert_int_equal(unpack(&archive, b, &left), ERR_INVALID);
        workspace_close(b);
        assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
    }
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a"), 2);
}

/* As a forged archive could have it: a link out, and then a file behind it. */
TEST(nothing_is_written_behind_a_link_out)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    AUTO_BUF archive = {0}, forged = {0};
    struct workspace *b;

    ground_link("..", "AA");
    pack(&archive);
    buf_add(&forged, archive.data, archive.length - 9); /* without its end */
    buf_clear(&archive);
    assert_int_equal(workspace_remove(ground_workspace, "AA", &err), ERR_OK);
    ground_make_folder("AA");
    ground_file("AA/out", "1");
    pack(&archive);
    buf_add(&forged, archive.data + 8, archive.length - 8);
    b = other();
    assert_int_equal(unpack(&forged, b, &left), ERR_OK);
    assert_int_equal(ground_count("workspaces/proj_a/cntr_b"), 2);
    assert_int_equal(left.count, 2);
    workspace_close(b);
}

/* For any bytes the answer is one of these, and nothing is outside. */
TEST(odd_bytes_do_no_harm)
{
    AUTO_BUF archive = {0};
    unsigned seed = 1;

    ground_make_folder("d");
    ground_file("d/a", "12345");
    ground_link("a", "d/l");
    pack(&archive);
    for (unsigned round = 0; round < 500; round++) {
        CLEANUP(workspace_left_clear) struct workspace_left left = {0};
        struct workspace *b = other();
        AUTO_BUF odd = {0};
        enum err_code rc;

        buf_add(&odd, archive.data, archive.length);
        for (unsigned i = 0; i < 3; i++)
            odd.data[(size_t)rand_r(&seed) % odd.length] = (char)rand_r(&seed);
        rc = unpack(&odd, b, &left);
        assert_true(rc == ERR_OK || rc == ERR_INVALID);
        assert_int_equal(ground_count("workspaces/proj_a/cntr_b"), 2);
        workspace_close(b);
        assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
    }
}

static int tear_down(void **state)
{
    assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
    return ground_tear_down(state);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, tear_down)

/* What is left of the limit suffices for the folder, and not for a file in it. */
TEST(a_server_without_descriptors_loses_no_file)
{
    struct rlimit usual, tight;
    AUTO_BUF archive = {0};
    enum err_code rc;
    int next = open_here("a.txt", O_WRONLY | O_CREAT);

    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    tight = usual;
    tight.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    rc = workspace_pack(ground_workspace, add, &archive, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(rc, ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(everything_comes_along_listed_or_not),
        GROUNDED(modes_times_links_and_shared_files_stay),
        GROUNDED(a_sparse_file_costs_its_data_and_stays_sparse),
        GROUNDED(what_cannot_come_is_named),
        GROUNDED(files_beyond_the_limits_are_counted_and_fifty_are_named),
        GROUNDED(bytes_beyond_the_limit_stay_behind_on_either_side),
        GROUNDED(a_disk_without_room_ends_it),
        GROUNDED(an_archive_that_is_cut_is_refused),
        GROUNDED(a_path_that_leads_out_is_refused),
        GROUNDED(nothing_is_written_behind_a_link_out),
        GROUNDED(odd_bytes_do_no_harm),
        GROUNDED(a_server_without_descriptors_loses_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
