#ifndef RUNNEL_CORE_DOMAIN_ITEM_H
#define RUNNEL_CORE_DOMAIN_ITEM_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/domain/rows.h"

/*
 * item.h -- one item of a run while it is being made.
 *
 * A message, reasoning, a client call or a server-side call, a list of tools. It opens, grows by deltas, and
 * closes. When it is closed, its row has everything, and nothing changes any more. It belongs to its run,
 * and only the loop of that run touches it.
 */

enum part_kind {
    PART_TEXT, /* output_text */
    PART_REFUSAL,
    PART_REASONING, /* reasoning_text */
    PART_SUMMARY,   /* summary_text, of reasoning */
    PART_PICTURE,   /* input_image: `text` is the id of its file; only in messages of threads */
};

struct part {
    enum part_kind kind;
    unsigned index; /* in its list: summaries are one list, all other parts another */
    struct buf text;
    json_t *annotations; /* of output_text; or NULL */
    json_t *logprobs;    /* the same */
};

/* A run step while its items are being made. */
struct step {
    struct step_row row;
    unsigned calls; /* calls in it so far: the index of the next one */
    bool open;
    struct step *next;
};

struct tool_item; /* core/tool/tool_item.h; opaque here */

struct item {
    struct item_row row; /* row.body is NULL until it closes */
    struct step *step;   /* NULL on a face without steps */
    unsigned step_index; /* of a call: its index in the step's tool_calls */
    int output_index;    /* place in the response's output; -1: not shown */
    bool open;

    struct part *parts; /* of a message or of reasoning */
    unsigned part_count;
    bool part_open; /* the last one */

    char *name;      /* of a call: the name by which the model called the tool */
    char *label;     /* of a server-side call: server_label of its group */
    char *tool_type; /* of a hosted call: the `type` of its tool entry, e.g. "file_search" */
    /* Of a call whose tool has an item of its own; constant; or NULL */
    const struct tool_item *look;
    struct buf arguments; /* of a call: as the model wrote them */
    char *growing_name;   /* a field that comes in pieces ("code"); or NULL */
    struct buf growing;   /* the pieces so far */
    char *output;         /* of a server-side call: what the model reads; NULL while it works */
    char *error;          /* of a failed server-side call: the reason */
    json_t *fields;       /* further fields of the body, set by announcements and handlers */
    /* One of them that is shown and not stored, as its bytes lie in a blob; constant; or NULL */
    const char *kept_field;
    json_t *metadata; /* live title and metadata */
    /* Of a call: what its upstream has attached to it, {"upstream", "value"}. It goes back to
     * that upstream with the call; clients do not see it. Or NULL */
    json_t *extra;
};

void item_free(struct item *item);

/* Sets a further field of the body. Takes the value. */
void item_set_field(struct item *item, const char *key, json_t *value);

/* Opens a new part. Borrowed until the next part is added. */
struct part *item_add_part(struct item *item, enum part_kind kind);
/* Adds an annotation to the last part, and returns its index. Takes the annotation. */
size_t item_annotate(struct item *item, json_t *annotation);

/* The field is a picture that lies in a blob: the row has null, and the blob's id as a note. `field` is constant. */
void item_keep_picture(struct item *item, const char *field, const char *blob_id);

/* The blob of the picture of an item with this body; NULL: it has none. Borrowed. */
const char *item_picture(const json_t *body);

/* Sets picture_id of a row that is a copy of another, before it is stored. */
void item_row_find_picture(struct item_row *row);

/* Sets a note in the item's body (notes.h). */
void item_note(struct item *item, const char *key, const char *text);

/* Adds a piece to the field `name`. */
void item_grow(struct item *item, const char *name, const char *text, size_t length);
/* Makes the field of the pieces so far. */
void item_settle(struct item *item);

/* The present body: all fields of the Responses item except id, type and status. New reference. */
json_t *item_body(const struct item *item);

/* The whole Responses item: {"id","type","status", ...}. New reference. */
json_t *item_object(const struct item *item);

/* The status that clients see, where the item's type has not all of them. An output that can only be completed or
 * failed, or incomplete, is completed while it is open, as OpenAI shows outputs of its own tools when they open. */
enum item_status item_shown_status(const struct item_row *row);
/* The same by what the item's body says, too: OpenAI shows a function's call that a program has made as in progress. */
enum item_status item_body_status(const struct item_row *row, const json_t *body);

/* The container in which a hosted call has run, by the body of its item or of its output's; "" without one.
 * Borrowed. */
const char *item_container(const json_t *body);

/* Removes from an item's JSON the notes that clients must not see: that a crash cut it, why it is not
 * complete, which upstream made it, its id there, and what that upstream wants back with it. */
void item_hide_notes(json_t *object);

/* Adds the log probabilities of its next tokens, an array. Borrowed. */
void part_add_logprobs(struct part *part, json_t *tokens);

/* A content part as the Responses API shows it. New reference. */
json_t *part_object(const struct part *part);
/* The kind of such an object, from its `type`. PART_TEXT if no other has it. */
enum part_kind part_kind_of(const json_t *object);

/* Closes it: status, completed_at and row.body are set. */
void item_close(struct item *item, enum item_status status);

/* Whether the item was cut (core/domain/notes.h). Parses the body. */
bool item_row_is_cut(const struct item_row *row);

/* Deep copies of rows. The body of an item that is still open is "{}". The caller clears the copy. */
void item_row_copy(struct item_row *ret_copy, const struct item_row *row);
void step_row_copy(struct step_row *ret_copy, const struct step_row *row);
void approval_row_copy(struct approval_row *ret_copy, const struct approval_row *row);
void call_row_copy(struct call_row *ret_copy, const struct call_row *row);

#endif
