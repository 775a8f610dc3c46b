#ifndef RUNNEL_HANDLERS_SUPPORT_PASSAGES_H
#define RUNNEL_HANDLERS_SUPPORT_PASSAGES_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * passages.h -- what a search has found, as the model reads it.
 *
 *   3 passages found. Cite a passage by writing its mark right behind the sentence, like 【2:0†source】.
 *   【2:0†source】 manual.pdf, page 12, "Safety > Batteries" (score 0.71)
 *   the text
 *
 * A passage is a result of tool_call_find() (core/tool/tool.h). Pure: any thread.
 */

/* Tokens of passages where no setting says so. They are estimated: four letters, or one sign of CJK. */
#define PASSAGES_TOKENS ((size_t)16000)

/* The results with those of one file joined whose texts overlap: neighbours were cut with an overlap. A joined
 * passage stands where the best of its parts stood, and has that one's score. New reference. */
json_t *passages_join(const json_t *found);

/* The vector stores among ids of tool_call_files(). New reference. */
json_t *passages_stores(const json_t *ids);

/* " manual.pdf, page 12, "Safety > Batteries" (score 0.71)", a line break, and the text. Neither can look like a
 * mark. */
void passages_add(struct buf *out, const json_t *result, const char *text);

/* The text for the model, and the source of each passage (tool_result_set_sources()), a new reference. Passages that
 * do not fit into `tokens` are left out; if not even the first fits, it is cut. Elements that are no objects are
 * left out, too: a client may have sent them. The caller frees. */
char *passages_text(const json_t *results, unsigned search, size_t tokens,
                    json_t **ret_sources);

#endif
