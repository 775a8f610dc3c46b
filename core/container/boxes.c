/*
 * boxes.c -- which containers have a box, which calls have it, and which calls wait.
 *
 * Each container that is known here has an entry. What a call waits for may change with any other call, so after each
 * change the queue is gone through from its head, and calls get what they can have now: under the lock, on the thread
 * that has made the change. The call's own thread then does what takes time: it closes boxes that make room, and opens
 * its own. Meanwhile the entry is "starting", and belongs to that thread.
 *
 * A call waits on a descriptor of its own, beside the one that cancels it.
 */

#include "core/container/boxes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/container/box_environment.h"
#include "core/container/box_table.h"
#include "core/container/python.h"
#include "core/net/proxy/proxy.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/sandbox/workspace/workspace_skills.h"

/* A call that has not got its box yet. On its thread's stack. */
struct waiter {
    struct waiter *next;
    const struct boxes_request *request;
    struct box_entry *entry;   /* what it got */
    struct box_entry *victims; /* whose boxes it must close first */
    bool makes;                /* it must make the box */
    bool for_room;             /* what it waits for */
    bool asks;                 /* its thread is to ask for room, again */
    bool refused;              /* the container has ended, or the boxes drain */
    int wake;                  /* -1: it does not wait yet */
};

struct boxes_hold {
    struct boxes *boxes;
    struct box_entry *entry;
    enum boxes_use use;
    bool listed; /* boxes_places() was called */
};

/* Guarded by lock, but for the constants. */
struct boxes {
    struct lock lock;
    pthread_cond_t idle_changed; /* for the thread that stops boxes */
    pthread_cond_t
        entry_changed; /* an entry is no longer starting, stopping or killed; `asking` */
    pthread_cond_t watch_changed; /* for the thread that checks what boxes write */
    struct boxes_options options; /* constant */
    char **environment;           /* constant */
    char **network_environment;   /* constant */
    struct box_table table;
    struct waiter *waiters; /* first come, first served */
    unsigned asking;        /* threads in options.want_room */
    bool draining, stopping;
    bool has_thread, has_watcher; /* guarded by lock: they have started */
    pthread_t thread, watcher;
    struct boxes_counts counts;
};

/* No call has it any more. */
static void rest_locked(struct boxes *boxes, struct box_entry *entry) REQUIRES(boxes->lock)
{
    box_table_rest(&boxes->table, entry);
    if (boxes->table.idle_first == entry || boxes->draining)
        pthread_cond_signal(&boxes->idle_changed);
}

/* ---- Who gets what ---- */

/* Marks the boxes that must go for a new one. False: even then there would be no room. */
static bool make_room_locked(struct boxes *boxes, struct waiter *waiter) REQUIRES(boxes->lock)
{
    uint64_t memory = waiter->request->memory;

    if (boxes->table.live - boxes->table.idle >= boxes->options.count ||
        boxes->table.memory - boxes->table.idle_memory + memory > boxes->options.memory)
        return false;
    while (boxes->table.live >= boxes->options.count ||
           boxes->table.memory + memory > boxes->options.memory) {
        struct box_entry *victim = boxes->table.idle_first;

        box_table_wake(&boxes->table, victim);
        box_table_stop(&boxes->table, victim);
        boxes->counts.ended_for_room++;
        victim->next_victim = waiter->victims;
        waiter->victims = victim;
    }
    return true;
}

static const char *const *environment_of(const struct boxes *boxes,
                                         const struct boxes_request *request)
{
    return request->domain_count ? boxes_network_environment(boxes) : boxes_environment(boxes);
}

static struct box_entry *add_locked(struct boxes *boxes, const struct boxes_request *request)
    REQUIRES(boxes->lock)
{
    struct box_entry *entry = box_table_add(&boxes->table, request->container, request->memory,
                                            environment_of(boxes, request));

    if (request->had_python)
        python_remember(entry->python);
    return entry;
}

/* Between two checks of what a box that calls have has written; of others it grows while they write nothing. */
#define CHECK_NS      NS_PER_SECOND
#define MOST_CHECK_NS (64 * CHECK_NS)

