/*
 * provider.c -- descriptions of services, and what is made of them.
 *
 * A description has:
 *
 *   url, path    where to ask; `path` belongs to a service that is known, and stands behind the operator's url
 *   method       GET: parameters are the URL's. POST: they are a JSON object
 *   headers, parameters   texts with words in braces; parameters of a POST may be nested
 *   results      where the list is: names of members, separated by dots
 *   fields       where a result has its url, title, text and date
 *   freshness    the service's words for day, week, month and year
 *   forbidden    what a 403 means there
 *
 * A service without {domains} in its parameters gets a few domains as "site:a" in the query. All results are looked
 * through again all the same.
 */

#include "core/web/provider.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/egress.h"
#include "core/web/plain_line.h"

#define TIMEOUT_SECONDS 10.0
#define SITES_LIMIT     ((size_t)8) /* domains that are written into a query */

struct web_provider {
    json_t *description;
    char *name, *url, *api_key;
    double timeout_seconds;
    bool takes_domains; /* as a parameter */
};

/* ---- Services that are known ---- */

/* clang-format off */
static const struct {
    const char *name;
    const char *description;
} known[] = {
    {"searxng",
     "{\"path\": \"/search\","
     " \"parameters\": {\"q\": \"{query}\", \"format\": \"json\", \"time_range\": \"{freshness}\"},"
     " \"results\": \"results\","
     " \"fields\": {\"url\": \"url\", \"title\": \"title\", \"text\": \"content\", \"date\": \"publishedDate\"},"
     " \"forbidden\": \"its settings do not list json among search.formats\"}"},
    {"brave",
     "{\"url\": \"https://api.search.brave.com\", \"path\": \"/res/v1/web/search\","
     " \"headers\": {\"X-Subscription-Token\": \"{api_key}\", \"Accept\": \"application/json\"},"
     " \"parameters\": {\"q\": \"{query}\", \"count\": \"{count}\", \"country\": \"{country}\","
     "  \"freshness\": \"{freshness}\", \"text_decorations\": \"false\"},"
     " \"freshness\": \"pd pw pm py\","
     " \"results\": \"web.results\","
     " \"fields\": {\"url\": \"url\", \"title\": \"title\", \"text\": \"description\", \"date\": \"page_age\"}}"},
    {"tavily",
     "{\"url\": \"https://api.tavily.com\", \"path\": \"/search\", \"method\": \"POST\","
     " \"headers\": {\"Authorization\": \"Bearer {api_key}\"},"
     " \"parameters\": {\"query\": \"{query}\", \"max_results\": \"{count}\", \"time_range\": \"{freshness}\","
     "  \"include_domains\": \"{domains}\"},"
     " \"results\": \"results\","
     " \"fields\": {\"url\": \"url\", \"title\": \"title\", \"text\": \"content\", \"date\": \"published_date\"}}"},
    {"json", "{}"},
};
/* clang-format on */

static json_t *find_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].name, name) == 0)
            return json_parse_own(known[i].description);
    }
    return NULL;
}

/* Members of objects are laid over one by one, so that an entry may change one parameter. */
static json_t *lay_over(json_t *description, const json_t *entry)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)entry, key, value) {
        json_t *below = json_object_get(description, key);

        if (json_is_object(below) && json_is_object(value))
            json_object_update(below, value);
        else
            json_object_set(description, key, value);
    }
    return description;
}

/* ---- A description is checked ---- */

static bool is_post(const struct web_provider *provider)
{
    return strcmp(json_get_string(provider->description, "method", "GET"), "POST") == 0;
}

static enum err_code check_texts(const json_t *description, const char *key, struct err *err)
{
    json_t *object = json_object_get(description, key);
    const char *name;
    json_t *value;

    if (object && !json_is_object(object))
        return err_set(err, ERR_INVALID, "%s: expected keys and values", key);
    json_object_foreach (object, name, value) {
        if (!json_is_string(value))
            return err_set(err, ERR_INVALID, "%s.%s: expected a text", key, name);
    }
    return ERR_OK;
}

