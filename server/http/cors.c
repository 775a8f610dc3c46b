/*
 * Browsers, and which pages may use this server.
 *
 * CORS decides what a page may read. The rule is the setting cors_origins, and nothing is allowed
 * without it. An API key in a page is visible to its user, so this is for pages whose users have
 * keys of their own.
 *
 * CORS does not decide what a page may send. A browser sends a simple POST, and opens a WebSocket, to
 * any server without asking first. With keys that is harmless, since the page has none. A server
 * with no_auth on a developer's machine is another matter: any page that the developer visits could
 * start runs there. So cors_may_act() refuses a page of an unknown origin also where CORS would let
 * the request through.
 *
 * Pure functions of headers and settings, on an HTTP worker.
 */

#include "server/http/cors.h"

#include <string.h>
#include <strings.h>

#include "core/net/own_address.h"
#include "server/http/request.h"

#define MAX_AGE "600" /* seconds for which a browser may keep the answer */

/* The server's own headers that a page may read. Every page may read the standard ones. */
#define EXPOSED                                                                  \
    "x-request-id, openai-processing-ms, openai-version, openai-poll-after-ms, " \
    "retry-after, x-should-retry, runnel-response-id"

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

/* True if only a page of the address's owner can have this origin. The owner of a name can let
 * it lead anywhere: to this machine, or to a proxy in front that does not check names. To a
 * page of such a name everything here is of its own origin. Its browser says so, and its Host
 * equals its Origin. A name of this machine itself leads nowhere else, and behind TLS a
 * certificate has vouched for the name. */
static bool is_proven(const char *origin, const char *authority)
{
    return strncasecmp(origin, "https://", strlen("https://")) == 0 ||
           own_address_is_local_name(authority);
}

/* The page asks the address that it came from: a proxy serves both. The proxy may have replaced
 * Host. Browsers send what it was before, and let no page change that. With keys a page that
 * lies about this gains nothing: it needs a key. */
static bool is_own(const struct request *request, const char *origin, bool no_auth)
{
    const char *host = request_header(request, "host");
    const char *site = request_header(request, "sec-fetch-site");
    const char *authority = strstr(origin, "://");

    if (!authority)
        return false; /* "null": a sandboxed page, a file */
    authority += strlen("://");
    return (!no_auth || is_proven(origin, authority)) &&
           ((site && strcmp(site, "same-origin") == 0) ||
            (host && strcasecmp(host, authority) == 0));
}

bool cors_may_act(const struct request *request, const char *setting, bool no_auth)
{
    const char *origin = request_header(request, "origin");

    return !origin || cors_allows(setting, origin) || is_own(request, origin, no_auth);
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
