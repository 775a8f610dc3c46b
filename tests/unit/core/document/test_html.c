/* HTML as text. Here the parser runs in the test itself, so that a sanitizer sees it. */

#include "core/document/html.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

static const struct {
    const char *html, *text;
} rows[] = {
    {"<h1>Title</h1><p>One  two\n three.<p>Next", "# Title\n\nOne two three.\n\nNext"},
    {"<h2>A <b>bold</b> head</h2>text", "## A bold head\n\ntext"},
    {"<ul><li>one<li>two <i>x</i></ul>after", "- one\n- two x\n\nafter"},
    {"<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"},
    {"<table><caption>Prices</caption><tr><td>tea<td>a|b<br>c<tr><td "
     "colspan=2>wide<td>3</table>x",
     "Prices\n\n| tea | a\\|b c |\n| --- | --- |\n| wide |  | 3 |\n\nx"},
    {"<table><tr><td><ul><li>one<li>two</ul><td>2</table>", "| one two | 2 |\n| --- | --- |"},
    {"<table><tr><td>side<td><h1>Layout</h1><table><tr><td>1<td>2</table></table>",
     "side\n\n# Layout\n\n| 1 | 2 |\n| --- | --- |"},
    {"<ul><li>one<ul><li>deep</ul><li>two</ul>", "- one\n  - deep\n- two"},
    {"<pre>x\n  y</pre>z", "x\n  y\n\nz"},
    {"<p>a<br>b</p>", "a\nb"},
    {"<script>alert(1)</script><style>p{}</style><nav>menu</nav><p>seen<!-- not --></p>",
     "seen"},
    {"<img alt='a cat'> sits", "a cat sits"},
    {"<title>T</title><body>&lt;b&gt; &amp; &eacute;&#x4e2d;",
     "T\n\n<b> & \xC3\xA9\xE4\xB8\xAD"},
    {"<div>a<div>b</div>c</div>", "a\nb\nc"},
    {"<p>broken <b>nesting <i>here</b> on</i>", "broken nesting here on"},
    {"", ""},
    {"no tag at all", "no tag at all"},
};

TEST(the_structure_of_a_page_is_kept)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF text = {0};
        struct text_writer writer = {.text = &text};

        html_write(&writer, rows[i].html, strlen(rows[i].html));
        if (strcmp(text.data ? text.data : "", rows[i].text) != 0)
            fail_msg("row %zu: '%s'", i, text.data);
    }
}

TEST(a_page_may_be_nested_as_deep_as_it_likes)
{
    AUTO_BUF html = {0}, text = {0};
    struct text_writer writer = {.text = &text};

    for (int i = 0; i < 20000; i++)
        buf_add_text(&html, "<div>");
    buf_add_text(&html, "deep");
    html_write(&writer, html.data, html.length);
    assert_string_equal(text.data, "deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_structure_of_a_page_is_kept),
        cmocka_unit_test(a_page_may_be_nested_as_deep_as_it_likes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
