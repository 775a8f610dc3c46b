#ifndef RUNNEL_CORE_RUN_TURN_RUN_ITEMS_H
#define RUNNEL_CORE_RUN_TURN_RUN_ITEMS_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/item.h"
#include "core/run/turn/face.h"

/*
 * run_items.h -- the items and steps that a run makes, while they are made. On the run's loop.
 *
 * At most one item is open at a time, and at most one step. Close the open item before you open another;
 * a step is closed by itself when another one opens. Only the step of calls that the model still makes
 * waits while a message opens: one turn has one step of calls. Each function emits what it does, and puts rows for
 * the next write. Items and steps belong to the run and are freed with it.
 */

struct run;

struct run_items {
    struct item **list; /* in order of opening */
    size_t count;
    int shown;          /* items that the response shows so far, of all residencies */
    struct item *open;  /* or NULL */
    struct step *steps; /* newest first */
    struct step *step;  /* the open one, or NULL */
    /* Open too: calls of the turn, while the model writes a message among them. NULL: none */
    struct step *waiting;
};

/* The open step, if it is of this type and may take more; otherwise a new one. NULL for a response. */
struct step *run_open_step(struct run *run, enum step_type type);
/* Nothing happens if no step is open. If another one waits, it is the open one again. */
void run_close_step(struct run *run, enum step_status status);
/* The run ends: no step is open any more. */
void run_close_steps(struct run *run, enum step_status status);

/* A new item of that type, not emitted yet: run_open_item() or run_store_silently() comes next. */
struct item *run_new_item(struct run *run, enum item_type type);
/* Stores a new item without ever emitting it: of a hidden tool, or an output that the client sent. */
void run_store_silently(struct run *run, struct item *item, enum item_status status);
/* Emits a new item: from here on it is the open one. No other may be open. */
void run_open_item(struct run *run, struct item *item);

/* Of the open item. A new part closes the last one; text goes into the last part. */
void run_open_part(struct run *run, enum part_kind kind);
/* A part that shows a picture: a file of the project. Only in a message of a thread. */
void run_add_picture(struct run *run, const char *file_id);
/* UTF-8, copied. It takes the log probabilities that wait in run->turn. */
void run_add_text(struct run *run, const char *text, size_t length);
/* Of the open part; takes the annotation. */
void run_annotate(struct run *run, json_t *annotation);
/* The same, of text that comes with it: the mark of a citation, which is added to the part. */
void run_add_mark(struct run *run, const char *mark, json_t *annotation);
/* Nothing happens if no part is open. */
void run_close_part(struct run *run);
/* Nothing happens if no item is open. */
void run_close_item(struct run *run, enum item_status status);

/* Puts the open item of a resumable run as it is now. Call it when all of its parts have ended. If a
 * crash follows and the log has no more text than this row, the next owner completes the item; otherwise
 * the item was cut. */
void run_store_open_item(struct run *run);

/* Whether an item of the history was made by this run, in an earlier residency: it is not input. */
bool run_has_made(const struct run *run, const struct item_row *past);
/* The item as the client of this run sees it. New reference. */
json_t *run_item_object(const struct run *run, const struct item *item);
/* All items that the response shows, as JSON. New reference. */
json_t *run_output(const struct run *run);
/* The items of the step, oldest first. The caller frees the array; the rows stay the run's. */
const struct item_row **run_step_items(const struct run *run, const struct step *step,
                                       size_t *ret_count);

#endif
