#include <string.h>

#include "core/event/frames.h"
#include "tests/support/test.h"

static int64_t add(struct frames *frames, const char *event, const char *json)
{
    int64_t number = frames_begin(frames, event);

    buf_add_text(&frames->bytes, json);
    frames_end(frames);
    return number;
}

TEST(a_frame_is_a_server_sent_event)
{
    struct frames frames = {0};

    add(&frames, "run.started", "{\"a\":1}");
    assert_string_equal(frames.bytes.data, "event: run.started\ndata: {\"a\":1}\n\n");
    assert_int_equal(frames.bytes.length, strlen(frames.bytes.data));
    frames_clear(&frames);
}

TEST(numbers_have_no_gaps_across_what_was_published)
{
    struct frames frames = {.next = 7};

    assert_int_equal(add(&frames, "a", "{}"), 7);
    assert_int_equal(add(&frames, "b", "{}"), 8);
    assert_int_equal(frames.count, 2);
    frames_clear(&frames);
    assert_int_equal(frames.count, 0);
    assert_int_equal(frames.bytes.length, 0);
    assert_int_equal(add(&frames, "c", "{}"), 9);
    frames_clear(&frames);
}

TEST(the_last_frame_is_taken_back_with_its_number)
{
    struct frames frames = {0};

    add(&frames, "a", "{}");
    add(&frames, "b", "{\"long\":true}");
    frames_drop_last(&frames);
    assert_int_equal(frames.count, 1);
    assert_string_equal(frames.bytes.data, "event: a\ndata: {}\n\n");
    assert_int_equal(frames.bytes.length, strlen(frames.bytes.data));
    assert_int_equal(add(&frames, "c", "{}"), 1);
    assert_string_equal(frames.bytes.data, "event: a\ndata: {}\n\nevent: c\ndata: {}\n\n");
    frames_clear(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_a_server_sent_event),
        cmocka_unit_test(numbers_have_no_gaps_across_what_was_published),
        cmocka_unit_test(the_last_frame_is_taken_back_with_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
