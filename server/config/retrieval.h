#ifndef RUNNEL_SERVER_CONFIG_RETRIEVAL_H
#define RUNNEL_SERVER_CONFIG_RETRIEVAL_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/retrieval/words.h"

/*
 * config/retrieval.h -- the section `retrieval` of the configuration file: what counts the tokens of chunks.
 *
 * Used at start, on one thread; the counter then by any thread.
 */

struct tokenizer;

struct config_retrieval {
    const char *file, *split;    /* as of tokenizer.h; NULL: tokens are estimated */
    struct tokenizer *tokenizer; /* NULL until it is loaded */
    struct token_counter counter;
};

/* `section` is the section, or NULL, and must outlive *ret_retrieval. */
void config_retrieval_read(const json_t *section, struct config_retrieval *ret_retrieval);

/* Loads the tokenizer. ERR_INVALID with one sentence. Without a file it does nothing. */
enum err_code config_retrieval_load(struct config_retrieval *retrieval,
                                    struct err *err) MUST_CHECK;
void config_retrieval_clear(struct config_retrieval *retrieval);

#endif
