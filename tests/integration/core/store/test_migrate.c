/*
 * Migrations: applied once, by one server at a time, and refused when the database does not fit.
 *
 * A fresh database is made next to the fixture's for servers that start at once. Databases from
 * before the first release are imitated by their rows in schema_migrations, with the checksums
 * that those steps had: the schema itself is the same.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/store/pg/migrations.h"
#include "core/store/tables/keys.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

TEST(migrating_again_changes_nothing)
{
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

static void migrate_from_four_threads(const char *url)
{
    pthread_t threads[4];
    void *failed;

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, migrate, (void *)(uintptr_t)url), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

TEST(servers_that_start_at_once_migrate_once)
{
    char *url = other_database("fresh");

    pg_fixture_ask("CREATE DATABASE fresh");
    migrate_from_four_threads(url);
    pg_fixture_ask("DROP DATABASE fresh");
    free(url);
}

TEST(a_newer_database_is_refused_with_both_versions)
{
    AUTO_FREE char *known = mem_printf("%zu", migration_count);
    AUTO_FREE char *later = mem_printf("%zu", migration_count + 1);
    struct err err;

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

TEST(a_changed_migration_is_noticed)
{
    struct err err;

    pg_fixture_ask(
        "UPDATE schema_migrations SET checksum = reverse(checksum) WHERE version = 1");
    assert_int_equal(store_migrate(pg_fixture_url(), -1, &err), ERR_STORE);
    assert_non_null(strstr(err.text, migrations[0].name));
    pg_fixture_ask(
        "UPDATE schema_migrations SET checksum = reverse(checksum) WHERE version = 1");
}

/* ---- Databases from before the first release ---- */

/* What schema_migrations contains once every step is applied. */
static const struct old_step {
    const char *name;
    const char *checksum;
} old_steps[] = {
    {"0001_initial", "800d5b481cd22e8b8f6e3a7a3409e0a40b05ab0f0ef8e33617867172db3483ba"},
    {"0002_copies", "8a787cd0f66c75302f2d8dc2acebbe2772a0b98cb1c6976ca9a4ad71911f2c6a"},
    {"0003_imports", "85e52a4e0023b0b80429045372e29bfc684255a8f5a77e8bbbfb59e34812e2f6"},
    {"0004_deleted", "865278349ac7b760b3e49a6ea85fb7a1615a72ba1742acdc5d7b110403cf9fdf"},
    {"0005_prompts", "c5d8020774a6c4e4e9efecb5da8d9c6d8b60c146126a0f330c44748c1f16749e"},
    {"0006_idempotency", "f43b91af5ead47fe0bbfd99361440fb5328a150cffa9f1b565e03d4d102eb506"},
    {"0007_secrets", "bb8bcb1a19520a76f5faeda672eb50531bf9aa17563a25d33627d01bcc7f4759"},
    {"0008_variables", "01b26f9f5732d543d738f271dbcae3ffc7f25bc15bb9e24c690db5b9864146fd"},
    {"0009_approvals", "6523d7039a9079588ea843244eb0e16d3dcb46dae65123d6459636a153b8e43f"},
    {"0010_thread_settings",
     "a57c472aa47d1a84f742db3978f646882d76cd1229a922872f15671b45a2f227"},
    {"0011_skills", "a027b474ff980441f1f3c1cb6ba07b4d286ea6a346f21514376eb0289de04e1d"},
    {"0012_results", "15f5cd7ea45f8aa6dbf8f5494a74cce1f8ebeeaf4169743311a1644bb1c8ad74"},
    {"0013_permissions", "79f7d7521816c2b4e2a108dacfb1242d73eab37974786a4f8e85df12c4e2d1f6"},
    {"0014_approval_grants",
     "74377c7a67c0d88c80e42b3edf04f361bc4a0e70a423669aa5b56fae2473544b"},
    {"0015_pending_permissions",
     "c9f6341457d57f469f6933ee72a5c69c628320d2bdd9e4745e676e49b753cb90"},
    {"0016_stopping", "934efcf3bdb176d5db78f24f05a284683bde319dd53c1efd1a286d9c08342360"},
    {"0017_tool_settings", "cf8da5c6213447a72be5548a3f02d80b87e9deba53fb04cec61610e262b80fe3"},
    {"0018_skill_files", "50df2e8be11116c5a9af4d186887b27c27f05f9224ea481f34c1371ee0fb1d98"},
    {"0019_extra_content", "7bab636250e321f9f524f89b19058751897668feea311604d5c858de18aea761"},
};

