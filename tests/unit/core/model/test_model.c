#include <sched.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "tests/support/http_group.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"
#include "tests/unit/core/model/scripted_server.h"

/* Turns against a real server on the loopback address, on a real loop. */

#define PATIENCE patience_ns(20) /* a test that waits longer than this has failed */

#define HEAD(status) "HTTP/1.1 " status "\r\nConnection: close\r\n"
#define STREAM_HEAD  HEAD("200 OK") "Content-Type: text/event-stream\r\n"
#define STREAM       STREAM_HEAD "\r\n"
#define CHUNK(rest)  "data: {\"choices\":[{\"index\":0," rest "}]}\n\n"
#define TEXT(text)   CHUNK("\"delta\":{\"content\":\"" text "\"}")
#define FINISH       CHUNK("\"delta\":{},\"finish_reason\":\"stop\"")
#define DONE         "data: [DONE]\n\n"
#define ANSWER       STREAM TEXT("hi") FINISH DONE
#define ERROR(status, more, message) \
    HEAD(status)                     \
    "Content-Type: application/json\r\n" more "\r\n{\"error\":{\"message\":\"" message "\"}}"

struct fixture {
    struct loop *loop;
    struct scripted_server *server;
    struct model_upstream upstream;
    json_t *request;
    struct model_turn *turn;
    struct loop_task start;
    unsigned cancel_at; /* the event that cancels the turn, counted from 1; 0 for none */

    struct lock lock;
    pthread_cond_t over; /* the turn is */
    bool is_over;
    struct buf log;
    unsigned events;
    unsigned reads; /* ends of them */
    bool in_read;   /* a text came, and its read has not ended */
    struct err error;
    struct model_usage usage;
    uint64_t retry_after_ns;
};

static void signal_over(struct fixture *fixture)
{
    lock_acquire(&fixture->lock);
    fixture->is_over = true;
    pthread_cond_signal(&fixture->over);
    lock_release(&fixture->lock);
}

static void note(struct fixture *fixture, const char *format, ...) PRINTF_LIKE(2, 3);

static void note(struct fixture *fixture, const char *format, ...)
{
    va_list arguments;
    char line[256];

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    buf_addf(&fixture->log, "%s%s", fixture->events ? " " : "", line);
    if (++fixture->events != fixture->cancel_at)
        return;
    model_turn_cancel(fixture->turn);
    signal_over(fixture);
}

static void on_text(void *arg, const char *text, size_t length)
{
    struct fixture *fixture = arg;

    fixture->in_read = true;
    note(arg, "text(%.*s)", (int)length, text);
}

static void on_reasoning(void *arg, const char *text, size_t length)
{
    note(arg, "reasoning(%.*s)", (int)length, text);
}

static void on_reasoning_member(void *arg, const char *member)
{
    note(arg, "as(%s)", member);
}

static void on_reasoning_detail(void *arg, const json_t *detail)
{
    AUTO_FREE char *text = json_text(detail);

    note(arg, "detail(%s)", text);
}

static void on_refusal(void *arg, const char *text, size_t length)
{
    note(arg, "refusal(%.*s)", (int)length, text);
}

static void on_begin(void *arg, unsigned call, const char *id, const char *name)
{
    note(arg, "begin(%u %s %s)", call, id, name);
}

static void on_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    note(arg, "args(%u %.*s)", call, (int)length, text);
}

static void on_end(void *arg, unsigned call)
{
    note(arg, "end(%u)", call);
}

static void on_read_end(void *arg)
{
    struct fixture *fixture = arg;

    fixture->reads++;
    fixture->in_read = false;
}

static void on_done(void *arg, enum model_finish finish, const struct model_usage *usage)
{
    struct fixture *fixture = arg;

    fixture->usage = *usage;
    note(fixture, "done(%d)", (int)finish);
    signal_over(fixture);
}

