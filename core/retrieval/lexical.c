/*
 * lexical.c -- BM25 over a set of segments.
 *
 * First each word is looked up in each segment: that gives how many chunks have it, so how much it counts. Then the
 * segments are scored one by one, in an array with a place for each of their chunks.
 *
 * Most postings are of words that nearly all chunks have, and that count next to nothing. So the words of a segment are
 * taken in the order of their weights, and what those that are left can add is a limit: a chunk that cannot be among
 * the best any more is not scored, and a segment ends when none of its chunks can. A word adds less than its weight,
 * and a chunk of a later segment loses against an equal score. So what is found is what scoring everything would find.
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

#define POSTINGS_AT_ONCE ((size_t)128)
#define SCAN_SHARE \
    8 /* a segment is looked through if so many postings stand for each of its chunks */

/* ---- The words of the query ---- */

struct query {
    uint32_t words[LEXICAL_WORDS_MAX];
    size_t count;
    double weights[LEXICAL_WORDS_MAX];  /* idf · (k1 + 1) */
    double total;                       /* of all weights */
    uint32_t ranked[LEXICAL_WORDS_MAX]; /* the words, those first that count most */
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

/* Equal weights stand in the order of the query, so sums are the same every time. */
static void rank_words(struct query *query)
{
    for (uint32_t i = 0; i < query->count; i++) {
        uint32_t at = i;

        for (; at && query->weights[query->ranked[at - 1]] < query->weights[i]; at--)
            query->ranked[at] = query->ranked[at - 1];
        query->ranked[at] = i;
    }
}

/* What is looked up together: as much as fits into the memory that is near. */
#define GROUP ((size_t)8)

struct looking {
    const struct segment *const *segments;
    size_t count;
    const struct query *query;
    uint64_t having[LEXICAL_WORDS_MAX]; /* chunks that have a word */
    uint64_t chunks, words;             /* of all segments */
    struct segment_term terms[GROUP][LEXICAL_WORDS_MAX];
};

static void ask_ahead(const struct looking *looking, size_t first)
{
    const struct query *query = looking->query;

    for (size_t at = first; at < first + GROUP && at < looking->count; at++) {
        for (size_t i = 0; looking->segments[at] && i < query->count; i++)
            segment_find_ahead(looking->segments[at], query->words[i]);
    }
}

static void look_up_group(struct looking *looking, size_t first, struct places *places)
{
    const struct query *query = looking->query;
    size_t end = first + GROUP < looking->count ? first + GROUP : looking->count;

    for (size_t at = first; at < end; at++) {
        const struct segment *segment = looking->segments[at];

        for (size_t i = 0; segment && i < query->count; i++)
            segment_find_term(segment, query->words[i], &looking->terms[at - first][i]);
    }
    ask_ahead(looking, end);
    for (size_t at = first; at < end; at++) {
        const struct segment *segment = looking->segments[at];

        if (!segment)
            continue;
        looking->chunks += segment->chunks;
        looking->words += segment->words;
        for (uint32_t i = 0; i < query->count; i++) {
            struct place place = {.document = (uint32_t)at, .word = i};

            if (!segment_find_postings(segment, &looking->terms[at - first][i],
                                       &place.postings))
                continue;
            looking->having[i] += place.postings.chunks;
            places_add(places, &place);
        }
    }
}

/* Finds the places, in the order of the segments, and weighs the words. Returns the mean length of a chunk in words. */
static double look_up(const struct segment *const *segments, size_t count, struct query *query,
                      struct places *places, struct scan_stop *stop)
{
    AUTO_FREE struct looking *looking = mem_new(struct looking);

    looking->segments = segments;
    looking->count = count;
    looking->query = query;
    ask_ahead(looking, 0);
    for (size_t first = 0; first < count; first += GROUP) {
        if (scan_stop_after(stop, LOOK_UP_STEPS * GROUP * query->count))
            break;
        look_up_group(looking, first, places);
    }
    for (size_t i = 0; i < query->count; i++) {
        double all = (double)looking->chunks, found = (double)looking->having[i];

        query->weights[i] = log(1 + (all - found + 0.5) / (found + 0.5)) * (K1 + 1);
        query->total += query->weights[i];
    }
    rank_words(query);
    return looking->chunks && looking->words ? (double)looking->words / (double)looking->chunks
                                             : 1;
}

/* ---- The search ---- */

struct scoring {
    const struct query *query;
    double base, per_word; /* k1 · (1 - b + b · words / mean), as base + per_word · words */
    double *scores;        /* of the chunks of a segment; all 0 between two */
    struct best *best;
};

/* One segment's: its words that count most come first. */
struct scored {
    const struct segment *segment;
    const struct place *places[LEXICAL_WORDS_MAX];
    double left[LEXICAL_WORDS_MAX + 1]; /* what the words from a place on can add */
    size_t count;
};

static void order_places(const struct query *query, const struct place *places, size_t count,
                         struct scored *scored)
{
    const struct place *of_word[LEXICAL_WORDS_MAX];

