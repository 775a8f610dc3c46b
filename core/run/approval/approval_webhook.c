/*
 * Questions on their way to webhooks.
 *
 * The engine calls approval_webhook_send() after the write that stores the question was
 * committed. So a person never learns of a question that the store does not have. The question
 * is rendered once, as an event, and queued for its webhook. At most WEBHOOK_TRANSFERS_LIMIT
 * posts of a queue are transfers at the same time. A post that fails leaves the queue, waits on
 * its own timer, and is queued again at the end:
 *
 *   approval_webhook_send --> due --> transfer --> 2xx: freed
 *                              ^         |
 *                              +-- timer +--> after the last delay: counted as not taken, freed
 *
 * The event has the same webhook-id in every attempt. A receiver that got it, and whose answer
 * was lost, recognises the repetition. The timestamp and the signature are new in each attempt,
 * because a receiver refuses old timestamps (standardwebhooks.com).
 *
 * Nothing of this is stored. After a crash the posts under way are gone, and the question is in
 * the list like every other one. The alternative, an outbox in the database, would survive
 * that. It would also need an owner among the nodes and a poll, for a notification that any
 * client can replace by reading the list.
 *
 * What must hold: a webhook that hangs delays no run and no other webhook. So there is no queue
 * that two webhooks share, every queue has limits for posts and bytes, and a full queue drops
 * the new question.
 */

#include "core/run/approval/approval_webhook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/net/http_client.h"

/* Seconds before each retry. After the last one the post is given up. */
static const unsigned delays[] = {1, 5, 30, 120, 600};

struct webhook_post {
    struct webhook_queue *queue;
    struct loop_timer timer; /* runs until the next retry */
    struct http_body *body;
    char id[2 * ID_SIZE]; /* webhook-id, the same in every attempt */
    unsigned failures;
    int status; /* HTTP status of this attempt; 0: no answer yet */
    struct webhook_post *next;
    struct webhook_post *next_due;
};

/* One kind of failure. The first one is logged at once, the others are counted for the next log
 * line. */
struct webhook_trouble {
    struct webhook_queue *queue;
    const char *text;        /* for the log */
    size_t count;            /* of questions that are not logged yet */
    int status;              /* of the last answer, or 0 */
    struct loop_timer timer; /* runs after a log line, until the next one is allowed */
};

/* The posts on their way to one webhook. The due list has those that only wait for a free
 * transfer; the others are transfers, or wait for their timers. */
struct webhook_queue {
    const struct approval_webhook *webhook;
    struct loop *loop;
    const uint64_t *log_ns;
    struct webhook_trouble dropped, not_taken;
    struct webhook_post *posts;
    struct webhook_post *first_due, *last_due;
    size_t count;
    size_t bytes;
    size_t byte_limit;
    unsigned transfers;
};

/* ---- Log ---- */

static void log_trouble(struct webhook_trouble *trouble)
{
    AUTO_FREE char *status =
        trouble->status ? mem_printf(" (HTTP status %d)", trouble->status) : NULL;

    log_warn("questions for the webhook of %s %s%s: %zu", trouble->queue->webhook->project,
             trouble->text, status ? status : "", trouble->count);
    trouble->count = 0;
    loop_timer_start(trouble->queue->loop, &trouble->timer,
                     clock_mono_ns() + *trouble->queue->log_ns);
}

static void log_rest(struct loop_timer *timer)
{
    struct webhook_trouble *trouble = CONTAINER_OF(timer, struct webhook_trouble, timer);

    if (trouble->count)
        log_trouble(trouble);
}

static void count_trouble(struct webhook_trouble *trouble, int status)
{
    trouble->status = status;
    trouble->count++;
    if (!trouble->timer.slot)
        log_trouble(trouble);
}

static void init_trouble(struct webhook_trouble *trouble, struct webhook_queue *queue,
                         const char *text)
{
    *trouble =
        (struct webhook_trouble){.queue = queue, .text = text, .timer = {.fire = log_rest}};
}

/* ---- Queues ---- */

void webhook_posts_init(struct webhook_posts *posts, struct loop *loop,
                        const struct approval_webhook *webhooks, size_t count)
{
    *posts = (struct webhook_posts){
        .loop = loop,
        .webhooks = webhooks,
        .queues = mem_new_array(struct webhook_queue, count + 1),
        .count = count,
        .log_ns = WEBHOOK_LOG_SECONDS * NS_PER_SECOND,
    };
    for (size_t i = 0; i < count; i++) {
        posts->queues[i].webhook = &webhooks[i];
        posts->queues[i].loop = loop;
        posts->queues[i].log_ns = &posts->log_ns;
        posts->queues[i].byte_limit = WEBHOOK_BYTES_LIMIT / count;
        init_trouble(&posts->queues[i].dropped, &posts->queues[i],
                     "are dropped, too many wait");
        init_trouble(&posts->queues[i].not_taken, &posts->queues[i],
                     "are given up after the last retry");
    }
}

static void free_post(struct webhook_post *post)
{
    struct webhook_queue *queue = post->queue;
    struct webhook_post **at = &queue->posts;

    while (*at != post)
        at = &(*at)->next;
    *at = post->next;
    queue->count--;
    queue->bytes -= post->body->length;
    http_body_drop(post->body);
    free(post);
}

