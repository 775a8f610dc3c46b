#include "core/web/plain_line.h"

#include <stdlib.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

static const struct {
    const char *text, *line;
} lines[] = {
    {NULL, ""},
    {"", ""},
    {"as it is", "as it is"},
    {"the <strong>black</strong> cat", "the black cat"},
    {"a<br/>b <a href=\"https://x.org\">c</a>", "ab c"},
    {"if a < b and c > d", "if a < b and c > d"},
    {"1 <2 and <", "1 <2 and <"},
    {"<never closed", "<never closed"},
    {"Tom &amp; Jerry&#39;s &#x27;cat&#X27; &lt;b&gt;", "Tom & Jerry's 'cat' <b>"},
    {"&unknown; &amp &#; &#x; &#1114112; &#xD800;",
     "&unknown; &amp &#; &#x; &#1114112; &#xD800;"},
    {"  two\n\tlines&nbsp;\xC2\xA0 of text \x01\x7F ", "two lines of text"},
    {"caf\xC3\xA9 \xF0\x9F\x90\x88", "caf\xC3\xA9 \xF0\x9F\x90\x88"},
};

TEST(tags_references_and_blanks_become_plain_text)
{
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        AUTO_FREE char *line = plain_line(lines[i].text);

        assert_string_equal(line, lines[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_references_and_blanks_become_plain_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
