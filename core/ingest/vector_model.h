#ifndef RUNNEL_CORE_INGEST_VECTOR_MODEL_H
#define RUNNEL_CORE_INGEST_VECTOR_MODEL_H

#include <stdint.h>

#include "core/base/err.h"

/*
 * vector_model.h -- the operator's embedding model, as documents and searches see it: a number, dimensions, and the
 * mean.
 *
 * The model has a number from the start (store_embedding_model_choose()), even when its server is away. What it makes
 * is known when it has embedded some texts that are part of the program: how long its vectors are, and their mean. The
 * first of these texts is embedded again by each start. If its vector is another one, another model answers to the
 * name, and documents are made anew.
 *
 * Any thread that may wait, and several at once.
 */

struct embeddings;
struct store;
struct vector_model;

/* Constant, and alive as long as the model is open. */
struct vector_space {
    int id; /* of the model: segments of other numbers have other vectors */
    uint32_t dimensions;
    const float *mean;
};

/* The cosine below which a vector of the same text is not of the same model. */
#define VECTOR_MODEL_SAME 0.98

/* Both are borrowed until vector_model_free(). From now on the store attaches files for this model. */
enum err_code vector_model_open(struct store *store, struct embeddings *embeddings,
                                struct vector_model **ret_model, struct err *err) MUST_CHECK;
void vector_model_free(struct vector_model *model); /* NULL is fine */

/* For documents: embeds texts if that was not done in this process. Another thread that does so is waited for. Errors
 * as in embeddings.h, and ERR_STORE. */
enum err_code vector_model_learn(struct vector_model *model, uint64_t *ret_pause_ns,
                                 const struct vector_space **ret_space,
                                 struct err *err) MUST_CHECK;

/* For searches: what is known, by this node or another, of the current model. *ret_space is NULL if nothing is: then no
 * document has vectors of it. `seen` is a number that a segment has, or 0: a higher one than is known here makes it
 * look again. */
enum err_code vector_model_known(struct vector_model *model, int seen,
                                 const struct vector_space **ret_space,
                                 struct err *err) MUST_CHECK;

#endif
