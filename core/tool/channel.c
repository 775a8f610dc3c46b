#include "core/tool/channel.h"

#include <assert.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/tool/channel_internal.h"

/*
 * channel.c -- one list of outputs for each call, and a floor that decides whose list is read.
 *
 *   workers ── put ──▶ slot 0: text, text, stage
 *                      slot 1: text, END            ── take ──▶ the loop
 *                      slot 2: (empty)              the list of the call that has the floor
 *
 * The floor is a property of the channel and changes in two places only: a put when no call has it, and
 * the take of an END. Taking the outputs of a call that waits does not change it: their place is kept. Returning from
 * the handler, the kind of the last output, what the client has read: none of it matters, so no call can keep the floor
 * by mistake. One list for all calls would be simpler, but a call that waits for the floor would then fill it, and the
 * call that has the floor would wait for room behind it.
 *
 * Every slot has its own condition. Workers that wait for room and handlers that wait for time are both
 * woken when something about their call changes, and test again.
 *
 * The taker sleeps in epoll, not on a condition, so it is woken by a callback. The callback runs without
 * the lock, because it posts to a loop and takes the loop's lock. So a wake may still be under way when
 * the channel is closed. Close waits for it (`waking`), and the owner may then free what `arg` points to.
 *
 * test_channel_interleavings.c drives these functions through all interleavings of a small model.
 */

void tool_output_clear(struct tool_output *output)
{
    free(output->text);
    free(output->name);
    json_decref(output->fields);
    tool_result_clear(&output->result);
    *output = (struct tool_output){0};
}

static void entry_free(struct channel_entry *entry)
{
    if (!entry)
        return;
    tool_output_clear(&entry->output);
    free(entry);
}

static void entries_free(struct channel_entry *entry)
{
    while (entry) {
        struct channel_entry *next = entry->next;

        entry_free(entry);
        entry = next;
    }
}

static void slot_init(struct channel_slot *slot, bool hidden)
{
    lock_cond_init(&slot->changed);
    slot->last = &slot->first;
    slot->hidden = hidden;
    slot->over_fd = -1;
}

/* The call is over: its worker learns it in any wait. A full counter is readable, too. */
static void slot_end(struct channel_slot *slot)
{
    pthread_cond_broadcast(&slot->changed);
    if (slot->over_fd >= 0)
        (void)!eventfd_write(slot->over_fd, 1);
}

/* Whether it counts for the capacity. Metadata has a place of its own, too. */
static bool needs_room(const struct tool_output *output)
{
    return output->kind != TOOL_OUTPUT_START && output->kind != TOOL_OUTPUT_METADATA &&
           output->kind != TOOL_OUTPUT_END;
}

static void slot_append(struct channel_slot *slot, struct channel_entry *entry)
{
    *slot->last = entry;
    slot->last = &entry->next;
    if (needs_room(&entry->output))
        slot->count++;
}

static bool slot_begins(const struct channel_slot *slot)
{
    return slot->first && slot->first->output.kind == TOOL_OUTPUT_START;
}

/* Metadata comes before older output, because it describes the present state of the call. */
static struct channel_entry *slot_pop(struct channel_slot *slot)
{
    struct channel_entry *entry;

    if (slot->metadata && !slot_begins(slot))
        return TAKE(slot->metadata);
    entry = slot->first;
    slot->first = entry->next;
    if (!slot->first)
        slot->last = &slot->first;
    if (needs_room(&entry->output))
        slot->count--;
    return entry;
}

/* Takes all waiting outputs, as one list. */
static struct channel_entry *slot_empty(struct channel_slot *slot)
{
    struct channel_entry *entries = TAKE(slot->first);

    slot->last = &slot->first;
    slot->count = 0;
    if (!slot->metadata)
        return entries;
    slot->metadata->next = entries;
    return TAKE(slot->metadata);
}

static bool slot_has_output(const struct channel_slot *slot)
{
    return slot->first || slot->metadata;
}

/* It has started and said nothing since. */
static bool slot_is_silent(const struct channel_slot *slot)
{
    return slot_begins(slot) && !slot->first->next && !slot->metadata;
}