#define OLD_STEPS (sizeof(old_steps) / sizeof(old_steps[0]))

/* What steps since then have made: tables, indexes of older tables, and how the names of all their indexes begin. */
#define LATER_TABLES                                                                      \
    "deletion_marks, blobs, blob_pages, files, storage_use, vector_stores, file_batches," \
    " vector_store_files, documents, document_texts, chunks, document_segments,"          \
    " left_documents, uploads, upload_parts, approval_checks, embedding_models, "         \
    "chunk_vectors,"                                                                      \
    " containers, container_files, file_texts, file_pictures, scripts, ingest_turns, "    \
    "skill_versions, container_archives, pictures, item_pictures, container_skills"
#define LATER_INDEXES "approvals_status"
#define LATER_COLUMNS                                            \
    "ALTER TABLE run_leases DROP COLUMN IF EXISTS wanted_node; " \
    "ALTER TABLE nodes DROP COLUMN IF EXISTS draining; "         \
    "ALTER TABLE skills DROP COLUMN IF EXISTS default_version, " \
    "DROP COLUMN IF EXISTS latest_version; "                     \
    "DROP FUNCTION IF EXISTS skill_version_of_old_program() CASCADE"
#define LATER                                                                               \
    "(approvals_status|approval_checks|deletion_marks|blob|files|storage_use|vector_store|" \
    "file_batches|file_texts|file_pictures|"                                                \
    "document|chunk|embedding_model|"                                                       \
    "left_documents|upload|container|run_leases|scripts|ingest_turns|skill|nodes|"          \
    "pictures|item_pictures)"

/* The schema is the same but for later steps; the rows of such a database are those of its first `count`
 * steps. */
static void pretend_old(size_t count)
{
    AUTO_BUF rows = {0};

    for (size_t i = 0; i < count; i++)
        buf_addf(&rows, "%s(%zu, '%s', '%s', 1)", i ? ", " : "", i + 1, old_steps[i].name,
                 old_steps[i].checksum);
    pg_fixture_ask("DROP TABLE IF EXISTS " LATER_TABLES "; DROP INDEX IF EXISTS " LATER_INDEXES
                   "; " LATER_COLUMNS
                   "; DELETE FROM schema_migrations; INSERT INTO schema_migrations VALUES %s",
                   rows.data);
}

static char *rows_of_migrations(void)
{
    return mem_strdup(pg_fixture_ask("SELECT string_agg(version || name || checksum, ' '"
                                     " ORDER BY version) FROM schema_migrations"));
}

/* The catalogue's rows about all tables but later ones, with the transactions that wrote them. */
static char *schema_rows(void)
{
    return mem_strdup(pg_fixture_ask(
        "SELECT md5(string_agg(x, ' ' ORDER BY x)) FROM ("
        " SELECT concat_ws(' ', c.xmin, c.oid, c.relfilenode, c.relname) FROM "
        "pg_class c WHERE relnamespace = 'public'::regnamespace AND relname !~ '^" LATER "'"
        " UNION ALL SELECT a.xmin || a::text FROM pg_attribute a JOIN pg_class c"
        "  ON attrelid = c.oid AND relnamespace = 'public'::regnamespace"
        "  AND relname !~ '^" LATER "'"
        " UNION ALL SELECT c.xmin || c::text FROM pg_constraint c"
        "  WHERE connamespace = 'public'::regnamespace AND conname !~ '^" LATER
        "') all_rows (x)"));
}

