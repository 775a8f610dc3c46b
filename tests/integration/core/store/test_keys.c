/*
 * API keys, and what every request does first: from a key to its project.
 *
 * Also here, because it is the simplest statement of all: a statement is prepared once on a
 * connection, and not at all behind a pooler. The server's own view of prepared statements is
 * asked for that.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/store/pg/connection.h"
#include "core/store/tables/keys.h"
#include "core/store/tables/tool_settings.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/patience.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* ---- Poolers ---- */

/* How many statements the server has kept after the same one was asked twice. */
static long prepared_after_two(bool behind_pooler)
{
    static const struct db_statement ask = {"ask", "SELECT 1"};
    static const struct db_statement look = {NULL,
                                             "SELECT count(*) FROM pg_prepared_statements"};
    uint64_t deadline = clock_mono_ns() + patience_ns(10);
    struct connection *connection;
    PGresult *results[3];
    bool pooled = true;
    long count;

    assert_int_equal(connection_open(pg_fixture_url(), deadline, &connection, NULL), ERR_OK);
    assert_int_equal(connection_detect_pooler(connection, deadline, &pooled, NULL), ERR_OK);
    assert_false(pooled);
    if (behind_pooler)
        connection_set_pooled(connection);
    connection_queue(connection, &ask, NULL);
    connection_queue(connection, &ask, NULL);
    connection_queue(connection, &look, NULL);
    assert_int_equal(connection_run(connection, deadline, results, NULL, NULL), ERR_OK);
    assert_string_equal(PQgetvalue(results[1], 0, 0), "1");
    count = strtol(PQgetvalue(results[2], 0, 0), NULL, 10);
    for (size_t i = 0; i < 3; i++)
        PQclear(results[i]);
    connection_free(connection);
    return count;
}

TEST(statements_are_prepared_once_and_not_behind_a_pooler)
{
    assert_int_equal(prepared_after_two(false), 1);
    assert_int_equal(prepared_after_two(true), 0);
}

/* ---- Keys ---- */

TEST(a_key_opens_its_project)
{
    char first[KEY_SIZE], second[KEY_SIZE];
    struct tenant tenant, again;

    assert_int_equal(store_key_create(store, "shop", first, NULL), ERR_OK);
    assert_int_equal(store_key_create(store, "shop", second, NULL), ERR_OK);
    assert_string_not_equal(first, second);
    assert_int_equal(strlen(first), strlen("sk-runnel-") + 32);
    assert_true(id_has_prefix(first, "sk-runnel-"));

    assert_int_equal(store_key_find(store, first, &tenant, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, second, &again, NULL), ERR_OK);
    assert_string_equal(tenant.project, again.project);
    assert_int_equal(store_key_create(store, "other shop", second, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, second, &again, NULL), ERR_OK);
    assert_string_not_equal(tenant.project, again.project);
}

TEST(only_the_hash_is_kept)
{
    char key[KEY_SIZE];

    assert_int_equal(store_key_create(store, "secret", key, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM api_keys k"
                                      " WHERE k::text LIKE '%%%s%%'",
                                      key + 20),
                     0);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM api_keys WHERE hash = sha256('%s')", key), 1);
}

TEST(unknown_keys_are_unauthorized)
{
    struct tenant tenant;
    struct err err;

    assert_int_equal(store_key_find(store, "sk-nonsense", &tenant, &err), ERR_UNAUTHORIZED);
    assert_int_equal(err.reason, REASON_UNKNOWN_KEY);
    assert_int_equal(store_key_find(store, "", &tenant, &err), ERR_UNAUTHORIZED);
}

TEST(a_revoked_key_is_refused_at_once)
{
    char key[KEY_SIZE];
    struct tenant tenant;

    assert_int_equal(store_key_create(store, "gone", key, NULL), ERR_OK);
    assert_int_equal(store_key_revoke(store, key, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, key, &tenant, NULL), ERR_UNAUTHORIZED);
    assert_int_equal(store_key_revoke(store, key, NULL), ERR_NOT_FOUND);
}

static const struct key_row *find_project(const struct key_row *rows, size_t count,
                                          const char *project)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].project, project) == 0)
            return &rows[i];
    }
    return NULL;
}

