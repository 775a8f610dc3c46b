#ifndef RUNNEL_CORE_RUN_TURN_RUN_MODEL_H
#define RUNNEL_CORE_RUN_TURN_RUN_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/model/model.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"

/*
 * run_model.h -- a turn of the model: its request, its answer, and the compaction of a context that has
 * grown too long. On the run's loop.
 */

struct run;

struct run_turn {
    struct sending
        *sending; /* the next request, while the operator's hook looks at it; or NULL */
    struct model_turn *model;              /* under way; or NULL */
    const struct model_upstream *upstream; /* that answers, or has answered last */
    struct part *held; /* text that came in the middle of a call: emitted after it */
    size_t held_count;
    json_t *logprobs;     /* of the text that comes next, or NULL */
    int next_model_index; /* of the next item, in the model's order */
    bool choice_spent;    /* tool_choice forces a call once */
    bool compacted;       /* since the last request to the model */
    struct buf summary;   /* of the conversation, while the model writes it */
    bool last_answer;     /* it must answer without tools */
    struct context_frame frame;
    char *usage; /* of the last turn, until a step takes it */
};

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

/* ---- run_compact.c ---- */

bool run_must_compact(struct run *run);
void run_compact(struct run *run);
/* Turns that are over are told in compact form. */
bool run_is_compact(const struct run *run);
/* Notes what the items cost, where somebody will want to know it and it is not known yet. */
void run_count_items(struct run *run);
/* What the model is asked with. Borrows from the run. */
struct context run_context(struct run *run);

#endif