static void on_failed(void *arg, const struct model_failure *failure)
{
    struct fixture *fixture = arg;

    fixture->error = failure->err;
    fixture->retry_after_ns = failure->retry_after_ns;
    fixture->usage = failure->usage;
    note(fixture, "failed");
    signal_over(fixture);
}

static void on_extra(void *arg, unsigned call, const json_t *extra)
{
    (void)call, (void)extra;
    note(arg, "extra");
}

static void on_annotation(void *arg, const json_t *annotation)
{
    (void)annotation;
    note(arg, "annotation");
}

static void on_logprobs(void *arg, json_t *tokens)
{
    (void)tokens;
    note(arg, "logprobs");
}

static void on_part_end(void *arg)
{
    note(arg, "part");
}

static void on_item_end(void *arg, const struct model_item *item)
{
    (void)item;
    note(arg, "item");
}

static const struct model_events events = {
    .text = on_text,
    .reasoning = on_reasoning,
    .reasoning_member = on_reasoning_member,
    .reasoning_detail = on_reasoning_detail,
    .refusal = on_refusal,
    .summary = on_reasoning,
    .annotation = on_annotation,
    .logprobs = on_logprobs,
    .part_end = on_part_end,
    .item_end = on_item_end,
    .call_begin = on_begin,
    .call_arguments = on_arguments,
    .call_extra = on_extra,
    .call_end = on_end,
    .read_end = on_read_end,
    .done = on_done,
    .failed = on_failed,
};

/* --- the course of a test --- */

static const char *const every_model[] = {"*", NULL};

static int set_up(void **state)
{
    struct fixture *fixture = mem_new(struct fixture);
    struct err err;

    lock_init(&fixture->lock, LOCK_LOG);
    lock_cond_init(&fixture->over);
    fixture->loop = loop_new("test");
    fixture->request = json_build("{s:s,s:[{s:s,s:s}]}", "model", "m", "messages", "role",
                                  "user", "content", "hello");
    fixture->upstream = (struct model_upstream){
        .name = "test",
        .api_key = "sk-test",
        .models = every_model,
        .timeouts = {
            .connect = PATIENCE, .first_byte = PATIENCE, .idle = PATIENCE, .total = PATIENCE}};
    *state = fixture;
    return loop_start(fixture->loop, &err) ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->loop) {
        loop_stop(fixture->loop);
        loop_free(fixture->loop);
    }
    scripted_server_free(fixture->server);
    json_decref(fixture->request);
    pthread_cond_destroy(&fixture->over);
    lock_destroy(&fixture->lock);
    buf_clear(&fixture->log);
    free(fixture);
    return 0;
}

static void serve(struct fixture *fixture, const struct server_answer *answers)
{
    fixture->server = scripted_server_new(answers);
    fixture->upstream.url = scripted_server_url(fixture->server);
}

static void start_turn(struct loop_task *task)
{
    struct fixture *fixture = CONTAINER_OF(task, struct fixture, start);

    fixture->turn = model_turn_start(fixture->loop, &fixture->upstream, fixture->request, NULL,
                                     &events, fixture);
    assert_int_equal(fixture->events, 0);
}

static void cancel_turn(struct loop_task *task)
{
    struct fixture *fixture = CONTAINER_OF(task, struct fixture, start);

    model_turn_cancel(fixture->turn);
}

static void wait_until_over(struct fixture *fixture)
{
    uint64_t deadline = clock_mono_ns() + PATIENCE;
    bool is_over;

    lock_acquire(&fixture->lock);
    while (!fixture->is_over && lock_wait_until(&fixture->lock, &fixture->over, deadline))
        ;
    is_over = fixture->is_over;
    lock_release(&fixture->lock);
    if (!is_over)
        fail_msg("the turn does not end: %s", fixture->log.data ? fixture->log.data : "");
}

/* Lets the loop finish its work: no event can follow. */
static void stop_loop(struct fixture *fixture)
{
    loop_stop(fixture->loop);
    loop_free(fixture->loop);
    fixture->loop = NULL;
}

