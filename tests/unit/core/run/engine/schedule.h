#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCHEDULE_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * schedule.h -- which actor acts next, and what happens from outside.
 *
 * A schedule is an order and a few incidents. The order says which of the actors that are ready acts
 * next. An incident happens before a certain step. In random order a seed decides both. The same
 * schedule always plays the same way. Its text is printed when a rule is broken. With that text in the
 * environment the program plays this schedule alone, and prints each step:
 *
 *   RUNNEL_SCHEDULE='hold turns 12=crash 30=approve' build-check/.../test_core_run_engine_...
 *   RUNNEL_SCHEDULE='hold random 4711' ...
 */

/* What happens from outside. "The node" is the one that has the run. */
enum incident {
    INCIDENT_NONE,
    INCIDENT_CRASH,        /* of the node; what it was writing is lost */
    INCIDENT_CRASH_LATE,   /* what it was writing reaches the database later */
    INCIDENT_PAUSE,        /* the node stands still for longer than its lease */
    INCIDENT_NAP,          /* and for less */
    INCIDENT_DRAIN,        /* the node drains */
    INCIDENT_ABANDON,      /* the node ends at once */
    INCIDENT_CANCEL,       /* the client cancels, through the node */
    INCIDENT_CANCEL_AWAY,  /* or through another node */
    INCIDENT_EXPIRE,       /* the run's time is over: it was made with so little */
    INCIDENT_STALL,        /* everything stands still for longer than a lease */
    INCIDENT_HANG_UP,      /* the client does */
    INCIDENT_LEAVE_MIDWAY, /* within the next event */
    INCIDENT_STEER,        /* it has more input */
    INCIDENT_APPROVE,      /* a person decides an approval request */
    INCIDENT_REJECT,
    INCIDENT_GRANT,       /* and one elsewhere grants what plans ask */
    INCIDENT_SUBMIT,      /* the client submits outputs, even if the run waits for none */
    INCIDENT_SUBMIT_AWAY, /* through another node */
    INCIDENT_FOLLOW,      /* one more client follows the run from its first event */
    INCIDENT_FOLLOW_AWAY, /* on another node */
    INCIDENT_FOLLOW_DEAF, /* on either, and reads only now and then */
    INCIDENT_AWAY,        /* the database is away for longer than a lease */
    INCIDENT_BLINK,       /* and for less */
    INCIDENT_LOSE_ANSWER, /* the next write is committed, and the answer gets lost */
    INCIDENT_REFUSE,      /* the database refuses the next write */
    INCIDENT_CALL_FAILS,  /* the next call of the store fails */
    INCIDENT_CALL_LOST,   /* it succeeds, and its answer gets lost */
    INCIDENT_MODEL_FAILS,
    INCIDENT_TOOL_LATE, /* a handler takes too long */
    INCIDENT_RENEW,     /* the keeper of the node renews its leases */
    INCIDENT_COUNT
};
const char *incident_name(enum incident incident);

enum order {
    ORDER_TURNS,        /* the actor that has not acted for longest */
    ORDER_STORE_FIRST,  /* the database is fast */
    ORDER_STORE_LAST,   /* the database is slow */
    ORDER_REPORT_LAST,  /* clients see a commit in the database before the loop knows of it */
    ORDER_CLIENT_FIRST, /* the loop is slow */
    ORDER_TOOLS_FIRST,
    ORDER_MODEL_FIRST,
    ORDER_RANDOM,
    ORDER_COUNT
};
const char *order_name(enum order order);

/* Of one schedule, at most. */
#define SCHEDULE_INCIDENTS 3

struct schedule {
    enum order order;
    uint64_t seed; /* in random order */
    unsigned count;
    struct {
        unsigned step; /* before which it happens */
        enum incident incident;
    } incidents[SCHEDULE_INCIDENTS];
};

/* ---- For the world ---- */

/* Lets the incident happen that is due, or that chance wants. False: none happened. */
bool schedule_inject(void);
/* The actor that acts next. NULL: none is ready, or chance lets time pass. */
struct actor *schedule_choose(void);

/* As RUNNEL_SCHEDULE takes it, cut at `size`. */
void schedule_text(const struct schedule *schedule, char *ret_text, size_t size);
/* RUNNEL_SCHEDULE is set: one schedule is played, and its steps are printed. */
bool schedule_is_shown(void);

/* How much time the run is given: INCIDENT_EXPIRE makes it end before a certain step. */
int64_t schedule_expiry_us(void);

/* ---- For the tests ---- */

/* How many schedules. Under AddressSanitizer a twentieth; with RUNNEL_SCHEDULES=N N times as many; with
 * RUNNEL_SCHEDULES_ONE_IN=N an N-th. */
struct exploration {
    const struct scenario *const *scenarios; /* ends with NULL */
    unsigned orders;  /* in which every incident is tried before every step, of 7; a scenario */
    unsigned pairs;   /* of incidents, a scenario */
    unsigned randoms; /* schedules in random order, a scenario */
    size_t at_least;  /* fewer different schedules in all fail the test */
};

/* Every incident before every step, then pairs of incidents, then chance. Fails the test at the first
 * rule that is broken. */
void explore(const struct exploration *exploration);

/* main() of a test program: explores as one test of cmocka. Returns the exit code. */
int explore_main(const struct exploration *exploration);

#endif
