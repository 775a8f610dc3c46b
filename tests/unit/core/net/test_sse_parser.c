#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/net/sse_parser.h"
#include "tests/support/test.h"

/* The events, as text: "name:data;" for each. */
struct seen {
    struct buf text;
    struct sse_parser *parser;
    int stop_after; /* events; 0 for never */
    int count;
};

static bool note(void *arg, const char *name, const char *data, size_t length)
{
    struct seen *seen = arg;

    buf_addf(&seen->text, "%s:", name);
    buf_add(&seen->text, data, length);
    buf_add_char(&seen->text, ';');
    return ++seen->count != seen->stop_after;
}

/* Feeds `text` in pieces of `step` bytes, each in memory of its own, so that the address sanitizer
 * notices reads beyond a piece or after its time. */
static enum err_code feed(const char *text, size_t length, size_t step, struct seen *seen)
{
    struct sse_parser parser = {0};
    enum err_code rc = ERR_OK;

    for (size_t at = 0; at < length && !rc; at += step) {
        size_t size = length - at < step ? length - at : step;
        char *piece = malloc(size);

        memcpy(piece, text + at, size);
        rc = sse_parser_feed(&parser, piece, size, note, seen);
        free(piece);
    }
    if (!rc)
        rc = sse_parser_end(&parser, note, seen);
    sse_parser_clear(&parser);
    return rc;
}

/* clang-format off */
static const struct {
    const char *stream;
    const char *events;
} streams[] = {
    {"data: a\n\n",                                  ":a;"},
    {"data:a\n\ndata: b\n\n",                        ":a;:b;"},
    {"data:  two blanks\n\n",                        ": two blanks;"},
    {"event: ping\ndata: {}\n\n",                    "ping:{};"},
    {"data: {}\nevent: late\n\ndata: next\n\n",      "late:{};:next;"},
    {"event: a\nevent: b\ndata: x\n\n",              "b:x;"},
    {"data: 1\ndata: 2\ndata:\ndata: 3\n\n",         ":1\n2\n\n3;"},
    {"data\n\n",                                     ":;"},
    {"data:\n\n",                                    ":;"},
    {"data\ndata\n\n",                               ":\n;"},
    {"event: nothing\n\ndata: x\n\n",                ":x;"},
    {": comment\n\n: another\ndata: x\n: inside\n\n", ":x;"},
    {":\n\n:\r\n\r\ndata:x\n\n",                     ":x;"},
    {"id: 7\nretry: 10\nother: z\nDATA: no\ndatax: no\ndata : no\ndata: yes\n\n", ":yes;"},
    {"data: a\r\n\r\ndata: b\r\n\r\n",               ":a;:b;"},
    {"data: a\r\rdata: b\r\r",                       ":a;:b;"},
    {"data: a\r\n\rdata: b\n\r\n",                   ":a;:b;"},
    {"data: a\n\r\ndata: b\r\ndata: c\r\r\n\n",      ":a;:b\nc;"},
    {"\xEF\xBB\xBF" "data: a\n\ndata: \xEF\xBB\xBF" "b\n\n", ":a;:\xEF\xBB\xBF" "b;"},
    {"\n\n\xEF\xBB\xBF" "data: a\n\ndata: b\n\n",    ":b;"},
    {"\n\n\n",                                       ""},
    {"",                                             ""},
    {"data: open",                                   ":open;"},
    {"data: open\n",                                 ":open;"},
    {"event: e\ndata: 1\nda",                        "e:1;"},
    {"event: e\ndata: 1\ndata: 2\r",                 "e:1\n2;"},
    {"event: alone",                                 ""},
    {"data: [DONE]\n\n",                             ":[DONE];"},
    {"data: a:b: c\n\n",                             ":a:b: c;"},
};
/* clang-format on */

TEST(events_follow_the_standard_wherever_the_bytes_are_cut)
{
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        size_t length = strlen(streams[i].stream);

        for (size_t step = 1; step <= length + 1; step++) {
            struct seen seen = {0};

            assert_int_equal(feed(streams[i].stream, length, step, &seen), ERR_OK);
            assert_string_equal(seen.text.data ? seen.text.data : "", streams[i].events);
            buf_clear(&seen.text);
        }
    }
}

TEST(an_error_field_is_an_event_for_those_who_read_it)
{
    static const char text[] = "data: 1\nerror: bad\nerror:\n\nerror: worse";
    struct seen seen = {0}, plain = {0};
    struct sse_parser parser = {.reads_errors = true};

    for (size_t i = 0; i < sizeof(text) - 1; i++)
        assert_int_equal(sse_parser_feed(&parser, text + i, 1, note, &seen), ERR_OK);
    assert_int_equal(sse_parser_end(&parser, note, &seen), ERR_OK);
    assert_string_equal(seen.text.data, "error:bad;:1;error:worse;");
    assert_int_equal(feed(text, strlen(text), 1, &plain), ERR_OK);
    assert_string_equal(plain.text.data, ":1;");
    sse_parser_clear(&parser);
    buf_clear(&seen.text);
    buf_clear(&plain.text);
}

