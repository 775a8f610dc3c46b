/*
 * Requests about vector stores.
 *
 * A file that a list names twice is attached once. Whether it exists is for the store to say.
 */

#include "server/params/vector_store_params.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/search_resources.h"
#include "core/retrieval/chunker.h"
#include "core/retrieval/words.h"
#include "server/complaint.h"
#include "server/params/filter_params.h"
#include "server/params/params.h"

#define DAYS_LIMIT   365
#define SEARCH_LIMIT 10  /* hits, by default */
#define WEIGHT_LIMIT 1e6 /* of a kind of search */

void file_list_clear(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->attributes[i]);
    free(list->attributes);
    free(list->files);
    *list = (struct file_list){0};
}

enum err_code expires_after_read(const json_t *object, int *ret_days, struct err *err)
{
    static const char *const anchors[] = {"last_active_at", NULL};
    static const char *const known[] = {"anchor", "days", NULL};
    json_t *expiry = NULL;
    json_int_t days = 0;
    const char *anchor;
    enum err_code rc = param_object(object, "", "expires_after", PARAM_OPTIONAL, &expiry, err);

    if (rc || !json_object_get(object, "expires_after"))
        return rc;
    if (!expiry) {
        *ret_days = 0;
        return ERR_OK;
    }
    rc = param_unknown(expiry, "expires_after", known, err);
    if (!rc)
        rc = param_enum(expiry, "expires_after", "anchor", PARAM_REQUIRED, anchors, &anchor,
                        err);
    if (!rc)
        rc = param_int(expiry, "expires_after", "days", 1, DAYS_LIMIT, &days, err);
    if (!rc && !days)
        rc = param_missing(err, "expires_after.days");
    if (!rc)
        *ret_days = (int)days;
    return rc;
}

/* ---- Chunking ---- */

static enum err_code static_chunking(const json_t *object, const char *path,
                                     struct store_file_new *file, struct err *err)
{
    static const char *const known[] = {"type", "max_chunk_size_tokens", "chunk_overlap_tokens",
                                        NULL};
    json_int_t size = 0, overlap = -1;
    enum err_code rc = param_unknown(object, path, known, err);

    if (!rc)
        rc = param_int(object, path, "max_chunk_size_tokens", CHUNK_TOKENS_MIN,
                       CHUNK_TOKENS_MAX, &size, err);
    if (!rc && !size)
        rc = param_missing(err, param_key(path, "max_chunk_size_tokens").text);
    if (!rc)
        rc =
            param_int(object, path, "chunk_overlap_tokens", 0, CHUNK_TOKENS_MAX, &overlap, err);
    if (!rc && overlap < 0)
        rc = param_missing(err, param_key(path, "chunk_overlap_tokens").text);
    if (rc)
        return rc;
    if (overlap > size / 2) {
        const struct param_path param = param_key(path, "chunk_overlap_tokens");

        return err_invalid(err, "invalid_value", param.text,
                           "Invalid '%s': must not exceed half of 'max_chunk_size_tokens'.",
                           param.text);
    }
    file->chunk_tokens = (int)size;
    file->overlap_tokens = (int)overlap;
    return ERR_OK;
}

/* The example of OpenAI's specification has the two numbers beside `type`, without `static`. */
static enum err_code chunking_read(const json_t *object, const char *path,
                                   struct store_file_new *file, struct err *err)
{
    static const char *const types[] = {"auto", "static", NULL};
    static const char *const known[] = {"type", "static", NULL};
    const struct param_path at = param_key(path, "chunking_strategy");
    json_t *strategy = NULL, *numbers = NULL;
    const char *type;
    enum err_code rc =
        param_object(object, path, "chunking_strategy", PARAM_OPTIONAL, &strategy, err);

