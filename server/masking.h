#ifndef RUNNEL_SERVER_MASKING_H
#define RUNNEL_SERVER_MASKING_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/run/turn/before_send.h"

/*
 * masking.h -- the masks of `hooks.before_send` as the hook that sees requests to models.
 *
 * Looking through a long conversation takes time that a loop does not have, so it is done by threads
 * of its own: tools that keep the workers busy do not hold up the models.
 */

struct masking;
struct masks;

/* NULL without masks. Borrows them. */
enum err_code masking_start(const struct masks *masks, struct masking **ret_masking,
                            struct err *err) MUST_CHECK;
/* After the loops: what waits is done first. NULL is fine. */
void masking_stop(struct masking *masking);

struct before_send *masking_hook(struct masking *masking); /* NULL of NULL */

#endif
