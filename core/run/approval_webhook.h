#ifndef RUNNEL_CORE_RUN_APPROVAL_WEBHOOK_H
#define RUNNEL_CORE_RUN_APPROVAL_WEBHOOK_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/ids.h"
#include "core/base/webhook_key.h"
#include "core/net/egress.h"
#include "core/net/loop.h"

/*
 * approval_webhook.h -- who is told that somebody is asked: the channel "webhook".
 *
 * The operator names a URL for a project, and a secret. Each question of a run that has this channel is
 * told there by a signed POST once it is in the store. A POST that is not taken is made again, some times,
 * later each time; then the question is only in the list, as any other is. It is on its way only as long
 * as this server is. The answer comes by the same way as all answers.
 *
 * On a loop, and no longer than it; a run does not wait for it, and may have gone.
 */

#define WEBHOOK_TIMEOUT_SECONDS 20 /* of one POST */
#define WEBHOOK_WAITING_LIMIT \
    ((size_t)1000) /* on their way, of one loop; beyond, they are dropped */

struct approval_webhook {
    char project[ID_SIZE];
    const char *url;
    struct webhook_key key;
    const struct egress_rules *egress;
};

/* Zero it. What one loop has on its way; cleared after the loop has gone. */
struct webhook_posts {
    struct webhook_post *first;
    size_t count;
};
void webhook_posts_clear(struct webhook_posts *posts);

/* `question` is only read. The webhook outlives the loop. */
void approval_webhook_tell(struct webhook_posts *posts, struct loop *loop,
                           const struct approval_webhook *webhook, const json_t *question);

#endif