    file->chunk_tokens = (int)CHUNKING_AUTO.max_tokens;
    file->overlap_tokens = (int)CHUNKING_AUTO.overlap_tokens;
    if (rc || !strategy)
        return rc;
    rc = param_enum(strategy, at.text, "type", PARAM_REQUIRED, types, &type, err);
    if (rc || strcmp(type, "auto") == 0)
        return rc;
    if (!json_object_get(strategy, "static") &&
        json_object_get(strategy, "max_chunk_size_tokens"))
        return static_chunking(strategy, at.text, file, err);
    rc = param_unknown(strategy, at.text, known, err);
    if (!rc)
        rc = param_object(strategy, at.text, "static", PARAM_REQUIRED, &numbers, err);
    return rc ? rc : static_chunking(numbers, param_key(at.text, "static").text, file, err);
}

/* ---- Lists of files ---- */

/* What a file has besides its id. */
static enum err_code options_read(const json_t *object, const char *path,
                                  struct store_file_new *ret_file, char **ret_attributes,
                                  struct err *err)
{
    json_t *attributes = NULL;
    enum err_code rc = chunking_read(object, path, ret_file, err);

    if (!rc)
        rc = param_attributes(object, path, &attributes, err);
    if (!rc && attributes)
        *ret_attributes = json_text(attributes);
    return rc;
}

static void list_init(struct file_list *list, size_t most)
{
    list->files = mem_zeroed(most + 1, sizeof(*list->files));
    list->attributes = mem_zeroed(most + 1, sizeof(*list->attributes));
}

/* Takes the attributes. `seen` is the set of the files so far. */
static void list_add(struct file_list *list, json_t *seen, const struct store_file_new *file,
                     char *attributes)
{
    if (json_object_get(seen, file->file_id)) {
        free(attributes);
        return;
    }
    json_object_set_new(seen, file->file_id, json_true());
    list->attributes[list->count] = attributes;
    list->files[list->count] = *file;
    list->files[list->count++].attributes = attributes;
}

enum err_code file_ids_read(const json_t *object, const char *path, size_t limit,
                            struct file_list *ret_list, struct err *err)
{
    const struct param_path at = param_key(path, "file_ids");
    json_auto_t *seen = json_object();
    AUTO_FREE char *attributes = NULL;
    struct store_file_new file = {0};
    json_t *ids = NULL;
    enum err_code rc = param_array(object, path, "file_ids", PARAM_OPTIONAL, limit, &ids, err);

    if (!rc)
        rc = options_read(object, path, &file, &attributes, err);
    if (rc)
        return rc;
    list_init(ret_list, json_array_size(ids));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);

        if (!json_is_string(id))
            return param_wrong_type(err, param_index(at.text, i).text, "a string", id);
        file.file_id = json_string_value(id);
        list_add(ret_list, seen, &file, attributes ? mem_strdup(attributes) : NULL);
    }
    return ERR_OK;
}

static size_t count_attachments(const json_t *messages)
{
    size_t count = 0;
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message)
        count += json_array_size(json_object_get(message, "attachments"));
    return count;
}

static void add_attachments(struct file_list *list, json_t *seen, const json_t *message)
{
    size_t i;
    json_t *attachment;

    json_array_foreach (json_object_get(message, "attachments"), i, attachment) {
        struct store_file_new file = {
            .file_id = json_get_string(attachment, "file_id", ""),
            .chunk_tokens = (int)CHUNKING_AUTO.max_tokens,
            .overlap_tokens = (int)CHUNKING_AUTO.overlap_tokens,
        };

        if (search_resources_used(json_object_get(attachment, "tools")))
            list_add(list, seen, &file, NULL);
    }
}

void file_list_add_attachments(struct file_list *list, const json_t *messages)
{
    json_auto_t *seen = json_object();
    struct file_list both = {0};
    size_t i;
    json_t *message;

    list_init(&both, list->count + count_attachments(messages));
    for (i = 0; i < list->count; i++) {
        list_add(&both, seen, &list->files[i], list->attributes[i]);
        list->attributes[i] = NULL;
    }
    json_array_foreach (messages, i, message)
        add_attachments(&both, seen, message);
    file_list_clear(list);
    *list = both;
}