void webhook_posts_clear(struct webhook_posts *posts)
{
    for (size_t i = 0; i < posts->count; i++) {
        while (posts->queues[i].posts)
            free_post(posts->queues[i].posts);
    }
    free(posts->queues);
    *posts = (struct webhook_posts){0};
}

/* ---- Sending ---- */

static void send_due(struct webhook_queue *queue);

static void queue_post(struct webhook_post *post)
{
    struct webhook_queue *queue = post->queue;

    post->next_due = NULL;
    if (queue->first_due)
        queue->last_due->next_due = post;
    else
        queue->first_due = post;
    queue->last_due = post;
    send_due(queue);
}

static void retry(struct loop_timer *timer)
{
    queue_post(CONTAINER_OF(timer, struct webhook_post, timer));
}

static void take_head(void *arg, const struct http_head *head)
{
    ((struct webhook_post *)arg)->status = head->status;
}

/* The log names the project only: the URL may contain a secret. */
static void take_refusal(struct webhook_post *post)
{
    if (post->failures == COUNT_OF(delays)) {
        log_debug("the webhook of %s did not take %s: HTTP status %d",
                  post->queue->webhook->project, post->id, post->status);
        count_trouble(&post->queue->not_taken, post->status);
        free_post(post);
        return;
    }
    loop_timer_start(post->queue->loop, &post->timer,
                     clock_mono_ns() + delays[post->failures++] * NS_PER_SECOND);
}

static void take_done(void *arg, enum err_code rc, const struct err *error)
{
    struct webhook_post *post = arg;
    struct webhook_queue *queue = post->queue;

    (void)error;
    queue->transfers--;
    if (!rc && post->status >= 200 && post->status < 300)
        free_post(post);
    else
        take_refusal(post);
    send_due(queue);
}

static void send(struct webhook_post *post)
{
    const struct approval_webhook *webhook = post->queue->webhook;
    int64_t now = clock_wall_us() / US_PER_SECOND;
    AUTO_FREE char *signature =
        webhook_sign(&webhook->key, post->id, now, post->body->bytes, post->body->length);
    AUTO_FREE char *id = mem_printf("webhook-id: %s", post->id);
    AUTO_FREE char *timestamp = mem_printf("webhook-timestamp: %lld", (long long)now);
    AUTO_FREE char *signed_by = mem_printf("webhook-signature: %s", signature);
    const char *headers[] = {"Content-Type: application/json", id, timestamp, signed_by, NULL};

    post->status = 0;
    (void)http_call_start(
        post->queue->loop,
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

static void send_due(struct webhook_queue *queue)
{
    while (queue->first_due && queue->transfers < WEBHOOK_TRANSFERS_LIMIT) {
        struct webhook_post *post = queue->first_due;

        queue->first_due = post->next_due;
        queue->transfers++;
        send(post);
    }
}

/* ---- The event ---- */

/* Cuts long texts. Arguments and results can have megabytes, and many posts may wait at
 * once. */
static json_t *cut_question(const json_t *question, bool *ret_truncated)
{
    json_t *cut = json_copy((json_t *)(uintptr_t)question);
    const char *key;
    json_t *value;

    *ret_truncated = false;
    json_object_foreach ((json_t *)(uintptr_t)question, key, value) {
        const char *text = json_string_value(value);

        if (json_string_length(value) <= WEBHOOK_TEXT_LIMIT)
            continue;
        json_set(cut, key, json_stringn(text, utf8_fit(text, WEBHOOK_TEXT_LIMIT)));
        *ret_truncated = true;
    }
    return cut;
}

static struct http_body *body_of(const char *id, const json_t *question)
{
    bool truncated;
    json_t *cut = cut_question(question, &truncated);
    json_auto_t *event = json_build("{s:s, s:s, s:s, s:I, s:b, s:o}", "id", id, "object",
                                    "event", "type", "runnel.approval.pending", "created_at",
                                    (json_int_t)(clock_wall_us() / US_PER_SECOND), "truncated",
                                    truncated, "data", cut);
    char *text = json_text(event);

    return http_body_new(text, strlen(text));
}

static struct webhook_post *new_post(struct webhook_queue *queue, const json_t *question)
{
    struct webhook_post *post = mem_new(struct webhook_post);

    (void)snprintf(post->id, sizeof(post->id), "evt_%s", json_get_string(question, "id", ""));
    post->queue = queue;
    post->timer.fire = retry;
    post->body = body_of(post->id, question);
    post->next = queue->posts;
    queue->posts = post;
    queue->count++;
    queue->bytes += post->body->length;
    return post;
}

static bool drop(struct webhook_queue *queue, const json_t *question)
{
    log_debug("%s is not sent to the webhook of %s: too many wait",
              json_get_string(question, "id", ""), queue->webhook->project);
    count_trouble(&queue->dropped, 0);
    return false;
}

bool approval_webhook_send(struct webhook_posts *posts, const struct approval_webhook *webhook,
                           const json_t *question)
{
    struct webhook_queue *queue = &posts->queues[webhook - posts->webhooks];
    struct webhook_post *post;

    if (queue->count >= WEBHOOK_WAITING_LIMIT)
        return drop(queue, question);
    post = new_post(queue, question);
    /* The first post of a queue is sent whatever its size: with many webhooks the share of one
     * may be smaller than a single event. */
    if (queue->bytes > queue->byte_limit && queue->count > 1) {
        free_post(post);
        return drop(queue, question);
    }
    queue_post(post);
    return true;
}
