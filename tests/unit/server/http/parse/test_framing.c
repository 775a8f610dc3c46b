#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "server/http/parse/framing.h"
#include "tests/support/test.h"

#define GET     "GET / HTTP/1.1\r\n"
#define POST    "POST / HTTP/1.1\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* What is read completely, and the fault of the next; NULL: none. */
struct sample {
    uint64_t heads, requests;
    const char *fault;
    const char *bytes;
    size_t length;
};

/* clang-format off */
#define SAMPLE(heads, requests, fault, bytes) {heads, requests, fault, bytes, sizeof(bytes) - 1}
/* clang-format on */

static void expect(const struct sample *sample, const struct framing *framing)
{
    bool same = sample->fault ? framing->fault && strstr(framing->fault, sample->fault)
                              : !framing->fault;

    if (framing->heads != sample->heads || framing->requests != sample->requests || !same)
        fail_msg("%s\nhas %d heads, %d requests, and: %s", sample->bytes, (int)framing->heads,
                 (int)framing->requests, framing->fault);
}

static void read_both_ways(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct framing whole = {0}, cut = {0};

        (void)framing_read(&whole, samples[i].bytes, samples[i].length);
        for (size_t at = 0; at < samples[i].length; at++)
            (void)framing_read(&cut, samples[i].bytes + at, 1);
        expect(&samples[i], &whole);
        expect(&samples[i], &cut);
    }
}

