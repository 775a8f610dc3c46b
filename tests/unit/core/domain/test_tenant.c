#include <string.h>

#include "core/base/compiler.h"
#include "core/domain/tenant.h"
#include "tests/support/test.h"

TEST(a_tenant_made_from_a_project_has_nothing_else)
{
    const struct tenant tenant = tenant_of_project("proj_1");

    assert_string_equal(tenant.project, "proj_1");
    assert_string_equal(tenant.key, "");
    assert_string_equal(tenant.user, "");
    assert_int_equal(tenant.limits.runs, 0);
    assert_int_equal(tenant.limits.held, 0);
    assert_int_equal(tenant.limits.variable_bytes, 0);
    assert_int_equal(tenant.features, 0);
}

TEST(the_longest_id_fits)
{
    char project[ID_SIZE];

    memset(project, 'p', sizeof(project) - 1);
    project[sizeof(project) - 1] = '\0';
    assert_string_equal(tenant_of_project(project).project, project);
}

TEST(a_kept_tenant_outlives_its_maker)
{
    char user[] = "ann";
    struct tenant tenant = {.project = "proj_1",
                            .key = "key_1",
                            .user = user,
                            .limits = {1, 2, 3},
                            .features = TENANT_TOOL_SETTINGS};
    const struct tenant kept = tenant_kept(&tenant);

    assert_string_equal(tenant.user, "ann");
    memset(user, 'x', sizeof(user) - 1);
    memset(&tenant, 0, sizeof(tenant));
    assert_string_equal(kept.project, "proj_1");
    assert_string_equal(kept.key, "key_1");
    assert_string_equal(kept.user, "");
    assert_int_equal(kept.limits.held, 2);
    assert_int_equal(kept.features, TENANT_TOOL_SETTINGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_made_from_a_project_has_nothing_else),
        cmocka_unit_test(the_longest_id_fits),
        cmocka_unit_test(a_kept_tenant_outlives_its_maker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
