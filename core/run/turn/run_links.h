#ifndef RUNNEL_CORE_RUN_TURN_RUN_LINKS_H
#define RUNNEL_CORE_RUN_TURN_RUN_LINKS_H

/*
 * run_links.h -- the pages of the web that a run has found, and links to them. On the run's loop.
 *
 * The model cites a page by a link of Markdown (core/run/citation/link.h). In a response each link to a page that a
 * call has brought, of this run or of its history, gets an annotation of the type url_citation behind the last delta
 * of its part. It covers the link with the parentheses right around it. Other links get none: a model invents URLs. The
 * text itself stays as it is. In a thread there are no such annotations.
 */

struct run;
struct run_links;

/* Of one part; more links are not looked at. */
#define LINKS_LIMIT 1000
/* Pages that can be cited; of more, those of the newest calls. */
#define LINK_PAGES_LIMIT 5000

/* The open part is about to end: text gets its annotations. */
void run_cite_links(struct run *run);

void run_links_free(struct run_links *links); /* NULL is fine */

#endif
