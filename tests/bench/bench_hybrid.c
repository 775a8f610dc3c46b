/*
 * bench_hybrid.c -- searches by words and meaning over many chunks, and over the few that a filter leaves.
 *
 *   bench_hybrid CHUNKS DIMENSIONS QUERIES [CONNINFO]
 *
 * Words are drawn by Zipf's law, vectors lie in clusters with one common direction, as those of models do. A filter
 * keeps one document of a hundred; of these the exact vectors are kept, so what is found is compared with brute force.
 * Of a search of everything by vectors it says, for some places of its list, which share the candidates of the bits
 * have. Prints one line of JSON. One thread; times are of the processor, because other processes may be at work.
 * Queries are embedded beforehand.
 *
 * With CONNINFO, the same vectors lie in a table of pgvector, too, and the same queries are asked of it, by vectors
 * alone. Its times are of the wall, and ours of those searches stand beside them.
 */

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/ingest/candidates.h"
#include "core/retrieval/index.h"
#include "core/retrieval/vectors.h"
#include "tests/bench/pgvector_peer.h"

#define DOCUMENT_CHUNKS ((size_t)50)
#define CHUNK_WORDS     250
#define VOCABULARY      50000.0
#define CENTRES         200
#define FILTER_EVERY    100
#define RESULTS         20
#define RECALL_QUERIES  200
#define MODEL           7

static uint64_t seed = 0x2545F4914F6CDD1Du;

static double dice(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static float noise(void)
{
    return (float)(dice() + dice() + dice() + dice() - 2);
}

struct collection {
    size_t documents, dimensions;
    float *centres, *common;
    float *mean; /* of vectors of length 1 */
    struct buf *bytes;
    struct index *opened;
    const struct index **all, **kept; /* kept: what the filter leaves, else NULL */
    float *exact;                     /* vectors of the kept documents, or of all for a peer */
    struct peer *peer;                /* NULL: none */
};

static void add_words(struct buf *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(text, "w%u ", (unsigned)pow(VOCABULARY, dice()));
}

static void fill_vector(const struct collection *collection, float *vector)
{
    const float *centre =
        collection->centres + (size_t)(dice() * CENTRES) * collection->dimensions;

    for (size_t i = 0; i < collection->dimensions; i++)
        vector[i] = collection->common[i] + centre[i] + noise();
}

/* The vectors of a document, if they are kept. */
static float *exact_of(const struct collection *collection, size_t document)
{
    size_t place = collection->peer ? document : document / FILTER_EVERY;

    return collection->exact + place * DOCUMENT_CHUNKS * collection->dimensions;
}

static void make_document(struct collection *collection, size_t n)
{
    size_t dimensions = collection->dimensions;
    AUTO_FREE float *vectors = mem_new_array(float, DOCUMENT_CHUNKS *dimensions);
    struct segment_builder *builder = segment_builder_new();
    struct buf bits = {0}, int8 = {0}, *bytes = &collection->bytes[n];

    for (size_t i = 0; i < DOCUMENT_CHUNKS; i++) {
        AUTO_BUF text = {0};

        add_words(&text, CHUNK_WORDS);
        segment_builder_add(builder, text.data, text.length);
        fill_vector(collection, vectors + i * dimensions);
    }
    segment_builder_finish(builder, bytes);
    segment_builder_free(builder);
    vectors_build(vectors, DOCUMENT_CHUNKS, (uint32_t)dimensions, collection->mean, MODEL,
                  &bits, &int8);
    index_pad(bytes);
    buf_add(bytes, bits.data, bits.length);
    index_pad(bytes);
    buf_add(bytes, int8.data, int8.length);
    buf_clear(&bits);
    buf_clear(&int8);
    if (index_open(bytes->data, bytes->length, &collection->opened[n], NULL))
        exit(1);
    collection->all[n] = &collection->opened[n];
    if (n % FILTER_EVERY == 0)
        collection->kept[n] = collection->all[n];
    if (collection->peer || n % FILTER_EVERY == 0)
        memcpy(exact_of(collection, n), vectors, DOCUMENT_CHUNKS * dimensions * sizeof(float));
    for (size_t i = 0; collection->peer && i < DOCUMENT_CHUNKS; i++)
        peer_add(collection->peer, n * DOCUMENT_CHUNKS + i, n % FILTER_EVERY == 0,
                 vectors + i * dimensions);
}

static void make_collection(struct collection *collection, size_t chunks, size_t dimensions,
                            const char *conninfo)
{
    size_t documents = chunks / DOCUMENT_CHUNKS;
    size_t exact = conninfo ? documents : documents / FILTER_EVERY + 1;
    float length = 0;

    *collection = (struct collection){
        .documents = documents,
        .dimensions = dimensions,
        .centres = mem_new_array(float, CENTRES *dimensions),
        .common = mem_new_array(float, dimensions),
        .mean = mem_new_array(float, dimensions),
        .bytes = mem_zeroed(documents, sizeof(struct buf)),
        .opened = mem_zeroed(documents, sizeof(struct index)),
        .all = mem_zeroed(documents, sizeof(struct index *)),
        .kept = mem_zeroed(documents, sizeof(struct index *)),
        .exact = mem_new_array(float, exact *DOCUMENT_CHUNKS *dimensions),
        .peer = conninfo ? peer_open(conninfo, dimensions) : NULL,
    };
    for (size_t i = 0; i < CENTRES * dimensions; i++)
        collection->centres[i] = noise();
    for (size_t i = 0; i < dimensions; i++) {
        collection->common[i] = noise();
        length += collection->common[i] * collection->common[i];
    }
    /* A vector is a sum of three that are as long as this one. */
    for (size_t i = 0; i < dimensions; i++)
        collection->mean[i] = collection->common[i] / sqrtf(3 * length);
    for (size_t n = 0; n < documents; n++)
        make_document(collection, n);
}

static int by_number(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) -
           (*(const double *)a < *(const double *)b);
}

