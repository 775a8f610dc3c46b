/*
 * box.c -- the server's side of a box: starts it, sends commands, carries their output.
 *
 * Commands go to the box directly, and only its start and its end go through the spawner. A command is one message, so
 * threads share the box's socket without a lock.
 */

#include "core/sandbox/box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/sandbox/box/protocol.h"
#include "core/sandbox/policy.h"
#include "core/sandbox/spawn.h"

#define READ_SIZE ((size_t)64 * 1024)
#define SAID_MAX  ((size_t)512) /* bytes of what a start that failed has said */

/* PID 1 gives a tree a second to end, and then ends itself. Longer than that is a box that does not answer. */
#define END_MS 5000
/* For a box to end by itself. */
#define CLOSE_MS 1000
/* For what is in the pipes when a command has ended. */
#define REST_MS 20

struct box {
    int control;  /* to PID 1 */
    int listener; /* -1: none */
    int end; /* to the spawner: what comes is its last word, and is only looked at, because many may ask */
    atomic_bool full; /* killed because of what it has written */
};

struct box_process {
    struct box *box;
    int channel;
};

static void close_pair(const int pair[2])
{
    if (pair[0] >= 0)
        close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
}

/* The first end is the server's. What is sent there waits for a reader no longer than a box may take to answer. */
static bool make_pair(int ret_pair[2])
{
    struct timeval limit = {.tv_sec = END_MS / 1000};

    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_pair) == 0 &&
           setsockopt(ret_pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0;
}

static enum err_code no_descriptors(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot make a socket or a pipe for a box: %s",
                   strerror(errno));
}

/* ---- The box ---- */

/* A box that does not answer is killed from outside. */
static void give_up(const struct box *box)
{
    shutdown(box->end, SHUT_WR);
}

/* What bubblewrap or PID 1 said, if the box has not come up. */
static enum err_code not_up(int said, struct err *err)
{
    char text[SAID_MAX + 1];
    ssize_t got = read(said, text, SAID_MAX);

    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return err_set(err, ERR_INTERNAL, "a box could not be made: %s", *text ? text : "it ended");
}

/* Until it says that it is up, or the spawner says that it has ended. */
static enum err_code await_up(struct box *box, bool listens, int said, struct err *err)
{
    struct pollfd polled[] = {{.fd = box->control, .events = POLLIN},
                              {.fd = box->end, .events = POLLIN}};
    struct box_up up;
    size_t count = 0;
    long got;
    int ready;

    do
        ready = poll(polled, COUNT_OF(polled), BOX_OPEN_MS);
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return err_set(err, ERR_TIMEOUT, "a box did not start within %d ms", BOX_OPEN_MS);
    got = receive_fds(box->control, &up, sizeof(up), &box->listener, listens, &count);
    if (!count)
        box->listener = -1;
    if (got == (long)sizeof(up) && up.version == BOX_VERSION && count == listens)
        return ERR_OK;
    if (got != 0)
        give_up(box); /* it is not what was started */
    /* The end of the socket may come before bubblewrap has said why. */
    (void)poll(&polled[1], 1, END_MS);
    return not_up(said, err);
}

static enum err_code send_box(const struct box_plan *plan, int control, int said, int end,
                              struct err *err)
{
    struct spawn_request request = {.kind = SPAWN_PROGRAM,
                                    .user = plan->user,
                                    .memory = plan->limits.memory,
                                    .processes = plan->limits.processes,
                                    .cpus = plan->limits.cpus};
    int fds[MESSAGE_FDS] = {[SPAWN_END] = end, [SPAWN_INPUT] = control, [SPAWN_OUTPUT] = said};
    struct policy policy;
    enum err_code rc = policy_make(plan, &policy, err);

    if (!rc) {
        memcpy(fds + SPAWN_FDS, policy.inputs + 1, sizeof(int) * (policy.input_count - 1));
        rc = spawn_send(&request, &policy.program, fds, policy.input_count + 2, err);
    }
    policy_clear(&policy);
    return rc;
}

enum err_code box_open(const struct box_plan *plan, struct box **ret_box, struct err *err)
{
    int control[2] = {-1, -1}, end[2] = {-1, -1}, said[2] = {-1, -1};
    struct box *box;
    enum err_code rc;