static void take_turn(struct fixture *fixture)
{
    fixture->start.run = start_turn;
    loop_post(fixture->loop, &fixture->start);
    wait_until_over(fixture);
    stop_loop(fixture);
}

static void expect_log(const struct fixture *fixture, const char *log)
{
    if (strcmp(fixture->log.data ? fixture->log.data : "", log) != 0)
        fail_msg("got %s (%s)\n not %s", fixture->log.data, fixture->error.text, log);
}

static void expect_requests(const struct fixture *fixture, unsigned count)
{
    assert_int_equal(scripted_server_count(fixture->server), count);
}

static void expect_failure(const struct fixture *fixture, enum err_code code,
                           const char *api_code, const char *text)
{
    if (fixture->error.code != code || !strstr(fixture->error.text, text))
        fail_msg("failed with %d: %s", (int)fixture->error.code, fixture->error.text);
    if (api_code)
        assert_string_equal(fixture->error.word, api_code);
    else
        assert_null(fixture->error.word);
}

/* --- the request --- */

static json_t *body_of_request(struct fixture *fixture, unsigned number)
{
    const char *request = scripted_server_request(fixture->server, number);
    const char *body = strstr(request, "\r\n\r\n");
    json_t *value = NULL;

    assert_non_null(body);
    assert_int_equal(json_parse(body + 4, strlen(body + 4), &value, NULL), ERR_OK);
    return value;
}

TEST(a_turn_requests_a_stream_with_usage_and_sends_the_key)
{
    static const struct server_answer answers[] = {{.bytes = ANSWER}, {0}};
    struct fixture *fixture = *state;
    json_auto_t *expected = NULL;
    json_auto_t *body = NULL;
    const char *request;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    expect_requests(fixture, 1);
    request = scripted_server_request(fixture->server, 0);
    assert_memory_equal(request, "POST /v1/chat/completions HTTP/1.1\r\n", 36);
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer sk-test\r\n"));
    assert_non_null(strstr(request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(request, "\r\nAccept-Encoding: identity\r\n"));
    body = body_of_request(fixture, 0);
    expected = json_deep_copy(fixture->request);
    json_set_bool(expected, "stream", true);
    json_set(expected, "stream_options", json_build("{s:b}", "include_usage", 1));
    assert_true(json_equal(body, expected));
}

#define CHUNKED       STREAM_HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define PIECE(letter) "39\r\n" TEXT(letter) "\r\n"
#define LAST_PIECES   "43\r\n" FINISH "\r\ne\r\n" DONE "\r\n"

/* libcurl gives each of these chunks by itself. */
TEST(a_read_ends_once_behind_all_of_its_pieces)
{
    static const struct server_answer answers[] = {
        {.bytes = CHUNKED PIECE("a") PIECE("b") PIECE("c") PIECE("d") PIECE("e") LAST_PIECES,
         .after = SERVER_HOLDS},
        {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(a) text(b) text(c) text(d) text(e) done(0)");
    assert_in_range(fixture->reads, 1, 2); /* one, as the server sends all at once */
    assert_false(fixture->in_read);
}

TEST(without_a_key_no_authorization_is_sent)
{
    static const struct server_answer answers[] = {{.bytes = ANSWER}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    fixture->upstream.api_key = NULL;
    json_object_clear(fixture->request);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    assert_null(strstr(scripted_server_request(fixture->server, 0), "Authorization"));
    json_decref(body_of_request(fixture, 0)); /* an empty request became JSON, too */
}

TEST(a_json_answer_is_as_good_as_a_stream)
{
    static const struct server_answer answers[] = {
        {.bytes = HEAD("200 OK") "Content-Type: application/json\r\n\r\n"
                                 "{\"choices\":[{\"message\":{\"content\":\"hi\"},"
                                 "\"finish_reason\":\"length\"}],"
                                 "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}"},
        {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(1)");
    assert_true(fixture->usage.known);
    assert_int_equal(fixture->usage.input, 3);
    assert_int_equal(fixture->usage.output, 4);
}

TEST(stream_options_are_left_out_for_servers_that_refuse_them)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("400 Bad Request", "", "unknown field stream_options")},
        {.bytes = ANSWER},
        {0}};
    struct fixture *fixture = *state;
    json_auto_t *body = NULL;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    expect_requests(fixture, 2);
    body = body_of_request(fixture, 1);
    assert_null(json_object_get(body, "stream_options"));
    assert_true(json_get_bool(body, "stream", false));
}

TEST(stream_options_are_left_out_only_once)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("400 Bad Request", "", "unknown field stream_options")}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_requests(fixture, 2);
    expect_failure(fixture, ERR_INVALID, NULL, "unknown field");
}

/* --- retries --- */

TEST(a_server_error_is_tried_again)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("503 Service Unavailable", "", "busy")}, {.bytes = ANSWER}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    expect_requests(fixture, 2);
}

