#ifndef RUNNEL_CORE_TOOL_SEATS_H
#define RUNNEL_CORE_TOOL_SEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * seats.h -- which calls may be in the box of their container, and which wait for it.
 *
 * So many calls of a container may be in its box side by side. Its Python is for one call at a time. A call that must
 * wait stands in the line of its container and holds no worker meanwhile. First come, first served. A call that waits
 * for the Python keeps back no command that does not need it.
 *
 * A seat is in the caller's struct from seats_ask() to seats_give(). Each function costs O(1), but for
 * seats_take_waiting(). The end of one seat lets one call in, so a change of `at_once` counts for containers that no
 * call has.
 *
 * One thread at a time; the caller has a lock.
 */

/* Calls that wait for one container. */
#define SEATS_LINE_LIMIT 256

#define SEATS_BUCKETS 256

struct seat_place;

enum seat_use {
    SEAT_COMMAND, /* side by side with others */
    SEAT_PYTHON,  /* alone with the Python */
    SEAT_USES,
};

/* Starts as zeros, but for `use`. */
struct seat {
    enum seat_use use;
    struct seat_place *place; /* of its container; NULL: it neither has nor awaits a seat */
    bool has;
    uint64_t number;   /* in the order of asking */
    struct seat *next; /* in its line, and in what is returned */
};

/* Starts as zeros. */
struct seats {
    struct seat_place *places[SEATS_BUCKETS]; /* by container */
    uint64_t asked;
};

enum seat_answer {
    SEAT_TAKEN,   /* it has its seat */
    SEAT_WAITS,   /* seats_give() of another one will return it */
    SEAT_REFUSED, /* SEATS_LINE_LIMIT calls wait already */
};

/* May the call be in the box now? It does not wait for it. */
bool seats_try(struct seats *seats, struct seat *seat, const char *container, unsigned at_once);

/* Takes the seat, or waits in the line. `at_once` is the most calls of the container, at least 1. */
enum seat_answer seats_ask(struct seats *seats, struct seat *seat, const char *container,
                           unsigned at_once);

/* The call has left the box. Returns the seat that was next and has it now, or NULL. One without a place is
 * fine. */
struct seat *seats_give(struct seats *seats, struct seat *seat);

/* All that wait leave their lines, as one list. */
struct seat *seats_take_waiting(struct seats *seats);

#endif
