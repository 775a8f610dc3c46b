/* F44: approval requests that are sent to a webhook. */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_client.h"
#include "core/run/approval/approval_webhook.h"
#include "tests/support/http_group.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

/* The loop does not run: all POSTs stay on their way. */
struct post_office {
    struct approval_webhook webhooks[2];
    struct webhook_posts posts;
    struct loop *loop;
};

static int open_office(void **state)
{
    struct post_office *office = mem_new(struct post_office);

    for (size_t i = 0; i < COUNT_OF(office->webhooks); i++) {
        office->webhooks[i].url = "http://127.0.0.1:1/";
        (void)snprintf(office->webhooks[i].project, ID_SIZE, "proj_%zu", i);
        if (!webhook_key_parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                               &office->webhooks[i].key))
            return -1;
    }
    office->loop = loop_new("office");
    webhook_posts_init(&office->posts, office->loop, office->webhooks,
                       COUNT_OF(office->webhooks));
    *state = office;
    return 0;
}

static int close_office(void **state)
{
    struct post_office *office = *state;

    loop_free(office->loop);
    webhook_posts_clear(&office->posts);
    free(office);
    return 0;
}

static bool send_question(struct post_office *office, unsigned webhook, const json_t *question)
{
    return approval_webhook_send(&office->posts, &office->webhooks[webhook], question);
}

/* How many of `limit` posts the queue accepts. */
static size_t taken(struct post_office *office, unsigned webhook, const json_t *question,
                    size_t limit)
{
    size_t count = 0;

    while (count < limit && send_question(office, webhook, question))
        count++;
    return count;
}

TEST(too_many_requests_are_dropped_for_their_own_project_only)
{
    struct post_office *office = *state;
    json_auto_t *question = json_build("{s:s}", "id", "mcpr_1");

    assert_int_equal(taken(office, 0, question, 2 * WEBHOOK_WAITING_LIMIT),
                     WEBHOOK_WAITING_LIMIT);
    assert_false(send_question(office, 0, question));
    assert_true(send_question(office, 1, question));
}

static char *letters(size_t count)
{
    char *text = mem_zeroed(1, count + 1);

    memset(text, 'x', count);
    return text;
}

TEST(too_many_bytes_are_dropped_for_their_own_project_only)
{
    struct post_office *office = *state;
    AUTO_FREE char *text = letters(WEBHOOK_TEXT_LIMIT);
    json_auto_t *question = json_build("{s:s, s:s, s:s, s:s}", "id", "mcpr_1", "arguments",
                                       text, "output", text, "description", text);
    size_t share = WEBHOOK_BYTES_LIMIT / COUNT_OF(office->webhooks);
    size_t count = taken(office, 0, question, WEBHOOK_WAITING_LIMIT);

    assert_true(count > 100 && count * 3 * WEBHOOK_TEXT_LIMIT <= share);
    assert_true((count + 1) * (3 * WEBHOOK_TEXT_LIMIT + 500) > share);
    assert_int_equal(taken(office, 1, question, WEBHOOK_WAITING_LIMIT), count);
}

/* With the whole texts, the queue would be full after a few posts. */
TEST(only_the_sent_part_of_a_long_text_counts)
{
    struct post_office *office = *state;
    AUTO_FREE char *text = letters((size_t)1 << 20);
    json_auto_t *question = json_build("{s:s, s:s}", "id", "mcpr_1", "arguments", text);

    assert_int_equal(taken(office, 0, question, 100), 100);
    assert_int_equal(strlen(json_get_string(question, "arguments", "")), (size_t)1 << 20);
}

/* Redirects stderr into a pipe. */
struct listener {
    int before, read, write;
};

static struct listener listen_in(void)
{
    struct listener listener = {.before = dup(STDERR_FILENO)};
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    listener.read = ends[0];
    listener.write = ends[1];
    dup2(ends[1], STDERR_FILENO);
    return listener;
}

static void expect_line(struct listener *listener, const char *part)
{
    struct pollfd ready = {.fd = listener->read, .events = POLLIN};
    char line[1024] = "";

    for (size_t at = 0; at < sizeof(line) - 1 && !strchr(line, '\n'); at++) {
        if (poll(&ready, 1, patience_ms(60)) != 1 || read(listener->read, line + at, 1) != 1)
            break;
    }
    if (!strstr(line, part))
        fail_msg("'%s' is not in: %s", part, line);
}

static void stop_listening(struct listener *listener)
{
    struct pollfd ready = {.fd = listener->read, .events = POLLIN};

    dup2(listener->before, STDERR_FILENO);
    assert_int_equal(poll(&ready, 1, 0), 0);
    close(listener->before);
    close(listener->read);
    close(listener->write);
}

TEST(many_dropped_requests_make_one_log_line)
{
    struct post_office *office = *state;
    json_auto_t *question = json_build("{s:s}", "id", "mcpr_1");
    struct listener listener = listen_in();

    for (unsigned webhook = 0; webhook < 2; webhook++)
        (void)taken(office, webhook, question, 2 * WEBHOOK_WAITING_LIMIT);
    for (unsigned i = 0; i < 500; i++)
        assert_false(send_question(office, 1, question));
    expect_line(&listener, "questions for the webhook of proj_0 are dropped, too many wait: 1");
    expect_line(&listener, "questions for the webhook of proj_1 are dropped, too many wait: 1");
    stop_listening(&listener);
}

struct late_drop {
    struct loop_task task;
    struct post_office *office;
};

static void drop_four(struct loop_task *task)
{
    struct post_office *office = CONTAINER_OF(task, struct late_drop, task)->office;
    json_auto_t *question = json_build("{s:s}", "id", "mcpr_1");

    office->posts.log_ns = NS_PER_SECOND / 10;
    for (unsigned i = 0; i < 4; i++)
        assert_false(send_question(office, 0, question));
}

TEST(the_next_log_line_counts_the_other_dropped_requests)
{
    struct post_office *office = *state;
    json_auto_t *question = json_build("{s:s}", "id", "mcpr_1");
    struct late_drop late = {.task = {.run = drop_four}, .office = office};
    struct listener listener = listen_in();

    assert_int_equal(taken(office, 0, question, WEBHOOK_WAITING_LIMIT), WEBHOOK_WAITING_LIMIT);
    assert_int_equal(loop_start(office->loop, NULL), ERR_OK);
    loop_post(office->loop, &late.task);
    expect_line(&listener, "are dropped, too many wait: 1");
    expect_line(&listener, "are dropped, too many wait: 3");
    loop_stop(office->loop);
    stop_listening(&listener);
}

int main(void)
{
#define IN_AN_OFFICE(test) cmocka_unit_test_setup_teardown(test, open_office, close_office)
    const struct CMUnitTest tests[] = {
        IN_AN_OFFICE(too_many_requests_are_dropped_for_their_own_project_only),
        IN_AN_OFFICE(too_many_bytes_are_dropped_for_their_own_project_only),
        IN_AN_OFFICE(only_the_sent_part_of_a_long_text_counts),
        IN_AN_OFFICE(many_dropped_requests_make_one_log_line),
        IN_AN_OFFICE(the_next_log_line_counts_the_other_dropped_requests),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
