#ifndef RUNNEL_CORE_RUN_CONTEXT_CHAIN_H
#define RUNNEL_CORE_RUN_CONTEXT_CHAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/run_settings.h"
#include "core/model/model.h"

/*
 * chain.h -- a chain of rounds: the model calls tools, reads their results, and calls again.
 *
 * A round is a turn of the model whose calls this server executed. Rounds and calls have limits. A call
 * beyond a limit is not executed, and its output names the limit. Then the model gets one more turn,
 * without tools and with a final prompt at the end of its messages: it shall answer the user now. It
 * gets the same turn when the chain ends without any text for the user. The final prompt is not
 * stored, and no client sees it.
 *
 * The limit of rounds is for rounds in a row. When the client answers calls itself, counting starts
 * again, so a client may continue as long as it likes. The limit of calls is for the whole run. A
 * crash resets neither count.
 *
 * The run's loop owns the struct and is the only thread that uses it.
 */

/* The largest number of rounds that a request may set (runnel.rounds.max). */
#define CHAIN_ROUNDS_LIMIT 1000

/* Turns of a run whose tokens are kept separately. Later turns count in the totals only. */
#define CHAIN_TURNS_KEPT 128

enum chain_stop {
    CHAIN_CONTINUES,
    CHAIN_ROUNDS, /* the limit of rounds was reached */
    CHAIN_CALLS,  /* the limit of calls was reached */
    CHAIN_SILENT, /* tools were called, and the model wrote nothing for the user */
};

/* Where something failed. The first two are failures of one call, which the model reads as its output;
 * the others are failures of the run. */
enum chain_phase {
    CHAIN_NO_FAILURE,
    CHAIN_PARSE_ARGUMENTS, /* the arguments that the model wrote cannot be used */
    CHAIN_TOOL_EXECUTION,  /* the tool failed */
    CHAIN_LLM_RESPONSE,    /* the request to the model failed, or its answer broke off */
    CHAIN_FINAL_RESPONSE,  /* the same, in the last turn, which has no tools */
    CHAIN_EXECUTION,       /* anything else that ended the run */
};

/* The tokens of one turn of the model. */
struct chain_turn {
    int turn;
    int64_t input;
    int64_t output;
};

struct chain {
    unsigned max_rounds;     /* in a row; 0: the server's limit is not set yet */
    int64_t max_calls;       /* of the whole run; INT64_MAX: no limit */
    unsigned rounds;         /* in a row */
    unsigned round_calls;    /* calls of the current round that were executed */
    unsigned paused_calls;   /* the part of all_calls whose round waits for the client */
    enum chain_stop stop;    /* why the next answer is the last, or a call was not executed */
    enum language language;  /* of the texts that are written for the model */
    enum chain_phase failed; /* where the run failed */

    /* Of the whole run, all residencies together. `turns` is owned. */
    unsigned all_rounds;
    unsigned all_calls;
    struct chain_turn *turns;
    size_t turn_count;
};

/* Takes the request's limits from `settings`, and the counts of earlier residencies from `usage`: the
 * JSON text in the run's row, to which chain_note() has added them; NULL for a new run. The caller
 * calls chain_clear(). */
void chain_init(struct chain *chain, const struct run_settings *settings, const char *usage);
/* Applies the server's limits. The one of rounds counts only if the request has none. Of the two limits
 * of calls the lower one counts; 0 means that the server has none. */
void chain_set_limits(struct chain *chain, unsigned max_rounds, unsigned max_calls);
void chain_clear(struct chain *chain);

/* To be called before a call is executed. True: the call is counted. False: a limit was reached, and
 * `stop` says which; from then on no call is admitted. */
bool chain_admit(struct chain *chain);
/* The same for a call that may have begun in an earlier residency. Only the limits count, not whether
 * another call of the round was refused. */
bool chain_admit_begun(struct chain *chain);
/* Counts a call of the current round that was executed in an earlier residency. */
void chain_count_call(struct chain *chain);

/* Counts a call that the upstream has executed. It belongs to no round, and only the limit of calls counts it. */
void chain_count_passed(struct chain *chain);
/* How many more calls the limit allows; INT64_MAX: no limit. */
int64_t chain_calls_left(const struct chain *chain);

/* A round that waited for its client continues: takes its calls out of the counts. The caller counts
 * each of them again, with chain_count_call() or chain_admit(). */
void chain_reopen_round(struct chain *chain);

/* All server-side calls of the turn have ended. */
void chain_end_round(struct chain *chain);

/* A turn of the model has ended and took these tokens. */
void chain_add_turn(struct chain *chain, int turn, const struct model_usage *usage);

/* The server-side calls of a run that has ended, of the usage in its row; NULL: none. */
unsigned chain_calls_of(const char *usage);

/* The public name of a stop: "max_rounds_reached", "max_calls_reached", "final_answer_requested"; NULL
 * for CHAIN_CONTINUES. Parsing returns CHAIN_CONTINUES for NULL and for unknown names. */
const char *chain_reason(enum chain_stop stop);
enum chain_stop chain_reason_parse(const char *reason);

/* The public name of a phase: "parse_arguments", "tool_execution" and so on; NULL for
 * CHAIN_NO_FAILURE. */
const char *chain_phase_name(enum chain_phase phase);

/* The output of a call that a limit kept from being executed: JSON that names the limit. The caller
 * frees. */
char *chain_placeholder(enum chain_stop stop);
/* The output of a call whose tool says that it was cancelled; `why` is the tool's message. The caller
 * frees. */
char *chain_cancelled(const char *why);

/* The last message of the last turn, as a message of the Chat API with the role "user". Only after the
 * chain has stopped. New reference. */
json_t *chain_final_prompt(const struct chain *chain);

/* Adds the counts to `tokens`, the object that becomes the run's usage: its notes (notes.h) get
 * rounds, calls, paused_calls, turns and, when the run failed, error_phase. chain_init() reads them.
 * Adds nothing to a run without calls and without a failure. */
void chain_note(const struct chain *chain, json_t *tokens);

/* The tokens of the first turn after `turn`, read from such notes. False when no such turn was
 * kept; then *ret_turn is unchanged. */
bool chain_usage_after(const json_t *tokens, int turn, struct chain_turn *ret_turn);

#endif
