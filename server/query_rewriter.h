#ifndef RUNNEL_SERVER_QUERY_REWRITER_H
#define RUNNEL_SERVER_QUERY_REWRITER_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/model/model.h"
#include "core/net/loop.h"

/*
 * query_rewriter.h -- a question as words to search for, by a model of the operator: `rewrite_query` of a search.
 *
 * The model has QUERY_REWRITER_SECONDS. What it does not answer in time, or not in one line, is searched as it was
 * asked: a search must not depend on a model that talks.
 *
 * Any thread that may wait. Several at once.
 */

#define QUERY_REWRITER_SECONDS 1.0
#define QUERY_REWRITER_BYTES   ((size_t)1024) /* of a line that is taken */

struct query_rewriter;

/* Borrowed until query_rewriter_free(). */
struct query_rewriter_options {
    const struct model_upstream *upstream;
    const char *model;
    enum err_code (*mask)(void *arg, json_t *messages, struct err *err); /* may be NULL */
    void *mask_arg;
    struct loop *(*any_loop)(void *arg);
    void *loop_arg;
};

struct query_rewriter *query_rewriter_new(const struct query_rewriter_options *options);

/* All that wait get nothing, and all that come. */
void query_rewriter_close(struct query_rewriter *rewriter);
void query_rewriter_free(
    struct query_rewriter *rewriter); /* NULL is fine; no thread may be asking */

/* Asks for all queries at once. ret_lines has a place for each: the line, the caller's to free, or NULL: the query
 * stays as it is. The log says why. */
void query_rewrite(struct query_rewriter *rewriter, const char *const *queries, size_t count,
                   char **ret_lines);

/* The line of an answer; NULL without one that may be searched. Pure. The caller frees. */
char *query_rewriter_line(const char *answer);

#endif
