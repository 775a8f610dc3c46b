/*
 * The private cluster, through everything that may happen to its processes and files. What other processes do with it
 * is in test_embedded_company.c.
 *
 * Each crash is real: a child process opens the cluster and kills itself, a postmaster is
 * killed, sockets and directories are removed. Then the cluster is opened or revived, and must
 * answer, at the same place.
 *
 * Some tests need root, which is the only user that can run the cluster as another; they are
 * skipped otherwise. Waits have deadlines from patience.h, which grow on slow machines.
 */

#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/embedded/embedded.h"
#include "core/store/embedded/socket_dir.h"
#include "tests/integration/core/store/embedded/embedded_cluster.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

/* ---- Life ---- */

TEST(a_cluster_is_made_started_and_stopped)
{
    struct embedded *embedded = open_cluster();
    pid_t pid = postmaster_pid();

    assert_true(answers(embedded));
    assert_true(pid > 1);
    embedded_close(embedded);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(postmaster_pid(), 0);
}

TEST(a_stopped_cluster_starts_quickly)
{
    uint64_t start = clock_mono_ns();
    struct embedded *embedded = open_cluster();

    assert_true(answers(embedded));
    assert_true(clock_mono_ns() - start < patience_ns(20));
    embedded_close(embedded);
}

TEST(it_listens_on_nothing_but_a_private_socket)
{
    struct embedded *embedded = open_cluster();
    struct stat info;
    char path[320];

    assert_non_null(strstr(embedded_url(embedded), "/run'"));
    snprintf(path, sizeof(path), "%s/run", data_dir);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    snprintf(path, sizeof(path), "%s/pg/postmaster.pid", data_dir);
    embedded_close(embedded);
}

TEST(a_long_path_gets_a_short_socket_directory)
{
    struct embedded *embedded;
    char short_dir[256];

    go_far();
    embedded = open_cluster();
    assert_true(answers(embedded));
    read_socket_dir(embedded, short_dir);
    assert_true(strncmp(short_dir, "/tmp/", 5) == 0);
    assert_int_equal(access(short_dir, F_OK), 0);
    embedded_close(embedded);
    assert_int_equal(access(short_dir, F_OK), -1);
    come_back();
}

/* ---- Crashes ---- */

TEST(a_surviving_postmaster_is_adopted)
{
    struct embedded *embedded;
    pid_t pid;

    die_with_a_cluster();
    pid = postmaster_pid();
    assert_int_equal(kill(pid, 0), 0);
    embedded = open_cluster();
    assert_int_equal(postmaster_pid(), pid);
    assert_true(answers(embedded));
    embedded_close(embedded);
    await_end(pid);
    assert_int_equal(postmaster_pid(), 0);
}

TEST(a_killed_postmaster_is_replaced)
{
    struct embedded *embedded;
    pid_t pid;

    die_with_a_cluster();
    pid = postmaster_pid();
    kill(pid, SIGKILL);
    await_end(pid);
    embedded = open_cluster();
    assert_int_not_equal(postmaster_pid(), pid);
    assert_true(answers(embedded));
    embedded_close(embedded);
}

TEST(a_postmaster_that_ends_is_started_again)
{
    struct embedded *embedded = open_cluster();
    AUTO_FREE char *url = mem_strdup(embedded_url(embedded));
    pid_t pid = postmaster_pid(), next;

    kill(pid, SIGKILL);
    await_end(pid);
    assert_false(answers(embedded));
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_OK);
    assert_string_equal(embedded_url(embedded), url);
    assert_true(answers(embedded));
    next = postmaster_pid();
    assert_int_not_equal(next, pid);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* has been reaped */
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_OK);
    assert_int_equal(postmaster_pid(), next);
    embedded_close(embedded);
}

TEST(its_short_socket_directory_stays_when_it_is_started_again)
{
    go_far();
    a_postmaster_that_ends_is_started_again(state);
    come_back();
}

/* `runnel keys` comes after the crash and before the keeper. */
TEST(another_process_that_revives_it_uses_the_same_short_directory)
{
    struct embedded *server, *guest;
    char path[256];
    pid_t pid;

    go_far();
    server = open_cluster();
    pid = postmaster_pid();
    kill(pid, SIGKILL);
    await_end(pid);
    guest = open_cluster();
    assert_string_equal(embedded_url(guest), embedded_url(server));
    assert_true(answers(server));
    assert_int_equal(embedded_revive(server, -1, NULL), ERR_OK);
    assert_true(answers(server));
    read_socket_dir(server, path);
    embedded_close(guest);
    assert_true(answers(server));
    embedded_close(server);
    assert_int_equal(access(path, F_OK), -1);
    come_back();
}

TEST(a_short_directory_of_the_dead_is_used_again)
{
    struct embedded *embedded;
    char path[256];
    pid_t pid;

    go_far();
    die_with_a_cluster();
    pid = postmaster_pid();
    embedded = open_cluster();
    read_socket_dir(embedded, path);
    kill(pid, SIGKILL);
    await_end(pid);
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_OK);
    assert_true(answers(embedded));
    kill(postmaster_pid(), SIGKILL);
    embedded_close(embedded); /* nothing is left, although the postmaster was killed */
    assert_int_equal(access(path, F_OK), -1);
    come_back();
}

