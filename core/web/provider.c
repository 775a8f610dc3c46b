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

/* ---- Words in braces ---- */

/* What one search puts in their place. */
struct words {
    const struct web_provider *provider;
    const struct web_question *question;
    const char *query; /* with its domains, if the service takes them there */
};

/* The service's own word. The caller frees; NULL: the service has no such word. */
static char *freshness_word(const struct words *words)
{
    static const char *const ours[] = {"day", "week", "month", "year"};
    const char *theirs =
        json_get_string(words->provider->description, "freshness", "day week month year");

    for (size_t i = 0; words->question->freshness && i < COUNT_OF(ours); i++) {
        size_t length = strcspn(theirs, " ");

        if (strcmp(ours[i], words->question->freshness) == 0)
            return length ? mem_strndup(theirs, length) : NULL;
        theirs += length + (theirs[length] == ' ');
    }
    return NULL;
}

static json_t *text_or_none(const char *text)
{
    return text && *text ? json_string(text) : NULL;
}

/* The value of a word; NULL: it has none, or there is no such word. New reference. */
static json_t *value_of(const struct words *words, const char *word, size_t length)
{
    const struct web_question *question = words->question;
    AUTO_FREE char *name = mem_strndup(word, length);
    AUTO_FREE char *fresh = NULL;

    if (strcmp(name, "query") == 0)
        return json_string(words->query);
    if (strcmp(name, "count") == 0)
        return json_integer((json_int_t)question->count);
    if (strcmp(name, "country") == 0)
        return text_or_none(question->country);
    if (strcmp(name, "api_key") == 0)
        return text_or_none(words->provider->api_key);
    if (strcmp(name, "domains") == 0)
        return json_array_size(question->domains) ? json_deep_copy(question->domains) : NULL;
    if (strcmp(name, "freshness") != 0)
        return NULL;
    fresh = freshness_word(words);
    return text_or_none(fresh);
}

/* A value as a part of a text: of a list its members, separated by commas. */
static void add_value(struct buf *text, const json_t *value)
{
    size_t i;
    json_t *member;

    if (json_is_string(value))
        buf_add_text(text, json_string_value(value));
    else if (json_is_integer(value))
        buf_add_int(text, json_integer_value(value));
    json_array_foreach (value, i, member) {
        if (i)
            buf_add_char(text, ',');
        add_value(text, member);
    }
}

/* The length of the word in braces that the text begins with, braces included; 0: it begins with none. */
static size_t word_length(const char *text)
{
    size_t length = text[0] == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

    return length && text[length + 1] == '}' ? length + 2 : 0;
}

/* The text with its words replaced; of a text that is one word its value, NULL if it has none. New reference. */
static json_t *expand(const struct words *words, const char *text)
{
    AUTO_BUF out = {0};
    size_t length = word_length(text);

    if (length && !text[length])
        return value_of(words, text + 1, length - 2);
    while (*text) {
        json_auto_t *value = NULL;

        length = word_length(text);
        if (length) {
            value = value_of(words, text + 1, length - 2);
            add_value(&out, value);
        } else {
            buf_add_char(&out, *text);
        }
        text += length ? length : 1;
    }
    return json_string(out.data ? out.data : "");
}

/* ---- The request ---- */

static void add_escaped(struct buf *url, const char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (isalnum(byte) || strchr("-._~", byte))
            buf_add_char(url, *text);
        else
            buf_addf(url, "%%%02X", byte);
    }
}

static char *url_with(const struct words *words)
{
    const json_t *parameters = json_object_get(words->provider->description, "parameters");
    AUTO_BUF url = {0};
    const char *name;
    json_t *text;

    buf_add_text(&url, words->provider->url);
    json_object_foreach ((json_t *)(uintptr_t)parameters, name, text) {
        json_auto_t *value = expand(words, json_string_value(text));
        AUTO_BUF plain = {0};

        add_value(&plain, value);
        if (!plain.length)
            continue;
        buf_add_char(&url, strchr(url.data, '?') ? '&' : '?');
        add_escaped(&url, name);
        buf_add_char(&url, '=');
        add_escaped(&url, plain.data);
    }
    return buf_take(&url);
}

