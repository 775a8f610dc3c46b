/*
 * Variables put, read and compared in one line each, with the failure of any of them ending the
 * test: the tests of variables are long rows of such lines.
 */

#include "tests/integration/core/store/variable_samples.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

enum err_code put_change(const char *scope, const struct variable_change *change,
                         enum variable_put how, struct err *err)
{
    bool created;

    return store_variable_put(store, TENANT, scope, change, how, &created, err);
}

void put(const char *scope, const char *name, const char *value)
{
    assert_int_equal(put_change(scope,
                                &(struct variable_change){
                                    .name = name, .type = VARIABLE_USER_ADD, .value = value},
                                VARIABLE_PUT, NULL),
                     ERR_OK);
}

void fill(const char *scope, int count)
{
    pg_fixture_ask(
        "INSERT INTO variables SELECT '%s', '%s', 'v' || n, NULL, 'USER_ADD', false,"
        " false, false, 'x', NULL, NULL, 1, 1, 0, n, n, n FROM generate_series(1, %d) n",
        PROJECT, scope, count);
}

void expect_is(const char *scope, const char *name, const char *value)
{
    AUTO_VARIABLE variable = {0};
    struct err err;
    enum err_code rc =
        store_variable_get(store, TENANT, scope, name, VARIABLE_LOOK, &variable, &err);

    if (!value) {
        AUTO_FREE char *text = mem_printf("Variable '%s' not found.", name);

        assert_int_equal(rc, ERR_NOT_FOUND);
        assert_string_equal(err.text, text);
        return;
    }
    assert_int_equal(rc, ERR_OK);
    assert_string_equal(variable.name, name);
    assert_string_equal(variable.value, value);
}

void expect_names(const char *scope, const struct variable_query *query, int64_t total,
                  const char *names)
{
    struct variable_query asked = *query;
    struct variable *variables = NULL;
    AUTO_BUF joined = {0};
    int64_t seen_total = -1;
    size_t count = 0;

    if (!asked.limit)
        asked.limit = 2000;
    assert_int_equal(store_variable_list(store, TENANT, scope, &asked, &variables, &count,
                                         &seen_total, NULL),
                     ERR_OK);
    buf_add_text(&joined, "");
    for (size_t i = 0; i < count; i++) {
        assert_null(variables[i].value);
        buf_addf(&joined, "%s%s", i ? " " : "", variables[i].name);
    }
    variables_free(variables, count);
    assert_string_equal(joined.data ? joined.data : "", names);
    assert_int_equal(seen_total, total);
}

void expect_all(const char *scope, int64_t total, const char *names)
{
    expect_names(scope, &(struct variable_query){0}, total, names);
}

size_t take_away(const char *scope, const char *const *names, size_t count, const char *type)
{
    json_auto_t *removed = NULL;

    assert_int_equal(
        store_variables_remove(store, TENANT, scope, names, count, type, &removed, NULL),
        ERR_OK);
    return json_array_size(removed);
}

void respond(const char *parent, const char *thread, char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct run_write *write;

    (void)snprintf(run.parent_id, sizeof(run.parent_id), "%s", parent);
    (void)snprintf(run.thread_id, sizeof(run.thread_id), "%s", thread);
    run.completed_at = clock_wall_us();
    write = sample_write(&run, 0);
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_row_clear(&run);
}

void add_result(struct run_write *write, const char *scope, const char *name, const char *value)
{
    struct variable *variable;

    write->variables =
        mem_resize(write->variables, write->variable_count + 1, sizeof(*write->variables));
    variable = &write->variables[write->variable_count++];
    *variable = (struct variable){.type = VARIABLE_TOOL_CALL_RESULT,
                                  .value = mem_strdup(value),
                                  .description = mem_strdup("Call t with args: "),
                                  .length = (int64_t)variable_length(value),
                                  .created_at = clock_wall_us()};
    (void)snprintf(variable->name, sizeof(variable->name), "%s", name);
    (void)snprintf(write->variable_scope, ID_SIZE, "%s", scope);
}
