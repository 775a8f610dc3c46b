/* Which cgroup boxes can have theirs in, on folders that look like a kernel's. */

#include "core/sandbox/cgroup.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static char *top, *membership;

static void write_file(const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", top, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *walk)
{
    (void)found, (void)type, (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    AUTO_FREE char *unit = NULL;

    (void)state;
    top = mem_strdup("/tmp/runnel-cgroup-XXXXXX");
    assert_non_null(mkdtemp(top));
    membership = mem_printf("%s/membership", top);
    unit = mem_printf("%s/unit", top);
    assert_int_equal(mkdir(unit, 0700), 0);
    write_file("cgroup.controllers", "cpuset cpu io memory pids\n");
    write_file("unit/cgroup.controllers", "cpu memory pids\n");
    write_file("unit/cgroup.procs", "");
    write_file("membership", "4:memory:/other\n0::/unit\n");
    return 0;
}

static int tear_down(void **state)
{
    int rc = nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    (void)state;
    free(membership);
    free(top);
    return rc;
}

TEST(a_delegated_cgroup_is_found)
{
    AUTO_FREE char *unit = mem_printf("%s/unit", top);
    AUTO_FREE char *folder = NULL;
    struct err err;

    assert_int_equal(cgroup_find(top, membership, &folder, &err), ERR_OK);
    assert_string_equal(folder, unit);
}

static void assert_missing(const char *why)
{
    char *folder = NULL;
    struct err err;

    assert_int_equal(cgroup_find(top, membership, &folder, &err), ERR_NOT_FOUND);
    assert_null(folder);
    assert_non_null(strstr(err.text, why));
}

TEST(version_1_is_no_cgroup)
{
    write_file("membership", "4:memory:/unit\n");
    assert_missing("version 2");
}

TEST(a_controller_that_is_missing_is_named)
{
    write_file("unit/cgroup.controllers", "cpu hugememory pids\n");
    assert_missing("\"memory\"");
    write_file("unit/cgroup.controllers", "memory\n");
    assert_missing("\"pids\"");
}

TEST(a_cgroup_that_does_not_exist_is_not_delegated)
{
    write_file("membership", "0::/elsewhere\n");
    assert_missing("not delegated");
}

/* A server that is started from the part of an earlier one finds the same place. */
TEST(the_own_part_is_left_out)
{
    AUTO_FREE char *unit = mem_printf("%s/unit", top);
    AUTO_FREE char *folder = NULL;
    struct err err;

    write_file("membership", "0::/unit/runnel\n");
    assert_int_equal(cgroup_find(top, membership, &folder, &err), ERR_OK);
    assert_string_equal(folder, unit);
}

/* ---- Limits, in files that look like a kernel's ---- */

/* The kernel puts files into a new cgroup: so does this mkdir(). */
static const char *const kernel_files[] = {
    "memory.max", "memory.swap.max", "memory.oom.group", "memory.events", "pids.max",
    "cpu.max",    "cpu.weight",      "cgroup.procs",     "cgroup.kill",   "cgroup.events"};
static size_t kernel_file_count;
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);

int __wrap_mkdir(const char *path, mode_t mode)
{
    int rc = __real_mkdir(path, mode);

    for (size_t i = 0; rc == 0 && i < kernel_file_count; i++) {
        AUTO_FREE char *name = mem_printf("%s/%s", path, kernel_files[i]);

        close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    return rc;
}

static char *text_of(const char *folder, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    char *text = mem_zeroed(256, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        (void)!read(fd, text, 255);
    close(fd);
    return text;
}

static void assert_text(const char *folder, const char *name, const char *expected)
{
    AUTO_FREE char *text = text_of(folder, name);

    assert_string_equal(text, expected);
}

static const struct cgroup_limits limits = {.memory = 1 << 30, .processes = 66, .cpus = 2};

TEST(a_box_has_its_limits_before_it_starts)
{
    AUTO_FREE char *cgroup = NULL, *events = NULL;
    struct err err;

    kernel_file_count = COUNT_OF(kernel_files);
    assert_int_equal(cgroup_make(top, "1-2-3", &limits, &cgroup, &err), ERR_OK);
    assert_non_null(strstr(cgroup, "/box-1-2-3"));
    assert_text(cgroup, "memory.max", "1073741824");
    assert_text(cgroup, "memory.swap.max", "0");
    assert_text(cgroup, "memory.oom.group", "1");
    assert_text(cgroup, "pids.max", "66");
    assert_text(cgroup, "cpu.max", "200000 100000");
    assert_text(cgroup, "cpu.weight", "10");
    assert_true(cgroup_join(cgroup));
    assert_text(cgroup, "cgroup.procs", "0");
    assert_false(cgroup_is_over_memory(cgroup));
    events = mem_printf("%s/memory.events", strrchr(cgroup, '/') + 1);
    write_file(events, "low 0\noom 1\noom_kill 2\noom_group_kill 1\n");
    assert_true(cgroup_is_over_memory(cgroup));
    cgroup_kill(cgroup);
    assert_text(cgroup, "cgroup.kill", "1");
}

TEST(a_box_whose_limits_the_kernel_refuses_is_not_made)
{
    AUTO_FREE char *path = mem_printf("%s/box-x", top);
    char *cgroup = NULL;
    struct err err;

    kernel_file_count = 1;
    assert_int_equal(cgroup_make(top, "x", &limits, &cgroup, &err), ERR_INTERNAL);
    assert_null(cgroup);
    kernel_file_count = 0;
    assert_int_equal(cgroup_make(top, "y", &limits, &cgroup, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "cannot limit a box"));
    path[strlen(path) - 1] = 'y';
    assert_int_equal(access(path, F_OK), -1);
}

TEST(the_server_goes_into_a_part_of_its_own)
{
    AUTO_FREE char *unit = mem_printf("%s/unit", top), *own = mem_printf("%s/runnel", unit),
                   *control = mem_printf("%s/cgroup.subtree_control", unit);
    struct err err;

    kernel_file_count = COUNT_OF(kernel_files);
    write_file("unit/cgroup.type", "domain\n");
    write_file("unit/cgroup.subtree_control", "");
    write_file("unit/cgroup.procs", "12\n");
    assert_int_equal(cgroup_prepare(unit, &err), ERR_OK);
    assert_text(own, "cgroup.procs", "12");
    write_file("unit/cgroup.procs", "");
    assert_int_equal(cgroup_prepare(unit, &err), ERR_OK); /* it is there */
    assert_int_equal(unlink(control), 0);
    assert_int_equal(cgroup_prepare(unit, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "cannot be divided"));
}

/* ---- With the kernel ---- */

static char *mount_of_version_2(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

    for (size_t i = 0; i < COUNT_OF(mounts); i++) {
        AUTO_FREE char *folder = mem_printf("%s/runnel-test-%d", mounts[i], getpid());
        AUTO_FREE char *controllers = mem_printf("%s/cgroup.controllers", mounts[i]);

        if (access(controllers, F_OK) == 0 && __real_mkdir(folder, 0755) == 0)
            return TAKE(folder);
    }
    return NULL;
}

/* Without limits, for which the kernel needs controllers: who is in it, its end, and what is left of it. */
TEST(a_cgroup_ends_all_that_is_in_it)
{
    static const struct cgroup_limits none = {0};
    AUTO_FREE char *folder = mount_of_version_2(), *cgroup = NULL, *left = NULL, *name = NULL;
    struct pollfd polled = {.events = POLLPRI};
    struct err err;
    pid_t child;
    int status;

    kernel_file_count = 0;
    if (!folder) {
        puts("SKIPPED 1 (no cgroup that can be divided)");
        skip();
    }
    assert_int_equal(cgroup_make(folder, "1-1-1", &none, &cgroup, &err), ERR_OK);
    child = fork();
    if (child == 0) {
        if (!cgroup_join(cgroup) || fork() < 0)
            _exit(1);
        (void)setsid();
        pause();
        _exit(0);
    }
    polled.fd = cgroup_watch(cgroup);
    assert_true(polled.fd >= 0);
    for (AUTO_FREE char *text = NULL; !text || !strstr(text, "populated 1");) {
        free(TAKE(text));
        text = text_of(cgroup, "cgroup.events");
    }
    assert_false(cgroup_remove(cgroup, polled.fd));
    cgroup_kill(cgroup);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (!cgroup_remove(cgroup, polled.fd))
        assert_int_equal(poll(&polled, 1, 20000), 1);
    close(polled.fd);
    /* What a dead server has left goes; what a living one has, stays. */
    name = mem_printf("%d-1-1", child);
    assert_int_equal(cgroup_make(folder, name, &none, &left, &err), ERR_OK);
    free(TAKE(name));
    name = mem_printf("%d-1-1", getppid());
    free(TAKE(cgroup));
    assert_int_equal(cgroup_make(folder, name, &none, &cgroup, &err), ERR_OK);
    cgroup_sweep(folder, getpid());
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(cgroup, F_OK), 0);
    cgroup_sweep(folder, getppid());
    assert_int_equal(access(cgroup, F_OK), -1);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_delegated_cgroup_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_is_no_cgroup, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_controller_that_is_missing_is_named, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_own_part_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_box_has_its_limits_before_it_starts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_box_whose_limits_the_kernel_refuses_is_not_made,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_server_goes_into_a_part_of_its_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cgroup_ends_all_that_is_in_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cgroup_that_does_not_exist_is_not_delegated, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
