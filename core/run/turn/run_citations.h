#ifndef RUNNEL_CORE_RUN_TURN_RUN_CITATIONS_H
#define RUNNEL_CORE_RUN_TURN_RUN_CITATIONS_H

#include <jansson.h>
#include <stddef.h>

/*
 * run_citations.h -- what the model may cite, and what becomes of the marks in its text. On the run's loop.
 *
 * A tool with TOOL_CITED brings sources with its result, and the model cites them by the marks of citation.h. A
 * mark counts if its passage was shown to the model in this context: by a call of this run, or by one of the
 * history. In a response the mark disappears, and an annotation takes its place. In a message of a thread it
 * stays, in its canonical form, with an annotation. What names nothing is removed from a response, and is text
 * in a message: there it belongs to the client.
 *
 * Models that never write marks are cited by the words that they share with a passage (overlap.h), unless the
 * request wants otherwise: run_settings.h has the ways.
 *
 * A run that has neither such a tool nor such a history has no citations: `run->citations` is NULL, and its text
 * takes the way that it always takes.
 */

struct run;
struct run_citations;

/* Searches among the items that a client has sent, and that this server or another has executed: those with results
 * become calls with an output, which the model reads as it did the first time. When the run is made, before its
 * input is stored. */
void run_retell_searches(struct run *run);

/* Before a turn: makes run->citations if the run may need it. */
void run_open_citations(struct run *run);
void run_citations_free(struct run_citations *citations);

/* The number of the next call whose results may be cited. */
unsigned run_next_search(struct run *run);

/* How many tokens of passages one search may show the model of this run. */
size_t run_passage_tokens(const struct run *run);

/* The call with this number has ended, and the model is shown `text`. `sources` is the list that the tool has
 * brought (tool.h). Both are copied. */
void run_add_sources(struct run *run, unsigned search, const json_t *sources, const char *text);

/* Text of the model for the open part, which is text. Only if run->citations is set. */
void run_add_cited_text(struct run *run, const char *text, size_t length);

/* The open part ends: what was held goes out. Nothing happens if no text was held. */
void run_end_cited_text(struct run *run);

#endif
