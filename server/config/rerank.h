#ifndef RUNNEL_SERVER_CONFIG_RERANK_H
#define RUNNEL_SERVER_CONFIG_RERANK_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/ingest/rerank.h"

/*
 * config/rerank.h -- the section `rerank` of the configuration file: the model that judges what a search has found.
 *
 * Used at start, on one thread.
 */

struct config_rerank {
    char *url;                   /* without a slash at its end; NULL: there is no re-ranker */
    const char *api_key, *model; /* NULL for none */
    enum rerank_dialect dialect;
};

/* `section` is the section, or NULL, and must outlive *ret_rerank. ERR_INVALID with one sentence. The caller clears,
 * also after an error. */
enum err_code config_rerank_read(const json_t *section, struct config_rerank *ret_rerank,
                                 struct err *err) MUST_CHECK;
void config_rerank_clear(struct config_rerank *rerank);

#endif
