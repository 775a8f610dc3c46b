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
#include "core/run/turn/call.h"
#include "core/run/turn/face.h"
#include "core/run/turn/home.h"
#include "core/run/turn/run_citations.h"
#include "core/run/turn/run_items.h"
#include "core/run/turn/run_links.h"
#include "core/run/turn/run_made.h"
#include "core/run/turn/run_model.h"
#include "core/run/turn/run_remote.h"
#include "core/run/turn/run_start.h"
#include "core/run/turn/run_wakeups.h"
#include "core/run/turn/run_write.h"
#include "core/run/turn/slot_waiter.h"
#include "core/store/tables/runs/runs.h"

/*
 * run.h -- a run while it is in memory; for core/run, and for the faces to read.
 *
 * A run is a state machine without a thread. It belongs to one loop, and every function here is called
 * on that loop's thread only. Something happens: a piece of the model's answer, output of a tool, a
 * finished write, a timer, a message. The run takes a small step, emits events, and run_pump() writes
 * and publishes what is due. Then the loop serves the next run. No function waits.
 *
 * Its parts have owners. Each struct below is changed only by the files of the header that declares
 * it. Other files read it, or call a function of that header.
 *
 * The request as accepted is row.config, as text; `settings` is the same, decoded.
 *
 * The rule for when the run stores and when it publishes is at the head of run_write.c.
 */

struct engine_loop;

/* Why a run fails. */
struct run_failure {
    /* ERR_LIMIT or ERR_INVALID if the upstream has refused the request for a reason that concerns the
     * client. All others are not the client's fault. */
    enum err_code kind;
    /* Of OpenAI's error objects: server_error, rate_limit_exceeded, context_length_exceeded ... or
     * RUN_NO_MODEL. */
    const char *code;
    const char *message;     /* for the client */
    uint64_t retry_after_ns; /* as the upstream said; 0: it did not say */
};

enum run_life {
    RUN_ALIVE,
    RUN_ENDED, /* it has its final status, or pauses, or is released; waits for its last write */
    RUN_ABANDONED, /* it has another owner: it emits and stores nothing more */
};

/* What is known of foreign results in its context (approval/run_taint.c). */
struct run_taint {
    bool known;   /* the history was read */
    bool waits;   /* it has items of the turn below, which count from the next one on */
    int turn;     /* the one of the last look */
    size_t items; /* that the run has made, and that were looked at */
    int64_t
        since; /* when the oldest one behind the last message of a user was complete; 0: none */
    bool earlier; /* there is one before that message */
};

struct run {
    struct run_row row;
    struct tenant tenant; /* made from the row and the settings */
    struct run_settings settings;
    json_t *context;          /* request context for handlers; NULL: the request has none */
    struct thread_row thread; /* the thread that was created with the run; else its id is "" */
    enum run_arrival arrival;
    const struct face *face;

    /* Where it lives. */
    struct engine *engine;
    struct engine_loop *home;
    struct loop *loop;
    enum run_life life;
    struct loop_timer expiry;
    struct loop_timer grace;  /* until it is cancelled because no client waits for it */
    struct arrival *arriving; /* set while it waits for a slot: nothing has happened yet */
    bool announced;           /* its stream has said that it is queued */
    bool awaits_files;        /* it stays queued until its vector store is searchable */
    struct loop_timer files_patience;
    struct slot_waiter slot;
    struct loop_task slot_ready;
    bool has_slot;
    struct run_wakeup *wakeup; /* of the channel that it waits for; NULL: none */
    struct loop_task later;    /* frees the run outside its own callbacks */
    /* The server drains: a resumable run is released when its turn is over */
    bool drain_wanted;
    bool ending;        /* it begins only to be ended: no model, no tools */
    bool without_model; /* a response that only keeps its input */
    bool steered;       /* the client has added input: the run ends at its next turn */
    /* The error for its clients, if it or its thread was deleted; else NULL. */
    const char *deleted;
    /* What cuts the items that are open at the end: "run_cancelled", "max_tokens" ... Constant. */
    const char *end_reason;
    /* Of the failure with which it ended: its kind, and how long the client should wait. */
    enum err_code failure;
    uint64_t retry_after_ns;
    size_t bytes;               /* of the texts that it came with, for the engine's limit */
    struct run *next;           /* in its bucket of the loop's table */
    struct arrival *successors; /* later residencies that have come already, in order */

