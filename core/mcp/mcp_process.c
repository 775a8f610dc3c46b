/*
 * mcp_process.c -- the processes of MCP servers, on a loop of their own, and the links to them.
 *
 * All links of a process are on other loops. A message travels as a task: text to the process, JSON back. A link is
 * counted by both sides and by each message under way, so neither side waits for the other to let it go.
 *
 * A process is started for a link and not again for the same one: what a link has asked for may have been executed, so
 * its session must learn of the end.
 */

#include "core/mcp/mcp_process.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_message.h"

#define READ_SIZE   ((size_t)64 << 10)
#define ERRORS_KEPT ((size_t)2 << 10) /* bytes of stderr, for the log */

struct mcp_link {
    atomic_uint count; /* of those who have it */
    struct mcp_processes *all;
    struct mcp_link_options options; /* without the tenant */
    struct tenant tenant;
    bool open; /* on its loop: callbacks may come */
    /* On the loop of the processes: */
    struct process *process; /* NULL: none, or it has ended */
    struct mcp_link *next;   /* of the process */
    json_t *initialize; /* the id of its initialize, which waits for the process; or NULL */
};

/* A request that the process has. */
struct asked {
    struct asked *next;
    struct mcp_link *link;
    json_int_t id; /* the process's */
    json_t *its;   /* the link's */
};

enum process_state {
    PROCESS_ENDED,
    PROCESS_STARTING, /* `start` is to be answered */
    PROCESS_GREETED,  /* it was sent initialize */
    PROCESS_READY,
};

struct process {
    struct process *next;
    struct mcp_processes *all;
    struct mcp_start start;
    struct tenant tenant;
    enum process_state state;
    struct mcp_pipes pipes;
    struct loop_watch input, output, errors, ended;
    bool input_watched;
    struct buf unsent, line, complaints;
    size_t scanned; /* of the line */
    struct mcp_link *links;
    struct asked *asked;
    size_t asked_count;
    json_int_t last_id;
    json_t *greeting;                    /* its answer to initialize */
    size_t unasked;                      /* bytes since its last answer */
    unsigned garbage;                    /* lines since then */
    uint64_t starts[MCP_PROCESS_STARTS]; /* the newest ones; 0: none */
    unsigned start_count;
    uint64_t unused_ns;
    struct loop_timer timer; /* for its greeting; to its end, when no link has it */
    struct loop_task task;   /* the answer to `start` */
    struct mcp_pipes given;
    char *why;
};

struct mcp_processes {
    struct mcp_processes_options options;
    struct loop *loop;
    struct process *first;
    bool stopped; /* nothing starts any more */
    struct loop_task stopping, reclaiming;
    atomic_bool reclaims;     /* that is posted */
    uint64_t wanted_until_ns; /* 0: no memory is wanted */
    _Atomic uint64_t running, started, ended;
};

/* ---- Links, between the loops ---- */

static void let_go(struct mcp_link *link)
{
    if (atomic_fetch_sub(&link->count, 1) > 1)
        return;
    json_decref(link->initialize);
    free(link);
}

/* A message to the link's loop: JSON, or why it ends. */
struct delivery {
    struct loop_task task;
    struct mcp_link *link;
    json_t *message;
    char *why;
};

static void end_link(struct mcp_link *link, const char *why)
{
    const struct mcp_answer answer = {.fault = MCP_FAULT_PROTOCOL, .text = why};

    link->open = false;
    link->options.on_end(link->options.arg, &answer);
    let_go(link);
}

static void deliver(struct loop_task *task)
{
    struct delivery *delivery = CONTAINER_OF(task, struct delivery, task);
    struct mcp_link *link = delivery->link;

    if (link->open && delivery->message)
        link->options.on_message(link->options.arg, delivery->message);
    else if (link->open)
        end_link(link, delivery->why);
    json_decref(delivery->message);
    free(delivery->why);
    free(delivery);
    let_go(link);
}

