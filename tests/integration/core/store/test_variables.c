/*
 * Variables of one scope: put, read, listed, removed, evicted. Scopes that see each other are in
 * test_variable_scopes.c, several threads at once in test_variable_races.c, and the same in
 * memory in test_variable_twins.c.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/threads/variables.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/variable_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* F30. */
TEST(fields_that_are_not_given_stay)
{
    json_auto_t *tags = json_parse_own("[\"x\",\"y\"]");
    AUTO_VARIABLE seen = {0};
    bool created = false;
    char thread[ID_SIZE];

    sample_thread(thread);
    assert_int_equal(store_variable_put(store, TENANT, thread,
                                        &(struct variable_change){.name = "a",
                                                                  .type = VARIABLE_LLM_ADD,
                                                                  .value = "v\xC3\xA4",
                                                                  .description = "d",
                                                                  .tags = tags},
                                        VARIABLE_PUT, &created, NULL),
                     ERR_OK);
    assert_true(created);
    assert_int_equal(store_variable_put(store, TENANT, thread,
                                        &(struct variable_change){.name = "a",
                                                                  .type = VARIABLE_USER_ADD,
                                                                  .description = "other"},
                                        VARIABLE_PUT, &created, NULL),
                     ERR_OK);
    assert_false(created);
    assert_int_equal(store_variable_get(store, TENANT, thread, "a", VARIABLE_READ, &seen, NULL),
                     ERR_OK);
    assert_int_equal(seen.type, VARIABLE_LLM_ADD);
    assert_string_equal(seen.value, "v\xC3\xA4");
    assert_string_equal(seen.description, "other");
    assert_int_equal(json_array_size(seen.tags), 2);
    assert_int_equal(seen.length, 2);
    assert_int_equal(seen.bytes, 3);
    assert_int_equal(seen.reads, 0);
    assert_true(seen.updated_at >= seen.created_at);
}

/* F31. */
TEST(reading_counts_as_use_and_looking_does_not)
{
    AUTO_VARIABLE first = {0}, second = {0};
    char thread[ID_SIZE];

    sample_thread(thread);
    put(thread, "a", "1");
    expect_is(thread, "a", "1");
    assert_int_equal(
        store_variable_get(store, TENANT, thread, "a", VARIABLE_READ, &first, NULL), ERR_OK);
    assert_int_equal(first.reads, 0);
    assert_int_equal(
        store_variable_get(store, TENANT, thread, "a", VARIABLE_LOOK, &second, NULL), ERR_OK);
    assert_int_equal(second.reads, 1);
    assert_true(second.visited_at > first.visited_at);
    assert_int_equal(second.updated_at, first.updated_at);
}

