/*
 * vector_model.c -- spaces are made rarely and kept, so a pointer to one stays good.
 */

#include "core/ingest/vector_model.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/sample_texts.h"
#include "core/store/store.h"
#include "core/store/tables/vector_stores/embedding_models.h"
#include "core/store/tables/vector_stores/pgvector.h"

#define LEARN_SECONDS     60.0 /* for a batch of texts */
#define LEARN_ALL_SECONDS 600.0

struct space {
    struct vector_space shown;
    float *mean;
    struct space *older;
};

struct vector_model {
    struct store *store;
    struct embeddings *embeddings;
    char identity[EMBEDDING_IDENTITY_SIZE];
    struct lock lock;
    pthread_cond_t learned;
    /* Of which only the learner reads the probe; guarded by lock, as all below */
    struct embedding_model current;
    struct space *newest; /* NULL: nothing is known */
    bool learning;
    bool tried; /* the first text was embedded by this process */
};

/* ---- Opening ---- */

/* What decides about the vectors of a text. The URL may have a password in it, so it is hashed. */
/* The engine is a part of it: an index has its vectors as int8, which cannot be given to a table, and a search looks in
 * one place. */
static void make_identity(const struct embeddings_options *options, const char *engine,
                          char ret_identity[EMBEDDING_IDENTITY_SIZE])
{
    AUTO_FREE char *all =
        mem_printf("%s\n%s\n%u\n%zu\n%s%s", options->url, options->model, options->dimensions,
                   options->max_input_tokens, options->document_prefix, engine);
    uint8_t hash[SHA256_DIGEST_SIZE];

    sha256_text(all, hash);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(ret_identity + 2 * i, 3, "%02x", hash[i]);
}

/* Takes the row, and shows its space if it has one. */
static void take_row_locked(struct vector_model *model, struct embedding_model *row)
    REQUIRES(model->lock)
{
    if (row->dimensions && (!model->newest || model->newest->shown.id != row->id)) {
        struct space *space = mem_new(struct space);

        *space = (struct space){.mean = mem_new_array(float, row->dimensions),
                                .older = model->newest};
        memcpy(space->mean, row->mean, row->dimensions * sizeof(float));
        space->shown = (struct vector_space){
            .id = row->id, .dimensions = row->dimensions, .mean = space->mean};
        model->newest = space;
    }
    embedding_model_clear(&model->current);
    model->current = *row;
    *row = (struct embedding_model){0};
    store_set_embedding_model(model->store, model->current.id);
}

enum err_code vector_model_open(struct store *store, struct embeddings *embeddings,
                                struct vector_model **ret_model, struct err *err)
{
    const struct embeddings_options *options = embeddings_options(embeddings);
    struct vector_model *model = mem_new(struct vector_model);
    struct embedding_model row = {0};
    enum err_code rc;

    *model = (struct vector_model){.store = store, .embeddings = embeddings};
    make_identity(options, store_pgvector_is_used(store) ? "\npgvector" : "", model->identity);
    lock_init(&model->lock, LOCK_VECTOR_MODEL);
    lock_cond_init(&model->learned);
    rc = store_embedding_model_choose(store, options->model, model->identity, &row, err);
    if (rc) {
        vector_model_free(model);
        return rc;
    }
    lock_acquire(&model->lock);
    take_row_locked(model, &row);
    lock_release(&model->lock);
    *ret_model = model;
    return ERR_OK;
}

void vector_model_free(struct vector_model *model)
{
    if (!model)
        return;
    while (model->newest) {
        struct space *space = model->newest;

        model->newest = space->older;
        free(space->mean);
        free(space);
    }
    embedding_model_clear(&model->current);
    pthread_cond_destroy(&model->learned);
    lock_destroy(&model->lock);
    free(model);
}

/* ---- Learning ---- */

struct sampling {
    struct embedding_model *row;
    size_t count; /* texts so far */
};

static enum err_code take_samples(void *arg, size_t first, size_t count, const float *vectors,
                                  uint32_t dimensions, struct err *err)
{
    struct sampling *sampling = arg;
    struct embedding_model *row = sampling->row;

    (void)err;
    if (!first) {
        row->dimensions = dimensions;
        row->probe = mem_new_array(float, dimensions);
        row->mean = mem_zeroed(dimensions, sizeof(float));
        memcpy(row->probe, vectors, dimensions * sizeof(float));
    }
    if (dimensions != row->dimensions)
        return err_set(err, ERR_UPSTREAM,
                       "the embeddings model has answered with vectors of %u and of %u "
                       "dimensions",
                       row->dimensions, dimensions);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t at = 0; at < dimensions; at++)
            row->mean[at] += vectors[i * dimensions + at] / (float)SAMPLE_TEXTS;
    }
    sampling->count += count;
    return ERR_OK;
}

