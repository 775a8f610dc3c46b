#ifndef RUNNEL_SERVER_HTTP_CORS_H
#define RUNNEL_SERVER_HTTP_CORS_H

#include <stdbool.h>

/*
 * cors.h -- which pages in browsers may read answers and may change things: the setting
 * cors_origins.
 */

struct request;

/* True if a page of this origin may read answers. `setting` is NULL, "*", or origins separated
 * by commas. */
bool cors_allows(const char *setting, const char *origin);

/* False if a page made the request, and its origin is neither listed nor the server's own. For
 * the requests that browsers allow every page: opening a WebSocket, and posting without a
 * content type. */
bool cors_may_act(const struct request *request, const char *setting, bool no_auth);

/* Adds the headers that a browser expects, if the origin may read. `origin` is its header, or
 * NULL. */
void cors_answer(struct request *request, const char *setting, const char *origin);

/* Adds the headers of the answer to a preflight request. */
void cors_preflight(struct request *request, const char *setting, const char *origin,
                    const char *wanted_headers, const char *methods);

#endif
