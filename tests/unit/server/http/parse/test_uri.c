#include <string.h>

#include "server/http/parse/uri.h"
#include "tests/support/test.h"

static struct uri uri;

static enum err_code parse(const char *target)
{
    uri_clear(&uri);
    return uri_parse(target, &uri, NULL);
}

TEST(segments_are_split_before_they_are_decoded)
{
    assert_int_equal(parse("/v1/models/org%2Fname%20x"), ERR_OK);
    assert_int_equal(uri.segment_count, 3);
    assert_string_equal(uri.segments[2], "org/name x");
    assert_int_equal(parse("/v1/models/org/name"), ERR_OK);
    assert_int_equal(uri.segment_count, 4);
    assert_string_equal(uri_rest(&uri, 2), "org/name");
}

TEST(the_root_and_a_trailing_slash_are_empty_segments)
{
    assert_int_equal(parse("/"), ERR_OK);
    assert_int_equal(uri.segment_count, 1);
    assert_string_equal(uri.segments[0], "");
    assert_int_equal(parse("/a/"), ERR_OK);
    assert_int_equal(uri.segment_count, 2);
}

TEST(queries_are_decoded_like_forms)
{
    size_t at = 0;

    assert_int_equal(parse("/x?a=1+2%2B3&b&&a=4&include%5B%5D=one&include=two&c="), ERR_OK);
    assert_string_equal(uri_query(&uri, "a"), "1 2+3");
    assert_string_equal(uri_query(&uri, "b"), "");
    assert_string_equal(uri_query(&uri, "c"), "");
    assert_null(uri_query(&uri, "d"));
    assert_string_equal(uri_query_name(&uri, 0), "a");
    assert_null(uri_query_name(&uri, uri.query_count));
    assert_true(uri_query_has(&uri, "include", "one"));
    assert_true(uri_query_has(&uri, "include", "two"));
    assert_false(uri_query_has(&uri, "include", "three"));
    assert_string_equal(uri_query_next(&uri, "include", &at), "one");
    assert_string_equal(uri_query_next(&uri, "include", &at), "two");
    assert_null(uri_query_next(&uri, "include", &at));
    assert_false(uri_query_has(&uri, "inc", "one"));
}

TEST(encoded_control_characters_and_broken_escapes_are_refused)
{
    const char *const bad[] = {"/a%00b",    "/a?x=%00", "/a%0d%0a", "/a%7f", "/a%",
                               "/a%4",      "/a%zz",    "/a%ff",    "/a%c3", "x",
                               "http://a/", "",         "/a?%01=1"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (parse(bad[i]) != ERR_INVALID)
            fail_msg("accepted: %s", bad[i]);
}

TEST(lengths_and_counts_are_limited)
{
    char target[URI_LENGTH_LIMIT + 2];

    memset(target, 'a', sizeof(target));
    target[0] = '/';
    target[URI_LENGTH_LIMIT + 1] = '\0';
    assert_int_equal(parse(target), ERR_TOO_LARGE);
    target[URI_LENGTH_LIMIT] = '\0';
    assert_int_equal(parse(target), ERR_OK);
    assert_int_equal(parse("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"), ERR_NOT_FOUND);
    memset(target, '&', URI_LENGTH_LIMIT);
    for (size_t i = 2; i < 2 + 2 * (URI_QUERY_LIMIT + 1); i += 2)
        target[i] = 'q';
    target[0] = '/';
    target[1] = '?';
    target[2 + 2 * URI_QUERY_LIMIT] = '\0';
    assert_int_equal(parse(target), ERR_OK);
    target[2 + 2 * URI_QUERY_LIMIT] = 'q';
    assert_int_equal(parse(target), ERR_INVALID);
    uri_clear(&uri);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_split_before_they_are_decoded),
        cmocka_unit_test(the_root_and_a_trailing_slash_are_empty_segments),
        cmocka_unit_test(queries_are_decoded_like_forms),
        cmocka_unit_test(encoded_control_characters_and_broken_escapes_are_refused),
        cmocka_unit_test(lengths_and_counts_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
