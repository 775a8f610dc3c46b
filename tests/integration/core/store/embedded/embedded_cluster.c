#include "tests/integration/core/store/embedded/embedded_cluster.h"

#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/store/store.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

char root[64];
char data_dir[256];

bool answers(const struct embedded *embedded)
{
    const struct store_options options = {.url = embedded_url(embedded), .node_id = "n/b"};
    struct store *store;

    if (store_open(&options, &store, NULL))
        return false;
    store_free(store);
    return true;
}

pid_t postmaster_pid(void)
{
    char path[320];
    long pid = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/pg/postmaster.pid", data_dir);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%ld", &pid) != 1)
        pid = 0;
    fclose(file);
    return (pid_t)pid;
}

void await_end(pid_t pid)
{
    struct pollfd watched = {.fd = pidfd_open(pid, 0), .events = POLLIN};

    if (watched.fd < 0)
        return;
    assert_int_equal(poll(&watched, 1, patience_ms(10)), 1);
    close(watched.fd);
}

struct embedded *open_cluster(void)
{
    struct embedded *embedded;
    struct err err = {0};

    if (embedded_open(data_dir, -1, &embedded, &err))
        fail_msg("%s", err.text);
    return embedded;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static char usual_dir[sizeof(data_dir)];

void go_far(void)
{
    memcpy(usual_dir, data_dir, sizeof(usual_dir));
    snprintf(data_dir, sizeof(data_dir), "%s/%0100d", root, 7);
}

void come_back(void)
{
    memcpy(data_dir, usual_dir, sizeof(data_dir));
}

void read_socket_dir(const struct embedded *embedded, char ret_path[256])
{
    assert_int_equal(sscanf(embedded_url(embedded), "host='%255[^']", ret_path), 1);
}

void die_with_a_cluster(void)
{
    pid_t child = fork();
    struct embedded *embedded;
    int status;

    if (child == 0) {
        if (embedded_open(data_dir, -1, &embedded, NULL))
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
}

int cluster_set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/runnel-test-XXXXXX");
    if (!mkdtemp(root) || chmod(root, 0711) != 0)
        return -1;
    snprintf(data_dir, sizeof(data_dir), "%s/data", root);
    return 0;
}

int cluster_tear_down(void **state)
{
    pid_t pid = postmaster_pid();

    (void)state;
    if (pid > 1) {
        kill(pid, SIGQUIT);
        await_end(pid);
    }
    remove_tree(root);
    return 0;
}
