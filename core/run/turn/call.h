#ifndef RUNNEL_CORE_RUN_TURN_CALL_H
#define RUNNEL_CORE_RUN_TURN_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/ids.h"
#include "core/domain/item.h"
#include "core/domain/rows.h"
#include "core/domain/status/call_status.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/context/chain.h"
#include "core/run/turn/input_text.h"
#include "core/tool/channel.h"
#include "core/tool/schema.h"
#include "core/tool/tool.h"

/*
 * call.h -- one tool call of a turn, while its run is in memory. On the run's loop.
 *
 * What has happened to a call is its status, and only call_move() changes it, by the table of
 * domain/call_status.c. The flags are facts: each is set once, when it becomes known, and then holds.
 *
 * A call begins when the model begins to write it. It then passes the stages of core/run/calls, and is
 * freed when the next turn begins. What is left of it is items.
 *
 * "Residency" is the time from when a loop takes the run up until the run ends, pauses or moves.
 */

struct run;

/* The approval request about the call, before it is executed. */
struct call_approval {
    char id[ID_LIMIT + 1]; /* "": none. The arguments that were shown with it are executed. */
    bool anew;             /* the tool has changed since its approval: it is requested again */
    bool posted;           /* the webhook has it */
};

struct call {
    char id[ID_LIMIT + 1]; /* the model's call id */
    char *name;
    char
        caller[ID_LIMIT + 1]; /* the id of the program that has made it; "": the model itself */
    const struct tool_use *use; /* NULL when no such tool was offered */
    struct buf arguments;       /* as the model wrote them */
    json_t *extra; /* what its upstream wants back with it, as in item.h; or NULL */
    enum call_status status;

    /* Facts. */
    bool hidden;
    bool final;
    bool shown;     /* of a program: its item. Its output comes as another one */
    bool begun;     /* it was handed to its tool in an earlier residency */
    bool refused;   /* it has ended and was never admitted, so nothing was executed */
    bool lost;      /* it was approved in an earlier run, and may or may not have run there */
    bool truncated; /* its result is too long for the model to see all of it */
    /* Its MCP server has reported during the call that its tools have changed */
    bool list_changed;

    struct program *program; /* run_programs.h; NULL: it is none, or has not begun */

    /* Before it runs. */
    struct resolved_call *resolved; /* run_variables.h; NULL: it has no references */
    struct call_plan *plan;         /* run_plan.h; NULL: it has none */
    struct recall *recall;          /* run_grants.h: grants that cover it; or NULL */
    struct call_approval approval;
    char *reason; /* why it, or its result, was rejected; or NULL */

    /* While it runs. */
    unsigned channel_position; /* of a call that the server executes */
    int64_t started_at;        /* wall clock, microseconds */
    unsigned search;           /* its number, if its result may be cited; else 0 */
    /* When its live metadata was emitted last, on the loop's clock; 0: never */
    uint64_t noted_ns;
    struct buf said; /* text that its tool has emitted */

    /* Its end. */
    char *text; /* what the model reads of it; NULL until it has ended */
    int64_t ended_at;
    enum tool_status outcome; /* as its tool reports it */
    char *why; /* with an outcome of rejected or cancelled: the tool's reason; or NULL */
    enum chain_phase phase; /* where it failed, if it did */
    json_t *fault; /* why a remote server gave no result, as its item shows it; or NULL */
    struct variable_names *kept; /* the variables of its result and arguments; NULL: none */
    struct withheld_result *withheld; /* run_results.h; NULL: the model sees its result */

    /* Where it is shown. */
    struct tool_output *waiting; /* outputs that wait for the floor: it has ended; NULL: none */
    unsigned waiting_count;
    struct input_text input; /* of a custom tool: how far the arguments were read */
    struct item *item;       /* NULL until it is shown */
    struct item *message;    /* of a final call: the message that carries its text */
};

