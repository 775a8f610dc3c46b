/*
 * query_rewriter.c -- a question to a model for each query, all at once.
 */

#include "server/query_rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/ingest/search.h"
#include "server/plain_model.h"

#define ANSWER_LIMIT ((size_t)256 << 10)

static const char instructions[] = "Rewrite the user's text as words for a search in "
                                   "documents: the names, terms and synonyms that the "
                                   "passage with the answer contains. Keep its language. "
                                   "Answer with one line of words, and nothing else.";

struct query_rewriter {
    struct query_rewriter_options options;
    struct plain_model *model;
};

struct query_rewriter *query_rewriter_new(const struct query_rewriter_options *options)
{
    struct query_rewriter *rewriter = mem_new(struct query_rewriter);

    *rewriter = (struct query_rewriter){
        .options = *options,
        .model = plain_model_new(options->upstream, options->model, options->any_loop,
                                 options->loop_arg),
    };
    return rewriter;
}

void query_rewriter_close(struct query_rewriter *rewriter)
{
    plain_model_close(rewriter->model);
}

void query_rewriter_free(struct query_rewriter *rewriter)
{
    if (!rewriter)
        return;
    plain_model_free(rewriter->model);
    free(rewriter);
}

/* ---- The answer ---- */

/* Without blanks and quotation marks around it. */
static char *trimmed(const char *text)
{
    static const char around[] = " \t\r\n\"'`";
    size_t length;

    text += strspn(text, around);
    length = strlen(text);
    while (length && strchr(around, text[length - 1]))
        length--;
    return mem_strndup(text, length);
}

char *query_rewriter_line(const char *answer)
{
    AUTO_FREE char *line = trimmed(answer);

    if (!*line || strlen(line) > QUERY_REWRITER_BYTES || strchr(line, '\n'))
        return NULL;
    return TAKE(line);
}

/* ---- The request ---- */

static struct http_ask *ask(const struct query_rewriter *rewriter, const char *query,
                            struct err *err)
{
    const struct query_rewriter_options *options = &rewriter->options;
    json_auto_t *messages = json_build("[{s:s, s:s}]", "role", "user", "content", query);

    if (options->mask && options->mask(options->mask_arg, messages, err))
        return NULL;
    return plain_model_ask(rewriter->model, &(struct plain_question){
                                                .instructions = instructions,
                                                .text = json_get_string(
                                                    json_array_get(messages, 0), "content", ""),
                                                .answer_limit = ANSWER_LIMIT,
                                                .seconds = QUERY_REWRITER_SECONDS,
                                            });
}

static enum err_code wait(const struct query_rewriter *rewriter, struct http_ask *ask,
                          char **ret_line, struct err *err)
{
    struct plain_answer answer;
    enum err_code rc = plain_model_wait(rewriter->model, ask, &answer, err);

    if (rc)
        return rc;
    *ret_line = query_rewriter_line(answer.text);
    free(answer.text);
    return *ret_line ? ERR_OK
                     : err_set(err, ERR_UPSTREAM, "the model's answer is no line of words");
}

void query_rewrite(struct query_rewriter *rewriter, const char *const *queries, size_t count,
                   char **ret_lines)
{
    struct http_ask *asks[SEARCH_QUERIES_LIMIT];
    struct err err;

    for (size_t i = 0; i < count; i++) {
        ret_lines[i] = NULL;
        asks[i] = ask(rewriter, queries[i], &err);
        if (!asks[i])
            log_warn("a query is not rewritten: %s", err.text);
    }
    for (size_t i = 0; i < count; i++)
        if (asks[i] && wait(rewriter, asks[i], &ret_lines[i], &err))
            log_info("a query is searched as it is: %s", err.text);
}
