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

/* After how many seconds it is said again; then no more. */
static const unsigned delays[] = {1, 5, 30, 120, 600};

struct webhook_post {
    struct webhook_queue *queue;
    struct loop_timer timer; /* of the next time */
    struct http_body *body;
    char id[2 * ID_SIZE]; /* the same each time: who has heard it before knows it again */
    unsigned failures;
    int status; /* of the answer; 0: none yet */
    struct webhook_post *next;
    struct webhook_post *next_due;
};

/* What goes wrong with many questions at once; the first is logged at once. */
struct webhook_trouble {
    struct webhook_queue *queue;
    const char *text;        /* for the log */
    size_t count;            /* of questions that the log has not told yet */
    int status;              /* of the last answer, or 0 */
    struct loop_timer timer; /* runs after a line of the log: until the next may come */
};

/* All that is on its way to one webhook. Of that, `due` is what could be sent now. */
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

/* ---- What is logged ---- */

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

/* ---- All queues ---- */

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
                     "are given up, it does not take them");
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

/* The URL may be a secret, and is not logged. */
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

/* ---- What is sent ---- */

/* The beginning of a text that is too long for an event. */
static json_t *cut_text(const json_t *value)
{
    const char *text = json_string_value(value);

    return json_stringn(text, utf8_fit(text, WEBHOOK_TEXT_LIMIT));
}

/* Arguments and results may have megabytes. */
static json_t *cut_question(const json_t *question, bool *ret_truncated)
{
    json_t *cut = json_copy((json_t *)(uintptr_t)question);
    const char *key;
    json_t *value;

    *ret_truncated = false;
    json_object_foreach ((json_t *)(uintptr_t)question, key, value) {
        if (json_string_length(value) <= WEBHOOK_TEXT_LIMIT)
            continue;
        json_set(cut, key, cut_text(value));
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
    log_debug("the webhook of %s is not told of %s: too many wait", queue->webhook->project,
              json_get_string(question, "id", ""));
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
    if (queue->bytes > queue->byte_limit && queue->count > 1) {
        free_post(post);
        return drop(queue, question);
    }
    queue_post(post);
    return true;
}
