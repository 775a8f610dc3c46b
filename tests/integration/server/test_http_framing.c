/*
 * Bytes that two readers could understand differently: where a line ends, which header it
 * belongs to, where a body ends. Each is refused, and what stands behind it is never a request,
 * whatever version of the library is installed and however the bytes arrive.
 *
 * Every sample is sent in one piece and byte by byte; alone, and behind requests that are
 * answered. The opposite is tested with the same care: a hundred random rows of valid requests
 * in random pieces must each get their own answer, because a reader that refuses too much is no
 * use.
 */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"
#include "server/http/mhd_overrides.h"
#include "server/http/parse/framing.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

/* Bytes that may hold a NUL. */
struct bytes {
    const char *data;
    size_t length;
};

/* clang-format off */
#define BYTES(text) {text, sizeof(text) - 1}
/* clang-format on */

#define GET  "GET /open HTTP/1.1\r\n"
#define POST "POST /echo HTTP/1.1\r\n" HOST KEY

static const struct bytes doubtful_heads[] = {
    /* values that go on in the next line */
    BYTES(POST "Content-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n\r\n{}"),
    BYTES(POST "Content-Length: 2\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n{}"),
    BYTES(POST "Transfer-Encoding: chunked\r\nX:\r\n y\r\n\r\n0\r\n\r\n"),
    BYTES(GET HOST "X: a\r\n b: c\r\n\r\n"),
    BYTES(GET HOST "X: a\r\n \r\n\r\n"),
    BYTES(GET " " HOST HOST "\r\n"),
    BYTES(GET "\t" HOST HOST "\r\n"),
    BYTES(GET " \r\n" HOST "\r\n"),
    /* NULs */
    BYTES("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer good\0junk\r\n\r\n"),
    BYTES("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer good\0\r\n\r\n"),
    BYTES("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer good\0\nX: y\r\n\r\n"),
    BYTES("GET /plain HTTP/1.1\r\n" HOST "Authorization: \0Bearer good\r\n\r\n"),
    BYTES("GET /plain HTTP/1.1\r\n" HOST KEY "X\0Y: z\r\n\r\n"),
    BYTES("GET /plain HTTP/1.1\r\n" HOST KEY "X: \0\r\n\r\n"),
    BYTES("GET /plain HTTP/1.1\r\n" HOST KEY "X\0: y\r\n\r\n"),
    BYTES(POST "Content-Length: 2\0"
               "2\r\n\r\n{}"),
    BYTES(POST "Content-Length: 2\r\nTransfer-Encoding\0: chunked\r\n\r\n{}"),
    BYTES(GET HOST "\0X: y\r\n\r\n"),
    BYTES(GET HOST "\0\n"),
    BYTES(GET HOST "\0\r\n"),
    BYTES(GET "\0" HOST "\r\n"),
    BYTES("\0\r\n"),
    BYTES("\0" GET HOST "\r\n"),
    BYTES("\0GET /open\r\n\r\n"),
    BYTES("G\0ET /open HTTP/1.1\r\n" HOST "\r\n"),
    BYTES("GET /op\0en HTTP/1.1\r\n" HOST "\r\n"),
    BYTES("GET /open HTTP/1.1\0\r\n" HOST "\r\n"),
    /* a CR alone */
    BYTES(GET HOST "X: a\rb\r\n\r\n"),
    BYTES(GET HOST "X: a\rContent-Length: 9\r\n\r\n"),
    BYTES(GET HOST "X: a\r\r\n\r\n"),
    BYTES(GET "\r" HOST "\r\n"),
    BYTES("GET /open HTTP/1.1\r\r\n" HOST "\r\n"),
    BYTES("GET /op\ren HTTP/1.1\r\n" HOST "\r\n"),
    BYTES("\r" GET HOST "\r\n"),
    /* an LF alone */
    BYTES("GET /open HTTP/1.1\n" HOST "\r\n"),
    BYTES("GET /open HTTP/1.1\nHost: test\n\n"),
    BYTES(GET "Host: test\n\r\n"),
    BYTES(GET HOST "\n"),
    BYTES(GET HOST "X: a\nContent-Length: 0\r\n\r\n"),
    BYTES("\n" GET HOST "\r\n"),
    /* names */
    BYTES(GET HOST "X : y\r\n\r\n"),
    BYTES(GET HOST "X\t: y\r\n\r\n"),
    BYTES(POST "Content-Length: 2\r\nTransfer-Encoding : chunked\r\n\r\n{}"),
    BYTES(GET HOST ": y\r\n\r\n"),
    BYTES(GET HOST "X Y: z\r\n\r\n"),
    BYTES(GET HOST "X(Y): z\r\n\r\n"),
    BYTES(GET HOST "X\x80: y\r\n\r\n"),
    BYTES(GET HOST "X\r\n\r\n"),
    BYTES(GET "X\r\n" HOST "\r\n"),
    /* other characters that must not be, and blanks */
    BYTES(GET HOST "X: a\x01"
                   "b\r\n\r\n"),
    BYTES(GET HOST "X: a\x7F\r\n\r\n"),
    BYTES("GET\t/open\tHTTP/1.1\r\n" HOST "\r\n"),
    BYTES("GET /open\tx HTTP/1.1\r\n" HOST "\r\n"),
    BYTES("GET  /open HTTP/1.1\r\n" HOST "\r\n"),
    BYTES("GET /open  HTTP/1.1\r\n" HOST "\r\n"),
    BYTES("GET /open HTTP/1.1 \r\n" HOST "\r\n"),
    /* lengths that only one reader may see */
    BYTES(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
    BYTES(POST "Content-Length: 2, 2\r\n\r\n{}"),
    BYTES(POST "Content-Length: 0x2\r\n\r\n{}"),
    BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"),
};

static const struct bytes doubtful_chunks[] = {
    /* lines that do not end as they must */
    BYTES("2\n{}\r\n0\r\n\r\n"),
    BYTES("2\r\n{}\n0\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\n\n"),
    BYTES("2\r\r\n{}\r\n0\r\n\r\n"),
    BYTES("2\r\n{}\r\r\n0\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\n\r\r\n\r\n"),
    /* sizes */
    BYTES("0x2\r\n{}\r\n0\r\n\r\n"),
    BYTES("+2\r\n{}\r\n0\r\n\r\n"),
    BYTES(" 2\r\n{}\r\n0\r\n\r\n"),
    BYTES("2 \r\n{}\r\n0\r\n\r\n"),
    BYTES("2\t\r\n{}\r\n0\r\n\r\n"),
    BYTES("2 ;a\r\n{}\r\n0\r\n\r\n"),
    BYTES("2\0\r\n{}\r\n0\r\n\r\n"),
    BYTES("\r\n2\r\n{}\r\n0\r\n\r\n"),
    BYTES(";a\r\n{}\r\n0\r\n\r\n"),
    BYTES("00000000000000002\r\n{}\r\n0\r\n\r\n"),
    BYTES("2\r\n{}}\r\n0\r\n\r\n"),
    BYTES("3\r\n{}\r\n0\r\n\r\n"),
    /* extensions */
    BYTES("2;a\n{}\r\n0\r\n\r\n"),
    BYTES("2;a\rb\r\n{}\r\n0\r\n\r\n"),
    BYTES("2;a\0b\r\n{}\r\n0\r\n\r\n"),
    BYTES("2;a=\"\x01\"\r\n{}\r\n0\r\n\r\n"),
    BYTES("2\r\n{}\r\n0;a\n\r\n"),
    /* trailers */
    BYTES("2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\n X: a\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\nX: a\0b\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\n\0\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\n\0X: a\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\nX: a\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\nX: a\rb\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\nX : a\r\n\r\n"),
    BYTES("2\r\n{}\r\n0\r\n: a\r\n\r\n"),
};

enum way { IN_ONE_PIECE, BYTE_BY_BYTE, WAY_COUNT };

static void put_pieces(struct client *client, enum way way, const struct buf *bytes)
{
    size_t piece = way == BYTE_BY_BYTE ? 1 : bytes->length;

    for (size_t i = 0; i < bytes->length; i += piece)
        put_bytes(client, bytes->data + i, piece);
}

static void expect_refused(struct client *client, const char *sample)
{
    const char *answer = get_answer(client);

    if (strncmp(answer, "HTTP/1.1 400 ", 13) != 0)
        fail_msg("%s\nwas answered:\n%s", sample, answer);
    expect_part(answer, "\r\nConnection: close\r\n");
    expect_part(answer, "{\"error\":{");
    expect_end(client);
}

/* After `before` requests that are answered, and in front of one that is not. */
static void refuse_after(unsigned before, const char *head, const struct bytes *sample,
                         enum way way)
{
    AUTO_BUF sent = {0};
    struct client client = dial();

    for (unsigned i = 0; i < before; i++)
        buf_add_text(&sent, OPEN_REQUEST);
    buf_add_text(&sent, head);
    buf_add(&sent, sample->data, sample->length);
    buf_add_text(&sent, OPEN_REQUEST);
    put_pieces(&client, way, &sent);
    for (unsigned i = 0; i < before; i++)
        expect_answer(&client, "HTTP/1.1 200", "hello");
    expect_refused(&client, sample->data);
    hang_up(&client);
}

static void refuse_all(const char *head, const struct bytes *samples, size_t count)
{
    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < count; i++)
        for (enum way way = 0; way < WAY_COUNT; way++) {
            refuse_after(0, head, &samples[i], way);
            refuse_after(2, head, &samples[i], way);
        }
    ask(OPEN_REQUEST, "HTTP/1.1 200", "hello");
    stop();
}

