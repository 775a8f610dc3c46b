#include "server/cors.h"

#include <string.h>

#include "server/request.h"

#define MAX_AGE "600" /* seconds that a browser may remember the answer */

/* Headers of ours that a page may read; the rest of them every page may. */
#define EXPOSED                                                                  \
    "x-request-id, openai-processing-ms, openai-version, openai-poll-after-ms, " \
    "retry-after, x-should-retry"

bool cors_allows(const char *setting, const char *origin)
{
    size_t length;

    if (!setting || !origin || !*origin)
        return false;
    length = strlen(origin);
    for (const char *at = setting; *at;) {
        const char *word = at + strspn(at, ", ");
        size_t size = strcspn(word, ", ");

        if ((size == 1 && *word == '*') ||
            (size == length && strncmp(word, origin, size) == 0 && size))
            return true;
        at = word + size;
    }
    return false;
}

void cors_answer(struct request *request, const char *setting, const char *origin)
{
    if (!setting)
        return;
    request_set_header(request, "Vary", "Origin");
    if (!cors_allows(setting, origin))
        return;
    request_set_header(request, "Access-Control-Allow-Origin", origin);
    request_set_header(request, "Access-Control-Expose-Headers", EXPOSED);
}

void cors_preflight(struct request *request, const char *setting, const char *origin,
                    const char *wanted_headers, const char *methods)
{
    if (!cors_allows(setting, origin))
        return;
    request_set_header(request, "Access-Control-Allow-Methods", methods);
    request_set_header(request, "Access-Control-Allow-Headers",
                       wanted_headers ? wanted_headers : "authorization, content-type");
    request_set_header(request, "Access-Control-Max-Age", MAX_AGE);
}
