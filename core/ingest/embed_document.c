#include "core/ingest/embed_document.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/vector_index.h"
#include "core/ingest/vector_model.h"
#include "core/retrieval/chunker.h"
#include "core/retrieval/index.h"
#include "core/retrieval/vectors.h"
#include "core/store/tables/vector_stores/document_vectors.h"
#include "core/store/tables/vector_stores/pgvector.h"

#define WINDOW (EMBEDDINGS_BATCH * EMBEDDINGS_AT_ONCE) /* chunks that are read at once */

#define OTHERS_US (10 * US_PER_SECOND) /* until a document of a newer model is claimed again */

#define HALF ((uint64_t)2) /* bytes of a number of a halfvec */

struct embedding {
    const struct document_embedder *embedder;
    struct document_work *work;
};

static enum err_code keep(void *arg, size_t first, size_t count, const float *vectors,
                          uint32_t dimensions, struct err *err)
{
    struct embedding *embedding = arg;

    (void)first;
    if (FAULT("ingest.embedded"))
        return err_set(err, ERR_INTERNAL, "a fault before vectors are stored");
    return store_document_embedded(embedding->embedder->store, embedding->work, vectors, count,
                                   dimensions, err);
}

/* The texts as the model gets them. The caller frees each. */
static void texts_of(const struct document_work *work, const struct document_chunk *chunks,
                     size_t count, char **ret_texts)
{
    for (size_t i = 0; i < count; i++) {
        struct buf text = {0};

        chunk_add_parts(&text, work->filename, chunks[i].heading, chunks[i].text);
        ret_texts[i] = buf_take(&text);
    }
}

/* The next chunks without a vector, at least one. */
static enum err_code embed_window(struct embedding *embedding, const struct vector_space *space,
                                  uint64_t *ret_pause_ns, struct err *err)
{
    const struct document_embedder *embedder = embedding->embedder;
    struct document_work *work = embedding->work;
    struct embeddings_request request = {.kind = EMBEDDINGS_DOCUMENT,
                                         .dimensions = space->dimensions,
                                         .seconds = embedder->seconds,
                                         .all_seconds = embedder->all_seconds,
                                         .take = keep,
                                         .arg = embedding};
    char *texts[WINDOW];
    struct document_chunk *chunks;
    enum err_code rc = store_document_chunks(embedder->store, work, work->embedded, WINDOW,
                                             &chunks, &request.count, err);

    if (rc)
        return rc;
    texts_of(work, chunks, request.count, texts);
    request.texts = (const char *const *)texts;
    rc = request.count
             ? embeddings_make(embedder->embeddings, &request, ret_pause_ns, err)
             : err_set(err, ERR_INTERNAL, "the chunks of %s are not all there", work->id);
    for (size_t i = 0; i < request.count; i++)
        free(texts[i]);
    document_chunks_free(chunks, request.count);
    return rc;
}

/* What is stored, as the index has it. */
static enum err_code build(const struct document_embedder *embedder,
                           const struct document_work *work, const struct vector_space *space,
                           struct buf *ret_index, struct err *err)
{
    CLEANUP(vectors_builder_clear)
    struct vectors_builder builder = {
        .dimensions = space->dimensions, .model = (uint32_t)space->id, .mean = space->mean};
    struct buf int8 = {0};

    while (builder.chunks < work->chunks) {
        float *vectors;
        size_t count;
        enum err_code rc = store_document_vectors(embedder->store, work, space->dimensions,
                                                  builder.chunks, &vectors, &count, err);

        if (rc)
            return rc;
        vectors_builder_add(&builder, vectors, (uint32_t)count);
        free(vectors);
    }
    vectors_builder_finish(&builder, ret_index, &int8);
    index_pad(ret_index);
    buf_add(ret_index, int8.data, int8.length);
    buf_clear(&int8);
    return ERR_OK;
}

/* Their rows are there already, and no search sees them before this. */
static enum err_code publish_rows(const struct document_embedder *embedder,
                                  const struct document_work *work,
                                  const struct vector_space *space, struct err *err)
{
    if (FAULT("ingest.publish"))
        return err_set(err, ERR_INTERNAL, "a fault before a document was published");
    return store_document_publish_rows(embedder->store, work,
                                       work->chunks * space->dimensions * HALF, err);
}

static enum err_code publish(const struct document_embedder *embedder,
                             struct document_work *work, const struct vector_space *space,
                             struct err *err)
{
    struct buf index = {0};
    struct err unembedded;
    enum err_code rc;

    if (store_pgvector_is_used(embedder->store))
        return publish_rows(embedder, work, space, err);
    rc = build(embedder, work, space, &index, err);

    /* Vectors that do not fit are made again. */
    if (rc == ERR_INTERNAL && store_document_unembed(embedder->store, work, &unembedded))
        *err = unembedded;
    if (rc)
        return rc;
    rc = FAULT("ingest.publish")
             ? err_set(err, ERR_INTERNAL, "a fault before a document was published")
             : store_document_publish_cut(embedder->store, work, index.data, index.length, err);
    buf_clear(&index);
    return rc;
}

/* The document was to have vectors of another model. If that is newer than this node knows, and another document is to
 * be replaced, which may have vectors, then it is left to a node that knows the model. */
static enum err_code leave(const struct document_embedder *embedder,
                           const struct document_work *work, const struct vector_space *space,
                           struct err *err)
{
    enum err_code rc;

    if (!work->replaces[0] || (space && space->id > work->model_id))
        return store_document_publish_cut(embedder->store, work, NULL, 0, err);
    rc = store_document_retry(embedder->store, work, OTHERS_US, RETRY_UNCOUNTED, err);
    return rc ? rc
              : err_set(err, ERR_CANCELLED, "another node knows the model of %s", work->id);
}

enum err_code document_embed(const struct document_embedder *embedder,
                             struct document_work *work, uint64_t *ret_pause_ns,
                             bool *ret_ready, struct err *err)
{
    struct embedding embedding = {.embedder = embedder, .work = work};
    const struct vector_space *space = NULL;
    size_t before = work->embedded;
    enum err_code rc = vector_model_learn(embedder->model, ret_pause_ns, &space, err);

    /* A model that refuses the program's own texts is to be mended, and not the document. */
    if (rc == ERR_INVALID)
        err->code = rc = ERR_UPSTREAM;
    if (!rc)
        rc = vector_model_known(embedder->model, work->model_id, &space, err);
    if (rc)
        return rc;
    *ret_ready = true;
    if (!space || space->id != work->model_id)
        return leave(embedder, work, space, err);
    vector_index_want(embedder->index, space->id, space->dimensions);
    if (before < work->chunks)
        rc = embed_window(&embedding, space, ret_pause_ns, err);
    if (rc && !(rc == ERR_TIMEOUT && work->embedded > before))
        return rc; /* a slow model that has made some of the vectors has not failed */
    *ret_ready = work->embedded == work->chunks;
    return *ret_ready ? publish(embedder, work, space, err) : ERR_OK;
}