    if (!FAULT("sandbox.box.open") && make_pair(control) && make_pair(end) &&
        pipe2(said, O_CLOEXEC | O_NONBLOCK) == 0)
        rc = send_box(plan, control[1], said[1], end[1], err);
    else
        rc = no_descriptors(err);
    /* Only the box and the spawner have these sides now, so their end can be seen. */
    for (size_t i = 0; i < 3; i++) {
        int *pair = (int *[]){control, end, said}[i];

        if (pair[1] >= 0)
            close(pair[1]);
        pair[1] = -1;
    }
    box = mem_new(struct box);
    *box = (struct box){.control = control[0], .listener = -1, .end = end[0]};
    rc = rc ? rc : await_up(box, plan->port != 0, said[0], err);
    if (!rc && FAULT("sandbox.box.opened"))
        rc = err_set(err, ERR_INTERNAL, "the box has ended");
    close_pair(said);
    if (rc)
        box_close(box);
    else
        *ret_box = box;
    return rc;
}

int box_take_listener(struct box *box)
{
    int listener = box->listener;

    box->listener = -1;
    return listener;
}

void box_close(struct box *box)
{
    struct pollfd polled;

    if (!box)
        return;
    polled = (struct pollfd){.fd = box->end, .events = POLLIN};
    if (box->listener >= 0)
        close(box->listener);
    /* PID 1 ends when its socket does, and the kernel ends the others before that is seen. */
    if (box->control >= 0)
        close(box->control);
    if (box->end >= 0 && poll(&polled, 1, CLOSE_MS) <= 0) {
        give_up(box);
        (void)poll(&polled, 1, END_MS);
    }
    if (box->end >= 0)
        close(box->end);
    free(box);
}

void box_kill(struct box *box)
{
    give_up(box);
    (void)poll(&(struct pollfd){.fd = box->end, .events = POLLIN}, 1, END_MS);
}

void box_kill_full(struct box *box)
{
    atomic_store(&box->full, true);
    box_kill(box);
}

/* How it ended; waits for the spawner's word, which comes soon after the first sign of an end. */
static enum box_why why_gone(const struct box *box)
{
    struct pollfd polled = {.fd = box->end, .events = POLLIN};
    struct compute_end end = {.why = COMPUTE_LOST};

    if (poll(&polled, 1, END_MS) > 0 &&
        recv(box->end, &end, sizeof(end), MSG_PEEK | MSG_DONTWAIT) != (ssize_t)sizeof(end))
        end.why = COMPUTE_LOST;
    if (end.why == COMPUTE_OVER_MEMORY)
        return BOX_OVER_MEMORY;
    return atomic_load(&box->full) ? BOX_OVER_DISK : BOX_GONE;
}

bool box_is_alive(const struct box *box)
{
    struct pollfd polled[] = {{.fd = box->end, .events = POLLIN},
                              {.fd = box->control, .events = POLLIN}};

    return poll(polled, COUNT_OF(polled), 0) == 0;
}

/* ---- Processes ---- */

static size_t copy_texts(const char *const *texts, char **ret_texts)
{
    size_t count = 0;

    for (; texts[count] && count <= PROGRAM_STRINGS; count++)
        ret_texts[count] = (char *)(uintptr_t)texts[count];
    return count;
}

static enum err_code send_command(const struct box *box, const struct box_command *command,
                                  const int *fds, size_t count, struct err *err)
{
    AUTO_FREE struct program *program = mem_new(struct program);
    AUTO_FREE char *message = mem_zeroed(MESSAGE_SIZE, 1);
    size_t size = 0;

    program->folder = (char *)(uintptr_t)(command->folder ? command->folder : "");
    if (copy_texts(command->arguments, program->arguments) <= PROGRAM_STRINGS &&
        copy_texts(command->environment, program->environment) <= PROGRAM_STRINGS)
        size = program_write(program, message, MESSAGE_SIZE);
    if (!size)
        return err_set(err, ERR_TOO_LARGE, "a command has more than %zu bytes or %zu arguments",
                       MESSAGE_SIZE, PROGRAM_STRINGS);
    /* At work: the spawner watches the memory of the box until nothing but PID 1 is in it. */
    (void)send_fds(box->end, "", 1, NULL, 0);
    if (FAULT("sandbox.box.start") ||
        send_fds(box->control, message, size, fds, count) != (long)size) {
        give_up(box);
        return err_set(err, ERR_NOT_FOUND, "the box has ended");
    }
    return ERR_OK;
}

enum err_code box_start(struct box *box, const struct box_command *command, const int *fds,
                        size_t count, struct box_process **ret_process, struct err *err)
{
    int channel[2] = {-1, -1}, all[MESSAGE_FDS];
    enum err_code rc;

    if (count < 3 || count >= MESSAGE_FDS)
        return err_set(err, ERR_INVALID, "a command has 3 to %d descriptors", MESSAGE_FDS - 1);
    if (!make_pair(channel))
        return no_descriptors(err);
    all[0] = channel[1];
    memcpy(all + 1, fds, sizeof(int) * count);
    rc = send_command(box, command, all, count + 1, err);
    close(channel[1]);
    if (rc) {
        close(channel[0]);
        return rc;
    }
    *ret_process = mem_new(struct box_process);
    **ret_process = (struct box_process){.box = box, .channel = channel[0]};
    return ERR_OK;
}

