#include "core/domain/search_resources.h"

#include "core/base/json.h"
#include "tests/support/test.h"

static json_t *json(const char *text)
{
    return json_parse_own(text);
}

TEST(the_first_store_is_the_store)
{
    json_auto_t *one = json("{\"file_search\": {\"vector_store_ids\": [\"vs_a\"]}}");

    assert_string_equal(search_resources_store(one), "vs_a");
}

TEST(resources_of_any_form_may_name_no_store)
{
    static const char *const forms[] = {
        "{}",
        "[]",
        "{\"file_search\": null}",
        "{\"file_search\": {\"vector_store_ids\": []}}",
        "{\"file_search\": {\"vector_store_ids\": [1]}}",
        "{\"code_interpreter\": {\"file_ids\": [\"file-a\"]}}",
    };

    assert_null(search_resources_store(NULL));
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        json_auto_t *resources = json(forms[i]);

        assert_null(search_resources_store(resources));
    }
}

TEST(a_store_takes_the_place_of_the_helper_and_of_another_store)
{
    json_auto_t *helper = json("{\"file_search\": {\"vector_stores\": [{}]}}");
    json_auto_t *other = json("{\"file_search\": {\"vector_store_ids\": [\"vs_a\"]}}");
    json_auto_t *expected = json("{\"file_search\": {\"vector_store_ids\": [\"vs_b\"]}}");

    search_resources_set(helper, "vs_b");
    search_resources_set(other, "vs_b");
    assert_true(json_equal(helper, expected));
    assert_true(json_equal(other, expected));
}

TEST(a_search_is_one_of_the_tools)
{
    json_auto_t *with = json("[{\"type\": \"function\"}, {\"type\": \"file_search\"}]");
    json_auto_t *without = json("[{\"type\": \"function\"}, \"file_search\", {}]");

    assert_true(search_resources_used(with));
    assert_false(search_resources_used(without));
    assert_false(search_resources_used(NULL));
}

TEST(what_else_is_in_the_resources_stays)
{
    json_auto_t *resources = json("{\"code_interpreter\": {\"file_ids\": [\"file-a\"]}}");
    json_auto_t *expected = json("{\"code_interpreter\": {\"file_ids\": [\"file-a\"]},"
                                 " \"file_search\": {\"vector_store_ids\": [\"vs_b\"]}}");

    search_resources_set(resources, "vs_b");
    assert_true(json_equal(resources, expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_store_is_the_store),
        cmocka_unit_test(resources_of_any_form_may_name_no_store),
        cmocka_unit_test(a_store_takes_the_place_of_the_helper_and_of_another_store),
        cmocka_unit_test(a_search_is_one_of_the_tools),
        cmocka_unit_test(what_else_is_in_the_resources_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
