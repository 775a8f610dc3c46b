/*
 * python.c -- the server's side of driver.py: sends cells, carries their output and figures, ends what does not stop.
 *
 * The driver's word that a cell has ended may come before its last output was read, because that takes another way. So
 * the pipe is emptied before each message counts. What a process of an earlier cell prints later belongs to the cell
 * that runs then.
 */

#include "core/container/python.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/container/driver.h"
#include "core/sandbox/box.h"
#include "core/sandbox/memory_file.h"
#include "core/sandbox/message.h"
#include "core/sandbox/workspace/workspace.h"

#define READ_SIZE ((size_t)64 * 1024)
#define WORD_SIZE ((size_t)128)     /* bytes of a message of the driver; longer ones are cut */
#define NAME_SIZE ((size_t)64)      /* bytes of a figure's name */
#define PIPE_MOST ((size_t)1 << 20) /* bytes that can be in a pipe */
#define MEBIBYTE  ((uint64_t)1 << 20)

#define FIGURES ".figures/"
#define PROGRAM "/usr/bin/python3"

struct python {
    const char *const *environment;
    uint64_t memory;
    struct box *box;                 /* borrowed */
    struct box_process *process;     /* NULL: it has none */
    int channel, output;             /* of the process; -1: none, or closed by the code */
    uint64_t cell;                   /* the number of the last one */
    char notice[PYTHON_NOTICE_SIZE]; /* for the next cell */
};

bool python_is_installed(void)
{
    return access(PROGRAM, X_OK) == 0;
}

struct python *python_new(const char *const *environment, uint64_t memory)
{
    struct python *python = mem_new(struct python);

    *python = (struct python){
        .environment = environment, .memory = memory, .channel = -1, .output = -1};
    return python;
}

/* ---- What the model reads when variables are gone ---- */

static const char restarted[] =
    "The sandbox was restarted; background processes and variables are gone, files are there.";

static void notice_ended(struct python *python, const char *why)
{
    (void)snprintf(python->notice, sizeof(python->notice),
                   "The Python process was ended (%s). Variables are gone, files are there.",
                   why);
}

static void notice_over_memory(struct python *python)
{
    uint64_t mebibytes = python->memory / MEBIBYTE;
    AUTO_FREE char *why =
        mebibytes % 1024
            ? mem_printf("more than %llu MiB of memory", (unsigned long long)mebibytes)
            : mem_printf("more than %llu GiB of memory", (unsigned long long)mebibytes / 1024);

    notice_ended(python, why);
}

/* How it ended by itself, or with its box. */
static void notice_result(struct python *python, const struct box_result *result)
{
    AUTO_FREE char *status = mem_printf("exit status %d", result->status);
    AUTO_FREE char *signal = mem_printf("signal %d", result->status);

    switch (result->why) {
    case BOX_EXITED: notice_ended(python, status); break;
    case BOX_SIGNALLED: notice_ended(python, signal); break;
    case BOX_OVER_MEMORY: notice_over_memory(python); break;
    case BOX_OVER_DISK: notice_ended(python, "the workspace is full"); break;
    case BOX_OVER_COUNT: notice_ended(python, "too many processes"); break;
    case BOX_TIMED_OUT:
    case BOX_CANCELLED:
    case BOX_UNWANTED:
    case BOX_GONE: (void)snprintf(python->notice, sizeof(python->notice), "%s", restarted);
    }
}

/* ---- The process ---- */

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Ends it, if it has not ended. */
static void stop(struct python *python, struct box_result *ret_result)
{
    box_stop(TAKE(python->process), ret_result);
    close_one(&python->channel);
    close_one(&python->output);
}

static bool has_ended(const struct python *python)
{
    struct pollfd polled = {.fd = box_process_fd(python->process), .events = POLLIN};

    return poll(&polled, 1, 0) != 0;
}

static enum err_code start_with(struct python *python, int output, int channel, int driver,
                                struct err *err)
{
    static const char *const arguments[] = {PROGRAM, "-I", "-u", "/proc/self/fd/4", NULL};
    struct box_command command = {
        .folder = WORKSPACE_MOUNT, .arguments = arguments, .environment = python->environment};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    enum err_code rc;

    if (null < 0)
        return err_set(err, ERR_INTERNAL, "cannot open /dev/null: %s", strerror(errno));
    rc = box_start(python->box, &command, (int[]){null, output, output, channel, driver}, 5,
                   &python->process, err);
    close(null);
    return rc;
}

static enum err_code start(struct python *python, struct err *err)
{
    int output[2] = {-1, -1}, channel[2] = {-1, -1};
    int driver = memory_file(driver_text(), driver_size(), err);
    enum err_code rc = driver < 0 ? ERR_INTERNAL : ERR_OK;