/* The calls of a turn. */
struct run_calls {
    struct call *list; /* in the model's order */
    unsigned count;
    int turn;                     /* the turn that made them */
    unsigned stage;               /* index of the next stage in stages.c */
    struct offload *offload;      /* offload.h; NULL: no work is under way elsewhere */
    struct run_hold *hold;        /* run_hold.h; NULL: the run does not hold */
    struct tool_channel *channel; /* of the calls that are executed; NULL: none is */
    unsigned due;                 /* calls of the channel; of these: */
    unsigned started, ended;
    unsigned *positions;   /* the place in `list` of each call of the channel */
    unsigned *final_order; /* final calls, in the order in which they ended */
    unsigned final_count;
    struct schema_budget checks; /* time left in this turn for checks against remote schemas */
    /* Rows of answered approvals and their calls, until the tools are resolved. NULL: none. */
    struct call_row *answered;
    size_t answered_count;
    /* The time that regular expressions have left, in this residency; NULL until a tool runs. */
    struct regex_budget *searches;
    json_t *files;     /* the files that each type of tool may see; NULL until a tool runs */
    bool inputs_added; /* with those of the input, for code */
    unsigned drawn;   /* pictures that the run has had drawn; known from the first drawing on */
    bool drawn_known; /* those of earlier residencies were counted */
};

/* An event that is not possible in the call's status is a mistake of this server, and asserted. */
void call_move(struct call *call, enum call_event event);

/* This server has to execute it, and nothing is in the way of that. Not a program, which is executed step by step. */
bool call_is_due(const struct call *call);

/* The client executes it, or has executed it. */
bool call_is_clients(const struct call *call);

/* It has ended, and its output is an error. */
bool call_has_failed(const struct call *call);

/* It was executed, and a person has rejected its result: the model does not see it. */
bool call_result_is_rejected(const struct call *call);

/* After a crash, a call that may have been executed is executed again: a second time does no harm. */
bool call_may_repeat(const struct call *call);

/* ---- What a turn does with its calls: core/run/calls ---- */

/* The answer of the model is complete, and has calls: they pass the stages. */
void run_dispatch_tools(struct run *run);
/* Takes what tool workers have put into the run's channels. Called for a wake-up; the caller pumps. */
void run_collect_output(struct run *run);
/* Afterwards no call makes progress any more. Output that comes late is dropped. */
void run_stop_tools(struct run *run);
/* After run_stop_tools(), with no item open: shows the calls that had ended while another one had the floor. Not
 * those of final tools, whose output would be the answer. */
void run_show_ended_calls(struct run *run);
/* Then: programs that the run does not wait for any more end, too. With no item open. */
void run_cut_programs(struct run *run);
/* Continues the calls of an earlier residency, from their rows: after an approval or a crash. */
void run_resume_calls(struct run *run, const struct call_row *rows, size_t count);
/* The client has answered. Its outputs become items, and the turn ends. If there are answers to approvals
 * among the rows, copies of all rows are kept, and run_continue() continues their calls. */
void run_take_answers(struct run *run, const struct call_row *rows, size_t count);
/* The tools are resolved and listed: continues the answered calls, or begins the next turn. */
void run_continue(struct run *run);

/* ---- run_calls.c: as the model makes them ---- */

/* Frees all calls of the turn. Their items stay. */
void run_clear_calls(struct run *run);
/* The model begins its next call. id and name are copied. */
void run_begin_call(struct run *run, const char *id, const char *name);
/* `call` is the index in the model's order, here and below. */
void run_add_arguments(struct run *run, unsigned call, const char *text, size_t length);
/* What its upstream wants back with it. Copied. */
void run_add_extra(struct run *run, unsigned call, const json_t *extra);
/* Its arguments are complete. A client's call that was not shown while it was written is shown now. */
void run_end_call(struct run *run, unsigned call);
/* The item of a client's call is open while the model writes it. */
bool run_call_is_open(const struct run *run);

/* ---- run_list.c ---- */

/* Lists the tools of groups and of remote servers that the conversation has not listed yet. Then
 * run_continue(): at once, or when the last server has answered. */
void run_list_tools(struct run *run);

#endif
