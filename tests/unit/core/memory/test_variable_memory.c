#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/variable_memory.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

static struct variable_budget budget = VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT);
static struct variable_access access;

static int open_memory(void **state)
{
    (void)state;
    budget.limit = VARIABLE_MEMORY_LIMIT;
    access = (struct variable_access){.memory = variable_memory_new(&budget, TENANT_OF("p1"))};
    return 0;
}

/* After every test all counts are zero again. */
static int close_memory(void **state)
{
    (void)state;
    variable_memory_release(access.memory);
    assert_int_equal(budget.used, 0);
    for (size_t i = 0; i < VARIABLE_SHARE_BUCKETS; i++)
        assert_null(budget.shares[i]);
    return 0;
}

static enum err_code change(const struct variable_change *change, enum variable_put how,
                            struct err *err)
{
    bool created;

    return variable_memory_put(&access, TENANT_OF("p1"), change, how, &created, err);
}

static void put(const char *name, const char *value)
{
    assert_int_equal(
        change(
            &(struct variable_change){.name = name, .type = VARIABLE_LLM_ADD, .value = value},
            VARIABLE_PUT, NULL),
        ERR_OK);
}

static void keep(const char *name)
{
    const bool yes = true;

    assert_int_equal(
        change(&(struct variable_change){.name = name, .keep = &yes}, VARIABLE_UPDATE, NULL),
        ERR_OK);
}

static bool add_result(const char *name, const char *value)
{
    bool is_there;

    struct variable variable = {.type = VARIABLE_TOOL_CALL_RESULT,
                                .value = mem_strdup(value),
                                .length = (int64_t)variable_length(value),
                                .created_at = 1};

    (void)snprintf(variable.name, sizeof(variable.name), "%s", name);
    is_there = variable_memory_add(access.memory, &variable);
    assert_null(variable.value);
    return is_there;
}

/* NULL: it is missing. */
static void expect_is(const char *name, const char *value)
{
    AUTO_VARIABLE variable = {0};
    struct err err;
    enum err_code rc =
        variable_memory_get(&access, TENANT_OF("p1"), name, VARIABLE_LOOK, &variable, &err);

    if (!value) {
        AUTO_FREE char *text = mem_printf("Variable '%s' not found.", name);

        assert_int_equal(rc, ERR_NOT_FOUND);
        assert_string_equal(err.text, text);
        return;
    }
    assert_int_equal(rc, ERR_OK);
    assert_string_equal(variable.value, value);
}

static void expect_names(const struct variable_query *query, int64_t total, const char *names)
{
    struct variable_query asked = *query;
    struct variable *variables = NULL;
    AUTO_BUF joined = {0};
    int64_t seen = -1;
    size_t count = 0;

    if (!asked.limit)
        asked.limit = 2000;
    assert_int_equal(
        variable_memory_list(&access, TENANT_OF("p1"), &asked, &variables, &count, &seen, NULL),
        ERR_OK);
    buf_add_text(&joined, "");
    for (size_t i = 0; i < count; i++) {
        assert_null(variables[i].value);
        buf_addf(&joined, "%s%s", i ? " " : "", variables[i].name);
    }
    variables_free(variables, count);
    if (names)
        assert_string_equal(joined.data ? joined.data : "", names);
    assert_int_equal(seen, total);
}

/* One after another, and all long ago. */
static void fill(int count)
{
    for (int i = 1; i <= count; i++) {
        struct variable variable = {
            .type = VARIABLE_LLM_ADD, .value = mem_strdup("x"), .length = 1, .created_at = i};

        (void)snprintf(variable.name, sizeof(variable.name), "v%d", i);
        assert_true(variable_memory_add(access.memory, &variable));
    }
}

/* ---- Putting and reading ---- */