/* Takes both. */
static void send_to_link(struct mcp_link *link, json_t *message, char *why)
{
    struct delivery *delivery = mem_new(struct delivery);

    *delivery =
        (struct delivery){.task.run = deliver, .link = link, .message = message, .why = why};
    atomic_fetch_add(&link->count, 1);
    loop_post(link->options.loop, &delivery->task);
}

/* A message from the link's loop. Only take_order() has a text. */
struct order {
    struct loop_task task;
    struct mcp_link *link;
    char *text;
};

static void send_order(struct mcp_link *link, void (*run)(struct loop_task *), char *text)
{
    struct order *order = mem_new(struct order);

    *order = (struct order){.task.run = run, .link = link, .text = text};
    atomic_fetch_add(&link->count, 1);
    loop_post(link->all->loop, &order->task);
}

static void order_done(struct order *order)
{
    let_go(order->link);
    free(order->text);
    free(order);
}

/* ---- What the process has been asked ---- */

static void forget_asked(struct process *process, struct asked **at)
{
    struct asked *asked = *at;

    *at = asked->next;
    process->asked_count--;
    json_decref(asked->its);
    free(asked);
}

static struct asked **find_asked(struct process *process, json_int_t id)
{
    struct asked **at = &process->asked;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

/* By the link's own id. */
static struct asked **find_its(struct process *process, const struct mcp_link *link,
                               const json_t *its)
{
    struct asked **at = &process->asked;

    while (*at && ((*at)->link != link || !json_equal((*at)->its, its)))
        at = &(*at)->next;
    return at;
}

/* ---- Its end ---- */

static void end_process(struct process *process, const char *why);

static void unwatch(struct process *process)
{
    struct loop *loop = process->all->loop;

    if (process->input_watched)
        loop_watch_remove(loop, &process->input);
    process->input_watched = false;
    if (process->output.fd >= 0)
        loop_watch_remove(loop, &process->output);
    if (process->errors.fd >= 0)
        loop_watch_remove(loop, &process->errors);
    if (process->ended.fd >= 0)
        loop_watch_remove(loop, &process->ended);
    process->output.fd = process->errors.fd = process->ended.fd = -1;
}

static void close_pipes(struct process *process)
{
    unwatch(process);
    close(process->pipes.input);
    close(process->pipes.output);
    close(process->pipes.errors);
    process->all->options.stop(process->all->options.arg, process->pipes.process);
    atomic_fetch_sub(&process->all->running, 1);
}

static void free_process(struct process *process)
{
    struct process **at = &process->all->first;

    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    loop_timer_stop(process->all->loop, &process->timer);
    buf_clear(&process->complaints);
    free(process);
}

/* An entry without a process and without links is kept as long as its starts count. */
static void rest(struct process *process, uint64_t ns)
{
    process->unused_ns = clock_mono_ns();
    loop_timer_start(process->all->loop, &process->timer, process->unused_ns + ns);
}

static void drop_links(struct process *process, const char *why)
{
    while (process->links) {
        struct mcp_link *link = process->links;

        process->links = link->next;
        link->process = NULL;
        send_to_link(link, NULL, mem_strdup(why));
        let_go(link);
    }
}

/* Its links end with the reason. The next one may start it again. */
static void end_process(struct process *process, const char *why)
{
    bool ran = process->state == PROCESS_GREETED || process->state == PROCESS_READY;

    process->state = PROCESS_ENDED;
    if (ran)
        close_pipes(process);
    while (process->asked)
        forget_asked(process, &process->asked);
    buf_clear(&process->unsent);
    buf_clear(&process->line);
    process->scanned = process->unasked = process->garbage = 0;
    json_decref(TAKE(process->greeting));
    drop_links(process, why);
    rest(process, MCP_PROCESS_STARTS_NS);
}

/* This server has not asked for it. */
static void fail(struct process *process, const char *why)
{
    AUTO_FREE char *said =
        process->complaints.length
            ? json_clean_utf8(process->complaints.data, process->complaints.length)
            : NULL;

    atomic_fetch_add(&process->all->ended, 1);
    log_warn("MCP server '%s' %s%s%s", process->start.named->name, why, said ? ": " : "",
             said ? said : "");
    end_process(process, why);
}

/* ---- To the process ---- */

static void watch_input(struct process *process)
{
    bool wanted = process->unsent.length > 0;
    struct err err;

    if (wanted == process->input_watched)
        return;
    process->input_watched = wanted;
    if (!wanted)
        loop_watch_remove(process->all->loop, &process->input);
    else if (loop_watch_add(process->all->loop, &process->input, EPOLLOUT, &err))
        process->input_watched = false;
}

/* False: it has closed its input. */
static bool write_unsent(struct process *process)
{
    while (process->unsent.length) {
        ssize_t sent =
            write(process->pipes.input, process->unsent.data, process->unsent.length);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent < 0)
            break;
        buf_consume(&process->unsent, (size_t)sent);
    }
    watch_input(process);
    return true;
}

