/*
 * file_search -- OpenAI's hosted tool: the model searches the files of vector stores, and cites what it finds.
 *
 * The call is an item of the type file_search_call. It is stored with its results, and shows them if the request
 * includes them. The two APIs show a result differently. Responses has it flat, with its text; a run step of
 * Assistants names the file differently and has the text only if the request includes it. The item is stored in
 * the form of Responses, and step() makes the other one.
 *
 * The text for the model is made of the results alone (passages.h). So a client that keeps its history itself can
 * send the call back, and the model reads the same words again.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "handlers/handlers.h"
#include "handlers/support/passages.h"

/* ---- The item ---- */

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    json_t *queries = json_object_get(args, "queries");
    json_t *results = json_object_get(result->data, "results");

    if (json_is_array(queries))
        json_set(fields, "queries", json_deep_copy(queries));
    else if (args)
        json_set(fields, "queries", json_build("[s]", json_get_string(args, "query", "")));
    if (json_is_array(results))
        json_set(fields, "results", json_incref(results));
    if (json_object_get(result->data, "ranking_options"))
        json_set(fields, "ranking_options",
                 json_incref(json_object_get(result->data, "ranking_options")));
}

/* What the model has read is in the notes: clients see of it what they include. The options of the search are a
 * part of the run step, and of no item. */
static void show(json_t *object, unsigned include)
{
    json_object_del(notes_of(object), "output");
    json_object_del(object, "ranking_options");
    if (!(include & RUN_INCLUDE_SEARCH_RESULTS))
        json_set(object, "results", json_null());
    else if (strcmp(json_get_string(object, "status", ""), "failed") == 0)
        json_set(object, "results", json_array());
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
    json_t *options = json_object_get(body, "ranking_options");
    json_t *details;
    size_t i;
    json_t *found;

    json_array_foreach (json_object_get(body, "results"), i, found)
        json_array_append_new(results, step_result(found, include));
    details = json_build("{s:o}", "results", results);
    if (options)
        json_object_set(details, "ranking_options", options);
    return details;
}

static char *retell(const json_t *body, unsigned search, json_t **ret_arguments,
                    json_t **ret_sources)
{
    const json_t *results = json_object_get(body, "results");

    if (!json_is_array(results))
        return NULL;
    *ret_arguments = json_build("{s:O?}", "queries", json_object_get(body, "queries"));
    return passages_text(results, search, PASSAGES_TOKENS, ret_sources);
}

const struct tool_item file_search_item = {
    .type = "file_search_call",
    .fields = "{\"queries\":[],\"results\":null}",
    .fill = fill,
    .show = show,
    .retell = retell,
    .step_type = "file_search",
    .step = step,
};

/* ---- The search ---- */

/* In a tool of Assistants the options stand one level deeper, and its names of rankers have underscores. */
static const json_t *options_of(const struct tool_call *call)
{
    const json_t *inner = json_object_get(tool_call_config(call), "file_search");

    return json_is_object(inner) ? inner : tool_call_config(call);
}

/* The stores of the entry, or of the thread and its assistant. */
static json_t *stores_of(const struct tool_call *call)
{
    const json_t *own = json_object_get(tool_call_config(call), "vector_store_ids");

    return passages_stores(json_is_array(own) ? own : tool_call_files(call));
}

static json_t *query_of(const struct tool_call *call)
{
    static const char *const keys[] = {"filters", "max_num_results", "ranking_options"};
    const json_t *options = options_of(call);
    json_t *query = json_build("{s:o, s:O}", "vector_store_ids", stores_of(call), "queries",
                               json_object_get(tool_call_args(call), "queries"));

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(options, keys[i]);

        if (!json_absent(value))
            json_set(query, keys[i], json_deep_copy(value));
    }
    return query;
}

/* As a run step shows them: the ranker as it was given, but for "auto". */
static json_t *shown_options(const json_t *query)
{
    const json_t *options = json_object_get(query, "ranking_options");
    const char *ranker = json_get_string(options, "ranker", "auto");

    return json_build(
        "{s:s, s:f}", "ranker", strcmp(ranker, "auto") == 0 ? "default_2024_08_21" : ranker,
        "score_threshold", json_number_value(json_object_get(options, "score_threshold")));
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    json_auto_t *query = query_of(call);
    json_auto_t *found = NULL;
    json_t *results;
    json_t *sources = NULL;
    AUTO_FREE char *text = NULL;
    enum err_code rc = tool_call_emit_stage(call, "searching", NULL);

    if (rc)
        return rc;
    if (!json_array_size(json_object_get(query, "vector_store_ids")))
        return err_set(err, ERR_INVALID, "There are no files to search.");
    rc = tool_call_find(call, query, &found, err);
    if (rc)
        return rc;
    results = passages_join(found);
    text = passages_text(results, tool_call_search(call), tool_call_passage_tokens(call),
                         &sources);
    tool_result_add_text(ret_result, text);
    tool_result_set_sources(ret_result, sources);
    tool_result_set_data(ret_result, json_build("{s:o, s:o}", "results", results,
                                                "ranking_options", shown_options(query)));
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"queries\"],"
    " \"properties\": {\"queries\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 5,"
    "  \"items\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4096},"
    "  \"description\": \"What to look for. Several queries search for the same in other "
    "words.\"}}}";

const struct tool_handler file_search_handler = {
    .name = "file_search",
    .group = "hosted",
    .description = "Searches the user's files, and returns the passages that fit best.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_HOSTED | TOOL_CITED,
    .item = &file_search_item,
    .shown_limit = CUT_NO_LIMIT,
    .run = run,
};
