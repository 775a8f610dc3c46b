/*
 * Bodies that an endpoint takes as they arrive. However the request ends, what the endpoint had
 * for it is dropped exactly once.
 */

#include <poll.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

#define UPLOAD(query) "POST /upload" query " HTTP/1.1\r\n" HOST KEY

static char *upload_of(const char *query, size_t length)
{
    AUTO_FREE char *body = mem_zeroed(length + 1, 1);

    memset(body, 'x', length);
    return mem_printf("POST /upload%s HTTP/1.1\r\n" HOST KEY "Content-Length: %zu\r\n\r\n%s",
                      query, length, body);
}

TEST(a_body_is_taken_as_it_arrives)
{
    AUTO_FREE char *large = upload_of("", UPLOAD_LIMIT);
    struct client client;
    struct http_stats stats;

    start(MODE_DIRECT, "--max-body", "1024", "--max-bodies", "1024", NULL);
    client = dial();
    put(&client, large);
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":200000}");
    put(&client, large); /* the connection knows where it is */
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":200000}");
    put(&client,
        UPLOAD("") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":7}");
    put(&client, UPLOAD("") "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":0}");
    put(&client, UPLOAD("") "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    get_until(&client, "100 Continue\r\n\r\n");
    put(&client, "abc");
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":3}");
    await_uploads_dropped(5);
    http_stats(under.http, &stats);
    assert_int_equal(stats.body_bytes, 0);
    hang_up(&client);
    stop();
}

TEST(a_body_beyond_its_limit_is_refused)
{
    AUTO_FREE char *over = upload_of("", UPLOAD_LIMIT + 1);
    AUTO_FREE char *body = mem_zeroed(UPLOAD_LIMIT + 2, 1);
    AUTO_FREE char *chunked = NULL;

    memset(body, 'x', UPLOAD_LIMIT + 1);
    chunked = mem_printf(UPLOAD("") "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
                         UPLOAD_LIMIT + 1, body);
    start(MODE_DIRECT, NULL);
    ask(over, "HTTP/1.1 413", "larger than 200000 bytes");
    ask(chunked, "HTTP/1.1 413", "larger than 200000 bytes");
    ask(UPLOAD("") "Content-Length: 200001\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 413",
        "larger than 200000 bytes");
    await_uploads_dropped(3);
    stop();
}

TEST(an_endpoint_may_refuse_or_answer_before_the_body)
{
    AUTO_FREE char *full = upload_of("?full", 3000);
    AUTO_FREE char *known = upload_of("?known", 3000);
    struct client client;

    start(MODE_DIRECT, NULL);
    ask(full, "HTTP/1.1 507", "\"message\":\"no room\",\"type\":\"server_error\"");
    client = dial();
    put(&client, known);
    expect_answer(&client, "HTTP/1.1 200", "{\"known\":true}");
    put(&client, known);
    expect_answer(&client, "HTTP/1.1 200", "{\"known\":true}");
    hang_up(&client);
    ask("POST /upload?full HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 401",
        "no key");
    assert_int_equal(under.uploads, 0);
    stop();
}

TEST(a_fault_in_the_middle_is_answered_at_once)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, UPLOAD("") "Content-Length: 100\r\n\r\nabc!");
    expect_answer(&client, "HTTP/1.1 400", "\"param\":\"file\",\"code\":\"a_code\"");
    hang_up(&client);
    ask(UPLOAD("") "Content-Length: 100\r\n\r\nabc#", "HTTP/1.1 418", "a teapot");
    ask(UPLOAD("?late_error") "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 404", "not after all");
    ask(UPLOAD("") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n", "HTTP/1.1 400",
        "chunk");
    await_uploads_dropped(4);
    stop();
}

TEST(an_upload_may_be_answered_later)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, UPLOAD("?wait") "Content-Length: 3\r\n\r\nabc");
    await_made(1);
    await_uploads_dropped(1);
    play(ACT_ANSWER, "in the end", 0);
    expect_answer(&client, "201", "in the end");
    put(&client, UPLOAD("?stream") "Content-Length: 3\r\n\r\nabc");
    await_made(2);
    await_uploads_dropped(2);
    say("data: 1\n\n");
    get_until(&client, "data: 1\n\n");
    play(ACT_CLOSE, NULL, 0);
    hang_up(&client);
    stop();
}

