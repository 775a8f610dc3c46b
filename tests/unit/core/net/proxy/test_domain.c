#include <string.h>

#include "core/base/compiler.h"
#include "core/net/proxy/domain.h"
#include "tests/support/test.h"

TEST(a_domain_is_a_host_name_and_nothing_else)
{
    static const char *const names[] = {"example.org", "a", "localhost", "A-1.b_2.example",
                                        "1.example"};
    static const char *const others[] = {"",
                                         ".",
                                         ".org",
                                         "example.org.",
                                         "a..b",
                                         "*.example.org",
                                         "http://a",
                                         "a:80",
                                         "a/b",
                                         "a b",
                                         "a@b",
                                         "127.0.0.1",
                                         "127.1",
                                         "2130706433",
                                         "0x7f000001",
                                         "0x7f.0x1",
                                         "0177.1",
                                         "a.0x",
                                         "[::1]",
                                         "::1",
                                         "b\303\274cher.example"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_true(domain_is_name(names[i]));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(domain_is_name(others[i]));
}

TEST(a_name_has_253_characters_and_labels_of_63)
{
    char text[300];

    memset(text, 'a', sizeof(text));
    text[63] = '\0';
    assert_true(domain_is_name(text));
    text[63] = 'a';
    text[64] = '\0';
    assert_false(domain_is_name(text));
    text[64] = 'a';
    for (size_t i = 50; i < 254; i += 50)
        text[i] = '.';
    text[253] = '\0';
    assert_true(domain_is_name(text));
    text[253] = 'a';
    text[254] = '\0';
    assert_false(domain_is_name(text));
}

TEST(a_pattern_is_a_name_or_what_is_below_one)
{
    assert_true(domain_is_pattern("example.org"));
    assert_true(domain_is_pattern("*.example.org"));
    assert_false(domain_is_pattern("*"));
    assert_false(domain_is_pattern("*."));
    assert_false(domain_is_pattern("a.*.org"));
    assert_false(domain_is_pattern("**.org"));
    assert_false(domain_is_pattern("*.127.0.0.1"));
}

TEST(a_suffix_is_no_domain)
{
    assert_true(domain_matches("example.org", "Example.ORG"));
    assert_false(domain_matches("example.org", "evilexample.org"));
    assert_false(domain_matches("example.org", "a.example.org"));
    assert_false(domain_matches("example.org", "example.org.evil.org"));
    assert_true(domain_matches("*.example.org", "a.example.org"));
    assert_true(domain_matches("*.example.org", "a.b.EXAMPLE.org"));
    assert_false(domain_matches("*.example.org", "example.org"));
    assert_false(domain_matches("*.example.org", "evilexample.org"));
    assert_false(domain_matches("*.example.org", ".example.org"));
    assert_false(domain_matches("example.org", "example.org."));
}

TEST(a_pattern_lies_within_another)
{
    assert_true(domain_covers("example.org", "example.org"));
    assert_true(domain_covers("*.example.org", "a.example.org"));
    assert_true(domain_covers("*.example.org", "*.example.org"));
    assert_true(domain_covers("*.example.org", "*.a.example.org"));
    assert_false(domain_covers("*.example.org", "example.org"));
    assert_false(domain_covers("*.example.org", "*.evilexample.org"));
    assert_false(domain_covers("a.example.org", "*.example.org"));
    assert_false(domain_covers("example.org", "*.example.org"));
    assert_false(domain_covers("*.a.example.org", "*.example.org"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_domain_is_a_host_name_and_nothing_else),
        cmocka_unit_test(a_name_has_253_characters_and_labels_of_63),
        cmocka_unit_test(a_pattern_is_a_name_or_what_is_below_one),
        cmocka_unit_test(a_suffix_is_no_domain),
        cmocka_unit_test(a_pattern_lies_within_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
