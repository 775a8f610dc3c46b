#ifndef RUNNEL_CORE_MODEL_RESPONSES_RESPONSES_ITEMS_H
#define RUNNEL_CORE_MODEL_RESPONSES_RESPONSES_ITEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * responses_items.h -- what was emitted of a Responses answer so far: the state of responses_answer.c.
 *
 * Items are emitted one after another. An item that begins while another is open is not followed
 * piece by piece. It is emitted as a whole when it is complete and the other has ended.
 */

enum responses_kind {
    RESPONSES_MESSAGE,
    RESPONSES_REASONING,
    RESPONSES_FUNCTION_CALL,
    RESPONSES_CUSTOM_CALL,
    RESPONSES_HOSTED_CALL, /* of any other type that ends with "_call": the upstream has executed it */
    RESPONSES_OTHER, /* ignored */
};

enum responses_list { /* of an item: the list with its parts */
                      RESPONSES_CONTENT,
                      RESPONSES_SUMMARY,
                      RESPONSES_LIST_COUNT
};

struct responses_items { /* zeroed: nothing was emitted */
    bool open;
    enum responses_kind kind;           /* of the open item */
    json_int_t index;                   /* its output_index */
    size_t parts[RESPONSES_LIST_COUNT]; /* of which something was emitted */
    size_t emitted;                     /* bytes of the last part, or of the arguments */
    size_t annotations;                 /* of the last part */
    unsigned calls;                     /* so far */
    unsigned hosted_calls;              /* so far */
    json_t *begun;        /* output_index of every item that has begun, as keys; or NULL */
    json_t *ids;          /* emitted call ids, as keys; or NULL */
    json_t *late;         /* whole items that wait */
    uint16_t split;       /* in the arguments: see chat_split_char.h */
    struct buf escaped;   /* a piece of a custom call's input */
    char hosted_type[64]; /* of the open hosted call */
    size_t hosted_size;   /* bytes of all hosted calls so far */
};

#endif
