/*
 * F31: variables of responses that are not stored are in memory. After the same operations both
 * places contain and report the same.
 *
 * Each step is chosen by its number alone, with many different divisors, so that kinds of
 * operations, names, values and flags meet in ever new combinations. After every step the lists
 * are compared, and error texts with each result: handlers must not be able to see which place
 * they use.
 */

#include <stdio.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/variable_memory.h"
#include "core/store/tables/threads/variables.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/variable_samples.h"
#include "tests/support/test.h"

#define SAME_STEPS 400
#define SAME_NAMES 12

/* The store and the memory. */
struct pair {
    char scope[ID_SIZE];
    struct variable_access memory;
};

static enum err_code get_both(const struct pair *pair, const char *name,
                              enum variable_reading reading)
{
    AUTO_VARIABLE stored = {0}, kept = {0};
    struct err one = {0}, other = {0};
    enum err_code rc =
        store_variable_get(store, TENANT, pair->scope, name, reading, &stored, &one);

    assert_int_equal(variable_memory_get(&pair->memory, TENANT, name, reading, &kept, &other),
                     rc);
    assert_string_equal(one.text, other.text);
    if (rc)
        return rc;
    assert_string_equal(stored.value, kept.value);
    assert_int_equal(stored.type, kept.type);
    assert_int_equal(stored.keep, kept.keep);
    assert_int_equal(stored.plain, kept.plain);
    assert_int_equal(stored.length, kept.length);
    assert_int_equal(stored.bytes, kept.bytes);
    assert_int_equal(stored.reads, kept.reads);
    assert_int_equal(!stored.description, !kept.description);
    return rc;
}

static void put_both(const struct pair *pair, const struct variable_change *change,
                     enum variable_put how)
{
    struct err one = {0}, other = {0};
    bool made = false, made_too = false;
    enum err_code rc = store_variable_put(store, TENANT, pair->scope, change, how, &made, &one);

    assert_int_equal(variable_memory_put(&pair->memory, TENANT, change, how, &made_too, &other),
                     rc);
    assert_string_equal(one.text, other.text);
    assert_string_equal(one.place, other.place);
    assert_int_equal(made, made_too);
}

static void remove_both(const struct pair *pair, const char *name)
{
    json_auto_t *one = NULL, *other = NULL;

    assert_int_equal(
        store_variables_remove(store, TENANT, pair->scope, &name, 1, NULL, &one, NULL), ERR_OK);
    assert_int_equal(variable_memory_remove(&pair->memory, TENANT, &name, 1, &other, NULL),
                     ERR_OK);
    assert_true(json_equal(one, other));
}

static void list_both(const struct pair *pair, const struct variable_query *query)
{
    struct variable *one = NULL, *other = NULL;
    size_t count = 0, count_too = 0;
    int64_t total = 0, total_too = 0;

    assert_int_equal(
        store_variable_list(store, TENANT, pair->scope, query, &one, &count, &total, NULL),
        ERR_OK);
    assert_int_equal(variable_memory_list(&pair->memory, TENANT, query, &other, &count_too,
                                          &total_too, NULL),
                     ERR_OK);
    assert_int_equal(count, count_too);
    assert_int_equal(total, total_too);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(one[i].name, other[i].name);
    variables_free(one, count);
    variables_free(other, count_too);
}

static void step(const struct pair *pair, int n)
{
    static const char *const values[] = {NULL, "", "x", "v\xC3\xA4lue", "$VAR_REF{{n1}}"};
    const bool keep = n % 3 == 0;
    AUTO_FREE char *name = mem_printf("n%d", n * 7 % SAME_NAMES);

    switch (n % 5) {
    case 0: remove_both(pair, name); break;
    case 1: (void)get_both(pair, name, VARIABLE_READ); break;
    default:
        put_both(pair,
                 &(struct variable_change){.name = name,
                                           .type = n % 2 ? VARIABLE_LLM_ADD : VARIABLE_USER_ADD,
                                           .value = values[n * 11 % 5],
                                           .plain = n % 4 == 0,
                                           .description = n % 7 ? NULL : "About Variables",
                                           .keep = n % 13 ? NULL : &keep},
                 (enum variable_put)(n % 17 % 3));
    }
    list_both(pair, &(struct variable_query){.limit = 5,
                                             .skip = n % 3,
                                             .type = n % 6 ? NULL : "LLMAdd",
                                             .search = n % 4 ? NULL : "VAR",
                                             .descending = n % 2,
                                             .after = n % 8 ? NULL : "n4"});
}

/* F27, F30: after each operation both places contain and report the same. */
TEST(memory_does_what_the_store_does)
{
    struct variable_budget budget = VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT);
    struct pair pair = {.memory = {.memory = variable_memory_new(&budget, TENANT)}};
    int there = 0;

    sample_thread(pair.scope);
    for (int n = 0; n < SAME_STEPS; n++)
        step(&pair, n);
    for (int n = 0; n < SAME_NAMES; n++) {
        AUTO_FREE char *name = mem_printf("n%d", n);

        there += get_both(&pair, name, VARIABLE_LOOK) == ERR_OK;
    }
    assert_true(there > 2);
    variable_memory_release(pair.memory.memory);
    assert_int_equal(budget.used, 0);
}

/* Also what is evicted beyond the limits. */
TEST(memory_evicts_what_the_store_evicts)
{
    struct variable_budget budget = VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT);
    struct pair pair = {.memory = {.memory = variable_memory_new(&budget, TENANT)}};
    const bool keep = true;

    sample_thread(pair.scope);
    fill(pair.scope, VARIABLE_COUNT_LIMIT);
    for (int n = 1; n <= VARIABLE_COUNT_LIMIT; n++) {
        struct variable old = {
            .type = VARIABLE_USER_ADD, .value = mem_strdup("x"), .length = 1, .created_at = n};

        (void)snprintf(old.name, sizeof(old.name), "v%d", n);
        assert_true(variable_memory_add(pair.memory.memory, &old));
    }
    put_both(&pair, &(struct variable_change){.name = "v2", .keep = &keep}, VARIABLE_UPDATE);
    (void)get_both(&pair, "v1", VARIABLE_READ);
    for (int n = 0; n < 5; n++) {
        AUTO_FREE char *name = mem_printf("new%d", n);

        put_both(
            &pair,
            &(struct variable_change){.name = name, .type = VARIABLE_USER_ADD, .value = "1"},
            VARIABLE_PUT);
        list_both(&pair, &(struct variable_query){.limit = 2000});
    }
    assert_int_equal(get_both(&pair, "v3", VARIABLE_LOOK), ERR_NOT_FOUND);
    assert_int_equal(get_both(&pair, "v1", VARIABLE_LOOK), ERR_OK);
    variable_memory_release(pair.memory.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_what_the_store_does),
        cmocka_unit_test(memory_evicts_what_the_store_evicts),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
