#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/deleted.h"
#include "core/store/thread_copies.h"
#include "core/store/threads.h"
#include "core/store/variables.h"
#include "core/tool/variable_memory.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"

#define THEIRS "proj_theirs"

/* ---- Helpers ---- */

static enum err_code put_change(const char *scope, const struct variable_change *change,
                                enum variable_put how, struct err *err)
{
    bool created;

    return store_variable_put(store, PROJECT, scope, change, how, &created, err);
}

static void put(const char *scope, const char *name, const char *value)
{
    assert_int_equal(put_change(scope,
                                &(struct variable_change){
                                    .name = name, .type = VARIABLE_USER_ADD, .value = value},
                                VARIABLE_PUT, NULL),
                     ERR_OK);
}

/* NULL: it is not there. */
static void expect_is(const char *scope, const char *name, const char *value)
{
    AUTO_VARIABLE variable = {0};
    struct err err;
    enum err_code rc =
        store_variable_get(store, PROJECT, scope, name, VARIABLE_LOOK, &variable, &err);

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

/* The names of a list, joined by blanks. */
static void expect_names(const char *scope, const struct variable_query *query, int64_t total,
                         const char *names)
{
    struct variable_query asked = *query;
    struct variable *variables = NULL;
    AUTO_BUF joined = {0};
    int64_t seen_total = -1;
    size_t count = 0;

    if (!asked.limit)
        asked.limit = 2000;
    assert_int_equal(store_variable_list(store, PROJECT, scope, &asked, &variables, &count,
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

static void expect_all(const char *scope, int64_t total, const char *names)
{
    expect_names(scope, &(struct variable_query){0}, total, names);
}

static size_t take_away(const char *scope, const char *const *names, size_t count,
                        const char *type)
{
    json_auto_t *removed = NULL;

    assert_int_equal(
        store_variables_remove(store, PROJECT, scope, names, count, type, &removed, NULL),
        ERR_OK);
    return json_array_size(removed);
}

/* A response that has ended. */
static void respond(const char *parent, const char *thread, char ret_id[ID_SIZE])
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

static void add_result(struct run_write *write, const char *scope, const char *name,
                       const char *value)
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

/* ---- Putting and reading ---- */

static void F30_fields_that_are_not_given_stay(void **state)
{
    json_auto_t *tags = json_parse_own("[\"x\",\"y\"]");
    AUTO_VARIABLE seen = {0};
    bool created = false;
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    assert_int_equal(store_variable_put(store, PROJECT, thread,
                                        &(struct variable_change){.name = "a",
                                                                  .type = VARIABLE_LLM_ADD,
                                                                  .value = "v\xC3\xA4",
                                                                  .description = "d",
                                                                  .tags = tags},
                                        VARIABLE_PUT, &created, NULL),
                     ERR_OK);
    assert_true(created);
    assert_int_equal(store_variable_put(store, PROJECT, thread,
                                        &(struct variable_change){.name = "a",
                                                                  .type = VARIABLE_USER_ADD,
                                                                  .description = "other"},
                                        VARIABLE_PUT, &created, NULL),
                     ERR_OK);
    assert_false(created);
    assert_int_equal(
        store_variable_get(store, PROJECT, thread, "a", VARIABLE_READ, &seen, NULL), ERR_OK);
    assert_int_equal(seen.type, VARIABLE_LLM_ADD);
    assert_string_equal(seen.value, "v\xC3\xA4");
    assert_string_equal(seen.description, "other");
    assert_int_equal(json_array_size(seen.tags), 2);
    assert_int_equal(seen.length, 2);
    assert_int_equal(seen.bytes, 3);
    assert_int_equal(seen.reads, 0);
    assert_true(seen.updated_at >= seen.created_at);
}

static void F31_reading_is_noted_and_looking_is_not(void **state)
{
    AUTO_VARIABLE first = {0}, second = {0};
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    put(thread, "a", "1");
    expect_is(thread, "a", "1");
    assert_int_equal(
        store_variable_get(store, PROJECT, thread, "a", VARIABLE_READ, &first, NULL), ERR_OK);
    assert_int_equal(first.reads, 0);
    assert_int_equal(
        store_variable_get(store, PROJECT, thread, "a", VARIABLE_LOOK, &second, NULL), ERR_OK);
    assert_int_equal(second.reads, 1);
    assert_true(second.visited_at > first.visited_at);
    assert_int_equal(second.updated_at, first.updated_at);
}

static void what_cannot_be_put_says_why(void **state)
{
    struct variable_change change = {.name = "a", .type = VARIABLE_USER_ADD};
    struct err err;
    char thread[ID_SIZE];

    (void)state;
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

static void F30_lists_are_filtered_and_paged(void **state)
{
    json_auto_t *tags = json_parse_own("[\"x%\"]");
    char thread[ID_SIZE];

    (void)state;
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

static void F30_F33_removing(void **state)
{
    static const char *const names[] = {"a", "kept", "none"};
    const bool keep = true;
    struct variable_stats stats;
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    put(thread, "a", "\xC3\xA4");
    put(thread, "b", "1");
    assert_int_equal(
        put_change(thread,
                   &(struct variable_change){
                       .name = "kept", .type = VARIABLE_LLM_ADD, .value = "1", .keep = &keep},
                   VARIABLE_PUT, NULL),
        ERR_OK);
    assert_int_equal(store_variable_stats(store, PROJECT, thread, &stats, NULL), ERR_OK);
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

static void fill(const char *scope, int count)
{
    pg_fixture_ask(
        "INSERT INTO variables SELECT '%s', '%s', 'v' || n, NULL, 'USER_ADD', false,"
        " false, false, 'x', NULL, NULL, 1, 1, 0, n, n, n FROM generate_series(1, %d) n",
        PROJECT, scope, count);
}

static void F31_the_longest_unused_goes(void **state)
{
    AUTO_VARIABLE read = {0};
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    fill(thread, VARIABLE_COUNT_LIMIT);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id = '%s' AND name = 'v2'",
                   thread);
    /* Changing one of a full scope drops none. */
    put(thread, "v3", "y");
    expect_is(thread, "v1", "x");
    assert_int_equal(
        store_variable_get(store, PROJECT, thread, "v1", VARIABLE_READ, &read, NULL), ERR_OK);
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

static void F31_the_same_for_bytes(void **state)
{
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    fill(thread, 3);
    pg_fixture_ask("UPDATE variables SET bytes = %lld WHERE scope_id = '%s' AND name = 'v2'",
                   (long long)VARIABLE_BYTES_LIMIT - 1, thread);
    put(thread, "new", "1");
    expect_all(thread, 2, "new v3");
}

static void F31_few_can_be_kept(void **state)
{
    const bool keep = true;
    struct variable_change change = {
        .name = "more", .type = VARIABLE_USER_ADD, .value = "1", .keep = &keep};
    struct err err;
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    fill(thread, VARIABLE_KEEP_LIMIT);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id = '%s'", thread);
    assert_int_equal(put_change(thread, &change, VARIABLE_PUT, &err), ERR_INVALID);
    assert_string_equal(err.param, "keep");
    expect_is(thread, "more", NULL);
    change.name = "v1";
    assert_int_equal(put_change(thread, &change, VARIABLE_PUT, &err), ERR_OK);
}

/* ---- Who sees what ---- */

static void F32_another_project_sees_nothing(void **state)
{
    static const char *const names[] = {"a"};
    AUTO_VARIABLE seen = {0};
    json_auto_t *removed = NULL;
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_variable_get(store, THEIRS, thread, "a", VARIABLE_READ, &seen, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(
        store_variables_remove(store, THEIRS, thread, names, 1, NULL, &removed, NULL),
        ERR_NOT_FOUND);
    assert_null(removed);
    expect_is(thread, "a", "1");
}

static void F32_branches_do_not_see_each_other(void **state)
{
    static const char *const names[] = {"shared"};
    char root[ID_SIZE], left[ID_SIZE], right[ID_SIZE], leaf[ID_SIZE];

    (void)state;
    respond("", "", root);
    respond(root, "", left);
    respond(root, "", right);
    respond(left, "", leaf);
    put(root, "shared", "root's");
    put(left, "own", "left's");
    put(left, "shared", "left's");
    expect_is(leaf, "shared", "left's");
    expect_is(leaf, "own", "left's");
    expect_is(right, "shared", "root's");
    expect_is(right, "own", NULL);
    expect_is(root, "own", NULL);

    assert_int_equal(take_away(leaf, names, 1, NULL), 1);
    expect_is(leaf, "shared", NULL);
    expect_is(left, "shared", "left's");
    expect_is(right, "shared", "root's");
    expect_all(leaf, 1, "own");
    assert_int_equal(take_away(leaf, names, 1, NULL), 0);
    put(leaf, "shared", "anew");
    expect_is(leaf, "shared", "anew");
}

static void F32_the_limit_of_a_branch_takes_nothing_from_others(void **state)
{
    char root[ID_SIZE], left[ID_SIZE], right[ID_SIZE];

    (void)state;
    respond("", "", root);
    respond(root, "", left);
    respond(root, "", right);
    fill(root, VARIABLE_COUNT_LIMIT);
    put(left, "new", "1");
    expect_is(left, "v1", NULL);
    expect_is(left, "v2", "x");
    expect_is(right, "v1", "x");
    expect_is(root, "v1", "x");
}

/* What was in a conversation when the response ended that a chain goes on from. */
static void F32_a_chain_that_begins_in_a_conversation(void **state)
{
    char thread[ID_SIZE], first[ID_SIZE], branch[ID_SIZE];

    (void)state;
    sample_thread(thread);
    put(thread, "before", "1");
    put(thread, "changed", "1");
    respond("", thread, first);
    respond(first, "", branch);
    put(thread, "after", "1");
    put(thread, "changed", "2");
    expect_all(branch, 1, "before");
    put(branch, "own", "1");
    expect_is(thread, "own", NULL);
}

static void variables_end_with_what_they_belong_to(void **state)
{
    char thread[ID_SIZE], root[ID_SIZE], child[ID_SIZE];
    size_t purged;

    (void)state;
    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_thread_delete(store, PROJECT, thread, NULL), ERR_OK);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", thread), 0);

    respond("", "", root);
    respond(root, "", child);
    put(root, "a", "1");
    put(child, "b", "1");
    assert_int_equal(store_response_delete(store, PROJECT, root, 0, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 100, 0, &purged, NULL), ERR_OK);
    expect_is(child, "a", "1");
    assert_int_equal(store_response_delete(store, PROJECT, child, 0, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 100, 0, &purged, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 100, 0, &purged, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id IN"
                                      " ('%s', '%s')",
                                      root, child),
                     0);
}

static void F32_copies_of_threads_have_copies(void **state)
{
    struct thread_row fork = {0}, row = {0};
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_thread_fork(store, PROJECT, thread, &fork, NULL), ERR_OK);
    expect_is(fork.id, "a", "1");
    put(fork.id, "a", "fork's");
    put(fork.id, "own", "1");
    expect_is(thread, "a", "1");
    put(thread, "b", "1");
    assert_int_equal(store_thread_merge(store, PROJECT, thread, fork.id, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    expect_is(fork.id, "a", "fork's");
    expect_all(fork.id, 3, "a b own");
    assert_int_equal(store_thread_copy(store, PROJECT, thread, fork.id, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    expect_all(fork.id, 2, "a b");
    expect_is(fork.id, "a", "1");
    thread_row_clear(&fork);
}

static void F32_a_merge_keeps_no_more_than_may_be_kept(void **state)
{
    struct thread_row row = {0};
    char from[ID_SIZE], to[ID_SIZE];

    (void)state;
    sample_thread(from);
    sample_thread(to);
    fill(from, 20);
    fill(to, VARIABLE_KEEP_LIMIT - 2);
    pg_fixture_ask("UPDATE variables SET name = 'w' || name WHERE scope_id = '%s'", from);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id IN ('%s', '%s')", from, to);
    assert_int_equal(store_thread_merge(store, PROJECT, from, to, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s' AND keep", to),
        VARIABLE_KEEP_LIMIT);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s' AND keep"
                         " AND name IN ('wv19', 'wv20')",
                         to),
        2); /* those that were used last */
    expect_is(to, "wv1", "x");
}

/* ---- Long chains ---- */

/* `count` responses behind one another, the first behind `root`: "<root>_1" and on. */
static void lengthen(const char *root, int count)
{
    pg_fixture_ask("INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object("
                   "'id', r.id || '_' || n, 'parent_run_id',"
                   " CASE WHEN n = 1 THEN r.id ELSE r.id || '_' || (n - 1) END))).*"
                   " FROM runs r, generate_series(1, %d) n WHERE r.id = '%s'",
                   count, root);
}

static void write_everywhere(const char *root, int from, int to, int each)
{
    pg_fixture_ask("INSERT INTO variables SELECT '%s', '%s_' || n, 'v' || n || '_' || k, NULL,"
                   " 'USER_ADD', false, false, false, 'x', NULL, NULL, 1, 1, 0, n, n, n"
                   " FROM generate_series(%d, %d) n, generate_series(1, %d) k",
                   PROJECT, root, from, to, each);
}

static void F32_a_response_sees_so_far_up_its_chain(void **state)
{
    char root[ID_SIZE], scope[ID_LIMIT + 16];

    (void)state;
    respond("", "", root);
    lengthen(root, 3000);
    write_everywhere(root, 1, 3000, 1);
    (void)snprintf(scope, sizeof(scope), "%s_3000", root);
    expect_is(scope, "v2001_1", "x");
    expect_is(scope, "v2000_1", NULL);
    expect_names(scope, &(struct variable_query){.limit = 1}, VARIABLE_CHAIN_LIMIT, "v2001_1");
    /* A new one makes it one too many; the others keep what they see. */
    put(scope, "new", "1");
    expect_is(scope, "new", "1");
    expect_is(scope, "v2001_1", NULL);
    expect_is(scope, "v2002_1", "x");
    (void)snprintf(scope, sizeof(scope), "%s_2000", root);
    expect_is(scope, "v2000_1", "x");
}

static void F32_and_so_many_variables(void **state)
{
    const int each = VARIABLE_ROWS_LIMIT / 10;
    char root[ID_SIZE], scope[ID_LIMIT + 16];

    (void)state;
    respond("", "", root);
    lengthen(root, 12);
    write_everywhere(root, 1, 12, each);
    (void)snprintf(scope, sizeof(scope), "%s_12", root);
    expect_is(scope, "v3_1", "x");
    expect_is(scope, "v2_1", NULL);
    put(scope, "new", "1");
    expect_names(scope, &(struct variable_query){.limit = 1}, VARIABLE_COUNT_LIMIT, "new");
}

static void F32_only_what_shows_through_is_hidden(void **state)
{
    static const char *const names[] = {"root", "own", "both"};
    char root[ID_SIZE], leaf[ID_SIZE];

    (void)state;
    respond("", "", root);
    respond(root, "", leaf);
    put(root, "root", "1");
    put(root, "both", "1");
    put(leaf, "own", "1");
    put(leaf, "both", "2");
    assert_int_equal(take_away(leaf, names, 3, NULL), 3);
    expect_all(leaf, 0, "");
    expect_all(root, 2, "both root");
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", leaf), 2);
}

/* ---- Many at once ---- */

#define CROWD  4
#define ROUNDS 40

struct crowd {
    const char *scopes[2];
    int number;
    enum err_code rc; /* the first that was not fine */
};

static enum err_code change_some(const struct crowd *crowd, int round)
{
    static const char *const up[] = {"v1", "v2", "v3", "v4", "v5", "v6"};
    static const char *const down[] = {"v6", "v5", "v4", "v3", "v2", "v1"};
    const char *scope = crowd->scopes[(round + crowd->number) % 2];
    json_auto_t *removed = NULL;
    AUTO_FREE char *name = mem_printf("v%d", 1 + (round * 7 + crowd->number) % 9);
    enum err_code rc =
        put_change(scope,
                   &(struct variable_change){
                       .name = name, .type = VARIABLE_USER_ADD, .value = "from the crowd"},
                   VARIABLE_PUT, NULL);

    if (!rc && crowd->number % 2)
        rc = store_variables_remove(store, PROJECT, scope, round % 2 ? up : down, 6, NULL,
                                    &removed, NULL);
    return rc;
}

static void *be_in_the_crowd(void *arg)
{
    struct crowd *crowd = arg;

    for (int round = 0; round < ROUNDS && !crowd->rc; round++)
        crowd->rc = change_some(crowd, round);
    return NULL;
}

/* Results of a run, in an order of their own, for a scope that is full. */
static void put_results(const struct run_load *load, const char *scope, int round)
{
    struct run_write *write = sample_write(&load->run, load->fence);

    for (int i = 0; i < 9; i++) {
        AUTO_FREE char *name = mem_printf("v%d", round % 2 ? 9 - i : 1 + i);

        add_result(write, scope, name, "from a run");
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
}

static void F31_many_change_a_scope_at_once(void **state)
{
    char threads[2][ID_SIZE];
    struct crowd crowd[CROWD];
    pthread_t ids[CROWD];
    struct run_load loads[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        sample_thread(threads[i]);
        fill(threads[i], VARIABLE_COUNT_LIMIT);
        loads[i] = sample_created(store, threads[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){.scopes = {threads[0], threads[1]}, .number = i};
        assert_int_equal(pthread_create(&ids[i], NULL, be_in_the_crowd, &crowd[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++)
        put_results(&loads[round % 2], threads[round % 2], round);
    for (int i = 0; i < CROWD; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(crowd[i].rc, ERR_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'",
                                     threads[i]) <= VARIABLE_COUNT_LIMIT);
        run_load_clear(&loads[i]);
    }
}

static void *keep_one(void *arg)
{
    struct crowd *crowd = arg;
    const bool keep = true;
    AUTO_FREE char *name = mem_printf("v%d", VARIABLE_KEEP_LIMIT + crowd->number);

    crowd->rc = put_change(
        crowd->scopes[0],
        &(struct variable_change){.name = name, .type = VARIABLE_USER_ADD, .keep = &keep},
        VARIABLE_PUT, NULL);
    return NULL;
}

/* One place is left. */
static void F31_no_more_are_kept_together(void **state)
{
    char thread[ID_SIZE];
    struct crowd crowd[CROWD];
    pthread_t ids[CROWD];
    int kept = 0;

    (void)state;
    sample_thread(thread);
    fill(thread, VARIABLE_KEEP_LIMIT + CROWD);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id = '%s' AND updated_at < %d",
                   thread, VARIABLE_KEEP_LIMIT);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){.scopes = {thread}, .number = i};
        assert_int_equal(pthread_create(&ids[i], NULL, keep_one, &crowd[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(ids[i], NULL);
        assert_true(crowd[i].rc == ERR_OK || crowd[i].rc == ERR_INVALID);
        kept += crowd[i].rc == ERR_OK;
    }
    assert_int_equal(kept, 1);
}

/* ---- What comes with the writes of runs ---- */

static void F27_results_come_with_the_write_of_their_run(void **state)
{
    struct run_load load;
    struct run_write *write;
    AUTO_VARIABLE seen = {0};
    char thread[ID_SIZE];

    (void)state;
    sample_thread(thread);
    load = sample_created(store, thread);
    write = sample_write(&load.run, load.fence);
    add_result(write, thread, "t_result", "\xC3\xA4z");
    sample_add_log(write, 0, "event: a\ndata: {}\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(
        store_variable_get(store, PROJECT, thread, "t_result", VARIABLE_READ, &seen, NULL),
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

static void F31_they_keep_to_the_limits(void **state)
{
    struct run_load load;
    struct run_write *write;
    char thread[ID_SIZE];

    (void)state;
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

static void F25_a_call_remembers_both_its_arguments(void **state)
{
    struct run_load load;
    struct run_write *write;
    struct call_row call;
    char thread[ID_SIZE];

    (void)state;
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

/* ---- Against deletion ---- */

static int64_t rows_of(const char *scope)
{
    return pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", scope);
}

static void expect_refused(const char *scope, const char *text)
{
    static const char *const names[] = {"a"};
    const struct variable_change change = {
        .name = "a", .type = VARIABLE_USER_ADD, .value = "1"};
    json_auto_t *removed = NULL;
    struct err err;

    assert_int_equal(put_change(scope, &change, VARIABLE_PUT, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, text);
    assert_int_equal(
        store_variables_remove(store, PROJECT, scope, names, 1, NULL, &removed, &err),
        ERR_NOT_FOUND);
    assert_string_equal(err.text, text);
}

static void F33_nothing_is_put_where_something_was_deleted(void **state)
{
    AUTO_FREE char *no_thread = NULL, *no_response = NULL;
    char thread[ID_SIZE], root[ID_SIZE], child[ID_SIZE];

    (void)state;
    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_thread_delete(store, PROJECT, thread, NULL), ERR_OK);
    no_thread = mem_printf("No thread found with id '%s'.", thread);
    expect_refused(thread, no_thread);
    assert_int_equal(rows_of(thread), 0);

    respond("", "", root);
    put(root, "a", "1");
    respond(root, "", child);
    assert_int_equal(store_response_delete(store, PROJECT, root, 0, NULL), ERR_OK);
    no_response = mem_printf("Response with id '%s' not found.", root);
    expect_refused(root, no_response);
    expect_is(child, "a", "1"); /* what it had is there for who went on from it */
    put(child, "a", "2");
}

/* One that goes on is deleted as a whole, at any time. */
static void begin_response(char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_row_clear(&run);
}

#define PUTS_LIMIT 5000

/* Puts until there is nothing left to put to. */
static void *put_until_gone(void *arg)
{
    const char *scope = arg;
    const struct variable_change change = {
        .name = "a", .type = VARIABLE_USER_ADD, .value = "1"};
    enum err_code rc = ERR_OK;

    for (int i = 0; i < PUTS_LIMIT && !rc; i++)
        rc = put_change(scope, &change, VARIABLE_PUT, NULL);
    return (void *)(uintptr_t)(rc == ERR_NOT_FOUND);
}

#define DELETIONS 12

static void F33_a_deletion_leaves_none_behind(void **state)
{
    (void)state;
    for (int round = 0; round < DELETIONS; round++) {
        char scope[ID_SIZE];
        pthread_t putters[2];
        void *fine;

        if (round % 2)
            sample_thread(scope);
        else
            begin_response(scope);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&putters[i], NULL, put_until_gone, scope), 0);
        put(scope, "b", "1"); /* and meanwhile they have begun, or will yet */
        if (round % 2)
            assert_int_equal(store_thread_delete(store, PROJECT, scope, NULL), ERR_OK);
        else
            assert_int_equal(store_response_delete(store, PROJECT, scope, 0, NULL), ERR_OK);
        for (int i = 0; i < 2; i++) {
            pthread_join(putters[i], &fine);
            assert_non_null(fine);
        }
        assert_int_equal(rows_of(scope), 0);
    }
}

/* ---- Those that a request gives ---- */

static enum err_code create_with(const char *thread, const struct variable *variables,
                                 size_t count, struct err *err)
{
    struct run_row run = sample_run(thread, RUN_QUEUED);
    const struct run_creation creation = {
        .run = &run, .context_limit = 10, .variables = variables, .variable_count = count};
    struct run_load load = {0};
    enum err_code rc = store_run_create(store, &creation, &load, err);

    run_load_clear(&load);
    run_row_clear(&run);
    return rc;
}

static void F33_they_come_with_their_run(void **state)
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

    (void)state;
    sample_thread(thread);
    assert_int_equal(
        put_change(thread,
                   &(struct variable_change){
                       .name = "a", .type = VARIABLE_LLM_ADD, .value = "old", .plain = true},
                   VARIABLE_PUT, NULL),
        ERR_OK);
    assert_int_equal(create_with(thread, given, 2, NULL), ERR_OK);
    expect_all(thread, 2, "a b");
    assert_int_equal(
        store_variable_get(store, PROJECT, thread, "a", VARIABLE_LOOK, &seen, NULL), ERR_OK);
    assert_string_equal(seen.value, value);
    assert_string_equal(seen.description, description);
    assert_int_equal(json_array_size(seen.tags), 1);
    assert_int_equal(seen.type, VARIABLE_USER_ADD);
    assert_true(variable_is_trusted(&seen));
    /* Of a run that is not made nothing is there. */
    assert_int_equal(
        create_with(thread,
                    &(struct variable){
                        .name = "c", .type = VARIABLE_USER_ADD, .value = other, .length = 1},
                    1, &err),
        ERR_CONFLICT);
    expect_is(thread, "c", NULL);
}

/* ---- In memory, for responses that are not stored ---- */

#define SAME_STEPS 400
#define SAME_NAMES 12

/* One place and the other. */
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
        store_variable_get(store, PROJECT, pair->scope, name, reading, &stored, &one);

    assert_int_equal(variable_memory_get(&pair->memory, PROJECT, name, reading, &kept, &other),
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
    enum err_code rc =
        store_variable_put(store, PROJECT, pair->scope, change, how, &made, &one);

    assert_int_equal(
        variable_memory_put(&pair->memory, PROJECT, change, how, &made_too, &other), rc);
    assert_string_equal(one.text, other.text);
    assert_string_equal(one.param, other.param);
    assert_int_equal(made, made_too);
}

static void remove_both(const struct pair *pair, const char *name)
{
    json_auto_t *one = NULL, *other = NULL;

    assert_int_equal(
        store_variables_remove(store, PROJECT, pair->scope, &name, 1, NULL, &one, NULL),
        ERR_OK);
    assert_int_equal(variable_memory_remove(&pair->memory, PROJECT, &name, 1, &other, NULL),
                     ERR_OK);
    assert_true(json_equal(one, other));
}

static void list_both(const struct pair *pair, const struct variable_query *query)
{
    struct variable *one = NULL, *other = NULL;
    size_t count = 0, count_too = 0;
    int64_t total = 0, total_too = 0;

    assert_int_equal(
        store_variable_list(store, PROJECT, pair->scope, query, &one, &count, &total, NULL),
        ERR_OK);
    assert_int_equal(variable_memory_list(&pair->memory, PROJECT, query, &other, &count_too,
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

/* Whatever is done, both places do and say the same. */
static void F27_F30_F31_memory_does_what_the_store_does(void **state)
{
    struct variable_budget budget =
        VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT, VARIABLE_MEMORY_LIMIT);
    struct pair pair = {.memory = {.memory = variable_memory_new(&budget, PROJECT)}};
    int there = 0;

    (void)state;
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

/* Also what goes, when there is more than may be. */
static void F31_memory_lets_go_of_what_the_store_does(void **state)
{
    struct variable_budget budget =
        VARIABLE_BUDGET(VARIABLE_MEMORY_LIMIT, VARIABLE_MEMORY_LIMIT);
    struct pair pair = {.memory = {.memory = variable_memory_new(&budget, PROJECT)}};
    const bool keep = true;

    (void)state;
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
        cmocka_unit_test(F30_fields_that_are_not_given_stay),
        cmocka_unit_test(F31_reading_is_noted_and_looking_is_not),
        cmocka_unit_test(what_cannot_be_put_says_why),
        cmocka_unit_test(F30_lists_are_filtered_and_paged),
        cmocka_unit_test(F30_F33_removing),
        cmocka_unit_test(F31_the_longest_unused_goes),
        cmocka_unit_test(F31_the_same_for_bytes),
        cmocka_unit_test(F31_few_can_be_kept),
        cmocka_unit_test(F32_another_project_sees_nothing),
        cmocka_unit_test(F32_branches_do_not_see_each_other),
        cmocka_unit_test(F32_the_limit_of_a_branch_takes_nothing_from_others),
        cmocka_unit_test(F32_a_chain_that_begins_in_a_conversation),
        cmocka_unit_test(variables_end_with_what_they_belong_to),
        cmocka_unit_test(F32_copies_of_threads_have_copies),
        cmocka_unit_test(F32_a_merge_keeps_no_more_than_may_be_kept),
        cmocka_unit_test(F32_a_response_sees_so_far_up_its_chain),
        cmocka_unit_test(F32_and_so_many_variables),
        cmocka_unit_test(F32_only_what_shows_through_is_hidden),
        cmocka_unit_test(F31_many_change_a_scope_at_once),
        cmocka_unit_test(F31_no_more_are_kept_together),
        cmocka_unit_test(F27_results_come_with_the_write_of_their_run),
        cmocka_unit_test(F31_they_keep_to_the_limits),
        cmocka_unit_test(F25_a_call_remembers_both_its_arguments),
        cmocka_unit_test(F33_nothing_is_put_where_something_was_deleted),
        cmocka_unit_test(F33_a_deletion_leaves_none_behind),
        cmocka_unit_test(F33_they_come_with_their_run),
        cmocka_unit_test(F27_F30_F31_memory_does_what_the_store_does),
        cmocka_unit_test(F31_memory_lets_go_of_what_the_store_does),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
