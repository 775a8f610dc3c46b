/* Values between commas as a table. */

#include "core/document/csv.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

#define HEAD "| a | b |\n| --- | --- |"

static const struct {
    const char *bytes, *text;
} rows[] = {
    {"a,b\n1,2\n3,4", HEAD "\n| 1 | 2 |\n| 3 | 4 |"},
    {"a;b\n1,5;2\n", HEAD "\n| 1,5 | 2 |"},
    {"a\tb\n1;2;3\t2\n", HEAD "\n| 1;2;3 | 2 |"},
    {"a|b\n1|2", HEAD "\n| 1 | 2 |"},
    {"a,b\n\"1,\"\"x\"\"\ny\",2\n", HEAD "\n| 1,\"x\" y | 2 |"},
    {"\"a;;;;\",b\n1,2\n", "| a;;;; | b |\n| --- | --- |\n| 1 | 2 |"},
    {"a,b\n\"\",2\n,\n\n1\n1,2,3\n", HEAD "\n|  | 2 |\n| 1 |\n| 1 | 2 | 3 |"},
    {"a,b\n\"1\"x,2\"y\"\n", HEAD "\n| 1x | 2\"y\" |"},
    {"a,b\n1,\"open\n2,3", HEAD "\n| 1 | open 2,3 |"},
    {"a,b\n1,\"", HEAD "\n| 1 |"},
    {"a,b\n1,\"\"\"", HEAD "\n| 1 | \" |"},
    {"\n\n", ""},
    {"", ""},
};

TEST(rows_become_a_table)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF text = {0};
        struct text_writer writer = {.text = &text};

        assert_true(csv_write(&writer, rows[i].bytes, strlen(rows[i].bytes)));
        if (strcmp(text.data ? text.data : "", rows[i].text) != 0)
            fail_msg("row %zu: '%s'", i, text.data);
    }
}

TEST(a_row_without_an_end_is_refused)
{
    AUTO_BUF bytes = {0}, text = {0};
    struct text_writer writer = {.text = &text};

    buf_add_text(&bytes, "a,b\n\"");
    memset(buf_reserve(&bytes, CSV_ROW_MAX), 'x', CSV_ROW_MAX);
    buf_added(&bytes, CSV_ROW_MAX);
    assert_false(csv_write(&writer, bytes.data, bytes.length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_a_table),
        cmocka_unit_test(a_row_without_an_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
