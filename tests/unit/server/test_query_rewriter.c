/*
 * Which line of a model's answer is searched.
 */

#include "server/query_rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

TEST(a_line_is_taken_without_what_is_around_it)
{
    static const struct {
        const char *answer, *line;
    } cases[] = {
        {"battery warranty", "battery warranty"},
        {"\n `电池 保修` \n", "电池 保修"},
        {"battery \"two years\" warranty", "battery \"two years\" warranty"},
        {"one\ntwo", NULL},
        {"", NULL},
        {" \" \" ", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *line = query_rewriter_line(cases[i].answer);

        assert_int_equal(!line, !cases[i].line);
        if (line)
            assert_string_equal(line, cases[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_taken_without_what_is_around_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
