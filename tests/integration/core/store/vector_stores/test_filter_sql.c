/*
 * Filters as PostgreSQL reads them, beside their meaning in C: the same files pass any filter.
 */

#include "core/store/tables/vector_stores/filter_sql.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/vector_stores/search_set.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/sanitized.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE TENANT_OF("proj_filters")

enum { FILES = 40, FILTERS = 10000, DEPTH = 4 };

/* Keys and values that often meet, and some that are written in a way that could break a statement. */
static const char *const keys[] = {"year", "lang", "a b", "q\"\\'$", "日期", "x.y[*]", "none"};
static const char *const texts[] = {
    "",  "zh",   "en",      "EN",   "z",   "é",       "\xF0\x9F\x98\x80",
    "2", "true", "\" || $", "日本", "1.0", "\\u0041", "\n"};

static unsigned seed = 11;

static unsigned below(unsigned limit)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % limit;
}

/* As the text says that goes to the database: it has 15 digits of a real. */
static json_t *as_written(json_t *value)
{
    AUTO_FREE char *text = json_text(value);
    json_t *read;

    json_decref(value);
    assert_int_equal(json_parse(text, strlen(text), &read, NULL), ERR_OK);
    return read;
}

static json_t *random_number(void)
{
    static const double reals[] = {0, 1, 1.5, -1, 2, 0.1, 1e300, 9007199254740992.0};
    static const json_int_t integers[] = {
        0, 1, 2, -1, 2025, 2026, INT64_MAX, 9007199254740993, 9007199254740992};

    return below(2) ? as_written(json_real(reals[below(COUNT_OF(reals))]))
                    : json_integer(integers[below(COUNT_OF(integers))]);
}

static json_t *random_scalar(void)
{
    switch (below(3)) {
    case 0: return json_string(texts[below(COUNT_OF(texts))]);
    case 1: return random_number();
    default: return json_boolean(below(2));
    }
}

static json_t *random_values(void)
{
    json_t *values = json_array();

    for (unsigned i = 1 + below(4); i; i--)
        json_array_append_new(values, below(2) ? json_string(texts[below(COUNT_OF(texts))])
                                               : random_number());
    return values;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static struct filter random_filter(int depth)
{
    struct filter filter = {.type = (enum filter_type)below(depth ? FILTER_TYPES : FILTER_AND)};

    if (filter.type != FILTER_AND && filter.type != FILTER_OR) {
        filter.key = mem_strdup(keys[below(COUNT_OF(keys))]);
        if (filter.type == FILTER_IN || filter.type == FILTER_NIN)
            filter.value = random_values();
        else if (filter.type == FILTER_EQ || filter.type == FILTER_NE)
            filter.value = random_scalar();
        else
            filter.value =
                below(2) ? json_string(texts[below(COUNT_OF(texts))]) : random_number();
        return filter;
    }
    filter.count = 1 + below(3);
    filter.children = mem_zeroed(filter.count, sizeof(*filter.children));
    for (size_t i = 0; i < filter.count; i++)
        filter.children[i] = random_filter(depth - 1);
    return filter;
}

static json_t *random_attributes(void)
{
    json_t *attributes = json_object();

    for (unsigned i = below(5); i; i--)
        json_object_set_new(attributes, keys[below(COUNT_OF(keys) - 1)], random_scalar());
    return attributes;
}

static bool is_in(const struct searched_file *files, size_t count, const char *file_id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].file_id, file_id) == 0)
            return true;
    return false;
}

struct shelf {
    struct sample_id id;
    struct sample_id files[FILES];
    json_t *attributes[FILES];
};

static void fill(struct shelf *shelf)
{
    shelf->id = sample_store(MINE);
    for (size_t i = 0; i < FILES; i++) {
        struct store_file_row row;
        AUTO_FREE char *text = NULL;

        shelf->files[i] = sample_file(MINE);
        shelf->attributes[i] = random_attributes();
        attach(MINE, shelf->id, shelf->files[i]);
        text = json_text(shelf->attributes[i]);
        assert_int_equal(store_store_file_modify(store, MINE, shelf->id.text,
                                                 shelf->files[i].text, text, &row, NULL),
                         ERR_OK);
        store_file_row_clear(&row);
    }
    publish_all();
}

static void assert_agree(const struct shelf *shelf, const struct filter *filter)
{
    const char *ids[] = {shelf->id.text};
    AUTO_FREE struct searched_file *found = NULL;
    size_t count = 0;

    assert_int_equal(store_search_set(store, MINE, ids, 1, filter, &found, &count, NULL),
                     ERR_OK);
    for (size_t i = 0; i < FILES; i++) {
        bool passes = filter_matches(filter, shelf->attributes[i]);

        if (is_in(found, count, shelf->files[i].text) != passes) {
            CLEANUP(filter_sql_clear) struct filter_sql sql = {0};
            AUTO_FREE char *text = json_text(shelf->attributes[i]);

            filter_sql_make(filter, &sql);
            print_error("%s with %s: %s\n", sql.path, sql.values, text);
        }
        assert_int_equal(is_in(found, count, shelf->files[i].text), passes);
    }
}

TEST(sql_and_c_let_the_same_files_pass)
{
    struct shelf shelf;
    int filters = FILTERS / (int)CASE_STRIDE;
    size_t passed = 0, tried = 0;

    fill(&shelf);
    for (int i = 0; i < filters; i++) {
        struct filter filter = random_filter(DEPTH);

        assert_agree(&shelf, &filter);
        for (size_t k = 0; k < FILES; k++, tried++)
            passed += filter_matches(&filter, shelf.attributes[k]);
        filter_clear(&filter);
    }
    /* They were filters of both kinds. */
    assert_in_range(passed, tried / 10, tried - tried / 10);
    for (size_t i = 0; i < FILES; i++)
        json_decref(shelf.attributes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sql_and_c_let_the_same_files_pass),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
