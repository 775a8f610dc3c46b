#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/migrations.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"

static void migrating_again_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(store_migrate(pg_fixture_url(), -1, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM schema_migrations"),
                     migration_count);
    assert_int_equal(store_schema_check(store, NULL), ERR_OK);
}

static void *migrate(void *url)
{
    struct err err = {0};

    if (store_migrate(url, -1, &err))
        fprintf(stderr, "%s\n", err.text);
    return (void *)(uintptr_t)err.code;
}

/* The URL with another database's name, which comes last in it. */
static char *other_database(const char *name)
{
    const char *url = pg_fixture_url();
    size_t length = strlen(url) - strlen("runnel");
    char *other = malloc(length + strlen(name) + 1);

    memcpy(other, url, length);
    memcpy(other + length, name, strlen(name) + 1);
    return other;
}

static void servers_that_start_at_once_migrate_once(void **state)
{
    char *url = other_database("fresh");
    pthread_t threads[4];
    void *failed;

    (void)state;
    pg_fixture_ask("CREATE DATABASE fresh");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, migrate, url), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    pg_fixture_ask("DROP DATABASE fresh");
    free(url);
}

static void a_newer_database_is_refused_with_both_versions(void **state)
{
    AUTO_FREE char *known = mem_printf("%zu", migration_count);
    AUTO_FREE char *later = mem_printf("%zu", migration_count + 1);
    struct err err;

    (void)state;
    pg_fixture_ask("INSERT INTO schema_migrations SELECT max(version) + 1, 'later', '', 0"
                   " FROM schema_migrations");
    assert_int_equal(store_migrate(pg_fixture_url(), -1, &err), ERR_STORE);
    assert_non_null(strstr(err.text, later));
    assert_non_null(strstr(err.text, known));
    assert_non_null(strstr(err.text, "newer"));
    assert_int_equal(store_schema_check(store, &err), ERR_STORE);
    pg_fixture_ask("DELETE FROM schema_migrations WHERE name = 'later'");
    assert_int_equal(store_schema_check(store, &err), ERR_OK);
}

static void a_changed_migration_is_noticed(void **state)
{
    struct err err;

    (void)state;
    pg_fixture_ask(
        "UPDATE schema_migrations SET checksum = reverse(checksum) WHERE version = 1");
    assert_int_equal(store_migrate(pg_fixture_url(), -1, &err), ERR_STORE);
    assert_non_null(strstr(err.text, "0001_initial"));
    pg_fixture_ask(
        "UPDATE schema_migrations SET checksum = reverse(checksum) WHERE version = 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migrating_again_changes_nothing),
        cmocka_unit_test(servers_that_start_at_once_migrate_once),
        cmocka_unit_test(a_newer_database_is_refused_with_both_versions),
        cmocka_unit_test(a_changed_migration_is_noticed),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
