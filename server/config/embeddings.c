#include "server/config/embeddings.h"

#include <string.h>

#include "core/base/json.h"
#include "core/ingest/embeddings.h"
#include "core/retrieval/segment.h"
#include "server/config/section.h"

#define TOKENS_MAX 1000000

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
    rc = section_upstream(section, "embeddings", upstreams, count, &embeddings.upstream, err);
    if (!rc)
        rc = section_number(section, "embeddings", "dimensions", 1, SEGMENT_DIMENSIONS_MAX, 0,
                            &dimensions, err);
    if (!rc)
        rc = section_number(section, "embeddings", "max_input_tokens", EMBEDDINGS_TOKENS_MIN,
                            TOKENS_MAX, EMBEDDINGS_TOKENS_DEFAULT, &tokens, err);
    if (!rc)
        rc = read_reindex(section, &embeddings.reindex, err);
    if (rc)
        return rc;
    embeddings.dimensions = (uint32_t)dimensions;
    embeddings.max_input_tokens = (size_t)tokens;
    *ret_embeddings = embeddings;
    return ERR_OK;
}
