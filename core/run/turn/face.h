#ifndef RUNNEL_CORE_RUN_TURN_FACE_H
#define RUNNEL_CORE_RUN_TURN_FACE_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/event/frames.h"
#include "core/event/sink.h"

/*
 * face.h -- how a run is shown: one engine, two renderings.
 *
 * The engine emits what happens as a run_event. The face of the run renders it as frames of its API:
 * none, one or several. It also renders the run as an object, for answers that are not streams. All
 * functions are called on the run's loop. They may read the whole run, and change nothing but the
 * frames.
 *
 * The two faces are server/encode/face_assistants.c and server/encode/face_responses.c. The engine gets
 * them in its options.
 */

struct run;
struct item;
struct step;

enum run_event_kind {
    RUN_EVENT_STATUS, /* the run has a new status, in run->row.status */
    RUN_EVENT_STEP_OPENED,
    RUN_EVENT_ITEM_OPENED, /* the item begins, in its in_progress shape */
    RUN_EVENT_PART_OPENED, /* content part `part` of a message, or of reasoning, begins */
    RUN_EVENT_TEXT,        /* delta of an output_text, refusal or reasoning_text part */
    /* Of an output_text part: `number` is its index, `fields` the annotation. With a mark that was added to the
     * text for it, `text` is the mark. */
    RUN_EVENT_ANNOTATION,
    RUN_EVENT_PART_CLOSED, /* its text is complete */
    RUN_EVENT_ARGUMENTS,   /* delta of a call's arguments (or a custom call's input) */
    RUN_EVENT_ARGUMENTS_DONE,
    RUN_EVENT_STAGE, /* `name` is the stage of a server-side call, `fields` what belongs to it */
    RUN_EVENT_DELTA,    /* delta of the field `name` of a server-side call ("code", "input") */
    RUN_EVENT_METADATA, /* live title and metadata of a call, in `fields` */
    RUN_EVENT_ITEM_CLOSED, /* complete or not: see item->row.status */
    RUN_EVENT_STEP_CLOSED, /* see step->row.status */
    RUN_EVENT_HELD,    /* it waits for approvals with its stream open: `fields` lists them */
    RUN_EVENT_STEERED, /* input for the next run was accepted under the id `name` */
    RUN_EVENT_KIND_COUNT
};

/* Borrowed. Members that a kind does not need are zero. */
struct run_event {
    enum run_event_kind kind;
    const struct item *item;
    const struct step *step;
    unsigned part; /* index of the item's part */
    size_t number;
    const char *text; /* delta; not NUL-terminated */
    size_t length;
    const char *name;
    json_t *fields; /* read only */
};

struct face {
    /* Appends the frames of the event. */
    void (*event)(const struct run *run, const struct run_event *event, struct frames *frames);

    /* What a stream ends with after the last event, such as "data: [DONE]\n\n". It has no number and is
     * not logged. NULL: nothing. */
    const char *stream_end;

    /* The run as its API shows it. New reference. */
    json_t *(*object)(const struct run *run);

    /* The answer for a client that has waited for the end: that object, or an error. The caller takes the
     * object. The pointer may be NULL: always the object. */
    void (*answer)(const struct run *run, struct sink_answer *ret_answer);

    /* Reads its own frames back after a crash. If `data` is an event of the item, whose row is set, adds
     * what it has brought: parts and their text, or text of a call. *index starts at -1, and keeps what
     * the face has to remember from frame to frame: the place of a call. */
    void (*read_back)(const json_t *data, struct item *item, json_int_t *index);
};

#endif
