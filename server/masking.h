#ifndef RUNNEL_SERVER_MASKING_H
#define RUNNEL_SERVER_MASKING_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/run/turn/before_send.h"

/*
 * masking.h -- applies the masks of `hooks.before_send` to requests to models, as the hook of before_send.h.
 *
 * Masks are applied by workers (workers.h), because a loop must not block and tools must not delay models.
 */

struct crew;
struct masking;
struct masks;

/* NULL if `masks` is. Borrows both until masking_stop(). */
struct masking *masking_start(const struct masks *masks, struct crew *crew);
/* After all queued requests. Only when no loop runs any more. NULL is fine. */
void masking_stop(struct masking *masking);

/* The hook for the engine; NULL for NULL. */
struct before_send *masking_hook(struct masking *masking);

#endif
