#include "server/encode/step_include.h"

#include <string.h>

#include "core/base/json.h"
#include "server/params/params.h"

static const char search_content[] =
    "step_details.tool_calls[*].file_search.results[*].content";

enum err_code step_include_read(const struct request *request, unsigned *ret_include,
                                struct err *err)
{
    unsigned include = 0;
    const char *word;
    size_t at = 0;

    for (size_t i = 0; (word = request_query_next(request, "include", &at)); i++) {
        if (strcmp(word, search_content) != 0)
            return param_wrong_word(err, param_index("include", i).text, word,
                                    (const char *const[]){search_content, NULL});
        include |= RUN_INCLUDE_SEARCH_CONTENT;
    }
    *ret_include = include;
    return ERR_OK;
}

void step_include_keep(json_t *snapshot, unsigned include)
{
    if (include & RUN_INCLUDE_SEARCH_CONTENT)
        json_set(snapshot, "include", json_build("[s]", search_content));
}
