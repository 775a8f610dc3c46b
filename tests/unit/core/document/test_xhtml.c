/* XHTML for a reader of HTML. */

#include "core/document/xhtml.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

static const struct {
    const char *xhtml, *html;
} rows[] = {
    {"<title/><p>x</p>", "<title></title><p>x</p>"},
    {"<a id='1/' />y<br/>z", "<a id='1/' ></a>y<br/>z"},
    {"<a title='>/'>t</a>", "<a title='>/'>t</a>"},
    {"<!-- <b/> > --><i/>", "<!-- <b/> > --><i></i>"},
    {"<?xml version='1.0'?><td/>", "<?xml version='1.0'?><td></td>"},
    {"a < b />", "a < b />"},
    {"<open", "<open"},
    {"<!-- open <b/>", "<!-- open <b/>"},
    {"</>", "</>"},
    {"<", "<"},
    {"", ""},
};

TEST(empty_elements_get_an_end)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF html = {0};

        xhtml_to_html(&html, rows[i].xhtml, strlen(rows[i].xhtml));
        if (strcmp(html.data ? html.data : "", rows[i].html) != 0)
            fail_msg("row %zu: '%s'", i, html.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_elements_get_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