static double cosine_of(const float *a, const float *b, size_t dimensions)
{
    double product = 0, left = 0, right = 0;

    for (size_t i = 0; i < dimensions; i++) {
        product += (double)a[i] * b[i];
        left += (double)a[i] * a[i];
        right += (double)b[i] * b[i];
    }
    return product / sqrt(left * right);
}

static double cosine_at(const struct collection *collection, const float *query, size_t number)
{
    size_t dimensions = collection->dimensions;

    return cosine_of(query,
                     exact_of(collection, number / DOCUMENT_CHUNKS) +
                         number % DOCUMENT_CHUNKS * dimensions,
                     dimensions);
}

/* The share of the nearest RESULTS chunks that are among the first found. `every`: of the documents, each so manyth is
 * searched. */
static double recall_of(const struct collection *collection, const float *query,
                        const size_t *numbers, size_t count, size_t every)
{
    size_t chunks = (collection->documents + every - 1) / every * DOCUMENT_CHUNKS, found = 0;
    AUTO_FREE double *exact = mem_new_array(double, chunks);

    for (size_t i = 0; i < chunks; i++)
        exact[i] =
            cosine_at(collection, query,
                      i / DOCUMENT_CHUNKS * every * DOCUMENT_CHUNKS + i % DOCUMENT_CHUNKS);
    for (size_t i = 0; i < count && i < RESULTS; i++) {
        double cosine = cosine_at(collection, query, numbers[i]);
        size_t nearer = 0;

        for (size_t j = 0; j < chunks; j++)
            nearer += exact[j] > cosine;
        found += nearer < RESULTS;
    }
    return (double)found / RESULTS;
}

enum kind { EVERYTHING, FILTERED, VECTORS, FILTERED_VECTORS };

static bool by_vectors_alone(enum kind kind)
{
    return kind == VECTORS || kind == FILTERED_VECTORS;
}

static json_t *shown(double *times, size_t count, double recall)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += times[i];
    qsort(times, count, sizeof(*times), by_number);
    return json_build("{s:f, s:f, s:f, s:f}", "p50_ms", times[count / 2], "p99_ms",
                      times[count * 99 / 100], "mean_ms", sum / (double)count, "recall",
                      recall / (double)count);
}

static json_t *measure(const struct collection *collection, enum kind kind, size_t count)
{
    const struct vector_space space = {
        .id = MODEL, .dimensions = (uint32_t)collection->dimensions, .mean = collection->mean};
    AUTO_FREE double *times = mem_new_array(double, count);
    AUTO_FREE float *query = mem_new_array(float, collection->dimensions);
    double recall = 0;

    for (size_t i = 0; i < count; i++) {
        AUTO_BUF words = {0};
        AUTO_FREE struct fusion_hit *hits = NULL;
        struct candidates candidates = {
            .indexes =
                kind == EVERYTHING || kind == VECTORS ? collection->all : collection->kept,
            .count = collection->documents,
            .query_count = 1,
            .space = &space,
            .vectors = query,
            .weights = {.vectors = 1, .words = by_vectors_alone(kind) ? 0 : 1}};
        size_t numbers[RESULTS] = {0}, found;
        uint64_t begin;

        add_words(&words, 5);
        fill_vector(collection, query);
        candidates.queries = (const char *const *)&words.data;
        begin = clock_thread_ns();
        found = candidates_find(&candidates, &hits);
        times[i] = (double)(clock_thread_ns() - begin) / 1e6;
        for (size_t j = 0; j < found && j < RESULTS; j++)
            numbers[j] = hits[j].document * DOCUMENT_CHUNKS + hits[j].chunk;
        if (by_vectors_alone(kind))
            recall += recall_of(collection, query, numbers, found,
                                kind == VECTORS ? 1 : FILTER_EVERY);
    }
    return shown(times, count, recall);
}

