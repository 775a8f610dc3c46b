/*
 * lexical.c -- BM25 over a set of segments.
 *
 * First each word is looked up in each segment: that gives how many chunks have it, so how much it counts. Then the
 * segments are scored one by one, in an array with a place for each of their chunks, and the best hits are kept in a heap
 * whose root is the worst of them.
 */

#include "core/retrieval/lexical.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/retrieval/words.h"

#define K1 1.2
#define B  0.75

/* ---- The words of the query ---- */

struct query {
    uint32_t words[LEXICAL_WORDS_MAX];
    size_t count;
    double weights[LEXICAL_WORDS_MAX]; /* idf · (k1 + 1) */
    double total;                      /* of all weights */
};

static void take_word(void *arg, uint32_t word)
{
    struct query *query = arg;

    for (size_t i = 0; i < query->count; i++) {
        if (query->words[i] == word)
            return;
    }
    if (query->count < LEXICAL_WORDS_MAX)
        query->words[query->count++] = word;
}

/* ---- Where they are ---- */

/* One word in one segment. */
struct place {
    uint32_t document;
    uint32_t word; /* of the query */
    struct segment_postings postings;
};

struct places {
    struct place *items;
    size_t count, room;
};

static void places_add(struct places *places, const struct place *place)
{
    if (places->count == places->room) {
        places->room = places->room ? 2 * places->room : 64;
        places->items = mem_resize(places->items, places->room, sizeof(*places->items));
    }
    places->items[places->count++] = *place;
}

/* Finds the places, in the order of the segments, and weighs the words. Returns the mean length of a chunk in words. */
static double look_up(const struct segment *const *segments, size_t count, struct query *query,
                      struct places *places)
{
    uint64_t having[LEXICAL_WORDS_MAX] = {0};
    uint64_t chunks = 0, words = 0;

    for (size_t document = 0; document < count; document++) {
        if (!segments[document])
            continue;
        chunks += segments[document]->chunks;
        words += segments[document]->words;
        for (uint32_t i = 0; i < query->count; i++) {
            struct place place = {.document = (uint32_t)document, .word = i};

            if (!segment_find(segments[document], query->words[i], &place.postings))
                continue;
            having[i] += place.postings.chunks;
            places_add(places, &place);
        }
    }
    for (size_t i = 0; i < query->count; i++) {
        double all = (double)chunks, found = (double)having[i];

        query->weights[i] = log(1 + (all - found + 0.5) / (found + 0.5)) * (K1 + 1);
        query->total += query->weights[i];
    }
    return chunks && words ? (double)words / (double)chunks : 1;
}

/* ---- The best hits ---- */

struct heap {
    struct lexical_hit *hits;
    size_t count, limit;
};

static bool is_better(const struct lexical_hit *a, const struct lexical_hit *b)
{
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score;
    return a->document != b->document ? a->document < b->document : a->chunk < b->chunk;
}

/* Moves hits down from `at` until each is better than the one above it. */
static void sink(struct heap *heap, size_t at)
{
    struct lexical_hit moved = heap->hits[at];

    for (;;) {
        size_t below = 2 * at + 1;

        if (below >= heap->count)
            break;
        if (below + 1 < heap->count && is_better(&heap->hits[below], &heap->hits[below + 1]))
            below++;
        if (!is_better(&moved, &heap->hits[below]))
            break;
        heap->hits[at] = heap->hits[below];
        at = below;
    }
    heap->hits[at] = moved;
}

static void heap_offer(struct heap *heap, const struct lexical_hit *hit)
{
    if (heap->count < heap->limit) {
        heap->hits[heap->count++] = *hit;
        if (heap->count == heap->limit) {
            for (size_t i = heap->count / 2; i-- > 0;)
                sink(heap, i);
        }
    } else if (heap->limit && is_better(hit, &heap->hits[0])) {
        heap->hits[0] = *hit;
        sink(heap, 0);
    }
}

static int compare_hits(const void *left, const void *right)
{
    return is_better(left, right) ? -1 : 1;
}

/* ---- The search ---- */

/* Scores the chunks of one segment by its `count` places. `scores` has a place for each chunk, and is all 0 again
 * afterwards. */
static void score_segment(const struct segment *segment, const struct place *places,
                          size_t count, const struct query *query, double mean, double *scores,
                          struct heap *heap)
{
    uint32_t chunk, times;

    for (size_t i = 0; i < count; i++) {
        struct segment_postings postings = places[i].postings;
        double weight = query->weights[places[i].word];

        while (segment_next(&postings, &chunk, &times)) {
            double length = segment_chunk_words(segment, chunk);

            scores[chunk] += weight * times / (times + K1 * (1 - B + B * length / mean));
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct segment_postings postings = places[i].postings;

        while (segment_next(&postings, &chunk, &times)) {
            struct lexical_hit hit = {
                .document = places[i].document,
                .chunk = chunk,
                .score = (float)scores[chunk],
                .share = (float)(scores[chunk] / query->total),
            };

            if (scores[chunk] > 0)
                heap_offer(heap, &hit);
            scores[chunk] = 0;
        }
    }
}

size_t lexical_search(const struct segment *const *segments, size_t count, const char *query,
                      size_t length, struct lexical_hit *ret_hits, size_t limit)
{
    AUTO_FREE struct query *words = mem_new(struct query);
    AUTO_FREE double *scores = mem_new_array(double, SEGMENT_CHUNKS_MAX);
    AUTO_FREE struct place *found = NULL;
    struct places places = {0};
    struct heap heap = {.hits = ret_hits, .limit = limit};
    double mean;

    words_read(query, length, take_word, words);
    mean = look_up(segments, count, words, &places);
    found = places.items;
    for (size_t i = 0; i < places.count;) {
        size_t first = i;

        while (i < places.count && found[i].document == found[first].document)
            i++;
        score_segment(segments[found[first].document], found + first, i - first, words, mean,
                      scores, &heap);
    }
    qsort(ret_hits, heap.count, sizeof(*ret_hits), compare_hits);
    return heap.count;
}
