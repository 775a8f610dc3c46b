#ifndef RUNNEL_CORE_RUN_TURN_RUN_ITEMS_H
#define RUNNEL_CORE_RUN_TURN_RUN_ITEMS_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/item.h"
#include "core/run/turn/face.h"

/*
 * run_items.h -- the items and steps that a run makes, while they are made. On the run's loop.
 *
 * At most one item is open at a time, and at most one step: what comes next closes it first.
 */

struct run;

struct run_items {
    struct item **list; /* in order of opening */
    size_t count;
    int shown;          /* items that the response shows so far */
    struct item *open;  /* or NULL */
    struct step *steps; /* newest first */
    struct step *step;  /* the open one, or NULL */
};

struct step *run_open_step(struct run *run, enum step_type type);
void run_close_step(struct run *run, enum step_status status);

/* A new item of that type, not told yet. Silent items are kept in the store and never told: those
 * of hidden tools, and outputs that the client gave. */
struct item *run_new_item(struct run *run, enum item_type type);
void run_store_silently(struct run *run, struct item *item, enum item_status status);
/* Tells it: from here on it is the open one. */
void run_open_item(struct run *run, struct item *item);
void run_open_part(struct run *run, enum part_kind kind);
void run_add_text(struct run *run, const char *text, size_t length);
/* Of the open part; takes the annotation. */
void run_annotate(struct run *run, json_t *annotation);
void run_close_part(struct run *run);
void run_close_item(struct run *run, enum item_status status);
/* What there is of the open item, for whoever finds it after a crash: all parts of it have ended. */
void run_store_open_item(struct run *run);

/* Of the history: it has made this in an earlier stay, and was not given it. */
bool run_has_made(const struct run *run, const struct item_row *past);
/* The run's items that its response shows, as JSON. New reference. */
json_t *run_output(const struct run *run);
/* The items that carry a step's id, oldest first; the caller frees the array only. */
const struct item_row **run_step_items(const struct run *run, const struct step *step,
                                       size_t *ret_count);

#endif
