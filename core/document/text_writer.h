#ifndef RUNNEL_CORE_DOCUMENT_TEXT_WRITER_H
#define RUNNEL_CORE_DOCUMENT_TEXT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * text_writer.h -- writes a document's text in the form that document.h promises, as its reader comes along.
 *
 * White space is collapsed, so what is due is known only with the next letter: an empty block leaves no trace, and so
 * do an empty row and empty cells at the end of a row. A zeroed writer with `text` set begins a document. One thread.
 *
 * A table inside of a cell is text of that cell, and so are its blocks.
 */

/* Bytes of text; the writer drops what comes behind them. */
#define TEXT_WRITER_MAX ((size_t)64 << 20)

struct text_writer {
    struct buf *text;

    /* Depths that the reader counts. */
    unsigned exact; /* of blocks whose white space counts */
    unsigned lists;

    /* The rest is the writer's own. */
    unsigned newlines; /* due before the next letter */
    bool blank;        /* due, too */
    unsigned tables;   /* depth */
    size_t rows;       /* of the table, written */
    size_t cell;       /* of the row, from 1; 0: before the first one */
    size_t written;    /* cells of the row */
    size_t row_at;     /* where the row begins in the text */
};

/* More than TEXT_WRITER_MAX was written: the reader may stop. */
bool text_writer_is_full(const struct text_writer *writer);

/* A line (1) or a block (2) ends here. In a cell: a word. */
void text_writer_break(struct text_writer *writer, unsigned newlines);

/* A mark at the beginning of a line, such as "- ", or text that another writer has made. Left out in a cell. */
void text_writer_mark(struct text_writer *writer, const char *mark);

/* A heading begins, level 1 to 6; deeper ones are 6. It ends with a break. */
void text_writer_heading(struct text_writer *writer, unsigned level);

/* An item of a list begins, level 1 and deeper. It ends with a break. */
void text_writer_item(struct text_writer *writer, unsigned level);

/* Text in UTF-8. Control characters are white space. */
void text_writer_add(struct text_writer *writer, const char *text, size_t length);

/* A page ends here, also an empty one. */
void text_writer_page_end(struct text_writer *writer);

/* Between begin and end of a table come rows, and in each its cells. */
void text_writer_table(struct text_writer *writer);
void text_writer_row(struct text_writer *writer);
void text_writer_cells(struct text_writer *writer,
                       size_t count); /* the last of them has what follows */
void text_writer_table_end(struct text_writer *writer);

/* Ends the row, which stands there `count` times. */
void text_writer_repeat_row(struct text_writer *writer, size_t count);

#endif
