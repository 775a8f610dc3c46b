#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/mask.h"
#include "tests/support/test.h"

static struct masks *masks_of(const char *list)
{
    json_auto_t *parsed = json_parse_own(list);
    struct masks *masks = NULL;
    struct err err;

    if (masks_new(parsed, &masks, &err))
        fail_msg("%s", err.text);
    return masks;
}

static void masked(const char *list, const char *messages, const char *wanted)
{
    struct masks *masks = masks_of(list);
    json_auto_t *said = json_parse_own(messages);
    struct err err;
    AUTO_FREE char *text = NULL;

    if (masks_apply(masks, said, &err))
        fail_msg("%s", err.text);
    text = json_text(said);
    assert_string_equal(text, wanted);
    masks_free(masks);
}

#define MAIL "[{\"pattern\": \"\\\\w+@\\\\w+\", \"replacement\": \"[mail]\"}]"

static void refused(const char *list, const char *why)
{
    json_auto_t *parsed = json_parse_own(list);
    struct masks *masks = NULL;
    struct err err;

    assert_int_equal(masks_new(parsed, &masks, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, why));
    assert_null(masks);
}

/* F62. */
TEST(every_text_is_masked)
{
    masked(MAIL, "[{\"role\":\"user\",\"content\":\"a@b, c@d and e\"}]",
           "[{\"role\":\"user\",\"content\":\"[mail], [mail] and e\"}]");
    masked(MAIL,
           "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a@b\"},"
           "{\"type\":\"file\",\"file\":{\"filename\":\"a@b\",\"file_id\":\"a@b\"}}]}]",
           "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[mail]\"},"
           "{\"type\":\"file\",\"file\":{\"filename\":\"[mail]\",\"file_id\":\"a@b\"}}]}]");
}

TEST(technical_values_are_not_masked)
{
    const char *message =
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a@b\",\"type\":"
        "\"function\",\"function\":{\"name\":\"a@b\",\"arguments\":\"{}\"},\"extra_content\":{"
        "\"a\":"
        "\"a@b\"}}]},{\"role\":"
        "\"tool\",\"tool_call_id\":\"a@b\",\"content\":[{\"type\":\"image_url\",\"image_url\":{"
        "\"url\":\"data:a@b\"}}]}]";

    masked(MAIL, message, message);
}

TEST(numbers_are_not_masked)
{
    masked("[{\"pattern\": \"[0-9]+|a@b\", \"replacement\": \"x\"}]",
           "[{\"tool_calls\":[{\"function\":{\"arguments\":"
           "\"{\\\"id\\\":18446744073709551615,\\\"to\\\":\\\"a@b\\\"}\"}}]}]",
           "[{\"tool_calls\":[{\"function\":{\"arguments\":"
           "\"{\\\"id\\\":18446744073709551615,\\\"to\\\":\\\"x\\\"}\"}}]}]");
}

TEST(masked_arguments_are_still_json)
{
    /* In arguments also the texts under keys that are technical in a message. */
    masked("[{\"pattern\": \"a.*\", \"replacement\": \"\\\"\"}]",
           "[{\"arguments\":\"{\\\"id\\\":\\\"xab\\\",\\\"n\\\":[\\\"b\\\"]}\"}]",
           "[{\"arguments\":\"{\\\"id\\\":\\\"x\\\\\\\"\\\",\\\"n\\\":[\\\"b\\\"]}\"}]");
    /* Arguments that are no JSON are a text, and arguments without a match keep their form. */
    masked(MAIL, "[{\"arguments\":\"{a@b\"}]", "[{\"arguments\":\"{[mail]\"}]");
    masked(MAIL, "[{\"arguments\":\"{ \\\"a\\\" : 1 }\"}]",
           "[{\"arguments\":\"{ \\\"a\\\" : 1 }\"}]");
}

TEST(masks_are_applied_one_after_another)
{
    masked("[{\"pattern\": \"A\", \"replacement\": \"bb\", \"flags\": \"i\"},"
           " {\"pattern\": \"b+\"}, {\"pattern\": \"no\"}]",
           "[\"xAabx no\"]", "[\"x[masked]x [masked]\"]");
}

TEST(empty_matches_are_ignored)
{
    masked("[{\"pattern\": \"(?=b)|c\"}]", "[\"abc\"]", "[\"ab[masked]\"]");
}

TEST(invalid_masks_are_refused_with_their_path)
{
    refused("[{\"pattern\": \"a\"}, {\"pattern\": \"(\"}]", "[1].pattern: invalid regular");
    refused("[{\"pattern\": \"a*\"}]", "[0].pattern: must not match the empty string");
    refused("[{\"pattern\": \"\"}]", "[0].pattern: must not match the empty string");
    refused("[{\"pattern\": \"a\", \"flags\": \"g\"}]", "[0].flags: expected letters of 'ims'");
}

TEST(growth_and_time_of_a_request_are_limited)
{
    json_auto_t *list = json_array();
    json_auto_t *messages = json_array();
    AUTO_FREE char *text = mem_new_array(char, (size_t)1 << 20);
    char letters[MASK_REPLACEMENT_LIMIT + 2];
    struct masks *masks = NULL;
    struct err err;

    memset(letters, 'x', sizeof(letters) - 1);
    letters[sizeof(letters) - 1] = '\0';
    json_array_append_new(list,
                          json_build("{s:s, s:s}", "pattern", "a", "replacement", letters));
    assert_int_equal(masks_new(list, &masks, &err), ERR_INVALID);
    assert_string_equal(err.text, "[0].replacement: longer than 200 bytes");
    letters[MASK_REPLACEMENT_LIMIT] = '\0';
    json_array_clear(list);
    json_array_append_new(list,
                          json_build("{s:s, s:s}", "pattern", "a", "replacement", letters));
    assert_int_equal(masks_new(list, &masks, &err), ERR_OK);
    memset(text, 'a', ((size_t)1 << 20) - 1);
    json_array_append_new(messages, json_string_nocheck(text));
    assert_int_equal(masks_apply(masks, messages, &err), ERR_LIMIT);
    masks_free(TAKE(masks));
    json_array_clear(list);
    for (int i = 0; i <= MASK_LIMIT; i++)
        json_array_append_new(list, json_build("{s:s}", "pattern", "a"));
    assert_int_equal(masks_new(list, &masks, &err), ERR_INVALID);
    assert_string_equal(err.text, "[64]: more than 64 masks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_is_masked),
        cmocka_unit_test(technical_values_are_not_masked),
        cmocka_unit_test(numbers_are_not_masked),
        cmocka_unit_test(masked_arguments_are_still_json),
        cmocka_unit_test(masks_are_applied_one_after_another),
        cmocka_unit_test(empty_matches_are_ignored),
        cmocka_unit_test(invalid_masks_are_refused_with_their_path),
        cmocka_unit_test(growth_and_time_of_a_request_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
