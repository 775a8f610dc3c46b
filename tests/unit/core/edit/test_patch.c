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

