/*
 * The private cluster, and who else uses it: processes that wait, stop, open the same one, or cannot see it.
 *
 * What cannot be made quickly is imitated, such as a replay that does not end. Some tests need root, which is the only
 * user that can run the cluster as another; they are skipped otherwise.
 */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/store/embedded/embedded.h"
#include "core/store/store.h"
#include "tests/integration/core/store/embedded/embedded_cluster.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

/* ---- Patience ---- */

/* From the next start on, replaying the log does not end: a recovery whose restore_command
 * sleeps. It first writes to a FIFO, so *ret_begun becomes readable when the replay has
 * begun. */
static void let_replay_hang(int *ret_begun)
{
    AUTO_FREE char *fifo = mem_printf("%s/begun", root);
    AUTO_FREE char *conf = mem_printf("%s/pg/postgresql.auto.conf", data_dir);
    AUTO_FREE char *mark = mem_printf("%s/pg/recovery.signal", data_dir);
    FILE *file = fopen(conf, "a");

    assert_non_null(file);
    fprintf(file, "restore_command = 'echo > %s; exec sleep 3600'\n", fifo);
    fclose(file);
    close(open(mark, O_CREAT | O_WRONLY, 0644));
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0666), 0);
    assert_int_equal(chmod(fifo, 0666), 0);
    *ret_begun = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_true(*ret_begun >= 0);
}

static void let_replay_end(int begun)
{
    AUTO_FREE char *conf = mem_printf("%s/pg/postgresql.auto.conf", data_dir);
    AUTO_FREE char *mark = mem_printf("%s/pg/recovery.signal", data_dir);

    close(begun);
    assert_int_equal(truncate(conf, 0), 0);
    assert_int_equal(unlink(mark), 0);
}

static void await_readable(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&watched, 1, patience_ms(30)), 1);
}

struct waiting {
    pthread_t thread;
    int stop_fd;
    struct embedded *embedded; /* NULL: it is opened */
    enum err_code rc;
};

static void *wait_for_cluster(void *arg)
{
    struct waiting *waiting = arg;
    struct embedded *opened = NULL;

    waiting->rc = waiting->embedded ? embedded_revive(waiting->embedded, waiting->stop_fd, NULL)
                                    : embedded_open(data_dir, waiting->stop_fd, &opened, NULL);
    return NULL;
}

static void start_waiting(struct waiting *waiting, struct embedded *embedded)
{
    *waiting = (struct waiting){.stop_fd = eventfd(0, EFD_CLOEXEC), .embedded = embedded};
    assert_int_equal(pthread_create(&waiting->thread, NULL, wait_for_cluster, waiting), 0);
}

static enum err_code end_waiting(struct waiting *waiting)
{
    assert_int_equal(eventfd_write(waiting->stop_fd, 1), 0);
    pthread_join(waiting->thread, NULL);
    close(waiting->stop_fd);
    return waiting->rc;
}

/* A wait that nothing ended would last longer than this test may. */
TEST(a_process_that_is_to_stop_does_not_wait_for_a_replay)
{
    struct embedded *embedded = open_cluster();
    struct waiting waiting;
    pid_t pid = postmaster_pid();
    int begun;

    let_replay_hang(&begun);
    kill(pid, SIGKILL);
    await_end(pid);
    start_waiting(&waiting, embedded);
    await_readable(begun);
    assert_int_equal(end_waiting(&waiting), ERR_CANCELLED);
    embedded_close(embedded);
    assert_int_equal(postmaster_pid(), 0);
    let_replay_end(begun);
}

TEST(a_process_that_is_to_stop_does_not_wait_for_a_start)
{
    struct waiting waiting;
    int begun;

    let_replay_hang(&begun);
    start_waiting(&waiting, NULL);
    await_readable(begun);
    assert_int_equal(end_waiting(&waiting), ERR_CANCELLED);
    assert_int_equal(postmaster_pid(), 0);
    let_replay_end(begun);
}

/* Nor for another process that waits. */
TEST(closing_does_not_wait_for_a_process_that_opens)
{
    struct embedded *embedded = open_cluster();
    pid_t pid = postmaster_pid();
    struct waiting guest;
    int begun;

    let_replay_hang(&begun);
    kill(pid, SIGKILL);
    await_end(pid);
    start_waiting(&guest, NULL);
    await_readable(begun);
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_OK);
    embedded_close(embedded);
    assert_int_not_equal(postmaster_pid(), 0);
    assert_int_equal(end_waiting(&guest), ERR_CANCELLED);
    assert_int_equal(postmaster_pid(), 0);
    let_replay_end(begun);
}

TEST(a_wait_that_was_given_up_may_be_taken_up_again)
{
    struct embedded *embedded = open_cluster();
    pid_t pid = postmaster_pid();
    int stop_fd = eventfd(1, EFD_CLOEXEC);

    kill(pid, SIGKILL);
    await_end(pid);
    assert_int_equal(embedded_revive(embedded, stop_fd, NULL), ERR_CANCELLED);
    assert_int_equal(embedded_revive(embedded, -1, NULL), ERR_OK);
    assert_true(answers(embedded));
    embedded_close(embedded);
    close(stop_fd);
}

