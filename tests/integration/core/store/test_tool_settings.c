/* F49: tool settings of projects and users. */

#include <stdio.h>

#include "core/base/mem.h"
#include "core/store/tables/tool_settings.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define user_of_p2(name) (&(const struct tenant){.project = "p2", .user = name})

static void put(const struct tenant *tenant, const char *user, const char *groups,
                const char *permissions)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row row = {0};

    assert_int_equal(store_tool_settings_put(
                         store, tenant,
                         &(struct tool_settings_change){
                             .user = user, .tool_groups = groups, .permissions = permissions},
                         &row, NULL),
                     ERR_OK);
    assert_string_equal(row.user, user);
}

static void expect(const struct tenant *tenant, const char *user, const char *groups,
                   const char *permissions)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row row = {0};

    assert_int_equal(store_tool_settings_get(store, tenant, user, &row, NULL), ERR_OK);
    assert_string_equal(row.tool_groups, groups);
    assert_string_equal(row.permissions, permissions);
}

TEST(members_that_are_not_given_stay)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row first = {0};
    CLEANUP(tool_settings_row_clear) struct tool_settings_row last = {0};

    put(TENANT_OF("p1"), "", "{\"g\":true}", NULL);
    expect(TENANT_OF("p1"), "", "{\"g\":true}", "{}");
    assert_int_equal(store_tool_settings_get(store, TENANT_OF("p1"), "", &first, NULL), ERR_OK);
    put(TENANT_OF("p1"), "", NULL, "{\"g\":{}}");
    expect(TENANT_OF("p1"), "", "{\"g\":true}", "{\"g\":{}}");
    put(TENANT_OF("p1"), "", "{}", NULL);
    expect(TENANT_OF("p1"), "", "{}", "{\"g\":{}}");
    assert_int_equal(store_tool_settings_get(store, TENANT_OF("p1"), "", &last, NULL), ERR_OK);
    assert_string_equal(last.id, first.id);
    assert_int_equal(last.created_at, first.created_at);
    assert_true(last.updated_at > first.updated_at);
}

TEST(nothing_leaks_between_projects_and_users)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row project = {0};
    CLEANUP(tool_settings_row_clear) struct tool_settings_row user = {0};
    CLEANUP(tool_settings_row_clear) struct tool_settings_row none = {0};
    char id[ID_SIZE];
    struct err err;

    put(TENANT_OF("p2"), "", "{\"own\":true}", NULL);
    put(TENANT_OF("p2"), "ann", "{\"anns\":true}", NULL);
    put(TENANT_OF("p3"), "ann", "{\"others\":true}", NULL);
    assert_int_equal(store_tool_settings_for(store, user_of_p2("ann"), &project, &user, NULL),
                     ERR_OK);
    assert_string_equal(project.tool_groups, "{\"own\":true}");
    assert_string_equal(user.tool_groups, "{\"anns\":true}");
    tool_settings_row_clear(&project);
    tool_settings_row_clear(&user);
    assert_int_equal(store_tool_settings_for(store, user_of_p2("bob"), &project, &user, NULL),
                     ERR_OK);
    assert_string_equal(project.tool_groups, "{\"own\":true}");
    assert_string_equal(user.id, "");
    tool_settings_row_clear(&project);
    assert_int_equal(store_tool_settings_for(store, user_of_p2(""), &project, &user, NULL),
                     ERR_OK);
    assert_string_equal(project.user, "");
    assert_string_equal(user.id, "");
    assert_int_equal(store_tool_settings_get(store, TENANT_OF("p3"), "", &none, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "No tool settings found for this project.");
    assert_int_equal(store_tool_settings_delete(store, TENANT_OF("p2"), "ann", id, NULL),
                     ERR_OK);
    assert_int_equal(store_tool_settings_delete(store, TENANT_OF("p2"), "ann", id, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "No tool settings found for user 'ann'.");
    expect(TENANT_OF("p3"), "ann", "{\"others\":true}", "{}");
    expect(TENANT_OF("p2"), "", "{\"own\":true}", "{}");
}

TEST(the_rows_of_users_are_listed)
{
    struct tool_settings_row *rows = NULL;
    struct page page = {.limit = 1, .ascending = true};
    struct page next = {.limit = 2};
    size_t count = 0;
    bool more = false;
    struct err err;

    put(TENANT_OF("p4"), "zoe", "{}", NULL);
    put(TENANT_OF("p4"), "", "{}", NULL);
    put(TENANT_OF("p4"), "ann", "{}", NULL);
    assert_int_equal(
        store_tool_settings_list(store, TENANT_OF("p4"), &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    assert_true(more);
    assert_string_equal(rows[0].user, "zoe");
    (void)snprintf(page.after, sizeof(page.after), "%s", rows[0].id);
    tool_settings_rows_free(rows, count);
    assert_int_equal(
        store_tool_settings_list(store, TENANT_OF("p4"), &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    assert_false(more);
    assert_string_equal(rows[0].user, "ann");
    tool_settings_rows_free(rows, count);
    assert_int_equal(
        store_tool_settings_list(store, TENANT_OF("p5"), &next, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 0);
    tool_settings_rows_free(rows, count);
    /* An id that this server made is a place in time, whatever it named. It shows nothing of p4. */
    assert_int_equal(
        store_tool_settings_list(store, TENANT_OF("p5"), &page, &rows, &count, &more, NULL),
        ERR_OK);
    assert_int_equal(count, 0);
    tool_settings_rows_free(rows, count);
    (void)snprintf(page.after, sizeof(page.after), "toolset_1");
    assert_int_equal(
        store_tool_settings_list(store, TENANT_OF("p5"), &page, &rows, &count, &more, &err),
        ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_that_are_not_given_stay),
        cmocka_unit_test(nothing_leaks_between_projects_and_users),
        cmocka_unit_test(the_rows_of_users_are_listed),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
