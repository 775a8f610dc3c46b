/*
 * lexical.c -- BM25 over a set of segments.
 *
 * First each word is looked up in each segment: that gives how many chunks have it, so how much it counts. Then the
 * segments are scored one by one, in an array with a place for each of their chunks.
 */

#include "core/retrieval/lexical.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/retrieval/best.h"
#include "core/retrieval/scan_stop.h"
#include "core/retrieval/words.h"

#define K1 1.2
#define B  0.75

#define LOOK_UP_STEPS 8 /* of a word in a segment (scan_stop.h) */

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
                      struct places *places, struct scan_stop *stop)
{
    uint64_t having[LEXICAL_WORDS_MAX] = {0};
    uint64_t chunks = 0, words = 0;

    for (size_t document = 0; document < count; document++) {
        if (scan_stop_after(stop, LOOK_UP_STEPS * query->count))
            break;
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

/* ---- The search ---- */

/* Scores the chunks of one segment by its `count` places. `scores` has a place for each chunk, and is all 0 again
 * afterwards. Returns how many postings there are. */
static size_t score_segment(const struct segment *segment, const struct place *places,
                            size_t count, const struct query *query, double mean,
                            double *scores, struct best *best)
{
    size_t seen = 0;
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

        for (; segment_next(&postings, &chunk, &times); seen++) {
            if (scores[chunk] > 0)
                best_offer(best, (float)scores[chunk], places[i].document, chunk);
            scores[chunk] = 0;
        }
    }
    return seen;
}

size_t lexical_search(const struct segment *const *segments, size_t count, const char *query,
                      size_t length, struct lexical_hit *ret_hits, size_t limit,
                      struct scan_stop *stop)
{
    AUTO_FREE struct query *words = mem_new(struct query);
    AUTO_FREE double *scores = mem_new_array(double, SEGMENT_CHUNKS_MAX);
    AUTO_FREE struct place *found = NULL;
    struct places places = {0};
    AUTO_FREE struct best_hit *hits = mem_new_array(struct best_hit, limit + 1);
    struct best best = {.hits = hits, .limit = limit};
    size_t steps = 0;
    double mean;

    words_read(query, length, take_word, words);
    mean = look_up(segments, count, words, &places, stop);
    found = places.items;
    for (size_t i = 0; i < places.count;) {
        size_t first = i;

        if (scan_stop_after(stop, steps))
            return 0;
        while (i < places.count && found[i].document == found[first].document)
            i++;
        steps = score_segment(segments[found[first].document], found + first, i - first, words,
                              mean, scores, &best);
    }
    best_sort(&best);
    for (size_t i = 0; i < best.count; i++) {
        ret_hits[i] = (struct lexical_hit){.document = hits[i].document,
                                           .chunk = hits[i].chunk,
                                           .score = hits[i].score,
                                           .share = (float)(hits[i].score / words->total)};
    }
    return best.count;
}
