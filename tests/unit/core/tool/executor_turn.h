#ifndef RUNNEL_TESTS_UNIT_CORE_TOOL_EXECUTOR_TURN_H
#define RUNNEL_TESTS_UNIT_CORE_TOOL_EXECUTOR_TURN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/tool/executor.h"
#include "tests/unit/core/tool/taker.h"

/*
 * executor_turn.h -- what the tests of the executor share: a turn, which is a channel and its taker;
 * handlers of every kind; and a door at which some of them wait until the test opens it.
 */

/* ---- the door, and a list of who came by ---- */

struct door {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    unsigned entered, left, calls_run;
    char order[256];
};

extern struct door door;

/* Shuts the door and resets its counters. */
void door_reset(void);
void door_open(void);
/* Waits until a counter of the door has a value; false when that takes too long. */
bool door_wait(const unsigned *counter, unsigned count, uint64_t patience_ns);

/* ---- handlers ---- */

/* They ignore cancelling: they wait at the door, and report afterwards that they were there. */
extern const struct tool_handler handler_deaf; /* has 20 ms */
extern const struct tool_handler handler_deaf_for_ever;
extern const struct tool_handler handler_listed; /* adds its call id to the list */
/* They wait until they are cancelled. */
extern const struct tool_handler handler_patient; /* has 20 ms */
extern const struct tool_handler handler_patient_for_ever;
extern const struct tool_handler handler_talkative;    /* emits five words, then "done" */
extern const struct tool_handler handler_mute_failure; /* fails without saying why */
extern const struct tool_handler handler_emitter;      /* emits one of each kind */
extern const struct tool_handler handler_echo;         /* returns what it got */

/* ---- turns ---- */

struct turn {
    struct taker taker;
    struct tool_channel *channel;
};

void turn_open(struct turn *turn, unsigned calls);
void turn_close(struct turn *turn);
void turn_submit(struct tool_executor *executor, struct turn *turn, unsigned position,
                 const struct tool_handler *handler, const char *run, const char *call_id);
/* Takes everything up to the next END, which is the caller's to clear. */
struct tool_output turn_wait_for_end(struct turn *turn);
void turn_expect_end(struct turn *turn, enum err_code rc);
/* The next call that ends must have this text. */
void turn_expect_result(struct turn *turn, const char *words);

/* ---- executors ---- */

/* Starts an executor, with the door shut. */
struct tool_executor *executor_started(unsigned workers, double timeout);
/* Opens the door, stops and frees it. */
void executor_stop(struct tool_executor *executor);

#endif
