/*
 * Which line of a model's answer is searched.
 */

#include "server/query_rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define CHAT(text) "{\"choices\":[{\"message\":{\"content\":\"" text "\"}}]}"
#define RESPONSE(text)                                      \
    "{\"output\":[{\"type\":\"reasoning\",\"summary\":[]}," \
    "{\"type\":\"message\",\"content\":[{\"text\":\"" text "\"}]}]}"

TEST(a_line_of_either_dialect_is_taken_without_what_is_around_it)
{
    static const struct {
        enum model_dialect dialect;
        const char *answer, *line;
    } cases[] = {
        {MODEL_DIALECT_CHAT, CHAT("battery warranty"), "battery warranty"},
        {MODEL_DIALECT_CHAT, CHAT("\\n `电池 保修` \\n"), "电池 保修"},
        {MODEL_DIALECT_RESPONSES, RESPONSE("battery \\\"two years\\\" warranty"),
         "battery \"two years\" warranty"},
        {MODEL_DIALECT_CHAT, CHAT("one\\ntwo"), NULL},
        {MODEL_DIALECT_CHAT, CHAT(""), NULL},
        {MODEL_DIALECT_CHAT, CHAT(" \\\" \\\" "), NULL},
        {MODEL_DIALECT_CHAT, RESPONSE("other"), NULL},
        {MODEL_DIALECT_RESPONSES, CHAT("other"), NULL},
        {MODEL_DIALECT_CHAT, "{\"choices\":[]}", NULL},
        {MODEL_DIALECT_CHAT, "[]", NULL},
        {MODEL_DIALECT_CHAT, "<html>", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *line =
            query_rewriter_line(cases[i].dialect, cases[i].answer, strlen(cases[i].answer));

        assert_int_equal(!line, !cases[i].line);
        if (line)
            assert_string_equal(line, cases[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_either_dialect_is_taken_without_what_is_around_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
