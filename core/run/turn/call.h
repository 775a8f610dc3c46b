#ifndef RUNNEL_CORE_RUN_TURN_CALL_H
#define RUNNEL_CORE_RUN_TURN_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/ids.h"
#include "core/domain/call_status.h"
#include "core/domain/item.h"
#include "core/domain/rows.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/context/chain.h"
#include "core/run/turn/input_text.h"
#include "core/tool/channel.h"
#include "core/tool/schema.h"
#include "core/tool/tool.h"

/*
 * call.h -- one tool call of a turn, while its run is in memory. On the run's loop.
 *
 * What happens to it is its status, and only call_move() changes that. The flags are facts: each is
 * set once, when it becomes known, and holds from then on.
 *
 * "Residency" is the time from when a loop takes the run up until the run ends, pauses or moves.
 */

struct run;

/* The approval that a person is asked for: before the call is executed. */
struct call_approval {
    char id[ID_LIMIT +
            1];  /* "": nobody was asked. What was shown under it is what is executed. */
    bool anew;   /* the tool is not the one that was approved: it is asked again */
    bool posted; /* the webhook has it */
};

struct call {
    char id[ID_LIMIT + 1]; /* the model's call id */
    char *name;
    const struct tool_use *use; /* NULL when no such tool was offered */
    struct buf arguments;       /* as the model wrote them */
    json_t *extra;              /* what its upstream wants back with it, see item.h; or NULL */
    enum call_status status;

    /* Facts. */
    bool hidden;
    bool final;
    bool begun;        /* it was handed to its tool in an earlier residency */
    bool lost;         /* it was approved in an earlier run, and nobody knows whether it ran */
    bool truncated;    /* its result is too long for the model to see all of it */
    bool list_changed; /* its MCP server has said that its list of tools has changed */

    /* Before it runs. */
    struct resolved_call *resolved; /* run_variables.h; NULL: it has no references */
    struct call_plan *plan;         /* run_plan.h; NULL: it has none */
    struct recall *recall;          /* run_grants.h: earlier answers that cover it; or NULL */
    struct call_approval approval;
    char *reason; /* why it was refused, or its result was; or NULL */

    /* While it runs. */
    unsigned channel_position; /* of a call that the server executes */
    int64_t started_at;        /* microseconds on the wall */
    uint64_t noted_ns;         /* when its live metadata was emitted last; 0: never */
    struct buf said;           /* text that its tool has emitted */

    /* Its end. */
    int64_t ended_at;
    enum tool_status outcome; /* in the words of the tool itself */
    char *why;                /* and its reason, when it was rejected or cancelled; or NULL */
    enum chain_phase phase;   /* where it failed, if it did */
    json_t *fault; /* why a remote server gave no result, as its item shows it; or NULL */
    struct variable_names *kept; /* the variables of its result and arguments; NULL: none */
    struct withheld_result *withheld; /* run_results.h; NULL: the model sees its result */

    /* Where it is shown. */
    struct input_text input; /* of a custom tool: how far the arguments were read */
    struct item *item;       /* once it is shown */
    struct item *message;    /* of a final call: the message that carries its text */
};

/* The calls of a turn. What they pass through is in core/run/calls. */
struct run_calls {
    struct call *list; /* in the model's order */
    unsigned count;
    int turn;                     /* the turn that asked for them */
    unsigned stage;               /* the next one of stages.c */
    struct offload *offload;      /* offload.h; NULL: nothing is looked up */
    struct run_hold *hold;        /* run_hold.h; NULL: the run does not hold */
    struct tool_channel *channel; /* of those that are executed; NULL: none is */
    unsigned due;                 /* of them, by channel position */
    unsigned started, ended;
    unsigned *final_order; /* final calls, in the order in which they ended */
    unsigned final_count;
    struct schema_budget checks; /* of arguments by schemas of strangers, in this turn */
    struct call_row
        *answered; /* approvals and what they are about, until the tools are known */
    size_t answered_count;
    json_t *files; /* which tool type may see which; NULL until a tool runs */
};

/* The event must be possible in its status: anything else is our own mistake. */
void call_move(struct call *call, enum call_event event);

/* The server has to bring it to its end, and nothing keeps it from that. */
bool call_is_due(const struct call *call);

/* The client executes it, or has. */
bool call_is_clients(const struct call *call);

/* It is over, and its output is an error. */
bool call_has_failed(const struct call *call);

/* It ran, and a person has refused the model its result. */
bool call_result_is_rejected(const struct call *call);

/* One that may have run already may run again: that can do no harm. */
bool call_may_repeat(const struct call *call);

/* ---- What a turn does with its calls: core/run/calls ---- */

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
void run_continue(struct run *run);

/* ---- run_calls.c: as the model makes them ---- */

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

/* ---- run_list.c ---- */

/* The tools of groups and of remote servers, where the conversation has not listed them yet; then the
 * model is asked, at once or when the last server has answered. */
void run_list_tools(struct run *run);

#endif