TEST(a_head_that_two_readers_read_differently_is_refused)
{
    refuse_all("", doubtful_heads, COUNT_OF(doubtful_heads));
}

TEST(chunks_that_two_readers_read_differently_are_refused)
{
    refuse_all(CHUNKED, doubtful_chunks, COUNT_OF(doubtful_chunks));
}

/* At the start of a line it is an empty line, which every reader takes for the end of a head. */
static bool is_clear(const char *request, size_t at, const struct bytes *piece)
{
    return at && request[at - 1] == '\n' && strcmp(piece->data, "\r\n ") == 0;
}

static void refuse_with(const char *request, size_t at, const struct bytes *piece)
{
    AUTO_BUF bytes = {0};

    buf_add(&bytes, request, at);
    buf_add(&bytes, piece->data, piece->length);
    buf_add_text(&bytes, request + at);
    refuse_after(0, "", &(struct bytes){bytes.data, bytes.length}, IN_ONE_PIECE);
}

/* In front of every byte but the last, before which an LF would end the request. */
TEST(a_byte_that_ends_a_line_for_some_is_refused_everywhere)
{
    static const struct bytes pieces[] = {BYTES("\0"), BYTES("\r"), BYTES("\n"),
                                          BYTES("\r\n ")};
    static const char *const requests[] = {
        GET HOST "X: y\r\n\r\n",
        CHUNKED "2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n",
    };

    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        for (size_t at = 0; requests[i][at + 1]; at++)
            for (size_t j = 0; j < COUNT_OF(pieces); j++)
                if (!is_clear(requests[i], at, &pieces[j]))
                    refuse_with(requests[i], at, &pieces[j]);
    stop();
}

