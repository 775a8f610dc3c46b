#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/http/websocket/codec.h"
#include "tests/support/test.h"

static struct buf received; /* messages, each followed by "|" */

static void receive(void *arg, char *text, size_t length)
{
    (void)arg;
    buf_add(&received, text, length);
    buf_add_char(&received, '|');
    free(text);
}

static struct ws_codec *codec_new(void)
{
    buf_clear(&received);
    buf_add_text(&received, "|");
    return ws_codec_new(100, receive, NULL);
}

/* A frame with a mask of zeros: its payload is as it is read. */
static void feed(struct ws_codec *codec, int first_byte, const char *payload)
{
    AUTO_BUF frame = {0};

    buf_add_char(&frame, (char)first_byte);
    buf_add_char(&frame, (char)(0x80 | strlen(payload)));
    buf_add(&frame, "\0\0\0\0", 4);
    buf_add_text(&frame, payload);
    ws_codec_feed(codec, frame.data, frame.length);
}

static void assert_out(struct ws_codec *codec, const char *bytes, size_t length)
{
    struct buf *out = ws_codec_out(codec);

    assert_int_equal(out->length, length);
    assert_memory_equal(out->data, bytes, length);
    buf_reset(out);
}

TEST(fragments_are_joined_around_pings)
{
    struct ws_codec *codec = codec_new();

    feed(codec, 0x81, "one");
    feed(codec, 0x01, "tw");
    assert_int_equal(ws_codec_partial(codec), 2);
    feed(codec, 0x89, "p");
    assert_out(codec, "\x8A\x01p", 3);
    feed(codec, 0x80, "o");
    assert_string_equal(received.data, "|one|two|");
    assert_int_equal(ws_codec_partial(codec), 0);
    assert_false(ws_codec_is_closed(codec));
    ws_codec_free(codec);
}

TEST(sent_messages_are_framed_and_end_with_a_close)
{
    struct ws_codec *codec = codec_new();

    ws_codec_text(codec, "{}", 2);
    ws_codec_ping(codec);
    assert_out(codec, "\x81\x02{}\x89\x00", 6);
    ws_codec_close(codec, WS_CLOSE_GOING_AWAY, "x");
    assert_out(codec, "\x88\x03\x03\xE9x", 5);
    ws_codec_text(codec, "{}", 2);
    ws_codec_close(codec, WS_CLOSE_NORMAL, "");
    feed(codec, 0x81, "late");
    assert_int_equal(ws_codec_out(codec)->length, 0);
    assert_string_equal(received.data, "|");
    ws_codec_free(codec);
}

TEST(a_close_is_answered)
{
    struct ws_codec *codec = codec_new();

    feed(codec, 0x88, "\x03\xE8");
    assert_true(ws_codec_is_closed(codec));
    assert_out(codec, "\x88\x02\x03\xE8", 4);
    ws_codec_free(codec);
}

static void assert_refused(int first_byte, const char *payload, int code)
{
    struct ws_codec *codec = codec_new();
    struct buf *out = ws_codec_out(codec);

    feed(codec, first_byte, payload);
    assert_true(ws_codec_is_closed(codec));
    assert_true(out->length >= 4);
    assert_int_equal((unsigned char)out->data[2] << 8 | (unsigned char)out->data[3], code);
    assert_string_equal(received.data, "|");
    ws_codec_free(codec);
}

TEST(violations_of_the_protocol_are_refused)
{
    char large[102] = {0};

    memset(large, ' ', 101);
    assert_refused(0xC1, "x", 1002); /* a reserved bit */
    assert_refused(0x83, "x", 1002); /* a reserved frame */
    assert_refused(0x80, "x", 1002); /* continues no message */
    assert_refused(0x09, "x", 1002); /* half a ping */
    assert_refused(0x82, "x", 1003); /* binary */
    assert_refused(0x81, "\xFF", 1007);
    assert_refused(0x81, "\xC3", 1007);
    assert_refused(0x81, large, 1009);
}

TEST(pings_before_a_bad_frame_are_answered)
{
    struct ws_codec *codec = codec_new();

    ws_codec_feed(codec, "\x89\x80\0\0\0\0\x09\x80\0\0\0\0", 12);
    assert_out(codec, "\x8A\x00\x88\x02\x03\xEA", 6);
    ws_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_are_joined_around_pings),
        cmocka_unit_test(sent_messages_are_framed_and_end_with_a_close),
        cmocka_unit_test(a_close_is_answered),
        cmocka_unit_test(violations_of_the_protocol_are_refused),
        cmocka_unit_test(pings_before_a_bad_frame_are_answered),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    buf_clear(&received);
    return failed;
}