/* Takes the text. A process that has closed its input, or has ended, fails here. */
static void write_message(struct process *process, char *text)
{
    buf_add_text(&process->unsent, text);
    buf_add_char(&process->unsent, '\n');
    free(text);
    if (!write_unsent(process))
        fail(process, "has closed its input");
    else if (process->unsent.length > MCP_PROCESS_UNREAD)
        fail(process, "does not read its input");
}

static void input_ready(struct loop_watch *watch, uint32_t events)
{
    struct process *process = CONTAINER_OF(watch, struct process, input);

    (void)events;
    if (!write_unsent(process))
        fail(process, "has closed its input");
}

static void greet(struct process *process)
{
    json_auto_t *params = mcp_initialize_params();

    process->state = PROCESS_GREETED;
    loop_timer_start(process->all->loop, &process->timer,
                     clock_mono_ns() + MCP_PROCESS_BEGIN_NS);
    write_message(process, mcp_request_text(++process->last_id, "initialize", params));
}

/* ---- From the process ---- */

/* JSON belongs to one thread: what stays on this one is copied for the other. */
static json_t *answer_with(const json_t *id, const json_t *result)
{
    return json_build("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", json_deep_copy(id), "result",
                      json_deep_copy(result));
}

static void answer_initialize(struct process *process, struct mcp_link *link)
{
    send_to_link(link, answer_with(link->initialize, process->greeting), NULL);
    json_decref(TAKE(link->initialize));
}

static void take_greeting(struct process *process, json_t *message)
{
    json_t *result = json_object_get(message, "result");

    if (!json_is_object(result)) {
        fail(process, "refuses to be initialized");
        return;
    }
    loop_timer_stop(process->all->loop, &process->timer);
    process->greeting = json_incref(result);
    process->state = PROCESS_READY;
    write_message(process, mcp_notification_text("notifications/initialized", NULL));
    if (process->state != PROCESS_READY)
        return;
    for (struct mcp_link *link = process->links; link; link = link->next) {
        if (link->initialize)
            answer_initialize(process, link);
    }
    if (!process->links)
        rest(process, process->all->options.idle_ns);
}

static void take_answer(struct process *process, json_t *message, json_int_t id)
{
    struct asked **at = find_asked(process, id);
    struct asked *asked = *at;

    if (process->state == PROCESS_GREETED && id == process->last_id) {
        take_greeting(process, message);
        return;
    }
    if (!asked)
        return; /* it was cancelled */
    json_object_set(message, "id", asked->its);
    send_to_link(asked->link, json_deep_copy(message), NULL);
    forget_asked(process, at);
    process->unasked = process->garbage = 0;
}

static void take_progress(struct process *process, json_t *message)
{
    json_t *params = json_object_get(message, "params");
    struct asked *asked = *find_asked(process, json_get_int(params, "progressToken", -1));

    if (!asked)
        return;
    json_object_set(params, "progressToken", asked->its);
    send_to_link(asked->link, json_deep_copy(message), NULL);
}

