#ifndef RUNNEL_CORE_RUN_TURN_FACE_H
#define RUNNEL_CORE_RUN_TURN_FACE_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/event/frames.h"

/*
 * face.h -- how a run is shown: one engine, two renderings.
 *
 * The engine tells what happens in its own words, a run_event; the face of the run turns it into
 * the frames of its API, none, one or several. It also shows the run as an object, for answers
 * that are not streams. Both happen on the run's loop, may look at the whole run, and change
 * nothing but the frames.
 *
 * server/encode/face_assistants.c and server/encode/face_responses.c are the two; they are handed in when the
 * engine is made.
 */

struct run;
struct item;
struct step;

enum run_event_kind {
    RUN_EVENT_STATUS, /* the run's status changed, or it was made (run->status tells) */
    RUN_EVENT_STEP_OPENED,
    RUN_EVENT_ITEM_OPENED, /* the item begins, in its in_progress shape */
    RUN_EVENT_PART_OPENED, /* content part `part` of a message, or of reasoning, begins */
    RUN_EVENT_TEXT,        /* delta of an output_text, refusal or reasoning_text part */
    RUN_EVENT_ANNOTATION, /* of an output_text part: `number` is its place, `fields` what it says */
    RUN_EVENT_PART_CLOSED, /* its text is complete */
    RUN_EVENT_ARGUMENTS,   /* delta of a call's arguments (or a custom call's input) */
    RUN_EVENT_ARGUMENTS_DONE,
    RUN_EVENT_STAGE,    /* `name` is the stage of a server-side call, `fields` its extras */
    RUN_EVENT_DELTA,    /* delta of the field `name` of a server-side call ("code", "input") */
    RUN_EVENT_METADATA, /* live title and metadata of a call, in `fields` */
    RUN_EVENT_ITEM_CLOSED, /* complete, or incomplete: item->row.status tells */
    RUN_EVENT_STEP_CLOSED, /* step->row.status tells */
    RUN_EVENT_HELD,    /* it waits for answers with its stream open: `fields` says for which */
    RUN_EVENT_STEERED, /* more input was accepted, as `name`, for the run that comes next */
    RUN_EVENT_KIND_COUNT
};

struct run_event {
    enum run_event_kind kind;
    const struct item *item;
    const struct step *step;
    unsigned part; /* which of the item's parts */
    size_t number;
    const char *text; /* delta; not NUL-terminated */
    size_t length;
    const char *name;
    json_t *fields; /* only to be read */
};

struct face {
    void (*event)(const struct run *run, const struct run_event *event, struct frames *frames);

    /* What a stream ends with after the last event, e.g. "data: [DONE]\n\n". Not numbered or logged. */
    const char *stream_end;

    /* The run as its API shows it. New reference. */
    json_t *(*object)(const struct run *run);

    /* The HTTP status of an answer with that object; NULL: always 200. */
    int (*http_status)(const struct run *run);

    /* Reading its own frames back, after a crash: when `data` is a delta of the item, adds the
     * text it carried. *index starts at -1 and is the face's to remember a call's place in; of
     * reasoning it says, when it is another, that the text was a summary. */
    void (*add_delta)(const json_t *data, const struct item_row *item, json_int_t *index,
                      struct buf *text);
};

#endif
