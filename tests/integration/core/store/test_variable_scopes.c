/*
 * Which variables are seen where: threads, conversations, and chains of responses with branches.
 *
 * What a scope sees is compared as one line of names. Limits of a chain are tested at their
 * edge: the last response that is seen, and the first that is not.
 */

#include <stdio.h>

#include "core/base/json.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/threads/thread_copies.h"
#include "core/store/tables/threads/threads.h"
#include "core/store/tables/threads/variables.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/variable_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* F32. */
TEST(another_project_sees_nothing)
{
    static const char *const names[] = {"a"};
    AUTO_VARIABLE seen = {0};
    json_auto_t *removed = NULL;
    char thread[ID_SIZE];

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

/* F32. */
TEST(branches_do_not_see_each_other)
{
    static const char *const names[] = {"shared"};
    char root[ID_SIZE], left[ID_SIZE], right[ID_SIZE], leaf[ID_SIZE];

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

/* F32. */
TEST(the_limit_of_a_branch_takes_nothing_from_others)
{
    char root[ID_SIZE], left[ID_SIZE], right[ID_SIZE];

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

/* F32: what was in a conversation when the response ended that a chain goes on from. */
TEST(a_chain_sees_its_conversation_as_it_was_then)
{
    char thread[ID_SIZE], first[ID_SIZE], branch[ID_SIZE];

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

TEST(variables_are_deleted_with_their_scope)
{
    char thread[ID_SIZE], root[ID_SIZE], child[ID_SIZE];
    size_t purged;

    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_thread_delete(store, TENANT, thread, NULL), ERR_OK);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", thread), 0);

    respond("", "", root);
    respond(root, "", child);
    put(root, "a", "1");
    put(child, "b", "1");
    assert_int_equal(store_response_delete(store, TENANT, root, 0, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 100, 0, &purged, NULL), ERR_OK);
    expect_is(child, "a", "1");
    assert_int_equal(store_response_delete(store, TENANT, child, 0, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 100, 0, &purged, NULL), ERR_OK);
    assert_int_equal(store_responses_purge(store, 100, 0, &purged, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id IN"
                                      " ('%s', '%s')",
                                      root, child),
                     0);
}

/* F32. */
TEST(copies_of_threads_have_copies_of_variables)
{
    struct thread_row fork = {0}, row = {0};
    char thread[ID_SIZE];

    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_thread_fork(store, TENANT, thread, &fork, NULL), ERR_OK);
    expect_is(fork.id, "a", "1");
    put(fork.id, "a", "fork's");
    put(fork.id, "own", "1");
    expect_is(thread, "a", "1");
    put(thread, "b", "1");
    assert_int_equal(store_thread_merge(store, TENANT, thread, fork.id, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    expect_is(fork.id, "a", "fork's");
    expect_all(fork.id, 3, "a b own");
    assert_int_equal(store_thread_copy(store, TENANT, thread, fork.id, &row, NULL), ERR_OK);
    thread_row_clear(&row);
    expect_all(fork.id, 2, "a b");
    expect_is(fork.id, "a", "1");
    thread_row_clear(&fork);
}

/* F32. */
TEST(a_merge_keeps_no_more_than_may_be_kept)
{
    struct thread_row row = {0};
    char from[ID_SIZE], to[ID_SIZE];

    sample_thread(from);
    sample_thread(to);
    fill(from, 20);
    fill(to, VARIABLE_KEEP_LIMIT - 2);
    pg_fixture_ask("UPDATE variables SET name = 'w' || name WHERE scope_id = '%s'", from);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id IN ('%s', '%s')", from, to);
    assert_int_equal(store_thread_merge(store, TENANT, from, to, &row, NULL), ERR_OK);
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

/* F32. */
TEST(a_response_sees_a_limited_part_of_its_chain)
{
    char root[ID_SIZE], scope[ID_LIMIT + 16];

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

/* F32. */
TEST(a_response_sees_a_limited_number_of_variables)
{
    const int each = VARIABLE_ROWS_LIMIT / 10;
    char root[ID_SIZE], scope[ID_LIMIT + 16];

    respond("", "", root);
    lengthen(root, 12);
    write_everywhere(root, 1, 12, each);
    (void)snprintf(scope, sizeof(scope), "%s_12", root);
    expect_is(scope, "v3_1", "x");
    expect_is(scope, "v2_1", NULL);
    put(scope, "new", "1");
    expect_names(scope, &(struct variable_query){.limit = 1}, VARIABLE_COUNT_LIMIT, "new");
}

/* F32. */
TEST(only_what_shows_through_is_hidden)
{
    static const char *const names[] = {"root", "own", "both"};
    char root[ID_SIZE], leaf[ID_SIZE];

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_project_sees_nothing),
        cmocka_unit_test(branches_do_not_see_each_other),
        cmocka_unit_test(the_limit_of_a_branch_takes_nothing_from_others),
        cmocka_unit_test(a_chain_sees_its_conversation_as_it_was_then),
        cmocka_unit_test(variables_are_deleted_with_their_scope),
        cmocka_unit_test(copies_of_threads_have_copies_of_variables),
        cmocka_unit_test(a_merge_keeps_no_more_than_may_be_kept),
        cmocka_unit_test(a_response_sees_a_limited_part_of_its_chain),
        cmocka_unit_test(a_response_sees_a_limited_number_of_variables),
        cmocka_unit_test(only_what_shows_through_is_hidden),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
