/*
 * Answers: their contents and their order, whether they are sent at once or later.
 *
 * Each endpoint of served_http.h answers in another way: at once, with an error, later from a
 * loop, by continuing on a worker. What all answers share is tested for each of them.
 */

#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

TEST(every_answer_names_its_request)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    for (int i = 0; i < 2; i++) { /* the second on the same connection */
        const char *answer;

        put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
        answer = get_answer(&client);
        expect_part(answer, "HTTP/1.1 200");
        expect_part(answer, "\r\nx-request-id: req_");
        expect_part(answer, "\r\nopenai-processing-ms: ");
        expect_part(answer, "\r\nopenai-version: 2020-10-01");
        expect_part(answer, "\r\nContent-Type: application/json\r\n");
        expect_part(answer, "\r\n\r\n{\"hello\":\"proj_1\"}");
        expect_no_part(answer, "should-retry");
    }
    hang_up(&client);
    stop();
}

TEST(errors_come_in_their_envelope)
{
    start(MODE_DIRECT, NULL);
    ask("GET /error HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400",
        "{\"error\":{\"message\":\"no \\\"such\\\" luck\",\"type\":\"invalid_request_error\","
        "\"param\":\"a_param\",\"code\":\"a_code\"}}");
    ask("GET /error HTTP/1.1\r\n" HOST KEY "\r\n", "400", "x-should-retry: false");
    ask("GET /internal HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 500",
        "{\"error\":{\"message\":\"The server had an error while processing your request.\","
        "\"type\":\"server_error\",\"param\":null,\"code\":null}}");
    stop();
}

TEST(a_key_is_required_and_a_lost_store_accepts_none)
{
    start(MODE_DIRECT, NULL);
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200", "hello");
    ask("GET /plain HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 401", "\"message\":\"no key\"");
    ask("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer bad\r\n\r\n", "HTTP/1.1 401",
        "\"code\":\"invalid_api_key\"");
    ask("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer away\r\n\r\n", "HTTP/1.1 503",
        "retry-after: 1");
    ask("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 401", "no key");
    stop();
}

TEST(unknown_paths_and_methods_are_told_apart)
{
    start(MODE_DIRECT, NULL);
    ask("POST /v1/foo?x=1 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 404",
        "\"message\":\"Invalid URL (POST /v1/foo)\"");
    ask("PUT /plain HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 405",
        "\r\nAllow: GET, HEAD, OPTIONS\r\n");
    ask("OPTIONS /plain HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 204",
        "\r\nAllow: GET, HEAD, OPTIONS\r\n");
    ask("OPTIONS /foo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404", "Invalid URL (OPTIONS /foo)");
    stop();
}

TEST(head_is_a_get_without_a_body)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "HEAD /plain HTTP/1.1\r\n" HOST KEY "\r\n"
                 "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_part(get_until(&client, "\r\n\r\n"), "Content-Length: 18");
    expect_answer(&client, "HTTP/1.1 200", "{\"hello\":\"proj_1\"}");
    hang_up(&client);
    stop();
}

TEST(browsers_are_answered_by_the_setting)
{
    const char *preflight = "OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: https://a.example\r\n"
                            "Access-Control-Request-Method: POST\r\n"
                            "Access-Control-Request-Headers: authorization,x-new\r\n\r\n";
    struct client client;

    start(MODE_DIRECT, "--cors-origins", "https://b.example, https://a.example", NULL);
    ask(preflight, "HTTP/1.1 204", "Access-Control-Allow-Origin: https://a.example\r\n");
    ask(preflight, "HTTP/1.1 204", "Access-Control-Allow-Headers: authorization,x-new\r\n");
    ask(preflight, "HTTP/1.1 204", "Access-Control-Allow-Methods: POST, OPTIONS\r\n");
    ask("GET /error HTTP/1.1\r\n" HOST "Origin: https://b.example\r\n\r\n", "HTTP/1.1 401",
        "Access-Control-Allow-Origin: https://b.example\r\n");
    client = dial();
    put(&client, "GET /open HTTP/1.1\r\n" HOST "Origin: https://c.example\r\n\r\n");
    expect_no_part(get_answer(&client), "Access-Control");
    hang_up(&client);
    stop();

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, preflight);
    expect_no_part(get_answer(&client), "Access-Control");
    hang_up(&client);
    stop();
}

TEST(pipelined_requests_are_answered_in_order)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n"
                 "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 7\r\n\r\n{\"b\":2}"
                 "GET /nowhere HTTP/1.1\r\n" HOST "\r\n"
                 "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    expect_answer(&client, "HTTP/1.1 200", "{\"b\":2}");
    expect_answer(&client, "HTTP/1.1 404", "Invalid URL");
    expect_answer(&client, "HTTP/1.1 200", "hello");
    hang_up(&client);
    stop();
}

TEST(an_answer_may_come_later)
{
    struct client client;
    const char *answer;

    start(MODE_DIRECT, NULL);
    client = dial();
    for (unsigned i = 1; i <= 3; i++) {
        put(&client, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
        await_made(i);
        play(ACT_ANSWER, "at last", 0);
        answer = get_answer(&client);
        expect_part(answer, "HTTP/1.1 201");
        expect_part(answer, "\r\nx-played: yes\r\n");
        expect_part(answer, "{\"answer\":\"at last\"}");
    }
    put(&client, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(4);
    play(ACT_CLOSE, NULL, 0); /* without an answer */
    expect_answer(&client, "HTTP/1.1 503", "server_error");
    hang_up(&client);
    stop();
}

TEST(a_request_that_waits_may_continue_in_any_way)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "GET /later HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    play(ACT_GO_ON, NULL, 0);
    expect_answer(&client, "HTTP/1.1 207", "\r\n\r\nlater");
    under.stream_later = true;
    put(&client, "GET /later HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(2);
    play(ACT_GO_ON, NULL, 0);
    await_made(3);
    say("data: 1\n\n");
    expect_part(get_until(&client, "data: 1\n\n\r\n"), "text/event-stream");
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "0\r\n\r\n");
    put(&client, "GET /later HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(4);
    hang_up(&client);
    await_gone();
    await_dropped();
    stop();
}

TEST(a_client_that_stops_waiting_is_noticed)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    hang_up(&client);
    await_gone();
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "200", "hello");
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_names_its_request),
        cmocka_unit_test(errors_come_in_their_envelope),
        cmocka_unit_test(a_key_is_required_and_a_lost_store_accepts_none),
        cmocka_unit_test(unknown_paths_and_methods_are_told_apart),
        cmocka_unit_test(head_is_a_get_without_a_body),
        cmocka_unit_test(browsers_are_answered_by_the_setting),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(an_answer_may_come_later),
        cmocka_unit_test(a_request_that_waits_may_continue_in_any_way),
        cmocka_unit_test(a_client_that_stops_waiting_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