/* Values of the file are texts: what looks like a number or a boolean is sent as one. New reference. */
static json_t *literal(json_t *text)
{
    const char *word = json_string_value(text);
    size_t digits = strspn(word, "0123456789");

    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return json_boolean(word[0] == 't');
    if (digits && !word[digits] && digits < 10)
        return json_integer(strtol(word, NULL, 10));
    return json_incref(text);
}

/* A tree with its words replaced; NULL: there is nothing in it. New reference. */
static json_t *fill_tree(const struct words *words, json_t *tree)
{
    json_t *filled;
    const char *key;
    size_t i;
    json_t *value;

    if (json_is_string(tree))
        return strchr(json_string_value(tree), '{') ? expand(words, json_string_value(tree))
                                                    : literal(tree);
    filled = json_is_array(tree) ? json_array() : json_object();
    json_object_foreach (tree, key, value) {
        json_t *inner = fill_tree(words, value);

        if (inner)
            json_set(filled, key, inner);
    }
    json_array_foreach (tree, i, value) {
        json_t *inner = fill_tree(words, value);

        if (inner)
            json_array_append_new(filled, inner);
    }
    return filled;
}

static char **headers_with(const struct words *words)
{
    json_t *headers = json_object_get(words->provider->description, "headers");
    char **lines = mem_new_array(char *, json_object_size(headers) + 2);
    size_t count = 0;
    const char *name;
    json_t *text;

    json_object_foreach (headers, name, text) {
        json_auto_t *value = expand(words, json_string_value(text));
        AUTO_BUF plain = {0};

        add_value(&plain, value);
        if (plain.length)
            lines[count++] = mem_printf("%s: %s", name, plain.data);
    }
    if (is_post(words->provider))
        lines[count] = mem_strdup("Content-Type: application/json");
    return lines;
}

/* The query with its domains, for a service that has no parameter for them. The caller frees. */
static char *query_with(const struct web_provider *provider,
                        const struct web_question *question)
{
    AUTO_BUF query = {0};
    size_t count = json_array_size(question->domains);
    size_t i;
    json_t *domain;

    buf_add_text(&query, question->query);
    if (provider->takes_domains || !count || count > SITES_LIMIT)
        return buf_take(&query);
    buf_add_text(&query, count > 1 ? " (" : " ");
    json_array_foreach (question->domains, i, domain)
        buf_addf(&query, "%ssite:%s", i ? " OR " : "", json_string_value(domain));
    if (count > 1)
        buf_add_char(&query, ')');
    return buf_take(&query);
}

void web_provider_ask(const struct web_provider *provider, const struct web_question *question,
                      struct web_request *ret_request)
{
    AUTO_FREE char *query = query_with(provider, question);
    struct words words = {.provider = provider, .question = question, .query = query};
    json_auto_t *body = NULL;

    *ret_request = (struct web_request){.headers = headers_with(&words)};
    if (!is_post(provider)) {
        ret_request->url = url_with(&words);
        return;
    }
    body = fill_tree(&words, json_object_get(provider->description, "parameters"));
    ret_request->url = mem_strdup(provider->url);
    ret_request->body = json_text(body);
}

void web_request_clear(struct web_request *request)
{
    for (char **header = request->headers; header && *header; header++)
        free(*header);
    free(request->headers);
    free(request->url);
    free(request->body);
    *request = (struct web_request){0};
}

/* ---- The answer ---- */

/* What a path of names leads to; NULL: nothing. */
static json_t *follow(const json_t *value, const char *path)
{
    while (value && *path) {
        size_t length = strcspn(path, ".");
        AUTO_FREE char *name = mem_strndup(path, length);

        value = json_object_get(value, name);
        path += length + (path[length] == '.');
    }
    return (json_t *)(uintptr_t)value;
}

