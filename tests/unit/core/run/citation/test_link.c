#include "core/run/citation/link.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/* Each link as "span=url", with a bar between them. */
static char *links_of(const char *text)
{
    struct buf found = {0};
    struct link link;

    for (const char *at = text; link_find(at, &link); at = link.end)
        buf_addf(&found, "%s%.*s=%.*s", found.length ? "|" : "", (int)(link.end - link.begin),
                 link.begin, (int)link.url_length, link.url);
    return found.length ? buf_take(&found) : mem_strdup("");
}

static void expect_links(const char *text, const char *wanted)
{
    AUTO_FREE char *found = links_of(text);

    assert_string_equal(found, wanted);
}

TEST(a_link_is_found_with_the_parentheses_right_around_it)
{
    expect_links("So ([a.org](https://a.org/x)).",
                 "([a.org](https://a.org/x))=https://a.org/x");
    expect_links("So [a](https://a.org/x).", "[a](https://a.org/x)=https://a.org/x");
    expect_links("(see [a](https://a.org/x))", "[a](https://a.org/x)=https://a.org/x");
    expect_links("([a](http://a), [b](http://b))",
                 "[a](http://a)=http://a|[b](http://b)=http://b");
    expect_links("([a](http://a))([b](http://b))",
                 "([a](http://a))=http://a|([b](http://b))=http://b");
}

TEST(a_target_may_have_parentheses_angles_and_a_title)
{
    expect_links("[C](https://e.org/C_(language))",
                 "[C](https://e.org/C_(language))=https://e.org/C_(language)");
    expect_links("([C](https://e.org/C_(l)))",
                 "([C](https://e.org/C_(l)))=https://e.org/C_(l)");
    expect_links("[a](<https://a.org/(> \"A (title)\")",
                 "[a](<https://a.org/(> \"A (title)\")=https://a.org/(");
    expect_links("[a](HTTPS://A.org 'x')", "[a](HTTPS://A.org 'x')=HTTPS://A.org");
}

TEST(a_label_may_have_brackets)
{
    expect_links("[a [b] c](http://a)", "[a [b] c](http://a)=http://a");
    expect_links("[ [a](http://a)", "[a](http://a)=http://a");
    expect_links("[x] [a](http://a)", "[a](http://a)=http://a");
    expect_links("[[[[[[[[[[[[[[[[[[[[a](http://a)", "[a](http://a)=http://a");
}

TEST(what_is_no_link_is_left_alone)
{
    static const char *const texts[] = {"",
                                        "[",
                                        "[]",
                                        "[a]",
                                        "[a](",
                                        "[a](http",
                                        "[a](http:",
                                        "[a](http://a",
                                        "[a](http://a b)",
                                        "[a](ftp://a)",
                                        "](http://a)",
                                        "[a] (http://a)",
                                        "![a](http://a.png)",
                                        "[a](<http://a)",
                                        "[a](http://a \"t)",
                                        "[a\n\nb](http://a)",
                                        "[a](http://[b)"};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        expect_links(texts[i], "");
}

/* Text that opens and never closes must not be read again and again. */
TEST(hostile_text_takes_linear_time)
{
    static const char *const pieces[] = {
        "[", "](http://", "[a](http://a ", "[a](<http://a", "[a](http://a \"", "([a](http://("};

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        AUTO_BUF text = {0};
        struct link link;

        while (text.length < (size_t)4 << 20)
            buf_add_text(&text, pieces[i]);
        assert_false(link_find(text.data, &link));
    }
}

static void expect_page(const char *url, const char *wanted)
{
    AUTO_FREE char *page = link_page(url, strlen(url));

    assert_string_equal(page, wanted);
}

TEST(two_urls_of_one_page_are_equal)
{
    expect_page("https://a.org/x#part", "https://a.org/x");
    expect_page("https://a.org/x/", "https://a.org/x");
    expect_page("https://a.org/", "https://a.org");
    expect_page("HTTPS://A.Org/X", "https://a.org/X");
    expect_page("https://a.org/?utm_source=chat", "https://a.org");
    expect_page("https://a.org/x/?a=1&utm_source=chat&b=2#c", "https://a.org/x?a=1&b=2");
    expect_page("https://a.org/x?u=https://b.org/", "https://a.org/x?u=https://b.org/");
    expect_page("a.org", "a.org");
    expect_page("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_found_with_the_parentheses_right_around_it),
        cmocka_unit_test(a_target_may_have_parentheses_angles_and_a_title),
        cmocka_unit_test(a_label_may_have_brackets),
        cmocka_unit_test(what_is_no_link_is_left_alone),
        cmocka_unit_test(hostile_text_takes_linear_time),
        cmocka_unit_test(two_urls_of_one_page_are_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
