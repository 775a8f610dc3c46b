#include "core/run/approval_webhook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/net/http_client.h"

/* After how many seconds it is said again; then no more. */
static const unsigned delays[] = {1, 5, 30, 120, 600};

struct webhook_post {
    const struct approval_webhook *webhook;
    struct webhook_posts *posts;
    struct loop *loop;
    struct loop_timer timer; /* of the next time */
    struct http_body *body;
    char id[2 * ID_SIZE]; /* the same each time: who has heard it before knows it again */
    unsigned failures;
    int status; /* of the answer; 0: none yet */
    struct webhook_post *next;
};

static void free_post(struct webhook_post *post)
{
    struct webhook_post **at = &post->posts->first;

    while (*at != post)
        at = &(*at)->next;
    *at = post->next;
    post->posts->count--;
    http_body_drop(post->body);
    free(post);
}

void webhook_posts_clear(struct webhook_posts *posts)
{
    while (posts->first)
        free_post(posts->first);
}

static void take_head(void *arg, const struct http_head *head)
{
    ((struct webhook_post *)arg)->status = head->status;
}

/* The URL may be a secret, and is not logged. */
static void take_done(void *arg, enum err_code rc, const struct err *error)
{
    struct webhook_post *post = arg;

    (void)error;
    if (!rc && post->status >= 200 && post->status < 300) {
        free_post(post);
        return;
    }
    if (post->failures == COUNT_OF(delays)) {
        log_warn("the webhook of %s did not take %s: HTTP status %d", post->webhook->project,
                 post->id, post->status);
        free_post(post);
        return;
    }
    loop_timer_start(post->loop, &post->timer,
                     clock_mono_ns() + delays[post->failures++] * NS_PER_SECOND);
}

static void send(struct webhook_post *post)
{
    const struct approval_webhook *webhook = post->webhook;
    int64_t now = clock_wall_us() / US_PER_SECOND;
    AUTO_FREE char *signature =
        webhook_sign(&webhook->key, post->id, now, post->body->bytes, post->body->length);
    AUTO_FREE char *id = mem_printf("webhook-id: %s", post->id);
    AUTO_FREE char *timestamp = mem_printf("webhook-timestamp: %lld", (long long)now);
    AUTO_FREE char *signed_by = mem_printf("webhook-signature: %s", signature);
    const char *headers[] = {"Content-Type: application/json", id, timestamp, signed_by, NULL};

    post->status = 0;
    (void)http_call_start(
        post->loop,
        &(struct http_request){.method = "POST",
                               .url = webhook->url,
                               .headers = headers,
                               .body = post->body,
                               .timeouts = {.total = WEBHOOK_TIMEOUT_SECONDS * NS_PER_SECOND},
                               .egress = webhook->egress,
                               .on_head = take_head,
                               .on_done = take_done,
                               .arg = post});
}

static void send_again(struct loop_timer *timer)
{
    send(CONTAINER_OF(timer, struct webhook_post, timer));
}

static struct http_body *body_of(const char *id, const json_t *question)
{
    json_auto_t *event =
        json_build("{s:s, s:s, s:s, s:I, s:O}", "id", id, "object", "event", "type",
                   "runnel.approval.pending", "created_at",
                   (json_int_t)(clock_wall_us() / US_PER_SECOND), "data", question);
    char *text = json_text(event);

    return http_body_new(text, strlen(text));
}

void approval_webhook_tell(struct webhook_posts *posts, struct loop *loop,
                           const struct approval_webhook *webhook, const json_t *question)
{
    const char *approval = json_get_string(question, "id", "");
    struct webhook_post *post;

    if (posts->count >= WEBHOOK_WAITING_LIMIT) {
        log_warn("the webhook of %s is not told of %s: too many wait", webhook->project,
                 approval);
        return;
    }
    post = mem_new(struct webhook_post);
    (void)snprintf(post->id, sizeof(post->id), "evt_%s", approval);
    post->webhook = webhook;
    post->posts = posts;
    post->loop = loop;
    post->timer.fire = send_again;
    post->body = body_of(post->id, question);
    post->next = posts->first;
    posts->first = post;
    posts->count++;
    send(post);
}
