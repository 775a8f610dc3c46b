#include "core/ingest/candidates.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/retrieval/lexical.h"
#include "core/retrieval/vectors.h"

/* The lists of one query. */
enum { BY_WORDS, BY_VECTORS, COMPARED, LISTS };

struct finding {
    const struct candidates *candidates;
    const struct segment **terms; /* of each document; NULL: none */
    struct vectors_set *sets;     /* likewise */
};

/* Segments that other models have made are left out. */
static void prepare(const struct candidates *candidates, struct finding *finding)
{
    const struct vector_space *space = candidates->space;

    *finding = (struct finding){
        .candidates = candidates,
        .terms = mem_zeroed(candidates->count + 1, sizeof(*finding->terms)),
        .sets = mem_zeroed(candidates->count + 1, sizeof(*finding->sets)),
    };
    for (size_t i = 0; i < candidates->count; i++) {
        const struct index *index = candidates->indexes[i];

        if (!index)
            continue;
        finding->terms[i] = &index->terms;
        if (space && index->model == (uint32_t)space->id)
            finding->sets[i] = (struct vectors_set){.bits = &index->bits, .int8 = &index->int8};
    }
}

static void finding_clear(struct finding *finding)
{
    free(finding->terms);
    free(finding->sets);
}

static size_t by_words(const struct finding *finding, const char *query,
                       struct fusion_entry *ret_entries)
{
    const struct candidates *candidates = finding->candidates;
    AUTO_FREE struct lexical_hit *hits = mem_new_array(struct lexical_hit, CANDIDATES_LIST);
    size_t count = lexical_search(finding->terms, candidates->count, query, strlen(query), hits,
                                  CANDIDATES_LIST, candidates->stop);

    for (size_t i = 0; i < count; i++)
        ret_entries[i] = (struct fusion_entry){
            .document = hits[i].document, .chunk = hits[i].chunk, .value = hits[i].share};
    return count;
}

static size_t by_vectors(const struct finding *finding, const float *query,
                         struct fusion_entry *ret_entries)
{
    const struct candidates *candidates = finding->candidates;
    const struct vector_space *space = candidates->space;
    AUTO_FREE struct vectors_hit *hits = mem_new_array(struct vectors_hit, CANDIDATES_LIST);
    const struct candidates_table *table = candidates->table;
    size_t count =
        table ? table->near(table->arg, query, hits, CANDIDATES_LIST)
              : vectors_search(finding->sets, candidates->count, query, space->dimensions,
                               space->mean, hits, CANDIDATES_LIST, candidates->stop);

    for (size_t i = 0; i < count; i++)
        ret_entries[i] = (struct fusion_entry){
            .document = hits[i].document, .chunk = hits[i].chunk, .value = hits[i].cosine};
    return count;
}

/* What words have found, with the nearness of its vectors. */
static size_t compare(const struct finding *finding, const float *query,
                      const struct fusion_list *words, struct fusion_entry *ret_entries)
{
    const struct vector_space *space = finding->candidates->space;
    const struct candidates_table *table = finding->candidates->table;
    AUTO_FREE struct vectors_hit *hits = mem_new_array(struct vectors_hit, words->count + 1);

    for (size_t i = 0; i < words->count; i++)
        hits[i] = (struct vectors_hit){.document = words->entries[i].document,
                                       .chunk = words->entries[i].chunk};
    if (table)
        table->compare(table->arg, query, hits, words->count);
    else
        vectors_compare(finding->sets, query, space->dimensions, space->mean, hits,
                        words->count);
    for (size_t i = 0; i < words->count; i++) {
        ret_entries[i] = words->entries[i];
        if (table ? !isnan(hits[i].cosine) : finding->sets[hits[i].document].int8 != NULL)
            ret_entries[i].value = hits[i].cosine;
    }
    return words->count;
}

/* A vector of zeros has no direction. */
static bool has_direction(const float *vector, uint32_t dimensions)
{
    for (uint32_t i = 0; i < dimensions; i++) {
        if (vector[i] < 0 || vector[i] > 0)
            return true;
    }
    return false;
}

/* Fills the lists of a query, for each of which there is room in `entries`. Returns how many lists. */
static size_t find_lists(const struct finding *finding, uint32_t query,
                         struct fusion_entry *entries, struct fusion_list *ret_lists)
{
    const struct candidates *candidates = finding->candidates;
    const struct vector_space *space = candidates->space;
    struct fusion_list *words = &ret_lists[BY_WORDS];
    const float *vector;

    *words = (struct fusion_list){.kind = FUSION_WORDS, .query = query, .entries = entries};
    words->count = by_words(finding, candidates->queries[query], entries);
    if (!space)
        return 1;
    vector = candidates->vectors + query * space->dimensions;
    if (!has_direction(vector, space->dimensions))
        return 1;
    for (size_t i = BY_VECTORS; i < LISTS; i++)
        ret_lists[i] = (struct fusion_list){
            .kind = FUSION_VECTORS, .query = query, .entries = entries + i * CANDIDATES_LIST};
    ret_lists[BY_VECTORS].count = by_vectors(finding, vector, entries + CANDIDATES_LIST);
    if (!(candidates->weights.words > 0))
        return COMPARED; /* what only words have found is left out */
    ret_lists[COMPARED].unranked = true;
    ret_lists[COMPARED].count =
        compare(finding, vector, words, entries + COMPARED * CANDIDATES_LIST);
    return LISTS;
}

size_t candidates_find(const struct candidates *candidates, struct fusion_hit **ret_hits)
{
    const struct fusion_weights words_alone = {.vectors = 0, .words = 1};
    AUTO_FREE struct fusion_entry *entries = mem_new_array(
        struct fusion_entry, LISTS * CANDIDATES_LIST * (candidates->query_count + 1));
    struct fusion_list lists[LISTS * FUSION_QUERIES_MAX];
    CLEANUP(finding_clear) struct finding finding;
    size_t count = 0;

    assert(candidates->query_count <= FUSION_QUERIES_MAX);
    prepare(candidates, &finding);
    for (size_t i = 0; i < candidates->query_count; i++)
        count += find_lists(&finding, (uint32_t)i, entries + i * LISTS * CANDIDATES_LIST,
                            &lists[count]);
    return fusion_rank(lists, count, candidates->space ? &candidates->weights : &words_alone,
                       ret_hits);
}