TEST(a_server_that_keeps_failing_is_given_up_after_the_last_retry)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("500 Internal Server Error", "", "broken")}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_requests(fixture, 1 + MODEL_RETRY_LIMIT);
    expect_failure(fixture, ERR_UPSTREAM, NULL, "broken");
}

TEST(retry_after_is_waited_for)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("429 Too Many Requests", "Retry-After: 2\r\n", "slow down")},
        {.bytes = ANSWER},
        {0}};
    struct fixture *fixture = *state;
    uint64_t start = clock_mono_ns();

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    expect_requests(fixture, 2);
    assert_true(clock_mono_ns() - start >= 2 * NS_PER_SECOND);
}

TEST(a_long_retry_after_is_not_waited_for)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("429 Too Many Requests", "Retry-After: 3600\r\n", "slow down")}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    fixture->upstream.timeouts.total = 0;
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_requests(fixture, 1);
    expect_failure(fixture, ERR_LIMIT, "rate_limit_exceeded", "slow down");
    assert_true(fixture->retry_after_ns == 3600 * NS_PER_SECOND);
}

static void tokens_of_attempts_that_failed_count(void **state)
{
    static const char failed[] =
        STREAM "data: {\"choices\":[],\"error\":{\"message\":\"busy\",\"code\":503},"
               "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n";
    static const char counted[] =
        STREAM TEXT("hi") FINISH "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,"
                                 "\"completion_tokens\":6}}\n\n" DONE;
    static const struct server_answer answers[] = {{.bytes = failed}, {.bytes = counted}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    assert_true(fixture->usage.known);
    assert_int_equal(fixture->usage.input, 8);
    assert_int_equal(fixture->usage.output, 10);
}

static void a_turn_that_fails_has_used_its_tokens(void **state)
{
    static const struct server_answer answers[] = {
        {.bytes = STREAM "data: {\"choices\":[],\"error\":{\"message\":\"no\",\"code\":400},"
                         "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n"},
        {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_requests(fixture, 1);
    assert_true(fixture->usage.known && !fixture->retry_after_ns);
    assert_int_equal(fixture->usage.input, 3);
    assert_int_equal(fixture->usage.output, 4);
}

TEST(no_wait_begins_that_would_exceed_the_deadline)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("503 Service Unavailable", "Retry-After: 30\r\n", "busy")}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    fixture->upstream.timeouts.total = 20 * NS_PER_SECOND;
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_requests(fixture, 1);
}

TEST(errors_that_would_repeat_are_not_retried)
{
    /* clang-format off */
    static const struct {
        const char *bytes;
        enum err_code code;
        const char *api_code;
        const char *text;
    } table[] = {
        {ERROR("400 Bad Request", "", "too many words\",\"code\":\"context_length_exceeded"),
         ERR_INVALID, "context_length_exceeded", "too many words"},
        {ERROR("401 Unauthorized", "", "bad key sk-test"), ERR_UPSTREAM, NULL, "401"},
        {ERROR("429 Too Many Requests", "", "pay first\",\"code\":\"insufficient_quota"),
         ERR_LIMIT, "insufficient_quota", "pay first"},
        {HEAD("307 Temporary Redirect") "Location: http://127.0.0.1:1/\r\n\r\n", ERR_UPSTREAM, NULL, "307"},
        {HEAD("200 OK") "Content-Type: text/html\r\n\r\n<html>welcome</html>", ERR_UPSTREAM, NULL, "page"},
        {STREAM "data: garbage\n\n", ERR_UPSTREAM, NULL, "no sense"},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct server_answer answers[] = {{.bytes = table[i].bytes}, {0}};
        struct fixture *fixture = NULL;

        assert_int_equal(set_up((void **)&fixture), 0);
        serve(fixture, answers);
        take_turn(fixture);
        expect_log(fixture, "failed");
        expect_requests(fixture, 1);
        expect_failure(fixture, table[i].code, table[i].api_code, table[i].text);
        tear_down((void **)&fixture);
    }
}

TEST(a_refused_connection_is_an_upstream_error)
{
    static const struct server_answer answers[] = {{.bytes = ANSWER}, {0}};
    struct fixture *fixture = *state;
    char url[64];

    serve(fixture, answers);
    (void)snprintf(url, sizeof(url), "%s", fixture->upstream.url);
    scripted_server_free(fixture->server);
    fixture->server = NULL;
    fixture->upstream.url = url;
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_failure(fixture, ERR_UPSTREAM, NULL, "connect");
}

/* --- cut short --- */

TEST(an_answer_cut_before_its_first_piece_is_retried)
{
    /* clang-format off */
    static const struct server_answer cuts[] = {
        {.bytes = ""},
        {.bytes = "", .after = SERVER_RESETS},
        {.bytes = HEAD("200 OK")},
        {.bytes = STREAM},
        {.bytes = STREAM ": wait\n\ndata: {\"cho"},
        {.bytes = STREAM CHUNK("\"delta\":{\"role\":\"assistant\",\"content\":\"\"}")},
        {.bytes = STREAM "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n"},
        {.bytes = HEAD("200 OK") "Transfer-Encoding: chunked\r\n\r\n5\r\ndat"},
        {.bytes = HEAD("200 OK") "Content-Length: 100\r\n\r\n{\"choices\":"},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        const struct server_answer answers[] = {cuts[i], {.bytes = ANSWER}, {0}};
        struct fixture *fixture = NULL;

        assert_int_equal(set_up((void **)&fixture), 0);
        serve(fixture, answers);
        take_turn(fixture);
        expect_log(fixture, "text(hi) done(0)");
        expect_requests(fixture, 2);
        tear_down((void **)&fixture);
    }
}

TEST(an_answer_cut_after_its_first_piece_fails)
{
    static const struct server_answer cuts[] = {
        {.bytes = STREAM TEXT("hi")},
        {.bytes = STREAM TEXT("hi") "data: {\"cho"},
        {.bytes = HEAD("200 OK") "Content-Length: 1000\r\n\r\n" TEXT("hi")},
        {.bytes = STREAM TEXT("hi") "data: {\"error\":{\"message\":\"ended early\"}}\n\n"},
    };

    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        const struct server_answer answers[] = {cuts[i], {.bytes = ANSWER}, {0}};
        struct fixture *fixture = NULL;

        assert_int_equal(set_up((void **)&fixture), 0);
        serve(fixture, answers);
        take_turn(fixture);
        expect_log(fixture, "text(hi) failed");
        expect_requests(fixture, 1);
        expect_failure(fixture, ERR_UPSTREAM, NULL, "ended early");
        tear_down((void **)&fixture);
    }
}

