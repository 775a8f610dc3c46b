#include <string.h>

#include "server/api/auth.h"
#include "server/http/cors.h"
#include "tests/support/test.h"

TEST(a_bearer_header_holds_a_key)
{
    assert_string_equal(auth_bearer("Bearer sk-1"), "sk-1");
    assert_string_equal(auth_bearer("bearer   sk-1"), "sk-1");
    assert_null(auth_bearer(NULL));
    assert_null(auth_bearer(""));
    assert_null(auth_bearer("Bearer"));
    assert_null(auth_bearer("Bearer "));
    assert_null(auth_bearer("Basic c2stMQ=="));
}

TEST(a_hint_shows_only_the_ends_of_a_long_key)
{
    char hint[AUTH_HINT_SIZE];

    auth_hint("sk-0123456789abcdef", hint);
    assert_string_equal(hint, "sk-012***cdef");
    auth_hint("hunter2", hint);
    assert_string_equal(hint, "***");
    auth_hint("\x01\xff\n\t\"\x7f 0123456789", hint);
    for (const char *c = hint; *c; c++)
        assert_true(*c >= ' ' && *c <= '~');
}

TEST(only_listed_origins_may_read)
{
    assert_true(cors_allows("https://a.example", "https://a.example"));
    assert_true(cors_allows("https://b.example,https://a.example", "https://a.example"));
    assert_true(cors_allows(" https://b.example , https://a.example ", "https://a.example"));
    assert_true(cors_allows("*", "https://a.example"));
    assert_true(cors_allows("*", "null"));
    assert_false(cors_allows("https://a.example", "https://a.example.evil.example"));
    assert_false(cors_allows("https://a.example.org", "https://a.example"));
    assert_false(cors_allows("https://a.example", "http://a.example"));
    assert_false(cors_allows(NULL, "https://a.example"));
    assert_false(cors_allows("", "https://a.example"));
    assert_false(cors_allows(",", ""));
    assert_false(cors_allows("*", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bearer_header_holds_a_key),
        cmocka_unit_test(a_hint_shows_only_the_ends_of_a_long_key),
        cmocka_unit_test(only_listed_origins_may_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
