/* Blocks of lines, by the vectors of the seeds: what they mean, where they are found, what the text becomes. F52 */

#include "core/edit/search_replace.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

static json_t *vectors(const char *name)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);

    return json_incref(json_object_get(all, name));
}

/* The result, where it is to differ from the seed. */
static const json_t *wanted_of(const json_t *vector)
{
    const json_t *required = json_object_get(vector, "required");

    return required ? required : json_object_get(vector, "seed");
}

static bool is_text(struct edit_span span, const char *text)
{
    return edit_same(span, span_of(text));
}

static void check_parse(const json_t *vector)
{
    const json_t *wanted = wanted_of(vector);
    CLEANUP(search_blocks_clear) struct search_blocks blocks = {.count = 0};

    assert_int_equal(
        search_blocks_parse(span_of(json_get_string(vector, "text", "")), &blocks, NULL),
        ERR_OK);
    assert_int_equal(blocks.count, json_array_size(wanted));
    for (size_t i = 0; i < blocks.count; i++) {
        const json_t *block = json_array_get(wanted, i);

        if (!is_text(blocks.list[i].search, json_get_string(block, "search", "")) ||
            !is_text(blocks.list[i].replace, json_get_string(block, "replace", "")))
            fail_msg("%s: block %zu", json_get_string(vector, "id", ""), i);
    }
}

TEST(blocks_are_read_as_the_vectors_say)
{
    json_auto_t *list = vectors("search_replace_parse");
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(list), 7);
    json_array_foreach (list, i, vector)
        check_parse(vector);
}

/* The blocks of a vector, as a model writes them. The caller frees. */
static char *written(const json_t *blocks)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *block;

    json_array_foreach (blocks, i, block) {
        const char *replace = json_get_string(block, "replace", "");

        buf_addf(&text, "<<<<<<< SEARCH\n%s\n=======\n%s%s>>>>>>> REPLACE\n",
                 json_get_string(block, "search", ""), replace, *replace ? "\n" : "");
    }
    return buf_take(&text);
}

static void check_failure(const char *id, const char *sentence,
                          const struct search_failure *failure)
{
    static const struct {
        const char *id, *text;
    } wanted[] = {
        {"a3", "Block #1 does not match: these lines are not in the file."},
        {"a4", "Block #1 does not match: 2 places are possible (line 1, line 3). Add lines "
               "around it, or narrow the search with withinRange."},
        {"a6", "Block #1 does not match: these lines are not in the file."},
        {"a7", "Blocks overlap: lines 1-2 and lines 2-3."},
    };
    AUTO_FREE char *text = search_failure_text(failure);

    if (!sentence)
        fail_msg("%s: %s", id, text);
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        if (strcmp(wanted[i].id, id) == 0) {
            assert_string_equal(text, wanted[i].text);
            return;
        }
    }
    fail_msg("%s: %s", id, text);
}

static void check_changes(const char *id, const json_t *changes,
                          const struct search_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        const struct search_block *block = &blocks->list[i];
        const json_t *change = json_array_get(changes, blocks->count - 1 - i);

        if (json_get_int(change, "startLine", 0) != (json_int_t)block->first + 1 ||
            json_get_int(change, "removed", 0) != (json_int_t)block->lines ||
            block->exact != (strcmp(json_get_string(change, "matchType", ""), "exact") == 0))
            fail_msg("%s: change %zu", id, i);
    }
}

static void check_apply(const json_t *vector)
{
    const char *id = json_get_string(vector, "id", "");
    const json_t *wanted = wanted_of(vector);
    const json_t *range = json_object_get(json_object_get(vector, "options"), "withinRange");
    AUTO_FREE char *text = written(json_object_get(vector, "blocks"));
    AUTO_FREE char *made = NULL;
    CLEANUP(search_blocks_clear) struct search_blocks blocks = {.count = 0};
    struct search_failure failure;
    size_t length = 0;

    assert_int_equal(search_blocks_parse(span_of(text), &blocks, NULL), ERR_OK);
    if (!search_blocks_apply(&blocks, span_of(json_get_string(vector, "content", "")),
                             (size_t)json_get_int(range, "startLine", 0),
                             (size_t)json_get_int(range, "endLine", 0), &made, &length,
                             &failure)) {
        check_failure(id, json_get_string(wanted, "error", NULL), &failure);
        return;
    }
    if (strcmp(made, json_get_string(wanted, "content", "")) != 0)
        fail_msg("%s: '%s'", id, made);
    assert_int_equal(length, strlen(made));
    check_changes(id, json_object_get(json_object_get(vector, "seed"), "changes"), &blocks);
}