TEST(an_answer_cut_after_its_end_is_complete)
{
    static const struct server_answer answers[] = {
        {.bytes = HEAD("200 OK") "Content-Length: 1000\r\n\r\n" TEXT("hi") FINISH}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
}

TEST(a_body_that_never_ends_does_not_delay_a_complete_answer)
{
    static const struct server_answer answers[] = {{.bytes = ANSWER, .after = SERVER_HOLDS},
                                                   {0}};
    struct fixture *fixture = *state;
    uint64_t start = clock_mono_ns();

    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "text(hi) done(0)");
    assert_true(clock_mono_ns() - start < PATIENCE / 4);
}

/* --- deadlines --- */

TEST(a_server_that_never_answers_times_out)
{
    static const struct server_answer answers[] = {{.bytes = "", .after = SERVER_HOLDS}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    fixture->upstream.timeouts.first_byte = 50 * NS_PER_MS;
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_requests(fixture, 1);
    expect_failure(fixture, ERR_TIMEOUT, NULL, "begin");
}

TEST(a_server_that_stops_within_its_answer_times_out)
{
    static const struct server_answer answers[] = {
        {.bytes = STREAM TEXT("hi"), .after = SERVER_HOLDS}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    fixture->upstream.timeouts.idle = 50 * NS_PER_MS;
    take_turn(fixture);
    expect_log(fixture, "text(hi) failed");
    expect_failure(fixture, ERR_TIMEOUT, NULL, "ended early");
}

/* The second attempt has the rest of the time. */
TEST(the_total_deadline_holds_for_all_attempts)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("503 Service Unavailable", "Retry-After: 1\r\n", "busy")},
        {.bytes = "", .after = SERVER_HOLDS},
        {0}};
    struct fixture *fixture = *state;
    uint64_t start = clock_mono_ns();

    serve(fixture, answers);
    fixture->upstream.timeouts.total = 1500 * NS_PER_MS;
    take_turn(fixture);
    expect_log(fixture, "failed");
    expect_failure(fixture, ERR_TIMEOUT, NULL, "complete");
    assert_true(clock_mono_ns() - start >= 1500 * NS_PER_MS);
    assert_true(clock_mono_ns() - start < 2400 * NS_PER_MS);
}