TEST(a_stale_pid_file_that_names_a_stranger_does_no_harm)
{
    struct embedded *embedded;
    char path[320];
    FILE *file;

    snprintf(path, sizeof(path), "%s/pg/postmaster.pid", data_dir);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%ld\n%s/pg\n0\n5432\n%s/run\n\n0 0\nready   \n", (long)getpid(), data_dir,
            data_dir);
    fclose(file);
    embedded = open_cluster();
    assert_int_not_equal(postmaster_pid(), getpid());
    assert_true(answers(embedded));
    embedded_close(embedded);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* A process of the cluster, as the postmaster's children are: it works there, and has the socket that the postmaster
 * listened to. Returns its pid. */
static pid_t leave_a_listener(const char *socket_path)
{
    AUTO_FREE char *cluster = mem_printf("%s/pg", data_dir);
    struct stat owner;
    int ready[2];
    char byte;
    pid_t child;

    unlink(socket_path);
    assert_int_equal(stat(cluster, &owner), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        (void)listen_at(socket_path);
        if (setresgid(owner.st_gid, owner.st_gid, owner.st_gid) ||
            setresuid(owner.st_uid, owner.st_uid, owner.st_uid) || prctl(PR_SET_DUMPABLE, 1) ||
            prctl(PR_SET_PDEATHSIG, SIGKILL) || chdir(cluster) || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

/* A child that was forked a moment before its postmaster was killed still has the socket open. */
TEST(what_a_dead_postmaster_leaves_is_waited_for)
{
    AUTO_FREE char *socket_path = mem_printf("%s/run/.s.PGSQL.5432", data_dir);
    int stop_fd = eventfd(1, EFD_CLOEXEC);
    struct embedded *embedded = NULL;
    pid_t pid, child;

    die_with_a_cluster();
    pid = postmaster_pid();
    kill(pid, SIGKILL);
    await_end(pid);
    child = leave_a_listener(socket_path);
    assert_int_equal(embedded_open(data_dir, stop_fd, &embedded, NULL), ERR_CANCELLED);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    embedded = open_cluster();
    assert_true(answers(embedded));
    embedded_close(embedded);
    close(stop_fd);
}

/* As in another container: of its postmaster only the files are visible. */
TEST(a_cluster_that_runs_out_of_sight_is_left_alone)
{
    AUTO_FREE char *pid_file = mem_printf("%s/pg/postmaster.pid", data_dir);
    AUTO_FREE char *path = mem_printf("%s/run/.s.PGSQL.5432", data_dir);
    struct embedded *embedded;
    struct err err;
    int fd;

    embedded_close(open_cluster());
    close(open(pid_file, O_CREAT | O_WRONLY, 0600));
    fd = listen_at(path);
    assert_int_equal(embedded_open(data_dir, -1, &embedded, &err), ERR_STORE);
    assert_non_null(strstr(err.text, "another container"));
    assert_int_equal(access(pid_file, F_OK), 0);
    assert_int_equal(access(path, F_OK), 0);

    close(fd);
    embedded = open_cluster();
    assert_true(answers(embedded));
    embedded_close(embedded);
}

/* Nor is its short directory ours to clear up. */
TEST(a_short_directory_out_of_sight_is_left_alone)
{
    AUTO_FREE char *place = mem_printf("/tmp/runnel-seen%d", (int)getpid());
    AUTO_FREE char *path = mem_printf("%s/.s.PGSQL.5432", place);
    AUTO_FREE char *note = NULL;
    struct embedded *embedded;
    FILE *file;
    int fd;

    go_far();
    embedded_close(open_cluster());
    note = mem_printf("%s/socket_dir", data_dir);
    file = fopen(note, "w");
    assert_non_null(file);
    fprintf(file, "%s %s\n", place, data_dir);
    fclose(file);
    assert_int_equal(mkdir(place, 0700), 0);
    fd = listen_at(path);
    assert_int_equal(embedded_open(data_dir, -1, &embedded, NULL), ERR_STORE);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(note, F_OK), 0);

    close(fd);
    embedded = open_cluster();
    assert_true(answers(embedded));
    embedded_close(embedded);
    assert_int_equal(access(place, F_OK), -1);
    come_back();
}

TEST(a_cluster_that_is_half_made_is_made_again)
{
    char saved[sizeof(data_dir)], path[320];
    struct embedded *embedded;

    memcpy(saved, data_dir, sizeof(saved));
    snprintf(data_dir, sizeof(data_dir), "%s/half", root);
    assert_int_equal(mkdir(data_dir, 0711), 0);
    snprintf(path, sizeof(path), "%s/pg.new", data_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/pg.new/PG_VERSION", data_dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    embedded = open_cluster();
    assert_true(answers(embedded));
    embedded_close(embedded);
    memcpy(data_dir, saved, sizeof(saved));
}

/* ---- Company ---- */

TEST(one_server_at_a_time)
{
    struct err err;
    int fd, second;

    assert_int_equal(data_dir_lock(data_dir, &fd, NULL), ERR_OK);
    assert_int_equal(data_dir_lock(data_dir, &second, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, data_dir));
    close(fd);
    assert_int_equal(data_dir_lock(data_dir, &second, NULL), ERR_OK);
    close(second);
}

TEST(the_cluster_does_not_inherit_the_lock)
{
    struct embedded *embedded;
    int fd;

    assert_int_equal(data_dir_lock(data_dir, &fd, NULL), ERR_OK);
    embedded = open_cluster();
    close(fd);
    assert_int_equal(data_dir_lock(data_dir, &fd, NULL), ERR_OK);
    close(fd);
    embedded_close(embedded);
}

TEST(a_second_process_leaves_a_running_cluster_as_it_is)
{
    struct embedded *server = open_cluster();
    struct embedded *guest = open_cluster();
    pid_t pid = postmaster_pid();

    assert_true(answers(guest));
    embedded_close(guest);
    assert_int_equal(postmaster_pid(), pid);
    assert_true(answers(server));
    embedded_close(server);
}

TEST(the_last_to_leave_stops_it_whichever_process_started_it)
{
    struct embedded *first = open_cluster();
    struct embedded *second = open_cluster();
    pid_t pid = postmaster_pid();

    embedded_close(first);
    assert_true(answers(second));
    assert_int_equal(postmaster_pid(), pid);
    embedded_close(second);
    await_end(pid);
    assert_int_equal(postmaster_pid(), 0);
}

TEST(the_last_to_leave_stops_what_another_has_started_again)
{
    struct embedded *server = open_cluster();
    struct embedded *guest = open_cluster();
    pid_t pid = postmaster_pid(), next;

    kill(pid, SIGKILL);
    await_end(pid);
    assert_int_equal(embedded_revive(server, -1, NULL), ERR_OK);
    next = postmaster_pid();
    embedded_close(server);
    assert_int_equal(postmaster_pid(), next);
    embedded_close(guest);
    assert_int_equal(postmaster_pid(), 0);
}

TEST(a_process_that_was_killed_is_not_waited_for)
{
    struct embedded *guest = open_cluster();
    pid_t pid = postmaster_pid();

    die_with_a_cluster();
    embedded_close(guest);
    assert_int_equal(kill(pid, 0), -1);
}

/* ---- Refusals ---- */

TEST(both_major_versions_are_named)
{
    struct embedded *embedded;
    char path[320], text[16] = "";
    struct err err;
    FILE *file;

    snprintf(path, sizeof(path), "%s/pg/PG_VERSION", data_dir);
    file = fopen(path, "r+");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    rewind(file);
    fputs("11\n", file);
    fclose(file);

    assert_int_equal(embedded_open(data_dir, -1, &embedded, &err), ERR_STORE);
    text[strcspn(text, "\n")] = '\0';
    assert_non_null(strstr(err.text, "PostgreSQL 11"));
    assert_non_null(strstr(err.text, text));

    file = fopen(path, "w");
    fprintf(file, "%s\n", text);
    fclose(file);
}

TEST(a_directory_that_the_user_cannot_enter_is_named)
{
    struct embedded *embedded;
    char closed[128], inner[160];
    struct err err;

    if (geteuid() != 0)
        skip();
    snprintf(closed, sizeof(closed), "%s/closed", root);
    snprintf(inner, sizeof(inner), "%s/data", closed);
    assert_int_equal(mkdir(closed, 0700), 0);
    assert_int_equal(embedded_open(inner, -1, &embedded, &err), ERR_STORE);
    assert_non_null(strstr(err.text, inner));
    assert_non_null(strstr(err.text, "cannot enter"));
    assert_non_null(strstr(err.text, "/var/lib/runnel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_is_to_stop_does_not_wait_for_a_replay),
        cmocka_unit_test(a_process_that_is_to_stop_does_not_wait_for_a_start),
        cmocka_unit_test(closing_does_not_wait_for_a_process_that_opens),
        cmocka_unit_test(a_wait_that_was_given_up_may_be_taken_up_again),
        cmocka_unit_test(a_stale_pid_file_that_names_a_stranger_does_no_harm),
        cmocka_unit_test(what_a_dead_postmaster_leaves_is_waited_for),
        cmocka_unit_test(a_cluster_that_runs_out_of_sight_is_left_alone),
        cmocka_unit_test(a_short_directory_out_of_sight_is_left_alone),
        cmocka_unit_test(a_cluster_that_is_half_made_is_made_again),
        cmocka_unit_test(one_server_at_a_time),
        cmocka_unit_test(the_cluster_does_not_inherit_the_lock),
        cmocka_unit_test(a_second_process_leaves_a_running_cluster_as_it_is),
        cmocka_unit_test(the_last_to_leave_stops_it_whichever_process_started_it),
        cmocka_unit_test(the_last_to_leave_stops_what_another_has_started_again),
        cmocka_unit_test(a_process_that_was_killed_is_not_waited_for),
        cmocka_unit_test(both_major_versions_are_named),
        cmocka_unit_test(a_directory_that_the_user_cannot_enter_is_named),
    };

    return cmocka_run_group_tests(tests, cluster_set_up, cluster_tear_down);
}