TEST(a_client_that_leaves_in_the_middle_leaves_nothing)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, UPLOAD("") "Content-Length: 100\r\n\r\nabc");
    await_uploads(1);
    hang_up(&client);
    await_uploads_dropped(1);
    client = dial();
    put(&client, UPLOAD("") "Content-Length: 100\r\n\r\nabc");
    await_uploads(2);
    stop(); /* in the middle, too: the leak checker looks */
    hang_up(&client);
}

/* The end of the connection is there before the server has read what comes before it. */
TEST(the_end_of_a_client_is_seen_behind_many_bytes)
{
    static const size_t lengths[] = {1000, 40000, 70000, 150000, 199000};
    AUTO_FREE char *bytes = mem_zeroed(UPLOAD_LIMIT, 1);
    uint64_t deadline;
    struct http_stats stats;

    memset(bytes, 'x', UPLOAD_LIMIT - 1);
    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < 20 * COUNT_OF(lengths); i++) {
        struct client client = dial();

        put(&client, UPLOAD("") "Content-Length: 200000\r\n\r\n");
        put_bytes(&client, bytes, lengths[i % COUNT_OF(lengths)]);
        hang_up(&client);
    }
    deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;
    do {
        assert_true(clock_mono_ns() < deadline);
        http_stats(under.http, &stats);
    } while (stats.connections);
    assert_int_equal(stats.late, 0);
    lock_acquire(&under.lock);
    assert_int_equal(under.uploads, under.uploads_dropped);
    lock_release(&under.lock);
    stop();
}

/* Sends a byte now and then. Returns after so long, or when the server hangs up. */
static void drip(struct client *client, const char *piece, uint64_t milliseconds)
{
    uint64_t begun = clock_mono_ns();
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    while (clock_mono_ns() - begun < milliseconds * NS_PER_MS && poll(&ready, 1, 50) == 0)
        put(client, piece);
}

TEST(an_upload_may_take_long_if_it_keeps_coming)
{
    AUTO_FREE char *most = mem_zeroed(UPLOAD_LIMIT, 1);
    AUTO_FREE char *begun = NULL;
    struct client client;
    struct http_stats stats;

    memset(most, 'x', UPLOAD_LIMIT - 1000);
    begun = mem_printf(UPLOAD("") "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n",
                       UPLOAD_LIMIT - 1000, most);
    start(MODE_DIRECT, "--body-timeout", "0.4", NULL);
    client = dial();
    put(&client, begun);
    drip(&client, "1\r\nx\r\n", 1200); /* three times body_timeout */
    put(&client, "0\r\n\r\n");
    expect_answer(&client, "HTTP/1.1 200", "\"bytes\":199");
    hang_up(&client);
    http_stats(under.http, &stats);
    assert_int_equal(stats.late, 0);
    stop();
}

TEST(an_upload_that_drips_or_pauses_is_cut_off)
{
    struct client client;
    struct http_stats stats;

    start(MODE_DIRECT, "--body-timeout", "0.4", NULL);
    client = dial();
    put(&client, UPLOAD("") "Content-Length: 100000\r\n\r\n");
    drip(&client, "x", (uint64_t)PATIENCE_MS);
    http_stats(under.http, &stats);
    assert_int_equal(stats.late, 1);
    hang_up(&client);
    client = dial();
    put(&client, UPLOAD("") "Content-Length: 100000\r\n\r\nx");
    expect_end(&client);
    hang_up(&client);
    await_uploads_dropped(2);
    http_stats(under.http, &stats);
    assert_int_equal(stats.late, 2);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_taken_as_it_arrives),
        cmocka_unit_test(a_body_beyond_its_limit_is_refused),
        cmocka_unit_test(an_endpoint_may_refuse_or_answer_before_the_body),
        cmocka_unit_test(a_fault_in_the_middle_is_answered_at_once),
        cmocka_unit_test(an_upload_may_be_answered_later),
        cmocka_unit_test(a_client_that_leaves_in_the_middle_leaves_nothing),
        cmocka_unit_test(the_end_of_a_client_is_seen_behind_many_bytes),
        cmocka_unit_test(an_upload_may_take_long_if_it_keeps_coming),
        cmocka_unit_test(an_upload_that_drips_or_pauses_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
