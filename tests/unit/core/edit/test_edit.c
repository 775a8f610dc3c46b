#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/edit.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

static enum err_code code_of(const char *word)
{
    if (strcmp(word, "identical") == 0 || strcmp(word, "empty_old") == 0)
        return ERR_INVALID;
    if (strcmp(word, "not_found") == 0)
        return ERR_NOT_FOUND;
    if (strcmp(word, "multiple") == 0)
        return ERR_CONFLICT;
    assert_string_equal(word, "disproportionate");
    return ERR_FORBIDDEN;
}

static void run_vector(const json_t *vector)
{
    const json_t *wanted = json_object_get(vector, "guarded");
    const char *text = json_get_string(wanted, "result", NULL);
    struct edit_order order = {.old_text = span_of(json_get_string(vector, "old", "")),
                               .new_text = span_of(json_get_string(vector, "new", "")),
                               .all = json_get_bool(vector, "replace_all", false)};
    CLEANUP(edit_result_clear) struct edit_result result = {.length = 0};
    struct err err = {.code = ERR_OK};
    enum err_code rc =
        edit_replace(span_of(json_get_string(vector, "content", "")), &order, &result, &err);

    if (rc != (text ? ERR_OK : code_of(json_get_string(wanted, "error", ""))))
        fail_msg("%s: %d %s", json_get_string(vector, "id", ""), rc, err.text);
    if (text && (strcmp(result.text, text) != 0 ||
                 strcmp(result.strategy, json_get_string(wanted, "by", "")) != 0))
        fail_msg("%s: '%s' by %s", json_get_string(vector, "id", ""), result.text,
                 result.strategy);
}

/* F91, F92, F93, F94, F95, F96, F97, F98, F99, F100 */
TEST(the_chain_decides_as_the_vectors_say)
{
    json_auto_t *all = json_load_file(VECTORS "/replacer_vectors.json", 0, NULL);
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(json_object_get(all, "replace_vectors")), 50);
    json_array_foreach (json_object_get(all, "replace_vectors"), i, vector)
        run_vector(vector);
}

static enum err_code replace(const char *file, const char *from, const char *to,
                             enum edit_profile profile)
{
    struct edit_order order = {span_of(from), span_of(to), false, profile};
    CLEANUP(edit_result_clear) struct edit_result result = {.length = 0};

    return edit_replace(span_of(file), &order, &result, NULL);
}

TEST(the_strict_profile_refuses_a_block_that_is_not_alike)
{
    static const char file[] = "open\n  a long line of text\nclose\n";
    static const char other[] = "open\n  ...\nclose";

    assert_int_equal(replace(file, other, "x", EDIT_DEFAULT), ERR_OK);
    assert_int_equal(replace(file, other, "x", EDIT_STRICT), ERR_NOT_FOUND);
}

TEST(places_that_overlap_are_several)
{
    assert_int_equal(replace("aaa", "aa", "b", EDIT_DEFAULT), ERR_CONFLICT);
}

TEST(a_later_strategy_does_not_choose_one_of_several_places)
{
    /* Of two exact places, one is a line of its own. */
    assert_int_equal(replace("ax\n  x\n", "x", "b", EDIT_DEFAULT), ERR_CONFLICT);
    /* Of two places that are equal when trimmed, one is also indented alike. */
    assert_int_equal(replace("x\ny\n---\n    x\n      y\n", "  x\n    y", "z", EDIT_DEFAULT),
                     ERR_CONFLICT);
}

TEST(the_lines_of_the_place_are_counted)
{
    struct edit_order order = {span_of("c\nd\n"), span_of("C\n"), false, EDIT_DEFAULT};
    CLEANUP(edit_result_clear) struct edit_result result = {.length = 0};

    assert_int_equal(edit_replace(span_of("a\nb\nc \nd\ne"), &order, &result, NULL), ERR_OK);
    assert_string_equal(result.text, "a\nb\nC\ne");
    assert_int_equal(result.first_line, 3);
    assert_int_equal(result.last_line, 4);
}

/* The text that is found by its lines stands earlier as a part of another. */
TEST(the_first_of_all_places_is_named)
{
    struct edit_order order = {span_of("a \n b"), span_of("x"), true, EDIT_DEFAULT};
    CLEANUP(edit_result_clear) struct edit_result result = {.length = 0};

    assert_int_equal(edit_replace(span_of("za\nbz\na\nb"), &order, &result, NULL), ERR_OK);
    assert_string_equal(result.text, "zxz\nx");
    assert_int_equal(result.first_line, 1);
}

TEST(what_becomes_too_large_is_refused_before_it_is_made)
{
    AUTO_FREE char *many = mem_new_array(char, (size_t)100000 + 1);
    AUTO_FREE char *text = mem_new_array(char, EDIT_TEXT_LIMIT + 1);
    struct edit_order order = {span_of("x"), {text, EDIT_TEXT_LIMIT}, true, EDIT_DEFAULT};
    struct edit_result result;

    memset(many, 'x', 100000);
    memset(text, 'y', EDIT_TEXT_LIMIT);
    assert_int_equal(edit_replace(span_of(many), &order, &result, NULL), ERR_TOO_LARGE);
    order.new_text.length++;
    assert_int_equal(edit_replace(span_of(many), &order, &result, NULL), ERR_TOO_LARGE);
    order = (struct edit_order){span_of("q"), span_of("r"), false, EDIT_DEFAULT};
    assert_int_equal(
        edit_replace((struct edit_span){text, EDIT_FILE_LIMIT + 1}, &order, &result, NULL),
        ERR_TOO_LARGE);
}

/* Every window is equal but for its last line. */
TEST(a_search_that_would_take_forever_ends)
{
    enum { LINES = 400000, WANTED = 50000 };
    AUTO_FREE char *file = mem_new_array(char, (size_t)2 * LINES + 1);
    AUTO_FREE char *text = mem_new_array(char, (size_t)2 * WANTED + 3);

    for (size_t n = 0; n < LINES; n++)
        memcpy(file + 2 * n, "a\n", 2);
    for (size_t n = 0; n < WANTED; n++)
        memcpy(text + 2 * n, "a\n", 2);
    memcpy(text + (size_t)2 * WANTED, "b ", 2);
    assert_int_equal(replace(file, text, "x", EDIT_DEFAULT), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chain_decides_as_the_vectors_say),
        cmocka_unit_test(the_strict_profile_refuses_a_block_that_is_not_alike),
        cmocka_unit_test(places_that_overlap_are_several),
        cmocka_unit_test(a_later_strategy_does_not_choose_one_of_several_places),
        cmocka_unit_test(the_lines_of_the_place_are_counted),
        cmocka_unit_test(the_first_of_all_places_is_named),
        cmocka_unit_test(what_becomes_too_large_is_refused_before_it_is_made),
        cmocka_unit_test(a_search_that_would_take_forever_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