TEST(empty_pieces_change_nothing)
{
    struct sse_parser parser = {0};
    struct seen seen = {0};

    assert_int_equal(sse_parser_feed(&parser, "data: a\r", 8, note, &seen), ERR_OK);
    assert_int_equal(sse_parser_feed(&parser, "", 0, note, &seen), ERR_OK);
    assert_int_equal(sse_parser_feed(&parser, "\n\r\n", 3, note, &seen), ERR_OK);
    assert_string_equal(seen.text.data, ":a;");
    sse_parser_clear(&parser);
    buf_clear(&seen.text);
}

static bool is_inside(void *arg, const char *name, const char *data, size_t length)
{
    const char *piece = arg;

    assert_string_equal(name, "");
    assert_ptr_equal(data, piece + strlen("data: "));
    assert_int_equal(length, 5);
    return true;
}

TEST(a_whole_event_is_passed_on_without_copying)
{
    static char piece[] = "data: token\n\n";
    struct sse_parser parser = {0};

    assert_int_equal(sse_parser_feed(&parser, piece, strlen(piece), is_inside, piece), ERR_OK);
    assert_null(parser.data.data);
    assert_null(parser.line.data);
    sse_parser_clear(&parser);
}

TEST(a_stop_takes_effect_at_once)
{
    static const char text[] = "data: 1\n\ndata: 2\n\ndata: 3\n\n";

    for (size_t step = 1; step <= sizeof(text); step++) {
        struct seen seen = {.stop_after = 2};

        assert_int_equal(feed(text, strlen(text), step, &seen), ERR_CANCELLED);
        assert_string_equal(seen.text.data, ":1;:2;");
        buf_clear(&seen.text);
    }
}

static bool release_parser(void *arg, const char *name, const char *data, size_t length)
{
    struct sse_parser *parser = arg;

    (void)name, (void)data, (void)length;
    sse_parser_clear(parser);
    free(parser);
    return false;
}

TEST(the_callback_that_stops_may_free_the_parser)
{
    static const char *const texts[] = {"data: 1\n\nmore", "data: 1\ndata: 2\r\n\r\nmore",
                                        "event: x\ndata: 1\n\n"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct sse_parser *parser = mem_new(struct sse_parser);

        assert_int_equal(
            sse_parser_feed(parser, texts[i], strlen(texts[i]), release_parser, parser),
            ERR_CANCELLED);
        parser = mem_new(struct sse_parser);
        assert_int_equal(sse_parser_feed(parser, "data: open", 10, release_parser, parser),
                         ERR_OK);
        assert_int_equal(sse_parser_end(parser, release_parser, parser), ERR_CANCELLED);
    }
}

/* "data: xxxx...", `size` bytes of data in lines of `line_size`, cut into 16 KiB pieces. */
static enum err_code feed_large(size_t size, size_t line_size)
{
    struct seen seen = {0};
    AUTO_BUF text = {0};
    enum err_code rc;

    for (size_t made = 0; made < size;) {
        size_t part = size - made < line_size ? size - made : line_size;

        buf_add_text(&text, "data:");
        memset(buf_reserve(&text, part), 'x', part);
        buf_added(&text, part);
        buf_add_char(&text, '\n');
        made += part;
    }
    buf_add_char(&text, '\n');
    rc = feed(text.data, text.length, 16384, &seen);
    buf_clear(&seen.text);
    return rc;
}

static bool count_event(void *arg, const char *name, const char *data, size_t length)
{
    (void)name, (void)data, (void)length;
    ++*(int *)arg;
    return true;
}

/* A client continues after it: an incomplete event does not count. */
TEST(the_id_is_that_of_the_last_complete_event)
{
    static const char text[] = "id: a\n\nid:b\ndata: 1\n\ndata: 2\n\nid: c\ndata: 3";

    for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
        struct sse_parser parser = {0};
        int count = 0;

        assert_int_equal(sse_parser_feed(&parser, text, cut, count_event, &count), ERR_OK);
        assert_int_equal(
            sse_parser_feed(&parser, text + cut, sizeof(text) - 1 - cut, count_event, &count),
            ERR_OK);
        assert_string_equal(parser.id.data, "b");
        assert_int_equal(sse_parser_end(&parser, count_event, &count), ERR_OK);
        assert_string_equal(parser.id.data, "b");
        assert_int_equal(count, 3);
        sse_parser_clear(&parser);
    }
}

TEST(an_event_above_the_limit_is_refused)
{
    assert_int_equal(feed_large(SSE_EVENT_LIMIT - 100, SSE_EVENT_LIMIT), ERR_OK);
    assert_int_equal(feed_large(SSE_EVENT_LIMIT + 1, 2 * SSE_EVENT_LIMIT), ERR_TOO_LARGE);
    assert_int_equal(feed_large(SSE_EVENT_LIMIT + 1, 1000), ERR_TOO_LARGE);
    assert_int_equal(feed_large(SSE_EVENT_LIMIT, 0 + SSE_EVENT_LIMIT / 2), ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_that_of_the_last_complete_event),
        cmocka_unit_test(events_follow_the_standard_wherever_the_bytes_are_cut),
        cmocka_unit_test(an_error_field_is_an_event_for_those_who_read_it),
        cmocka_unit_test(empty_pieces_change_nothing),
        cmocka_unit_test(a_whole_event_is_passed_on_without_copying),
        cmocka_unit_test(a_stop_takes_effect_at_once),
        cmocka_unit_test(the_callback_that_stops_may_free_the_parser),
        cmocka_unit_test(an_event_above_the_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