    if (!rc && (FAULT("python.start") || pipe2(output, O_CLOEXEC) != 0 ||
                fcntl(output[0], F_SETFL, O_NONBLOCK) != 0 ||
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0 ||
                fcntl(channel[0], F_SETFL, O_NONBLOCK) != 0))
        rc = err_set(err, ERR_INTERNAL, "cannot make a pipe for Python: %s", strerror(errno));
    rc = rc ? rc : start_with(python, output[1], channel[1], driver, err);
    close_one(&output[1]);
    close_one(&channel[1]);
    close_one(&driver);
    python->output = output[0];
    python->channel = channel[0];
    if (rc) {
        close_one(&python->output);
        close_one(&python->channel);
    }
    return rc;
}

/* ---- A cell ---- */

struct cell_run {
    struct python *python;
    const struct python_cell *cell;
    struct python_result *result;
    uint64_t deadline_ns;
    bool begun; /* before that an interrupt would end Python, which is about to start */
    bool interrupted;
    enum python_end interrupted_for;
    bool ended; /* the driver says so */
    char how;   /* it says */
    size_t figures_size;
    char *bytes; /* READ_SIZE */
};

static void interrupt(struct cell_run *run, enum python_end why)
{
    if (run->interrupted)
        return;
    run->interrupted = true;
    run->interrupted_for = why;
    run->deadline_ns = clock_mono_ns() + PYTHON_GRACE_MS * NS_PER_MS;
    if (run->begun)
        box_interrupt(run->python->process);
}

/* A caller that has had enough gets nothing more. */
static bool is_wanted(const struct cell_run *run)
{
    return !run->interrupted || run->interrupted_for != PYTHON_UNWANTED;
}

/* Returns the bytes; 0: there is nothing now. */
static size_t carry(struct cell_run *run)
{
    const struct python_cell *cell = run->cell;
    ssize_t got = read(run->python->output, run->bytes, READ_SIZE);

    if (got > 0) {
        if (cell->take_output && is_wanted(run) &&
            !cell->take_output(cell->argument, run->bytes, (size_t)got))
            interrupt(run, PYTHON_UNWANTED);
        return (size_t)got;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        close_one(&run->python->output);
    return 0;
}

/* What the cell has printed until now. What others print meanwhile has an end, too. */
static void carry_rest(struct cell_run *run)
{
    size_t carried = 0, got;

    while (run->python->output >= 0 && carried < PIPE_MOST && (got = carry(run)) > 0)
        carried += got;
}

/* A file's name that the driver could have made. */
static bool is_name(const char *name, size_t size)
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

    return size > 4 && size < NAME_SIZE && strspn(name, letters) == size - 4 &&
           strcmp(name + size - 4, ".png") == 0;
}

static bool read_figure(const struct cell_run *run, const char *path, struct buf *ret_png)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    size_t room = PYTHON_FIGURES_SIZE - run->figures_size;

    return run->result->figures < PYTHON_FIGURES &&
           workspace_read(run->cell->workspace, path,
                          room < PYTHON_FIGURE_LIMIT ? room : PYTHON_FIGURE_LIMIT, ret_png,
                          NULL, NULL) == ERR_OK &&
           ret_png->length > sizeof(signature) - 1 &&
           memcmp(ret_png->data, signature, sizeof(signature) - 1) == 0;
}

static void take_figure(struct cell_run *run, const char *name, size_t size)
{
    const struct python_cell *cell = run->cell;
    char path[sizeof(FIGURES) + NAME_SIZE];
    AUTO_BUF png = {0};

    (void)snprintf(path, sizeof(path), FIGURES "%.*s", (int)NAME_SIZE, name);
    if (!is_name(name, size) || !read_figure(run, path, &png)) {
        run->result->other_figures++;
        return;
    }
    run->result->figures++;
    run->figures_size += png.length;
    if (cell->take_figure && is_wanted(run) &&
        !cell->take_figure(cell->argument, path, png.data, png.length))
        interrupt(run, PYTHON_UNWANTED);
}

/* One message of the driver. What is no message of this cell is left out. */
static void take_message(struct cell_run *run)
{
    struct python *python = run->python;
    char message[WORD_SIZE + 1];
    ssize_t size = recv(python->channel, message, WORD_SIZE, MSG_DONTWAIT);

    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        close_one(&python->channel); /* closed by the code: its process can only be ended */
    if (size <= 0)
        return;
    message[size] = '\0';
    carry_rest(run);
    if (*message == 'B' && !run->begun) {
        run->begun = true;
        if (run->interrupted)
            box_interrupt(python->process);
    }
    if (*message == 'F' || *message == 'f')
        take_figure(run, message + 1, (size_t)size - 1);
    if (*message == 'F')
        (void)send(python->channel, "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (*message == 'E' && size == 10 && memcmp(message + 1, &python->cell, 8) == 0) {
        run->ended = true;
        run->how = message[9];
    }
}

/* False: it did not stop. */
static bool pass_deadline(struct cell_run *run)
{
    if (clock_mono_ns() < run->deadline_ns)
        return true;
    if (run->interrupted)
        return false;
    interrupt(run, PYTHON_TIMED_OUT);
    return true;
}

