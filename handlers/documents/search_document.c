/*
 * searchDocument -- passages in the files of vector stores, with the ids of their files.
 *
 * It is for looking around before reading or editing. Answers that cite come from file_search, whose calls are items
 * of their own. `retrieval` is the same under the name and with the arguments that bella-assistants gave it.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/passages.h"

static char *format(const json_t *data, const json_t *args, struct err *err)
{
    AUTO_BUF out = {0};
    size_t i;
    json_t *found;

    (void)args;
    (void)err;
    if (!json_array_size(data))
        return mem_strdup("No matches found");
    json_array_foreach (data, i, found) {
        buf_add_text(&out, json_get_string(found, "file_id", ""));
        passages_add(&out, found, json_get_string(found, "text", ""));
    }
    return buf_take(&out);
}

/* The store of the call, or those of the run. */
static json_t *stores_of(const struct tool_call *call)
{
    const char *own = json_get_string(tool_call_args(call), "vector_store_id", NULL);

    return own ? json_build("[s]", own) : passages_stores(tool_call_files(call));
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    json_int_t count = json_get_int(args, "count", json_get_int(args, "top_k", 10));
    json_auto_t *query =
        json_build("{s:o, s:[s], s:I}", "vector_store_ids", stores_of(call), "queries",
                   json_get_string(args, "query", ""), "max_num_results", count);
    json_t *found = NULL;
    enum err_code rc;

    if (json_object_get(args, "score"))
        json_set(query, "ranking_options",
                 json_build("{s:O}", "score_threshold", json_object_get(args, "score")));
    if (!json_array_size(json_object_get(query, "vector_store_ids")))
        return err_set(err, ERR_INVALID,
                       "There are no vector stores to search. Name one in vector_store_id.");
    rc = tool_call_find(call, query, &found, err);
    if (rc)
        return rc;
    tool_result_set_data(ret_result, passages_join(found));
    json_decref(found);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"query\"],"
    " \"properties\": {"
    "\"query\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4096,"
    "  \"description\": \"What to look for.\"},"
    "\"vector_store_id\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"The vector store to search, instead of those of the conversation.\"},"
    "\"count\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 50, \"default\": 10,"
    "  \"description\": \"How many passages.\"}}}";

static const char *const tags[] = {"documents", "search", NULL};

const struct tool_handler search_document_handler = {
    .name = "searchDocument",
    .group = "documents",
    .description =
        "Searches the files of vector stores, and returns the passages that fit best "
        "with the ids of their files.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .files_of = "file_search",
    .returns = {"array", "passages, the best first"},
    .tags = tags,
    .format = format,
    .run = run,
};

static const char retrieval_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"query\"],"
    " \"properties\": {"
    "\"query\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4096,"
    "  \"description\": \"What to look for.\"},"
    "\"top_k\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 50, \"default\": 5,"
    "  \"description\": \"How many passages.\"},"
    "\"score\": {\"type\": \"number\", \"minimum\": 0, \"maximum\": 1,"
    "  \"description\": \"Passages with a lower score are left out.\"}}}";

const struct tool_handler retrieval_handler = {
    .name = "retrieval",
    .group = "documents",
    .description = "Searches the files of the conversation, and returns the passages that fit "
                   "best.",
    .parameters = retrieval_parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .files_of = "file_search",
    .returns = {"array", "passages, the best first"},
    .tags = tags,
    .format = format,
    .run = run,
};
