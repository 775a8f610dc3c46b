#include "server/http/router.h"
#include "tests/support/test.h"

/* clang-format off */
static const struct route rows[] = {
    {"GET",    "/v1/models/{model...}",        NULL, "model",   0},
    {"GET",    "/v1/threads",                  NULL, "list",    0},
    {"POST",   "/v1/threads",                  NULL, "create",  0},
    {"POST",   "/v1/threads/runs",             NULL, "both",    0},
    {"POST",   "/v1/threads/{thread}",         NULL, "modify",  0},
    {"DELETE", "/v1/threads/{thread}",         NULL, "delete",  0},
    {"GET",    "/v1/responses/{response}",     NULL, "response", 0},
    {"GET",    "/v1/threads/{thread}/runs/{run}", NULL, "run",  0},
};
/* clang-format on */

static const struct route_table table = {rows, sizeof(rows) / sizeof(*rows)};
static struct uri uri;
static struct route_match match;

static enum route_outcome find(const char *method, const char *target)
{
    uri_clear(&uri);
    assert_int_equal(uri_parse(target, &uri, NULL), ERR_OK);
    return router_find(&table, method, &uri, &match);
}

/* clang-format off */
static const struct absent_route absent[] = {
    {NULL,     "/v1/files"},
    {NULL,     "/v1/threads"},
    {NULL,     "/v1/skills/{skill}/versions"},
    {"DELETE", "/v1/models/{model...}"},
};
/* clang-format on */

static bool is_absent(const char *method, const char *target)
{
    enum route_outcome outcome = find(method, target);

    return outcome != ROUTE_FOUND &&
           router_is_absent(absent, sizeof(absent) / sizeof(*absent), outcome, method, &uri);
}

TEST(a_row_without_a_method_stands_for_all_below)
{
    assert_true(is_absent("POST", "/v1/files"));
    assert_true(is_absent("GET", "/v1/files?limit=1"));
    assert_true(is_absent("OPTIONS", "/v1/files/a/b/c"));
    assert_true(is_absent("GET", "/v1/skills/s/versions/1/content"));
    assert_false(is_absent("POST", "/v1/filesystem"));
    assert_false(is_absent("GET", "/v1"));
    assert_false(is_absent("GET", "/v1/skills/s"));
    assert_false(is_absent("GET", "/v1/skills//versions"));
}

TEST(a_route_comes_before_what_is_absent)
{
    assert_false(is_absent("GET", "/v1/threads"));
    assert_false(is_absent("PATCH", "/v1/threads")); /* another method of a served path */
    assert_true(is_absent("GET", "/v1/threads/t/more"));
}

TEST(a_row_with_a_method_is_for_that_method)
{
    assert_true(is_absent("DELETE", "/v1/models/m"));
    assert_true(is_absent("DELETE", "/v1/models/org/m"));
    assert_false(is_absent("PATCH", "/v1/models/m"));
    assert_false(is_absent("HEAD", "/v1/models/m"));
}

TEST(parameters_are_found_by_name)
{
    assert_int_equal(find("GET", "/v1/threads/thread_1/runs/run%202"), ROUTE_FOUND);
    assert_string_equal(match.route->operation, "run");
    assert_string_equal(route_match_param(&match, "thread"), "thread_1");
    assert_string_equal(route_match_param(&match, "run"), "run 2");
    assert_string_equal(route_match_param(&match, "ru"), "");
}

TEST(an_earlier_literal_wins_over_a_parameter)
{
    assert_int_equal(find("POST", "/v1/threads/runs"), ROUTE_FOUND);
    assert_string_equal(match.route->operation, "both");
    assert_int_equal(find("DELETE", "/v1/threads/runs"), ROUTE_FOUND);
    assert_string_equal(match.route->operation, "delete");
}

TEST(the_rest_takes_slashes)
{
    assert_int_equal(find("GET", "/v1/models/org/name"), ROUTE_FOUND);
    assert_string_equal(route_match_param(&match, "model"), "org/name");
    assert_int_equal(find("GET", "/v1/models/org%2Fname"), ROUTE_FOUND);
    assert_string_equal(route_match_param(&match, "model"), "org/name");
}

TEST(an_unknown_path_differs_from_an_unknown_method)
{
    AUTO_BUF methods = {0};

    assert_int_equal(find("GET", "/v1/nothing"), ROUTE_NO_PATH);
    assert_int_equal(find("GET", "/v1/threads/"), ROUTE_NO_PATH);
    assert_int_equal(find("GET", "/v1/threads/a/runs"), ROUTE_NO_PATH);
    assert_int_equal(find("GET", "/"), ROUTE_NO_PATH);
    assert_int_equal(find("PATCH", "/v1/threads/a"), ROUTE_NO_METHOD);
    router_allowed(&table, &uri, &methods);
    assert_string_equal(methods.data, "POST, DELETE, OPTIONS");
}

TEST(head_is_answered_by_get)
{
    AUTO_BUF methods = {0};

    assert_int_equal(find("HEAD", "/v1/threads"), ROUTE_FOUND);
    assert_string_equal(match.route->operation, "list");
    router_allowed(&table, &uri, &methods);
    assert_string_equal(methods.data, "GET, HEAD, POST, OPTIONS");
    uri_clear(&uri);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_found_by_name),
        cmocka_unit_test(an_earlier_literal_wins_over_a_parameter),
        cmocka_unit_test(the_rest_takes_slashes),
        cmocka_unit_test(an_unknown_path_differs_from_an_unknown_method),
        cmocka_unit_test(head_is_answered_by_get),
        cmocka_unit_test(a_row_without_a_method_stands_for_all_below),
        cmocka_unit_test(a_route_comes_before_what_is_absent),
        cmocka_unit_test(a_row_with_a_method_is_for_that_method),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
