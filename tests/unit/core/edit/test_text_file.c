#include <string.h>

#include "core/base/json.h"
#include "core/edit/text_file.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

static enum err_code code_of(const char *word)
{
    return strcmp(word, "file_not_found") == 0 ? ERR_NOT_FOUND : ERR_INVALID;
}

static void expect_counts(const json_t *vector, const char *before, const char *after)
{
    const json_t *wanted = json_object_get(vector, "expect");
    struct diff_counts counts =
        diff_texts(span_of(before ? before : ""), span_of(after), "f", NULL);

    assert_int_equal(counts.additions,
                     json_get_int(wanted, "additions", (json_int_t)counts.additions));
    assert_int_equal(counts.deletions,
                     json_get_int(wanted, "deletions", (json_int_t)counts.deletions));
}

static void run_vector(const json_t *vector)
{
    const char *id = json_get_string(vector, "id", "");
    const char *file = json_get_string(vector, "file", NULL);
    const json_t *args = json_object_get(vector, "args"),
                 *wanted = json_object_get(vector, "expect");
    const char *text = json_get_string(wanted, "file", NULL);
    struct edit_order order = {.old_text = span_of(json_get_string(args, "old_string", "")),
                               .new_text = span_of(json_get_string(args, "new_string", "")),
                               .all = json_get_bool(args, "replace_all", false)};
    CLEANUP(text_change_clear) struct text_change change = {.length = 0};
    enum err_code rc;

    if (json_object_get(vector, "file_hex"))
        file = "// caf\xE9\na\n"; /* the bytes in hex */
    rc = text_file_edit(span_of(file), &order, &change, NULL);
    if (rc != (text ? ERR_OK : code_of(json_get_string(wanted, "error", ""))))
        fail_msg("%s: %d", id, rc);
    if (!text)
        return;
    assert_string_equal(change.bytes, text);
    assert_int_equal(change.replacements, json_get_int(wanted, "replacements", 1));
    assert_string_equal(
        json_get_string(wanted, "strategy", change.strategy ? change.strategy : ""),
        change.strategy ? change.strategy : "");
    expect_counts(vector, file, change.bytes);
}

/* F90. Directories, arguments and concurrent edits are the business of the tools. */
TEST(files_are_edited_as_the_vectors_say)
{
    json_auto_t *all = json_load_file(VECTORS "/replacer_vectors.json", 0, NULL);
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(json_object_get(all, "tool_vectors")), 15);
    json_array_foreach (json_object_get(all, "tool_vectors"), i, vector) {
        const char *id = json_get_string(vector, "id", "");

        if (strcmp(id, "t-04") != 0 && strcmp(id, "t-14") != 0 && strcmp(id, "t-15") != 0)
            run_vector(vector);
    }
}

static void expect_append(const char *file, const char *text, const char *wanted)
{
    CLEANUP(text_change_clear) struct text_change change = {.length = 0};

    assert_int_equal(text_file_append(span_of(file), span_of(text), &change, NULL), ERR_OK);
    assert_string_equal(change.bytes, wanted);
}

TEST(text_is_added_in_a_line_of_its_own)
{
    expect_append("a\n", "b\n", "a\nb\n");
    expect_append("a", "b", "a\nb");
    expect_append("", "b", "b");
    expect_append("a\r\nb", "c\nd\n", "a\r\nb\r\nc\r\nd\r\n");
}

TEST(bytes_that_are_no_text_are_refused)
{
    assert_true(text_file_is_binary((struct edit_span){"PK\3\4\0\0", 6}));
    assert_true(text_file_is_binary(span_of("\1\2abcdefg")));
    assert_false(text_file_is_binary(span_of("\x1B[0m and some more text")));
    assert_false(text_file_is_binary(span_of("")));
    assert_int_equal(text_file_check((struct edit_span){"a\0b", 3}, NULL), ERR_INVALID);
    assert_int_equal(text_file_check(span_of("a\xFF"), NULL), ERR_INVALID);
    assert_int_equal(text_file_check(span_of("a\xC3\xA4"), NULL), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_edited_as_the_vectors_say),
        cmocka_unit_test(text_is_added_in_a_line_of_its_own),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
