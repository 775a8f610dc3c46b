#ifndef RUNNEL_CORE_DOMAIN_ITEM_H
#define RUNNEL_CORE_DOMAIN_ITEM_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/domain/rows.h"

/*
 * item.h -- one thing a run produces, while it is being produced.
 *
 * A message, reasoning, a call of the client's or of ours, a list of tools. It opens, grows by
 * deltas, and closes; once closed its row holds everything and nothing changes any more.
 * Lives on its run's loop.
 */

enum part_kind {
    PART_TEXT, /* output_text */
    PART_REFUSAL,
    PART_REASONING, /* reasoning_text */
    PART_SUMMARY,   /* summary_text, of reasoning */
};

struct part {
    enum part_kind kind;
    unsigned index; /* in its list: summaries are one, all others another */
    struct buf text;
    json_t *annotations; /* of output_text; NULL for none */
    json_t *logprobs;    /* the same */
};

/* What steps are made of. */
struct step {
    struct step_row row;
    unsigned calls; /* calls shown in it so far: the index of the next one */
    bool open;
    struct step *next;
};

struct tool_item; /* core/tool/tool_item.h: nothing here looks inside */

struct item {
    struct item_row row; /* row.body is NULL until it closes */
    struct step *step;   /* NULL on faces without steps */
    unsigned step_index; /* of a call: its index in the step's tool_calls */
    int output_index;    /* place in the response's output; -1 for what is not shown */
    bool open;

    struct part *parts; /* of a message or of reasoning */
    unsigned part_count;
    bool part_open; /* the last one */

    char *name;      /* of a call: what the model called */
    char *label;     /* of a server-side call: server_label of its group */
    char *tool_type; /* of a hosted call: the `type` of its tool entry, e.g. "file_search" */
    const struct tool_item
        *look;            /* of a call whose tool says how it looks; constant. NULL: none */
    struct buf arguments; /* of a call: as the model wrote them */
    char *growing_name;   /* a field that comes in pieces ("code"), and what there is of it: */
    struct buf growing;
    char *output;     /* of a server-side call: what the model is told; NULL while it works */
    char *error;      /* of a server-side call that failed: what went wrong */
    json_t *fields;   /* further fields of the body, set by announcements and handlers */
    json_t *metadata; /* live title and metadata */
    json_t *extra;    /* of a call: what its upstream has attached to it, and the name of that
                         upstream: {"upstream", "value"}. No client sees it. NULL: nothing */
};

void item_free(struct item *item);

/* A further field of the body. Takes the value. */
void item_set_field(struct item *item, const char *key, json_t *value);

struct part *item_add_part(struct item *item, enum part_kind kind);
/* Of the last part; takes the annotation, and returns its place. */
size_t item_annotate(struct item *item, json_t *annotation);

/* A note for ourselves in the item's body, that no client sees. */
void item_note(struct item *item, const char *key, const char *text);

/* Another piece of the field `name`. */
void item_grow(struct item *item, const char *name, const char *text, size_t length);
/* What has grown so far becomes the field. */
void item_settle(struct item *item);

/* The body as it is now: all fields of the Responses item but id, type and status. New reference. */
json_t *item_body(const struct item *item);

/* The whole Responses item: {"id","type","status", ...}. New reference. */
json_t *item_object(const struct item *item);

/* Takes out of an item's JSON what we note there for ourselves: that a crash cut it, why it is
 * not complete, how the upstream that made it calls it, and what that wants to have back with it. */
void item_hide_notes(json_t *object);

/* How probable its next tokens were. */
void part_add_logprobs(struct part *part, json_t *tokens);

/* A content part as the Responses API shows it. New reference. */
json_t *part_object(const struct part *part);

/* Closes it: status, completed_at and row.body are set. */
void item_close(struct item *item, enum item_status status);

/* Copies of rows, for the store to keep. The body of an item that is still open is "{}". */
void item_row_copy(struct item_row *ret_copy, const struct item_row *row);
void step_row_copy(struct step_row *ret_copy, const struct step_row *row);
void approval_row_copy(struct approval_row *ret_copy, const struct approval_row *row);
void call_row_copy(struct call_row *ret_copy, const struct call_row *row);

#endif
