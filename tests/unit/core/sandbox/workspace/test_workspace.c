/* F82. Workspaces: what a tool reads and writes there, and that nothing a box makes leads it out. */

#include "core/sandbox/workspace/workspace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace_trash.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

static void assert_reads(const char *path, const char *expected)
{
    AUTO_BUF bytes = {0};

    assert_int_equal(workspace_read(ground_workspace, path, 1000, &bytes, NULL, &err), ERR_OK);
    assert_int_equal(bytes.length, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.length);
}

static void assert_not_read(const char *path, enum err_code code, const char *sentence)
{
    AUTO_BUF bytes = {0};

    assert_int_equal(workspace_read(ground_workspace, path, 1000, &bytes, NULL, &err), code);
    assert_string_equal(err.text, sentence);
    assert_int_equal(bytes.length, 0);
}

static enum err_code put(const char *path, const char *text, struct workspace_written *written)
{
    struct workspace_target target = {.path = path};

    return workspace_write(ground_workspace, &target, text, strlen(text), written, &err);
}

static void assert_holds(const char *path, const char *expected)
{
    AUTO_FREE char *text = ground_text(path);

    assert_string_equal(text, expected);
}

/* ---- Which workspace ---- */

TEST(a_workspace_is_its_containers_alone)
{
    struct workspace *other = NULL, *missing = NULL;
    AUTO_BUF bytes = {0};

    ground_file("mine", "secret");
    assert_int_equal(workspace_make(ground, "proj_b", "cntr_a", 0, &other, &err), ERR_OK);
    assert_int_equal(workspace_read(other, "mine", 10, &bytes, NULL, &err), ERR_NOT_FOUND);
    workspace_close(other);
    assert_int_equal(workspace_open(ground, "proj_b", "cntr_b", &missing, &err), ERR_NOT_FOUND);
    assert_int_equal(workspace_open(ground, "proj_a", "cntr_a", &other, &err), ERR_OK);
    assert_int_equal(workspace_read(other, "mine", 10, &bytes, NULL, &err), ERR_OK);
    workspace_close(other);
    assert_int_equal(workspace_discard(ground, "proj_b", "cntr_a", &err), ERR_OK);
}

TEST(the_name_of_a_container_is_no_path)
{
    static const char *const names[] = {"", "..", ".trash", "a/b", "a b", "\xc3\xa4"};
    struct workspace *workspace = NULL;
    char long_name[WORKSPACE_NAME_LIMIT + 2] = "";

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(workspace_make(ground, "proj_a", names[i], 0, &workspace, &err),
                         ERR_INVALID);
        assert_int_equal(workspace_open(ground, names[i], "cntr_a", &workspace, &err),
                         ERR_INVALID);
    }
    memset(long_name, 'a', sizeof(long_name) - 1);
    assert_int_equal(workspace_make(ground, long_name, "cntr_a", 0, &workspace, &err),
                     ERR_INVALID);
}

