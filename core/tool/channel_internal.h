#ifndef RUNNEL_CORE_TOOL_CHANNEL_INTERNAL_H
#define RUNNEL_CORE_TOOL_CHANNEL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/base/lock.h"
#include "core/tool/channel.h"

/*
 * channel_internal.h -- the inside of the channel, for core/tool and for the test that drives it
 * through all interleavings.
 */

#define TOOL_CHANNEL_NOBODY UINT32_MAX

struct channel_entry {
    struct channel_entry *next;
    struct tool_output output;
};

/* One call's place in the channel. */
struct channel_slot {
    pthread_cond_t changed; /* there is room, or the call is over */
    struct channel_entry *first;
    struct channel_entry **last;
    struct channel_entry *metadata; /* the one that waits, or NULL */
    size_t count;                   /* outputs that wait, START and END not counted */
    bool hidden;                    /* constant */
    bool ended;                     /* its END was put */
    bool kept;                      /* its outputs were taken while it waited for the floor */
    int over_fd; /* an eventfd that is raised when the call is over; -1: not asked for */
    uint64_t full_since_ns; /* since when its worker waits for room; 0: it does not */
    uint64_t waited_ns;     /* and for how long it did before */
};

/* All but the constants is guarded by lock. */
struct tool_channel {
    struct lock lock;
    atomic_uint holders;
    size_t capacity;         /* constant */
    void (*wake)(void *arg); /* constant */
    void *arg;               /* constant */
    unsigned calls;          /* constant */
    unsigned floor;          /* who may speak, or TOOL_CHANNEL_NOBODY */
    unsigned turn; /* the place that is served first: a hidden call, or `calls` for the floor */
    unsigned taken_ends;
    unsigned waking;      /* wakes under way */
    pthread_cond_t quiet; /* waking became 0 */
    bool asleep;          /* the taker found nothing and was not woken since */
    bool closed;
    struct channel_slot slots[];
};

/* tool_channel_put() without the waiting: ERR_LIMIT when there is no room, and then *output is
 * still the caller's. */
enum err_code tool_channel_try_put(struct tool_channel *channel, unsigned call,
                                   struct tool_output *output) MUST_CHECK;

/* How long the call's worker has waited for room, until now: the time of a call that waits for the floor does not
 * pass. *ret_waits: it waits at present. */
uint64_t tool_channel_waited(struct tool_channel *channel, unsigned call, bool *ret_waits);

/* True when no output of this call will be taken: it has ended, or the channel is closed. */
bool tool_channel_call_over(struct tool_channel *channel, unsigned call);

/* A descriptor that can be read once the call is over; the channel's own. -1: there are no descriptors left. */
int tool_channel_over_fd(struct tool_channel *channel, unsigned call);

/* Waits until the call is over (true), or the monotonic clock shows `until_ns` (false). */
bool tool_channel_wait_over(struct tool_channel *channel, unsigned call, uint64_t until_ns);

#endif