static void take_notification(struct process *process, const char *method, json_t *message)
{
    if (strcmp(method, "notifications/progress") == 0) {
        take_progress(process, message);
        return;
    }
    for (struct mcp_link *link = process->links;
         link && strcmp(method, "notifications/tools/list_changed") == 0; link = link->next)
        send_to_link(link, json_deep_copy(message), NULL);
}

static void take_message(struct process *process, json_t *message)
{
    const char *method = json_get_string(message, "method", NULL);
    const json_t *id = json_object_get(message, "id");

    if (method && !json_absent(id))
        write_message(process, mcp_reply_text(message));
    else if (method)
        take_notification(process, method, message);
    else if (json_is_integer(id))
        take_answer(process, message, json_integer_value(id));
}

/* False if the process has ended by it. */
static bool take_line(struct process *process, const char *text, size_t length)
{
    json_auto_t *message = NULL;

    process->unasked += length + 1;
    if (length && text[length - 1] == '\r')
        length--;
    if (length && !json_parse(text, length, &message, NULL) && json_is_object(message))
        take_message(process, message);
    else if (length && ++process->garbage > MCP_PROCESS_GARBAGE)
        fail(process, "writes something that is not JSON");
    if (process->state != PROCESS_ENDED && process->unasked > MCP_PROCESS_UNASKED)
        fail(process, "writes without being asked");
    return process->state != PROCESS_ENDED;
}

static void take_lines(struct process *process)
{
    struct buf *line = &process->line;
    size_t begin = 0;

    while (process->scanned < line->length) {
        const char *end =
            memchr(line->data + process->scanned, '\n', line->length - process->scanned);

        if (!end) {
            process->scanned = line->length;
            break;
        }
        process->scanned = (size_t)(end - line->data) + 1;
        if (!take_line(process, line->data + begin, process->scanned - 1 - begin))
            return;
        begin = process->scanned;
    }
    buf_consume(line, begin);
    process->scanned -= begin;
    if (line->length > MCP_ANSWER_LIMIT)
        fail(process, "writes a line that is too long");
}

static void output_ready(struct loop_watch *watch, uint32_t events)
{
    struct process *process = CONTAINER_OF(watch, struct process, output);
    ssize_t got = read(watch->fd, buf_reserve(&process->line, READ_SIZE), READ_SIZE);

    (void)events;
    if (got > 0) {
        buf_added(&process->line, (size_t)got);
        take_lines(process);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        fail(process, "has ended");
    }
}

/* The end of stderr says nothing: it may be closed. */
static void errors_ready(struct loop_watch *watch, uint32_t events)
{
    struct process *process = CONTAINER_OF(watch, struct process, errors);
    struct buf *kept = &process->complaints;
    ssize_t got = read(watch->fd, buf_reserve(kept, READ_SIZE), READ_SIZE);

    (void)events;
    if (got > 0) {
        buf_added(kept, (size_t)got);
        if (kept->length > ERRORS_KEPT)
            buf_consume(kept, kept->length - ERRORS_KEPT);
    } else if (got == 0) {
        loop_watch_remove(process->all->loop, watch);
        watch->fd = -1;
    }
}

/* What it has written before is in the pipe, and is read first. */
static void ended_ready(struct loop_watch *watch, uint32_t events)
{
    struct process *process = CONTAINER_OF(watch, struct process, ended);
    ssize_t got;

    (void)events;
    do {
        got = read(process->pipes.output, buf_reserve(&process->line, READ_SIZE), READ_SIZE);
        if (got > 0) {
            buf_added(&process->line, (size_t)got);
            take_lines(process);
        }
    } while (got > 0 && process->state != PROCESS_ENDED);
    if (process->state != PROCESS_ENDED)
        fail(process, "has ended");
}

/* ---- Its start ---- */