TEST(the_error_says_why_a_variable_was_not_put)
{
    struct variable_change change = {.name = "a", .type = VARIABLE_USER_ADD};
    struct err err;
    char thread[ID_SIZE];

    sample_thread(thread);
    assert_int_equal(put_change(thread, &change, VARIABLE_PUT, &err), ERR_INVALID);
    assert_string_equal(err.text, "Variable 'a' does not exist; a new one needs a value.");
    assert_int_equal(put_change(thread, &change, VARIABLE_UPDATE, &err), ERR_NOT_FOUND);
    put(thread, "a", "1");
    change.value = "2";
    assert_int_equal(put_change(thread, &change, VARIABLE_CREATE, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "Variable 'a' exists already.");
    expect_is(thread, "a", "1");
    assert_int_equal(put_change(thread, &change, VARIABLE_UPDATE, &err), ERR_OK);
    expect_is(thread, "a", "2");
}

/* F30. */
TEST(lists_are_filtered_and_paged)
{
    json_auto_t *tags = json_parse_own("[\"x%\"]");
    char thread[ID_SIZE];

    sample_thread(thread);
    put(thread, "b_100%", "1");
    put(thread, "a", "1");
    put(thread, "c", "1");
    assert_int_equal(put_change(thread,
                                &(struct variable_change){.name = "d",
                                                          .type = VARIABLE_LLM_ADD,
                                                          .value = "1",
                                                          .description = "The B in it",
                                                          .tags = tags},
                                VARIABLE_PUT, NULL),
                     ERR_OK);
    expect_all(thread, 4, "a b_100% c d");
    expect_names(thread, &(struct variable_query){.type = "LLMAdd"}, 1, "d");
    expect_names(thread, &(struct variable_query){.search = "b"}, 2, "b_100% d");
    expect_names(thread, &(struct variable_query){.search = "%"}, 1, "b_100%");
    expect_names(thread, &(struct variable_query){.tag = "x%"}, 1, "d");
    expect_names(thread, &(struct variable_query){.tag = "x"}, 0, "");
    expect_names(thread, &(struct variable_query){.limit = 2, .skip = 2}, 4, "c d");
    expect_names(thread, &(struct variable_query){.limit = 2, .skip = 9}, 4, "");
    expect_names(thread, &(struct variable_query){.limit = 2, .after = "a"}, 4, "b_100% c");
    expect_names(thread, &(struct variable_query){.limit = 2, .after = "d", .descending = true},
                 4, "c b_100%");
}

/* F30, F33. */
TEST(only_variables_that_are_not_kept_are_removed)
{
    static const char *const names[] = {"a", "kept", "none"};
    const bool keep = true;
    struct variable_stats stats;
    char thread[ID_SIZE];

    sample_thread(thread);
    put(thread, "a", "\xC3\xA4");
    put(thread, "b", "1");
    assert_int_equal(
        put_change(thread,
                   &(struct variable_change){
                       .name = "kept", .type = VARIABLE_LLM_ADD, .value = "1", .keep = &keep},
                   VARIABLE_PUT, NULL),
        ERR_OK);
    assert_int_equal(store_variable_stats(store, TENANT, thread, &stats, NULL), ERR_OK);
    assert_int_equal(stats.count[VARIABLE_USER_ADD], 2);
    assert_int_equal(stats.count[VARIABLE_LLM_ADD], 1);
    assert_int_equal(stats.bytes, 4);
    assert_int_equal(stats.kept, 1);
    assert_int_equal(take_away(thread, names, 3, NULL), 1);
    expect_all(thread, 2, "b kept");
    assert_int_equal(take_away(thread, NULL, 0, "LLMAdd"), 0);
    assert_int_equal(take_away(thread, NULL, 0, NULL), 1);
    expect_all(thread, 1, "kept");
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", thread), 1);
}

/* ---- Limits ---- */

/* F31. */
TEST(the_longest_unused_is_evicted)
{
    AUTO_VARIABLE read = {0};
    char thread[ID_SIZE];

    sample_thread(thread);
    fill(thread, VARIABLE_COUNT_LIMIT);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id = '%s' AND name = 'v2'",
                   thread);
    /* Changing one of a full scope drops none. */
    put(thread, "v3", "y");
    expect_is(thread, "v1", "x");
    assert_int_equal(
        store_variable_get(store, TENANT, thread, "v1", VARIABLE_READ, &read, NULL), ERR_OK);
    put(thread, "new", "1");
    expect_is(thread, "v4", NULL); /* v1 was read, v2 is kept, v3 was changed */
    expect_is(thread, "v1", "x");
    expect_is(thread, "v2", "x");
    expect_is(thread, "v3", "y");
    expect_is(thread, "v5", "x");
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", thread),
        VARIABLE_COUNT_LIMIT);
}

/* F31. */
TEST(the_limit_of_bytes_evicts_too)
{
    char thread[ID_SIZE];

    sample_thread(thread);
    fill(thread, 3);
    pg_fixture_ask("UPDATE variables SET bytes = %lld WHERE scope_id = '%s' AND name = 'v2'",
                   (long long)VARIABLE_BYTES_LIMIT - 1, thread);
    put(thread, "new", "1");
    expect_all(thread, 2, "new v3");
}

/* F31. */
TEST(the_number_of_kept_variables_is_limited)
{
    const bool keep = true;
    struct variable_change change = {
        .name = "more", .type = VARIABLE_USER_ADD, .value = "1", .keep = &keep};
    struct err err;
    char thread[ID_SIZE];

    sample_thread(thread);
    fill(thread, VARIABLE_KEEP_LIMIT);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id = '%s'", thread);
    assert_int_equal(put_change(thread, &change, VARIABLE_PUT, &err), ERR_INVALID);
    assert_string_equal(err.place, "keep");
    expect_is(thread, "more", NULL);
    change.name = "v1";
    assert_int_equal(put_change(thread, &change, VARIABLE_PUT, &err), ERR_OK);
}

/* ---- What comes with the writes of runs ---- */

/* F27. */
TEST(results_come_with_the_write_of_their_run)
{
    struct run_load load;
    struct run_write *write;
    AUTO_VARIABLE seen = {0};
    char thread[ID_SIZE];

    sample_thread(thread);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    add_result(write, thread, "t_result", "\xC3\xA4z");
    sample_add_log(write, 0, "event: a\ndata: {}\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_variable_get(store, TENANT, thread, "t_result", VARIABLE_READ, &seen, NULL),
        ERR_OK);
    assert_int_equal(seen.type, VARIABLE_TOOL_CALL_RESULT);
    assert_string_equal(seen.value, "\xC3\xA4z");
    assert_string_equal(seen.description, "Call t with args: ");
    assert_int_equal(seen.length, 2);
    assert_int_equal(seen.bytes, 3);

    write = sample_write(&load.run, load.fence + 1);
    add_result(write, thread, "stale", "1");
    assert_int_equal(sample_put(store, write), ERR_CONFLICT);
    expect_is(thread, "stale", NULL);
    run_load_clear(&load);
}