static int time_left(const struct cell_run *run)
{
    uint64_t now = clock_mono_ns();

    return now >= run->deadline_ns
               ? 0
               : (int)((run->deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Until the cell has ended, its process has, or it does not stop. False then: the process is to be ended. */
static bool follow(struct cell_run *run)
{
    struct python *python = run->python;

    do {
        struct pollfd polled[] = {
            {.fd = python->output, .events = POLLIN},
            {.fd = python->channel, .events = POLLIN},
            {.fd = run->interrupted ? -1 : run->cell->cancel, .events = POLLIN},
            {.fd = box_process_fd(python->process), .events = POLLIN},
        };
        int ready = poll(polled, sizeof(polled) / sizeof(*polled), time_left(run));

        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && polled[0].revents)
            (void)carry(run);
        if (ready > 0 && polled[1].revents)
            take_message(run);
        if (ready > 0 && polled[2].revents)
            interrupt(run, PYTHON_CANCELLED);
        if (run->ended)
            return true;
        if (ready > 0 && polled[3].revents) {
            carry_rest(run);
            return false;
        }
    } while (pass_deadline(run));
    return false;
}

/* If it does not arrive, the process has ended, or does not read any more: follow() sees to both. */
static enum err_code send_cell(struct python *python, const struct python_cell *cell,
                               struct err *err)
{
    int code = memory_file(cell->code, cell->code_size, err);

    if (code < 0)
        return ERR_INTERNAL;
    python->cell++;
    (void)send_fds(python->channel, &python->cell, sizeof(python->cell), &code, 1);
    close(code);
    return ERR_OK;
}

/* The process ends, or has ended: by itself, with its box, or because it did not stop. */
static void conclude(struct cell_run *run)
{
    struct python *python = run->python;
    bool ended = has_ended(python);
    struct box_result result;

    stop(python, &result);
    run->result->end = run->interrupted ? run->interrupted_for : PYTHON_ENDED;
    if (ended || result.why == BOX_OVER_MEMORY || result.why == BOX_OVER_DISK)
        notice_result(python, &result);
    else
        notice_ended(python, "it did not stop");
}

static enum python_end end_of(const struct cell_run *run)
{
    if (run->interrupted)
        return run->interrupted_for;
    return run->how == 'd' ? PYTHON_DONE : PYTHON_RAISED;
}

/* The process as it was left by the last cell, or a new one. */
static enum err_code ready(struct python *python, struct err *err)
{
    struct box_result result;

    if (python->process && has_ended(python)) {
        stop(python, &result);
        notice_result(python, &result);
    }
    if (python->process)
        return ERR_OK;
    python->cell = 0;
    return start(python, err);
}

enum err_code python_run(struct python *python, const struct python_cell *cell,
                         struct python_result *ret_result, struct err *err)
{
    AUTO_FREE char *bytes = mem_zeroed(READ_SIZE, 1);
    struct python_result result = {0};
    struct cell_run run = {.python = python, .cell = cell, .result = &result, .bytes = bytes};
    uint64_t began_ns = clock_mono_ns();
    enum err_code rc;

    if (cell->code_size > PYTHON_CODE_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "The code has more than %zu bytes.",
                       PYTHON_CODE_LIMIT);
    rc = ready(python, err);
    rc = rc ? rc : send_cell(python, cell, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    run.deadline_ns = began_ns + cell->timeout_ms * NS_PER_MS;
    if (rc) {
        result.end = PYTHON_ENDED; /* the box, just before the cell */
        python_remember(python);
    } else if (follow(&run)) {
        result.end = end_of(&run);
    } else {
        conclude(&run);
    }
    result.alive = python->process != NULL;
    result.wall_ns = clock_mono_ns() - began_ns;
    memcpy(result.notice, python->notice, sizeof(result.notice));
    python->notice[0] = '\0';
    *ret_result = result;
    return ERR_OK;
}

/* ---- For boxes.c ---- */

void python_enter(struct python *python, struct box *box)
{
    python->box = box;
}

void python_lose(struct python *python, enum python_loss loss)
{
    struct box_result result;

    python->box = NULL;
    if (!python->process)
        return;
    stop(python, &result);
    if (loss == PYTHON_OVER_MEMORY || result.why == BOX_OVER_MEMORY)
        notice_over_memory(python);
    else if (result.why == BOX_OVER_DISK)
        notice_result(python, &result);
    else if (loss == PYTHON_IDLE)
        notice_ended(python, "it was not used for long");
    else
        python_remember(python);
}

void python_remember(struct python *python)
{
    (void)snprintf(python->notice, sizeof(python->notice), "%s", restarted);
}

bool python_is_used(const struct python *python)
{
    return python->process || *python->notice;
}

void python_free(struct python *python)
{
    if (!python)
        return;
    if (python->process)
        stop(python, NULL);
    free(python);
}