static enum err_code file_object_read(const json_t *object, const char *path,
                                      struct file_list *list, json_t *seen, struct err *err)
{
    static const char *const known[] = {"file_id", "attributes", "chunking_strategy", NULL};
    AUTO_FREE char *attributes = NULL;
    struct store_file_new file = {0};
    enum err_code rc;

    if (!json_is_object(object))
        return param_wrong_type(err, path, "an object", object);
    rc = param_unknown(object, path, known, err);
    if (!rc)
        rc = param_string(object, path, "file_id", PARAM_REQUIRED, 0, &file.file_id, err);
    if (!rc)
        rc = options_read(object, path, &file, &attributes, err);
    if (!rc)
        list_add(list, seen, &file, TAKE(attributes));
    return rc;
}

enum err_code store_file_read_body(const json_t *body, struct file_list *ret_list,
                                   struct err *err)
{
    json_auto_t *seen = json_object();

    list_init(ret_list, 1);
    return file_object_read(body, "", ret_list, seen, err);
}

static enum err_code files_read(const json_t *files, struct file_list *ret_list,
                                struct err *err)
{
    json_auto_t *seen = json_object();
    enum err_code rc = ERR_OK;

    list_init(ret_list, json_array_size(files));
    for (size_t i = 0; !rc && i < json_array_size(files); i++)
        rc = file_object_read(json_array_get(files, i), param_index("files", i).text, ret_list,
                              seen, err);
    return rc;
}

/* With `files`, the attributes and the strategy of the request mean nothing. */
enum err_code file_batch_read_body(const json_t *body, struct file_list *ret_list,
                                   struct err *err)
{
    static const char *const known[] = {"file_ids", "files", "attributes", "chunking_strategy",
                                        NULL};
    json_t *files = NULL, *ids = NULL;
    enum err_code rc = param_unknown(body, "", known, err);

    if (!rc)
        rc = param_array(body, "", "files", PARAM_OPTIONAL, FILE_BATCH_LIMIT, &files, err);
    if (!rc)
        rc = param_array(body, "", "file_ids", PARAM_OPTIONAL, FILE_BATCH_LIMIT, &ids, err);
    if (rc)
        return rc;
    if (files && ids)
        return err_invalid(err, "mutually_exclusive_parameters", "file_ids",
                           "Provide only one of 'file_ids' and 'files'.");
    if (!files && !ids)
        return param_missing(err, "file_ids");
    if (!json_array_size(files ? files : ids))
        return param_empty_array(err, files ? "files" : "file_ids");
    return files ? files_read(files, ret_list, err)
                 : file_ids_read(body, "", FILE_BATCH_LIMIT, ret_list, err);
}

/* ---- Searches ---- */

static enum err_code weights_read(const json_t *options, const char *path,
                                  struct search_query *query, struct err *err)
{
    static const char *const known[] = {"embedding_weight", "text_weight", NULL};
    const struct param_path at = param_key(path, "hybrid_search");
    json_t *weights = NULL;
    enum err_code rc =
        param_object(options, path, "hybrid_search", PARAM_OPTIONAL, &weights, err);

    if (rc || !weights)
        return rc;
    rc = param_unknown(weights, at.text, known, err);
    if (!rc)
        rc = param_number(weights, at.text, "embedding_weight", 0, WEIGHT_LIMIT,
                          &query->embedding_weight, err);
    if (!rc)
        rc = param_number(weights, at.text, "text_weight", 0, WEIGHT_LIMIT, &query->text_weight,
                          err);
    if (!rc && query->embedding_weight <= 0 && query->text_weight <= 0)
        rc = err_invalid(err, "invalid_value", at.text,
                         "Invalid '%s': at least one weight must be greater than 0.", at.text);
    return rc;
}

