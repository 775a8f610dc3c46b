#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCHEDULE_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * schedule.h -- who acts when, and what happens from outside.
 *
 * A schedule is an order, which says who of those that are ready acts next, and up to two incidents,
 * each before a certain step. In random order chance decides both. The same schedule always plays the
 * same way; its text is printed when a rule is broken, and plays it again, told step by step:
 *
 *   RUNNEL_SCHEDULE='hold turns 12=crash 30=approve' build-check/.../test_core_run_engine_...
 *   RUNNEL_SCHEDULE='hold random 4711' ...
 */

/* What happens from outside. */
enum incident {
    INCIDENT_NONE,
    INCIDENT_CRASH,        /* of the node that has the run; what it was writing is lost */
    INCIDENT_CRASH_LATE,   /* what it was writing reaches the database later */
    INCIDENT_PAUSE,        /* it stands still for longer than its lease */
    INCIDENT_NAP,          /* and for less */
    INCIDENT_DRAIN,        /* it is to end when its runs have */
    INCIDENT_ABANDON,      /* it is to end now */
    INCIDENT_CANCEL,       /* the client cancels, by way of the node that has the run */
    INCIDENT_CANCEL_AWAY,  /* or of another */
    INCIDENT_EXPIRE,       /* the run's time is over: it was made with so little */
    INCIDENT_STALL,        /* everything stands still for longer than a lease */
    INCIDENT_HANG_UP,      /* the client does */
    INCIDENT_LEAVE_MIDWAY, /* in the middle of the next event */
    INCIDENT_STEER,        /* it has more to say */
    INCIDENT_APPROVE,      /* a person answers a question */
    INCIDENT_REJECT,
    INCIDENT_SUBMIT,      /* the client sends outputs, whether or not they are wanted */
    INCIDENT_SUBMIT_AWAY, /* by way of another node */
    INCIDENT_FOLLOW,      /* somebody else follows the run from its first event */
    INCIDENT_FOLLOW_AWAY, /* on another node */
    INCIDENT_AWAY,        /* the database is away for longer than a lease */
    INCIDENT_BLINK,       /* and for less */
    INCIDENT_LOSE_ANSWER, /* the next write is committed, and its writer does not hear of it */
    INCIDENT_REFUSE,      /* the database refuses the next write */
    INCIDENT_CALL_FAILS,  /* the next call of the store fails */
    INCIDENT_CALL_LOST,   /* it succeeds, and its answer gets lost */
    INCIDENT_MODEL_FAILS,
    INCIDENT_TOOL_LATE, /* a handler takes too long */
    INCIDENT_COUNT
};
const char *incident_name(enum incident incident);

enum order {
    ORDER_TURNS,        /* in turns: whoever has not acted for longest */
    ORDER_STORE_FIRST,  /* the database is fast */
    ORDER_STORE_LAST,   /* the database is slow */
    ORDER_REPORT_LAST,  /* the client sees in the database what the loop does not know yet */
    ORDER_CLIENT_FIRST, /* the loop is slow */
    ORDER_TOOLS_FIRST,
    ORDER_MODEL_FIRST,
    ORDER_RANDOM,
    ORDER_COUNT
};
const char *order_name(enum order order);

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

/* An incident is due, or chance wants one: it has happened. */
bool schedule_inject(void);
/* Who acts next; NULL: nobody can, or chance lets time pass. */
struct actor *schedule_choose(void);

void schedule_text(const struct schedule *schedule, char *ret_text, size_t size);
/* One is looked at, step by step. */
bool schedule_is_shown(void);

/* How much time the run is given. */
int64_t schedule_expiry_us(void);

/* ---- For the tests ---- */

/* How much of it. A twentieth under sanitizers, and RUNNEL_SCHEDULES times as much where that is set. */
struct exploration {
    const struct scenario *const *scenarios; /* ends with NULL */
    unsigned
        orders;     /* in so many every incident is tried before every step, of each scenario */
    unsigned pairs; /* of incidents, of each scenario */
    unsigned randoms; /* schedules in random order, of each scenario */
    size_t at_least;  /* different schedules altogether */
};

/* Every incident before every step, then pairs of incidents, then chance. Fails the test at the first
 * rule that is broken. */
void explore(const struct exploration *exploration);

/* main() of a test program: explores, and says the result as cmocka does. */
int explore_main(const struct exploration *exploration);

#endif