/* A cleaner of /tmp may remove it, or a person who tidies up data_dir/run. */
TEST(a_socket_that_was_removed_comes_back)
{
    struct embedded *embedded = open_cluster();
    AUTO_FREE char *url = mem_strdup(embedded_url(embedded));
    char path[256];

    read_socket_dir(embedded, path);
    remove_tree(path);
    assert_false(answers(embedded));
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_OK);
    assert_string_equal(embedded_url(embedded), url);
    assert_true(answers(embedded));
    embedded_close(embedded);
}

TEST(a_short_directory_that_was_removed_comes_back)
{
    go_far();
    a_socket_that_was_removed_comes_back(state);
    come_back();
}

TEST(a_cluster_that_has_lost_its_socket_is_started_again)
{
    struct embedded *server, *guest;
    char path[256];

    go_far();
    server = open_cluster();
    read_socket_dir(server, path);
    remove_tree(path);
    guest = open_cluster();
    assert_true(answers(guest));
    assert_true(answers(server));
    embedded_close(guest);
    embedded_close(server);
    assert_int_equal(access(path, F_OK), -1);
    come_back();
}

/* Any user may make a name in /tmp once it is free. */
TEST(a_directory_of_another_user_is_not_used)
{
    struct embedded *embedded;
    char path[256], other[256];

    if (geteuid() != 0)
        skip();
    go_far();
    die_with_a_cluster();
    embedded = open_cluster();
    read_socket_dir(embedded, path);
    kill(postmaster_pid(), SIGKILL);
    await_end(postmaster_pid());
    remove_tree(path);
    assert_int_equal(symlink(root, path), 0);
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_STORE);
    embedded_close(embedded);
    assert_int_equal(access(path, F_OK), 0);

    embedded = open_cluster();
    read_socket_dir(embedded, other);
    assert_string_not_equal(other, path);
    assert_true(answers(embedded));
    embedded_close(embedded);
    assert_int_equal(unlink(path), 0);
    come_back();
}

/* Put there between the check and the change of the owner. */
TEST(a_link_in_its_path_gives_nothing_away)
{
    AUTO_FREE char *target = mem_printf("%s/target", root);
    AUTO_FREE char *link = mem_printf("%s/link", root);
    struct stat info;

    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(private_dir_make(link, 65534, 65534, NULL), ERR_OK);
    assert_int_equal(stat(target, &info), 0);
    assert_int_equal(info.st_uid, 0);
    assert_int_equal(info.st_gid, 0);
}

/* Its files are a copy of another cluster's, which runs. */
TEST(a_copy_of_a_cluster_has_a_socket_of_its_own)
{
    struct embedded *original, *copy;
    AUTO_FREE char *note = NULL, *copied_note = NULL;

    go_far();
    original = open_cluster();
    note = mem_printf("%s/socket_dir", data_dir);
    snprintf(data_dir, sizeof(data_dir), "%s/%0100d", root, 8);
    copied_note = mem_printf("%s/socket_dir", data_dir);
    assert_int_equal(mkdir(data_dir, 0711), 0);
    assert_int_equal(link(note, copied_note), 0);
    copy = open_cluster();
    assert_string_not_equal(embedded_url(copy), embedded_url(original));
    assert_true(answers(original));
    assert_true(answers(copy));
    embedded_close(copy);
    embedded_close(original);
    come_back();
}

/* Raises or lowers what lets root see where the processes of others work. */
static void set_tracing(bool on)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

    assert_int_equal(syscall(SYS_capget, &header, sets), 0);
    sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    if (on)
        sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective |=
            sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].permitted & CAP_TO_MASK(CAP_SYS_PTRACE);
    assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

TEST(root_in_a_container_finds_what_survived)
{
    set_tracing(false);
    assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
    a_surviving_postmaster_is_adopted(state);
    a_killed_postmaster_is_replaced(state);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    set_tracing(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_is_made_started_and_stopped),
        cmocka_unit_test(a_stopped_cluster_starts_quickly),
        cmocka_unit_test(it_listens_on_nothing_but_a_private_socket),
        cmocka_unit_test(a_long_path_gets_a_short_socket_directory),
        cmocka_unit_test(a_surviving_postmaster_is_adopted),
        cmocka_unit_test(a_killed_postmaster_is_replaced),
        cmocka_unit_test(a_postmaster_that_ends_is_started_again),
        cmocka_unit_test(its_short_socket_directory_stays_when_it_is_started_again),
        cmocka_unit_test(another_process_that_revives_it_uses_the_same_short_directory),
        cmocka_unit_test(a_short_directory_of_the_dead_is_used_again),
        cmocka_unit_test(a_socket_that_was_removed_comes_back),
        cmocka_unit_test(a_short_directory_that_was_removed_comes_back),
        cmocka_unit_test(a_cluster_that_has_lost_its_socket_is_started_again),
        cmocka_unit_test(a_directory_of_another_user_is_not_used),
        cmocka_unit_test(a_copy_of_a_cluster_has_a_socket_of_its_own),
        cmocka_unit_test(a_link_in_its_path_gives_nothing_away),
        cmocka_unit_test(root_in_a_container_finds_what_survived),
    };

    return cmocka_run_group_tests(tests, cluster_set_up, cluster_tear_down);
}