/* --- cancelling --- */

#define CALL(rest) CHUNK("\"delta\":{\"tool_calls\":[{" rest "}]}")
#define EVERYTHING                                                                             \
    STREAM CHUNK("\"delta\":{\"reasoning\":\"hm\"}") TEXT("hi")                                \
        CHUNK("\"delta\":{\"refusal\":\"no\"}") CALL(                                          \
            "\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")     \
            CALL(                                                                              \
                "\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}") \
                FINISH DONE
#define EVERY_EVENT                                                                            \
    "as(reasoning) reasoning(hm) text(hi) refusal(no) begin(0 a f) args(0 {}) end(0) begin(1 " \
    "b g) "                                                                                    \
    "args(1 {}) end(1) done(2)"
#define EVERY_EVENT_COUNT 11

TEST(every_callback_may_cancel_the_turn)
{
    static const struct server_answer answers[] = {{.bytes = EVERYTHING}, {0}};

    for (unsigned cancel_at = 0; cancel_at <= EVERY_EVENT_COUNT; cancel_at++) {
        struct fixture *fixture = NULL;

        assert_int_equal(set_up((void **)&fixture), 0);
        fixture->cancel_at = cancel_at;
        serve(fixture, answers);
        take_turn(fixture);
        assert_int_equal(fixture->events, cancel_at ? cancel_at : EVERY_EVENT_COUNT);
        assert_memory_equal(fixture->log.data, EVERY_EVENT, fixture->log.length);
        tear_down((void **)&fixture);
    }
}

TEST(cancelling_inside_the_failure_callback_is_fine)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("400 Bad Request", "", "bad")}, {0}};
    struct fixture *fixture = *state;

    fixture->cancel_at = 1;
    serve(fixture, answers);
    take_turn(fixture);
    expect_log(fixture, "failed");
}

/* Posts a cancel after the start. What the turn has done by then may vary; that it emits nothing
 * may not. */