struct tool_channel *tool_channel_new(unsigned calls, const bool *hidden, size_t capacity,
                                      void (*wake)(void *arg), void *arg)
{
    struct tool_channel *channel =
        mem_zeroed(1, sizeof(*channel) + calls * sizeof(struct channel_slot));

    assert(capacity > 0);
    lock_init(&channel->lock, LOCK_TOOL_CHANNEL);
    lock_cond_init(&channel->quiet);
    atomic_init(&channel->holders, 1);
    channel->capacity = capacity;
    channel->wake = wake;
    channel->arg = arg;
    channel->calls = calls;
    channel->floor = TOOL_CHANNEL_NOBODY;
    channel->asleep = true;
    for (unsigned i = 0; i < calls; i++)
        slot_init(&channel->slots[i], hidden && hidden[i]);
    return channel;
}

struct tool_channel *tool_channel_hold(struct tool_channel *channel)
{
    atomic_fetch_add(&channel->holders, 1);
    return channel;
}

void tool_channel_release(struct tool_channel *channel)
{
    if (!channel || atomic_fetch_sub(&channel->holders, 1) > 1)
        return;
    for (unsigned i = 0; i < channel->calls; i++) {
        entries_free(slot_empty(&channel->slots[i]));
        pthread_cond_destroy(&channel->slots[i].changed);
        if (channel->slots[i].over_fd >= 0)
            close(channel->slots[i].over_fd);
    }
    pthread_cond_destroy(&channel->quiet);
    lock_destroy(&channel->lock);
    free(channel);
}

/* Adds to the newer metadata what only the older has. Afterwards they share no value: the two are freed
 * on different threads. */
static void merge_metadata(struct tool_output *newer, struct tool_output *older)
{
    if (!newer->text && older->text) {
        newer->text = TAKE(older->text);
        newer->length = older->length;
    }
    if (!newer->fields) {
        newer->fields = TAKE(older->fields);
        return;
    }
    json_object_update_missing(newer->fields, older->fields);
    json_object_clear(older->fields);
}

/* Moves *output into the slot. *ret_old gets the metadata that it replaced, to be freed without the lock. */
static void accept_locked(struct tool_channel *channel, unsigned call,
                          struct tool_output *output, struct channel_entry **ret_old)
    REQUIRES(channel->lock)
{
    struct channel_slot *slot = &channel->slots[call];
    struct channel_entry *entry = mem_new(struct channel_entry);

    entry->output = *output;
    entry->output.call = call;
    entry->output.hidden = slot->hidden;
    *output = (struct tool_output){0};

    if (entry->output.kind == TOOL_OUTPUT_METADATA) {
        *ret_old = slot->metadata;
        slot->metadata = entry;
        if (*ret_old)
            merge_metadata(&entry->output, &(*ret_old)->output);
    } else {
        slot_append(slot, entry);
    }
    if (entry->output.kind == TOOL_OUTPUT_END) {
        slot->ended = true;
        slot_end(slot);
    }
    /* Rule 1: the first call with output takes the floor. */
    if (!slot->hidden && channel->floor == TOOL_CHANNEL_NOBODY)
        channel->floor = call;
}

static bool call_over_locked(struct tool_channel *channel, unsigned call)
    REQUIRES(channel->lock)
{
    return channel->closed || channel->slots[call].ended;
}

/* The rules of a put, for callers that wait and callers that do not. */
static enum err_code put_locked(struct tool_channel *channel, unsigned call,
                                struct tool_output *output, struct channel_entry **ret_old)
    REQUIRES(channel->lock)
{
    const struct channel_slot *slot = &channel->slots[call];

    if (call_over_locked(channel, call))
        return ERR_CANCELLED;
    if (needs_room(output) && slot->count >= channel->capacity)
        return ERR_LIMIT;
    accept_locked(channel, call, output, ret_old);
    return ERR_OK;
}

/* True if the taker sleeps and can take this output: an END also while its call waits for the floor. The
 * caller must then call wake_taker(). */
static bool must_wake_locked(struct tool_channel *channel, unsigned call)
    REQUIRES(channel->lock)
{
    const struct channel_slot *slot = &channel->slots[call];
    bool can_take = slot->hidden || slot->ended || channel->floor == call;

    if (!channel->asleep || !can_take)
        return false;
    channel->asleep = false;
    channel->waking++;
    return true;
}

static void wake_taker(struct tool_channel *channel)
{
    channel->wake(channel->arg);

    lock_acquire(&channel->lock);
    channel->waking--;
    if (!channel->waking)
        pthread_cond_broadcast(&channel->quiet);
    lock_release(&channel->lock);
}

enum when_full {
    WHEN_FULL_WAIT,
    WHEN_FULL_RETURN,
};

