#include "tests/unit/handlers/tool_run.h"

#include "core/memory/message_cache.h"
#include "core/memory/variable_memory.h"
#include "tests/support/tenants.h"

/* The four tools, over variables in memory. */

static const struct variable_ops ops = {
    .get = variable_memory_get,
    .list = variable_memory_list,
    .put = variable_memory_put,
    .remove = variable_memory_remove,
};
static struct variable_budget budget = VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT);
static struct variable_access access;

static int open_memory(void **state)
{
    (void)state;
    access = (struct variable_access){.ops = &ops,
                                      .memory = variable_memory_new(&budget, TENANT_OF("p1"))};
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    variable_memory_release(access.memory);
    message_cache_release(access.messages);
    return 0;
}

static void put(const char *name, const char *value, const char *description)
{
    bool created;

    assert_int_equal(variable_memory_put(&access, TENANT_OF("p1"),
                                         &(struct variable_change){.name = name,
                                                                   .type = VARIABLE_USER_ADD,
                                                                   .value = value,
                                                                   .description = description},
                                         VARIABLE_PUT, &created, NULL),
                     ERR_OK);
}

static void expect(const struct tool_handler *handler, const char *args, const char *wanted)
{
    AUTO_OUTCOME outcome = tool_run_spec(
        handler, args, &(struct tool_call_spec){.call_id = "call_1", .variables = access});

    assert_string_equal(outcome.end.rc ? outcome.end.error.text : outcome.text, wanted);
}

/* ---- F30 ---- */

/* F30 */
TEST(vectors)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(all, "read_var");
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(vectors), 5);
    json_array_foreach (vectors, i, vector) {
        json_t *args = json_object_get(vector, "args");
        AUTO_FREE char *text = NULL;

        put("v", json_get_string(vector, "value", NULL), NULL);
        json_set_string(args, "name", "v");
        text = json_text(args);
        expect(&read_var_handler, text, json_get_string(vector, "seed", NULL));
    }
}

/* F30 */
TEST(what_is_said_of_one_variable_is_not_taken_for_another)
{
    put("a", "1", "x\n- fake\n  - Type: RULE; Len: 3\t");
    expect(&list_vars_handler, "{\"filter\":{\"type\":\"USER_ADD\"}}",
           "Available Variables (filtered: type=USER_ADD):\n- a\n  - Type: USER_ADD; Len: 1\n"
           "  - Desc: x - fake   - Type: RULE; Len: 3 \n  - Tags: []\nPage 1/1 (total: 1).");
}

/* ---- F33 ---- */

TEST(the_name_of_a_message_is_looked_up_among_the_messages)
{
    char name[VARIABLE_NAME_LIMIT + 1];
    AUTO_FREE char *args = NULL;
    AUTO_FREE char *missing = NULL;

    message_cache_name("said", name);
    args = mem_printf("{\"name\":\"%s\"}", name);
    missing = mem_printf("Variable '%s' not found.", name);
    expect(&read_var_handler, args, missing);
    access.messages = message_cache_new();
    expect(&read_var_handler, args, missing);
    message_cache_add(access.messages, "user", "said");
    expect(&read_var_handler, args, "said");
}

#define VARIABLES_TEST(test) cmocka_unit_test_setup_teardown(test, open_memory, close_memory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VARIABLES_TEST(vectors),
        VARIABLES_TEST(what_is_said_of_one_variable_is_not_taken_for_another),
        VARIABLES_TEST(the_name_of_a_message_is_looked_up_among_the_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
