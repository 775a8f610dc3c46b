/*
 * What a command in a box tries in order to get out: tests/support/box_tries.c has the table. Each row is refused, and
 * the host is as it was.
 *
 * Of the list of tries, those about processes and resources are in test_box.c and test_box_end.c. What needs tools,
 * containers, a proxy or archives comes with them.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/box.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

#define SECRET_TEXT "the host's own"

static struct {
    char *top; /* a folder of the host: workspace, skills, and what boxes must not see */
    char *secret, *socket_file, *workspace, *skills;
    char port[16], abstract[64];
    int tcp, unix_file, unix_abstract;
    struct box_folder folders[2];
} host;

static void make_folder(const char *path)
{
    uint32_t user = box_user();

    assert_int_equal(mkdir(path, 0700), 0);
    if (user)
        assert_int_equal(chown(path, user, user), 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int listen_on_unix(const char *name, int is_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path + is_abstract, name, strlen(name));
    assert_int_equal(
        bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1)),
        0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static int listen_on_loopback(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(host.port, sizeof(host.port), "%d", ntohs(address.sin_port));
    return fd;
}

static void make_host(void)
{
    AUTO_FREE char *skill = NULL;

    host.top = mem_strdup("/tmp/runnel-host-XXXXXX");
    assert_non_null(mkdtemp(host.top));
    assert_int_equal(chmod(host.top, 0711), 0);
    host.secret = mem_printf("%s/secret", host.top);
    host.socket_file = mem_printf("%s/socket", host.top);
    host.workspace = mem_printf("%s/data", host.top);
    host.skills = mem_printf("%s/skills", host.top);
    skill = mem_printf("%s/skill", host.skills);
    make_folder(host.workspace);
    make_folder(host.skills);
    write_file(host.secret, SECRET_TEXT, 0644);
    write_file(skill, "a skill", 0666);
    (void)snprintf(host.abstract, sizeof(host.abstract), "runnel-escape-%d", getpid());
    host.tcp = listen_on_loopback();
    host.unix_file = listen_on_unix(host.socket_file, 0);
    host.unix_abstract = listen_on_unix(host.abstract, 1);
    host.folders[0] = (struct box_folder){host.skills, "/mnt/skills", false};
    host.folders[1] = (struct box_folder){host.workspace, "/mnt/data", true};
}

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *walk)
{
    (void)found, (void)type, (void)walk;
    return remove(path);
}

