#ifndef RUNNEL_CORE_RUN_TURN_RUN_MODEL_H
#define RUNNEL_CORE_RUN_TURN_RUN_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/model/model.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/turn/run_passed.h"
#include "core/run/turn/run_reasoning.h"

/*
 * run_model.h -- a turn of the model: its request, its answer, and the compaction of a context that has
 * grown too long. On the run's loop.
 */

struct run;

/* The turn that is under way, or was last. */
struct run_turn {
    struct sending *sending;  /* the request, while the operator's hook has it; or NULL */
    struct model_turn *model; /* the request, while the upstream has it; or NULL */
    const struct model_upstream
        *upstream;     /* of this turn, or of the last one; NULL: no turn yet */
    struct part *held; /* text that came in the middle of a client's call: emitted after it */
    size_t held_count;
    json_t
        *held_details; /* of the reasoning, which came in the middle of such a call; or NULL */
    const char *
        reasoning_member; /* in which the reasoning came; constant; NULL: none that has a name */
    enum run_giving_back giving_back;
    struct json_splice
        past;         /* messages of the request that were rendered before; no text: none */
    bool gave_back;   /* the request has reasoning that was given back */
    json_t *logprobs; /* of the text that comes next, or NULL */
    struct run_passed passed; /* the call that the upstream is executing */
    int next_model_index;     /* of the next item, in the model's order */
    bool choice_spent;        /* a tool_choice that forces a call was obeyed: now it is auto */
    bool compacted;           /* a compaction was made since the last request for an answer */
    struct buf summary;       /* of the conversation, while the model writes it */
    bool last_answer;         /* the model must answer without tools */
    struct context_frame frame;
    char *usage; /* tokens of the last turn as JSON, until a step takes them; or NULL */
};

/* Begins the next turn, or ends the run if there cannot be one. */
void run_begin_turn(struct run *run);

/* The items that the model may be sent, oldest first: all but the open one. Nothing is left out for
 * length yet. The caller frees the array; the rows stay the run's. */
const struct item_row **run_gather_items(const struct run *run, size_t *ret_count);

/* Sends the request by way of the operator's hook. Takes `chat`, a request of Chat Completions; an
 * upstream of another dialect gets it translated. `events` must be constant. */
void run_send(struct run *run, json_t *chat, const struct model_events *events);
/* The hook keeps its messages and finishes, but its result no longer reaches the run. */
void run_stop_sending(struct run *run);

/* Fails the run with what the client may know of the error. */
void run_model_failed(struct run *run, const struct model_failure *failure);
/* Cancels the request. No callback comes afterwards. */
void run_stop_model(struct run *run);

/* The model has written text for the user in this turn. */
bool run_has_answered(const struct run *run);
/* Frees the text and the details that wait for the end of a call. */
void run_forget_held(struct run *run);

/* ---- run_compact.c ---- */

/* The next turn has to be a compaction. */
bool run_must_compact(struct run *run);
/* Begins it. Afterwards the run requests its answer, or finishes if it was made for the compaction. */
void run_compact(struct run *run);

/* The run sends past turns in compact form (context.h). */
bool run_is_compact(const struct run *run);
/* Notes the cost of each item in its row, where the run needs it and does not know it yet. */
void run_count_items(struct run *run);
/* What the next request is made from. Borrows from the run. */
struct context run_context(struct run *run);

#endif