TEST(the_error_says_what_is_wrong)
{
    static const struct {
        struct bytes sent;
        const char *text;
    } samples[] = {
        {BYTES(GET HOST "X: a\r\n b\r\n\r\n"), "continues on the next line"},
        {BYTES(GET HOST "X: a\0b\r\n\r\n"), "a NUL"},
        {BYTES(GET HOST "X: a\rb\r\n\r\n"), "a CR without an LF"},
        {BYTES(GET HOST "X: a\x01\r\n\r\n"), "a control character"},
        {BYTES("GET  /open HTTP/1.1\r\n" HOST "\r\n"), "two spaces"},
        {BYTES(CHUNKED "2;a\0b\r\n{}\r\n0\r\n\r\n"), "a NUL"},
        {BYTES(CHUNKED "00000000000000002\r\n{}\r\n0\r\n\r\n"), "size"},
    };

    if (MHD_VERSION >= 0x01000000) /* finds most of these itself, and says less */
        skip();
    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct client client = dial();

        put_bytes(&client, samples[i].sent.data, samples[i].sent.length);
        expect_part(get_answer(&client), samples[i].text);
        expect_end(&client);
        hang_up(&client);
    }
    stop();
}

/* Everything that a client may send: several requests one behind the other, bodies of both kinds
 * between them, in all the ways the standard allows. */