static void send_signal(const struct box_process *process, enum box_signal signal)
{
    char byte = (char)signal;

    (void)send_fds(process->channel, &byte, 1, NULL, 0);
}

void box_interrupt(struct box_process *process)
{
    send_signal(process, BOX_INTERRUPT);
}

int box_process_fd(const struct box_process *process)
{
    return process->channel;
}

/* Takes the word of its end. Without one, or with a strange one, the box has ended or is not itself any more. */
static void take_end(const struct box_process *process, struct box_result *ret_result)
{
    struct pollfd polled = {.fd = process->channel, .events = POLLIN};
    struct box_ended ended;

    *ret_result = (struct box_result){0};
    (void)poll(&polled, 1, 0);
    if (polled.revents == 0 || FAULT("sandbox.box.end") ||
        receive_fds(process->channel, &ended, sizeof(ended), NULL, 0, NULL) !=
            (long)sizeof(ended)) {
        give_up(process->box);
        ret_result->why = why_gone(process->box);
        return;
    }
    ret_result->cpu_us = ended.cpu_us;
    ret_result->peak_bytes = ended.peak_bytes;
    if (ended.ending == BOX_FULL || ended.ending == BOX_NO_PROCESS) {
        ret_result->why = BOX_OVER_COUNT;
    } else if (ended.ending == BOX_RAN && WIFEXITED(ended.status)) {
        ret_result->why = BOX_EXITED;
        ret_result->status = WEXITSTATUS(ended.status);
    } else {
        ret_result->why = BOX_SIGNALLED;
        ret_result->status = ended.ending == BOX_RAN ? WTERMSIG(ended.status) : SIGKILL;
    }
}

/* Waits for the end of the channel: nothing of the command is left. A box that says anything else there is not itself,
 * and one that says nothing cannot end its command. */
static void await_none(const struct box_process *process)
{
    struct pollfd polled = {.fd = process->channel, .events = POLLIN};
    struct box_ended ended;

    if (poll(&polled, 1, END_MS) <= 0 ||
        receive_fds(process->channel, &ended, sizeof(ended), NULL, 0, NULL) != 0)
        give_up(process->box);
}

static void free_process(struct box_process *process)
{
    close(process->channel);
    free(process);
}

void box_stop(struct box_process *process, struct box_result *ret_result)
{
    struct pollfd polled = {.fd = process->channel, .events = POLLIN};
    struct box_result result;

    shutdown(process->channel, SHUT_WR);
    (void)poll(&polled, 1, END_MS);
    take_end(process, ret_result ? ret_result : &result);
    await_none(process);
    free_process(process);
}

/* ---- A command with its output ---- */

struct running {
    const struct box_run *run;
    struct box_process *process;
    struct box_result *result;
    int outputs[2]; /* read ends; -1 at their end */
    uint64_t deadline_ns;
    bool interrupted, killed;
    bool talks; /* output came since the last pause */
    enum box_why killed_for;
};

/* False if the caller wants no more. */
static bool carry(struct running *running, enum box_stream stream, char *bytes)
{
    const struct box_run *run = running->run;
    ssize_t got = read(running->outputs[stream], bytes, READ_SIZE);

    running->talks |= got > 0;
    if (got > 0)
        return !run->take_output || run->take_output(run->argument, stream, bytes, (size_t)got);
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(running->outputs[stream]);
        running->outputs[stream] = -1;
    }
    return true;
}

/* What is in the pipes is the command's. What others still write into them is not waited for. */
static void carry_rest(struct running *running, char *bytes)
{
    uint64_t deadline = clock_mono_ns() + REST_MS * NS_PER_MS;

    for (int stream = BOX_STDOUT; stream <= BOX_STDERR; stream++) {
        struct pollfd polled = {.events = POLLIN};

        while ((polled.fd = running->outputs[stream]) >= 0 && clock_mono_ns() < deadline &&
               poll(&polled, 1, 0) > 0) {
            if (!carry(running, (enum box_stream)stream, bytes))
                return;
        }
    }
}

static void kill_for(struct running *running, enum box_why why)
{
    if (running->killed)
        return;
    running->killed = true;
    running->killed_for = why;
    running->deadline_ns = clock_mono_ns() + END_MS * NS_PER_MS;
    shutdown(running->process->channel, SHUT_WR);
}