TEST(all_old_steps_become_the_files_of_today)
{
    AUTO_FREE char *today = rows_of_migrations();
    AUTO_FREE char *schema = schema_rows();
    AUTO_FREE char *after = NULL;
    AUTO_FREE char *schema_after = NULL;
    char project[ID_SIZE], kept[ID_SIZE];

    assert_int_equal(store_project_ensure(store, "before", project, NULL), ERR_OK);
    pretend_old(OLD_STEPS);
    assert_int_equal(store_schema_check(store, NULL), ERR_STORE);
    assert_int_equal(store_migrate(pg_fixture_url(), -1, NULL), ERR_OK);

    after = rows_of_migrations();
    schema_after = schema_rows();
    assert_string_equal(after, today);
    assert_string_equal(schema_after, schema);
    assert_int_equal(store_schema_check(store, NULL), ERR_OK);
    assert_int_equal(store_project_find(store, "before", kept, NULL), ERR_OK);
    assert_string_equal(kept, project);
}

TEST(servers_that_find_old_steps_at_once_replace_them_once)
{
    AUTO_FREE char *today = rows_of_migrations();
    AUTO_FREE char *after = NULL;

    pretend_old(OLD_STEPS);
    migrate_from_four_threads(pg_fixture_url());
    after = rows_of_migrations();
    assert_string_equal(after, today);
}

TEST(old_steps_stay_when_replacing_them_fails)
{
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *after = NULL;
    struct err err;

    pretend_old(OLD_STEPS);
    before = rows_of_migrations();
    pg_fixture_ask("ALTER TABLE schema_migrations ADD CONSTRAINT no_more"
                   " CHECK (checksum = '%s' OR version <> 8)",
                   old_steps[7].checksum);
    assert_int_not_equal(store_migrate(pg_fixture_url(), -1, &err), ERR_OK);
    assert_non_null(strstr(err.text, "no_more"));
    after = rows_of_migrations();
    assert_string_equal(after, before);
    pg_fixture_ask("ALTER TABLE schema_migrations DROP CONSTRAINT no_more");
    assert_int_equal(store_migrate(pg_fixture_url(), -1, NULL), ERR_OK);
}

TEST(a_database_that_lacks_an_old_step_is_refused_and_left_alone)
{
    struct err err;

    for (size_t count = 1; count < OLD_STEPS; count++) {
        AUTO_FREE char *before = NULL;
        AUTO_FREE char *after = NULL;

        pretend_old(count);
        before = rows_of_migrations();
        assert_int_equal(store_migrate(pg_fixture_url(), -1, &err), ERR_STORE);
        after = rows_of_migrations();
        assert_string_equal(after, before);
        assert_non_null(strstr(err.text, old_steps[count - 1].name));
        assert_non_null(strstr(err.text, "run `runnel migrate` of a build that has"
                                         " 0019_extra_content"));
    }
    pretend_old(OLD_STEPS);
    assert_int_equal(store_migrate(pg_fixture_url(), -1, NULL), ERR_OK);
}

TEST(an_old_step_in_another_version_is_refused)
{
    struct err err;

    pretend_old(OLD_STEPS);
    pg_fixture_ask(
        "UPDATE schema_migrations SET checksum = reverse(checksum) WHERE version = 12");
    assert_int_equal(store_migrate(pg_fixture_url(), -1, &err), ERR_STORE);
    pretend_old(OLD_STEPS);
    assert_int_equal(store_migrate(pg_fixture_url(), -1, NULL), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migrating_again_changes_nothing),
        cmocka_unit_test(servers_that_start_at_once_migrate_once),
        cmocka_unit_test(a_newer_database_is_refused_with_both_versions),
        cmocka_unit_test(a_changed_migration_is_noticed),
        cmocka_unit_test(all_old_steps_become_the_files_of_today),
        cmocka_unit_test(servers_that_find_old_steps_at_once_replace_them_once),
        cmocka_unit_test(old_steps_stay_when_replacing_them_fails),
        cmocka_unit_test(a_database_that_lacks_an_old_step_is_refused_and_left_alone),
        cmocka_unit_test(an_old_step_in_another_version_is_refused),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
