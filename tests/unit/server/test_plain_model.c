/*
 * The text of a model's answer, in either dialect.
 */

#include "server/plain_model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define CHAT(text) "{\"choices\":[{\"message\":{\"content\":" text "}}]}"
#define RESPONSE(text)                                      \
    "{\"output\":[{\"type\":\"reasoning\",\"summary\":[]}," \
    "{\"type\":\"message\",\"content\":[{\"text\":\"" text "\"}]}]}"

TEST(an_answer_has_a_text_or_is_none)
{
    static const struct {
        enum model_dialect dialect;
        const char *answer, *text;
    } cases[] = {
        {MODEL_DIALECT_CHAT, CHAT("\"a\\nb\""), "a\nb"},
        {MODEL_DIALECT_CHAT, CHAT("[{\"text\":\"a\"},{\"text\":\"b\"}]"), "ab"},
        {MODEL_DIALECT_CHAT, CHAT("null"), ""},
        {MODEL_DIALECT_CHAT, CHAT("7"), NULL},
        {MODEL_DIALECT_RESPONSES, RESPONSE("电池"), "电池"},
        {MODEL_DIALECT_CHAT, RESPONSE("other"), NULL},
        {MODEL_DIALECT_RESPONSES, CHAT("\"other\""), NULL},
        {MODEL_DIALECT_CHAT, "{\"choices\":[]}", NULL},
        {MODEL_DIALECT_RESPONSES, "{\"output\":[]}", NULL},
        {MODEL_DIALECT_CHAT, "[]", NULL},
        {MODEL_DIALECT_CHAT, "<html>", NULL},
        {MODEL_DIALECT_CHAT, "", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *text =
            plain_model_text(cases[i].dialect, cases[i].answer, strlen(cases[i].answer));

        assert_int_equal(!text, !cases[i].text);
        if (text)
            assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_has_a_text_or_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
