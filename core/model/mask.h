#ifndef RUNNEL_CORE_MODEL_MASK_H
#define RUNNEL_CORE_MODEL_MASK_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * mask.h -- what a model must not be told, taken out of the messages that it is sent.
 *
 * A mask is a regular expression and what stands in the place of its matches, word for word. Masks
 * are applied one after another to every text of every message, and to every text in the arguments
 * of calls. Left alone are names, ids, roles, addresses, the bytes of pictures and files, and what
 * another server has sealed or attached to a call: they are what a request is made of, and not what
 * it says.
 *
 * A mask that costs too much fails the request: what could not be looked through is not sent.
 *
 * Fixed once made: any thread, several at once.
 */

#define MASK_LIMIT             64  /* masks of a server */
#define MASK_REPLACEMENT_LIMIT 200 /* bytes */
#define MASK_DEFAULT           "[masked]"
/* Of the messages of one request together: bytes that they may grow by, and processor time. */
#define MASK_GROWTH_LIMIT  ((size_t)16 << 20)
#define MASK_TIME_LIMIT_MS 10000
/* Of one text and one mask (regex.h): much, because a long word without an end is no fault of its
 * user's. */
#define MASK_STEP_LIMIT ((size_t)100000000)

struct masks;

/* `list` is [{"pattern", "replacement", "flags"}]; flags are letters of "ims" (regex.h).
 * ERR_INVALID says which is wrong: "[1].pattern: ...". */
enum err_code masks_new(const json_t *list, struct masks **ret_masks,
                        struct err *err) MUST_CHECK;
void masks_free(struct masks *masks); /* NULL is fine */

/* Changes `messages`, an array of Chat Completions messages. On failure they are half changed. */
enum err_code masks_apply(const struct masks *masks, json_t *messages,
                          struct err *err) MUST_CHECK;

#endif
