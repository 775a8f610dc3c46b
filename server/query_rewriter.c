/*
 * query_rewriter.c -- one request to a model for each query, without a stream and without tools.
 *
 * Turns of a run use core/model, which streams on a loop. Here a worker waits for a line, so the request is spelled
 * out. Limits of the answer's length are left to the second that it has: models disagree about their names.
 */

#include "server/query_rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/ingest/search.h"
#include "core/net/http_ask.h"

#define ANSWER_LIMIT ((size_t)256 << 10)

static const char instructions[] = "Rewrite the user's text as words for a search in "
                                   "documents: the names, terms and synonyms that the "
                                   "passage with the answer contains. Keep its language. "
                                   "Answer with one line of words, and nothing else.";

struct query_rewriter {
    struct query_rewriter_options options;
    struct http_asks *asks;
    char *url;
    char *authorization; /* a header, or NULL */
};

struct query_rewriter *query_rewriter_new(const struct query_rewriter_options *options)
{
    struct query_rewriter *rewriter = mem_new(struct query_rewriter);
    const struct model_upstream *upstream = options->upstream;

    *rewriter = (struct query_rewriter){
        .options = *options,
        .asks = http_asks_new(options->any_loop, options->loop_arg),
        .url = mem_printf("%s/%s", upstream->url,
                          upstream->dialect == MODEL_DIALECT_RESPONSES ? "responses"
                                                                       : "chat/completions"),
    };
    if (upstream->api_key)
        rewriter->authorization = mem_printf("Authorization: Bearer %s", upstream->api_key);
    return rewriter;
}

void query_rewriter_close(struct query_rewriter *rewriter)
{
    http_asks_close(rewriter->asks);
}

void query_rewriter_free(struct query_rewriter *rewriter)
{
    if (!rewriter)
        return;
    http_asks_free(rewriter->asks);
    free(rewriter->url);
    free(rewriter->authorization);
    free(rewriter);
}

/* ---- The answer ---- */

static const char *text_of_chat(const json_t *answer)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);

    return json_get_string(json_object_get(choice, "message"), "content", "");
}

static const char *text_of_response(const json_t *answer)
{
    size_t i;
    json_t *item;

    json_array_foreach (json_object_get(answer, "output"), i, item) {
        const json_t *part = json_array_get(json_object_get(item, "content"), 0);

        if (strcmp(json_get_string(item, "type", ""), "message") == 0)
            return json_get_string(part, "text", "");
    }
    return "";
}

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

char *query_rewriter_line(enum model_dialect dialect, const char *answer, size_t length)
{
    json_auto_t *object = NULL;
    AUTO_FREE char *line = NULL;

    if (json_parse(answer, length, &object, NULL))
        return NULL;
    line = trimmed(dialect == MODEL_DIALECT_RESPONSES ? text_of_response(object)
                                                      : text_of_chat(object));
    if (!*line || strlen(line) > QUERY_REWRITER_BYTES || strchr(line, '\n'))
        return NULL;
    return TAKE(line);
}

/* ---- The request ---- */

static json_t *body_of(const struct query_rewriter *rewriter, json_t *query)
{
    const char *model = rewriter->options.model;

    if (rewriter->options.upstream->dialect == MODEL_DIALECT_RESPONSES)
        return json_build("{s:s, s:s, s:O, s:b}", "model", model, "instructions", instructions,
                          "input", query, "store", 0);
    return json_build("{s:s, s:[{s:s, s:s}, {s:s, s:O}]}", "model", model, "messages", "role",
                      "system", "content", instructions, "role", "user", "content", query);
}

static struct http_ask *ask(const struct query_rewriter *rewriter, const char *query,
                            struct err *err)
{
    const struct query_rewriter_options *options = &rewriter->options;
    const char *headers[] = {"Content-Type: application/json", rewriter->authorization, NULL};
    json_auto_t *messages = json_build("[{s:s, s:s}]", "role", "user", "content", query);
    json_auto_t *body = NULL;
    char *text;

    if (options->mask && options->mask(options->mask_arg, messages, err))
        return NULL;
    body = body_of(rewriter, json_object_get(json_array_get(messages, 0), "content"));
    text = json_text(body);
    return http_ask_start(rewriter->asks,
                          &(struct http_ask_request){
                              .url = rewriter->url,
                              .headers = headers,
                              .body = text,
                              .length = strlen(text),
                              .answer_limit = ANSWER_LIMIT,
                              .total_ns = clock_ns_from_seconds(QUERY_REWRITER_SECONDS),
                          });
}

static enum err_code wait(const struct query_rewriter *rewriter, struct http_ask *ask,
                          char **ret_line, struct err *err)
{
    struct http_answer answer;
    enum err_code rc = http_ask_wait(ask, &answer, err);

    if (rc)
        return rc;
    if (answer.status == 200)
        *ret_line = query_rewriter_line(rewriter->options.upstream->dialect, answer.bytes,
                                        answer.length);
    if (!*ret_line)
        rc = err_set(err, ERR_UPSTREAM,
                     "the model answered with status %d, and no line of words", answer.status);
    http_answer_clear(&answer);
    return rc;
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
