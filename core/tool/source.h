#ifndef RUNNEL_CORE_TOOL_SOURCE_H
#define RUNNEL_CORE_TOOL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * source.h -- passages in the result of a tool that the model may cite.
 *
 * The text of such a result has a head line for each passage, and the head begins with the mark by which the
 * passage is cited:
 *
 *   【2:0†source】 manual.pdf, page 12
 *   the text of the passage
 *
 * The first number is the call's among the searches of its context (tool_call_search()), the second the
 * passage, from 0. A passage must not bring marks of its own: source_add_quoted() breaks them.
 *
 * Pure functions: any thread.
 */

/* Bytes of a canonical mark, with room for its NUL. */
#define SOURCE_MARK_SIZE 48

/* The canonical mark of a passage, 【2:0†source】; returns its length. */
size_t source_mark(unsigned search, unsigned passage, char ret_mark[SOURCE_MARK_SIZE]);
void source_add_mark(struct buf *out, unsigned search, unsigned passage);

/* The length of the canonical mark with which the text begins; 0: it begins with none. */
size_t source_mark_length(const char *text);

/* Adds text of a document. An opening bracket that could begin a mark becomes another sign. */
void source_add_quoted(struct buf *out, const char *text);

/* A passage in the text of a result; borrowed from it. */
struct source_passage {
    bool shown;       /* the text has its head */
    const char *text; /* behind the head line */
    size_t length;
};

/* Finds the first `count` passages of a search. A passage whose head is missing, because the text was cut, is
 * not shown. The time is linear in the text. */
void source_passages(const char *text, unsigned search, struct source_passage *ret_passages,
                     size_t count);

#endif