/* Until something about the call has changed: perhaps there is room. */
static void wait_for_room_locked(struct tool_channel *channel, unsigned call)
    REQUIRES(channel->lock)
{
    struct channel_slot *slot = &channel->slots[call];

    slot->full_since_ns = clock_mono_ns();
    lock_wait(&channel->lock, &slot->changed);
    slot->waited_ns += clock_mono_ns() - slot->full_since_ns;
    slot->full_since_ns = 0;
}

static enum err_code put(struct tool_channel *channel, unsigned call,
                         struct tool_output *output, enum when_full when_full)
{
    struct channel_entry *old = NULL;
    enum err_code rc;
    bool must_wake;

    assert(call < channel->calls);
    lock_acquire(&channel->lock);
    while ((rc = put_locked(channel, call, output, &old)) == ERR_LIMIT &&
           when_full == WHEN_FULL_WAIT)
        wait_for_room_locked(channel, call);
    must_wake = !rc && must_wake_locked(channel, call);
    lock_release(&channel->lock);

    if (must_wake)
        wake_taker(channel);
    if (rc == ERR_CANCELLED)
        tool_output_clear(output);
    entry_free(old);
    return rc;
}

enum err_code tool_channel_put(struct tool_channel *channel, unsigned call,
                               struct tool_output *output)
{
    return put(channel, call, output, WHEN_FULL_WAIT);
}

enum err_code tool_channel_try_put(struct tool_channel *channel, unsigned call,
                                   struct tool_output *output)
{
    return put(channel, call, output, WHEN_FULL_RETURN);
}

/* The call whose output comes next, or NOBODY. Rule 5: hidden calls and the floor take turns, in a circle
 * that starts behind the place that was served last. Place `calls` is the floor. */
static unsigned speaker_locked(struct tool_channel *channel) REQUIRES(channel->lock)
{
    for (unsigned i = 0; i <= channel->calls; i++) {
        unsigned place = (channel->turn + i) % (channel->calls + 1);
        unsigned call = place == channel->calls ? channel->floor : place;
        bool may_speak = call != TOOL_CHANNEL_NOBODY &&
                         (place == channel->calls || channel->slots[call].hidden);

        if (may_speak && slot_has_output(&channel->slots[call])) {
            channel->turn = (place + 1) % (channel->calls + 1);
            return call;
        }
    }
    return TOOL_CHANNEL_NOBODY;
}

/* The earliest call, in the model's order, that has more than a START; else the earliest that has one. */
static unsigned next_floor_locked(struct tool_channel *channel) REQUIRES(channel->lock)
{
    unsigned silent = TOOL_CHANNEL_NOBODY;

    for (unsigned call = 0; call < channel->calls; call++) {
        const struct channel_slot *slot = &channel->slots[call];

        if (slot->hidden || !slot_has_output(slot))
            continue;
        if (!slot_is_silent(slot))
            return call;
        if (silent == TOOL_CHANNEL_NOBODY)
            silent = call;
    }
    return silent;
}

static struct channel_entry *take_locked(struct tool_channel *channel) REQUIRES(channel->lock)
{
    unsigned call = speaker_locked(channel);
    struct channel_entry *entry;

    if (call == TOOL_CHANNEL_NOBODY) {
        channel->asleep = true; /* from here on a put has to wake the taker */
        return NULL;
    }
    entry = slot_pop(&channel->slots[call]);
    if (entry->output.kind != TOOL_OUTPUT_END) {
        pthread_cond_broadcast(&channel->slots[call].changed);
        return entry;
    }
    channel->taken_ends++;
    if (channel->floor == call)
        channel->floor = next_floor_locked(channel);
    return entry;
}

bool tool_channel_take(struct tool_channel *channel, struct tool_output *ret_output)
{
    struct channel_entry *entry;

    lock_acquire(&channel->lock);
    entry = take_locked(channel);
    lock_release(&channel->lock);

    if (!entry)
        return false;
    *ret_output = entry->output;
    free(entry);
    return true;
}

/* A call that has ended, and whose outputs wait behind another call's. */
static struct channel_slot *find_waiting_locked(struct tool_channel *channel)
    REQUIRES(channel->lock)
{
    for (unsigned call = 0; !channel->closed && call < channel->calls; call++) {
        struct channel_slot *slot = &channel->slots[call];

        if (slot->ended && slot->first && !slot->hidden && !slot->kept &&
            channel->floor != call)
            return slot;
    }
    return NULL;
}

