#ifndef RUNNEL_CORE_RUN_TURN_RUN_H
#define RUNNEL_CORE_RUN_TURN_RUN_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/item.h"
#include "core/domain/run_settings.h"
#include "core/event/frames.h"
#include "core/event/sink.h"
#include "core/model/model.h"
#include "core/net/loop.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/context/budget.h"
#include "core/run/context/chain.h"
#include "core/run/context/context_fit.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/slots.h"
#include "core/run/turn/bells.h"
#include "core/run/turn/call.h"
#include "core/run/turn/face.h"
#include "core/run/turn/unwritten.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/writer/writer.h"
#include "core/tool/channel.h"
#include "core/tool/schema.h"

/*
 * run.h -- a run while it is in memory; for core/run and, to look at, for the faces.
 *
 * Owned by one loop: every function here is called on that loop's thread only. A run is a state
 * machine without a thread: something happened (a chunk of the model, output of a tool, a
 * finished write, a timer, a message), a small step is taken, events are rendered, and
 * run_pump() writes and publishes what is due. Then the loop turns to somebody else.
 *
 * The request as accepted stands in row.config as text and, decoded, in `settings`.
 *
 * When what happened is told (persist before publish): the rule is at the head of run_write.c.
 */

struct engine_loop;
struct engine_waiter;

enum run_life {
    RUN_ALIVE,
    RUN_ENDED, /* final status reached, or paused for its client; waits for its last write */
    RUN_ABANDONED, /* somebody else's now, or deleted: not another word */
};

struct run {
    struct run_row row;
    struct tenant tenant; /* made of the row and `config`; see core/domain/tenant.h */
    struct engine *engine;
    struct engine_loop *home;
    struct loop *loop;
    const struct face *face;
    struct run_settings settings;
    json_t *context;          /* request context for handlers; NULL: there is none */
    struct thread_row thread; /* made with the run; id "" otherwise */
    struct tool_set tools;
    json_t *secrets; /* of the tools, by their places in the request; NULL: none are known */
    struct run_server *servers; /* remote MCP servers: run_servers.h */
    size_t server_count;
    struct server_call *server_calls_open;
    void (*after_listing)(struct run *run); /* what waits for their lists */
    struct variable_memory *variables;      /* held; NULL: what it has is in the store */
    struct message_cache *messages;         /* held; made when a call may ask for them, */
    size_t messages_past;                   /* of so many items */
    json_t *files; /* which tool type may see which; NULL until a tool runs */
    enum run_arrival arrival;

    /* Where it stands in the store. */
    bool exists; /* the row is there */
    int64_t fence;
    int64_t next_position;

    /* What the model is told: items from before, then this run's own. */
    struct item_row *history;
    size_t history_count;
    struct item **items; /* this run's, in order of opening */
    size_t item_count;
    int output_count;   /* items shown in the response so far */
    struct item *open;  /* at most one item is open at a time */
    struct step *steps; /* newest first */
    struct step *step;  /* the open one, or NULL */

    /* The turn. */
    struct sending *sending; /* the next request, while a hook looks at it; or NULL */
    struct model_turn *model;
    const struct model_upstream *upstream; /* that is, or was last, asked */
    struct part *held;                     /* said in the middle of a call: told after it */
    size_t held_count;
    json_t *logprobs; /* of the text that comes next, or NULL */
    int next_model_index;
    struct call *calls;
    unsigned call_count;
    struct tool_channel *channel;
    struct offload *offload; /* offload.h: what workers look up for the calls; or NULL */
    unsigned stage;          /* the next one of the calls: stages.h */
    unsigned server_calls;   /* of the turn, by channel position */
    unsigned started_calls;  /* of them */
    unsigned ended_calls;    /* of those */
    unsigned *final_order;   /* final calls, in the order in which they ended */
    unsigned final_count;
    int call_turn;               /* the turn that asked for these calls */
    struct schema_budget checks; /* of arguments by schemas of strangers, in this turn */
    struct chain chain;
    bool choice_spent;
    bool compacted;        /* since the model was asked last */
    struct buf summary;    /* of the conversation, while the model writes it */
    bool last_answer;      /* this turn is the forced final one */
    struct run_hold *hold; /* waits for answers: run_hold.h; or NULL */
    struct budget budget;
    struct context_frame frame;
    char *turn_usage; /* of the last turn, until a step takes it */

