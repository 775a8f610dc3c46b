#ifndef RUNNEL_SERVER_PARAMS_WEB_SEARCH_PARAMS_H
#define RUNNEL_SERVER_PARAMS_WEB_SEARCH_PARAMS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"

/* web_search_params.h -- an entry of `tools` that searches the web: checked, and as OpenAI shows it. Any thread. */

#define WEB_DOMAINS_LIMIT ((size_t)100)
#define WEB_DOMAIN_LIMIT  ((size_t)253) /* characters, as names of hosts have */
#define WEB_PLACE_LIMIT   ((size_t)256) /* characters of a city, region or time zone */

/* `path` is that of the tool, as in params.h. */
enum err_code web_search_tool_check(const json_t *tool, const char *path,
                                    struct err *err) MUST_CHECK;

/* The entry with what it leaves out: search_context_size, user_location and filters. New reference. */
json_t *web_search_tool_complete(const json_t *tool);

#endif
