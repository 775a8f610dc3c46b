#ifndef RUNNEL_SERVER_CONFIG_EMBEDDINGS_H
#define RUNNEL_SERVER_CONFIG_EMBEDDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/model/model.h"

/*
 * config/embeddings.h -- the section `embeddings` of the configuration file: the model by which vector stores are
 * searched by meaning.
 *
 * Used at start, on one thread.
 */

#define EMBEDDINGS_TOKENS_DEFAULT 8192

struct config_embeddings {
    /* NULL: there is no such section, and search is by words */
    const struct model_upstream *upstream;
    /* These point into the section: */
    const char *model;
    const char *query_prefix;
    const char *document_prefix;
    uint32_t dimensions; /* 0: as many as the model has */
    size_t max_input_tokens;
    bool reindex; /* documents are made anew by themselves when the model changes */
};

/* `section` is the section, or NULL. It and the upstreams must outlive *ret_embeddings. ERR_INVALID with one
 * sentence. */
enum err_code config_embeddings_read(const json_t *section,
                                     const struct model_upstream *upstreams, size_t count,
                                     struct config_embeddings *ret_embeddings,
                                     struct err *err) MUST_CHECK;

#endif
