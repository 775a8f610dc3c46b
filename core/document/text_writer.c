/*
 * text_writer.c -- holds back white space, row ends and cells until a letter needs them.
 */

#include "core/document/text_writer.h"

#include <ctype.h>
#include <string.h>

bool text_writer_is_full(const struct text_writer *writer)
{
    return writer->text->length > TEXT_WRITER_MAX;
}

static bool at_page_start(const struct text_writer *writer)
{
    return !writer->text->length || writer->text->data[writer->text->length - 1] == '\f';
}

/* What stands before the first cell of a table is its caption. */
static bool in_cell(const struct text_writer *writer)
{
    return writer->tables && writer->cell;
}

void text_writer_break(struct text_writer *writer, unsigned newlines)
{
    if (in_cell(writer)) {
        writer->blank = true;
        return;
    }
    if (writer->newlines < newlines)
        writer->newlines = newlines;
    writer->blank = false;
}

/* The cells before this one are empty if nothing was written into them. */
static void open_cell(struct text_writer *writer)
{
    if (!writer->written) {
        for (; writer->newlines && !at_page_start(writer); writer->newlines--)
            buf_add_char(writer->text, '\n');
        writer->newlines = 0;
        writer->row_at = writer->text->length;
    }
    for (; writer->written < writer->cell && !text_writer_is_full(writer); writer->written++)
        buf_add_text(writer->text, writer->written ? " | " : "| ");
    writer->blank = false;
}

static void write_due(struct text_writer *writer)
{
    if (in_cell(writer) && writer->cell > writer->written)
        open_cell(writer);
    for (; writer->newlines && !at_page_start(writer); writer->newlines--)
        buf_add_char(writer->text, '\n');
    writer->newlines = 0;
    if (writer->blank && !at_page_start(writer))
        buf_add_char(writer->text, ' ');
    writer->blank = false;
}

void text_writer_mark(struct text_writer *writer, const char *mark)
{
    if (in_cell(writer) || text_writer_is_full(writer))
        return;
    write_due(writer);
    buf_add_text(writer->text, mark);
}

void text_writer_heading(struct text_writer *writer, unsigned level)
{
    static const char marks[] = "###### ";

    text_writer_break(writer, 2);
    text_writer_mark(writer, marks + 6 - (level < 1 ? 1 : level > 6 ? 6 : level));
}

void text_writer_item(struct text_writer *writer, unsigned level)
{
    static const char indent[] = "              - ";
    size_t blanks = level < 2 ? 0 : level > 8 ? 14 : 2 * ((size_t)level - 1);

    text_writer_break(writer, 1);
    text_writer_mark(writer, indent + 14 - blanks);
}

static bool is_space(unsigned char byte)
{
    return byte <= ' ' || byte == 0x7F;
}

void text_writer_add(struct text_writer *writer, const char *text, size_t length)
{
    bool exact = writer->exact && !in_cell(writer);

    if (text_writer_is_full(writer))
        return;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (is_space(byte) && !(exact && strchr(" \n\t", byte) && byte)) {
            writer->blank = writer->newlines == 0;
            continue;
        }
        write_due(writer);
        if (byte == '|' && in_cell(writer))
            buf_add_char(writer->text, '\\');
        buf_add_char(writer->text, text[i]);
    }
}

void text_writer_page_end(struct text_writer *writer)
{
    writer->newlines = 0;
    writer->blank = false;
    buf_add_text(writer->text, at_page_start(writer) ? "\f" : "\n\f");
}

/* ---- Tables ---- */

void text_writer_table(struct text_writer *writer)
{
    text_writer_break(writer, 2);
    if (writer->tables++ == 0)
        writer->rows = writer->cell = writer->written = 0;
}

static void end_row(struct text_writer *writer)
{
    if (writer->written) {
        buf_add_text(writer->text, " |");
        if (!writer->rows++) {
            buf_add_char(writer->text, '\n');
            for (size_t i = 0; i < writer->written && !text_writer_is_full(writer); i++)
                buf_add_text(writer->text, "| --- ");
            buf_add_char(writer->text, '|');
        }
        writer->newlines = 1;
    }
    writer->cell = writer->written = 0;
    writer->blank = false;
}

void text_writer_row(struct text_writer *writer)
{
    if (writer->tables == 1)
        end_row(writer);
    text_writer_break(writer, writer->rows ? 1 : 2);
}

void text_writer_repeat_row(struct text_writer *writer, size_t count)
{
    size_t length;

    if (writer->tables != 1 || !writer->written)
        return;
    length = writer->text->length + strlen(" |") - writer->row_at;
    end_row(writer);
    for (; count > 1 && !text_writer_is_full(writer); count--) {
        buf_reserve(writer->text, length + 1);
        buf_add_char(writer->text, '\n');
        buf_add(writer->text, writer->text->data + writer->row_at, length);
    }
}

void text_writer_cells(struct text_writer *writer, size_t count)
{
    if (writer->tables == 1)
        writer->cell += count;
    else
        writer->blank = true;
}

void text_writer_table_end(struct text_writer *writer)
{
    if (writer->tables == 1)
        end_row(writer);
    writer->tables--;
    text_writer_break(writer, 2);
}
