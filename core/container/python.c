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
