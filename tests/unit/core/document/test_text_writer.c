/* The form of a document's text. */

#include "core/document/text_writer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

static void add(struct text_writer *writer, const char *text)
{
    text_writer_add(writer, text, strlen(text));
}

static void assert_written(const struct text_writer *writer, const char *text)
{
    assert_string_equal(writer->text->data ? writer->text->data : "", text);
}

/* Each letter is a cell with that text, "." an empty one. */
static void write_row(struct text_writer *writer, const char *cells)
{
    text_writer_row(writer);
    for (; *cells; cells++) {
        text_writer_cells(writer, 1);
        if (*cells != '.')
            text_writer_add(writer, cells, 1);
    }
}

TEST(blocks_that_are_empty_leave_no_trace)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    text_writer_break(&writer, 2);
    add(&writer, " one\t two ");
    text_writer_break(&writer, 1);
    add(&writer, " \n");
    text_writer_break(&writer, 2);
    add(&writer, "three");
    text_writer_break(&writer, 2);
    assert_written(&writer, "one two\n\nthree");
}

TEST(headings_have_six_levels_and_items_eight)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    for (unsigned level = 0; level < 9; level += 4) {
        text_writer_heading(&writer, level);
        add(&writer, "head");
        text_writer_item(&writer, level);
        add(&writer, "item");
    }
    text_writer_item(&writer, 4000000000U);
    add(&writer, "deep");
    assert_written(&writer, "# head\n- item\n\n#### head\n      - item\n\n###### head\n"
                            "              - item\n              - deep");
}

TEST(a_table_has_a_header_and_an_empty_line_around_it)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    add(&writer, "before");
    text_writer_table(&writer);
    write_row(&writer, "...");
    write_row(&writer, "a|c..");
    write_row(&writer, "");
    write_row(&writer, "..x.");
    text_writer_table_end(&writer);
    add(&writer, "after");
    assert_written(&writer,
                   "before\n\n| a | \\| | c |\n| --- | --- | --- |\n|  |  | x |\n\nafter");
}

TEST(blocks_of_a_cell_are_words_of_it)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    text_writer_table(&writer);
    write_row(&writer, "a");
    text_writer_break(&writer, 2);
    text_writer_heading(&writer, 1);
    add(&writer, "b\nc");
    writer.exact++;
    add(&writer, "\nd");
    text_writer_table(&writer);
    write_row(&writer, "ef");
    text_writer_table_end(&writer);
    text_writer_cells(&writer, 1);
    add(&writer, "g");
    text_writer_table_end(&writer);
    assert_written(&writer, "| a b c d e f | g |\n| --- | --- |");
}

TEST(a_table_without_text_is_nothing)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    text_writer_table(&writer);
    write_row(&writer, "...");
    text_writer_table_end(&writer);
    add(&writer, "x");
    assert_written(&writer, "x");
}

TEST(a_page_ends_with_a_form_feed_that_no_text_can_write)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    add(&writer, "a\fb");
    writer.exact++;
    add(&writer, "\fc\n");
    text_writer_page_end(&writer);
    text_writer_page_end(&writer);
    text_writer_break(&writer, 2);
    add(&writer, "d");
    assert_written(&writer, "a b c\n\n\f\fd");
}

TEST(a_full_writer_takes_no_more)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    text_writer_table(&writer);
    text_writer_row(&writer);
    text_writer_cells(&writer, (size_t)1 << 40);
    add(&writer, "far");
    assert_true(text_writer_is_full(&writer));
    text_writer_table_end(&writer);
    assert_true(text.length < TEXT_WRITER_MAX * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_are_empty_leave_no_trace),
        cmocka_unit_test(headings_have_six_levels_and_items_eight),
        cmocka_unit_test(a_table_has_a_header_and_an_empty_line_around_it),
        cmocka_unit_test(blocks_of_a_cell_are_words_of_it),
        cmocka_unit_test(a_table_without_text_is_nothing),
        cmocka_unit_test(a_page_ends_with_a_form_feed_that_no_text_can_write),
        cmocka_unit_test(a_full_writer_takes_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