/* F30. */
TEST(test_fields_that_are_not_given_keep_their_values)
{
    json_auto_t *tags = json_parse_own("[\"x\",\"y\"]");
    AUTO_VARIABLE seen = {0};
    bool created = false;

    assert_int_equal(variable_memory_put(&access, TENANT_OF("p1"),
                                         &(struct variable_change){.name = "a",
                                                                   .type = VARIABLE_LLM_ADD,
                                                                   .value = "v\xC3\xA4",
                                                                   .plain = true,
                                                                   .description = "d",
                                                                   .tags = tags},
                                         VARIABLE_PUT, &created, NULL),
                     ERR_OK);
    assert_true(created);
    assert_int_equal(variable_memory_put(&access, TENANT_OF("p1"),
                                         &(struct variable_change){.name = "a",
                                                                   .type = VARIABLE_USER_ADD,
                                                                   .description = "other"},
                                         VARIABLE_PUT, &created, NULL),
                     ERR_OK);
    assert_false(created);
    assert_int_equal(
        variable_memory_get(&access, TENANT_OF("p1"), "a", VARIABLE_READ, &seen, NULL), ERR_OK);
    assert_int_equal(seen.type, VARIABLE_LLM_ADD);
    assert_true(seen.plain);
    assert_string_equal(seen.value, "v\xC3\xA4");
    assert_string_equal(seen.description, "other");
    assert_int_equal(json_array_size(seen.tags), 2);
    assert_int_equal(seen.length, 2);
    assert_int_equal(seen.bytes, 3);
    assert_int_equal(seen.reads, 0);
}

