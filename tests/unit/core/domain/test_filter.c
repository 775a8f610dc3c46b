/* Attributes that a filter accepts. */

#include "core/domain/filter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define ATTRIBUTES                                                                     \
    "{\"year\": 2026, \"rate\": 0.5, \"lang\": \"zh\", \"open\": true, \"one\": 1.0, " \
    "\"big\": 9007199254740993}"

static struct filter filter_of(const json_t *json)
{
    struct filter filter = {0};
    const json_t *children = json_object_get(json, "filters"), *child;
    size_t i;

    assert_true(
        filter_type_parse(json_string_value(json_object_get(json, "type")), &filter.type));
    filter.key = mem_strdup(json_string_value(json_object_get(json, "key")));
    filter.value = json_incref(json_object_get(json, "value"));
    filter.children = mem_new_array(struct filter, json_array_size(children) + 1);
    json_array_foreach (children, i, child)
        filter.children[filter.count++] = filter_of(child);
    return filter;
}

static bool matches(const char *text)
{
    json_auto_t *attributes = json_loads(ATTRIBUTES, 0, NULL);
    json_auto_t *json = json_loads(text, 0, NULL);
    struct filter filter = filter_of(json);
    bool result = filter_matches(&filter, attributes);

    filter_clear(&filter);
    return result;
}

#define COMPARE(type, key, value) \
    "{\"type\": \"" type "\", \"key\": \"" key "\", \"value\": " value "}"

/* clang-format off */
static const struct {
    const char *filter;
    bool matches;
} rows[] = {
    {COMPARE("eq", "year", "2026"), true},
    {COMPARE("eq", "year", "2026.0"), true},
    {COMPARE("eq", "one", "1"), true},
    {COMPARE("eq", "year", "\"2026\""), false},
    {COMPARE("eq", "lang", "\"zh\""), true},
    {COMPARE("eq", "lang", "\"ZH\""), false},
    {COMPARE("eq", "open", "true"), true},
    {COMPARE("eq", "open", "false"), false},
    {COMPARE("eq", "open", "1"), false},
    {COMPARE("eq", "none", "1"), false},
    {COMPARE("eq", "big", "9007199254740992"), false},
    {COMPARE("eq", "big", "9007199254740992.0"), false},
    {COMPARE("ne", "year", "2026"), false},
    {COMPARE("ne", "year", "2025"), true},
    {COMPARE("ne", "year", "\"2026\""), true},
    {COMPARE("ne", "none", "1"), true},
    {COMPARE("gt", "year", "2025"), true},
    {COMPARE("gt", "year", "2026"), false},
    {COMPARE("gte", "year", "2026"), true},
    {COMPARE("lt", "rate", "1"), true},
    {COMPARE("lt", "rate", "0.5"), false},
    {COMPARE("lte", "rate", "0.5"), true},
    {COMPARE("lt", "none", "5"), false},
    {COMPARE("gt", "none", "5"), false},
    {COMPARE("gt", "lang", "\"ab\""), true},
    {COMPARE("gt", "lang", "\"zz\""), false},
    {COMPARE("lt", "lang", "\"z\u00e9\""), true},
    {COMPARE("lt", "lang", "5"), false},
    {COMPARE("gte", "lang", "5"), false},
    {COMPARE("gte", "open", "true"), false},
    {COMPARE("gt", "big", "9007199254740992"), true},
    {COMPARE("in", "lang", "[\"en\", \"zh\"]"), true},
    {COMPARE("in", "lang", "[\"en\", 5]"), false},
    {COMPARE("in", "year", "[1, 2026.0]"), true},
    {COMPARE("in", "none", "[1]"), false},
    {COMPARE("nin", "lang", "[\"en\", \"zh\"]"), false},
    {COMPARE("nin", "lang", "[\"en\"]"), true},
    {COMPARE("nin", "none", "[1]"), true},
    {"{\"type\": \"and\", \"filters\": [" COMPARE("eq", "year", "2026") ", " COMPARE("eq", "lang", "\"zh\"") "]}", true},
    {"{\"type\": \"and\", \"filters\": [" COMPARE("eq", "year", "2026") ", " COMPARE("eq", "lang", "\"en\"") "]}", false},
    {"{\"type\": \"or\", \"filters\": [" COMPARE("eq", "year", "2025") ", " COMPARE("eq", "lang", "\"zh\"") "]}", true},
    {"{\"type\": \"or\", \"filters\": [" COMPARE("eq", "year", "2025") ", " COMPARE("eq", "lang", "\"en\"") "]}", false},
    {"{\"type\": \"or\", \"filters\": [{\"type\": \"and\", \"filters\": [" COMPARE("eq", "year", "2025") ", "
     COMPARE("eq", "lang", "\"zh\"") "]}, " COMPARE("ne", "open", "false") "]}", true},
};
/* clang-format on */

TEST(comparisons_are_those_of_the_wire)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (matches(rows[i].filter) != rows[i].matches)
            fail_msg("row %zu: %s", i, rows[i].filter);
    }
}

TEST(a_file_without_attributes_is_an_empty_object)
{
    struct filter filter = {
        .type = FILTER_NE, .key = mem_strdup("a"), .value = json_integer(1)};

    assert_true(filter_matches(&filter, NULL));
    filter.type = FILTER_EQ;
    assert_false(filter_matches(&filter, NULL));
    filter_clear(&filter);
}

TEST(names_are_parsed_back)
{
    enum filter_type type;

    for (int i = 0; i < FILTER_TYPES; i++) {
        assert_true(filter_type_parse(filter_type_name((enum filter_type)i), &type));
        assert_int_equal(type, i);
    }
    assert_false(filter_type_parse("like", &type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_those_of_the_wire),
        cmocka_unit_test(a_file_without_attributes_is_an_empty_object),
        cmocka_unit_test(names_are_parsed_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