TEST(requests_end_where_they_say)
{
    static const struct sample samples[] = {
        SAMPLE(0, 0, NULL, ""),
        SAMPLE(0, 0, NULL, "\r\n\r\n"),
        SAMPLE(0, 0, NULL, GET "\r"),
        SAMPLE(1, 1, NULL, GET "\r\n"),
        SAMPLE(1, 1, NULL, "\r\n" GET "\r\n" GET),
        SAMPLE(1, 1, NULL, "G \xC3\xA9 HTTP/1.1\r\n!#9:\t\xFF \t\r\nX:\r\nX: :\r\n\r\n"),
        SAMPLE(2, 2, NULL, GET "\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: 3\r\n\r\n\0\n"),
        SAMPLE(1, 1, NULL, POST "Content-Length: 3\r\n\r\n\0\n\r"),
        SAMPLE(2, 2, NULL, POST "content-length:\t003 \r\n\r\n\0\n\r" GET "\r\n"),
        SAMPLE(2, 2, NULL, POST "Content-Length: 0\r\n\r\n" GET "\r\n"),
        SAMPLE(2, 2, NULL, POST "Content-Lengths: 3\r\nX-Content-Length: 3\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, CHUNKED),
        SAMPLE(1, 0, NULL, CHUNKED "A\r\n0123456789\r\n0\r\n"),
        SAMPLE(1, 1, NULL, CHUNKED "A\r\n0123456789\r\n0\r\n\r\n"),
        SAMPLE(2, 2, NULL, CHUNKED "0a\r\n\0\r\n\r\n\r\n\r\n\r\r\n00\r\n\r\n" GET "\r\n"),
        SAMPLE(2, 2, NULL,
               CHUNKED "1;a=\"\t;\"\r\nx\r\n0;\r\nContent-Length: 99\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 1, NULL, POST "TRANSFER-ENCODING:Chunked \t\r\n\r\n0\r\n\r\n"),
        SAMPLE(1, 1, NULL, CHUNKED "0000000000000000\r\n\r\n"),
    };

    read_both_ways(samples, COUNT_OF(samples));
}

/* The bytes of such a head are fine. hygiene.c refuses it. */
TEST(nothing_is_read_after_a_request_without_a_known_end)
{
    static const struct sample samples[] = {
        SAMPLE(1, 0, NULL, POST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: 1, 1\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: 1 1\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: +0\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length:\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: 0000000000000000000\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: 000000000000000000000\r\n\r\n" GET "\r\n"),
        SAMPLE(1, 0, NULL, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        SAMPLE(1, 0, NULL, POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
        SAMPLE(1, 0, NULL,
               POST
               "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SAMPLE(1, 0, NULL,
               POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        SAMPLE(1, 0, NULL,
               POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SAMPLE(1, 0, NULL, POST "Content-Length: 0\r\nTransfer-Encoding: x\r\n\r\n" GET "\r\n"),
    };

    read_both_ways(samples, COUNT_OF(samples));
}

TEST(nothing_is_trusted_after_a_fault)
{
    static const struct sample samples[] = {
        SAMPLE(0, 0, "without a CR", "\n" GET "\r\n"),
        SAMPLE(0, 0, "without a CR", "GET / HTTP/1.1\n\r\n"),
        SAMPLE(0, 0, "without a CR", GET "X: y\n\r\n"),
        SAMPLE(0, 0, "without a CR", GET "\n"),
        SAMPLE(1, 1, "without a CR", GET "\r\n\n" GET "\r\n"),
        SAMPLE(0, 0, "without an LF", "\r" GET "\r\n"),
        SAMPLE(0, 0, "without an LF", GET "X: a\rb\r\n\r\n"),
        SAMPLE(0, 0, "without an LF", GET "X: a\r\r\n\r\n"),
        SAMPLE(0, 0, "without an LF", GET "\r\0\n"),
        SAMPLE(0, 0, "a NUL", "\0\r\n" GET "\r\n"),
        SAMPLE(0, 0, "a NUL", "GET /\0 HTTP/1.1\r\n\r\n"),
        SAMPLE(0, 0, "a NUL", GET "\0\r\n"),
        SAMPLE(0, 0, "a NUL", GET "X\0: y\r\n\r\n"),
        SAMPLE(0, 0, "a NUL", GET "X: \0\r\n\r\n"),
        SAMPLE(0, 0, "a NUL", GET "X: y\0\n\r\n"),
        SAMPLE(0, 0, "control", GET "X: \x01\r\n\r\n"),
        SAMPLE(0, 0, "control", GET "X: \x7F\r\n\r\n"),
        SAMPLE(0, 0, "a tab", "GET\t/ HTTP/1.1\r\n\r\n"),
        SAMPLE(0, 0, "two spaces", "GET / HTTP/1.1 \r\n\r\n"),
        SAMPLE(0, 0, "two spaces", "GET /\r\n\r\n"),
        SAMPLE(0, 0, "next line", GET " X: y\r\n\r\n"),
        SAMPLE(0, 0, "next line", GET "X: y\r\n\tz\r\n\r\n"),
        SAMPLE(0, 0, "next line", POST "Transfer-Encoding:\r\n chunked\r\n\r\n"),
        SAMPLE(0, 0, "no colon", GET "X\r\n\r\n"),
        SAMPLE(0, 0, "header name", GET "X : y\r\n\r\n"),
        SAMPLE(0, 0, "header name", GET ": y\r\n\r\n"),
        SAMPLE(0, 0, "header name", GET "X\xC3\xA9: y\r\n\r\n"),
        SAMPLE(1, 0, "no size", CHUNKED "\r\n"),
        SAMPLE(1, 0, "invalid size", CHUNKED ";\r\n"),
        SAMPLE(1, 0, "invalid size", CHUNKED "0x1\r\n"),
        SAMPLE(1, 0, "invalid size", CHUNKED " 1\r\n"),
        SAMPLE(1, 0, "invalid size", CHUNKED "1 \r\n"),
        SAMPLE(1, 0, "invalid size", CHUNKED "00000000000000001\r\n"),
        SAMPLE(1, 0, "without a CR", CHUNKED "1\nx\r\n0\r\n\r\n"),
        SAMPLE(1, 0, "without a CR", CHUNKED "1;\nx\r\n0\r\n\r\n"),
        SAMPLE(1, 0, "without a CR", CHUNKED "1\r\nx\n0\r\n\r\n"),
        SAMPLE(1, 0, "without a CR", CHUNKED "1\r\nx\r\n0\r\n\n"),
        SAMPLE(1, 0, "longer", CHUNKED "1\r\nxy\r\n0\r\n\r\n"),
        SAMPLE(1, 0, "a NUL", CHUNKED "1;\0\r\nx\r\n0\r\n\r\n"),
        SAMPLE(1, 0, "a NUL", CHUNKED "1\r\nx\r\n0\r\n\0\r\n"),
        SAMPLE(1, 0, "next line", CHUNKED "1\r\nx\r\n0\r\nX: y\r\n z\r\n\r\n"),
        SAMPLE(1, 0, "no colon", CHUNKED "1\r\nx\r\n0\r\nX\r\n\r\n"),
    };

    read_both_ways(samples, COUNT_OF(samples));
}

TEST(the_first_fault_counts)
{
    struct framing framing = {0};
    const char *fault;

    assert_int_equal(framing_read(&framing, GET "X: a\0b", 22), 20);
    fault = framing.fault;
    assert_int_equal(framing_read(&framing, "\0\n\r\n\r\n" GET "\r\n", 24), 24);
    assert_ptr_equal(framing.fault, fault);
    assert_int_equal(framing.heads, 0);
}

TEST(the_bytes_of_a_body_are_not_interpreted)
{
    static const char zeros[1 << 16];
    AUTO_BUF head = {0};
    struct framing framing = {0};

    buf_addf(&head, POST "Content-Length: %zu\r\n\r\n", 100 * sizeof(zeros));
    assert_int_equal(framing_read(&framing, head.data, head.length), head.length);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(framing.requests, 0);
        assert_int_equal(framing_read(&framing, zeros, sizeof(zeros)), sizeof(zeros));
    }
    assert_int_equal(framing.requests, 1);
    assert_int_equal(framing_read(&framing, zeros, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_end_where_they_say),
        cmocka_unit_test(nothing_is_read_after_a_request_without_a_known_end),
        cmocka_unit_test(nothing_is_trusted_after_a_fault),
        cmocka_unit_test(the_first_fault_counts),
        cmocka_unit_test(the_bytes_of_a_body_are_not_interpreted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
