#ifndef RUNNEL_SERVER_PARAMS_VECTOR_STORE_PARAMS_H
#define RUNNEL_SERVER_PARAMS_VECTOR_STORE_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/ingest/search.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * vector_store_params.h -- requests about vector stores, their files, and searches in them. Pure.
 *
 * What is returned is borrowed from the body, unless it is said to be the caller's.
 */

#define VECTOR_STORE_NAME_LIMIT        ((size_t)256) /* characters */
#define VECTOR_STORE_DESCRIPTION_LIMIT ((size_t)512)
#define VECTOR_STORE_NEW_FILES_LIMIT   ((size_t)500)  /* file_ids when a store is made */
#define FILE_BATCH_LIMIT               ((size_t)2000) /* files of a batch */
#define SEARCH_QUERY_TOKENS_LIMIT      ((size_t)4096)

/* Files to be attached, each once. */
struct file_list {
    struct store_file_new *files;
    char **attributes; /* texts that the files point to */
    size_t count;
};
void file_list_clear(struct file_list *list);

/* object["expires_after"]. Absent: *ret_days stays as it is. Null: 0. */
enum err_code expires_after_read(const json_t *object, int *ret_days,
                                 struct err *err) MUST_CHECK;

/* object["file_ids"], at most `limit`, with object["chunking_strategy"] and object["attributes"]. Absent: none.
 * `path` is the object's. The caller clears. */
enum err_code file_ids_read(const json_t *object, const char *path, size_t limit,
                            struct file_list *ret_list, struct err *err) MUST_CHECK;

/* Adds what an array of messages attaches for file_search, with the usual chunking. Their form was checked. The list
 * may be empty, {0}. */
void file_list_add_attachments(struct file_list *list, const json_t *messages);

/* The body of POST .../files: one file. */
enum err_code store_file_read_body(const json_t *body, struct file_list *ret_list,
                                   struct err *err) MUST_CHECK;

/* The body of POST .../file_batches. */
enum err_code file_batch_read_body(const json_t *body, struct file_list *ret_list,
                                   struct err *err) MUST_CHECK;

/* object["ranking_options"], of the endpoint and of the tool. What is absent stays as it is. */
enum err_code ranking_options_read(const json_t *object, const char *path,
                                   struct search_query *query, struct err *err) MUST_CHECK;

/* The body of POST .../search. `queries` has room for SEARCH_QUERIES_LIMIT; the filter is the caller's to free. */
enum err_code search_read_body(const json_t *body, const char **queries,
                               struct search_query *query, struct filter **ret_filter,
                               bool *ret_rewrite, struct err *err) MUST_CHECK;

#endif
