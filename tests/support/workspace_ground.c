#include "tests/support/workspace_ground.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace_trash.h"
#include "tests/support/test.h"

struct workspaces *ground;
struct workspace *ground_workspace;
const char *ground_folder;
char ground_dir[64];
uint32_t ground_user;

static size_t open_before;

static size_t count_names(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    size_t count = 0;

    if (!folder)
        return 0;
    while ((entry = readdir(folder)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static void open_ground(uint64_t bytes, uint64_t files, uint64_t reserve)
{
    struct workspaces_options options = {ground_dir, bytes, files, reserve};
    struct err err;

    assert_int_equal(workspaces_open(&options, &ground, &err), ERR_OK);
    assert_int_equal(
        workspace_make(ground, "proj_a", "cntr_a", ground_user, &ground_workspace, &err),
        ERR_OK);
    ground_folder = workspace_folder(ground_workspace);
}

static void close_ground(void)
{
    workspace_close(ground_workspace);
    workspaces_close(ground);
}

void ground_reopen(uint64_t bytes, uint64_t files, uint64_t reserve)
{
    close_ground();
    open_ground(bytes, files, reserve);
}

int ground_set_up(void **state)
{
    (void)state;
    open_before = count_names("/proc/self/fd");
    /* In memory, so that no test waits for a disk. */
    snprintf(ground_dir, sizeof(ground_dir), "%s/runnel-workspaces-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(ground_dir));
    assert_int_equal(chmod(ground_dir, 0711), 0);
    open_ground(GROUND_BYTES, GROUND_FILES, 0);
    return 0;
}

static void remove_below(const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", ground_dir, name);

    assert_int_equal(rmdir(path), 0);
}

int ground_tear_down(void **state)
{
    (void)state;
    fault_disarm();
    assert_int_equal(workspace_discard(ground, "proj_a", "cntr_a", NULL), ERR_OK);
    while (workspace_trash_empty(ground, 1000))
        ;
    close_ground();
    remove_below("workspaces/.incoming");
    remove_below("workspaces/.trash");
    remove_below("workspaces");
    remove_below("");
    assert_int_equal(count_names("/proc/self/fd"), open_before);
    return 0;
}

void ground_file(const char *path, const char *text)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void ground_make_folder(const char *path)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);

    for (char *slash = full + strlen(ground_folder) + 1; (slash = strchr(slash, '/'));) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash++ = '/';
    }
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

void ground_link(const char *target, const char *path)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);

    assert_int_equal(symlink(target, full), 0);
}

char *ground_text(const char *path)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);
    char text[4096];
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return NULL;
    got = read(fd, text, sizeof(text));
    close(fd);
    assert_true(got >= 0);
    return mem_strndup(text, (size_t)got);
}

size_t ground_count(const char *folder)
{
    AUTO_FREE char *path = mem_printf("%s/%s", ground_dir, folder);

    return count_names(path);
}
