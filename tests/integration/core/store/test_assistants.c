/*
 * Assistants, and with them what all lists share: pages that follow each other miss nothing and
 * repeat nothing, from either end, also at the edges.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/tables/assistants.h"
#include "core/store/tables/deletion_marks.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE    TENANT_OF("proj_mine")
#define THEIRS  TENANT_OF("proj_theirs")
#define CLEANED TENANT_OF("proj_cleaned")

static void make(const struct tenant *tenant, char ret_id[ID_SIZE], const char *body)
{
    struct assistant_row row = {.created_at = clock_wall_us()};

    id_make(row.id, "asst_");
    row.body = mem_strdup(body);
    assert_int_equal(store_assistant_create(store, tenant, &row, NULL, NULL), ERR_OK);
    memcpy(ret_id, row.id, ID_SIZE);
    assistant_row_clear(&row);
}

/* As one is imported: with its own id and age. */
static void make_as(const struct tenant *tenant, const char *id, int64_t created_at)
{
    struct assistant_row row = {.created_at = created_at, .body = mem_strdup("{}")};

    (void)snprintf(row.id, sizeof(row.id), "%s", id);
    assert_int_equal(store_assistant_create(store, tenant, &row, NULL, NULL), ERR_OK);
    assistant_row_clear(&row);
}

TEST(an_assistant_that_was_made_is_found)
{
    struct assistant_row row = {0};
    char id[ID_SIZE];
    int64_t before = clock_wall_us();

    make(MINE, id, "{\"model\":\"m\"}");
    assert_int_equal(store_assistant_get(store, MINE, id, &row, NULL), ERR_OK);
    assert_string_equal(row.id, id);
    assert_string_equal(row.body, "{\"model\":\"m\"}");
    assert_true(row.created_at >= before && row.created_at <= clock_wall_us());
    assistant_row_clear(&row);
}

TEST(another_project_does_not_find_it)
{
    struct assistant_row row = {0};
    struct err theirs, unknown;
    char id[ID_SIZE];
    char expected[128];

    make(MINE, id, "{}");
    (void)snprintf(expected, sizeof(expected), "No assistant found with id '%s'.", id);
    assert_int_equal(store_assistant_get(store, THEIRS, id, &row, &theirs), ERR_NOT_FOUND);
    assert_string_equal(theirs.text, expected);
    assert_int_equal(store_assistant_modify(store, THEIRS, id, "{}", &row, &theirs),
                     ERR_NOT_FOUND);
    assert_string_equal(theirs.text, expected);
    assert_int_equal(store_assistant_delete(store, THEIRS, id, &theirs), ERR_NOT_FOUND);
    assert_string_equal(theirs.text, expected);
    assert_int_equal(store_assistant_get(store, MINE, "asst_unknown", &row, &unknown),
                     ERR_NOT_FOUND);
    assert_string_equal(unknown.text, "No assistant found with id 'asst_unknown'.");
    assert_int_equal(store_assistant_get(store, MINE, id, &row, NULL), ERR_OK);
    assistant_row_clear(&row);
}

TEST(changes_replace_members_of_the_body)
{
    struct assistant_row row = {0};
    char id[ID_SIZE];

    make(MINE, id, "{\"model\":\"m\",\"name\":\"old\",\"metadata\":{\"a\":\"b\"}}");
    assert_int_equal(store_assistant_modify(store, MINE, id,
                                            "{\"name\":null,\"metadata\":{\"c\":\"d\"}}", &row,
                                            NULL),
                     ERR_OK);
    assert_string_equal(row.id, id);
    assert_string_equal(row.body, "{\"model\":\"m\",\"name\":null,\"metadata\":{\"c\":\"d\"}}");
    assistant_row_clear(&row);
    assert_int_equal(store_assistant_get(store, MINE, id, &row, NULL), ERR_OK);
    assert_string_equal(row.body, "{\"model\":\"m\",\"name\":null,\"metadata\":{\"c\":\"d\"}}");
    assistant_row_clear(&row);
}

