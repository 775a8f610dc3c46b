#include <string.h>

#include "server/http/parse/hygiene.h"
#include "tests/support/test.h"

#define LIMIT 12288

/* The head of one request: the line, and "Name|value" headers up to NULL. */
struct sample {
    int status;
    const char *method, *target, *version;
    const char *headers[6];
};

static struct hygiene_report report_of(const struct sample *sample)
{
    struct hygiene_header headers[8];
    struct hygiene_head head = {
        .method = sample->method,
        .target = sample->target,
        .version = sample->version,
        .headers = headers,
        .size_limit = LIMIT,
    };

    for (size_t i = 0; sample->headers[i]; i++) {
        const char *bar = strchr(sample->headers[i], '|');

        headers[head.header_count++] = (struct hygiene_header){
            sample->headers[i], (size_t)(bar - sample->headers[i]), bar + 1, strlen(bar + 1)};
    }
    return hygiene_check(&head);
}

#define HOST "Host|a.example:80"

TEST(each_doubtful_head_gets_its_status)
{
    static const struct sample samples[] = {
        {0, "GET", "/", "HTTP/1.1", {HOST}},
        {0, "GET", "/", "HTTP/1.0", {NULL}},
        {0, "POST", "/v1/x?y=%20", "HTTP/1.1", {HOST, "Content-Length|0"}},
        {0, "POST", "/", "HTTP/1.1", {HOST, "Transfer-Encoding|Chunked"}},
        {0, "GET", "/", "HTTP/1.1", {HOST, "X-Text|caf\xC3\xA9\tand more"}},
        /* the request line */
        {501, "TRACE", "/", "HTTP/1.1", {HOST}},
        {501, "CONNECT", "/", "HTTP/1.1", {HOST}},
        {501, "get", "/", "HTTP/1.1", {HOST}},
        {501, "", "/", "HTTP/1.1", {HOST}},
        {505, "GET", "/", "HTTP/1.2", {HOST}},
        {505, "GET", "/", "HTTP/0.9", {HOST}},
        {505, "GET", "/", "HTTP/2.0", {HOST}},
        {400, "GET", "http://a.example/", "HTTP/1.1", {HOST}},
        {400, "OPTIONS", "*", "HTTP/1.1", {HOST}},
        {400, "GET", "", "HTTP/1.1", {HOST}},
        {400, "GET", "/a b", "HTTP/1.1", {HOST}},
        {400, "GET", "/a\tb", "HTTP/1.1", {HOST}},
        {400, "GET", "/a\rb", "HTTP/1.1", {HOST}},
        {400, "GET", "/a#b", "HTTP/1.1", {HOST}},
        {400, "GET", "/a\\b", "HTTP/1.1", {HOST}},
        /* Host */
        {400, "GET", "/", "HTTP/1.1", {NULL}},
        {400, "GET", "/", "HTTP/1.1", {HOST, HOST}},
        {400, "GET", "/", "HTTP/1.1", {"Host|a/b"}},
        {400, "GET", "/", "HTTP/1.1", {"Host|a,b"}},
        /* lengths */
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|+1"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|-1"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|0x1"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1,1"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1 "}},
        {413, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|9999999999999999999"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|9999999999999999999x"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1", "Content-Length|1"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1", "content-length|2"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1", "Transfer-Encoding|chunked"}},
        {400, "POST", "/", "HTTP/1.0", {HOST, "Transfer-Encoding|chunked"}},
        {501, "POST", "/", "HTTP/1.1", {HOST, "Transfer-Encoding|gzip"}},
        {501, "POST", "/", "HTTP/1.1", {HOST, "Transfer-Encoding|gzip, chunked"}},
        {501, "POST", "/", "HTTP/1.1", {HOST, "Transfer-Encoding|xchunked"}},
        {501, "POST", "/", "HTTP/1.1", {HOST, "Transfer-Encoding|"}},
        {400,
         "POST",
         "/",
         "HTTP/1.1",
         {HOST, "Transfer-Encoding|chunked", "Transfer-Encoding|chunked"}},
        /* Expect */
        {0, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1", "Expect|100-Continue"}},
        {0, "POST", "/", "HTTP/1.0", {"Expect|anything"}},
        {417, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1", "Expect|foo"}},
        {417, "GET", "/", "HTTP/1.1", {HOST, "Expect|"}},
        {417, "GET", "/", "HTTP/1.1", {HOST, "Expect|100-continue, foo"}},
        /* names and values */
        {400, "GET", "/", "HTTP/1.1", {HOST, "X A|1"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "Transfer-Encoding |chunked"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "|1"}},
        /* values that are trusted, and must be the only one */
        {400, "GET", "/", "HTTP/1.1", {HOST, "Origin|http://a", "origin|http://b"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "Sec-Fetch-Site|none", "Sec-Fetch-Site|none"}},
        {400, "POST", "/", "HTTP/1.1", {HOST, "Idempotency-Key|a", "Idempotency-Key|b"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "Last-Event-ID|1", "Last-Event-ID|2"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "Sec-WebSocket-Key|a", "Sec-WebSocket-Key|b"}},
        {400,
         "GET",
         "/",
         "HTTP/1.1",
         {HOST, "Sec-WebSocket-Version|13", "Sec-WebSocket-Version|13"}},
        {0, "GET", "/", "HTTP/1.1", {HOST, "Connection|keep-alive", "Connection|Upgrade"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "X\x80|1"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "X|a\rb"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "X|a\nb"}},
        {400, "GET", "/", "HTTP/1.1", {HOST, "X|a\x7f"}},
        {400,
         "GET",
         "/",
         "HTTP/1.1",
         {HOST, "Authorization|Bearer a", "authorization|Bearer b"}},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
        struct hygiene_report report = report_of(&samples[i]);

        if (report.status != samples[i].status)
            fail_msg("sample %zu (%s %s): %d %s", i, samples[i].method, samples[i].target,
                     report.status, report.text);
        if (report.status)
            assert_non_null(report.text);
    }
}

TEST(the_body_is_described)
{
    struct sample sample = {0, "POST", "/", "HTTP/1.1", {HOST, "Content-Length|1234"}};
    struct hygiene_report report = report_of(&sample);

    assert_true(report.has_body && !report.chunked && report.length == 1234);
    sample.headers[1] = "Transfer-Encoding|chunked";
    report = report_of(&sample);
    assert_true(report.has_body && report.chunked);
    sample.headers[1] = NULL;
    report = report_of(&sample);
    assert_false(report.has_body);
}

TEST(size_is_limited_to_the_byte)
{
    static char value[LIMIT];
    struct hygiene_header headers[] = {{"Host", 4, "a", 1}, {"X", 1, value, 0}};
    struct hygiene_head head = {"GET", "/", "HTTP/1.1", headers, 2, LIMIT};
    /* "GET / HTTP/1.1\r\n", "Host: a\r\n", "X: \r\n" */
    size_t rest = LIMIT - 16 - 9 - 5;

    memset(value, 'v', sizeof(value));
    headers[1].value_length = rest;
    assert_int_equal(hygiene_check(&head).status, 0);
    headers[1].value_length = rest + 1;
    assert_int_equal(hygiene_check(&head).status, 431);
}

TEST(headers_are_limited_in_number)
{
    struct hygiene_header headers[HYGIENE_HEADER_LIMIT + 1];
    struct hygiene_head head = {"GET", "/", "HTTP/1.1", headers, HYGIENE_HEADER_LIMIT, LIMIT};

    for (size_t i = 0; i <= HYGIENE_HEADER_LIMIT; i++)
        headers[i] = (struct hygiene_header){"X", 1, "1", 1};
    headers[0] = (struct hygiene_header){"Host", 4, "a", 1};
    assert_int_equal(hygiene_check(&head).status, 0);
    head.header_count++;
    assert_int_equal(hygiene_check(&head).status, 431);
}

TEST(the_client_says_whether_the_connection_stays_open)
{
    static const struct {
        bool keep_alive;
        struct sample sample;
    } samples[] = {
        {true, {0, "GET", "/", "HTTP/1.1", {HOST}}},
        {true, {0, "GET", "/", "HTTP/1.1", {HOST, "connection|Keep-Alive"}}},
        {false, {0, "GET", "/", "HTTP/1.1", {HOST, "Connection|close"}}},
        {false, {0, "GET", "/", "HTTP/1.1", {HOST, "Connection|keep-alive, close"}}},
        {false,
         {0, "GET", "/", "HTTP/1.1", {HOST, "Connection|keep-alive", "Connection|close"}}},
        {false, {0, "GET", "/", "HTTP/1.1", {HOST, "Connection|Upgrade"}}},
        {false, {0, "GET", "/", "HTTP/1.0", {HOST, "Connection|keep-alive"}}},
        {false, {400, "GET", "/a b", "HTTP/1.1", {HOST}}},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
        assert_int_equal(report_of(&samples[i].sample).keep_alive, samples[i].keep_alive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_doubtful_head_gets_its_status),
        cmocka_unit_test(the_body_is_described),
        cmocka_unit_test(the_client_says_whether_the_connection_stays_open),
        cmocka_unit_test(size_is_limited_to_the_byte),
        cmocka_unit_test(headers_are_limited_in_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