/* Its time is over: SIGINT if it has a grace, then the end. A box that does not answer to that is closed. */
static bool pass_deadline(struct running *running)
{
    if (running->killed)
        return false;
    if (running->run->grace_ms && !running->interrupted) {
        running->interrupted = true;
        running->deadline_ns = clock_mono_ns() + running->run->grace_ms * NS_PER_MS;
        box_interrupt(running->process);
    } else {
        kill_for(running, BOX_TIMED_OUT);
    }
    return true;
}

static int time_left(const struct running *running)
{
    uint64_t now = clock_mono_ns();

    return now >= running->deadline_ns
               ? 0
               : (int)((running->deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Until its deadline, or until a pause of its output. */
static int wait_ms(const struct running *running)
{
    int left = time_left(running);
    uint32_t pause = running->talks ? running->run->pause_ms : 0;

    return pause && (uint32_t)left > pause ? (int)pause : left;
}

static void report_pause(struct running *running)
{
    const struct box_run *run = running->run;

    if (!running->talks || !run->pause_ms || running->killed)
        return;
    running->talks = false;
    if (!run->take_output(run->argument, BOX_STDOUT, NULL, 0))
        kill_for(running, BOX_UNWANTED);
}

/* Carries output until the command has ended. */
static void follow(struct running *running, char *bytes)
{
    const struct box_process *process = running->process;

    for (;;) {
        struct pollfd polled[] = {
            {.fd = running->killed ? -1 : running->outputs[BOX_STDOUT], .events = POLLIN},
            {.fd = running->killed ? -1 : running->outputs[BOX_STDERR], .events = POLLIN},
            {.fd = process->channel, .events = POLLIN},
            {.fd = running->killed ? -1 : running->run->cancel, .events = POLLIN},
        };
        int ready =
            FAULT("sandbox.box.poll") ? -1 : poll(polled, COUNT_OF(polled), wait_ms(running));

        if (ready < 0 && errno != EINTR)
            break;
        if (ready == 0)
            report_pause(running);
        for (int i = BOX_STDOUT; ready > 0 && i <= BOX_STDERR; i++) {
            if (polled[i].revents && !carry(running, (enum box_stream)i, bytes))
                kill_for(running, BOX_UNWANTED);
        }
        if (ready > 0 && polled[3].revents)
            kill_for(running, BOX_CANCELLED);
        if (ready > 0 && polled[2].revents)
            break;
        /* Also while there is always output. */
        if (time_left(running) == 0 && !pass_deadline(running))
            break;
    }
    take_end(process, running->result);
    if (running->result->why == BOX_OVER_MEMORY || running->result->why == BOX_OVER_DISK)
        return;
    if (running->killed)
        running->result->why = running->killed_for;
    else if (running->interrupted)
        running->result->why = BOX_TIMED_OUT;
}

/* A pipe for output. Its read end does not block: a command can open the pipe in /proc, and read what poll() has
 * seen. */
static bool open_output(int *ret_pipe)
{
    return pipe2(ret_pipe, O_CLOEXEC) == 0 && fcntl(ret_pipe[0], F_SETFL, O_NONBLOCK) == 0;
}

enum err_code box_run(struct box *box, const struct box_run *run, struct box_result *ret_result,
                      struct err *err)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), out[2] = {-1, -1},
        problems[2] = {-1, -1};
    struct running running = {
        .run = run,
        .result = ret_result,
        .deadline_ns = clock_mono_ns() + run->timeout_ms * NS_PER_MS,
    };
    AUTO_FREE char *bytes = mem_zeroed(READ_SIZE, 1);
    enum err_code rc;

    if (null >= 0 && open_output(out) && open_output(problems))
        rc = box_start(box, &run->command,
                       (int[]){run->input < 0 ? null : run->input, out[1], problems[1]}, 3,
                       &running.process, err);
    else
        rc = no_descriptors(err);
    if (out[1] >= 0)
        close(out[1]);
    if (problems[1] >= 0)
        close(problems[1]);
    if (null >= 0)
        close(null);
    running.outputs[BOX_STDOUT] = out[0];
    running.outputs[BOX_STDERR] = problems[0];
    if (!rc) {
        follow(&running, bytes);
        if (run->leftovers == BOX_KEEP_LEFTOVERS) {
            send_signal(running.process, BOX_LEAVE);
        } else {
            shutdown(running.process->channel, SHUT_WR);
            await_none(running.process);
        }
        if (!running.killed || running.killed_for != BOX_UNWANTED)
            carry_rest(&running, bytes);
        free_process(running.process);
    } else if (rc == ERR_NOT_FOUND) {
        give_up(box);
        *ret_result = (struct box_result){.why = why_gone(box)};
        rc = ERR_OK;
    }
    for (int i = BOX_STDOUT; i <= BOX_STDERR; i++) {
        if (running.outputs[i] >= 0)
            close(running.outputs[i]);
    }
    return rc;
}
