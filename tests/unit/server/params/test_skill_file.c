/* F107: what a SKILL.md must contain. */

#include <string.h>

#include "core/base/mem.h"
#include "server/params/skill_file.h"
#include "tests/support/test.h"

static void expect(const char *content, const char *name, const char *description,
                   const char *prompt)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    struct err err = {0};

    if (skill_file_parse(content, "content", &row, &err))
        fail_msg("%s", err.text);
    assert_string_equal(row.name, name);
    assert_string_equal(row.description, description);
    assert_string_equal(row.content, content);
    assert_string_equal(row.content + row.prompt_at, prompt);
}

TEST(a_skill_has_a_name_a_description_and_instructions)
{
    expect("---\nname: a\ndescription: b\n---\nc", "a", "b", "c");
    expect("---\r\nname: a-1\r\ndescription: b\r\n--- \r\nc\n---\nd\n", "a-1", "b",
           "c\n---\nd\n");
    expect("---\ndescription: \"x: y\"\nname: 'a'\nversion: {a: [1]}\n---\n\n# Title\n", "a",
           "x: y", "\n# Title\n");
}

static void refuse(const char *content, const char *words)
{
    struct skill_row row = {0};
    struct err err = {0};

    assert_int_equal(skill_file_parse(content, "content", &row, &err), ERR_INVALID);
    assert_string_equal(err.place, "content");
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_null(row.name);
}

TEST(an_invalid_skill_is_refused)
{
    static const char *const no_files[] = {"",
                                           "---",
                                           "---\n",
                                           "---\n---",
                                           "----\nname: a\n---\nb",
                                           " ---\nname: a\n---\nb",
                                           "a\n---\n---\n"};

    for (size_t i = 0; i < COUNT_OF(no_files); i++)
        refuse(no_files[i], "expected the text of a SKILL.md");
    refuse("---\n---\nx", "needs a 'name'");
    refuse("---\n- a\n---\nx", "SKILL.md");
    refuse("---\nname: a\ndescription: b\n---\n\n", "no instructions");
    refuse("---\nname: a\ndescription: \"b\\tc\"\n---\nx", "needs a 'description'");
    refuse("---\nname: a_b\ndescription: b\n---\nx", "needs a 'name'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skill_has_a_name_a_description_and_instructions),
        cmocka_unit_test(an_invalid_skill_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
