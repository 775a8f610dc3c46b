#ifndef RUNNEL_CORE_DOCUMENT_PAGE_PAGE_TASK_H
#define RUNNEL_CORE_DOCUMENT_PAGE_PAGE_TASK_H

#include <jansson.h>
#include <stddef.h>

/*
 * page_task.h -- what a compute child does with a page.
 *
 * Descriptor 0 has a line of JSON, the want, and behind it the bytes of the page. Descriptor 1 gets a JSON object: what
 * page.h promises, or {"problem": a sentence}. The sides are page.c and page_task.c.
 */

int task_page(void);

/* The same, without descriptors. A new reference. */
json_t *page_make(const json_t *want, const char *bytes, size_t length);

#endif
