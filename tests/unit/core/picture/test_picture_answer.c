/*
 * Answers with pictures: JSON and streams, whole and broken, in pieces of any size.
 */

#include "core/picture/picture_answer.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define AUTO_ANSWER CLEANUP(picture_answer_clear) struct picture_answer

static unsigned previews;

static enum err_code count_preview(void *arg, const json_t *event)
{
    const int *end_at = arg;

    assert_string_equal(json_get_string(event, "b64_json", ""), "UFJF");
    return end_at && ++previews == (unsigned)*end_at ? ERR_CANCELLED : ERR_OK;
}

/* In pieces of `size` bytes. */
static enum err_code read_answer(struct picture_answer *answer, const char *text, size_t size,
                                 int status, struct err *err)
{
    size_t length = strlen(text);

    for (size_t at = 0; at < length; at += size) {
        size_t piece = length - at < size ? length - at : size;
        enum err_code rc = picture_answer_feed(answer, text + at, piece, err);

        if (rc)
            return rc;
    }
    return picture_answer_end(answer, status, err);
}

#define STREAM                                                                               \
    "event: image_generation.partial_image\n"                                                \
    "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"UFJF\"}\n\n"          \
    "event: image_generation.completed\n"                                                    \
    "data: {\"type\":\"image_generation.completed\",\"b64_json\":\"RU5E\",\"size\":\"1x1\"," \
    "\"usage\":{\"total_tokens\":3}}\n\n"

TEST(json_has_a_picture_and_what_is_said_of_it)
{
    for (size_t size = 1; size < 40; size += 13) {
        AUTO_ANSWER answer = {.picture_limit = 100};

        assert_int_equal(read_answer(&answer,
                                     " {\"data\":[{\"b64_json\":\"RU5E\",\"revised_prompt\":"
                                     "\"a tabby\"}],\"usage\":{\"total_tokens\":2}}",
                                     size, 200, NULL),
                         ERR_OK);
        assert_string_equal(answer.picture.base64.data, "RU5E");
        assert_string_equal(json_get_string(answer.picture.facts, "revised_prompt", ""),
                            "a tabby");
        assert_non_null(json_object_get(answer.picture.facts, "usage"));
    }
}

TEST(a_stream_has_previews_and_ends_with_the_picture)
{
    for (size_t size = 1; size < 100; size += 31) {
        AUTO_ANSWER answer = {.picture_limit = 100, .preview = count_preview};

        assert_int_equal(read_answer(&answer, STREAM, size, 200, NULL), ERR_OK);
        assert_true(answer.previewed);
        assert_string_equal(answer.picture.base64.data, "RU5E");
        assert_string_equal(json_get_string(answer.picture.facts, "size", ""), "1x1");
    }
}

TEST(a_preview_that_is_not_wanted_ends_the_stream)
{
    int end_at = 1;
    AUTO_ANSWER answer = {.picture_limit = 100, .preview = count_preview, .arg = &end_at};

    previews = 0;
    assert_int_equal(read_answer(&answer, STREAM, 1000, 200, NULL), ERR_CANCELLED);
}

static void refused(const char *text, int status, enum err_code rc, const char *wanted)
{
    AUTO_ANSWER answer = {.picture_limit = 6};
    struct err err = {0};

    assert_int_equal(read_answer(&answer, text, 7, status, &err), rc);
    if (!strstr(err.text, wanted))
        fail_msg("'%s' instead of '%s'", err.text, wanted);
    assert_false(answer.complete);
}

TEST(what_is_no_picture_is_said)
{
    refused("{\"data\":[]}", 200, ERR_UPSTREAM, "has no picture");
    refused("{\"data\":[{\"b64_json\":null}]}", 200, ERR_UPSTREAM, "has no picture");
    refused("{not JSON", 200, ERR_UPSTREAM, "is no JSON");
    refused("", 200, ERR_UPSTREAM, "is no JSON");
    refused("<html>", 200, ERR_UPSTREAM, "ended its answer before the picture");
    refused("data: {\"type\":\"image_edit.partial_image\"}\n\n", 200, ERR_UPSTREAM,
            "ended its answer before the picture");
    refused("data: nothing\n\n", 200, ERR_UPSTREAM, "an event that is no JSON");
    refused("{\"data\":[{\"b64_json\":\"AAAAAAAAAAAAAAAA\"}]}", 200, ERR_TOO_LARGE,
            "more than 6 bytes");
}

TEST(a_status_says_whose_fault_it_is)
{
    refused("{\"error\":{\"message\":\"No cats.\",\"code\":\"moderation_blocked\"}}", 400,
            ERR_INVALID, "status 400: No cats.");
    refused("busy", 429, ERR_LIMIT, "status 429.");
    refused("<html>", 502, ERR_UPSTREAM, "status 502.");
    refused("{\"error\":{\"message\":\"Incorrect API key sk-1\"}}", 401, ERR_UPSTREAM,
            "status 401.");
}

TEST(the_key_of_the_operator_is_not_quoted)
{
    AUTO_ANSWER answer = {.picture_limit = 6};

    assert_int_equal(
        read_answer(&answer, "{\"error\":{\"message\":\"key sk-1\"}}", 99, 401, NULL),
        ERR_UPSTREAM);
    assert_null(answer.picture.error);
}

TEST(an_error_within_a_stream_is_explained)
{
    AUTO_ANSWER answer = {.picture_limit = 100};
    struct err err;

    assert_int_equal(read_answer(&answer,
                                 "event: error\ndata: {\"type\":\"error\",\"error\":{\"code\":"
                                 "\"moderation_blocked\",\"message\":\"No.\"}}\n\n",
                                 11, 200, &err),
                     ERR_INVALID);
    assert_string_equal(err.text, "The image model failed: No.");
    assert_string_equal(json_get_string(answer.picture.error, "code", ""),
                        "moderation_blocked");
    refused("data: {\"error\":{\"message\":\"Later.\"}}\n\n", 200, ERR_UPSTREAM, "Later.");
}

TEST(a_picture_may_lie_elsewhere)
{
    AUTO_ANSWER answer = {.picture_limit = 6};

    assert_int_equal(
        read_answer(&answer, "{\"data\":[{\"url\":\"http://x/1.png\"}]}", 99, 200, NULL),
        ERR_OK);
    assert_string_equal(answer.url, "http://x/1.png");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_a_picture_and_what_is_said_of_it),
        cmocka_unit_test(a_stream_has_previews_and_ends_with_the_picture),
        cmocka_unit_test(a_preview_that_is_not_wanted_ends_the_stream),
        cmocka_unit_test(what_is_no_picture_is_said),
        cmocka_unit_test(a_status_says_whose_fault_it_is),
        cmocka_unit_test(the_key_of_the_operator_is_not_quoted),
        cmocka_unit_test(an_error_within_a_stream_is_explained),
        cmocka_unit_test(a_picture_may_lie_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
