/*
 * checks.c -- what several values together must be.
 *
 * They refuse what would only fail later, in front of a client: a server without keys on a public address, an upstream
 * that is this server itself.
 */

#include "server/config/checks.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/mask.h"
#include "core/net/egress.h"
#include "core/net/listen.h"
#include "core/net/own_address.h"
#include "core/sandbox/compute.h"
#include "server/config/tools.h"
#include "server/config/upstreams.h"
#include "server/config/whole.h"

#define KEY_LIMIT 256 /* characters of an API key */

/* A key goes into an Authorization header: visible ASCII without blanks. */
enum err_code config_check_key(const char *name, const char *key, struct err *err)
{
    if (!key)
        return ERR_OK;
    if (strlen(key) > KEY_LIMIT)
        return err_set(err, ERR_INVALID, "%s is longer than %d characters", name, KEY_LIMIT);
    for (const char *c = key; *c; c++)
        if (*c <= ' ' || *c > '~')
            return err_set(err, ERR_INVALID, "%s must be printable ASCII without blanks", name);
    return ERR_OK;
}

/* libpq accepts a URL or key=value pairs. Anything else is a mistake of the operator, and would look like a
 * database that is away. */
static enum err_code check_database(const char *name, const char *url, struct err *err)
{
    if (!url || strncmp(url, "postgresql://", 13) == 0 ||
        strncmp(url, "postgres://", 11) == 0 || strchr(url, '='))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "%s: expected postgresql://... or key=value pairs, not '%.64s'", name, url);
}

static enum err_code check_databases(const struct config *config, struct err *err)
{
    enum err_code rc = ERR_OK;

    if (strcmp(config->database_url, "embedded") != 0)
        rc = check_database("database_url", config->database_url, err);
    if (!rc)
        rc = check_database("database_direct_url", config->database_direct_url, err);
    return rc;
}

/* Only for this setting, where a missing /v1 is the usual mistake. The section `upstreams` may name servers
 * with other paths. */
static enum err_code check_upstream_url(const struct config *config, struct err *err)
{
    AUTO_FREE char *url = config->upstream_url ? mem_strdup(config->upstream_url) : NULL;
    size_t length = url ? strlen(url) : 0;

    while (length && url[length - 1] == '/')
        url[--length] = '\0';
    if (!url || (length > 3 && strcmp(url + length - 3, "/v1") == 0))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "upstream_url: expected a URL that ends in /v1, not '%.128s'",
                   config->upstream_url);
}

static enum err_code check_texts(const struct config *config, struct err *err)
{
    if (!config->listen || !config->database_url || !config->data_dir)
        return err_set(err, ERR_INVALID, "%s must not be empty",
                       !config->listen         ? "listen"
                       : !config->database_url ? "database_url"
                                               : "data_dir");
    return ERR_OK;
}

/* They become an argument of a program, and a part of a path. */
static enum err_code check_languages(const char *languages, struct err *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+";
    size_t length = languages ? strlen(languages) : 0;

    if (length && length < COMPUTE_ARGUMENT && strspn(languages, allowed) == length &&
        languages[0] != '+' && languages[length - 1] != '+' && !strstr(languages, "++"))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "ocr_languages: expected names of Tesseract such as eng+deu, not '%.128s'",
                   languages ? languages : "");
}

/* A mask cannot see what a picture shows, so where texts are masked no picture of a page is sent to a model. */
static enum err_code check_ocr(const struct config *config, struct err *err)
{
    if (config->ocr == OCR_TESSERACT)
        return check_languages(config->ocr_languages, err);
    if (config->ocr != OCR_UPSTREAM)
        return ERR_OK;
    if (!config->ocr_model.upstream)
        return err_set(err, ERR_INVALID,
                       "ocr is upstream, and the configuration file has no section 'ocr' with "
                       "the model");
    if (config->masks)
        return err_set(err, ERR_INVALID,
                       "ocr: hooks.before_send cannot mask what pictures of pages show; only "
                       "tesseract may read them");
    return ERR_OK;
}

static enum err_code check_tools(struct config *config, struct err *err)
{
    enum err_code rc;

    config->tools = json_object_get(config_whole_of(config)->file, "tools");
    rc = config_tools_check(config->tools, err);
    if (!rc)
        permission_set_read(&config->permissions,
                            json_object_get(config->tools, "permissions"));
    return rc;
}

static enum err_code build_masks(struct config *config, struct err *err)
{
    const json_t *hooks = json_object_get(config_whole_of(config)->file, "hooks");
    const json_t *list = json_object_get(hooks, "before_send");
    struct err why = {0};

    if (!json_array_size(list))
        return ERR_OK;
    if (masks_new(list, &config->masks, &why))
        return err_set(err, ERR_INVALID, "hooks.before_send%s", why.text);
    return ERR_OK;
}

/* The first mistake is reported, from the simple checks to those that read several values. */
enum err_code config_check(struct config *config, struct err *err)
{
    char host[256];
    char port[8];
    enum err_code rc = check_texts(config, err);

    if (!rc)
        rc = listen_split(config->listen, host, sizeof(host), port, sizeof(port), err);
    if (!rc)
        rc = check_databases(config, err);
    if (!rc && config->file_storage == FILE_STORAGE_S3 && !config->files.has_s3)
        rc = err_set(
            err, ERR_INVALID,
            "file_storage is s3, and the configuration file has no section 'files' with "
            "the bucket");
    if (!rc && config->retrieval_engine == RETRIEVAL_PGVECTOR && !config->embeddings.upstream)
        rc = err_set(err, ERR_INVALID,
                     "retrieval_engine is pgvector, and the configuration file has no section "
                     "'embeddings': there are no vectors to keep");
    if (!rc)
        rc = check_upstream_url(config, err);
    if (!rc)
        rc = config_check_key("api_key", config->api_key, err);
    if (!rc)
        rc = config_check_key("upstream_api_key", config->upstream_api_key, err);
    if (!rc)
        rc = config_check_key("the key of rerank.api_key_env", config->rerank.api_key, err);
    if (!rc)
        rc = config_upstreams_check(config, err);
    if (!rc)
        rc = check_tools(config, err);
    if (!rc)
        rc = build_masks(config, err);
    if (!rc)
        rc = check_ocr(config, err);
    if (rc)
        return rc;
    if (config->no_auth && !own_address_is_loopback(host))
        return err_set(err, ERR_INVALID,
                       "no_auth is only allowed on a loopback address, not on %s",
                       config->listen);
    return config_upstreams_check_urls(config, host, port, err);
}