static void clear_host(void)
{
    close(host.tcp);
    close(host.unix_file);
    close(host.unix_abstract);
    (void)nftw(host.top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(host.top);
    free(host.secret);
    free(host.socket_file);
    free(host.workspace);
    free(host.skills);
}

static int start(void **state)
{
    setenv("HOST_SECRET", SECRET_TEXT, 1);
    return boxes_start(state);
}

static int stop(void **state)
{
    if (host.top)
        clear_host();
    return boxes_stop(state);
}

static int set_up(void **state)
{
    struct box_plan plan = {.folder_count = 2,
                            .limits = {.memory = (uint64_t)1 << 30,
                                       .temporary = 1 << 20,
                                       .file = 1 << 20,
                                       .processes = 64,
                                       .cpus = 1},
                            .user = box_user()};
    struct err err = {0};

    (void)state;
    if (!host.top)
        make_host();
    plan.folders = host.folders;
    if (box_open(&plan, &test_box, &err))
        fail_msg("%s", err.text);
    return 0;
}

/* ---- The host ---- */

static void add_file(struct buf *text, const char *path)
{
    char bytes[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    assert_true(fd >= 0);
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        buf_add(text, bytes, (size_t)got);
    close(fd);
}

/* What a try that works would change. */
static char *describe_host(void)
{
    static const char *const files[] = {"/proc/self/mountinfo", "/proc/sys/kernel/hostname",
                                        "/proc/sys/kernel/core_pattern", "/proc/swaps",
                                        "/proc/modules"};
    static const char *const watched[] = {"/",    "/usr",        "/usr/bin/env",
                                          "/etc", "/etc/passwd", "/dev"};
    struct buf text = {0};
    struct stat found;

    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (access(files[i], R_OK) == 0)
            add_file(&text, files[i]);
    for (size_t i = 0; i < COUNT_OF(watched); i++) {
        assert_int_equal(stat(watched[i], &found), 0);
        buf_addf(&text, "%s %o %u %ld\n", watched[i], found.st_mode, found.st_uid,
                 (long)found.st_mtim.tv_sec);
    }
    add_file(&text, host.secret);
    return buf_take(&text);
}

/* ---- The tries ---- */

/* From memory: the box's user need not reach the folder of the build. */
static int tries_program(void)
{
    int from = open(BOX_TRIES, O_RDONLY | O_CLOEXEC),
        program = memfd_create("tries", MFD_CLOEXEC);
    struct stat found;

    assert_int_equal(fstat(from, &found), 0);
    assert_int_equal(sendfile(program, from, NULL, (size_t)found.st_size), found.st_size);
    assert_int_equal(fchmod(program, 0555), 0);
    close(from);
    return program;
}

TEST(every_try_to_get_out_is_refused_and_the_host_is_as_it_was)
{
    const char *arguments[] = {"/proc/self/fd/3", host.secret,      host.port,
                               host.abstract,     host.socket_file, NULL};
    struct box_command command = {
        .folder = "/mnt/data", .arguments = arguments, .environment = arguments + 5};
    AUTO_FREE char *before = describe_host(), *after = NULL;
    int out = memfd_create("out", MFD_CLOEXEC), program = tries_program(), lines = 0;
    struct box_process *process = NULL;
    struct box_result result;
    FILE *file = fdopen(out, "r+");
    char line[256];
    struct err err;

    assert_int_equal(
        box_start(test_box, &command, (int[]){program, out, out, program}, 4, &process, &err),
        ERR_OK);
    while (poll(&(struct pollfd){.fd = box_process_fd(process), .events = POLLIN}, 1, -1) < 0)
        ;
    box_stop(process, &result);
    assert_int_equal(result.why, BOX_EXITED);
    assert_int_equal(result.status, 0);
    rewind(file);
    for (; fgets(line, sizeof(line), file); lines++) {
        if (!strstr(line, ": refused\n"))
            print_error("%s", line);
        assert_non_null(strstr(line, ": refused\n"));
    }
    assert_true(lines >= 56);
    (void)fclose(file);
    close(program);
    after = describe_host();
    assert_string_equal(after, before);
}

TEST(a_folder_that_is_a_link_is_not_mounted)
{
    struct box_folder swapped = {host.workspace, "/mnt/data", true};
    struct box_plan plan = {.folders = &swapped,
                            .folder_count = 1,
                            .limits = {.memory = 1 << 28, .temporary = 1 << 20, .processes = 8},
                            .user = box_user()};
    AUTO_FREE char *link = mem_printf("%s/link", host.top);
    struct box *box = NULL;
    struct err err;

    assert_int_equal(symlink("/etc", link), 0);
    swapped.source = link;
    assert_int_equal(box_open(&plan, &box, &err), ERR_INVALID);
    swapped.source = host.secret;
    assert_int_equal(box_open(&plan, &box, &err), ERR_INVALID);
    assert_null(box);
    unlink(link);
}

TEST(files_of_the_workspace_are_the_hosts_and_survive_the_box)
{
    AUTO_FREE char *path = mem_printf("%s/made", host.workspace);
    struct stat found;

    assert_prints("cd /mnt/data && echo text > made && cat /mnt/skills/skill", "a skill");
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_uid, box_user() ? box_user() : geteuid());
    assert_int_equal(found.st_size, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            every_try_to_get_out_is_refused_and_the_host_is_as_it_was, set_up, box_tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_a_link_is_not_mounted, set_up,
                                        box_tear_down),
        cmocka_unit_test_setup_teardown(
            files_of_the_workspace_are_the_hosts_and_survive_the_box, set_up, box_tear_down),
    };

    return run_in_boxes(tests, COUNT_OF(tests), start, stop);
}