TEST(the_list_shows_prefixes_and_takes_ids)
{
    char key[KEY_SIZE], expected[24];
    struct tenant tenant;
    const struct key_row *row;
    struct key_row *rows;
    size_t count;

    assert_int_equal(store_key_create(store, "listed", key, NULL), ERR_OK);
    assert_int_equal(store_key_list(store, &rows, &count, NULL), ERR_OK);
    row = find_project(rows, count, "listed");
    assert_non_null(row);
    snprintf(expected, sizeof(expected), "%.14s...", key);
    assert_string_equal(row->prefix, expected);
    assert_int_equal(store_key_revoke(store, row->id, NULL), ERR_OK);
    free(rows);

    assert_int_equal(store_key_find(store, key, &tenant, NULL), ERR_UNAUTHORIZED);
    assert_int_equal(store_key_list(store, &rows, &count, NULL), ERR_OK);
    assert_null(find_project(rows, count, "listed"));
    free(rows);
}

TEST(a_key_of_the_settings_opens_its_project)
{
    char project[ID_SIZE], found[ID_SIZE];
    struct tenant tenant;

    assert_int_equal(store_key_ensure(store, "default", "any-string", project, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, "any-string", &tenant, NULL), ERR_OK);
    assert_string_equal(tenant.project, project);
    assert_int_equal(tenant.features, 0);
    assert_true(id_has_prefix(tenant.key, "key_"));
    assert_int_equal(store_key_ensure(store, "default", "any-string", found, NULL), ERR_OK);
    assert_string_equal(found, project);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM api_keys WHERE hash = sha256('any-string')"), 1);

    /* Revoked, but still in the settings: it opens again. */
    assert_int_equal(store_key_revoke(store, "any-string", NULL), ERR_OK);
    assert_int_equal(store_key_ensure(store, "default", "any-string", found, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, "any-string", &tenant, NULL), ERR_OK);
}

/* A request of a project without settings need not query them. */
TEST(a_key_says_whether_there_are_tool_settings)
{
    const struct tool_settings_change change = {.user = "ann", .tool_groups = "{}"};
    CLEANUP(tool_settings_row_clear) struct tool_settings_row row = {0};
    char key[KEY_SIZE];
    struct tenant tenant;

    assert_int_equal(store_key_create(store, "settled", key, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, key, &tenant, NULL), ERR_OK);
    assert_int_equal(tenant.features, 0);
    assert_int_equal(store_tool_settings_put(store, &tenant, &change, &row, NULL), ERR_OK);
    assert_int_equal(store_key_find(store, key, &tenant, NULL), ERR_OK);
    assert_int_equal(tenant.features, TENANT_TOOL_SETTINGS);
}

TEST(a_short_key_is_not_given_away_by_its_prefix)
{
    const struct key_row *row;
    struct key_row *rows;
    char project[ID_SIZE];
    size_t count;

    /* Six bytes, of which the third begins a character of two. */
    assert_int_equal(store_key_ensure(store, "short", "a\xc3\xa9xyz", project, NULL), ERR_OK);
    assert_int_equal(store_key_list(store, &rows, &count, NULL), ERR_OK);
    row = find_project(rows, count, "short");
    assert_non_null(row);
    assert_string_equal(row->prefix, "a...");
    free(rows);
}

TEST(finding_a_project_does_not_make_it)
{
    char made[ID_SIZE], found[ID_SIZE];
    struct err err;

    for (int i = 0; i < 2; i++)
        assert_int_equal(store_project_find(store, "sought", found, &err), ERR_NOT_FOUND);
    assert_int_equal(store_project_ensure(store, "sought", made, NULL), ERR_OK);
    assert_int_equal(store_project_find(store, "sought", found, NULL), ERR_OK);
    assert_string_equal(found, made);
}

TEST(project_names_have_a_limit)
{
    char key[KEY_SIZE];
    char name[65];

    memset(name, 'x', 64);
    name[64] = '\0';
    assert_int_equal(store_key_create(store, name, key, NULL), ERR_INVALID);
    assert_int_equal(store_key_create(store, "", key, NULL), ERR_INVALID);
    assert_int_equal(store_key_create(store, "two\nlines", key, NULL), ERR_INVALID);
    name[63] = '\0';
    assert_int_equal(store_key_create(store, name, key, NULL), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_prepared_once_and_not_behind_a_pooler),
        cmocka_unit_test(a_key_opens_its_project),
        cmocka_unit_test(only_the_hash_is_kept),
        cmocka_unit_test(unknown_keys_are_unauthorized),
        cmocka_unit_test(a_revoked_key_is_refused_at_once),
        cmocka_unit_test(the_list_shows_prefixes_and_takes_ids),
        cmocka_unit_test(a_key_of_the_settings_opens_its_project),
        cmocka_unit_test(a_key_says_whether_there_are_tool_settings),
        cmocka_unit_test(a_short_key_is_not_given_away_by_its_prefix),
        cmocka_unit_test(finding_a_project_does_not_make_it),
        cmocka_unit_test(project_names_have_a_limit),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