static enum err_code check_url(struct web_provider *provider, struct err *err)
{
    const char *url = json_get_string(provider->description, "url", NULL);
    const char *path = json_get_string(provider->description, "path", "");
    size_t length = url ? strlen(url) : 0;
    struct err why;

    if (!url)
        return err_set(err, ERR_INVALID, "'url' is missing");
    if (egress_url_check(url, &why))
        return err_set(err, ERR_INVALID, "url: %s", why.text);
    while (*path && url[length - 1] == '/')
        length--;
    provider->url = mem_printf("%.*s%s", (int)length, url, path);
    return ERR_OK;
}

static enum err_code check_timeout(struct web_provider *provider, struct err *err)
{
    const char *text = json_get_string(provider->description, "timeout", NULL);
    char *end;

    provider->timeout_seconds = TIMEOUT_SECONDS;
    if (!text)
        return ERR_OK;
    provider->timeout_seconds = strtod(text, &end);
    if (*text && !*end && provider->timeout_seconds >= 0.1 && provider->timeout_seconds <= 60)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "timeout: expected 0.1 to 60 seconds, not '%.32s'", text);
}

static enum err_code check_method(const struct web_provider *provider, struct err *err)
{
    const char *method = json_get_string(provider->description, "method", "GET");

    if (is_post(provider) || strcmp(method, "GET") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "method: expected GET or POST, not '%.32s'", method);
}

static enum err_code check_key(const struct web_provider *provider, struct err *err)
{
    AUTO_FREE char *headers = json_text(json_object_get(provider->description, "headers"));
    AUTO_FREE char *parameters =
        json_text(json_object_get(provider->description, "parameters"));

    if (provider->api_key ||
        (!strstr(headers, "{api_key}") && !strstr(parameters, "{api_key}")))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'api_key_env' is missing");
}

static enum err_code check_answer(const struct web_provider *provider, struct err *err)
{
    const json_t *fields = json_object_get(provider->description, "fields");

    if (!json_get_string(provider->description, "results", NULL))
        return err_set(err, ERR_INVALID, "'results' is missing");
    if (!json_get_string(fields, "url", NULL))
        return err_set(err, ERR_INVALID, "'fields.url' is missing");
    return ERR_OK;
}

static enum err_code check(struct web_provider *provider, struct err *err)
{
    const json_t *description = provider->description;
    AUTO_FREE char *parameters = json_text(json_object_get(description, "parameters"));
    enum err_code rc = check_texts(description, "headers", err);

    provider->takes_domains = strstr(parameters, "{domains}") != NULL;
    if (!rc)
        rc = check_method(provider, err);
    if (!rc && !is_post(provider))
        rc = check_texts(description, "parameters", err);
    if (!rc)
        rc = check_texts(description, "fields", err);
    if (!rc)
        rc = check_url(provider, err);
    if (!rc)
        rc = check_timeout(provider, err);
    if (!rc)
        rc = check_key(provider, err);
    return rc ? rc : check_answer(provider, err);
}

enum err_code web_provider_new(const json_t *entry, const char *api_key,
                               struct web_provider **ret_provider, struct err *err)
{
    const char *kind = json_get_string(entry, "provider", "");
    json_t *description = find_known(kind);
    struct web_provider *provider;
    enum err_code rc;

    if (!description)
        return err_set(err, ERR_INVALID,
                       "provider: expected searxng, brave, tavily or json, not '%.32s'", kind);
    provider = mem_new(struct web_provider);
    provider->description = lay_over(description, entry);
    provider->name = mem_strdup(json_get_string(entry, "name", kind));
    provider->api_key = mem_strdup(api_key);
    rc = check(provider, err);
    if (rc) {
        web_provider_free(provider);
        return rc;
    }
    *ret_provider = provider;
    return ERR_OK;
}

void web_provider_free(struct web_provider *provider)
{
    if (!provider)
        return;
    json_decref(provider->description);
    free(provider->name);
    free(provider->url);
    free(provider->api_key);
    free(provider);
}

const char *web_provider_name(const struct web_provider *provider)
{
    return provider->name;
}

uint64_t web_provider_timeout_ns(const struct web_provider *provider)
{
    return clock_ns_from_seconds(provider->timeout_seconds);
}