static bool watch_pipes(struct process *process)
{
    struct loop *loop = process->all->loop;
    struct err err;

    process->input = (struct loop_watch){.fd = process->pipes.input, .ready = input_ready};
    process->output = (struct loop_watch){.fd = process->pipes.output, .ready = output_ready};
    process->errors = (struct loop_watch){.fd = process->pipes.errors, .ready = errors_ready};
    process->ended = (struct loop_watch){.fd = process->pipes.ended, .ready = ended_ready};
    return !loop_watch_add(loop, &process->output, EPOLLIN, &err) &&
           !loop_watch_add(loop, &process->errors, EPOLLIN, &err) &&
           !loop_watch_add(loop, &process->ended, EPOLLIN, &err);
}

static void take_started(struct loop_task *task)
{
    struct process *process = CONTAINER_OF(task, struct process, task);
    AUTO_FREE char *why = TAKE(process->why);

    if (why) {
        /* It has got no box, which is no fault of its program. */
        process->starts[--process->start_count % MCP_PROCESS_STARTS] = 0;
        fail(process, why);
        return;
    }
    process->pipes = process->given;
    atomic_fetch_add(&process->all->running, 1);
    process->state = PROCESS_GREETED;
    if (!watch_pipes(process))
        fail(process, "cannot be watched");
    else if (!process->links || process->all->stopped)
        end_process(process, "has ended");
    else
        greet(process);
}

void mcp_process_started(struct mcp_start *start, const struct mcp_pipes *pipes,
                         const char *why)
{
    struct process *process = CONTAINER_OF(start, struct process, start);

    if (pipes)
        process->given = *pipes;
    else
        process->why = mem_strdup(why);
    process->task.run = take_started;
    loop_post(process->all->loop, &process->task);
}

/* Its greeting has not come; no link has used it for long; its starts do not count any more. */
static void time_is_over(struct loop_timer *timer)
{
    struct process *process = CONTAINER_OF(timer, struct process, timer);

    if (process->state == PROCESS_GREETED)
        fail(process, "did not answer in time when it was started");
    else if (process->state == PROCESS_READY && !process->links)
        end_process(process, "");
    else if (process->state == PROCESS_ENDED && !process->links)
        free_process(process);
}

static bool may_start(const struct process *process)
{
    uint64_t oldest = process->starts[process->start_count % MCP_PROCESS_STARTS];

    return !oldest || clock_mono_ns() - oldest >= MCP_PROCESS_STARTS_NS;
}

/* The one that is unused longest ends, which is no fault of its program: the start does not count. False: all are
 * used. */
static bool end_unused(struct mcp_processes *all)
{
    struct process *unused = NULL;

    for (struct process *process = all->first; process; process = process->next) {
        if (process->state == PROCESS_READY && !process->links &&
            (!unused || process->unused_ns < unused->unused_ns))
            unused = process;
    }
    if (!unused)
        return false;
    unused->starts[--unused->start_count % MCP_PROCESS_STARTS] = 0;
    end_process(unused, "");
    return true;
}

static bool make_room(struct mcp_processes *all)
{
    size_t count = 0;

    for (const struct process *process = all->first; process; process = process->next)
        count += process->state != PROCESS_ENDED;
    return count < all->options.count || end_unused(all);
}

static const char *start_process(struct process *process)
{
    if (process->all->stopped)
        return "has ended";
    if (!may_start(process))
        return "has ended too often, and is not started again yet";
    if (!make_room(process->all))
        return "cannot be started: as many servers run as may";
    process->starts[process->start_count++ % MCP_PROCESS_STARTS] = clock_mono_ns();
    process->state = PROCESS_STARTING;
    buf_clear(&process->complaints);
    atomic_fetch_add(&process->all->started, 1);
    process->all->options.start(process->all->options.arg, &process->start);
    return NULL;
}

static struct process *find_process(struct mcp_processes *all, const struct mcp_link *link)
{
    struct process *process = all->first;

    while (process && (process->start.named != link->options.named ||
                       strcmp(process->tenant.project, link->tenant.project) != 0))
        process = process->next;
    if (process)
        return process;
    process = mem_new(struct process);
    process->all = all;
    process->tenant = tenant_of_project(link->tenant.project);
    process->start = (struct mcp_start){link->options.named, &process->tenant};
    process->input.fd = process->output.fd = process->errors.fd = process->ended.fd = -1;
    process->timer.fire = time_is_over;
    process->next = all->first;
    all->first = process;
    return process;
}