    /* What it knows: earlier items, its tools, variables and long messages. */
    struct item_row *history; /* oldest first: context, its input, what it has made before */
    size_t history_count;
    struct past_text *past; /* held: what its first items are sent as; NULL: not known */
    struct tool_set tools;
    struct run_remote remote;
    struct variable_memory *variables; /* held; NULL: its variables are in the store */
    struct message_cache *messages;    /* held; made when a tool may read them. NULL: not yet */
    size_t messages_past;              /* the number of items that `messages` was made from */

    /* What it does. */
    struct run_turn turn;
    struct run_calls calls;
    struct chain chain;
    struct budget budget;
    struct run_items items;
    struct run_citations *citations; /* NULL: the model can cite nothing */
    struct run_made *made;           /* NULL: no code has made a file */
    struct run_links *links;         /* NULL: no text has had a link yet */
    struct run_taint *taint;

    /* What leaves it. */
    struct run_writing writing;
    struct run_publishing publishing;
};

/* ---- run_new.c ---- */

/* Takes the load, settings, context, secrets and variables out of `start`; its calls stay. `limits` are
 * its tenant's; copied. The caller adds it to a loop, and then calls run_arrive(). */
struct run *run_new(struct engine_loop *home, const struct tenant_limits *limits,
                    struct run_start *start);
void run_free(struct run *run);

/* ---- run.c: from arrival to end ---- */

/* Emits that a new run is queued, before it begins. Only once. */
void run_announce(struct run *run);
/* The run begins. `calls` are the rows of its open calls, borrowed: of an answer, or of a crash. */
void run_arrive(struct run *run, const struct call_row *calls, size_t call_count);
/* Starts the timer of row.expires_at, if it is set. */
void run_watch_expiry(struct run *run);
/* Starts the time after which a foreground response that no client waits for is cancelled. Does nothing for
 * other runs, or if a client waits. */
void run_watch_listeners(struct run *run);
/* Call it before one of the ends below if the run may still wait for a slot. */
void run_prepare_end(struct run *run);

/* The ends. Each stops the run's work, closes what is open and emits the status, which leaves once it is
 * committed. A run that is not alive ignores run_cancel(), run_expire() and the failures. The caller
 * then calls run_pump(). */
void run_cancel(struct run *run);
/* Its row was deleted, alone or with its thread. A thread's run is cancelled, a response fails. Nothing of
 * it is stored any more, so this end is published at once. An end that has not been published is
 * replaced by this one. `write` came back with the news. */
void run_delete(struct run *run, struct run_write *write);
/* Its time is over: a thread's run expires, a response fails. */
void run_expire(struct run *run);
void run_fail_as(struct run *run, const struct run_failure *failure);
/* The same with a failure that is not the client's fault. */
void run_fail(struct run *run, const char *code, const char *message);
void run_finish(struct run *run);
/* It ends as incomplete. `reason` goes into incomplete_details: "max_output_tokens", "content_filter",
 * "steered" ... */
void run_truncate(struct run *run, const char *reason);

/* Pauses a thread's run until its client answers its open calls. */
void run_require_action(struct run *run);
/* The turn and its calls are over: the next write stores that, and the tokens that it used. */
void run_end_turn(struct run *run);
/* Drops the run here, without an event and without another write. */
void run_abandon(struct run *run);
/* Gives up the lease with the next write, so that another node continues the run. */
void run_release(struct run *run);

/* The database has refused the write of an end, so no client has seen it: the run is alive again. True
 * also when it was alive all the time. False when it cannot fail instead: it was released, abandoned or
 * cancelled. */
bool run_take_back_end(struct run *run);
/* The run was to pause, and is to be cancelled: it is alive again. Only before the pause is published. */
void run_take_back_pause(struct run *run);

/* As engine_steer(). */
bool run_steer(struct run *run, const char *steer_id);
/* The client of this sink has gone: closes the sink. A run that is not resumable is cancelled with its
 * last one, and a foreground response under a key after idempotency_grace_seconds. */
void run_listener_gone(struct run *run, struct sink *sink);

/* Another node can continue it: a thread's run, or a background response. */
bool run_is_resumable(const struct run *run);
/* A run of the Assistants API, else a response. */
bool run_is_assistants(const struct run *run);

/* Renders the event as frames, by the run's face. Borrowed; members that are not named are zero. */
void run_emit(struct run *run, const struct run_event *event);

#endif
