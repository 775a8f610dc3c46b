#include "server/config/embeddings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/ingest/embeddings.h"
#include "core/retrieval/segment.h"

#define TOKENS_MAX 1000000

/* Values of the file are texts. */
static enum err_code read_number(const json_t *section, const char *key, long low, long high,
                                 long fallback, long *ret_number, struct err *err)
{
    const char *text = json_get_string(section, key, NULL);
    char *end;

    *ret_number = fallback;
    if (!text)
        return ERR_OK;
    errno = 0;
    *ret_number = strtol(text, &end, 10);
    if (errno || !*text || *end || *ret_number < low || *ret_number > high)
        return err_set(err, ERR_INVALID, "embeddings.%s: expected a number from %ld to %ld",
                       key, low, high);
    return ERR_OK;
}

static enum err_code find_upstream(const json_t *section,
                                   const struct model_upstream *upstreams, size_t count,
                                   const struct model_upstream **ret_upstream, struct err *err)
{
    const char *name = json_get_string(section, "upstream", "");

    for (size_t i = 0; i < count; i++) {
        if (strcmp(upstreams[i].name, name) == 0) {
            *ret_upstream = &upstreams[i];
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID, "embeddings.upstream: there is no upstream '%.64s'", name);
}

static enum err_code read_reindex(const json_t *section, bool *ret_reindex, struct err *err)
{
    const char *word = json_get_string(section, "reindex", "auto");

    *ret_reindex = strcmp(word, "auto") == 0;
    if (*ret_reindex || strcmp(word, "manual") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "embeddings.reindex: expected auto or manual");
}

enum err_code config_embeddings_read(const json_t *section,
                                     const struct model_upstream *upstreams, size_t count,
                                     struct config_embeddings *ret_embeddings, struct err *err)
{
    struct config_embeddings embeddings = {
        .model = json_get_string(section, "model", ""),
        .query_prefix = json_get_string(section, "query_prefix", ""),
        .document_prefix = json_get_string(section, "document_prefix", ""),
    };
    long dimensions = 0, tokens = 0;
    enum err_code rc;

    *ret_embeddings = (struct config_embeddings){0};
    if (!section)
        return ERR_OK;
    rc = find_upstream(section, upstreams, count, &embeddings.upstream, err);
    if (!rc)
        rc = read_number(section, "dimensions", 1, SEGMENT_DIMENSIONS_MAX, 0, &dimensions, err);
    if (!rc)
        rc = read_number(section, "max_input_tokens", EMBEDDINGS_TOKENS_MIN, TOKENS_MAX,
                         EMBEDDINGS_TOKENS_DEFAULT, &tokens, err);
    if (!rc)
        rc = read_reindex(section, &embeddings.reindex, err);
    if (rc)
        return rc;
    embeddings.dimensions = (uint32_t)dimensions;
    embeddings.max_input_tokens = (size_t)tokens;
    *ret_embeddings = embeddings;
    return ERR_OK;
}