    /* Telling. */
    struct frames frames;
    struct sink *sinks;
    struct run_peer *peers; /* nodes on which it is followed */
    size_t peer_count;
    bool drain_wanted;
    bool ending; /* taken up only to be ended */
    bool without_model;
    bool steered; /* somebody has more to say */

    /* Writing. */
    struct run_write *write; /* in flight; at most one */
    struct unwritten unwritten;
    /* Questions for the webhook, which is told when the next write, or the one in flight, is
     * committed. NULL: there are none. */
    json_t *posts, *posts_written;
    uint64_t writes_begun;         /* so many: the number of the last one */
    uint64_t writes_committed;     /* the number of the last one that was */
    bool urgent;                   /* a write is asked for: do not wait for the flush timer */
    uint64_t barrier;              /* frames wait until the write of this number is committed */
    bool release, ready;           /* give up the lease with the next write */
    void (*then)(struct run *run); /* what to do once everything so far is committed, */
    uint64_t then_after;           /* with the write of this number */
    int64_t log_next;              /* number of the first frame not handed to the log yet */
    size_t
        pause_length;  /* of the last frame, which says that the run waits; 0: there is none */
    int64_t published; /* number of the first frame not told yet; of resumable runs */
    unsigned write_failures;

    enum run_life life;
    struct loop_timer expiry;
    struct loop_timer flush;
    uint64_t flush_due_ns;    /* not before, unless much waits */
    struct bell *bell;        /* the output channel rings it */
    struct arrival *arriving; /* waits for a slot: nothing was done or told yet */
    struct slot_waiter slot;
    struct loop_task slot_ready;
    bool has_slot;
    struct call_row
        *answered; /* questions and what they are about, until it goes on with them */
    size_t answered_count;
    struct loop_task later; /* for what must not happen inside a callback of the run's own */
    bool later_posted;
    const char *end_reason;     /* why what is open is cut: "run_cancelled", "max_tokens" ... */
    size_t bytes;               /* that it came with, as the engine counts them */
    struct run *next;           /* bucket of the loop's table */
    struct arrival *successors; /* its next stay, which has come already */
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
void run_tell(struct run *run, const struct run_event *event);

/* ---- run_items.c: items and steps, shared by the parts ---- */

struct step *run_open_step(struct run *run, enum step_type type);
void run_close_step(struct run *run, enum step_status status);

/* A new item of that type, not told yet. Silent items are kept in the store and never told: those
 * of hidden tools, and outputs that the client gave. */
struct item *run_new_item(struct run *run, enum item_type type);
void run_store_silently(struct run *run, struct item *item, enum item_status status);
/* Tells it: from here on it is the open one. */
void run_open_item(struct run *run, struct item *item);
void run_open_part(struct run *run, enum part_kind kind);
void run_add_text(struct run *run, const char *text, size_t length);
/* Of the open part; takes the annotation. */
void run_annotate(struct run *run, json_t *annotation);
void run_close_part(struct run *run);
void run_close_item(struct run *run, enum item_status status);
/* What there is of the open item, for whoever finds it after a crash: all parts of it have ended. */
void run_store_open_item(struct run *run);

/* Of the history: it has made this in an earlier stay, and was not given it. */
bool run_has_made(const struct run *run, const struct item_row *past);
/* The run's items that its response shows, as JSON. New reference. */
json_t *run_output(const struct run *run);
/* The items that carry a step's id, oldest first; the caller frees the array only. */
const struct item_row **run_step_items(const struct run *run, const struct step *step,
                                       size_t *ret_count);

/* ---- run_model.c: a turn of the model ---- */

void run_ask_model(struct run *run);
/* What the model may see, oldest first; the caller frees the array. */
const struct item_row **run_gather_items(const struct run *run, size_t *ret_count);
/* Asks the upstream, when the operator's hook has seen the request; takes `chat`. */
void run_send(struct run *run, json_t *chat, const struct model_events *events);
void run_stop_sending(struct run *run);
void run_model_failed(struct run *run, const struct err *error);
void run_stop_model(struct run *run);
/* The model has said something to the user in this turn. */
bool run_has_answered(const struct run *run);
void run_forget_held(struct run *run);

/* ---- run_compact.c: a long conversation is made short ---- */

bool run_must_compact(struct run *run);
void run_compact(struct run *run);
/* Turns that are over are told in compact form. */
bool run_is_compact(const struct run *run);
/* Notes what the items cost, where somebody will want to know it and it is not known yet. */
void run_count_items(struct run *run);
/* What the model is asked with. Borrows from the run. */
struct context run_context(struct run *run);

/* ---- stages.c, execute.c, restore.c: the calls that the server executes ---- */

/* The model has asked for the calls of its turn. */
void run_dispatch_tools(struct run *run);
/* The workers' wake-up. */
void run_collect_output(struct run *run);
/* Nothing of the calls happens any more. */
void run_stop_tools(struct run *run);
void run_resume_calls(struct run *run, const struct call_row *rows, size_t count);
/* The client has answered: its outputs become items, the step is done. */
void run_take_answers(struct run *run, const struct call_row *rows, size_t count);
/* The tools are known: the calls that the answers were about go on, or the model is asked. */
void run_go_on(struct run *run);

/* ---- run_list.c ---- */

/* The tools of groups and of remote servers, where the conversation has not listed them yet; then the
 * model is asked, at once or when the last server has answered. */
void run_list_tools(struct run *run);

/* ---- run_calls.c: what the model asks for ---- */

void run_clear_calls(struct run *run);
/* The next call of the model begins. */
void run_begin_call(struct run *run, const char *id, const char *name);
void run_add_arguments(struct run *run, unsigned call, const char *text, size_t length);
/* What its upstream wants to have back with it. */
void run_add_extra(struct run *run, unsigned call, const json_t *extra);
/* Its arguments are complete: a client's call is shown, live or at once. */
void run_end_call(struct run *run, unsigned call);
/* A client's call is being shown while the model writes it. */
bool run_call_is_open(const struct run *run);

/* ---- run_write.c: writing and publishing ---- */

/* Call at the end of everything that happens to a run. May schedule the end of the run, but
 * never frees it before the loop's next round. */
void run_pump(struct run *run);
void run_put_item(struct run *run, const struct item_row *row);
void run_put_step(struct run *run, const struct step_row *row);
void run_put_call(struct run *run, const struct call_row *row);
/* Takes what it owns. Of a run that is not stored it is in its memory at once; false: there was no room. */
bool run_put_variable(struct run *run, struct variable *variable);
void run_put_approval(struct run *run, const struct approval_row *row);
/* What is told from here on waits for the next write, which begins as soon as it can. What must be in it
 * is to be put before run_pump(). */
void run_raise_barrier(struct run *run);
/* Once everything so far is committed: `then`. At once for runs that are not stored. */
void run_after_commit(struct run *run, void (*then)(struct run *run));
/* The same, also for runs whose calls are not remembered one by one. */
void run_after_write(struct run *run, void (*then)(struct run *run));

/* ---- run_peers.c: who follows the run on other nodes ---- */

/* Tells it at once, for the case that it has missed something meanwhile. */
void run_add_peer(struct run *run, const char *node);
/* There is more in the log. */
void run_tell_peers(struct run *run);

/* ---- recover.c: after a crash ---- */

/* Closes what the last owner left open. */
void run_recover(struct run *run, const struct call_row *calls, size_t call_count);
/* It has been taken up so often that it may be what brings servers down. */
bool run_is_poison(const struct run *run);
/* Fails a run whose write the database does not take: without what was in it. */
void run_take_refusal(struct run *run, const struct run_write *write);

/* ---- engine.c, engine_arrivals.c ---- */

const struct engine_options *engine_options(const struct engine *engine);
void engine_lease_add(struct engine *engine, const struct run *run);
void engine_lease_drop(struct engine *engine, const struct run *run);
/* It waits for answers, which may come by way of other nodes. False when too many of its project do. */
bool engine_hold_add(struct engine *engine, const struct run *run);
void engine_hold_drop(struct engine *engine, const struct run *run);
/* The webhook of its project, if it has one. The question is only read. */
void engine_tell_webhook(struct run *run, const json_t *question);
void engine_forget(struct run *run); /* out of its loop's table, and freed in the next round */
/* Takes the run up, slot or not, if it still waits: before it ends it must have begun. */
void engine_begin(struct run *run);
/* Where the outputs of so many calls come together; the run hears them until it hangs up. */
struct tool_channel *engine_channel(struct run *run, unsigned calls, const bool *hidden,
                                    size_t capacity);
void engine_hang_up(struct run *run); /* the run hears its bell no more, if it has one */
struct run *engine_find(struct engine *engine, const char *run_id);

/* waiters.h; it leaves by waiter_drop(). */
void engine_wait_for_run(struct engine *engine, struct engine_waiter *waiter);
bool engine_is_draining(const struct engine *engine);

#endif
