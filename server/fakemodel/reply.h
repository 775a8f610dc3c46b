#ifndef RUNNEL_SERVER_FAKEMODEL_REPLY_H
#define RUNNEL_SERVER_FAKEMODEL_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/script.h"

/*
 * fakemodel/reply.h -- from a prompt and a rule to the bytes of the answer, one piece at a time.
 *
 * Pure: no socket and no waiting, and the clock only for the `created` of an answer. The caller takes
 * the next piece, waits for as many milliseconds as that says, sends it, and takes the next:
 *
 *     struct prompt prompt;
 *     prompt_init(&prompt, PROMPT_CHAT, body, headers, number);
 *     rule = script_pick(script, &prompt);
 *     reply = reply_new(&rule->answer, &prompt);
 *     while (reply_next(reply, &bytes, &wait_ms) == REPLY_PIECE) ...
 */

struct reply;

enum reply_part {
    REPLY_PIECE, /* there are bytes to send */
    REPLY_END,   /* the answer is complete */
    REPLY_CUT,   /* break the connection */
    REPLY_STALL, /* send nothing more, and wait until the client leaves */
};

/* Borrows the answer until reply_free(). Keeps no pointer into the prompt. */
struct reply *reply_new(const struct script_answer *answer, const struct prompt *prompt);
/* An error of the server itself, in OpenAI's envelope. */
struct reply *reply_new_error(int status, const char *code, const char *message);
void reply_free(struct reply *reply);

/* What to do before the head is sent: REPLY_PIECE to send an answer, REPLY_CUT or REPLY_STALL to send
 * none. */
enum reply_part reply_start(const struct reply *reply);
int reply_status(const struct reply *reply);
const char *reply_content_type(const struct reply *reply);
/* Seconds for Retry-After; negative for no such header. */
int reply_retry_after(const struct reply *reply);
/* The Content-Length of an answer that is not a stream; 0 for a stream. */
size_t reply_length(const struct reply *reply);
/* Milliseconds to wait before the head is sent. */
int reply_delay_ms(const struct reply *reply);

/* Adds the next bytes to `out`. *ret_wait_ms is how many milliseconds to wait before they are sent. After
 * any other result than REPLY_PIECE nothing follows. */
enum reply_part reply_next(struct reply *reply, struct buf *out, int *ret_wait_ms);

#endif
