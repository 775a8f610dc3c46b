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
    {"<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"},
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

        html_add_text(&text, rows[i].html, strlen(rows[i].html));
        if (strcmp(text.data ? text.data : "", rows[i].text) != 0)
            fail_msg("row %zu: '%s'", i, text.data);
    }
}

TEST(a_page_may_be_nested_as_deep_as_it_likes)
{
    AUTO_BUF html = {0}, text = {0};

    for (int i = 0; i < 20000; i++)
        buf_add_text(&html, "<div>");
    buf_add_text(&html, "deep");
    html_add_text(&text, html.data, html.length);
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

/* html.h: the tree is not released, because the child ends. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:gumbo_\nleak:html_add_text\n";
}