/* The next check is soon: a call begins. */
static void check_soon_locked(struct boxes *boxes, struct box_entry *entry)
    REQUIRES(boxes->lock)
{
    uint64_t soon = clock_mono_ns() + CHECK_NS;

    entry->pause_ns = CHECK_NS;
    if (entry->check_ns <= soon)
        return;
    entry->check_ns = soon;
    pthread_cond_signal(&boxes->watch_changed);
}

static void get_locked(struct boxes *boxes, struct waiter *waiter, struct box_entry *entry)
    REQUIRES(boxes->lock)
{
    entry->calls++;
    check_soon_locked(boxes, entry);
    if (waiter->request->use == BOXES_PYTHON)
        entry->python_taken = true;
    waiter->entry = entry;
}

/* A box that is ready: the call gets it, or waits for other calls. */
static void share_locked(struct boxes *boxes, struct waiter *waiter, struct box_entry *entry)
    REQUIRES(boxes->lock)
{
    bool alive = box_is_alive(entry->box);
    bool python = waiter->request->use == BOXES_PYTHON;

    if (entry->calls &&
        (!alive || entry->calls >= boxes->options.calls || (python && entry->python_taken)))
        return;
    if (!entry->calls)
        box_table_wake(&boxes->table, entry);
    if (!alive) {
        entry->state = BOX_STARTING; /* in the room of the old one */
        boxes->counts.ended_otherwise++;
        waiter->makes = true;
    }
    get_locked(boxes, waiter, entry);
}

/* A box of its own shares nothing but the end of its container. */
static void try_alone_locked(struct boxes *boxes, struct waiter *waiter, bool may_make)
    REQUIRES(boxes->lock)
{
    const struct box_entry *shared = box_table_find(&boxes->table, waiter->request->container);
    struct box_entry *entry;

    waiter->refused = boxes->draining || (shared && shared->ended);
    waiter->for_room = !waiter->refused;
    if (waiter->refused || !may_make || !make_room_locked(boxes, waiter))
        return;
    entry = add_locked(boxes, waiter->request);
    entry->alone = true;
    box_table_start(&boxes->table, entry, waiter->request->memory);
    waiter->makes = true;
    get_locked(boxes, waiter, entry);
}

/* Gives the call what it wants, if that is possible now. */
static void try_locked(struct boxes *boxes, struct waiter *waiter, bool may_make)
    REQUIRES(boxes->lock)
{
    struct box_entry *entry = box_table_find(&boxes->table, waiter->request->container);

    waiter->for_room = false;
    waiter->refused = boxes->draining || (entry && entry->ended);
    if (waiter->refused ||
        (entry && (entry->state == BOX_STARTING || entry->state == BOX_STOPPING)))
        return;
    if (entry && entry->state == BOX_READY) {
        share_locked(boxes, waiter, entry);
        return;
    }
    waiter->for_room = true;
    if (!may_make || !make_room_locked(boxes, waiter))
        return;
    if (!entry)
        entry = add_locked(boxes, waiter->request);
    box_table_start(&boxes->table, entry, waiter->request->memory);
    waiter->makes = true;
    get_locked(boxes, waiter, entry);
}

static bool has_answer(const struct waiter *waiter)
{
    return waiter->entry || waiter->refused;
}

