#include <string.h>

#include "core/base/json.h"
#include "core/edit/strategies.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

static json_t *vectors(const char *key, size_t count)
{
    json_auto_t *all = json_load_file(VECTORS "/replacer_vectors.json", 0, NULL);
    json_t *list = json_incref(json_object_get(all, key));

    assert_int_equal(json_array_size(list), count);
    return list;
}

static bool collect(struct edit_search *search, struct edit_span candidate)
{
    json_array_append_new(search->arg, json_stringn(candidate.at, candidate.length));
    return true;
}

static json_t *candidates(const char *strategy, const char *file, const char *find,
                          enum edit_profile profile)
{
    struct edit_search search = {.find = span_of(find),
                                 .profile = profile,
                                 .work = EDIT_WORK_LIMIT,
                                 .offer = collect,
                                 .arg = json_array()};

    edit_lines_init(&search.file, span_of(file));
    edit_lines_init(&search.find_lines, search.find);
    for (size_t n = 0; n < EDIT_STRATEGIES; n++) {
        if (strcmp(edit_strategies[n].name, strategy) == 0)
            edit_strategies[n].find(&search);
    }
    edit_lines_clear(&search.file);
    edit_lines_clear(&search.find_lines);
    return search.arg;
}

/* F91, F92, F93, F94, F95, F96, F97, F98, F99 */
TEST(each_strategy_offers_what_the_vectors_say)
{
    json_auto_t *list = vectors("candidate_vectors", 73);
    size_t i;
    json_t *vector;

    json_array_foreach (list, i, vector) {
        json_auto_t *found = candidates(json_get_string(vector, "replacer", ""),
                                        json_get_string(vector, "content", ""),
                                        json_get_string(vector, "find", ""), EDIT_DEFAULT);

        if (!json_equal(found, json_object_get(vector, "candidates"))) {
            char *text = json_text(found);

            fail_msg("%s offers %s", json_get_string(vector, "id", ""), text);
        }
    }
}

TEST(the_order_is_that_of_the_vectors)
{
    json_auto_t *list = vectors("order", EDIT_STRATEGIES);

    for (size_t n = 0; n < EDIT_STRATEGIES; n++)
        assert_string_equal(edit_strategies[n].name,
                            json_string_value(json_array_get(list, n)));
}

TEST(the_distance_counts_letters)
{
    json_auto_t *list = vectors("levenshtein", 9);
    int64_t work = EDIT_WORK_LIMIT;
    size_t i;
    json_t *vector;

    json_array_foreach (list, i, vector)
        assert_int_equal(edit_distance(span_of(json_string_value(json_array_get(vector, 0))),
                                       span_of(json_string_value(json_array_get(vector, 1))),
                                       &work),
                         json_integer_value(json_array_get(vector, 2)));
    assert_true(work < EDIT_WORK_LIMIT);
}

static void expect_count(const char *file, const char *find, enum edit_profile profile,
                         size_t count)
{
    json_auto_t *found = candidates("block_anchor", file, find, profile);

    assert_int_equal(json_array_size(found), count);
}

/* F100 */
TEST(the_strict_profile_wants_more_of_a_block)
{
    expect_count("s\nabcdefghij\ne", "s\nabcdefgXXX\ne", EDIT_STRICT, 1);
    expect_count("s\nabcdefghij\ne", "s\nabcdefXXXX\ne", EDIT_STRICT, 0);
    expect_count("s\nabcdefghij\ne", "s\nabcdefXXXX\ne", EDIT_DEFAULT, 1);
    /* Of three lines one more is a quarter, rounded up; two more are not. */
    expect_count("s\nabc\nx\ne", "s\nabc\ne", EDIT_STRICT, 1);
    expect_count("s\nabc\nx\ny\ne", "s\nabc\ne", EDIT_STRICT, 0);
}

TEST(lines_too_long_to_compare_are_not_alike)
{
    enum { LENGTH = 3000 };
    static char a[LENGTH], b[LENGTH];
    int64_t work = EDIT_WORK_LIMIT;

    memset(a, 'x', LENGTH);
    memset(b, 'x', LENGTH);
    b[0] = 'y';
    assert_true(edit_similarity((struct edit_span){a, LENGTH}, (struct edit_span){b, LENGTH},
                                &work) == 0.0);
    assert_true(edit_similarity((struct edit_span){a, LENGTH}, (struct edit_span){a, LENGTH},
                                &work) == 1.0);
    assert_true(work > EDIT_WORK_LIMIT - 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_strategy_offers_what_the_vectors_say),
        cmocka_unit_test(the_order_is_that_of_the_vectors),
        cmocka_unit_test(the_distance_counts_letters),
        cmocka_unit_test(the_strict_profile_wants_more_of_a_block),
        cmocka_unit_test(lines_too_long_to_compare_are_not_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