TEST(the_folder_belongs_to_the_user_of_the_boxes)
{
    struct workspace *workspace = NULL;
    struct stat found;
    uint32_t user = geteuid() == 0 ? 1900000000 : 0;

    assert_int_equal(workspace_make(ground, "proj_a", "cntr_b", user, &workspace, &err),
                     ERR_OK);
    assert_int_equal(workspace_user(workspace), user);
    assert_int_equal(stat(workspace_folder(workspace), &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    if (user) {
        struct workspace_target target = {.path = "a/b"};
        AUTO_FREE char *file = mem_printf("%s/a/b", workspace_folder(workspace));
        AUTO_FREE char *folder = mem_printf("%s/a", workspace_folder(workspace));

        assert_int_equal(workspace_write(workspace, &target, "x", 1, NULL, &err), ERR_OK);
        assert_int_equal(stat(file, &found), 0);
        assert_int_equal(found.st_uid, user);
        assert_int_equal(stat(folder, &found), 0);
        assert_int_equal(found.st_uid, user);
    }
    workspace_close(workspace);
    assert_int_equal(workspace_discard(ground, "proj_a", "cntr_b", &err), ERR_OK);
}

/* ---- Reading ---- */

TEST(a_file_is_read_by_each_of_its_paths)
{
    ground_make_folder("plots");
    ground_file("plots/a.txt", "hello");
    assert_reads("plots/a.txt", "hello");
    assert_reads("/plots/a.txt", "hello");
    assert_reads("/mnt/data/plots/a.txt", "hello");
    assert_reads("plots/../plots/./a.txt", "hello");
}

TEST(links_within_the_workspace_are_followed)
{
    ground_make_folder("deep/er");
    ground_file("a", "hello");
    ground_link("../../a", "deep/er/to-a");
    ground_link("deep/er", "short");
    assert_reads("deep/er/to-a", "hello");
    assert_reads("short/to-a", "hello");
}

TEST(links_out_of_the_workspace_are_refused)
{
    ground_link("/etc/passwd", "absolute");
    ground_link("../../../../../../../../etc/passwd", "relative");
    ground_link("hop2", "hop1");
    ground_link("../..", "hop2");
    ground_link("/proc/self/root", "magic");
    ground_link("loop", "loop");
    ground_link("/dev/zero", "zero");
    assert_not_read("absolute", ERR_FORBIDDEN, "absolute is outside of the workspace.");
    assert_not_read("relative", ERR_FORBIDDEN, "relative is outside of the workspace.");
    assert_not_read("hop1/api_key", ERR_FORBIDDEN, "hop1/api_key is outside of the workspace.");
    assert_not_read("magic/etc/passwd", ERR_FORBIDDEN,
                    "magic/etc/passwd is outside of the workspace.");
    assert_not_read("zero", ERR_FORBIDDEN, "zero is outside of the workspace.");
    assert_not_read("loop", ERR_INVALID, "loop is a link that leads nowhere.");
    assert_not_read("../cntr_a", ERR_FORBIDDEN, "../cntr_a is outside of the workspace.");
}

TEST(only_regular_files_are_read)
{
    AUTO_FREE char *fifo = mem_printf("%s/fifo", ground_folder);
    AUTO_FREE char *node = mem_printf("%s/node", ground_folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(mkfifo(fifo, 0644), 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", ground_folder);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    close(listener);
    ground_make_folder("folder");
    assert_not_read("fifo", ERR_INVALID, "fifo is no regular file.");
    assert_not_read("s", ERR_INVALID, "s is no regular file.");
    assert_not_read("folder", ERR_INVALID, "folder is a folder.");
    assert_not_read("/", ERR_INVALID, "/ is a folder.");
    assert_not_read("missing", ERR_NOT_FOUND, "missing does not exist.");
    /* No box can make one; the server must not read it all the same. */
    if (geteuid() == 0 && mknod(node, S_IFCHR | 0666, (1 << 8) | 5) == 0)
        assert_not_read("node", ERR_INVALID, "node is no regular file.");
}

TEST(a_file_larger_than_the_caller_takes_is_refused)
{
    AUTO_FREE char *path = mem_printf("%s/sparse", ground_folder);
    AUTO_BUF bytes = {0};

    ground_file("sparse", "");
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_not_read("sparse", ERR_TOO_LARGE, "sparse has more than 1000 bytes.");
    assert_int_equal(truncate(path, 1001), 0);
    assert_not_read("sparse", ERR_TOO_LARGE, "sparse has more than 1000 bytes.");
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(workspace_read(ground_workspace, "sparse", 1000, &bytes, NULL, &err),
                     ERR_OK);
}

TEST(a_folder_is_listed_by_name)
{
    struct workspace_list list;

    ground_make_folder("b");
    ground_file("c", "123");
    ground_file("a\nb", "");
    ground_file("\xff", "");
    ground_link("c", "d");
    assert_int_equal(workspace_list(ground_workspace, "/", 10, &list, &err), ERR_OK);
    assert_int_equal(list.count, 5);
    assert_false(list.cut);
    assert_string_equal(list.entries[0].name, "a\nb");
    assert_int_equal(list.entries[1].stat.kind, WORKSPACE_FOLDER);
    assert_int_equal(list.entries[2].stat.size, 3);
    assert_int_equal(list.entries[3].stat.kind, WORKSPACE_LINK);
    assert_string_equal(list.entries[4].name, "\xff");
    workspace_list_clear(&list);
    assert_int_equal(workspace_list(ground_workspace, ".", 4, &list, &err), ERR_OK);
    assert_int_equal(list.count, 4);
    assert_true(list.cut);
    workspace_list_clear(&list);
    assert_int_equal(workspace_list(ground_workspace, "c", 4, &list, &err), ERR_INVALID);
    assert_int_equal(workspace_list(ground_workspace, "none", 4, &list, &err), ERR_NOT_FOUND);
    assert_int_equal(workspace_list(ground_workspace, "/etc", 4, &list, &err), ERR_FORBIDDEN);
}

/* ---- Writing ---- */

TEST(a_file_is_made_with_its_folders_and_replaced)
{
    struct workspace_written written;
    struct workspace_stat stat;
    AUTO_FREE char *path = mem_printf("%s/x/y/z.txt", ground_folder);
    struct stat found;

    assert_int_equal(put("/mnt/data/x/y/z.txt", "one", &written), ERR_OK);
    assert_true(written.created);
    assert_int_equal(workspace_stat(ground_workspace, "x/y/z.txt", &stat, &err), ERR_OK);
    assert_true(workspace_stat_equal(&stat, &written.stat));
    assert_int_equal(chmod(path, 0750), 0);
    assert_int_equal(put("x/y/z.txt", "two", &written), ERR_OK);
    assert_false(written.created);
    assert_holds("x/y/z.txt", "two");
    assert_int_equal(lstat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0750);
    assert_int_equal(ground_count("workspaces/.incoming"), 0);
}

TEST(a_link_out_of_the_workspace_is_replaced_and_not_followed)
{
    AUTO_FREE char *outside = mem_printf("%s/outside", ground_dir);
    AUTO_FREE char *path = mem_printf("%s/link", ground_folder);
    struct stat found;

    ground_link("../../../../outside", "link");
    assert_int_equal(put("link", "mine", NULL), ERR_OK);
    assert_int_not_equal(access(outside, F_OK), 0);
    assert_int_equal(lstat(path, &found), 0);
    assert_true(S_ISREG(found.st_mode));
    assert_int_equal(remove(path), 0);
    ground_link("../..", "up");
    assert_int_equal(put("up/outside", "mine", NULL), ERR_FORBIDDEN);
    assert_string_equal(err.text, "up/outside is outside of the workspace.");
    assert_int_equal(put("up/a/b", "mine", NULL), ERR_FORBIDDEN);
    assert_int_equal(ground_count("workspaces/proj_a"), 1);
}

TEST(what_is_no_file_is_not_replaced)
{
    AUTO_FREE char *fifo = mem_printf("%s/fifo", ground_folder);

    ground_make_folder("folder");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    ground_file("file", "");
    assert_int_equal(put("folder", "x", NULL), ERR_INVALID);
    assert_string_equal(err.text, "folder is a folder.");
    assert_int_equal(put("/", "x", NULL), ERR_INVALID);
    assert_int_equal(put("fifo", "x", NULL), ERR_INVALID);
    assert_int_equal(put("file/x", "x", NULL), ERR_INVALID);
    assert_string_equal(err.text, "file/x cannot be reached: a part of the path is no folder.");
}

TEST(a_free_place_and_a_version_are_conditions)
{
    struct workspace_target target = {.path = "a", .place = WORKSPACE_FREE};

    assert_int_equal(workspace_write(ground_workspace, &target, "1", 1, NULL, &err), ERR_OK);
    assert_int_equal(workspace_write(ground_workspace, &target, "2", 1, NULL, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "a exists.");
    target.place = WORKSPACE_SAME;
    assert_int_equal(workspace_stat(ground_workspace, "a", &target.expected, &err), ERR_OK);
    assert_int_equal(workspace_write(ground_workspace, &target, "3", 1, NULL, &err), ERR_OK);
    assert_int_equal(workspace_write(ground_workspace, &target, "4", 1, NULL, &err),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "a was changed since it was read. Read it again.");
    assert_holds("a", "3");
}

/* It looks before the first byte and before the last step. */
TEST(a_place_that_is_taken_meanwhile_is_not_overwritten)
{
    struct workspace_target target = {.path = "a", .place = WORKSPACE_FREE};
    struct workspace_writer *writer = NULL;

    assert_int_equal(workspace_writer_new(ground_workspace, &target, &writer, &err), ERR_OK);
    ground_file("a", "a box was first");
    assert_int_equal(workspace_writer_finish(writer, NULL, &err), ERR_CONFLICT);
    workspace_writer_free(writer);
    assert_holds("a", "a box was first");
    assert_int_equal(ground_count("workspaces/.incoming"), 0);
}

TEST(half_a_file_is_never_seen)
{
    struct workspace_target target = {.path = "x/a"};
    struct workspace_writer *writer = NULL;

    assert_int_equal(workspace_writer_new(ground_workspace, &target, &writer, &err), ERR_OK);
    assert_int_equal(workspace_writer_add(writer, "half", 4, &err), ERR_OK);
    workspace_writer_free(writer);
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a/data"), 0);
    assert_int_equal(ground_count("workspaces/.incoming"), 0);
}

TEST(a_failure_at_any_step_leaves_the_old_file)
{
    static const char *const points[] = {"workspace.open", "workspace.write", "workspace.sync",
                                         "workspace.rename"};

    ground_file("a", "old");
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        for (unsigned visit = 1;; visit++) {
            enum err_code rc;

            fault_arm(points[i], visit);
            rc = put("a", "new", NULL);
            if (!fault_fired()) {
                assert_int_equal(rc, ERR_OK);
                break;
            }
            assert_int_not_equal(rc, ERR_OK);
            assert_holds("a", "old");
            assert_int_equal(ground_count("workspaces/.incoming"), 0);
        }
        fault_disarm();
        ground_file("a", "old");
    }
}

TEST(a_descriptor_is_imported_to_its_end)
{
    struct workspace_target target = {.path = "copy"};
    AUTO_FREE char *path = mem_printf("%s/source", ground_folder);
    int fd;

    ground_file("source", "0123456789");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(workspace_import(ground_workspace, &target, fd, 10, NULL, &err), ERR_OK);
    assert_holds("copy", "0123456789");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(workspace_import(ground_workspace, &target, fd, 9, NULL, &err),
                     ERR_TOO_LARGE);
    close(fd);
    assert_int_equal(ground_count("workspaces/.incoming"), 0);
}

TEST(files_and_links_are_removed_and_folders_are_not)
{
    ground_file("a", "");
    ground_make_folder("folder");
    ground_link("a", "link");
    assert_int_equal(workspace_remove(ground_workspace, "link", &err), ERR_OK);
    assert_int_equal(workspace_remove(ground_workspace, "a", &err), ERR_OK);
    assert_int_equal(workspace_remove(ground_workspace, "a", &err), ERR_NOT_FOUND);
    assert_int_equal(workspace_remove(ground_workspace, "folder", &err), ERR_INVALID);
    assert_int_equal(workspace_remove(ground_workspace, "/", &err), ERR_INVALID);
    assert_int_equal(workspace_remove(ground_workspace, "../x", &err), ERR_FORBIDDEN);
}

TEST(a_link_is_made_beside_its_file_and_replaces_links_only)
{
    ground_file("a", "first");
    ground_file("b", "second");
    assert_int_equal(workspace_link(ground_workspace, "file-1", "a", &err), ERR_OK);
    assert_reads("file-1", "first");
    assert_int_equal(workspace_link(ground_workspace, "file-1", "b", &err), ERR_OK);
    assert_reads("file-1", "second");
    assert_int_equal(workspace_link(ground_workspace, "b", "a", &err), ERR_CONFLICT);
    assert_reads("b", "second");
    assert_int_equal(workspace_link(ground_workspace, "../x", "a", &err), ERR_FORBIDDEN);
}

TEST(what_a_crash_left_half_written_goes_at_the_next_start)
{
    AUTO_FREE char *path = mem_printf("%s/workspaces/.incoming/new_x", ground_dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    close(fd);
    ground_reopen(GROUND_BYTES, GROUND_FILES, 0);
    assert_int_equal(ground_count("workspaces/.incoming"), 0);
}

/* ---- Races ---- */

struct swapper {
    atomic_bool stop;
    char *paths[4]; /* inside, away, link to the host, folder that is renamed */
};

/* As a box would: the same names are a file, a link out of the workspace, a folder somewhere else. */
static void *swap(void *argument)
{
    struct swapper *swapper = argument;

    while (!atomic_load(&swapper->stop)) {
        (void)!rename(swapper->paths[0], swapper->paths[1]);
        (void)!symlink("../../../..", swapper->paths[0]);
        (void)!unlink(swapper->paths[0]);
        (void)!symlink("/etc", swapper->paths[0]);
        (void)!unlink(swapper->paths[0]);
        (void)!rename(swapper->paths[1], swapper->paths[0]);
        (void)!rename(swapper->paths[2], swapper->paths[3]);
        (void)!rename(swapper->paths[3], swapper->paths[2]);
    }
    return NULL;
}

/* A name that is swapped for links out of the workspace yields its own file or an error. */
TEST(no_race_leads_out)
{
    struct swapper swapper = {
        .paths = {mem_printf("%s/x", ground_folder), mem_printf("%s/away", ground_folder),
                  mem_printf("%s/deep/er", ground_folder), mem_printf("%s/up", ground_folder)}};
    AUTO_FREE char *outside = mem_printf("%s/passwd", ground_dir);
    unsigned rounds = 20000 / (unsigned)CASE_STRIDE, reads = 0;
    pthread_t thread;

    ground_make_folder("x");
    ground_make_folder("deep/er");
    ground_file("x/passwd", "mine");
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
    for (unsigned i = 0; i < rounds; i++) {
        AUTO_BUF bytes = {0};

        if (workspace_read(ground_workspace, i % 2 ? "x/passwd" : "deep/er/../../x/passwd",
                           1 << 20, &bytes, NULL, NULL) == ERR_OK) {
            reads++;
            assert_int_equal(bytes.length, 4);
            assert_memory_equal(bytes.data, "mine", 4);
        }
        if (i % 50 == 0)
            (void)!put("x/passwd", "mine", NULL);
    }
    atomic_store(&swapper.stop, true);
    pthread_join(thread, NULL);
    assert_true(reads > 0);
    assert_int_not_equal(access(outside, F_OK), 0);
    for (size_t i = 0; i < COUNT_OF(swapper.paths); i++)
        free(swapper.paths[i]);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(a_workspace_is_its_containers_alone),
        GROUNDED(the_name_of_a_container_is_no_path),
        GROUNDED(the_folder_belongs_to_the_user_of_the_boxes),
        GROUNDED(a_file_is_read_by_each_of_its_paths),
        GROUNDED(links_within_the_workspace_are_followed),
        GROUNDED(links_out_of_the_workspace_are_refused),
        GROUNDED(only_regular_files_are_read),
        GROUNDED(a_file_larger_than_the_caller_takes_is_refused),
        GROUNDED(a_folder_is_listed_by_name),
        GROUNDED(a_file_is_made_with_its_folders_and_replaced),
        GROUNDED(a_link_out_of_the_workspace_is_replaced_and_not_followed),
        GROUNDED(what_is_no_file_is_not_replaced),
        GROUNDED(a_free_place_and_a_version_are_conditions),
        GROUNDED(a_place_that_is_taken_meanwhile_is_not_overwritten),
        GROUNDED(half_a_file_is_never_seen),
        GROUNDED(a_failure_at_any_step_leaves_the_old_file),
        GROUNDED(a_descriptor_is_imported_to_its_end),
        GROUNDED(files_and_links_are_removed_and_folders_are_not),
        GROUNDED(a_link_is_made_beside_its_file_and_replaces_links_only),
        GROUNDED(what_a_crash_left_half_written_goes_at_the_next_start),
        GROUNDED(no_race_leads_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
