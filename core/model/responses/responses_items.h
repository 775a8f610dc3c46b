#ifndef RUNNEL_CORE_MODEL_RESPONSES_RESPONSES_ITEMS_H
#define RUNNEL_CORE_MODEL_RESPONSES_RESPONSES_ITEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * responses_items.h -- how far a Responses answer was told: what responses_answer.c remembers.
 *
 * Items leave here one after another. One that begins while another is open is not followed
 * piece by piece, but told as a whole when it is done and the other has ended.
 */

enum responses_kind {
    RESPONSES_MESSAGE,
    RESPONSES_REASONING,
    RESPONSES_FUNCTION_CALL,
    RESPONSES_CUSTOM_CALL,
    RESPONSES_OTHER, /* not ours to show */
};

enum responses_list { /* of an item: where its parts stand */
                      RESPONSES_CONTENT,
                      RESPONSES_SUMMARY,
                      RESPONSES_LIST_COUNT
};

struct responses_items { /* zeroed: nothing yet */
    bool open;
    enum responses_kind kind;           /* of the open item */
    json_int_t index;                   /* its output_index */
    size_t parts[RESPONSES_LIST_COUNT]; /* of it, that something was told of */
    size_t emitted;                     /* bytes of the last of them, or of the arguments */
    size_t annotations;                 /* of the last part */
    unsigned calls;                     /* so far */
    json_t *begun;  /* output_index of every item that was told of, as keys; NULL for none */
    json_t *ids;    /* call ids that were told, as keys */
    json_t *late;   /* whole items that wait */
    uint16_t split; /* of the arguments, held back: see chat_split_char.h */
    struct buf escaped; /* a piece of a custom call's input */
};

#endif