TEST(requests_with_one_meaning_are_answered)
{
    static const struct {
        const char *request, *status, *part;
    } samples[] = {
        {OPEN_REQUEST, "HTTP/1.1 200", "hello"},
        {"\r\n" OPEN_REQUEST, "HTTP/1.1 200", "hello"},
        {GET "Host:test\r\nX:\r\nY: \t\r\nZ: a \t \r\nW: caf\xC3\xA9\tb\r\n!#$%&'*+-.^_`|~9z: "
             ":\r\n\r\n",
         "HTTP/1.1 200", "hello"},
        {POST "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 200", "{}"},
        {POST "content-LENGTH:\t000000000000000007\r\n\r\n{\"a\":1}", "HTTP/1.1 200",
         "{\"a\":1}"},
        {POST "Content-Length: 0\r\n\r\n", "HTTP/1.1 400", "could not parse"},
        {POST "Content-Length: 22\r\n\r\n{\"a\":\"GET / HTTP/1.1\"}", "HTTP/1.1 200",
         "GET / HTTP"},
        {CHUNKED "2\r\n{}\r\n0\r\n\r\n", "HTTP/1.1 200", "{}"},
        {POST "transfer-encoding:  CHUNKED\r\n\r\n1\r\n{\r\n0000000000000001\r\n}\r\n"
              "000\r\nX: y\r\nContent-Length: 99\r\nZ:\r\n\r\n",
         "HTTP/1.1 200", "{}"},
        {CHUNKED "A\r\n{\"a\":\"\\n\"}\r\n0\r\n\r\n", "HTTP/1.1 200", "{\"a\":\"\\n\"}"},
        {CHUNKED "a\r\n{\"a\":\"\r\n\"}\r\n0\r\n\r\n", "HTTP/1.1 400", "could not parse"},
        {"GET /open HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nGET /", "HTTP/1.1 200",
         "hello"},
    };
    AUTO_BUF all = {0};

    for (size_t i = 0; i < COUNT_OF(samples); i++)
        buf_add_text(&all, samples[i].request);
    start(MODE_DIRECT, NULL);
    for (enum way way = 0; way < WAY_COUNT; way++) {
        struct client client = dial();

        put_pieces(&client, way, &all);
        for (size_t i = 0; i < COUNT_OF(samples); i++)
            expect_answer(&client, samples[i].status, samples[i].part);
        hang_up(&client);
    }
    ask("GET /open HTTP/1.0\r\n\r\n", "HTTP/1.1 200", "hello");
    ask("POST /echo HTTP/1.0\r\n" HOST KEY "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 200", "{}");
    stop();
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* A body that looks like requests and chunks, and says which one it is. */
static void add_body(struct buf *body, unsigned number, unsigned *seed)
{
    static const char *const pieces[] = {"GET /open HTTP/1.1", "0", "Host: test", ","};
    const char *gap = "";

    buf_addf(body, "{\"n\":%u,\"text\":[", number);
    for (unsigned left = next_random(seed) % 20; left; left--) {
        buf_addf(body, "%s\r\n\"%s\"\r\n", gap, pieces[next_random(seed) % COUNT_OF(pieces)]);
        gap = ",";
    }
    buf_add_text(body, "]}");
    for (unsigned left = next_random(seed) % 9; left; left--)
        buf_add_text(body, "\r\n");
}

static void add_chunks(struct buf *sent, const struct buf *body, unsigned *seed)
{
    buf_add_text(sent, CHUNKED);
    for (size_t at = 0; at < body->length;) {
        size_t left = body->length - at;
        size_t size = 1 + next_random(seed) % 40;

        size = size < left ? size : left;
        buf_addf(sent, next_random(seed) % 2 ? "%zx\r\n" : "0%zX\r\n", size);
        buf_add(sent, body->data + at, size);
        buf_add_text(sent, "\r\n");
        at += size;
    }
    buf_add_text(sent, next_random(seed) % 2 ? "0\r\n\r\n" : "000\r\nX: y\r\n\r\n");
}

static void add_request(struct buf *sent, unsigned number, unsigned *seed)
{
    AUTO_BUF body = {0};

    add_body(&body, number, seed);
    if (next_random(seed) % 2) {
        add_chunks(sent, &body, seed);
        return;
    }
    buf_addf(sent, POST "Content-Length: %zu\r\n\r\n", body.length);
    buf_add(sent, body.data, body.length);
}

static void put_random_pieces(struct client *client, const struct buf *bytes, unsigned *seed)
{
    for (size_t at = 0; at < bytes->length;) {
        size_t left = bytes->length - at;
        size_t size = 1 + next_random(seed) % 1500;

        size = size < left ? size : left;
        put_bytes(client, bytes->data + at, size);
        at += size;
    }
}

/* The server's reader and the library's: if they disagreed about where a request begins, an answer
 * would be missing, or would answer the text of a body. */
TEST(both_readers_find_the_same_requests)
{
    start(MODE_DIRECT, NULL);
    for (unsigned seed = 1; seed <= 100; seed++) {
        AUTO_BUF sent = {0};
        struct client client = dial();
        unsigned chance = seed;

        for (unsigned i = 0; i < 12; i++)
            add_request(&sent, i, &chance);
        put_random_pieces(&client, &sent, &chance);
        for (unsigned i = 0; i < 12; i++) {
            AUTO_FREE char *number = mem_printf("{\"n\":%u,", i);

            expect_answer(&client, "HTTP/1.1 200", number);
        }
        hang_up(&client);
    }
    stop();
}

TEST(chunks_may_have_extensions)
{
    if (MHD_VERSION >= 0x01000000) /* 1.0.1 reads the LF behind one as the chunk's first byte */
        skip();
    start(MODE_DIRECT, NULL);
    ask(CHUNKED "1;a=\"b c\";d\r\n{\r\n1;\r\n}\r\n0;e\r\n\r\n", "HTTP/1.1 200", "{}");
    stop();
}

TEST(a_body_may_hold_anything)
{
    static const struct bytes body = BYTES("{}\0\0\n\r\n\r\n \r\r\n\nGET / HTTP/1.1\r\n\r\n");
    static const char *const heads[] = {
        "OPTIONS /open HTTP/1.1\r\n" HOST "Content-Length: 32\r\n\r\n",
        "OPTIONS /open HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n20\r\n",
    };

    start(MODE_DIRECT, NULL);
    assert_int_equal(body.length, 32);
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        for (enum way way = 0; way < WAY_COUNT; way++) {
            AUTO_BUF sent = {0};
            struct client client = dial();

            buf_add_text(&sent, heads[i]);
            buf_add(&sent, body.data, body.length);
            buf_add_text(&sent, i ? "\r\n0\r\n\r\n" OPEN_REQUEST : OPEN_REQUEST);
            put_pieces(&client, way, &sent);
            expect_part(get_until(&client, "\r\n\r\n"), "HTTP/1.1 204");
            expect_answer(&client, "HTTP/1.1 200", "hello");
            hang_up(&client);
        }
    stop();
}

TEST(a_client_may_ask_before_it_sends)
{
    static const char *const requests[][2] = {
        {POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", "{}"},
        {POST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
         "2\r\n{}\r\n0\r\n\r\n"},
    };
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        put(&client, requests[i][0]);
        expect_part(get_until(&client, "\r\n\r\n"), "100 Continue");
        put(&client, requests[i][1]);
        expect_answer(&client, "HTTP/1.1 200", "{}");
    }
    hang_up(&client);
    stop();
}

/* To the library it would be an empty line, behind which it waits for a request. */
TEST(a_nul_is_answered_when_nothing_follows)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put_bytes(&client, "\0\r\n", 3);
    expect_refused(&client, "a NUL on a line");
    hang_up(&client);
    client = dial();
    put(&client, OPEN_REQUEST);
    expect_answer(&client, "HTTP/1.1 200", "hello");
    put_bytes(&client, "\0\r\n", 3);
    expect_refused(&client, "a NUL on a line");
    hang_up(&client);
    stop();
}

