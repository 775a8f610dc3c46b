/*
 * file_search_call -- the item of a search in files: the queries, and what was found in which file.
 *
 * The two APIs show a result differently. Responses has it flat, with its text; a run step of Assistants
 * names the file differently and has the text only if the request includes it. The item is stored in the
 * form of Responses, and step() makes the other one.
 */

#include "core/base/json.h"
#include "handlers/handlers.h"

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    (void)result;
    if (args)
        json_set(fields, "queries", json_build("[s]", json_get_string(args, "query", "")));
}

/* One result in the form of a run step. */
static json_t *step_result(const json_t *found, unsigned include)
{
    const json_t *score = json_object_get(found, "score");
    json_t *text = json_object_get(found, "text");
    json_t *result = json_build(
        "{s:s, s:s, s:f}", "file_id", json_get_string(found, "file_id", ""), "file_name",
        json_get_string(found, "filename", ""), "score", json_number_value(score));

    if (include & RUN_INCLUDE_SEARCH_CONTENT)
        json_set(result, "content",
                 json_build("[{s:s, s:o}]", "type", "text", "text",
                            json_is_string(text) ? json_incref(text) : json_string("")));
    return result;
}

static json_t *step(const json_t *body, unsigned include)
{
    json_t *results = json_array();
    size_t i;
    json_t *found;

    json_array_foreach (json_object_get(body, "results"), i, found)
        json_array_append_new(results, step_result(found, include));
    return json_build("{s:o}", "results", results);
}

const struct tool_item file_search_item = {
    .type = "file_search_call",
    .fields = "{\"queries\":[],\"results\":null}",
    .fill = fill,
    .step_type = "file_search",
    .step = step,
};