enum err_code ranking_options_read(const json_t *object, const char *path,
                                   struct search_query *query, struct err *err)
{
    static const char *const known[] = {"ranker", "score_threshold", "hybrid_search", NULL};
    static const char *const rankers[] = {"auto", "default-2024-11-15", "default_2024_08_21",
                                          "none", NULL};
    const struct param_path at = param_key(path, "ranking_options");
    json_t *options = NULL;
    const char *ranker = "auto";
    enum err_code rc =
        param_object(object, path, "ranking_options", PARAM_OPTIONAL, &options, err);

    if (rc || !options)
        return rc;
    rc = param_unknown(options, at.text, known, err);
    if (!rc)
        rc = param_enum(options, at.text, "ranker", PARAM_OPTIONAL, rankers, &ranker, err);
    if (!rc)
        rc = param_number(options, at.text, "score_threshold", 0, 1, &query->threshold, err);
    if (!rc)
        rc = weights_read(options, at.text, query, err);
    if (!rc)
        query->ranker = strcmp(ranker, "none") == 0 ? SEARCH_RANKER_NONE : SEARCH_RANKER_AUTO;
    return rc;
}

static enum err_code query_text(const json_t *text, const char *path, const char **ret_text,
                                struct err *err)
{
    size_t tokens;

    if (!json_is_string(text))
        return param_wrong_type(err, path, "one of a string or an array of strings", text);
    if (!json_string_length(text))
        return err_invalid(err, "invalid_value", path,
                           "Invalid '%s': expected a text to search for, but got an empty one.",
                           path);
    tokens = words_tokens(NULL, json_string_value(text), json_string_length(text));
    if (tokens > SEARCH_QUERY_TOKENS_LIMIT)
        return err_invalid(err, "string_above_max_length", path,
                           "Invalid '%s': too long. Expected at most %zu tokens, but got %zu.",
                           path, SEARCH_QUERY_TOKENS_LIMIT, tokens);
    *ret_text = json_string_value(text);
    return ERR_OK;
}

static enum err_code queries_read(const json_t *body, const char **queries,
                                  struct search_query *query, struct err *err)
{
    const json_t *text = json_object_get(body, "query");
    json_t *list = NULL;
    enum err_code rc = ERR_OK;

    if (!text || json_is_null(text))
        return param_missing(err, "query");
    query->queries = queries;
    query->query_count = 1;
    if (!json_is_array(text))
        return query_text(text, "query", &queries[0], err);
    rc = param_array(body, "", "query", PARAM_REQUIRED, SEARCH_QUERIES_LIMIT, &list, err);
    if (!rc && !json_array_size(list))
        rc = param_empty_array(err, "query");
    query->query_count = json_array_size(list);
    for (size_t i = 0; !rc && i < query->query_count; i++)
        rc =
            query_text(json_array_get(list, i), param_index("query", i).text, &queries[i], err);
    return rc;
}

enum err_code search_read_body(const json_t *body, const char **queries,
                               struct search_query *query, struct filter **ret_filter,
                               bool *ret_rewrite, struct err *err)
{
    static const char *const known[] = {"query",           "max_num_results", "filters",
                                        "ranking_options", "rewrite_query",   NULL};
    json_int_t limit = SEARCH_LIMIT;
    enum err_code rc = param_unknown(body, "", known, err);

    query->embedding_weight = query->text_weight = 1;
    if (!rc)
        rc = queries_read(body, queries, query, err);
    if (!rc)
        rc = param_int(body, "", "max_num_results", 1, (json_int_t)SEARCH_HITS_LIMIT, &limit,
                       err);
    if (!rc)
        rc = ranking_options_read(body, "", query, err);
    if (!rc)
        rc = param_bool(body, "", "rewrite_query", ret_rewrite, err);
    if (!rc)
        rc = filter_params_read(body, "", "filters", ret_filter, err);
    query->filter = *ret_filter;
    query->limit = (size_t)limit;
    return rc;
}