/* Of the first `count` texts. */
static enum err_code embed_samples(struct vector_model *model, size_t count,
                                   struct embedding_model *row, uint64_t *ret_pause_ns,
                                   struct err *err)
{
    struct sampling sampling = {.row = row};
    const struct embeddings_request request = {.kind = EMBEDDINGS_DOCUMENT,
                                               .texts = sample_texts,
                                               .count = count,
                                               .seconds = LEARN_SECONDS,
                                               .all_seconds = LEARN_ALL_SECONDS,
                                               .take = take_samples,
                                               .arg = &sampling};

    return embeddings_make(model->embeddings, &request, ret_pause_ns, err);
}

static enum err_code learn_row(struct vector_model *model, struct embedding_model *row,
                               uint64_t *ret_pause_ns, struct err *err)
{
    enum err_code rc = embed_samples(model, SAMPLE_TEXTS, row, ret_pause_ns, err);

    return rc ? rc : store_embedding_model_learn(model->store, row, err);
}

static bool is_same(const struct embedding_model *row, const struct embedding_model *now)
{
    double sum = 0;

    if (row->dimensions != now->dimensions)
        return false;
    for (uint32_t i = 0; i < row->dimensions; i++)
        sum += (double)row->probe[i] * (double)now->probe[i];
    return sum >= VECTOR_MODEL_SAME;
}

/* The row is known: does the model still make the same of the first text? */
static enum err_code try_row(struct vector_model *model, struct embedding_model *row,
                             uint64_t *ret_pause_ns, struct err *err)
{
    struct embedding_model now = {.id = row->id};
    enum err_code rc = embed_samples(model, 1, &now, ret_pause_ns, err);

    if (!rc && !is_same(row, &now)) {
        log_warn("another embeddings model answers to its name: documents are made anew");
        rc = store_embedding_model_renew(model->store, model->identity, row, err);
        if (!rc && !row->dimensions)
            rc = learn_row(model, row, ret_pause_ns, err);
    }
    embedding_model_clear(&now);
    return rc;
}

/* With `learning` set, so by one thread at a time. */
static enum err_code learn(struct vector_model *model, uint64_t *ret_pause_ns, struct err *err)
{
    struct embedding_model row = {0};
    enum err_code rc = store_embedding_model_find(model->store, model->identity, &row, err);

    if (!rc)
        rc = row.dimensions ? try_row(model, &row, ret_pause_ns, err)
                            : learn_row(model, &row, ret_pause_ns, err);
    if (rc) {
        embedding_model_clear(&row);
        return rc;
    }
    lock_acquire(&model->lock);
    take_row_locked(model, &row);
    model->tried = true;
    lock_release(&model->lock);
    return ERR_OK;
}

/* Waits for the thread that learns. True: it is the caller's turn. */
static bool take_turn(struct vector_model *model)
{
    bool mine;

    lock_acquire(&model->lock);
    while (model->learning)
        lock_wait(&model->lock, &model->learned);
    mine = !model->tried;
    model->learning = mine;
    lock_release(&model->lock);
    return mine;
}

static void end_turn(struct vector_model *model)
{
    lock_acquire(&model->lock);
    model->learning = false;
    pthread_cond_broadcast(&model->learned);
    lock_release(&model->lock);
}

static const struct vector_space *newest(struct vector_model *model)
{
    const struct vector_space *space = NULL;

    lock_acquire(&model->lock);
    if (model->newest && model->newest->shown.id == model->current.id)
        space = &model->newest->shown;
    lock_release(&model->lock);
    return space;
}

enum err_code vector_model_learn(struct vector_model *model, uint64_t *ret_pause_ns,
                                 const struct vector_space **ret_space, struct err *err)
{
    enum err_code rc = ERR_OK;

    *ret_pause_ns = 0;
    if (take_turn(model)) {
        rc = learn(model, ret_pause_ns, err);
        end_turn(model);
    }
    if (!rc)
        *ret_space = newest(model);
    return rc;
}

enum err_code vector_model_known(struct vector_model *model, int seen,
                                 const struct vector_space **ret_space, struct err *err)
{
    const struct vector_space *space = newest(model);
    struct embedding_model row = {0};
    enum err_code rc;

    if (!space || seen > space->id) {
        rc = store_embedding_model_find(model->store, model->identity, &row, err);
        if (rc)
            return rc;
        lock_acquire(&model->lock);
        take_row_locked(model, &row);
        lock_release(&model->lock);
    }
    *ret_space = newest(model);
    return ERR_OK;
}
