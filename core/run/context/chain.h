#ifndef RUNNEL_CORE_RUN_CONTEXT_CHAIN_H
#define RUNNEL_CORE_RUN_CONTEXT_CHAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/run_settings.h"
#include "core/model/model.h"

/*
 * chain.h -- a chain of rounds: the model asks for tools, is told what they gave, and asks again.
 *
 * A round is a turn of the model whose calls were executed here. Rounds and calls have limits. A call
 * beyond one is not executed: its output says why, and the model is asked once more, without tools
 * and with a word of ours at the end, for what it can tell the user now. The same is done when the
 * chain ends in silence. That word is never stored, and nobody but the model sees it.
 *
 * Rounds are counted in a row: whoever answers calls himself may go on for as long as he likes. A
 * crash takes nothing back. The loop's only.
 */

/* Rounds that a request may ask for. */
#define CHAIN_ROUNDS_LIMIT 1000

/* Turns of a run whose tokens are kept one by one. */
#define CHAIN_TURNS_KEPT 128

enum chain_stop {
    CHAIN_CONTINUES,
    CHAIN_ROUNDS, /* the limit of rounds was reached */
    CHAIN_CALLS,  /* that of calls */
    CHAIN_SILENT, /* the model said nothing */
};

/* Where something went wrong. */
enum chain_phase {
    CHAIN_NO_FAILURE,
    CHAIN_PARSE_ARGUMENTS, /* what the model wrote could not be used: it was told */
    CHAIN_TOOL_EXECUTION,  /* the tool has failed: so was that */
    CHAIN_LLM_RESPONSE, /* the model could not be asked, or its answer broke: the run failed */
    CHAIN_FINAL_RESPONSE, /* so did its last answer, the one without tools */
    CHAIN_EXECUTION,      /* anything else that ended the run */
};

/* What a turn of the model took. */
struct chain_turn {
    int turn;
    int64_t input;
    int64_t output;
};

struct chain {
    unsigned max_rounds;     /* 0 until the server's is set */
    int64_t max_calls;       /* INT64_MAX for no limit */
    unsigned rounds;         /* in a row */
    unsigned round_calls;    /* executed in the one that goes on */
    unsigned paused_calls;   /* of all_calls: of a round that waits for its client */
    enum chain_stop stop;    /* why the next answer is the last, or a call was not executed */
    enum language language;  /* of what is written for the model */
    enum chain_phase failed; /* of the run, when it has */

    /* Of the whole run. */
    unsigned all_rounds;
    unsigned all_calls;
    struct chain_turn *turns;
    size_t turn_count;
};

/* Limits of the request; counts from `usage` as chain_note() left it, or NULL. */
void chain_init(struct chain *chain, const struct run_settings *settings, const char *usage);
/* The server's limits: of rounds where the request has none, of calls (0: none) in any case. */
void chain_set_limits(struct chain *chain, unsigned max_rounds, unsigned max_calls);
void chain_clear(struct chain *chain);

/* Another call would be executed: counts it, or notes why it is not. */
bool chain_admit(struct chain *chain);
/* One that may have begun before this stay: the same, whatever was refused beside it. */
bool chain_admit_begun(struct chain *chain);
/* One that was executed before this stay, in the turn that goes on. */
void chain_count_call(struct chain *chain);

/* The calls of a round that had waited for its client are about to be counted anew, each with
 * chain_count_call(). Of a run that ends while it waits they count as they are. */
void chain_reopen_round(struct chain *chain);

/* All calls of the turn that are executed here have ended. */
void chain_end_round(struct chain *chain);

/* A turn of the model has ended. */
void chain_add_turn(struct chain *chain, int turn, const struct model_usage *usage);

/* The word for what stopped it: "max_rounds_reached", "max_calls_reached"; NULL while nothing has. */
const char *chain_reason(enum chain_stop stop);
enum chain_stop chain_reason_parse(const char *reason);

/* "parse_arguments" ...; NULL for none. */
const char *chain_phase_name(enum chain_phase phase);

/* Instead of the output of a call that was not executed. The caller frees. */
char *chain_placeholder(enum chain_stop stop);
/* And of one that its tool says was cancelled, and why. The caller frees. */
char *chain_cancelled(const char *why);

/* What the model is told last, as a message of the Chat API. New reference. */
json_t *chain_final_prompt(const struct chain *chain);

/* Adds to the tokens of the run ({"runnel": {rounds, calls, turns}}) what chain_init() reads, and under
 * "error_phase" where the run failed. */
void chain_note(const struct chain *chain, json_t *tokens);

/* The tokens of the request that came after `turn`, from a note; false when none is known. */
bool chain_usage_after(const json_t *tokens, int turn, struct chain_turn *ret_turn);

#endif