/* ---- Orders of links ---- */

static void join(struct loop_task *task)
{
    struct order *order = CONTAINER_OF(task, struct order, task);
    struct mcp_link *link = order->link;
    struct process *process = find_process(link->all, link);
    const char *why = NULL;

    if (process->state != PROCESS_GREETED) /* that one has its time from its start on */
        loop_timer_stop(link->all->loop, &process->timer);
    if (process->state == PROCESS_ENDED)
        why = start_process(process);
    if (why) {
        send_to_link(link, NULL, mem_strdup(why));
        rest(process, MCP_PROCESS_STARTS_NS);
    } else {
        atomic_fetch_add(&link->count, 1);
        link->process = process;
        link->next = process->links;
        process->links = link;
    }
    order_done(order);
}

static void cancel_all(struct process *process, const struct mcp_link *link)
{
    struct asked **at = &process->asked;

    while (*at) {
        json_auto_t *params = NULL;

        if ((*at)->link != link) {
            at = &(*at)->next;
            continue;
        }
        params = json_build("{s:I}", "requestId", (*at)->id);
        forget_asked(process, at);
        write_message(process, mcp_notification_text("notifications/cancelled", params));
        if (process->state == PROCESS_ENDED)
            return;
        at = &process->asked;
    }
}

static void rest_or_end(struct process *process)
{
    struct mcp_processes *all = process->all;
    bool wanted = clock_mono_ns() < all->wanted_until_ns;

    rest(process, all->options.idle_ns);
    all->wanted_until_ns = 0;
    if (wanted)
        (void)end_unused(all);
}

static void leave(struct loop_task *task)
{
    struct order *order = CONTAINER_OF(task, struct order, task);
    struct mcp_link *link = order->link, **at;
    struct process *process = link->process;

    if (process) {
        at = &process->links;
        while (*at != link)
            at = &(*at)->next;
        *at = link->next;
        link->process = NULL;
        cancel_all(process, link);
        if (process->state == PROCESS_READY && !process->links)
            rest_or_end(process);
        let_go(link);
    }
    order_done(order);
}

/* The ids become the process's. */
static void ask(struct process *process, struct mcp_link *link, json_t *message)
{
    json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");
    struct asked *asked;

    if (process->asked_count == MCP_PROCESS_CALLS) {
        send_to_link(link,
                     json_build("{s:s, s:o, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                                json_deep_copy(json_object_get(message, "id")), "error", "code",
                                -32000, "message", "The server has too many requests."),
                     NULL);
        return;
    }
    asked = mem_new(struct asked);
    *asked = (struct asked){.next = process->asked,
                            .link = link,
                            .id = ++process->last_id,
                            .its = json_incref(json_object_get(message, "id"))};
    process->asked = asked;
    process->asked_count++;
    if (process->all->options.called &&
        strcmp(json_get_string(message, "method", ""), "tools/call") == 0)
        process->all->options.called(process->all->options.arg, process->pipes.process);
    json_set_int(message, "id", asked->id);
    if (json_object_get(meta, "progressToken"))
        json_set_int(meta, "progressToken", asked->id);
    write_message(process, json_text(message));
}

static void cancel(struct process *process, const struct mcp_link *link, json_t *message)
{
    json_t *params = json_object_get(message, "params");
    struct asked **at = find_its(process, link, json_object_get(params, "requestId"));

    if (!*at)
        return;
    json_set_int(params, "requestId", (*at)->id);
    forget_asked(process, at);
    write_message(process, json_text(message));
}

/* Its initialize is answered here, and "initialized" was sent before. Everything but requests and cancellations is
 * this file's own business. */
