#include "server/params/assistants/step_include.h"

#include <string.h>

#include "core/base/json.h"

/* The only value that OpenAI's API has: the text that a file search found. It is left out by default
 * because it may be long. */
static const char search_content[] =
    "step_details.tool_calls[*].file_search.results[*].content";

const char *const step_include_values[] = {search_content, NULL};

unsigned step_include_flag(const char *value)
{
    return strcmp(value, search_content) == 0 ? RUN_INCLUDE_SEARCH_CONTENT : 0;
}

void step_include_keep(json_t *snapshot, unsigned include)
{
    if (include & RUN_INCLUDE_SEARCH_CONTENT)
        json_set(snapshot, "include", json_build("[s]", search_content));
}
