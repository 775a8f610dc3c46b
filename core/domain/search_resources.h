#ifndef RUNNEL_CORE_DOMAIN_SEARCH_RESOURCES_H
#define RUNNEL_CORE_DOMAIN_SEARCH_RESOURCES_H

#include <jansson.h>
#include <stdbool.h>

/*
 * search_resources.h -- the vector store that the `tool_resources` of an assistant or a thread name: at most one.
 */

/* Whether these tools, of a run or of an attachment, have file_search. */
bool search_resources_used(const json_t *tools);

/* Borrowed; NULL if it names no store. `resources` may be NULL or of any form. */
const char *search_resources_store(const json_t *resources);

/* Names the store, and no other. `resources` is an object; what else is in it stays, but not the helper
 * `vector_stores`. */
void search_resources_set(json_t *resources, const char *id);

#endif