/* Every other reader in the process uses the same function. */
TEST(only_bytes_that_the_library_reads_are_checked)
{
    static const char nuls[] = {'\0', '\0'};
    struct framing framing = {0};
    char bytes[100];
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    mhd_read_along(fds[0], &framing);
    assert_int_equal(send(fds[1], OPEN_REQUEST, strlen(OPEN_REQUEST), 0), strlen(OPEN_REQUEST));
    assert_true(recv(fds[0], bytes, sizeof(bytes), MSG_PEEK) > 0);
    assert_int_equal(framing.heads, 0);
    assert_true(recv(fds[0], bytes, sizeof(bytes), 0) > 0);
    assert_int_equal(framing.heads, 1);
    assert_int_equal(send(fds[1], nuls, sizeof(nuls), 0), sizeof(nuls));
    assert_true(recv(fds[0], bytes, sizeof(bytes), 0) > 0);
    assert_memory_equal(bytes, "\x01\0", 2);
    mhd_read_along(fds[0], NULL);
    framing = (struct framing){0};
    assert_int_equal(send(fds[1], nuls, sizeof(nuls), 0), sizeof(nuls));
    assert_true(recv(fds[0], bytes, sizeof(bytes), 0) > 0);
    assert_null(framing.fault);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_that_two_readers_read_differently_is_refused),
        cmocka_unit_test(chunks_that_two_readers_read_differently_are_refused),
        cmocka_unit_test(a_byte_that_ends_a_line_for_some_is_refused_everywhere),
        cmocka_unit_test(the_error_says_what_is_wrong),
        cmocka_unit_test(requests_with_one_meaning_are_answered),
        cmocka_unit_test(both_readers_find_the_same_requests),
        cmocka_unit_test(chunks_may_have_extensions),
        cmocka_unit_test(a_body_may_hold_anything),
        cmocka_unit_test(a_client_may_ask_before_it_sends),
        cmocka_unit_test(a_nul_is_answered_when_nothing_follows),
        cmocka_unit_test(only_bytes_that_the_library_reads_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
