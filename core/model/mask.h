#ifndef RUNNEL_CORE_MODEL_MASK_H
#define RUNNEL_CORE_MODEL_MASK_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * mask.h -- replaces what a model must not see in the messages that it is sent.
 *
 * A mask is a regular expression and a literal replacement for its matches. Masks are applied one
 * after another to every text of every message, and to every text in the arguments of calls. Names,
 * ids, roles, addresses, the bytes of pictures and files, and data that another server has sealed or
 * attached to a call are left alone: changing them would break the request.
 *
 * When masking costs too much, the request fails: text that could not be checked is not sent.
 *
 * Fixed once made: any thread, several at once.
 */

#define MASK_LIMIT             64  /* masks of a server */
#define MASK_REPLACEMENT_LIMIT 200 /* bytes */
#define MASK_DEFAULT           "[masked]"
/* For all messages of one request: bytes by which they may grow, and processor time. */
#define MASK_GROWTH_LIMIT  ((size_t)16 << 20)
#define MASK_TIME_LIMIT_MS 10000
/* For one text and one mask (regex.h). Large, because a long text without blanks is legitimate. */
#define MASK_STEP_LIMIT ((size_t)100000000)

struct masks;

/* `list` is [{"pattern", "replacement", "flags"}]; flags are letters of "ims" (regex.h).
 * ERR_INVALID says which is wrong: "[1].pattern: ...". */
enum err_code masks_new(const json_t *list, struct masks **ret_masks,
                        struct err *err) MUST_CHECK;
void masks_free(struct masks *masks); /* NULL is fine */

/* Changes `messages`, an array of Chat Completions messages. On failure some of them have changed. */
enum err_code masks_apply(const struct masks *masks, json_t *messages,
                          struct err *err) MUST_CHECK;

#endif
