#include "core/base/compiler.h"
#include "core/model/model.h"
#include "tests/support/test.h"

static const char *const gpt[] = {"gpt-*", "o3", NULL};
static const char *const local[] = {"org/model:7b", "", NULL};
static const char *const all[] = {"*", NULL};
static const struct model_upstream list[] = {
    {.name = "gpt", .models = gpt},
    {.name = "local", .models = local},
    {.name = "all", .models = all},
};

TEST(the_first_upstream_that_serves_the_model_is_found)
{
    assert_ptr_equal(model_upstream_find(list, 3, "gpt-4.1"), &list[0]);
    assert_ptr_equal(model_upstream_find(list, 3, "gpt-"), &list[0]);
    assert_ptr_equal(model_upstream_find(list, 3, "o3"), &list[0]);
    assert_ptr_equal(model_upstream_find(list, 3, "org/model:7b"), &list[1]);
    assert_ptr_equal(model_upstream_find(list, 3, "o3-mini"), &list[2]);
    assert_ptr_equal(model_upstream_find(list, 3, "gpt"), &list[2]);
    assert_ptr_equal(model_upstream_find(list, 3, "GPT-4"), &list[2]);
}

TEST(a_model_without_an_upstream_is_not_found)
{
    assert_null(model_upstream_find(list, 2, "claude"));
    assert_null(model_upstream_find(list, 2, "org/model:7b-q4"));
    assert_null(model_upstream_find(list, 0, "gpt-4.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_upstream_that_serves_the_model_is_found),
        cmocka_unit_test(a_model_without_an_upstream_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
