#include "server/params/assistants/step_include.h"

#include <string.h>

#include "core/base/json.h"
#include "server/params/params.h"

static const char *const words[] = {
    "step_details.tool_calls[*].file_search.results[*].content", /* STEP_INCLUDE_SEARCH_CONTENT */
    NULL,
};

static unsigned flag_of(const char *word)
{
    for (unsigned i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return 1u << i;
    return 0;
}

enum err_code step_include_read(const struct request *request, unsigned *ret_include,
                                struct err *err)
{
    unsigned include = 0;
    const char *word;
    size_t at = 0;

    for (size_t i = 0; (word = request_query_next(request, "include", &at)); i++) {
        unsigned flag = flag_of(word);

        if (!flag)
            return param_wrong_word(err, param_index("include", i).text, word, words);
        include |= flag;
    }
    *ret_include = include;
    return ERR_OK;
}

void step_include_keep(json_t *config, unsigned include)
{
    json_t *list = json_array();

    for (unsigned i = 0; words[i]; i++)
        if (include & 1u << i)
            json_array_append_new(list, json_string(words[i]));
    if (include)
        json_set(config, "include", list);
    else
        json_decref(list);
}

unsigned step_include_kept(const json_t *config)
{
    unsigned include = 0;
    size_t i;
    json_t *word;

    json_array_foreach (json_object_get(config, "include"), i, word)
        include |= flag_of(json_string_value(word));
    return include;
}