static void pass_on(struct process *process, struct mcp_link *link, json_t *message)
{
    const char *method = json_get_string(message, "method", "");

    if (strcmp(method, "initialize") == 0) {
        json_decref(link->initialize);
        link->initialize = json_incref(json_object_get(message, "id"));
        if (process->state == PROCESS_READY)
            answer_initialize(process, link);
    } else if (process->state != PROCESS_READY) {
        log_error("MCP server '%s' is asked before it is ready", process->start.named->name);
    } else if (!json_absent(json_object_get(message, "id"))) {
        ask(process, link, message);
    } else if (strcmp(method, "notifications/cancelled") == 0) {
        cancel(process, link, message);
    }
}

static void take_order(struct loop_task *task)
{
    struct order *order = CONTAINER_OF(task, struct order, task);
    json_auto_t *message = json_parse_own(order->text);

    if (order->link->process)
        pass_on(order->link->process, order->link, message);
    order_done(order);
}

/* ---- Public functions ---- */

struct mcp_link *mcp_link_open(struct mcp_processes *processes,
                               const struct mcp_link_options *options)
{
    struct mcp_link *link = mem_new(struct mcp_link);

    atomic_init(&link->count, 1);
    link->all = processes;
    link->options = *options;
    link->options.tenant = NULL;
    link->tenant = tenant_of_project(options->tenant->project);
    link->open = true;
    send_order(link, join, NULL);
    return link;
}

void mcp_link_send(struct mcp_link *link, char *text)
{
    send_order(link, take_order, text);
}

void mcp_link_close(struct mcp_link *link)
{
    if (!link)
        return;
    link->open = false;
    send_order(link, leave, NULL);
    let_go(link);
}

/* What is wanted while all are used is taken from the next one that is not. */
static void reclaim(struct loop_task *task)
{
    struct mcp_processes *all = CONTAINER_OF(task, struct mcp_processes, reclaiming);

    atomic_store(&all->reclaims, false);
    all->wanted_until_ns = 0;
    if (end_unused(all))
        log_info("an unused MCP server ends: its memory is wanted");
    else
        all->wanted_until_ns = clock_mono_ns() + MCP_PROCESS_WANTED_NS;
}

enum err_code mcp_processes_new(const struct mcp_processes_options *options,
                                struct mcp_processes **ret_processes, struct err *err)
{
    struct mcp_processes *processes = mem_new(struct mcp_processes);
    enum err_code rc;

    processes->options = *options;
    processes->reclaiming.run = reclaim;
    processes->loop = loop_new("mcp");
    rc = loop_start(processes->loop, err);
    if (rc) {
        loop_free(processes->loop);
        free(processes);
        return rc;
    }
    *ret_processes = processes;
    return ERR_OK;
}

/* What is starting ends when its start is answered. */
static void stop_here(struct loop_task *task)
{
    struct mcp_processes *all = CONTAINER_OF(task, struct mcp_processes, stopping);

    all->stopped = true;
    for (struct process *process = all->first; process; process = process->next) {
        if (process->state != PROCESS_ENDED && process->state != PROCESS_STARTING)
            end_process(process, "has ended");
    }
}

void mcp_processes_reclaim(struct mcp_processes *processes)
{
    if (!atomic_exchange(&processes->reclaims, true))
        loop_post(processes->loop, &processes->reclaiming);
}

void mcp_processes_stop(struct mcp_processes *processes)
{
    if (!processes)
        return;
    processes->stopping.run = stop_here;
    loop_post(processes->loop, &processes->stopping);
    loop_stop(processes->loop);
}

void mcp_processes_free(struct mcp_processes *processes)
{
    if (!processes)
        return;
    loop_finish(processes->loop);
    while (processes->first)
        free_process(processes->first);
    loop_free(processes->loop);
    free(processes);
}

void mcp_processes_count(const struct mcp_processes *processes,
                         struct mcp_processes_counts *ret_counts)
{
    *ret_counts = (struct mcp_processes_counts){.running = atomic_load(&processes->running),
                                                .started = atomic_load(&processes->started),
                                                .ended = atomic_load(&processes->ended)};
}
