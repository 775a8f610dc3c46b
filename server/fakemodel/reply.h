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
 * Pure: no clock but for the `created` of an answer, no socket, no waiting. The HTTP side asks
 * for the next piece, waits as long as it is told, sends it, and asks again:
 *
 *     struct prompt prompt;
 *     prompt_init(&prompt, PROMPT_CHAT, body, headers, number);
 *     rule = script_pick(script, &prompt);
 *     reply = reply_new(&rule->answer, &prompt);
 *     while (reply_next(reply, &bytes, &wait_ms) == REPLY_PIECE) ...
 */

struct reply;

enum reply_part {
    REPLY_PIECE, /* send it */
    REPLY_END,   /* nothing more: the answer is complete */
    REPLY_CUT,   /* break the connection */
    REPLY_STALL, /* say nothing more until the client leaves */
};

/* Borrows the answer; keeps nothing of the prompt. */
struct reply *reply_new(const struct script_answer *answer, const struct prompt *prompt);
/* An answer that no rule gave: OpenAI's error envelope. */
struct reply *reply_new_error(int status, const char *code, const char *message);
void reply_free(struct reply *reply);

/* What happens before anything is sent: REPLY_PIECE for an answer, or a cut or stall at once. */
enum reply_part reply_start(const struct reply *reply);
int reply_status(const struct reply *reply);
const char *reply_content_type(const struct reply *reply);
/* Seconds for Retry-After; below 0 for no such header. */
int reply_retry_after(const struct reply *reply);
/* All the bytes, for a JSON answer, which needs a Content-Length; 0 for a stream. */
size_t reply_length(const struct reply *reply);
int reply_delay_ms(const struct reply *reply);

/* Adds the next bytes to `out`, and says how long to wait before they are sent. */
enum reply_part reply_next(struct reply *reply, struct buf *out, int *ret_wait_ms);

#endif