TEST(a_deleted_assistant_is_gone)
{
    struct assistant_row row = {0};
    char id[ID_SIZE];

    make(MINE, id, "{}");
    assert_int_equal(store_assistant_delete(store, MINE, id, NULL), ERR_OK);
    assert_int_equal(store_assistant_get(store, MINE, id, &row, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_assistant_delete(store, MINE, id, NULL), ERR_NOT_FOUND);
}

/* ---- Pages ---- */

#define ROWS 250

static char listed[ROWS][ID_SIZE]; /* oldest first */

static void make_rows(const struct tenant *tenant)
{
    for (size_t i = 0; i < ROWS; i++)
        make(tenant, listed[i], "{}");
}

/* Which of the made rows comes i-th in the order of the list. */
static const char *nth(bool ascending, size_t i)
{
    return listed[ascending ? i : ROWS - 1 - i];
}

/* Reads a page and checks that it holds the rows from..from+count-1 of the list. */
static void expect_page(const struct tenant *tenant, const struct page *page, size_t from,
                        size_t count, bool more)
{
    struct assistant_row *rows = NULL;
    size_t got = 0;
    bool got_more = !more;

    assert_int_equal(store_assistant_list(store, tenant, page, &rows, &got, &got_more, NULL),
                     ERR_OK);
    assert_int_equal(got, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(rows[i].id, nth(page->ascending, from + i));
    assert_int_equal(got_more, more);
    assistant_rows_free(rows, got);
}

TEST(pages_that_follow_each_other_miss_nothing)
{
    make_rows(TENANT_OF("proj_after"));
    for (int ascending = 0; ascending < 2; ascending++) {
        struct page page = {.limit = 20, .ascending = ascending};

        for (size_t from = 0; from < ROWS; from += 20) {
            size_t count = ROWS - from < 20 ? ROWS - from : 20;

            expect_page(TENANT_OF("proj_after"), &page, from, count, from + count < ROWS);
            memcpy(page.after, nth(ascending, from + count - 1), ID_SIZE);
        }
        expect_page(TENANT_OF("proj_after"), &page, ROWS, 0, false);
    }
}

TEST(pages_before_lie_directly_before)
{
    make_rows(TENANT_OF("proj_before"));
    for (int ascending = 0; ascending < 2; ascending++) {
        struct page page = {.limit = 100, .ascending = ascending};

        memcpy(page.before, nth(ascending, 230), ID_SIZE);
        expect_page(TENANT_OF("proj_before"), &page, 130, 100, true);
        memcpy(page.before, nth(ascending, 100), ID_SIZE);
        expect_page(TENANT_OF("proj_before"), &page, 0, 100, false);
        memcpy(page.before, nth(ascending, 7), ID_SIZE);
        expect_page(TENANT_OF("proj_before"), &page, 0, 7, false);
        memcpy(page.before, nth(ascending, 0), ID_SIZE);
        expect_page(TENANT_OF("proj_before"), &page, 0, 0, false);
    }
}

TEST(a_page_may_lie_between_two_rows)
{
    make_rows(TENANT_OF("proj_between"));
    for (int ascending = 0; ascending < 2; ascending++) {
        struct page page = {.limit = 10, .ascending = ascending};

        memcpy(page.after, nth(ascending, 49), ID_SIZE);
        memcpy(page.before, nth(ascending, 65), ID_SIZE);
        expect_page(TENANT_OF("proj_between"), &page, 50, 10, true);
        memcpy(page.before, nth(ascending, 60), ID_SIZE);
        expect_page(TENANT_OF("proj_between"), &page, 50, 10, false);
    }
}

TEST(an_exactly_full_page_has_no_more)
{
    struct page page = {.limit = 100, .ascending = true};

    make_rows(TENANT_OF("proj_full"));
    memcpy(page.after, nth(true, 149), ID_SIZE);
    expect_page(TENANT_OF("proj_full"), &page, 150, 100, false);
    page.after[0] = '\0';
    page.limit = 0;
    expect_page(TENANT_OF("proj_full"), &page, 0, 0, true);
    expect_page(TENANT_OF("proj_nobody"), &page, 0, 0, false);
}

TEST(a_cursor_that_is_not_in_the_list_is_refused)
{
    struct page page = {.limit = 5};
    struct assistant_row *rows = NULL;
    size_t count;
    bool more;
    struct err err;

    make_as(MINE, "asst_zMadeElsewhere0123456789", 1);
    (void)snprintf(page.after, sizeof(page.after), "asst_zMadeElsewhere0123456789");
    assert_int_equal(store_assistant_list(store, THEIRS, &page, &rows, &count, &more, &err),
                     ERR_INVALID);
    assert_string_equal(err.place, "after");
    assert_int_equal(err.reason, REASON_BAD_VALUE);
    (void)snprintf(page.before, sizeof(page.before), "asst_unknown");
    assert_int_equal(store_assistant_list(store, MINE, &page, &rows, &count, &more, &err),
                     ERR_INVALID);
    assert_string_equal(err.place, "before");
    assert_null(rows);
}

/* Deletes what it has read, and continues behind it. */
static void clean_up(const struct tenant *tenant, bool ascending, size_t expected)
{
    struct page page = {.limit = 2, .ascending = ascending};
    struct assistant_row *rows = NULL;
    size_t count = 0, seen = 0;
    bool more = true;

    while (more) {
        assert_int_equal(store_assistant_list(store, tenant, &page, &rows, &count, &more, NULL),
                         ERR_OK);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(store_assistant_delete(store, tenant, rows[i].id, NULL), ERR_OK);
            memcpy(page.after, rows[i].id, ID_SIZE);
        }
        seen += count;
        assistant_rows_free(rows, count);
    }
    assert_int_equal(seen, expected);
}

TEST(a_client_may_delete_while_it_pages)
{
    static const char *const imported[] = {"asst_zzzzzzzzzzzzzzzzzzzzzzzz", "asst_0",
                                           "asst_mmmmmmmmmmmmmmmmmmmmmmmm"};
    char id[ID_SIZE];

    for (int ascending = 0; ascending < 2; ascending++) {
        for (size_t i = 0; i < COUNT_OF(imported); i++)
            make_as(CLEANED, imported[i], 1600000000 + (int64_t)i);
        for (size_t i = 0; i < 4; i++)
            make(CLEANED, id, "{}");
        clean_up(CLEANED, ascending, 7);
    }
}

#ifdef RUNNEL_FAULTS
/* The keeper tries again an hour later. */
TEST(marks_outlive_a_failure_to_forget_them)
{
    char id[ID_SIZE];

    make(CLEANED, id, "{}");
    assert_int_equal(store_assistant_delete(store, CLEANED, id, NULL), ERR_OK);
    pg_fixture_ask(
        "UPDATE deletion_marks SET deleted_at = deleted_at - 86401 * 1000000::bigint");
    fault_arm("deletion_marks_forget", 1);
    assert_int_equal(store_deletion_marks_forget(store, NULL), ERR_STORE);
    fault_disarm();
    assert_true(pg_fixture_count("SELECT count(*) FROM deletion_marks") > 0);
    assert_int_equal(store_deletion_marks_forget(store, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM deletion_marks"), 0);
}
#endif

/* After a day only the time in the id is left. */
TEST(marks_are_forgotten)
{
    struct page page = {.limit = 5, .ascending = true};
    struct assistant_row *rows = NULL;
    size_t count;
    bool more;
    char first[ID_SIZE], gone[ID_SIZE], last[ID_SIZE];

    make(CLEANED, first, "{}");
    make(CLEANED, gone, "{}");
    make(CLEANED, last, "{}");
    make_as(CLEANED, "asst_zElsewhere", 1);
    assert_int_equal(store_assistant_delete(store, CLEANED, gone, NULL), ERR_OK);
    assert_int_equal(store_assistant_delete(store, CLEANED, "asst_zElsewhere", NULL), ERR_OK);
    assert_int_equal(store_deletion_marks_forget(store, NULL), ERR_OK);
    (void)snprintf(page.after, sizeof(page.after), "asst_zElsewhere");
    assert_int_equal(store_assistant_list(store, CLEANED, &page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 2);
    assistant_rows_free(rows, count);

    pg_fixture_ask(
        "UPDATE deletion_marks SET deleted_at = deleted_at - 86401 * 1000000::bigint");
    assert_int_equal(store_deletion_marks_forget(store, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM deletion_marks"), 0);
    assert_int_equal(store_assistant_list(store, CLEANED, &page, &rows, &count, &more, NULL),
                     ERR_INVALID);
    memcpy(page.after, gone, ID_SIZE);
    assert_int_equal(store_assistant_list(store, CLEANED, &page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].id, last);
    assistant_rows_free(rows, count);
    page.ascending = false;
    assert_int_equal(store_assistant_list(store, CLEANED, &page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].id, first);
    assistant_rows_free(rows, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assistant_that_was_made_is_found),
        cmocka_unit_test(another_project_does_not_find_it),
        cmocka_unit_test(changes_replace_members_of_the_body),
        cmocka_unit_test(a_deleted_assistant_is_gone),
        cmocka_unit_test(pages_that_follow_each_other_miss_nothing),
        cmocka_unit_test(pages_before_lie_directly_before),
        cmocka_unit_test(a_page_may_lie_between_two_rows),
        cmocka_unit_test(an_exactly_full_page_has_no_more),
        cmocka_unit_test(a_cursor_that_is_not_in_the_list_is_refused),
        cmocka_unit_test(a_client_may_delete_while_it_pages),
        cmocka_unit_test(marks_are_forgotten),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(marks_outlive_a_failure_to_forget_them),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
