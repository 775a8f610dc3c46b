#ifndef RUNNEL_CORE_WEB_PROVIDER_H
#define RUNNEL_CORE_WEB_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * provider.h -- one service of web search: how it is asked, and where its answer has the results.
 *
 * A service is a description: a URL, headers, parameters, and names of members. Those that are known by name are
 * descriptions, too, in a table of provider.c. The operator's entry is laid over the one that its `provider` names, so
 * all of it can be changed, and a service that is not known needs no code.
 *
 * Parameters and headers are texts with {query}, {count}, {freshness}, {country}, {domains} or {api_key} in them. One
 * that is nothing but such a word, and has no value in this search, is left out.
 *
 * Pure functions of a constant: any thread.
 */

struct web_provider;

#define WEB_RESULTS_LIMIT ((size_t)20)   /* that one search asks for */
#define WEB_URL_LIMIT     ((size_t)2000) /* bytes; a result with a longer one is left out */

/* One question. Borrowed. */
struct web_question {
    const char *query;
    const char *freshness; /* "day", "week", "month" or "year"; NULL: any time */
    const char *country;   /* of the user, two letters; NULL: not known */
    const json_t
        *domains; /* a list; results are of these and of what is below them; NULL: of any */
    size_t count; /* at most WEB_RESULTS_LIMIT */
};

/* Owned. */
struct web_request {
    char *url;
    char **headers; /* as http_client.h has them; ends with NULL */
    char *body;     /* JSON; NULL: a GET */
};
void web_request_clear(struct web_request *request);

/* `entry` is the operator's (server/manual/web.md), all values texts. `api_key` is NULL for none. Both are copied.
 * ERR_INVALID says which key is wrong. */
enum err_code web_provider_new(const json_t *entry, const char *api_key,
                               struct web_provider **ret_provider, struct err *err) MUST_CHECK;
void web_provider_free(struct web_provider *provider); /* NULL is fine */

/* For people: the entry's `name`, or the kind of provider. */
const char *web_provider_name(const struct web_provider *provider);
/* How long one request may take. */
uint64_t web_provider_timeout_ns(const struct web_provider *provider);

void web_provider_ask(const struct web_provider *provider, const struct web_question *question,
                      struct web_request *ret_request);

/* Reads an answer. *ret_results, a new reference, is a list in the service's order:
 *
 *   {"url", "title", "text", and if it is known "date"}
 *
 * Titles and texts are one line of plain text. A result without a URL of http or https is left out, and so is one whose
 * host is in none of the question's domains. ERR_UPSTREAM: it is no such answer. */
enum err_code web_provider_read(const struct web_provider *provider,
                                const struct web_question *question, int status,
                                const char *bytes, size_t length, json_t **ret_results,
                                struct err *err) MUST_CHECK;

/* Is the host of the URL one of the domains (a list of strings), or below one? NULL and an empty list have all. */
bool web_is_of(const json_t *domains, const char *url);

#endif
