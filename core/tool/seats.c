#include "core/tool/seats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"

/*
 * seats.c -- a place for each container that calls have or wait for.
 *
 * It has a line for each use, so that the head of one is all that must be looked at.
 */

struct line {
    struct seat *first;
    struct seat **last;
};

struct seat_place {
    struct seat_place *next; /* in its bucket */
    char *container;
    unsigned at_once; /* constant */
    unsigned calls;   /* that have a seat */
    bool python_taken;
    struct line lines[SEAT_USES];
    size_t waiting;
};

/* ---- Places ---- */

static struct seat_place **find(struct seats *seats, const char *container)
{
    struct seat_place **at = &seats->places[hash_text(container) % SEATS_BUCKETS];

    while (*at && strcmp((*at)->container, container) != 0)
        at = &(*at)->next;
    return at;
}

static struct seat_place *place_of(struct seats *seats, const char *container, unsigned at_once)
{
    struct seat_place **at = find(seats, container);
    struct seat_place *place = *at;

    if (place)
        return place;
    place = *at = mem_new(struct seat_place);
    place->container = mem_strdup(container);
    place->at_once = at_once;
    for (size_t i = 0; i < SEAT_USES; i++)
        place->lines[i].last = &place->lines[i].first;
    return place;
}

static void drop_if_unused(struct seats *seats, const struct seat_place *place)
{
    struct seat_place **at = find(seats, place->container);
    struct seat_place *unused = *at;

    if (unused->calls || unused->waiting)
        return;
    *at = unused->next;
    free(unused->container);
    free(unused);
}

/* ---- Turns ---- */

static bool may_enter(const struct seat_place *place, enum seat_use use)
{
    return place->calls < place->at_once && !(use == SEAT_PYTHON && place->python_taken);
}

static void enter(struct seat_place *place, struct seat *seat)
{
    place->calls++;
    if (seat->use == SEAT_PYTHON)
        place->python_taken = true;
    seat->place = place;
    seat->has = true;
}

static void line_append(struct seat_place *place, struct seat *seat)
{
    struct line *line = &place->lines[seat->use];

    seat->place = place;
    seat->next = NULL;
    *line->last = seat;
    line->last = &seat->next;
    place->waiting++;
}

static struct seat *line_pop(struct seat_place *place, enum seat_use use)
{
    struct line *line = &place->lines[use];
    struct seat *seat = line->first;

    line->first = seat->next;
    if (!line->first)
        line->last = &line->first;
    seat->next = NULL;
    place->waiting--;
    return seat;
}

/* The call that has waited longest of those that may enter. */
static struct seat *let_in(struct seat_place *place)
{
    struct seat *first = NULL;

    for (enum seat_use use = 0; use < SEAT_USES; use++) {
        struct seat *head = place->lines[use].first;

        if (head && may_enter(place, use) && (!first || head->number < first->number))
            first = head;
    }
    if (!first)
        return NULL;
    (void)line_pop(place, first->use);
    enter(place, first);
    return first;
}

/* ---- Entry points ---- */

bool seats_try(struct seats *seats, struct seat *seat, const char *container, unsigned at_once)
{
    struct seat_place *place = place_of(seats, container, at_once);

    assert(at_once && !seat->place);
    if (place->lines[seat->use].first || !may_enter(place, seat->use))
        return false;
    enter(place, seat);
    return true;
}

enum seat_answer seats_ask(struct seats *seats, struct seat *seat, const char *container,
                           unsigned at_once)
{
    struct seat_place *place;

    if (seats_try(seats, seat, container, at_once))
        return SEAT_TAKEN;
    place = *find(seats, container);
    if (place->waiting >= SEATS_LINE_LIMIT)
        return SEAT_REFUSED;
    seat->number = seats->asked++;
    line_append(place, seat);
    return SEAT_WAITS;
}

struct seat *seats_give(struct seats *seats, struct seat *seat)
{
    struct seat_place *place = seat->place;
    struct seat *next;

    if (!place)
        return NULL;
    assert(seat->has);
    place->calls--;
    if (seat->use == SEAT_PYTHON)
        place->python_taken = false;
    seat->place = NULL;
    seat->has = false;
    next = let_in(place);
    drop_if_unused(seats, place);
    return next;
}

struct seat *seats_take_waiting(struct seats *seats)
{
    struct seat *list = NULL;

    for (size_t i = 0; i < SEATS_BUCKETS; i++)
        for (struct seat_place *place = seats->places[i]; place; place = place->next)
            for (enum seat_use use = 0; use < SEAT_USES; use++)
                while (place->lines[use].first) {
                    struct seat *seat = line_pop(place, use);

                    seat->place = NULL;
                    seat->next = list;
                    list = seat;
                }
    return list;
}
