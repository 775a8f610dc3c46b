/*
 * Prompt templates: versions never change, are numbered without gaps, and go with their
 * template.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/tables/prompts.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_mine")
#define THEIRS TENANT_OF("proj_theirs")

static void make(const struct tenant *tenant, const char *name, char ret_id[ID_SIZE])
{
    struct prompt_row row = {.name = mem_strdup(name),
                             .body = mem_strdup("{\"instructions\":\"1\"}"),
                             .created_at = clock_wall_us()};

    id_make(row.id, "pmpt_");
    assert_int_equal(store_prompt_create(store, tenant, &row, NULL), ERR_OK);
    memcpy(ret_id, row.id, ID_SIZE);
    prompt_row_clear(&row);
}

static int add(const struct tenant *tenant, const char *id)
{
    struct prompt_row row = {0};
    int version;

    assert_int_equal(
        store_prompt_add(store, tenant, id, "{\"instructions\":\"new\"}", &row, NULL), ERR_OK);
    version = row.version;
    prompt_row_clear(&row);
    return version;
}

TEST(versions_stay_as_they_were_and_the_newest_is_the_default)
{
    struct prompt_row row = {0};
    char id[ID_SIZE];

    make(MINE, "greeting", id);
    assert_int_equal(add(MINE, id), 2);
    assert_int_equal(store_prompt_get(store, MINE, id, PROMPT_NEWEST, &row, NULL), ERR_OK);
    assert_string_equal(row.id, id);
    assert_string_equal(row.name, "greeting");
    assert_int_equal(row.version, 2);
    assert_string_equal(row.body, "{\"instructions\":\"new\"}");
    assert_true(row.version_created_at > row.created_at);
    prompt_row_clear(&row);
    assert_int_equal(store_prompt_get(store, MINE, id, 1, &row, NULL), ERR_OK);
    assert_string_equal(row.body, "{\"instructions\":\"1\"}");
    assert_int_equal(row.version_created_at, row.created_at);
    prompt_row_clear(&row);
}

TEST(the_error_says_what_is_missing)
{
    struct prompt_row row = {0};
    struct err err;
    char id[ID_SIZE];
    char expected[160];

    make(MINE, NULL, id);
    assert_int_equal(store_prompt_get(store, MINE, id, 2, &row, &err), ERR_NOT_FOUND);
    (void)snprintf(expected, sizeof(expected), "Version '2' of prompt with id '%s' not found.",
                   id);
    assert_string_equal(err.text, expected);
    assert_int_equal(store_prompt_get(store, MINE, "pmpt_none", 2, &row, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "Prompt with id 'pmpt_none' not found.");
}

TEST(another_project_does_not_find_it)
{
    struct prompt_row row = {0};
    struct prompt_row *rows = NULL;
    struct page page = {.limit = 100};
    size_t count;
    bool more;
    char id[ID_SIZE];

    make(MINE, NULL, id);
    assert_int_equal(store_prompt_get(store, THEIRS, id, PROMPT_NEWEST, &row, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_prompt_add(store, THEIRS, id, "{}", &row, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_prompt_delete(store, THEIRS, id, NULL), ERR_NOT_FOUND);
    assert_int_equal(
        store_prompt_versions(store, THEIRS, id, &page, &rows, &count, &more, NULL),
        ERR_NOT_FOUND);
    assert_int_equal(store_prompt_list(store, THEIRS, &page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 0);
    prompt_rows_free(rows, count);
    assert_int_equal(store_prompt_get(store, MINE, id, 1, &row, NULL), ERR_OK);
    prompt_row_clear(&row);
}

TEST(a_deleted_template_leaves_no_version_behind)
{
    struct prompt_row row = {0};
    char id[ID_SIZE];

    make(MINE, NULL, id);
    add(MINE, id);
    assert_int_equal(store_prompt_delete(store, MINE, id, NULL), ERR_OK);
    assert_int_equal(store_prompt_get(store, MINE, id, 1, &row, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_prompt_add(store, MINE, id, "{}", &row, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_prompt_delete(store, MINE, id, NULL), ERR_NOT_FOUND);
    assert_string_equal(
        pg_fixture_ask("SELECT count(*) FROM prompt_versions WHERE prompt_id = '%s'", id), "0");
}

TEST(the_number_of_versions_is_limited)
{
    struct prompt_row row = {0};
    struct err err;
    char id[ID_SIZE];

    make(MINE, NULL, id);
    for (int version = 2; version <= PROMPT_VERSION_LIMIT; version++)
        assert_int_equal(add(MINE, id), version);
    assert_int_equal(store_prompt_add(store, MINE, id, "{}", &row, &err), ERR_INVALID);
    assert_string_equal(err.text, "A prompt can have at most 1000 versions.");
}

TEST(versions_are_listed_by_number)
{
    struct prompt_row *rows = NULL;
    struct page page = {.limit = 2, .ascending = true, .after = "9"};
    struct err err;
    size_t count = 0;
    bool more = false;
    char id[ID_SIZE];

    make(MINE, NULL, id);
    for (int version = 2; version <= 12; version++)
        add(MINE, id);
    assert_int_equal(store_prompt_versions(store, MINE, id, &page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assert_true(more);
    assert_int_equal(rows[0].version, 10);
    assert_int_equal(rows[1].version, 11);
    prompt_rows_free(rows, count);
    (void)snprintf(page.after, sizeof(page.after), "x");
    assert_int_equal(store_prompt_versions(store, MINE, id, &page, &rows, &count, &more, &err),
                     ERR_INVALID);
    assert_string_equal(err.place, "after");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_stay_as_they_were_and_the_newest_is_the_default),
        cmocka_unit_test(the_error_says_what_is_missing),
        cmocka_unit_test(another_project_does_not_find_it),
        cmocka_unit_test(a_deleted_template_leaves_no_version_behind),
        cmocka_unit_test(the_number_of_versions_is_limited),
        cmocka_unit_test(versions_are_listed_by_number),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
