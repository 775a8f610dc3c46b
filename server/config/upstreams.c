/*
 * upstreams.c -- the list of upstreams: built from the tree of the file, and checked.
 *
 * The setting `upstream_url` and the demo model become entries of the list, so there is one way to read an upstream.
 * The array points into the entries.
 */

#include "server/config/upstreams.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/own_address.h"
#include "server/config/checks.h"
#include "server/config/whole.h"

static struct http_timeouts upstream_timeouts(const struct config *config)
{
    return (struct http_timeouts){
        .connect = clock_ns_from_seconds(config->upstream_connect_timeout),
        .first_byte = clock_ns_from_seconds(config->upstream_first_byte_timeout),
        .idle = clock_ns_from_seconds(config->upstream_idle_timeout),
        .total = clock_ns_from_seconds(config->upstream_total_timeout),
    };
}

/* A URL without trailing slashes: paths are appended to it. */
static json_t *trimmed_url(const char *url)
{
    size_t length = strlen(url);

    while (length && url[length - 1] == '/')
        length--;
    return json_stringn(url, length);
}

/* The list of upstreams in the tree of the file; made if it is missing, also without a file. */
static json_t *upstream_list(struct config *config)
{
    struct config_whole *whole = config_whole_of(config);
    json_t *list;

    if (!whole->file)
        whole->file = json_object();
    list = json_object_get(whole->file, "upstreams");
    if (!json_is_array(list)) {
        list = json_array();
        json_set(whole->file, "upstreams", list);
    }
    return list;
}

static bool has_input(const json_t *entry, const char *kind)
{
    size_t i;
    json_t *word;

    json_array_foreach (json_object_get(entry, "inputs"), i, word) {
        if (strcmp(json_string_value(word), kind) == 0)
            return true;
    }
    return false;
}

static bool reasoning_parse(const char *word, enum model_reasoning *ret_reasoning)
{
    static const char *const words[] = {
        [MODEL_REASONING_AUTO] = "auto",
        [MODEL_REASONING_ALWAYS] = "always",
        [MODEL_REASONING_NEVER] = "never",
    };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_reasoning = (enum model_reasoning)i;
            return true;
        }
    }
    return false;
}

static void add_words(const json_t *list, const char ***word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        *(*word)++ = json_string_value(json_array_get(list, i));
    *(*word)++ = NULL;
}

/* `upstream` points into the entry. Its patterns, and what it executes itself, are each a NULL-terminated run of one
 * array for all upstreams, whose next free place is *pattern. */
static void fill_upstream(struct config *config, struct model_upstream *upstream, json_t *entry,
                          const char ***pattern)
{
    json_t *models = json_object_get(entry, "models");

    json_set(entry, "url", trimmed_url(json_get_string(entry, "url", "")));
    upstream->name = json_get_string(entry, "name", "");
    upstream->url = json_get_string(entry, "url", "");
    upstream->api_key = json_get_string(entry, "api_key", NULL);
    if (strcmp(json_get_string(entry, "dialect", "chat"), "responses") == 0)
        upstream->dialect = MODEL_DIALECT_RESPONSES;
    upstream->reads_files = has_input(entry, "file");
    upstream->text_only = json_object_get(entry, "inputs") && !has_input(entry, "image");
    (void)reasoning_parse(json_get_string(entry, "reasoning", "auto"), &upstream->reasoning);
    upstream->context_tokens = strtoll(json_get_string(entry, "context_tokens", "0"), NULL, 10);
    upstream->tokenizer_file = json_get_string(entry, "tokenizer", NULL);
    upstream->tokenizer_split = json_get_string(entry, "tokenizer_split", NULL);
    upstream->timeouts = upstream_timeouts(config);
    upstream->models = *pattern;
    if (json_absent(models))
        *(*pattern)++ = "*";
    add_words(models, pattern);
    if (json_array_size(json_object_get(entry, "passes"))) {
        upstream->passes = *pattern;
        add_words(json_object_get(entry, "passes"), pattern);
    }
}

/* Builds the array anew from the list: upstreams are added one by one, and the first that serves a model is
 * used, so upstream_url comes last. */
void config_upstreams_build(struct config *config)
{
    json_t *list = upstream_list(config);
    size_t count = json_array_size(list);
    size_t room = 0;
    const char **pattern;

    for (size_t i = 0; i < count; i++)
        room += json_array_size(json_object_get(json_array_get(list, i), "models")) +
                json_array_size(json_object_get(json_array_get(list, i), "passes")) + 3;
    free(config->upstreams);
    free(config_whole_of(config)->patterns);
    config->upstreams = mem_new_array(struct model_upstream, count + 1);
    config->upstream_count = count;
    pattern = config_whole_of(config)->patterns = mem_new_array(const char *, room + 1);
    for (size_t i = 0; i < count; i++)
        fill_upstream(config, &config->upstreams[i], json_array_get(list, i), &pattern);
}