static void cancel_from_outside(struct fixture *fixture)
{
    fixture->start.run = start_turn;
    loop_post(fixture->loop, &fixture->start);
    while (scripted_server_count(fixture->server) == 0)
        sched_yield();
    fixture->start = (struct loop_task){.run = cancel_turn};
    loop_post(fixture->loop, &fixture->start);
    stop_loop(fixture);
    expect_log(fixture, "");
}

TEST(a_turn_can_be_cancelled_while_it_waits_for_the_answer)
{
    static const struct server_answer answers[] = {{.bytes = "", .after = SERVER_HOLDS}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    cancel_from_outside(fixture);
}

TEST(a_turn_can_be_cancelled_while_it_waits_for_a_retry)
{
    static const struct server_answer answers[] = {
        {.bytes = ERROR("503 Service Unavailable", "Retry-After: 5\r\n", "busy")}, {0}};
    struct fixture *fixture = *state;

    serve(fixture, answers);
    cancel_from_outside(fixture);
    expect_requests(fixture, 1);
}

/* --- faults --- */

#ifdef RUNNEL_FAULTS

/* Each point fails once on each of its visits: the turn always ends in the right way. */
TEST(a_fault_at_every_step_is_handled)
{
    static const char *const points[] = {"model.start", "model.chunk", "model.done"};
    static const struct server_answer answers[] = {{.bytes = ANSWER}, {0}};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        bool fired = true;

        for (unsigned visit = 1; fired; visit++) {
            struct fixture *fixture = NULL;

            assert_int_equal(set_up((void **)&fixture), 0);
            serve(fixture, answers);
            fault_arm(points[i], visit);
            take_turn(fixture);
            fired = fault_fired();
            fault_disarm();
            if (fired && strcmp(points[i], "model.done") == 0) {
                expect_log(fixture, "text(hi) failed");
                expect_failure(fixture, ERR_UPSTREAM, NULL, "lost");
            } else if (strncmp(fixture->log.data, "text(hi) failed", 15) != 0) {
                expect_log(fixture, "text(hi) done(0)");
            }
            assert_true(fired || visit > 1);
            tear_down((void **)&fixture);
        }
    }
}

#endif

#define turn_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        turn_test(a_turn_requests_a_stream_with_usage_and_sends_the_key),
        turn_test(a_read_ends_once_behind_all_of_its_pieces),
        turn_test(without_a_key_no_authorization_is_sent),
        turn_test(a_json_answer_is_as_good_as_a_stream),
        turn_test(stream_options_are_left_out_for_servers_that_refuse_them),
        turn_test(stream_options_are_left_out_only_once),
        turn_test(a_server_error_is_tried_again),
        turn_test(a_server_that_keeps_failing_is_given_up_after_the_last_retry),
        turn_test(retry_after_is_waited_for),
        turn_test(tokens_of_attempts_that_failed_count),
        turn_test(a_turn_that_fails_has_used_its_tokens),
        turn_test(a_long_retry_after_is_not_waited_for),
        turn_test(no_wait_begins_that_would_exceed_the_deadline),
        cmocka_unit_test(errors_that_would_repeat_are_not_retried),
        turn_test(a_refused_connection_is_an_upstream_error),
        cmocka_unit_test(an_answer_cut_before_its_first_piece_is_retried),
        cmocka_unit_test(an_answer_cut_after_its_first_piece_fails),
        turn_test(an_answer_cut_after_its_end_is_complete),
        turn_test(a_body_that_never_ends_does_not_delay_a_complete_answer),
        turn_test(a_server_that_never_answers_times_out),
        turn_test(a_server_that_stops_within_its_answer_times_out),
        turn_test(the_total_deadline_holds_for_all_attempts),
        cmocka_unit_test(every_callback_may_cancel_the_turn),
        turn_test(cancelling_inside_the_failure_callback_is_fine),
        turn_test(a_turn_can_be_cancelled_while_it_waits_for_the_answer),
        turn_test(a_turn_can_be_cancelled_while_it_waits_for_a_retry),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_fault_at_every_step_is_handled),
#endif
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