/* Goes through the queue. A call that waits for room keeps those behind it from taking it. */
static void serve_locked(struct boxes *boxes) REQUIRES(boxes->lock)
{
    struct waiter **at = &boxes->waiters;
    bool may_make = true;

    while (*at) {
        struct waiter *waiter = *at;

        if (waiter->request->use == BOXES_ALONE)
            try_alone_locked(boxes, waiter, may_make);
        else
            try_locked(boxes, waiter, may_make);
        if (!has_answer(waiter)) {
            may_make = may_make && !waiter->for_room;
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        if (waiter->wake >= 0)
            (void)eventfd_write(waiter->wake, 1);
    }
}

/* Room has come, and is not enough for the first call that waits for it. */
static void ask_again_locked(struct boxes *boxes) REQUIRES(boxes->lock)
{
    struct waiter *waiter = boxes->waiters;

    while (waiter && !waiter->for_room)
        waiter = waiter->next;
    if (!waiter)
        return;
    waiter->asks = true;
    (void)eventfd_write(waiter->wake, 1);
}

static void enqueue_locked(struct boxes *boxes, struct waiter *waiter) REQUIRES(boxes->lock)
{
    struct waiter **at = &boxes->waiters;

    while (*at)
        at = &(*at)->next;
    *at = waiter;
}

static void dequeue_locked(struct boxes *boxes, struct waiter *waiter) REQUIRES(boxes->lock)
{
    struct waiter **at = &boxes->waiters;

    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    /* It may have kept others from room. */
    serve_locked(boxes);
}

/* ---- The end of a box ---- */

/* An entry is no longer starting or stopping, and has no box. */
static void settle_locked(struct boxes *boxes, struct box_entry *entry) REQUIRES(boxes->lock)
{
    entry->state = BOX_ABSENT;
    if (entry->ended || entry->alone || boxes->draining || !python_is_used(entry->python))
        box_table_remove(&boxes->table, entry);
    pthread_cond_broadcast(&boxes->entry_changed);
    serve_locked(boxes);
}

/* Closes the box of an entry that is stopping or starting. Not under the lock. */
static void close_box(struct box_entry *entry, enum python_loss loss)
{
    python_lose(entry->python, loss);
    box_close(TAKE(entry->box));
    proxy_close(TAKE(entry->proxy));
}

static void finish_stop(struct boxes *boxes, struct box_entry *entry, enum python_loss loss)
{
    close_box(entry, loss);
    lock_acquire(&boxes->lock);
    settle_locked(boxes, entry);
    lock_release(&boxes->lock);
}

/* ---- A call ---- */

/* A box that should have a network and has none is no use. */
static enum err_code open_proxy(struct boxes *boxes, const struct boxes_request *request,
                                struct box_entry *entry, struct err *err)
{
    enum err_code rc;

    if (!request->domain_count)
        return ERR_OK;
    rc = proxy_open(boxes->options.proxies, request->container, request->domains,
                    request->domain_count, box_take_listener(entry->box), &entry->proxy, err);
    if (rc)
        box_close(TAKE(entry->box));
    return rc;
}

static enum err_code open_box(struct boxes *boxes, const struct boxes_request *request,
                              struct box_entry *entry, struct err *err)
{
    AUTO_FREE struct box_folder *folders =
        mem_new_array(struct box_folder, request->folder_count + 2);
    struct box_plan plan = {.folders = folders,
                            .limits = boxes->options.limits,
                            .user = boxes->options.user,
                            .port = request->domain_count ? PROXY_PORT : 0};
    enum err_code rc;

    plan.limits.memory = request->memory;
    for (size_t i = 0; i < request->folder_count; i++)
        folders[plan.folder_count++] = request->folders[i];
    if (request->workspace) {
        plan.user = workspace_user(request->workspace);
        folders[plan.folder_count++] =
            (struct box_folder){.source = workspace_skills_folder(request->workspace),
                                .target = WORKSPACE_SKILLS_MOUNT};
        folders[plan.folder_count++] =
            (struct box_folder){.source = workspace_folder(request->workspace),
                                .target = WORKSPACE_MOUNT,
                                .writable = !request->read_only};
    }
    if (FAULT("boxes.open"))
        return err_set(err, ERR_INTERNAL, "a box could not be made");
    rc = box_open(&plan, &entry->box, err);
    return rc ? rc : open_proxy(boxes, request, entry, err);
}

/* A call has ended, or could not have its box. */
static void leave_locked(struct boxes *boxes, struct box_entry *entry, enum boxes_use use)
    REQUIRES(boxes->lock)
{
    entry->calls--;
    if (use == BOXES_PYTHON)
        entry->python_taken = false;
    if (!entry->calls && entry->state == BOX_READY)
        rest_locked(boxes, entry);
}

/* The first check is now, so that the second one sees what the box has written. */
static void watch_locked(struct boxes *boxes, struct box_entry *entry,
                         const struct boxes_request *request) REQUIRES(boxes->lock)
{
    if (!entry->written && request->workspace && !request->read_only)
        entry->written = workspace_copy(request->workspace);
    entry->watch.known = false;
    entry->too_far = false;
    entry->check_ns = 0;
    pthread_cond_signal(&boxes->watch_changed);
}

/* Makes the box that the call got the room for. */
static enum err_code make(struct boxes *boxes, struct waiter *waiter, struct err *err)
{
    struct box_entry *entry = waiter->entry;
    uint64_t began_ns = clock_mono_ns();
    enum err_code rc;

    while (waiter->victims) {
        struct box_entry *victim = waiter->victims;

        waiter->victims = victim->next_victim;
        finish_stop(boxes, victim, PYTHON_RESTARTED);
    }
    if (entry->box)
        close_box(entry, PYTHON_RESTARTED); /* it has ended by itself */
    rc = open_box(boxes, waiter->request, entry, err);
    python_enter(entry->python, entry->box);
    lock_acquire(&boxes->lock);
    if (rc) {
        box_table_stop(&boxes->table, entry);
        leave_locked(boxes, entry, waiter->request->use);
        settle_locked(boxes, entry);
    } else {
        boxes->counts.started++;
        boxes->counts.start_seconds +=
            (double)(clock_mono_ns() - began_ns) / (double)NS_PER_SECOND;
        entry->state = BOX_READY;
        watch_locked(boxes, entry, waiter->request);
        pthread_cond_broadcast(&boxes->entry_changed);
        serve_locked(boxes);
    }
    lock_release(&boxes->lock);
    return rc;
}

static enum err_code refusal(struct boxes *boxes, struct err *err)
{
    bool draining;

    lock_acquire(&boxes->lock);
    draining = boxes->draining;
    lock_release(&boxes->lock);
    return err_set(err, ERR_CANCELLED, "%s",
                   draining ? "The server is stopping." : "The container has ended.");
}

/* The call waits for room, and has not asked for it since some has come. */
static bool must_ask(struct boxes *boxes, struct waiter *waiter)
{
    bool asks;

    lock_acquire(&boxes->lock);
    asks = waiter->asks && waiter->for_room && !has_answer(waiter) && !boxes->draining &&
           boxes->options.want_room;
    waiter->asks = waiter->asks && !asks;
    boxes->asking += asks;
    lock_release(&boxes->lock);
    return asks;
}

static void ask_for_room(struct boxes *boxes)
{
    boxes->options.want_room(boxes->options.argument);
    lock_acquire(&boxes->lock);
    boxes->asking--;
    pthread_cond_broadcast(&boxes->entry_changed);
    lock_release(&boxes->lock);
}

static int milliseconds_until(uint64_t deadline_ns)
{
    uint64_t now = clock_mono_ns();

    return now < deadline_ns ? (int)((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* Waits for an answer, which another thread gives. */
static enum err_code await(struct boxes *boxes, struct waiter *waiter, struct err *err)
{
    struct pollfd polled[] = {{.fd = waiter->wake, .events = POLLIN},
                              {.fd = waiter->request->cancel, .events = POLLIN}};
    uint64_t deadline_ns = clock_mono_ns() + boxes->options.queue_ns;
    enum err_code rc = ERR_OK;

    for (;;) {
        eventfd_t woken;
        int ready;

        if (must_ask(boxes, waiter))
            ask_for_room(boxes);
        ready = poll(polled, COUNT_OF(polled), milliseconds_until(deadline_ns));
        (void)eventfd_read(waiter->wake, &woken);
        lock_acquire(&boxes->lock);
        if (has_answer(waiter))
            break;
        if (ready > 0 && polled[1].revents)
            rc = err_set(err, ERR_CANCELLED, "The call was cancelled.");
        else if (ready == 0 && waiter->for_room)
            rc = err_set(err, ERR_LIMIT, "The server is out of sandbox memory; try again.");
        else if (ready ==
                 0) /* for another call of its container it waits as long as that takes */
            deadline_ns = clock_mono_ns() + boxes->options.queue_ns;
        if (rc) {
            dequeue_locked(boxes, waiter);
            break;
        }
        lock_release(&boxes->lock);
    }
    lock_release(&boxes->lock);
    return rc;
}

static enum err_code get(struct boxes *boxes, struct waiter *waiter, struct err *err)
{
    enum err_code rc = ERR_OK;

    waiter->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    waiter->asks = true;
    if (waiter->wake < 0)
        return err_set(err, ERR_INTERNAL, "no descriptor for a call that waits: %s",
                       strerror(errno));
    lock_acquire(&boxes->lock);
    enqueue_locked(boxes, waiter);
    serve_locked(boxes);
    lock_release(&boxes->lock);
    rc = await(boxes, waiter, err);
    close(waiter->wake);
    if (!rc && waiter->refused)
        rc = refusal(boxes, err);
    return rc;
}

static void *stop_idle_boxes(void *argument);
static void *watch_boxes(void *argument);

static bool starts_locked(pthread_t *thread, bool *has, const char *name, void *(*run)(void *),
                          struct boxes *boxes)
{
    if (!*has && !FAULT("boxes.thread") && pthread_create(thread, NULL, run, boxes) == 0) {
        (void)pthread_setname_np(*thread, name);
        *has = true;
    }
    return *has;
}

/* With the first call, because most servers never have one. */
static enum err_code start_threads(struct boxes *boxes, struct err *err)
{
    bool started;

    lock_acquire(&boxes->lock);
    started =
        starts_locked(&boxes->thread, &boxes->has_thread, "boxes", stop_idle_boxes, boxes) &&
        starts_locked(&boxes->watcher, &boxes->has_watcher, "boxes-disk", watch_boxes, boxes);
    lock_release(&boxes->lock);
    return started ? ERR_OK
                   : err_set(err, ERR_INTERNAL, "cannot start the threads of sandboxes");
}

enum err_code boxes_take(struct boxes *boxes, const struct boxes_request *request,
                         struct boxes_hold **ret_hold, struct err *err)
{
    struct waiter waiter = {.request = request, .wake = -1};
    enum err_code rc;

    if (request->memory > boxes->options.memory)
        return err_set(err, ERR_TOO_LARGE,
                       "The container's memory is more than all sandboxes of the server have.");
    rc = start_threads(boxes, err);
    if (!rc)
        rc = get(boxes, &waiter, err);
    if (!rc && waiter.makes)
        rc = make(boxes, &waiter, err);
    if (rc)
        return rc;
    *ret_hold = mem_new(struct boxes_hold);
    **ret_hold =
        (struct boxes_hold){.boxes = boxes, .entry = waiter.entry, .use = request->use};
    if (waiter.entry->proxy)
        proxy_begin(waiter.entry->proxy);
    return ERR_OK;
}

/* Without a place in the list of a call: it is never read. */
void boxes_renew(struct boxes_hold *hold)
{
    if (!hold->entry->proxy)
        return;
    json_decref(proxy_end(hold->entry->proxy));
    proxy_begin(hold->entry->proxy);
}

json_t *boxes_places(struct boxes_hold *hold)
{
    if (!hold->entry->proxy || hold->listed)
        return NULL;
    hold->listed = true;
    return proxy_end(hold->entry->proxy);
}

struct box *boxes_box(const struct boxes_hold *hold)
{
    return hold->entry->box;
}

struct python *boxes_python(const struct boxes_hold *hold)
{
    return hold->use == BOXES_PYTHON ? hold->entry->python : NULL;
}

/* The last call gives back a box that is of no use any more: it is closed by this thread. */
static bool must_stop_locked(const struct boxes *boxes, const struct box_entry *entry)
{
    return !entry->calls && entry->state == BOX_READY &&
           (entry->ended || entry->alone || boxes->draining || !box_is_alive(entry->box));
}

static void give(struct boxes *boxes, struct box_entry *entry, enum boxes_use use)
{
    bool stops;

    lock_acquire(&boxes->lock);
    leave_locked(boxes, entry, use);
    stops = must_stop_locked(boxes, entry);
    if (stops) {
        box_table_wake(&boxes->table, entry);
        box_table_stop(&boxes->table, entry);
        boxes->counts.ended_otherwise++;
    }
    serve_locked(boxes);
    if (stops)
        ask_again_locked(boxes);
    lock_release(&boxes->lock);
    if (stops)
        finish_stop(boxes, entry, PYTHON_RESTARTED);
}

void boxes_give(struct boxes_hold *hold)
{
    if (!hold)
        return;
    json_decref(boxes_places(hold));
    give(hold->boxes, hold->entry, hold->use);
    free(hold);
}

/* ---- A container ---- */

/* Kills a box that is ready, once; the call of this function counts as one that has it. Releases the lock meanwhile. */
static void kill_locked(struct boxes *boxes, struct box_entry *entry) REQUIRES(boxes->lock)
{
    entry->ended = entry->killing = true;
    if (!entry->calls)
        box_table_wake(&boxes->table, entry);
    entry->calls++;
    lock_release(&boxes->lock);
    box_kill(entry->box);
    lock_acquire(&boxes->lock);
    entry->killing = false;
    pthread_cond_broadcast(&boxes->entry_changed);
    lock_release(&boxes->lock);
    give(boxes, entry, BOXES_COMMAND);
    lock_acquire(&boxes->lock);
}

void boxes_end(struct boxes *boxes, const char *container)
{
    struct box_entry *entry;

    lock_acquire(&boxes->lock);
    while ((entry = box_table_unended(&boxes->table, container))) {
        if (entry->state == BOX_READY && !entry->ended) {
            kill_locked(boxes, entry);
        } else if (entry->state == BOX_ABSENT) {
            box_table_remove(&boxes->table, entry);
        } else {
            lock_wait(&boxes->lock, &boxes->entry_changed);
        }
    }
    serve_locked(boxes);
    lock_release(&boxes->lock);
}

/* ---- All of them ---- */

/* Stops the box that was not used for the longest time, if it is time for that. */
static bool stop_idle_locked(struct boxes *boxes) REQUIRES(boxes->lock)
{
    struct box_entry *entry = boxes->table.idle_first;

    if (!entry ||
        (!boxes->draining && clock_mono_ns() < entry->idle_since_ns + boxes->options.idle_ns))
        return false;
    box_table_wake(&boxes->table, entry);
    box_table_stop(&boxes->table, entry);
    boxes->counts.ended_idle++;
    lock_release(&boxes->lock);
    finish_stop(boxes, entry, PYTHON_IDLE);
    lock_acquire(&boxes->lock);
    return true;
}

static void *stop_idle_boxes(void *argument)
{
    struct boxes *boxes = argument;

    lock_acquire(&boxes->lock);
    while (!boxes->stopping) {
        const struct box_entry *first;

        if (stop_idle_locked(boxes))
            continue;
        first = boxes->table.idle_first;
        (void)lock_wait_until(&boxes->lock, &boxes->idle_changed,
                              first ? first->idle_since_ns + boxes->options.idle_ns
                                    : UINT64_MAX);
    }
    lock_release(&boxes->lock);
    return NULL;
}

/* ---- What boxes write ---- */

/* Calls of a box that has written too much end, and so does what they have left behind. */
static void kill_full_locked(struct boxes *boxes, struct box_entry *entry) REQUIRES(boxes->lock)
{
    if (!entry->calls)
        box_table_wake(&boxes->table, entry);
    entry->calls++;
    lock_release(&boxes->lock);
    box_kill_full(entry->box);
    give(boxes, entry, BOXES_COMMAND);
    lock_acquire(&boxes->lock);
}

/* A box without a call may have left files of a call that was short. It is ended if it goes on writing. */
static void judge_locked(struct boxes *boxes, struct box_entry *entry,
                         enum workspace_growth growth, uint64_t took_ns) REQUIRES(boxes->lock)
{
    bool was_too_far = entry->too_far;

    if (growth != WORKSPACE_STILL || entry->calls)
        entry->pause_ns = CHECK_NS;
    else if (entry->pause_ns < MOST_CHECK_NS)
        entry->pause_ns *= 2;
    /* Checks of many files take a tenth of a processor at most. */
    if (entry->pause_ns < 10 * took_ns)
        entry->pause_ns = 10 * took_ns;
    entry->check_ns = clock_mono_ns() + entry->pause_ns;
    entry->too_far = growth == WORKSPACE_TOO_FAR;
    if (entry->too_far && (entry->calls || was_too_far)) {
        boxes->counts.ended_full++;
        kill_full_locked(boxes, entry);
    }
}

/* Checks without the lock, a workspace that is open twice: its box may end meanwhile. */
static void check_locked(struct boxes *boxes, const struct box_entry *watched)
    REQUIRES(boxes->lock)
{
    struct workspace *workspace = workspace_copy(watched->written);
    struct workspace_watch watch = watched->watch;
    enum workspace_growth growth = WORKSPACE_STILL;
    uint64_t number = watched->number, began_ns = clock_mono_ns();
    struct box_entry *entry;

    lock_release(&boxes->lock);
    if (workspace)
        growth = workspace_check_growth(workspace, &watch);
    workspace_close(workspace);
    lock_acquire(&boxes->lock);
    entry = box_table_numbered(&boxes->table, number);
    if (!entry)
        return;
    entry->watch = watch;
    judge_locked(boxes, entry, growth, clock_mono_ns() - began_ns);
}

static void *watch_boxes(void *argument)
{
    struct boxes *boxes = argument;

    lock_acquire(&boxes->lock);
    while (!boxes->stopping) {
        const struct box_entry *next = box_table_watched(&boxes->table);

        if (next && next->check_ns <= clock_mono_ns())
            check_locked(boxes, next);
        else
            (void)lock_wait_until(&boxes->lock, &boxes->watch_changed,
                                  next ? next->check_ns : UINT64_MAX);
    }
    lock_release(&boxes->lock);
    return NULL;
}

static void free_boxes(struct boxes *boxes)
{
    box_environment_free(boxes->environment);
    box_environment_free(boxes->network_environment);
    pthread_cond_destroy(&boxes->idle_changed);
    pthread_cond_destroy(&boxes->entry_changed);
    pthread_cond_destroy(&boxes->watch_changed);
    lock_destroy(&boxes->lock);
    free(boxes);
}

struct boxes *boxes_new(const struct boxes_options *options)
{
    struct boxes *boxes = mem_new(struct boxes);

    boxes->options = *options;
    boxes->environment = box_environment_new(options->limits.cpus, options->environment);
    boxes->network_environment = box_environment_through(boxes_environment(boxes), PROXY_PORT);
    lock_init(&boxes->lock, LOCK_BOXES);
    lock_cond_init(&boxes->idle_changed);
    lock_cond_init(&boxes->entry_changed);
    lock_cond_init(&boxes->watch_changed);
    return boxes;
}

void boxes_drain(struct boxes *boxes)
{
    lock_acquire(&boxes->lock);
    boxes->draining = true;
    serve_locked(boxes);
    pthread_cond_signal(&boxes->idle_changed);
    while (boxes->asking)
        lock_wait(&boxes->lock, &boxes->entry_changed);
    lock_release(&boxes->lock);
}

void boxes_kill(struct boxes *boxes)
{
    struct box_entry *entry;

    lock_acquire(&boxes->lock);
    while ((entry = box_table_busy(&boxes->table)))
        kill_locked(boxes, entry);
    lock_release(&boxes->lock);
}

void boxes_free(struct boxes *boxes)
{
    if (!boxes)
        return;
    boxes_drain(boxes);
    lock_acquire(&boxes->lock);
    while (!box_table_clear(&boxes->table))
        lock_wait(&boxes->lock, &boxes->entry_changed);
    boxes->stopping = true;
    pthread_cond_signal(&boxes->idle_changed);
    pthread_cond_signal(&boxes->watch_changed);
    lock_release(&boxes->lock);
    if (boxes->has_thread)
        pthread_join(boxes->thread, NULL);
    if (boxes->has_watcher)
        pthread_join(boxes->watcher, NULL);
    free_boxes(boxes);
}

const char *const *boxes_environment(const struct boxes *boxes)
{
    return (const char *const *)boxes->environment;
}

const char *const *boxes_network_environment(const struct boxes *boxes)
{
    return (const char *const *)boxes->network_environment;
}

void boxes_count(struct boxes *boxes, struct boxes_counts *ret_counts)
{
    lock_acquire(&boxes->lock);
    *ret_counts = boxes->counts;
    ret_counts->ready = boxes->table.idle;
    ret_counts->busy = boxes->table.live - boxes->table.idle;
    ret_counts->memory = boxes->table.memory;
    for (const struct waiter *waiter = boxes->waiters; waiter; waiter = waiter->next)
        ret_counts->waiting++;
    lock_release(&boxes->lock);
}
