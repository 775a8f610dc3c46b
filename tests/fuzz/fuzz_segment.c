/*
 * Segments come from the database and from files of a cache. With any bytes, a word that is found is in
 * chunks of the segment, in order, and a search ends.
 *
 * No fuzzer guesses a checksum, so the input is a head's numbers and a body, and is sealed here.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/lexical.h"
#include "core/retrieval/segment.h"

#define NUMBERS 4 /* of two bytes each: chunks, terms, blocks, dimensions */

static uint32_t number(const uint8_t *data, size_t n)
{
    return data[2 * n] | (uint32_t)data[2 * n + 1] << 8;
}

static void ask(const struct segment *segment, uint32_t word)
{
    struct segment_postings postings;
    uint32_t chunk, times, next = 0;

    if (!segment_find(segment, word, &postings))
        return;
    assert(postings.chunks >= 1 && postings.chunks <= segment->chunks);
    while (segment_next(&postings, &chunk, &times)) {
        assert(chunk >= next && chunk < segment->chunks && times > 0);
        next = chunk + 1;
        segment_chunk_words(segment, chunk);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment head = {.kind = SEGMENT_TERMS}, segment;
    const struct segment *segments[] = {&segment, &segment};
    struct lexical_hit hits[8];
    AUTO_BUF bytes = {0};
    AUTO_FREE char *exact = NULL;

    assert(segment_open(data, size, &segment, NULL) != ERR_OK || size >= SEGMENT_HEAD);
    if (size < 1 + 2 * NUMBERS)
        return 0;
    head.kind = (enum segment_kind)(data[0] % 8);
    head.chunks = number(data + 1, 0);
    head.terms = number(data + 1, 1);
    head.blocks = number(data + 1, 2);
    head.dimensions = number(data + 1, 3);
    head.words = head.terms;
    segment_begin(&bytes);
    buf_add(&bytes, data + 1 + 2 * NUMBERS, size - 1 - 2 * NUMBERS);
    segment_seal(&bytes, &head);
    exact = mem_strndup(bytes.data, bytes.length);
    if (segment_open(exact, bytes.length, &segment, NULL) != ERR_OK ||
        segment.kind != SEGMENT_TERMS)
        return 0;
    for (size_t i = 1; i + 4 <= size; i += 4) {
        uint32_t word;

        memcpy(&word, data + i, sizeof(word));
        ask(&segment, word);
        ask(&segment, word + 1);
    }
    assert(lexical_search(segments, 2, "one two three \xE4\xB8\xAD\xE6\x96\x87", 20, hits, 8,
                          NULL) <= 8);
    return 0;
}
