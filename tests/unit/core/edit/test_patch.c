/* Diffs without line numbers: where their sections are found, what the file becomes, and why nothing is changed. */

#include "core/edit/patch.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

/* `wanted` is the file as it becomes, or the error. */
struct vector {
    const char *name, *file, *diff, *wanted;
    enum err_code rc;
};

static void check(const struct vector *vector)
{
    CLEANUP(text_change_clear) struct text_change change = {.length = 0};
    struct err err = {0};
    enum err_code rc =
        vector->file ? patch_update(span_of(vector->file), span_of(vector->diff), &change, &err)
                     : patch_create(span_of(vector->diff), &change, &err);
    const char *got = rc ? err.text : change.bytes;

    if (rc != vector->rc || strcmp(got, vector->wanted) != 0)
        fail_msg("%s: code %d, \"%s\"", vector->name, rc, got);
    if (!rc)
        assert_int_equal(change.length, strlen(change.bytes));
}

static void check_all(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&vectors[i]);
}

TEST(a_section_changes_the_place_that_its_context_names)
{
    static const struct vector vectors[] = {
        {"one line", "a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n", ERR_OK},
        {"no header", "a\nb\nc\n", " a\n-b\n+B\n", "a\nB\nc\n", ERR_OK},
        {"only removed lines", "a\nb\nc\n", "@@\n-b\n", "a\nc\n", ERR_OK},
        {"only the first line", "a\nb\n", "@@\n-a\n+A\n+A2\n", "A\nA2\nb\n", ERR_OK},
        {"all lines", "a\nb\n", "@@\n-a\n-b\n", "", ERR_OK},
        {"in an empty file", "", "@@\n+a\n", "a\n", ERR_OK},
        {"an empty line is context", "a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n", ERR_OK},
        {"empty lines at the end of a section are none", "a\nb\n",
         "@@\n-a\n+A\n\n\n@@\n-b\n+B\n\n", "A\nB\n", ERR_OK},
        {"a line that begins with a sign", "-a\n+b\n", "@@\n--a\n++a\n +b\n", "+a\n+b\n",
         ERR_OK},
        {"characters beyond ASCII", "é\nü\n", "@@\n é\n-ü\n+ö\n", "é\nö\n", ERR_OK},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(sections_follow_each_other)
{
    static const struct vector vectors[] = {
        {"two", "a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D\n", "A\nb\nc\nD\n", ERR_OK},
        {"the same lines, one after another", "x\ny\nx\n", "@@\n-x\n+1\n y\n@@\n-x\n+2\n",
         "1\ny\n2\n", ERR_OK},
        {"side by side", "a\nb\n", "@@\n-a\n+A\n@@\n-b\n+B\n", "A\nB\n", ERR_OK},
        {"in the wrong order", "a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n", "Invalid Context 2:\na",
         ERR_NOT_FOUND},
        {"the second does not fit, so the first is undone", "a\nb\n",
         "@@\n-a\n+A\n@@\n-x\n+X\n", "Invalid Context 1:\nx", ERR_NOT_FOUND},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(a_line_behind_the_header_is_found_first)
{
    static const char classes[] = "class A:\n  x = 1\nclass B:\n  x = 1\n";
    static const struct vector vectors[] = {
        {"it decides", classes, "@@ class B:\n-  x = 1\n+  x = 2\n",
         "class A:\n  x = 1\nclass B:\n  x = 2\n", ERR_OK},
        {"without it there are two", classes, "@@\n-  x = 1\n+  x = 2\n",
         "Ambiguous Context 0, lines 2 and 4:\n  x = 1", ERR_CONFLICT},
        {"two headers", "a\nf\n1\nb\nf\n1\n", "@@ b\n@@ f\n-1\n+2\n", "a\nf\n1\nb\nf\n2\n",
         ERR_OK},
        {"it is context, too", "a\nb\n", "@@ a\n a\n-b\n+B\n", "a\nB\n", ERR_OK},
        {"its white space does not count", "  def f():\n1\n", "@@ def f():\n-1\n+2\n",
         "  def f():\n2\n", ERR_OK},
        {"two sections name it", "f\n1\n2\n", "@@ f\n-1\n+x\n@@ f\n-2\n+y\n", "f\nx\ny\n",
         ERR_OK},
        {"lines behind it", "a\nb\n", "@@ a\n+x\n", "a\nx\nb\n", ERR_OK},
        {"it is missing", "a\n", "@@ nothing\n-a\n", "Invalid Context 0:\nnothing",
         ERR_NOT_FOUND},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(white_space_counts_only_where_it_decides)
{
    static const struct vector vectors[] = {
        {"at the end of a line", "a  \nb\n", "@@\n a\n-b\n+c\n", "a  \nc\n", ERR_OK},
        {"at its beginning", "\ta\n\tb\n", "@@\n a\n-b\n+\tc\n", "\ta\n\tc\n", ERR_OK},
        {"exact before all", "a \na\n", "@@\n-a\n+b\n", "a \nb\n", ERR_OK},
        {"the end before both ends", " a\na \n", "@@\n-a\n+b\n", " a\nb\n", ERR_OK},
        {"a line of blanks is an empty one", "a\n  \nb\n", "@@\n a\n \n-b\n+c\n", "a\n  \nc\n",
         ERR_OK},
        {"within a line it counts", "a  b\n", "@@\n-a b\n+c\n", "Invalid Context 0:\na b",
         ERR_NOT_FOUND},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(an_end_of_file_is_the_end_of_the_file)
{
    static const struct vector vectors[] = {
        {"the last of two places", "x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n",
         ERR_OK},
        {"not the last lines", "x\ny\n", "@@\n-x\n+z\n*** End of File\n",
         "Invalid EOF Context 0:\nx", ERR_NOT_FOUND},
        {"added at the end", "a\n", "@@\n+b\n*** End of File\n", "a\nb\n", ERR_OK},
        {"sections before it", "a\nb\nb\n", "@@\n-a\n+A\n@@\n-b\n+B\n*** End of File\n\n",
         "A\nb\nB\n", ERR_OK},
        {"more lines than the file", "a\n", "@@\n a\n-b\n*** End of File\n",
         "Invalid EOF Context 0:\na\nb", ERR_NOT_FOUND},
        {"a line behind it", "a\n", "@@\n-a\n*** End of File\n+b\n", "Invalid Line:\n+b",
         ERR_INVALID},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(the_end_of_the_last_line_stays)
{
    static const struct vector vectors[] = {
        {"none", "a\nb", "@@\n-b\n+B\n", "a\nB", ERR_OK},
        {"none, and lines are added", "a\nb", "@@\n b\n+c\n", "a\nb\nc", ERR_OK},
        {"none, and the last line goes", "a\nb", "@@\n-b\n", "a", ERR_OK},
        {"none, and all lines go", "a", "@@\n-a\n", "", ERR_OK},
        {"a line end", "a\nb\n", "@@\n b\n+c", "a\nb\nc\n", ERR_OK},
        {"its mark is skipped", "a\nb",
         "@@\n-b\n\\ No newline at end of file\n+c\n"
         "\\ No newline at end of file\n",
         "a\nc", ERR_OK},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(line_ends_are_those_of_the_file)
{
    static const struct vector vectors[] = {
        {"CRLF", "a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+B2\n c\n", "a\r\nB\r\nB2\r\nc\r\n",
         ERR_OK},
        {"CRLF in the diff", "a\nb\n", "@@\r\n a\r\n-b\r\n+B\r\n", "a\nB\n", ERR_OK},
        {"CRLF, none at the end", "a\r\nb", "@@\n b\n+c\n", "a\r\nb\r\nc", ERR_OK},
        {"other lines keep theirs", "a\nb\r\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\r\nc\n",
         ERR_OK},
        {"a byte order mark",
         "\xEF\xBB\xBF"
         "a\nb\n",
         "@@\n-a\n+A\n",
         "\xEF\xBB\xBF"
         "A\nb\n",
         ERR_OK},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(what_is_no_diff_is_refused)
{
    static const struct vector vectors[] = {
        {"another sign", "a\n", "@@\n-a\n*b\n", "Invalid Line:\n*b", ERR_INVALID},
        {"an envelope", "a\n", "*** Begin Patch\n", "Invalid Line:\n*** Begin Patch",
         ERR_INVALID},
        {"nothing", "a\n", "", "The diff changes nothing.", ERR_INVALID},
        {"only context", "a\n", "@@\n a\n", "The diff changes nothing.", ERR_INVALID},
        {"only a header", "a\n", "@@ a\n", "The diff changes nothing.", ERR_INVALID},
        {"lines that could be anywhere", "a\n", "@@\n+b\n",
         "Missing Context 0:\nThe section only adds lines. Name the line before them behind "
         "'@@', "
         "or end it with '*** End of File'.",
         ERR_INVALID},
        {"three places", "a\na\na\n", "@@\n-a\n",
         "Ambiguous Context 0, lines 1 and 2 and others:\na", ERR_CONFLICT},
        {"no text", "a\xFF\n", "@@\n-a\n",
         "The file is not UTF-8. Its bytes would not survive an edit.", ERR_INVALID},
    };

    check_all(vectors, COUNT_OF(vectors));
}

TEST(a_new_file_has_the_lines_with_a_plus)
{
    static const struct vector vectors[] = {
        {"lines", NULL, "+a\n+\n+ b\n", "a\n\n b\n", ERR_OK},
        {"no line end in the diff", NULL, "+a", "a\n", ERR_OK},
        {"none", NULL, "", "", ERR_OK},
        {"an empty one", NULL, "+", "\n", ERR_OK},
        {"CRLF", NULL, "+a\r\n+b\r\n", "a\nb\n", ERR_OK},
        {"no line end", NULL, "+a\n+b\n\\ No newline at end of file\n", "a\nb", ERR_OK},
        {"another line", NULL, "+a\nb\n", "Invalid Line:\nb", ERR_INVALID},
        {"an empty line", NULL, "+a\n\n+b\n", "Invalid Line:\n", ERR_INVALID},
        {"a header", NULL, "@@\n+a\n", "Invalid Line:\n@@", ERR_INVALID},
        {"the mark within", NULL, "+a\n\\ No newline at end of file\n+b\n",
         "Invalid Line:\n\\ No newline at end of file", ERR_INVALID},
    };

    check_all(vectors, COUNT_OF(vectors));
}

/* The text `unit`, `count` times. The caller frees. */
static char *many(const char *unit, size_t count)
{
    struct buf buf = {0};

    for (size_t i = 0; i < count; i++)
        buf_add_text(&buf, unit);
    return buf_take(&buf);
}

TEST(the_lines_of_an_error_are_cut_at_a_character)
{
    AUTO_FREE char *line = many("é", PATCH_ERROR_LINES);
    AUTO_FREE char *diff = mem_printf("@@\n-x%s\n", line);
    struct text_change change;
    struct err err;

    assert_int_equal(patch_update(span_of("a\n"), span_of(diff), &change, &err), ERR_NOT_FOUND);
    assert_int_equal(strlen(err.text),
                     strlen("Invalid Context 0:\n...") + PATCH_ERROR_LINES - 1);
}

static void expect_too_much(const char *file, const char *diff)
{
    struct text_change change;

    assert_int_equal(patch_update(span_of(file), span_of(diff), &change, NULL), ERR_LIMIT);
}

TEST(a_search_that_takes_too_long_is_given_up)
{
    AUTO_FREE char *file = many("a\n", 100000);
    AUTO_FREE char *context = many(" a\n", 1000);
    AUTO_FREE char *nearly = mem_printf("@@\n%s-b\n", context);
    AUTO_FREE char *blanks = many(" ", 3000);
    AUTO_FREE char *wide_line = mem_printf("%sa\n", blanks);
    AUTO_FREE char *wide = many(wide_line, 3000);
    AUTO_FREE char *far = mem_printf("%sb\n", file);
    AUTO_FREE char *headers = many("@@ b\n", 1000);

    expect_too_much(file, nearly);
    expect_too_much(wide, nearly);
    expect_too_much(far, headers);
}

TEST(a_large_file_is_changed_in_many_places)
{
    struct buf file = {0}, diff = {0}, wanted = {0};
    CLEANUP(text_change_clear) struct text_change change = {.length = 0};

    for (int i = 0; i < 20000; i++) {
        buf_addf(&file, "line %d\n", i);
        buf_addf(&wanted, i % 40 ? "line %d\n" : "LINE %d\n", i);
        if (i % 40 == 0)
            buf_addf(&diff, "@@\n-line %d\n+LINE %d\n", i, i);
    }
    assert_int_equal(patch_update((struct edit_span){file.data, file.length},
                                  (struct edit_span){diff.data, diff.length}, &change, NULL),
                     ERR_OK);
    assert_int_equal(change.length, wanted.length);
    assert_memory_equal(change.bytes, wanted.data, wanted.length);
    buf_clear(&file);
    buf_clear(&diff);
    buf_clear(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_changes_the_place_that_its_context_names),
        cmocka_unit_test(sections_follow_each_other),
        cmocka_unit_test(a_line_behind_the_header_is_found_first),
        cmocka_unit_test(white_space_counts_only_where_it_decides),
        cmocka_unit_test(an_end_of_file_is_the_end_of_the_file),
        cmocka_unit_test(the_end_of_the_last_line_stays),
        cmocka_unit_test(line_ends_are_those_of_the_file),
        cmocka_unit_test(what_is_no_diff_is_refused),
        cmocka_unit_test(a_new_file_has_the_lines_with_a_plus),
        cmocka_unit_test(the_lines_of_an_error_are_cut_at_a_character),
        cmocka_unit_test(a_search_that_takes_too_long_is_given_up),
        cmocka_unit_test(a_large_file_is_changed_in_many_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
