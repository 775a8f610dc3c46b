#ifndef RUNNEL_CORE_TOOL_PICTURE_TOOL_PICTURE_H
#define RUNNEL_CORE_TOOL_PICTURE_TOOL_PICTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/ids.h"

/*
 * tool_picture.h -- pictures that a call has drawn by the server's image model.
 *
 * For handlers with TOOL_DRAWS. On the worker of the call, which waits for the model: such calls have workers of their
 * own. The text of an error is for the model that called.
 */

struct tool_call;

struct tool_drawing {
    const char *prompt;
    const json_t *
        members; /* of the request to the image model, as they are: size, quality ... An object */
    unsigned previews; /* 0 to 3 */
    bool edit;         /* begins with the pictures of the context */
    const json_t
        *mask; /* where the first of them may change: {"file_id"} or {"image_url"}; or NULL */
    /* A preview: {"b64_json", and what else the image model said}. What it returns ends the drawing */
    enum err_code (*preview)(struct tool_call *call, const json_t *event);
};

/* Owned: tool_drawn_clear(). */
struct tool_drawn {
    char *base64; /* the picture; NULL if it is kept as a file */
    char *type;   /* "image/png" and so on, by its bytes */
    char
        *file_id; /* in a thread's run: the file of the project that it has become; else NULL */
    char blob_id[ID_SIZE]; /* in a stored response: where it lies, beside `base64`; else "" */
    size_t bytes;          /* of the picture */
    json_t *facts; /* what the image model said of it: revised_prompt, size, quality ... */
    json_t *error; /* of a failure: {"code", "message", "param", "type"}; or NULL */
};
void tool_drawn_clear(struct tool_drawn *drawn);

/* ERR_INVALID: this server draws nothing, there is no picture to edit, or the image model refuses the order.
 * ERR_LIMIT: the run has drawn as many pictures as it may, or the image model has too much to do. ERR_TOO_LARGE: a
 * picture has more bytes than it may. ERR_TIMEOUT, ERR_UPSTREAM, ERR_CANCELLED. After an error *ret_drawn has at most
 * `error`, and is cleared, too. */
enum err_code tool_call_draw(struct tool_call *call, const struct tool_drawing *drawing,
                             struct tool_drawn *ret_drawn, struct err *err) MUST_CHECK;

/* ---- For the server, which draws ---- */

/* The newest picture that was drawn in the context, and all that its user has sent since; without one, those of the
 * newest message that has any. A list of {"file_id"}, {"blob_id"}, {"image_url"} or {"base64"}, the oldest first. Empty
 * for a call that edits nothing (tool_item.h, edits). Borrowed; never NULL. */
const json_t *tool_call_pictures(const struct tool_call *call);

/* How many pictures the run has asked for, with this one. */
unsigned tool_call_drawn(const struct tool_call *call);

/* What tool_call_draw() calls. Any worker, several at a time. */
struct tool_painter {
    enum err_code (*draw)(void *arg, struct tool_call *call, const struct tool_drawing *drawing,
                          struct tool_drawn *ret_drawn, struct err *err);
    void *arg;
};

#endif
