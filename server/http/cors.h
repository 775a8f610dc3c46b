#ifndef RUNNEL_SERVER_HTTP_CORS_H
#define RUNNEL_SERVER_HTTP_CORS_H

#include <stdbool.h>

/*
 * cors.h -- which browser pages may read our answers, and have anything done: the setting cors_origins.
 */

struct request;

/* True if a page of this origin may. `setting` is NULL, "*", or origins separated by commas. */
bool cors_allows(const char *setting, const char *origin);

/* False: a page has made the request, and it is none of those origins and not our own. For what browsers
 * let every page do: open a WebSocket, and post without a type. */
bool cors_may_act(const struct request *request, const char *setting, bool no_auth);

/* Adds what a browser wants to see, when the origin may. `origin` is its header, or NULL. */
void cors_answer(struct request *request, const char *setting, const char *origin);

/* Adds the answer to its question before the real request. */
void cors_preflight(struct request *request, const char *setting, const char *origin,
                    const char *wanted_headers, const char *methods);

#endif