void config_add_upstream(struct config *config, const char *name, const char *url)
{
    json_array_append_new(upstream_list(config),
                          json_build("{s:s, s:s}", "name", name, "url", url));
    config_upstreams_build(config);
}

void config_upstreams_add_setting(struct config *config)
{
    json_t *entry;

    if (!config->upstream_url)
        return;
    entry = json_build("{s:s, s:s}", "name", "upstream_url", "url", config->upstream_url);
    if (config->upstream_api_key)
        json_set_string(entry, "api_key", config->upstream_api_key);
    json_array_append_new(upstream_list(config), entry);
}

/* ---- Checks ---- */

static enum err_code check_upstream(const struct model_upstream *upstream, const char *host,
                                    const char *port, struct err *err)
{
    if (strncmp(upstream->url, "http://", 7) != 0 && strncmp(upstream->url, "https://", 8) != 0)
        return err_set(err, ERR_INVALID,
                       "upstream %.64s: the URL must begin with http:// or "
                       "https://",
                       upstream->name);
    if (config_check_key("the key of an upstream", upstream->api_key, err))
        return ERR_INVALID;
    /* Otherwise each request would cause another one to itself. */
    if (own_address(host, port, upstream->url))
        return err_set(err, ERR_INVALID, "upstream %.64s: %.128s is this server's own address",
                       upstream->name, upstream->url);
    return ERR_OK;
}

static enum err_code check_dialects(struct config *config, struct err *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach (upstream_list(config), i, entry) {
        const char *dialect = json_get_string(entry, "dialect", "chat");

        if (strcmp(dialect, "chat") != 0 && strcmp(dialect, "responses") != 0)
            return err_set(err, ERR_INVALID,
                           "upstreams[%zu].dialect: expected chat or responses", i);
    }
    return ERR_OK;
}

static enum err_code check_inputs(struct config *config, struct err *err)
{
    size_t i, j;
    json_t *entry, *word;

    json_array_foreach (upstream_list(config), i, entry) {
        json_array_foreach (json_object_get(entry, "inputs"), j, word) {
            const char *text = json_string_value(word);

            if (strcmp(text, "text") != 0 && strcmp(text, "image") != 0 &&
                strcmp(text, "file") != 0)
                return err_set(err, ERR_INVALID,
                               "upstreams[%zu].inputs[%zu]: expected text, image or file", i,
                               j);
        }
    }
    return ERR_OK;
}

static enum err_code check_reasoning(struct config *config, struct err *err)
{
    size_t i;
    json_t *entry;
    enum model_reasoning ignored;

    json_array_foreach (upstream_list(config), i, entry) {
        if (!reasoning_parse(json_get_string(entry, "reasoning", "auto"), &ignored))
            return err_set(err, ERR_INVALID,
                           "upstreams[%zu].reasoning: expected auto, always or never", i);
    }
    return ERR_OK;
}

static enum err_code check_passes(struct config *config, struct err *err)
{
    size_t i, j;
    json_t *entry, *word;

    json_array_foreach (upstream_list(config), i, entry) {
        const json_t *passes = json_object_get(entry, "passes");
        const char *dialect = json_get_string(entry, "dialect", "chat");

        if (json_array_size(passes) && strcmp(dialect, "responses") != 0)
            return err_set(err, ERR_INVALID,
                           "upstreams[%zu].passes: only for the dialect responses", i);
        json_array_foreach (passes, j, word) {
            const char *text = json_string_value(word);

            if (strcmp(text, "web_search") != 0 && strcmp(text, "image_generation") != 0)
                return err_set(err, ERR_INVALID,
                               "upstreams[%zu].passes[%zu]: expected web_search or "
                               "image_generation",
                               i, j);
        }
    }
    return ERR_OK;
}

static enum err_code check_context_tokens(struct config *config, struct err *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach (upstream_list(config), i, entry) {
        const char *count = json_get_string(entry, "context_tokens", "1");

        if (strlen(count) > 9 || strspn(count, "0123456789") != strlen(count) ||
            strtol(count, NULL, 10) < 1)
            return err_set(err, ERR_INVALID,
                           "upstreams[%zu].context_tokens: expected a number of tokens", i);
    }
    return ERR_OK;
}

enum err_code config_upstreams_check(struct config *config, struct err *err)
{
    enum err_code rc = check_dialects(config, err);

    if (!rc)
        rc = check_inputs(config, err);
    if (!rc)
        rc = check_reasoning(config, err);
    if (!rc)
        rc = check_context_tokens(config, err);
    if (!rc)
        rc = check_passes(config, err);
    return rc;
}

enum err_code config_upstreams_check_urls(const struct config *config, const char *host,
                                          const char *port, struct err *err)
{
    for (size_t i = 0; i < config->upstream_count; i++) {
        enum err_code rc = check_upstream(&config->upstreams[i], host, port, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}
