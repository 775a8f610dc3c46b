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
 * approval_webhook.h -- sends approval requests to the operator's URL: the approval channel
 * "webhook".
 *
 * The operator configures a URL and a secret for a project. A question of a run that has this
 * channel is sent there, once it is in the store, as a signed POST of the event
 * runnel.approval.pending. A POST that is not answered with 2xx is repeated after 1, 5, 30, 120
 * and 600 seconds. Then it is given up, and the question is only in the list
 * /v1/runnel/approvals. A restart of the server gives up all posts, too. Answers never come
 * through the webhook: they come as for any other channel.
 *
 * A slow webhook affects its own project only. Each webhook has a queue on each loop, with
 * limits for posts and bytes. A question that does not fit is dropped. Texts longer than
 * WEBHOOK_TEXT_LIMIT are cut, and the event says "truncated"; the list has them whole. The log
 * counts what was dropped or given up, with at most one line per webhook, failure and minute.
 *
 * Owned by a loop, and called on its thread. No run waits for a post, and the run may end
 * first.
 */

#define WEBHOOK_TIMEOUT_SECONDS 20                 /* of one POST */
#define WEBHOOK_TEXT_LIMIT      ((size_t)16 << 10) /* bytes of one text of a question */
/* Of one loop: */
#define WEBHOOK_TRANSFERS_LIMIT 8              /* POSTs at once to one webhook */
#define WEBHOOK_WAITING_LIMIT   ((size_t)1000) /* posts of one webhook, those under way too */
#define WEBHOOK_BYTES_LIMIT     ((size_t)16 << 20) /* bodies of all webhooks, in even shares */
#define WEBHOOK_LOG_SECONDS     60                 /* between two log lines about one failure */

/* Configured once, before the engine starts. Strings and rules are borrowed. */
struct approval_webhook {
    char project[ID_SIZE];
    const char *url;
    struct webhook_key key;
    const struct egress_rules *egress;
};

/* The posts of one loop. It must not move in memory. Clear it after the loop was freed.
 * `webhooks` is borrowed and outlives it. */
struct webhook_posts {
    struct loop *loop;
    const struct approval_webhook *webhooks;
    struct webhook_queue *queues; /* one for each webhook */
    size_t count;
    uint64_t log_ns; /* WEBHOOK_LOG_SECONDS; tests shorten it */
};
void webhook_posts_init(struct webhook_posts *posts, struct loop *loop,
                        const struct approval_webhook *webhooks, size_t count);
void webhook_posts_clear(struct webhook_posts *posts);

/* Sends a question, an approval object as the list shows it. `webhook` is one of
 * `posts->webhooks`. `question` is borrowed and copied. False: the queue is full, and the
 * question was dropped. */
bool approval_webhook_send(struct webhook_posts *posts, const struct approval_webhook *webhook,
                           const json_t *question);

#endif
