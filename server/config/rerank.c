#include "server/config/rerank.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

static enum err_code read_url(const char *url, struct config_rerank *rerank, struct err *err)
{
    size_t length = strlen(url);

    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return err_set(err, ERR_INVALID,
                       "rerank.url: the URL must begin with http:// or https://");
    while (url[length - 1] == '/')
        length--;
    rerank->url = mem_strndup(url, length);
    return ERR_OK;
}

static enum err_code read_dialect(const char *name, struct config_rerank *rerank,
                                  struct err *err)
{
    if (strcmp(name, "cohere") == 0)
        rerank->dialect = RERANK_COHERE;
    else if (strcmp(name, "tei") == 0)
        rerank->dialect = RERANK_TEI;
    else
        return err_set(err, ERR_INVALID, "rerank.dialect: expected cohere or tei, not '%.64s'",
                       name);
    return ERR_OK;
}

enum err_code config_rerank_read(const json_t *section, struct config_rerank *ret_rerank,
                                 struct err *err)
{
    const char *variable = json_get_string(section, "api_key_env", NULL);
    enum err_code rc;

    *ret_rerank = (struct config_rerank){0};
    if (!section)
        return ERR_OK;
    ret_rerank->model = json_get_string(section, "model", NULL);
    ret_rerank->api_key = variable ? getenv(variable) : NULL;
    if (variable && !ret_rerank->api_key)
        return err_set(err, ERR_INVALID,
                       "rerank.api_key_env: the environment variable '%.64s' is not set",
                       variable);
    rc = read_dialect(json_get_string(section, "dialect", "cohere"), ret_rerank, err);
    return rc ? rc : read_url(json_get_string(section, "url", ""), ret_rerank, err);
}

void config_rerank_clear(struct config_rerank *rerank)
{
    free(rerank->url);
    *rerank = (struct config_rerank){0};
}