TEST(test_a_refused_variable_says_why)
{
    struct variable_change wrong = {.name = "a", .type = VARIABLE_USER_ADD};
    struct err err;

    assert_int_equal(change(&wrong, VARIABLE_PUT, &err), ERR_INVALID);
    assert_string_equal(err.text, "Variable 'a' does not exist; a new one needs a value.");
    assert_int_equal(change(&wrong, VARIABLE_UPDATE, &err), ERR_NOT_FOUND);
    wrong.value = "";
    assert_int_equal(change(&wrong, VARIABLE_PUT, &err), ERR_INVALID);
    put("a", "1");
    wrong.value = "2";
    assert_int_equal(change(&wrong, VARIABLE_CREATE, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "Variable 'a' exists already.");
    expect_is("a", "1");
    assert_int_equal(change(&wrong, VARIABLE_UPDATE, &err), ERR_OK);
    expect_is("a", "2");
}

/* F27. */
TEST(test_a_result_replaces_the_variable_of_the_same_name)
{
    AUTO_VARIABLE seen = {0};

    put("t_result", "mine");
    add_result("t_result", "its");
    assert_int_equal(
        variable_memory_get(&access, TENANT_OF("p1"), "t_result", VARIABLE_LOOK, &seen, NULL),
        ERR_OK);
    assert_string_equal(seen.value, "its");
    assert_int_equal(seen.type, VARIABLE_TOOL_CALL_RESULT);
    assert_int_equal(seen.bytes, 3);
    expect_names(&(struct variable_query){0}, 1, "t_result");
}

/* F30. */
TEST(test_lists_are_filtered_and_paged)
{
    json_auto_t *tags = json_parse_own("[\"x%\"]");

    put("b_100", "1");
    put("c", "1");
    put("a", "1");
    assert_int_equal(change(&(struct variable_change){.name = "d",
                                                      .type = VARIABLE_USER_ADD,
                                                      .value = "1",
                                                      .description = "The B in it",
                                                      .tags = tags},
                            VARIABLE_PUT, NULL),
                     ERR_OK);
    expect_names(&(struct variable_query){0}, 4, "a b_100 c d");
    expect_names(&(struct variable_query){.type = "USER_ADD"}, 1, "d");
    expect_names(&(struct variable_query){.search = "b"}, 2, "b_100 d");
    expect_names(&(struct variable_query){.tag = "x%"}, 1, "d");
    expect_names(&(struct variable_query){.tag = "x"}, 0, "");
    expect_names(&(struct variable_query){.limit = 2, .skip = 2}, 4, "c d");
    expect_names(&(struct variable_query){.limit = 2, .skip = 9}, 4, "");
    expect_names(&(struct variable_query){.limit = 2, .after = "a"}, 4, "b_100 c");
    expect_names(&(struct variable_query){.limit = 2, .after = "d", .descending = true}, 4,
                 "c b_100");
}

/* F30. */
TEST(test_several_variables_are_removed_at_once)
{
    static const char *const names[] = {"a", "kept", "none"};
    json_auto_t *removed = NULL;

    put("a", "1");
    put("b", "1");
    put("kept", "1");
    keep("kept");
    assert_int_equal(variable_memory_remove(&access, TENANT_OF("p1"), names, 3, &removed, NULL),
                     ERR_OK);
    assert_int_equal(json_array_size(removed), 1);
    assert_string_equal(json_string_value(json_array_get(removed, 0)), "a");
    expect_names(&(struct variable_query){0}, 2, "b kept");
}

/* ---- Limits ---- */

/* F31. */
TEST(test_the_least_recently_used_variable_is_evicted)
{
    AUTO_VARIABLE read = {0};

    fill(VARIABLE_COUNT_LIMIT);
    keep("v2");
    put("v3", "y"); /* changing one of a full scope drops none */
    expect_is("v1", "x");
    assert_int_equal(
        variable_memory_get(&access, TENANT_OF("p1"), "v1", VARIABLE_READ, &read, NULL),
        ERR_OK);
    put("new", "1");
    expect_is("v4", NULL); /* v1 was read, v2 is kept, v3 was changed */
    expect_is("v1", "x");
    expect_is("v2", "x");
    expect_is("v3", "y");
    expect_is("v5", "x");
    assert_false(add_result("old", "made before all that is left: it goes itself"));
    expect_is("old", NULL);
    expect_is("v5", "x");
}

static char *mebibyte(void)
{
    char *text = mem_new_array(char, VARIABLE_VALUE_LIMIT + 1);

    memset(text, 'x', VARIABLE_VALUE_LIMIT);
    text[VARIABLE_VALUE_LIMIT] = '\0';
    return text;
}

/* F31. */
TEST(test_variables_are_evicted_above_the_byte_limit)
{
    AUTO_FREE char *much = mebibyte();
    char name[16];

    fill(64);
    for (int i = 1; i <= 64; i++) {
        (void)snprintf(name, sizeof(name), "m%02d", i);
        put(name, much);
    }
    expect_names(&(struct variable_query){.search = "v"}, 0, "");
    expect_is("m01", much);
    put("new", "1");
    expect_names(&(struct variable_query){.search = "m"}, 63, NULL);
    expect_is("new", "1");
}

/* F31. */
TEST(test_only_a_few_variables_can_be_marked_keep)
{
    const bool yes = true;
    struct err err;
    char name[16];

    fill(VARIABLE_KEEP_LIMIT + 1);
    for (int i = 1; i <= VARIABLE_KEEP_LIMIT; i++) {
        (void)snprintf(name, sizeof(name), "v%d", i);
        keep(name);
    }
    keep("v1"); /* it is already */
    (void)snprintf(name, sizeof(name), "v%d", VARIABLE_KEEP_LIMIT + 1);
    assert_int_equal(
        change(&(struct variable_change){.name = name, .keep = &yes}, VARIABLE_UPDATE, &err),
        ERR_INVALID);
    assert_string_equal(err.text, "Invalid 'keep': at most 32 variables can be kept.");
}

/* F31: all responses of a node together have a limit, too; each project pays with its own variables. */
TEST(test_a_project_above_its_budget_evicts_its_own_variables)
{
    AUTO_FREE char *much = mebibyte();
    struct variable_memory *mine = access.memory;
    struct variable_memory *theirs = variable_memory_new(&budget, TENANT_OF("p2"));

    budget.limit = 3 * VARIABLE_VALUE_LIMIT;
    put("a", much);
    access.memory = theirs;
    put("b", much);
    put("c", much);
    expect_names(&(struct variable_query){0}, 1, "c"); /* at any microsecond */
    access.memory = mine;
    expect_is("a", much);
    assert_true(budget.used <= budget.limit);
    variable_memory_release(theirs);
}

static void expect_no_room(const char *name, const char *value)
{
    AUTO_FREE char *text = mem_printf(
        "There is no room for variable '%s': the variables of responses that are not "
        "stored take too much memory. Write less, remove others, or retry later.",
        name);
    struct err err;

    assert_int_equal(
        change(
            &(struct variable_change){.name = name, .type = VARIABLE_LLM_ADD, .value = value},
            VARIABLE_PUT, &err),
        ERR_LIMIT);
    assert_string_equal(err.text, text);
}

/* F31: a variable that would be evicted at once is refused, and nothing is evicted for a refused
 * one. */
TEST(test_a_variable_without_room_is_refused)
{
    AUTO_FREE char *much = mebibyte();
    struct variable_memory *mine = access.memory;
    struct variable_memory *theirs = variable_memory_new(&budget, TENANT_OF("p2"));
    size_t used;

    budget.limit = 3 * VARIABLE_VALUE_LIMIT;
    put("a", much);
    put("b", much);
    access.memory = theirs;
    put("small", "1");
    put("kept", "1");
    keep("kept");
    used = budget.used;
    expect_no_room("c", much);
    expect_no_room("small", much);
    expect_no_room("kept", much);
    assert_false(add_result("d", much));
    assert_int_equal(budget.used, used);
    expect_is("small", "1");
    expect_is("kept", "1");
    expect_names(&(struct variable_query){0}, 2, "kept small");
    put("small", "2");
    assert_true(add_result("d", "short"));
    variable_memory_release(mine);
    access.memory = theirs;
    put("c", much);
    expect_is("c", much);
}

/* Of a tenant that may have so much. */
static struct variable_memory *limited(const char *project, size_t bytes)
{
    struct tenant tenant = tenant_of_project(project);

    tenant.limits.variable_bytes = bytes;
    return variable_memory_new(&budget, &tenant);
}

/* F31: no project can take all of the memory. */
TEST(test_a_project_has_a_share_of_the_memory)
{
    AUTO_FREE char *much = mebibyte();
    struct variable_memory *mine = access.memory;
    struct variable_memory *again = limited("p1", 3 * VARIABLE_VALUE_LIMIT);
    struct variable_memory *theirs = limited("p2", 3 * VARIABLE_VALUE_LIMIT);

    budget.limit = 5 * VARIABLE_VALUE_LIMIT;
    put("a", much);
    put("b", much);
    access.memory = again;
    expect_no_room("c", much);
    access.memory = theirs;
    put("c", much);
    put("d", much);
    expect_names(&(struct variable_query){0}, 2, "c d");
    variable_memory_release(theirs);
    variable_memory_release(again);
    access.memory = mine;
    expect_is("a", much);
}

/* F33. */
TEST(test_all_given_variables_are_put_or_none)
{
    struct variable_memory *other = limited("p1", 2 * VARIABLE_VALUE_LIMIT);
    struct err err;

    for (int round = 0; round < 2; round++) {
        struct variable given[2] = {{.name = "a", .value = mebibyte(), .created_at = 1},
                                    {.name = "b", .value = mebibyte(), .created_at = 1}};

        given[1].value[round ? VARIABLE_VALUE_LIMIT : 10] = '\0';
        assert_int_equal(variable_memory_fill(round ? other : access.memory, given, 2, &err),
                         round ? ERR_LIMIT : ERR_OK);
        assert_null(given[0].value);
        assert_null(given[1].value);
    }
    assert_string_equal(err.text,
                        "The variables of responses that are not stored take too much memory. "
                        "Please retry in a few seconds.");
    assert_int_equal(err.reason, REASON_BUSY);
    expect_names(&(struct variable_query){0}, 2, "a b");
    variable_memory_release(other);
}

/* ---- Several at once ---- */

#define WRITERS 4
#define WRITES  300

static void *write_many(void *arg)
{
    const char *who = arg;
    char name[32];

    for (int i = 0; i < WRITES; i++) {
        AUTO_VARIABLE seen = {0};

        (void)snprintf(name, sizeof(name), "%s%d", who, i);
        put(name, name);
        if (!variable_memory_get(&access, TENANT_OF("p1"), name, VARIABLE_READ, &seen, NULL))
            assert_string_equal(seen.value, name);
    }
    variable_memory_release(access.memory);
    return NULL;
}

/* Workers that outlive their run hold what they use. */
TEST(test_several_workers_use_it_at_once)
{
    static char names[WRITERS][2] = {"a", "b", "c", "d"};
    pthread_t threads[WRITERS];
    int64_t total = 0;
    size_t count = 0;
    struct variable *variables = NULL;

    for (int i = 0; i < WRITERS; i++) {
        variable_memory_hold(access.memory);
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, names[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(variable_memory_list(&access, TENANT_OF("p1"),
                                          &(struct variable_query){.limit = 1}, &variables,
                                          &count, &total, NULL),
                     ERR_OK);
    variables_free(variables, count);
    assert_int_equal(total, VARIABLE_COUNT_LIMIT);
}

#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, open_memory, close_memory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_fields_that_are_not_given_keep_their_values),
        MEMORY_TEST(test_a_refused_variable_says_why),
        MEMORY_TEST(test_a_result_replaces_the_variable_of_the_same_name),
        MEMORY_TEST(test_lists_are_filtered_and_paged),
        MEMORY_TEST(test_several_variables_are_removed_at_once),
        MEMORY_TEST(test_the_least_recently_used_variable_is_evicted),
        MEMORY_TEST(test_variables_are_evicted_above_the_byte_limit),
        MEMORY_TEST(test_only_a_few_variables_can_be_marked_keep),
        MEMORY_TEST(test_a_project_above_its_budget_evicts_its_own_variables),
        MEMORY_TEST(test_a_variable_without_room_is_refused),
        MEMORY_TEST(test_a_project_has_a_share_of_the_memory),
        MEMORY_TEST(test_all_given_variables_are_put_or_none),
        MEMORY_TEST(test_several_workers_use_it_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
