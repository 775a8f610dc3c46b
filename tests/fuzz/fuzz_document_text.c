/*
 * The text of any bytes is valid UTF-8 without control characters; and a table is a table: each of its lines
 * begins and ends with a bar, and the second one has a rule for each cell of the header.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/document/csv.h"
#include "core/document/html.h"
#include "core/document/office/xml_text.h"
#include "core/document/plain_text.h"
#include "core/document/xhtml.h"

static void check_text(const struct buf *text)
{
    AUTO_BUF again = {0};

    plain_text_add_pages(&again, text->data ? text->data : "", text->length);
    assert(again.length == text->length);
    assert(!text->length || memcmp(again.data, text->data, text->length) == 0);
    assert(!text->length || !memchr(text->data, '\f', text->length));
}

/* Bars of a line that divide cells. */
static size_t count_bars(const char *line, size_t length)
{
    size_t bars = 0;

    for (size_t i = 0; i < length; i++) {
        bars += line[i] == '|' && (i + 1 == length || line[i + 1] == ' ') &&
                (i == 0 || line[i - 1] == ' ');
    }
    return bars;
}

static void check_table(const struct buf *text)
{
    const char *line = text->data ? text->data : "";
    size_t bars[2] = {0, 0};

    for (size_t row = 0; *line; row++) {
        size_t length = strcspn(line, "\n");

        assert(length >= 4 && memcmp(line, "| ", 2) == 0 &&
               memcmp(line + length - 2, " |", 2) == 0);
        if (row < 2)
            bars[row] = count_bars(line, length);
        line += length + (line[length] == '\n');
    }
    assert(bars[0] == bars[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    AUTO_BUF decoded = {0}, html = {0}, page = {0}, table = {0}, xml = {0};
    struct text_writer page_writer = {.text = &page}, table_writer = {.text = &table},
                       xml_writer = {.text = &xml};

    plain_text_add(&decoded, bytes, size);
    check_text(&decoded);
    xhtml_to_html(&html, decoded.data ? decoded.data : "", decoded.length);
    html_write(&page_writer, html.data ? html.data : "", html.length);
    check_text(&page);
    if (csv_write(&table_writer, decoded.data ? decoded.data : "", decoded.length)) {
        check_text(&table);
        check_table(&table);
    }
    if (xml_text_write(&xml_writer, bytes, size) == READING_DONE)
        check_text(&xml);
    return 0;
}