/* Vectors alone, of pgvector. */
static json_t *measure_peer(const struct collection *collection, enum peer_search search,
                            size_t count)
{
    AUTO_FREE double *times = mem_new_array(double, count);
    AUTO_FREE float *query = mem_new_array(float, collection->dimensions);
    double recall = 0;

    for (size_t i = 0; i < count; i++) {
        size_t numbers[RESULTS], found;
        uint64_t begin;

        fill_vector(collection, query);
        (void)peer_find(collection->peer, search, query, RESULTS, numbers); /* warm */
        begin = clock_mono_ns();
        found = peer_find(collection->peer, search, query, RESULTS, numbers);
        times[i] = (double)(clock_mono_ns() - begin) / 1e6;
        recall +=
            recall_of(collection, query, numbers, found, search == PEER_ALL ? 1 : FILTER_EVERY);
    }
    return shown(times, count, recall);
}

static json_t *measure_with_peer(const struct collection *collection, size_t count)
{
    double seconds = peer_index(collection->peer);

    return json_build("{s:f, s:o, s:o, s:o, s:o}", "index_seconds", seconds, "ours",
                      measure(collection, VECTORS, count), "all",
                      measure_peer(collection, PEER_ALL, count), "filtered",
                      measure_peer(collection, PEER_KEPT, count), "filtered_one_scan",
                      measure_peer(collection, PEER_KEPT_ONE_SCAN, count));
}

/* ---- How many candidates are enough ---- */

static int by_cosine(const void *a, const void *b)
{
    const struct vectors_hit *left = a, *right = b;

    return (left->cosine < right->cosine) - (left->cosine > right->cosine);
}

/* The share of the nearest chunks that a scan of the bits leaves, by their places in the order of the int8 products. */
static json_t *measure_candidates(const struct collection *collection, size_t count)
{
    static const size_t bands[] = {0, 10, 50, 100, CANDIDATES_LIST};
    size_t documents = collection->documents, chunks = documents * DOCUMENT_CHUNKS;
    AUTO_FREE struct vectors_set *sets = mem_new_array(struct vectors_set, documents);
    AUTO_FREE struct vectors_hit *all = mem_new_array(struct vectors_hit, chunks);
    AUTO_FREE float *query = mem_new_array(float, collection->dimensions);
    struct vectors_hit hits[CANDIDATES_LIST];
    double found[COUNT_OF(bands)] = {0};
    uint32_t dimensions = (uint32_t)collection->dimensions;
    json_t *result = json_object();

    for (size_t i = 0; i < documents; i++)
        sets[i] =
            (struct vectors_set){&collection->opened[i].bits, &collection->opened[i].int8};
    for (size_t n = 0; n < count; n++) {
        size_t hit_count;

        fill_vector(collection, query);
        for (size_t i = 0; i < chunks; i++)
            all[i] = (struct vectors_hit){.document = (uint32_t)(i / DOCUMENT_CHUNKS),
                                          .chunk = (uint32_t)(i % DOCUMENT_CHUNKS)};
        vectors_compare(sets, query, dimensions, collection->mean, all, chunks);
        qsort(all, chunks, sizeof(*all), by_cosine);
        hit_count = vectors_search(sets, documents, query, dimensions, collection->mean, hits,
                                   CANDIDATES_LIST, NULL);
        for (size_t band = 1; band < COUNT_OF(bands); band++) {
            for (size_t i = bands[band - 1]; i < bands[band]; i++) {
                for (size_t j = 0; j < hit_count; j++)
                    found[band] +=
                        hits[j].document == all[i].document && hits[j].chunk == all[i].chunk;
            }
        }
    }
    for (size_t band = 1; band < COUNT_OF(bands); band++) {
        AUTO_FREE char *name = mem_printf("%zu_to_%zu", bands[band - 1] + 1, bands[band]);

        json_set(result, name,
                 json_real(found[band] / (double)((bands[band] - bands[band - 1]) * count)));
    }
    return result;
}

int main(int argc, char **argv)
{
    struct collection collection;
    size_t queries;
    uint64_t begin = clock_thread_ns();
    double building;
    json_auto_t *result = NULL;
    AUTO_FREE char *line = NULL;

    if (argc != 4 && argc != 5) {
        fprintf(stderr, "bench_hybrid CHUNKS DIMENSIONS QUERIES [CONNINFO]\n");
        return 1;
    }
    queries = strtoul(argv[3], NULL, 10);
    make_collection(&collection, strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10),
                    argc > 4 ? argv[4] : NULL);
    building = (double)(clock_thread_ns() - begin) / 1e9;
    json_decref(measure(&collection, EVERYTHING, 3)); /* warm */
    result = json_build("{s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "chunks",
                        (json_int_t)(collection.documents * DOCUMENT_CHUNKS), "dimensions",
                        (json_int_t)collection.dimensions, "building_seconds", building,
                        "hybrid", measure(&collection, EVERYTHING, queries), "filtered",
                        measure(&collection, FILTERED, queries), "filtered_vectors",
                        measure(&collection, FILTERED_VECTORS, RECALL_QUERIES), "candidates",
                        measure_candidates(&collection, queries / 10 + 1));
    if (collection.peer) {
        json_set(result, "pgvector", measure_with_peer(&collection, queries / 10 + 1));
        peer_close(collection.peer);
    }
    line = json_text(result);
    puts(line);
    return 0;
}
