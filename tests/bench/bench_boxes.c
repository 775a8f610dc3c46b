/*
 * bench_boxes.c -- what boxes and the Python in them take: times of their functions, one after another in one process.
 *
 * Prints a line of JSON for each figure: {"what", "p50_ms", "p99_ms", "best_ms", "runs"}, or {"what", "value"}.
 * sandbox.py starts it. As root it gives boxes another user, as the server does.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/container/boxes.h"
#include "core/container/python.h"
#include "core/sandbox/compute.h"
#include "core/sandbox/tree.h"
#include "core/sandbox/workspace/workspace.h"

#define MOST_RUNS  1000
#define USER       1900000000
#define IDLE_BOXES 64

static char folder[] = "/tmp/runnel-bench-boxes-XXXXXX";
static struct workspace *workspace;
static uint32_t user;

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_boxes: %s: %s\n", what, why);
    exit(1);
}

static void check(enum err_code rc, const struct err *err)
{
    if (rc)
        fail("a call failed", err->text);
}

/* ---- Times ---- */

static uint64_t times[MOST_RUNS];

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static double ms(uint64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

/* `step` returns its own time. */
static void measure(const char *what, size_t runs, uint64_t (*step)(void))
{
    for (size_t i = 0; i < runs; i++)
        times[i] = step();
    qsort(times, runs, sizeof(*times), compare);
    printf("{\"what\": \"%s\", \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"best_ms\": %.3f, "
           "\"runs\": %zu}\n",
           what, ms(times[runs / 2]), ms(times[runs * 99 / 100]), ms(times[0]), runs);
    (void)fflush(stdout);
}

static void print_value(const char *what, double value)
{
    printf("{\"what\": \"%s\", \"value\": %.3f}\n", what, value);
    (void)fflush(stdout);
}

/* ---- Without boxes ---- */

static void become_user(void)
{
    if (user && (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0))
        _exit(126);
}

static uint64_t run_program(const char *const *arguments)
{
    uint64_t began = clock_mono_ns();
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        become_user();
        execv(arguments[0], (char **)(uintptr_t)arguments);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fail(arguments[0], "did not succeed");
    return clock_mono_ns() - began;
}

static uint64_t run_plainly(void)
{
    return run_program((const char *const[]){"/bin/sh", "-c", "true", NULL});
}

static uint64_t run_bubblewrap(void)
{
    return run_program((const char *const[]){
        "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin",
        "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc",
        "/proc", "/bin/true", NULL});
}

/* ---- Boxes ---- */

static struct box *box;

static void open_box(void)
{
    struct box_folder data = {
        .source = workspace_folder(workspace), .target = WORKSPACE_MOUNT, .writable = true};
    struct box_plan plan = {.folders = &data,
                            .folder_count = 1,
                            .limits = {.memory = (uint64_t)1 << 30,
                                       .temporary = 256 << 20,
                                       .file = (uint64_t)1 << 30,
                                       .processes = 256,
                                       .cpus = 1},
                            .user = user};
    struct err err;

    check(box_open(&plan, &box, &err), &err);
}

static void close_box(void)
{
    box_close(box);
    box = NULL;
}

static uint64_t carried;

static bool count_output(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    (void)argument, (void)stream, (void)bytes;
    carried += size;
    return true;
}

static struct box_result run_script(const char *text, uint32_t timeout_ms)
{
    const char *const arguments[] = {"/bin/sh", "-c", text, NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct box_run run = {.command = {.arguments = arguments, .environment = environment},
                          .input = -1,
                          .timeout_ms = timeout_ms,
                          .cancel = -1,
                          .take_output = count_output};
    struct box_result result;
    struct err err;

    check(box_run(box, &run, &result, &err), &err);
    return result;
}

static uint64_t run_cold(void)
{
    uint64_t began = clock_mono_ns(), time;

    open_box();
    (void)run_script("echo", 60000);
    time = clock_mono_ns() - began;
    close_box();
    return time;
}

static uint64_t run_warm(void)
{
    uint64_t began = clock_mono_ns();

    (void)run_script("true", 60000);
    return clock_mono_ns() - began;
}

/* From its timeout to the end. */
static uint64_t stop_tree(void)
{
    uint64_t began = clock_mono_ns();

    (void)run_script("i=0; while [ $i -lt 200 ]; do sleep 99 & i=$((i + 1)); done; wait", 400);
    return clock_mono_ns() - began - 400 * NS_PER_MS;
}

static void measure_output(void)
{
    uint64_t began = clock_mono_ns();

    carried = 0;
    (void)run_script("yes", 1000);
    print_value("output of `yes` through the server, MB/s",
                (double)carried / 1e6 / ((double)(clock_mono_ns() - began) / 1e9));
}

/* ---- Python ---- */

static const char *const environment[] = {"PATH=/usr/bin:/bin",
                                          "HOME=/mnt/data",
                                          "LANG=C.UTF-8",
                                          "MPLBACKEND=Agg",
                                          "MPLCONFIGDIR=/tmp",
                                          "OMP_NUM_THREADS=1",
                                          NULL};
static struct python *python;
static size_t figures;

static uint64_t run_cell(const char *code)
{
    struct python_cell cell = {.code = code,
                               .code_size = strlen(code),
                               .workspace = workspace,
                               .timeout_ms = 60000,
                               .cancel = -1};
    struct python_result result;
    uint64_t began = clock_mono_ns();
    struct err err;

    check(python_run(python, &cell, &result, &err), &err);
    if (result.end != PYTHON_DONE)
        fail("a cell", "did not succeed");
    figures += result.figures;
    return clock_mono_ns() - began;
}

static void open_python(void)
{
    open_box();
    python = python_new(environment, (uint64_t)1 << 30);
    python_enter(python, box);
}

static void close_python(void)
{
    python_free(python);
    close_box();
}

static uint64_t run_first_cell(void)
{
    uint64_t began = clock_mono_ns(), time;

    open_python();
    (void)run_cell("1+1");
    time = clock_mono_ns() - began;
    close_python();
    return time;
}

static uint64_t run_next_cell(void)
{
    return run_cell("1+1");
}

#define PLOT "import matplotlib.pyplot as plt\nplt.plot([x * x for x in range(9)])\nplt.show()"

static uint64_t plot_cold(void)
{
    uint64_t began = clock_mono_ns(), time;

    open_python();
    (void)run_cell(PLOT);
    time = clock_mono_ns() - began;
    close_python();
    return time;
}

static uint64_t plot_again(void)
{
    return run_cell(PLOT);
}

/* ---- Memory ---- */

static double mebibytes_of_all(void)
{
    struct tree tree;

    tree_measure(getpid(), 0, &tree);
    return (double)tree.bytes / (double)(1 << 20);
}

/* Processor time of a process and its descendants so far. */
static double cpu_seconds_of(pid_t pid)
{
    AUTO_FREE char *stat_path = mem_printf("/proc/%d/stat", pid);
    AUTO_FREE char *children = mem_printf("/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(stat_path, "re");
    unsigned long user_ticks = 0, system_ticks = 0;
    double seconds = 0;
    int child;

    if (file && fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                       &user_ticks, &system_ticks) == 2)
        seconds = (double)(user_ticks + system_ticks) / (double)sysconf(_SC_CLK_TCK);
    if (file)
        (void)fclose(file);
    file = fopen(children, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        seconds += cpu_seconds_of(child);
    if (file)
        (void)fclose(file);
    return seconds;
}

/* Each box, and each Python in it, by what all processes have more with them. */
static void measure_memory(void)
{
    struct box *boxes[IDLE_BOXES];
    struct python *pythons[IDLE_BOXES];
    double before, with_boxes, with_pythons, idle_seconds;

    before = mebibytes_of_all();
    for (size_t i = 0; i < IDLE_BOXES; i++) {
        open_box();
        boxes[i] = box;
    }
    with_boxes = mebibytes_of_all();
    idle_seconds = cpu_seconds_of(getpid());
    (void)poll(NULL, 0, 5000); /* nothing may happen meanwhile */
    print_value("processor time of 64 idle boxes, ms a second",
                (cpu_seconds_of(getpid()) - idle_seconds) * 1000 / 5);
    for (size_t i = 0; i < IDLE_BOXES; i++) {
        pythons[i] = python_new(environment, (uint64_t)1 << 30);
        python_enter(pythons[i], boxes[i]);
        python = pythons[i];
        (void)run_cell("1+1");
    }
    with_pythons = mebibytes_of_all();
    for (size_t i = 0; i < IDLE_BOXES; i++) {
        python_free(pythons[i]);
        box_close(boxes[i]);
    }
    print_value("memory of an idle box, MiB PSS", (with_boxes - before) / IDLE_BOXES);
    print_value("memory of an idle Python more, MiB PSS",
                (with_pythons - with_boxes) / IDLE_BOXES);
}

/* ---- Files ---- */

#define FOUND_FILES 20000

static void make_files(void)
{
    AUTO_FREE char *mebibyte = mem_zeroed(1 << 20, 1);
    struct workspace_target target = {.path = "large"};
    const char *data = workspace_folder(workspace);
    struct err err;

    memset(mebibyte, 'x', 1 << 20);
    check(workspace_write(workspace, &target, mebibyte, 1 << 20, NULL, &err), &err);
    for (int i = 0; i < FOUND_FILES; i++) {
        AUTO_FREE char *folder_path = mem_printf("%s/%d", data, i / 100);
        AUTO_FREE char *path = mem_printf("%s/%d.txt", folder_path, i);
        FILE *file;

        if (i % 100 == 0 && (mkdir(folder_path, 0755) != 0))
            fail(folder_path, strerror(errno));
        file = fopen(path, "we");
        if (!file || fprintf(file, "line one of file %d\nthe needle is here\n", i) < 0 ||
            fclose(file) != 0)
            fail(path, strerror(errno));
    }
}

static uint64_t read_file(void)
{
    uint64_t began = clock_mono_ns();
    AUTO_BUF bytes = {0};
    struct err err;

    check(workspace_read(workspace, "large", 2 << 20, &bytes, NULL, &err), &err);
    return clock_mono_ns() - began;
}

static uint64_t grep_files(void)
{
    uint64_t began = clock_mono_ns();
    struct box_result result =
        run_script("rg --json --no-follow --no-config -e needle /mnt/data | tail -1", 60000);

    if (result.why != BOX_EXITED || result.status != 0) {
        (void)fprintf(stderr, "bench_boxes: rg ended by %d with %d\n", result.why,
                      result.status);
        exit(1);
    }
    return clock_mono_ns() - began;
}

/* ---- All ---- */

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *at)
{
    (void)found, (void)kind, (void)at;
    return remove(path);
}

int main(void)
{
    struct workspaces_options options = {
        .data_dir = folder, .bytes = (uint64_t)1 << 30, .files = 100000};
    struct workspaces *workspaces;
    struct err err;

    user = geteuid() == 0 ? USER : 0;
    check(compute_start(NULL, 0, &err), &err);
    if (!mkdtemp(folder) || chmod(folder, 0711) != 0)
        fail(folder, strerror(errno));
    check(workspaces_open(&options, &workspaces, &err), &err);
    check(workspace_make(workspaces, "proj", "cntr", user, &workspace, &err), &err);
    measure("fork and exec of sh, plain", 200, run_plainly);
    measure("bubblewrap, true", 100, run_bubblewrap);
    measure("cold box, echo", 100, run_cold);
    open_box();
    measure("sh in a warm box", 500, run_warm);
    measure("stop of a tree of 200 processes", 10, stop_tree);
    measure_output();
    make_files();
    measure("read of 1 MiB", 100, read_file);
    measure("grep over 20,000 files", 10, grep_files);
    close_box();
    measure("first cell, cold box", 50, run_first_cell);
    open_python();
    measure("cell 1+1, warm", 1000, run_next_cell);
    close_python();
    if (access("/usr/lib/python3/dist-packages/matplotlib", F_OK) == 0) {
        measure("plot, cold box", 5, plot_cold);
        open_python();
        (void)run_cell(PLOT);
        measure("plot, pyplot imported before", 20, plot_again);
        close_python();
        if (figures != 26)
            fail("plots", "some are missing");
    }
    measure_memory();
    workspace_close(workspace);
    workspaces_close(workspaces);
    compute_stop();
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
