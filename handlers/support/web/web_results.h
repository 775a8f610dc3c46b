#ifndef RUNNEL_HANDLERS_SUPPORT_WEB_WEB_RESULTS_H
#define RUNNEL_HANDLERS_SUPPORT_WEB_WEB_RESULTS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * web_results.h -- what a search in the web has found, in an item and as text for the model. Pure.
 *
 * A result is {"url", "title", "snippet", and if it is known "date"}. The text is made of the results alone: a client
 * that sends them back has the model read the same words again.
 */

#define WEB_TITLE_LIMIT   ((size_t)200)       /* characters */
#define WEB_SNIPPET_LIMIT ((size_t)800)       /* characters, at most */
#define WEB_TEXT_LIMIT    ((size_t)32 * 1024) /* bytes of all results together */

/* The first results of those that tool_call_search_web() has found: titles and passages cut, and no more than
 * WEB_TEXT_LIMIT. `snippet` is in characters. New reference. */
json_t *web_results(const json_t *found, size_t snippet);

/* What the model reads: results with their numbers, of which `before` are not shown. `citing` is a sentence about how
 * they are cited, or "". The caller frees. */
char *web_results_text(const json_t *results, size_t before, const char *citing);

/* What a model may know of a search that failed. The log has the rest, which names the operator's services. */
const char *web_failure(enum err_code rc);

#endif
