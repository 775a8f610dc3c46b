#include "core/ingest/vector_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/vectors.h"
#include "core/store/tables/vector_stores/pgvector.h"

static struct pgvector_query query_of(const struct vector_rows *rows, const float *vector)
{
    return (struct pgvector_query){.vector = vector,
                                   .dimensions = rows->space->dimensions,
                                   .model = rows->space->id,
                                   .documents = rows->documents,
                                   .count = rows->count,
                                   .chunks = rows->chunks};
}

static int by_id(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

static size_t near(void *arg, const float *vector, struct vectors_hit *ret_hits, size_t limit)
{
    struct vector_rows *rows = arg;
    const struct pgvector_query query = query_of(rows, vector);
    AUTO_FREE struct pgvector_hit *hits = mem_new_array(struct pgvector_hit, limit + 1);
    size_t found = 0, count = 0;

    if (!rows->rc)
        rows->rc = store_pgvector_near(rows->store, rows->tenant, &query, limit, hits, &found,
                                       &rows->err);
    for (size_t i = 0; !rows->rc && i < found; i++) {
        const char *const *place = bsearch(hits[i].document_id, rows->documents, rows->count,
                                           sizeof(*rows->documents), by_id);

        if (place)
            ret_hits[count++] =
                (struct vectors_hit){.document = (uint32_t)(place - rows->documents),
                                     .chunk = hits[i].chunk,
                                     .cosine = hits[i].cosine};
    }
    return count;
}

static void compare(void *arg, const float *vector, struct vectors_hit *hits, size_t count)
{
    struct vector_rows *rows = arg;
    const struct pgvector_query query = query_of(rows, vector);
    AUTO_FREE struct pgvector_hit *compared = mem_new_array(struct pgvector_hit, count + 1);

    for (size_t i = 0; i < count; i++) {
        const char *id = rows->documents[hits[i].document];

        memcpy(compared[i].document_id, id, strlen(id) + 1);
        compared[i].chunk = hits[i].chunk;
    }
    if (!rows->rc && count)
        rows->rc = store_pgvector_compare(rows->store, rows->tenant, &query, compared, count,
                                          &rows->err);
    for (size_t i = 0; !rows->rc && i < count; i++)
        hits[i].cosine = compared[i].cosine;
}

enum err_code vector_rows_begin(struct vector_rows *rows, const struct vector_space *space,
                                bool *ret_has, struct err *err)
{
    struct pgvector_query query;

    rows->space = space;
    rows->rc = ERR_OK;
    rows->table = (struct candidates_table){.near = near, .compare = compare, .arg = rows};
    query = query_of(rows, NULL);
    return store_pgvector_has(rows->store, rows->tenant, &query, ret_has, err);
}
