#ifndef RUNNEL_CORE_RUN_TURN_RUN_H
#define RUNNEL_CORE_RUN_TURN_RUN_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/item.h"
#include "core/domain/run_settings.h"
#include "core/net/loop.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/context/budget.h"
#include "core/run/context/chain.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/slots.h"
#include "core/run/turn/call.h"
#include "core/run/turn/face.h"
#include "core/run/turn/home.h"
#include "core/run/turn/run_items.h"
#include "core/run/turn/run_model.h"
#include "core/run/turn/run_wakeups.h"
#include "core/run/turn/run_write.h"
#include "core/store/tables/runs/runs.h"

/*
 * run.h -- a run while it is in memory; for core/run, and for the faces to read.
 *
 * Owned by one loop: every function here is called on that loop's thread only. A run is a state
 * machine without a thread: something happened (a chunk of the model, output of a tool, a
 * finished write, a timer, a message), a small step is taken, events are rendered, and
 * run_pump() writes and publishes what is due. Then the loop turns to other runs.
 *
 * Its parts have owners: each struct below is changed by the files of its own header only, and the
 * others read it or call a function of that header.
 *
 * The request as accepted stands in row.config as text and, decoded, in `settings`.
 *
 * When it publishes what has happened (persist before publish): the rule is at the head of run_write.c.
 */

struct engine_loop;

enum run_life {
    RUN_ALIVE,
    RUN_ENDED, /* final status reached, or paused for its client; waits for its last write */
    RUN_ABANDONED, /* another owner's now, or deleted: it emits nothing more */
};

/* Remote MCP servers: core/run/calls/run_servers.h. */
struct run_remote {
    struct run_server *servers;
    size_t count;
    struct server_call *open_calls;
    void (*after_listing)(struct run *run); /* continues when their lists have come */
    json_t
        *secrets; /* of the tools, by their places in the request; NULL: no secrets are known */
};

struct run {
    struct run_row row;
    struct tenant tenant; /* of the row and the settings; see core/domain/tenant.h */
    struct run_settings settings;
    json_t *context;          /* request context for handlers; NULL: there is no such context */
    struct thread_row thread; /* made with the run; id "" otherwise */
    enum run_arrival arrival;
    const struct face *face;

    /* Where it lives. */
    struct engine *engine;
    struct engine_loop *home;
    struct loop *loop;
    enum run_life life;
    struct loop_timer expiry;
    struct arrival *arriving; /* waits for a slot: nothing was done or emitted yet */
    struct slot_waiter slot;
    struct loop_task slot_ready;
    bool has_slot;
    struct run_wakeup *wakeup; /* of the channel that it waits for; NULL: none */
    struct loop_task later;    /* for what must not happen inside a callback of the run's own */
    bool later_posted;
    bool drain_wanted;
    bool ending; /* taken up only to be ended */
    bool without_model;
    bool steered;               /* the client has more to say */
    const char *end_reason;     /* why what is open is cut: "run_cancelled", "max_tokens" ... */
    size_t bytes;               /* that it came with, as the engine counts them */
    struct run *next;           /* bucket of the loop's table */
    struct arrival *successors; /* its next residency, which has come already */

    /* What it knows: items of before, its tools, variables and long messages. */
    struct item_row *history;
    size_t history_count;
    struct tool_set tools;
    struct run_remote remote;
    struct variable_memory *variables; /* held; NULL: its variables are in the store */
    struct message_cache *messages;    /* held; made when a call may ask for them, */
    size_t messages_past;              /* of so many items */

    /* What it does. */
    struct run_turn turn;
    struct run_calls calls;
    struct chain chain;
    struct budget budget;
    struct run_items items;

    /* What becomes of it. */
    struct run_writing writing;
    struct run_publishing publishing;
};

/* ---- run_new.c ---- */

/* Takes what is in `start`. `limits` are its tenant's. */
struct run *run_new(struct engine_loop *home, const struct tenant_limits *limits,
                    struct run_start *start);
void run_free(struct run *run);

/* ---- run.c: from arrival to end ---- */

/* `calls` are those of its last turn. */
void run_arrive(struct run *run, const struct call_row *calls, size_t call_count);
void run_watch_expiry(struct run *run);
void run_begin_to_end(struct run *run);
void run_cancel(struct run *run);
void run_expire(struct run *run);
/* `code` is one of OpenAI's words: server_error, rate_limit_exceeded, invalid_prompt ... or
 * RUN_NO_MODEL. */
void run_fail(struct run *run, const char *code, const char *message);
void run_finish(struct run *run);
void run_truncate(struct run *run,
                  const char *reason); /* "max_output_tokens", "content_filter" */
void run_require_action(struct run *run);
/* One turn further; with the next write, which carries the tokens that it took. */
void run_end_turn(struct run *run);
void run_abandon(struct run *run);
/* An end that could not be stored, and so was not told, has not happened. False when the run is
 * better left to others. */
bool run_take_back_end(struct run *run);
/* Somebody wants the run to stop before it was stored that it waits: then it does not. */
void run_take_back_pause(struct run *run);
void run_release(struct run *run); /* for another node to go on */
/* See engine_steer(). */
bool run_steer(struct run *run, const char *steer_id);
void run_listener_gone(struct run *run, struct sink *sink);

bool run_is_resumable(const struct run *run);
bool run_is_assistants(const struct run *run);

/* Tells the face. Fields not named are zero. */
void run_emit(struct run *run, const struct run_event *event);

#endif