    for (size_t i = 0; i < query->count; i++)
        of_word[i] = NULL;
    for (size_t i = 0; i < count; i++)
        of_word[places[i].word] = &places[i];
    scored->count = 0;
    for (size_t i = 0; i < query->count; i++) {
        if (of_word[query->ranked[i]])
            scored->places[scored->count++] = of_word[query->ranked[i]];
    }
    scored->left[scored->count] = 0;
    for (size_t i = scored->count; i-- > 0;)
        scored->left[i] = scored->left[i + 1] + query->weights[scored->places[i]->word];
}

/* Adds the share of a word to the chunks that may still have more than `least`. Returns the highest score, at least
 * `highest`. */
static double add_word(const struct scoring *scoring, const struct scored *scored, size_t at,
                       double least, double highest)
{
    struct segment_postings postings = scored->places[at]->postings;
    double weight = scoring->query->weights[scored->places[at]->word];
    struct segment_posting some[POSTINGS_AT_ONCE];
    size_t count;

    while ((count = segment_next_some(&postings, some, POSTINGS_AT_ONCE))) {
        for (size_t i = 0; i < count; i++) {
            double *score = &scoring->scores[some[i].chunk];
            double times = some[i].times;

            if (*score + scored->left[at] <= least)
                continue;
            *score += weight * times /
                      (times + scoring->base +
                       scoring->per_word * segment_chunk_words(scored->segment, some[i].chunk));
            highest = *score > highest ? *score : highest;
        }
    }
    return highest;
}

static void offer(const struct scoring *scoring, const struct scored *scored, uint32_t chunk)
{
    double *score = &scoring->scores[chunk];

    if (*score > 0 && (float)*score >= best_least(scoring->best))
        best_offer(scoring->best, (float)*score, scored->places[0]->document, chunk);
    *score = 0;
}

/* Offers the chunks that have one of the first `count` words. */
static void offer_chunks(const struct scoring *scoring, const struct scored *scored,
                         size_t count)
{
    size_t postings = 0;
    uint32_t chunk, times;

    for (size_t i = 0; i < count; i++)
        postings += scored->places[i]->postings.chunks;
    if (postings >= scored->segment->chunks / SCAN_SHARE) {
        for (uint32_t i = 0; i < scored->segment->chunks; i++)
            offer(scoring, scored, i);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct segment_postings each = scored->places[i]->postings;

        while (segment_next(&each, &chunk, &times))
            offer(scoring, scored, chunk);
    }
}

/* Returns how many postings it has seen, about. */
static size_t score_segment(const struct scoring *scoring, const struct scored *scored)
{
    double least = best_least(scoring->best), highest = 0;
    size_t fresh = 0, steps = 0;

    for (size_t i = 0; i < scored->count && highest + scored->left[i] > least; i++) {
        fresh += scored->left[i] > least; /* a chunk may begin with this word */
        steps += scored->places[i]->postings.chunks;
        highest = add_word(scoring, scored, i, least, highest);
    }
    offer_chunks(scoring, scored, fresh);
    return steps;
}

size_t lexical_search(const struct segment *const *segments, size_t count, const char *query,
                      size_t length, struct lexical_hit *ret_hits, size_t limit,
                      struct scan_stop *stop)
{
    AUTO_FREE struct query *words = mem_new(struct query);
    AUTO_FREE struct scored *scored = mem_new(struct scored);
    AUTO_FREE double *scores = mem_new_array(double, SEGMENT_CHUNKS_MAX);
    AUTO_FREE struct place *found = NULL;
    struct places places = {0};
    AUTO_FREE struct best_hit *hits = mem_new_array(struct best_hit, limit + 1);
    struct best best = {.hits = hits, .limit = limit};
    struct scoring scoring = {
        .query = words, .base = K1 * (1 - B), .scores = scores, .best = &best};
    size_t steps = 0;

    words_read(query, length, take_word, words);
    scoring.per_word = K1 * B / look_up(segments, count, words, &places, stop);
    found = places.items;
    for (size_t i = 0; i < places.count;) {
        size_t first = i;

        if (scan_stop_after(stop, steps))
            return 0;
        while (i < places.count && found[i].document == found[first].document)
            i++;
        scored->segment = segments[found[first].document];
        order_places(words, found + first, i - first, scored);
        steps = score_segment(&scoring, scored);
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
