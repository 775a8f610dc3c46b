#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_EMBEDDING_MODELS_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_EMBEDDING_MODELS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"

/*
 * embedding_models.h -- the models whose vectors are stored, each with a number.
 *
 * Vectors of different models cannot be compared. So a document says which model made its vectors, and a model that was
 * changed in the settings, or that others answer for under its name, gets a number of its own. The highest is the
 * current one. A model that is chosen again after another one is a new row: documents are made anew for higher numbers
 * only, so nodes with different settings cannot turn documents back and forth.
 *
 * Not of a project: the operator's.
 */

/* All that decides about vectors, as a hash: the same identity, the same vectors. */
#define EMBEDDING_IDENTITY_SIZE 65

struct embedding_model {
    int id;              /* from 1 */
    uint32_t dimensions; /* 0: it was not reached yet; then there is nothing else */
    float *probe;        /* `dimensions` numbers, as `mean` */
    float *mean;
};
void embedding_model_clear(struct embedding_model *model);

/* The current row if it has this identity, else a new one. */
enum err_code store_embedding_model_choose(struct store *store, const char *name,
                                           const char *identity,
                                           struct embedding_model *ret_model,
                                           struct err *err) MUST_CHECK;

/* The newest row of an identity that was chosen before. It need not be the current one: a node whose settings are older
 * leaves that alone. */
enum err_code store_embedding_model_find(struct store *store, const char *identity,
                                         struct embedding_model *ret_model,
                                         struct err *err) MUST_CHECK;

/* Says what was learned of a model that was not reached before. What another node has said before stays: *model is
 * what is stored then. */
enum err_code store_embedding_model_learn(struct store *store, struct embedding_model *model,
                                          struct err *err) MUST_CHECK;

/* Another model answers for `model`: makes a new row of the same identity, unless there is one that is newer. *model is
 * the newest of its identity then. */
enum err_code store_embedding_model_renew(struct store *store, const char *identity,
                                          struct embedding_model *model,
                                          struct err *err) MUST_CHECK;

/* ---- For attaching and making documents ---- */

/* From now on files are attached for the model with this number; 0: for words alone. Any thread. */
void store_set_embedding_model(struct store *store, int id);
int store_embedding_model_id(struct store *store);

#endif