TEST(blocks_are_applied_as_the_vectors_say)
{
    json_auto_t *list = vectors("search_replace_apply");
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(list), 10);
    json_array_foreach (list, i, vector)
        check_apply(vector);
}

static void expect_applied(const char *text, const char *block, const char *expected)
{
    CLEANUP(search_blocks_clear) struct search_blocks blocks = {.count = 0};
    AUTO_FREE char *made = NULL;
    struct search_failure failure;
    size_t length;

    assert_int_equal(search_blocks_parse(span_of(block), &blocks, NULL), ERR_OK);
    assert_true(search_blocks_apply(&blocks, span_of(text), 0, 0, &made, &length, &failure));
    assert_string_equal(made, expected);
}

TEST(line_ends_are_those_of_the_text)
{
    expect_applied("a\r\nb\r\n", "<<<<<<<\nb\n=======\nc\nd\n>>>>>>>", "a\r\nc\r\nd\r\n");
    expect_applied("a\nb", "<<<<<<<\nb\n=======\nc\n>>>>>>>", "a\nc");
    expect_applied("a\nb", "<<<<<<<\nb\n=======\n>>>>>>>", "a");
    expect_applied("b", "<<<<<<<\nb\n=======\n>>>>>>>", "");
    /* A text with line ends of both kinds. */
    expect_applied("a\r\nx\nc", "<<<<<<<\nc\n=======\n>>>>>>>", "a\r\nx");
    expect_applied("\na\r\nb", "<<<<<<<\na\nb\n=======\n>>>>>>>", "");
}

static enum search_failure_kind why_not(const char *text, const char *block)
{
    CLEANUP(search_blocks_clear) struct search_blocks blocks = {.count = 0};
    AUTO_FREE char *made = NULL;
    struct search_failure failure = {.block = 0};
    size_t length;

    assert_int_equal(search_blocks_parse(span_of(block), &blocks, NULL), ERR_OK);
    assert_false(search_blocks_apply(&blocks, span_of(text), 0, 0, &made, &length, &failure));
    return failure.kind;
}

TEST(nothing_is_no_place_and_a_search_has_an_end)
{
    AUTO_BUF text = {0}, block = {0};

    assert_int_equal(why_not("a\n\nb\n", "<<<<<<<\n=======\nc\n>>>>>>>"), SEARCH_NO_PLACE);
    buf_add_text(&block, "<<<<<<<\n");
    for (int i = 0; i < 20000; i++) {
        buf_add_text(&text, "x\n");
        if (i % 2)
            buf_add_text(&block, "x\n");
    }
    buf_add_text(&block, "y\n=======\nc\n>>>>>>>");
    assert_int_equal(why_not(text.data, block.data), SEARCH_TOO_MUCH);
}

TEST(what_is_no_block_is_skipped_and_too_many_are_refused)
{
    CLEANUP(search_blocks_clear) struct search_blocks blocks = {.count = 0};
    AUTO_BUF text = {0};

    assert_int_equal(
        search_blocks_parse(span_of("<<<<<<<\na\n>>>>>>>\n<<<<<<<\nb\n======="), &blocks, NULL),
        ERR_OK);
    assert_int_equal(blocks.count, 0);
    for (size_t i = 0; i <= SEARCH_BLOCKS_LIMIT; i++)
        buf_add_text(&text, "<<<<<<<\na\n=======\nb\n>>>>>>>\n");
    assert_int_equal(search_blocks_parse(span_of(text.data), &blocks, NULL), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_read_as_the_vectors_say),
        cmocka_unit_test(blocks_are_applied_as_the_vectors_say),
        cmocka_unit_test(line_ends_are_those_of_the_text),
        cmocka_unit_test(nothing_is_no_place_and_a_search_has_an_end),
        cmocka_unit_test(what_is_no_block_is_skipped_and_too_many_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
