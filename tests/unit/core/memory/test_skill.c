#include "core/base/json.h"
#include "core/memory/skill.h"
#include "tests/support/test.h"

static json_t *lines(const char *text)
{
    json_t *list = json_loads(text, 0, NULL);

    assert_non_null(list);
    return list;
}

/* F107. */
TEST(the_last_matching_line_counts)
{
    json_auto_t *list = lines("[{\"skill\":\"*\",\"permission\":\"deny\"},"
                              "{\"skill\":\"mail-?\",\"permission\":\"ask\"},"
                              "{\"skill\":\"mail-a\",\"permission\":\"allow\"}]");

    assert_int_equal(skill_permission_of(list, "notes"), SKILL_DENY);
    assert_int_equal(skill_permission_of(list, "mail"), SKILL_DENY);
    assert_int_equal(skill_permission_of(list, "mail-b"), SKILL_ASK);
    assert_int_equal(skill_permission_of(list, "mail-a"), SKILL_ALLOW);
    assert_int_equal(skill_permission_of(NULL, "mail"), SKILL_ALLOW);
}

/* F107. */
TEST(an_unknown_value_is_a_refusal)
{
    json_auto_t *list = lines("[{\"skill\":\"a\",\"permission\":\"Allow\"},{\"skill\":\"b\"}]");

    assert_int_equal(skill_permission_of(list, "a"), SKILL_DENY);
    assert_int_equal(skill_permission_of(list, "b"), SKILL_DENY);
}

/* F107: a narrow level cannot open what a wide one has closed, with any number of levels. */
TEST(the_strictest_of_several_levels_counts)
{
    json_auto_t *assistant = lines("[{\"skill\":\"a\",\"permission\":\"deny\"}]");
    json_auto_t *thread = lines("[{\"skill\":\"b\",\"permission\":\"ask\"}]");
    json_auto_t *run = lines("[{\"skill\":\"*\",\"permission\":\"allow\"}]");
    json_auto_t *two = skill_permissions_merge(assistant, thread);
    json_auto_t *three = skill_permissions_merge(two, run);
    json_auto_t *alone = skill_permissions_merge(NULL, thread);
    json_auto_t *empty = json_array();

    assert_int_equal(skill_permission_of(three, "a"), SKILL_DENY);
    assert_int_equal(skill_permission_of(three, "b"), SKILL_ASK);
    assert_int_equal(skill_permission_of(three, "c"), SKILL_ALLOW);
    assert_int_equal(skill_permission_of(alone, "b"), SKILL_ASK);
    assert_null(skill_permissions_merge(NULL, empty));
}

TEST(a_skill_is_found_by_its_name)
{
    json_auto_t *skills = lines("[\"skill_1\",{\"name\":\"a\"},{\"name\":\"b\"}]");

    assert_ptr_equal(skill_find(skills, "b"), json_array_get(skills, 2));
    assert_null(skill_find(skills, "skill_1"));
    assert_null(skill_find(NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_matching_line_counts),
        cmocka_unit_test(an_unknown_value_is_a_refusal),
        cmocka_unit_test(the_strictest_of_several_levels_counts),
        cmocka_unit_test(a_skill_is_found_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
