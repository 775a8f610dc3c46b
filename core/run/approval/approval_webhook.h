#ifndef RUNNEL_CORE_RUN_APPROVAL_APPROVAL_WEBHOOK_H
#define RUNNEL_CORE_RUN_APPROVAL_APPROVAL_WEBHOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * A webhook that does not answer costs little, and only its own project: each has a line of its own, of
 * so many questions and so many bytes, and what does not fit is dropped. Long texts of a question are cut
 * for it; the list has them whole. The log tells how many were dropped or not taken, in a line a minute.
 *
 * On a loop, and no longer than it; a run does not wait for it, and may have gone.
 */

#define WEBHOOK_TIMEOUT_SECONDS 20                 /* of one POST */
#define WEBHOOK_TEXT_LIMIT      ((size_t)16 << 10) /* bytes of one text of a question */
/* Of one loop: */
#define WEBHOOK_TRANSFERS_LIMIT 8                  /* POSTs at once to one webhook */
#define WEBHOOK_WAITING_LIMIT   ((size_t)1000)     /* on their way to one webhook */
#define WEBHOOK_BYTES_LIMIT     ((size_t)16 << 20) /* of all on their way, in even shares */
#define WEBHOOK_LOG_SECONDS     60 /* between two lines of the log about one trouble */

struct approval_webhook {
    char project[ID_SIZE];
    const char *url;
    struct webhook_key key;
    const struct egress_rules *egress;
};

/* What one loop has on its way. Stays where it is; cleared after the loop has gone; `webhooks` outlive
 * it. */
struct webhook_posts {
    struct loop *loop;
    const struct approval_webhook *webhooks;
    struct webhook_queue *queues; /* one of each webhook */
    size_t count;
    uint64_t log_ns; /* between two lines of the log about one trouble */
};
void webhook_posts_init(struct webhook_posts *posts, struct loop *loop,
                        const struct approval_webhook *webhooks, size_t count);
void webhook_posts_clear(struct webhook_posts *posts);

/* `webhook` is one of those. `question` is only read. False: too many wait, and it is dropped. */
bool approval_webhook_send(struct webhook_posts *posts, const struct approval_webhook *webhook,
                           const json_t *question);

#endif