/* An END without a result takes the place of the outputs. */
static struct channel_entry *take_waiting_locked(struct tool_channel *channel,
                                                 unsigned *ret_count) REQUIRES(channel->lock)
{
    struct channel_slot *slot = find_waiting_locked(channel);
    struct channel_entry *first = NULL, **last = &first, *kept;
    unsigned count = 0;

    for (; slot && slot_has_output(slot); count++) {
        *last = slot_pop(slot);
        last = &(*last)->next;
    }
    *last = NULL;
    *ret_count = count;
    if (!slot)
        return NULL;
    kept = mem_new(struct channel_entry);
    kept->output = (struct tool_output){
        .kind = TOOL_OUTPUT_END, .call = (unsigned)(slot - channel->slots), .kept = true};
    slot_append(slot, kept);
    slot->kept = true;
    return first;
}

bool tool_channel_take_waiting(struct tool_channel *channel, struct tool_output **ret_outputs,
                               unsigned *ret_count)
{
    struct tool_output *outputs;
    struct channel_entry *entry;
    unsigned count;

    lock_acquire(&channel->lock);
    entry = take_waiting_locked(channel, &count);
    lock_release(&channel->lock);

    if (!entry)
        return false;
    outputs = mem_new_array(struct tool_output, count);
    for (unsigned i = 0; i < count; i++) {
        struct channel_entry *next = entry->next;

        outputs[i] = entry->output;
        free(entry);
        entry = next;
    }
    *ret_outputs = outputs;
    *ret_count = count;
    return true;
}

bool tool_channel_finished(struct tool_channel *channel)
{
    bool finished;

    lock_acquire(&channel->lock);
    finished = channel->taken_ends == channel->calls;
    lock_release(&channel->lock);
    return finished;
}

/* Wakes all waiting workers, and returns the outputs that are dropped. */
static struct channel_entry *close_locked(struct tool_channel *channel) REQUIRES(channel->lock)
{
    struct channel_entry *dropped = NULL;

    channel->closed = true;
    channel->floor = TOOL_CHANNEL_NOBODY;
    for (unsigned i = 0; i < channel->calls; i++) {
        struct channel_slot *slot = &channel->slots[i];
        struct channel_entry *entry = slot_empty(slot);

        slot_end(slot);
        while (entry) {
            struct channel_entry *next = entry->next;

            entry->next = dropped;
            dropped = entry;
            entry = next;
        }
    }
    return dropped;
}

void tool_channel_close(struct tool_channel *channel)
{
    struct channel_entry *dropped;

    lock_acquire(&channel->lock);
    dropped = close_locked(channel);
    /* Short: a wake only posts a message. */
    while (channel->waking)
        lock_wait(&channel->lock, &channel->quiet);
    lock_release(&channel->lock);

    entries_free(dropped);
}

bool tool_channel_closed(struct tool_channel *channel)
{
    bool closed;

    lock_acquire(&channel->lock);
    closed = channel->closed;
    lock_release(&channel->lock);
    return closed;
}

uint64_t tool_channel_waited(struct tool_channel *channel, unsigned call, bool *ret_waits)
{
    const struct channel_slot *slot = &channel->slots[call];
    uint64_t waited;

    lock_acquire(&channel->lock);
    *ret_waits = slot->full_since_ns;
    waited = slot->waited_ns;
    if (slot->full_since_ns)
        waited += clock_mono_ns() - slot->full_since_ns;
    lock_release(&channel->lock);
    return waited;
}

bool tool_channel_call_over(struct tool_channel *channel, unsigned call)
{
    bool over;

    lock_acquire(&channel->lock);
    over = call_over_locked(channel, call);
    lock_release(&channel->lock);
    return over;
}

int tool_channel_over_fd(struct tool_channel *channel, unsigned call)
{
    struct channel_slot *slot = &channel->slots[call];
    int fd;

    lock_acquire(&channel->lock);
    if (slot->over_fd < 0)
        slot->over_fd =
            eventfd(call_over_locked(channel, call) ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    fd = slot->over_fd;
    lock_release(&channel->lock);
    return fd;
}

bool tool_channel_wait_over(struct tool_channel *channel, unsigned call, uint64_t until_ns)
{
    bool over;

    lock_acquire(&channel->lock);
    while (!call_over_locked(channel, call))
        if (!lock_wait_until(&channel->lock, &channel->slots[call].changed, until_ns))
            break;
    over = call_over_locked(channel, call);
    lock_release(&channel->lock);
    return over;
}