/* F31. */
TEST(results_of_runs_keep_to_the_limits)
{
    struct run_load load;
    struct run_write *write;
    char thread[ID_SIZE];

    sample_thread(thread);
    fill(thread, VARIABLE_COUNT_LIMIT);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    add_result(write, thread, "first", "1");
    add_result(write, thread, "second", "2");
    assert_int_equal(sample_put(store, write), ERR_OK);
    expect_is(thread, "first", "1");
    expect_is(thread, "second", "2");
    expect_is(thread, "v1", NULL);
    expect_is(thread, "v2", NULL);
    expect_is(thread, "v3", "x");
    run_load_clear(&load);
}

/* F25. */
TEST(a_call_remembers_both_its_arguments)
{
    struct run_load load;
    struct run_write *write;
    struct call_row call;
    char thread[ID_SIZE];

    sample_thread(thread);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    call = sample_call(&load.run, 0, "call_1");
    call.resolved = mem_strdup("{\"a\":\"whole\"}");
    sample_add_call(write, &call);
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_string_equal(pg_fixture_ask("SELECT arguments || resolved_arguments FROM tool_calls"
                                       " WHERE run_id = '%s'",
                                       load.run.id),
                        "{\"a\": 1{\"a\":\"whole\"}");
    run_load_clear(&load);
}

/* ---- Those that a request gives ---- */

static enum err_code create_with(const char *thread, const struct variable *variables,
                                 size_t count, struct err *err)
{
    struct run_row run = sample_run(thread, RUN_QUEUED);
    const struct run_creation creation = {.tenant = TENANT,
                                          .run = &run,
                                          .context_limit = 10,
                                          .variables = variables,
                                          .variable_count = count};
    struct run_load load = {0};
    enum err_code rc = store_run_create(store, &creation, &load, err);

    run_load_clear(&load);
    run_row_clear(&run);
    return rc;
}

/* F33. */
TEST(variables_of_a_request_are_stored_with_its_run)
{
    json_auto_t *tags = json_parse_own("[\"x\"]");
    char value[] = "<$VAR_REF{{b}}>", description[] = "The a", other[] = "1";
    const struct variable given[] = {
        {.name = "a",
         .type = VARIABLE_USER_ADD,
         .value = value,
         .description = description,
         .tags = tags,
         .length = 15,
         .created_at = 5},
        {.name = "b", .type = VARIABLE_USER_ADD, .value = other, .length = 1, .created_at = 5},
    };
    AUTO_VARIABLE seen = {0};
    struct err err;
    char thread[ID_SIZE];

    sample_thread(thread);
    assert_int_equal(
        put_change(thread,
                   &(struct variable_change){
                       .name = "a", .type = VARIABLE_LLM_ADD, .value = "old", .plain = true},
                   VARIABLE_PUT, NULL),
        ERR_OK);
    assert_int_equal(create_with(thread, given, 2, NULL), ERR_OK);
    expect_all(thread, 2, "a b");
    assert_int_equal(store_variable_get(store, TENANT, thread, "a", VARIABLE_LOOK, &seen, NULL),
                     ERR_OK);
    assert_string_equal(seen.value, value);
    assert_string_equal(seen.description, description);
    assert_int_equal(json_array_size(seen.tags), 1);
    assert_int_equal(seen.type, VARIABLE_USER_ADD);
    assert_true(variable_is_trusted(&seen));
    /* A run that is not made leaves no variables. */
    assert_int_equal(
        create_with(thread,
                    &(struct variable){
                        .name = "c", .type = VARIABLE_USER_ADD, .value = other, .length = 1},
                    1, &err),
        ERR_CONFLICT);
    expect_is(thread, "c", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_that_are_not_given_stay),
        cmocka_unit_test(reading_counts_as_use_and_looking_does_not),
        cmocka_unit_test(the_error_says_why_a_variable_was_not_put),
        cmocka_unit_test(lists_are_filtered_and_paged),
        cmocka_unit_test(only_variables_that_are_not_kept_are_removed),
        cmocka_unit_test(the_longest_unused_is_evicted),
        cmocka_unit_test(the_limit_of_bytes_evicts_too),
        cmocka_unit_test(the_number_of_kept_variables_is_limited),
        cmocka_unit_test(results_come_with_the_write_of_their_run),
        cmocka_unit_test(results_of_runs_keep_to_the_limits),
        cmocka_unit_test(a_call_remembers_both_its_arguments),
        cmocka_unit_test(variables_of_a_request_are_stored_with_its_run),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