static bool is_below(const char *host, const char *domain)
{
    size_t host_length = strlen(host);
    size_t length = strlen(domain);

    return host_length >= length && strcasecmp(host + host_length - length, domain) == 0 &&
           (host_length == length || host[host_length - length - 1] == '.');
}

bool web_is_of(const json_t *domains, const char *url)
{
    AUTO_FREE char *pair = NULL;
    size_t i;
    json_t *domain;

    if (!json_array_size(domains))
        return true;
    pair = egress_pair_of(url);
    if (!pair)
        return false;
    *strrchr(pair, ':') = '\0';
    json_array_foreach (domains, i, domain) {
        if (is_below(pair, json_string_value(domain)))
            return true;
    }
    return false;
}

static bool is_wanted(const struct web_question *question, const char *url)
{
    return !egress_url_check(url, NULL) && web_is_of(question->domains, url);
}

static const char *field_of(const struct web_provider *provider, const json_t *result,
                            const char *field)
{
    const json_t *fields = json_object_get(provider->description, "fields");
    const char *path = json_get_string(fields, field, NULL);

    return path ? json_string_value(follow(result, path)) : NULL;
}

/* NULL: the result is left out. New reference. */
static json_t *read_result(const struct web_provider *provider,
                           const struct web_question *question, const json_t *result)
{
    const char *url = field_of(provider, result, "url");
    AUTO_FREE char *title = plain_line(field_of(provider, result, "title"));
    AUTO_FREE char *text = plain_line(field_of(provider, result, "text"));
    AUTO_FREE char *date = plain_line(field_of(provider, result, "date"));
    json_t *read;

    if (!url || strlen(url) > WEB_URL_LIMIT || !is_wanted(question, url))
        return NULL;
    read =
        json_build("{s:s, s:s, s:s}", "url", url, "title", *title ? title : url, "text", text);
    if (*date)
        json_set_string(read, "date", date);
    return read;
}

/* A list that is missing together with the object around it: nothing was found. */
static bool is_nothing(const json_t *answer, const char *path)
{
    const char *dot = strrchr(path, '.');
    AUTO_FREE char *around = dot ? mem_strndup(path, (size_t)(dot - path)) : NULL;

    return around && json_is_object(answer) && json_absent(follow(answer, around));
}

static enum err_code refuse_status(const struct web_provider *provider, int status,
                                   struct err *err)
{
    const char *forbidden = json_get_string(provider->description, "forbidden", NULL);

    if (status == 403 && forbidden)
        return err_set(err, ERR_UPSTREAM, "%s answered with status 403: %s", provider->name,
                       forbidden);
    return err_set(err, ERR_UPSTREAM, "%s answered with status %d", provider->name, status);
}

enum err_code web_provider_read(const struct web_provider *provider,
                                const struct web_question *question, int status,
                                const char *bytes, size_t length, json_t **ret_results,
                                struct err *err)
{
    const char *path = json_get_string(provider->description, "results", "");
    json_auto_t *answer = NULL;
    json_t *list;
    json_t *results;

    if (status != 200)
        return refuse_status(provider, status, err);
    if (json_parse(bytes, length, &answer, NULL))
        return err_set(err, ERR_UPSTREAM, "the answer of %s is not JSON", provider->name);
    list = follow(answer, path);
    if (!json_is_array(list) && !is_nothing(answer, path))
        return err_set(err, ERR_UPSTREAM, "the answer of %s has no list of results",
                       provider->name);
    results = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *result = json_array_size(results) < question->count
                             ? read_result(provider, question, json_array_get(list, i))
                             : NULL;

        if (result)
            json_array_append_new(results, result);
    }
    *ret_results = results;
    return ERR_OK;
}
