/*
 * query_vectors.c -- a table in which each text of a project has one place, by its hash. A newer text takes the
 * place of an older one.
 */

#include "core/ingest/query_vectors.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/model_rest.h"
#include "core/ingest/search.h"

struct known {
    char *text; /* NULL: none */
    char project[ID_SIZE];
    int model;
    float *vector;
};

struct query_vectors {
    struct embeddings *embeddings;
    struct model_rest rest;
    struct lock lock;
    struct known known[QUERY_VECTORS]; /* guarded by lock */
};

struct query_vectors *query_vectors_new(struct embeddings *embeddings)
{
    struct query_vectors *vectors = mem_zeroed(1, sizeof(*vectors));

    vectors->embeddings = embeddings;
    lock_init(&vectors->lock, LOCK_QUERY_VECTORS);
    return vectors;
}

void query_vectors_free(struct query_vectors *vectors)
{
    if (!vectors)
        return;
    for (size_t i = 0; i < QUERY_VECTORS; i++) {
        free(vectors->known[i].text);
        free(vectors->known[i].vector);
    }
    lock_destroy(&vectors->lock);
    free(vectors);
}

static struct known *place_of(struct query_vectors *vectors, const struct tenant *tenant,
                              const char *text)
{
    return &vectors->known[hash_add(hash_text(tenant->project), text) % QUERY_VECTORS];
}

static bool recall(struct query_vectors *vectors, const struct tenant *tenant,
                   const struct vector_space *space, const char *text, float *ret_vector)
{
    const struct known *known;
    bool found;

    lock_acquire(&vectors->lock);
    known = place_of(vectors, tenant, text);
    found = known->text && known->model == space->id && strcmp(known->text, text) == 0 &&
            strcmp(known->project, tenant->project) == 0;
    if (found)
        memcpy(ret_vector, known->vector, space->dimensions * sizeof(float));
    lock_release(&vectors->lock);
    return found;
}

static void remember(struct query_vectors *vectors, const struct tenant *tenant,
                     const struct vector_space *space, const char *text, const float *vector)
{
    struct known fresh = {.text = mem_strdup(text),
                          .model = space->id,
                          .vector = mem_new_array(float, space->dimensions)};
    struct known *known, stale;

    memcpy(fresh.project, tenant->project, sizeof(fresh.project));
    memcpy(fresh.vector, vector, space->dimensions * sizeof(float));
    lock_acquire(&vectors->lock);
    known = place_of(vectors, tenant, text);
    stale = *known;
    *known = fresh;
    lock_release(&vectors->lock);
    free(stale.text);
    free(stale.vector);
}

/* ---- Asking ---- */

struct asking {
    struct query_vectors *vectors;
    const struct tenant *tenant;
    const struct vector_space *space;
    const char *texts[SEARCH_QUERIES_LIMIT]; /* those that are not known */
    float *places[SEARCH_QUERIES_LIMIT];     /* of their vectors */
    size_t count;
};

static enum err_code take(void *arg, size_t first, size_t count, const float *vectors,
                          uint32_t dimensions, struct err *err)
{
    struct asking *asking = arg;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        const float *vector = vectors + i * dimensions;

        memcpy(asking->places[first + i], vector, dimensions * sizeof(float));
        remember(asking->vectors, asking->tenant, asking->space, asking->texts[first + i],
                 vector);
    }
    return ERR_OK;
}

static enum err_code ask(struct query_vectors *vectors,
                         const struct embeddings_request *request, struct err *err)
{
    uint64_t pause_ns;
    enum err_code rc;

    if (!request->count)
        return ERR_OK;
    if (!model_rest_may_ask(&vectors->rest, clock_mono_ns()))
        return err_set(err, ERR_CONFLICT, "the embeddings model has failed, and rests");
    rc = embeddings_make(vectors->embeddings, request, &pause_ns, err);
    model_rest_note(&vectors->rest, rc, pause_ns, clock_mono_ns());
    return rc;
}

enum err_code query_vectors_find(struct query_vectors *vectors, const struct tenant *tenant,
                                 const struct vector_space *space, const char *const *texts,
                                 size_t count, double seconds, float **ret_vectors,
                                 struct err *err)
{
    struct asking asking = {.vectors = vectors, .tenant = tenant, .space = space};
    struct embeddings_request request = {.kind = EMBEDDINGS_QUERY,
                                         .texts = asking.texts,
                                         .dimensions = space->dimensions,
                                         .seconds = seconds,
                                         .all_seconds = seconds,
                                         .take = take,
                                         .arg = &asking};
    float *found = mem_new_array(float, count * space->dimensions);
    enum err_code rc;

    assert(count <= SEARCH_QUERIES_LIMIT);
    for (size_t i = 0; i < count; i++) {
        float *place = found + i * space->dimensions;

        if (recall(vectors, tenant, space, texts[i], place))
            continue;
        asking.texts[asking.count] = texts[i];
        asking.places[asking.count++] = place;
    }
    request.count = asking.count;
    rc = ask(vectors, &request, err);
    if (rc)
        free(found);
    else
        *ret_vectors = found;
    return rc;
}
