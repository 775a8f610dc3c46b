#ifndef RUNNEL_CORE_RETRIEVAL_SEGMENT_H
#define RUNNEL_CORE_RETRIEVAL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * retrieval/segment.h -- the index of one document as bytes that never change.
 *
 * A document has one segment of each kind: the words of its chunks, and with an embedding model two forms of their
 * vectors. A kind is stored, fetched and opened by itself. It may be stored in pages of any size, and is opened
 * whole. Numbers are little-endian, so that nodes of different processors share them.
 *
 *   head      magic, version, kind, checksum of what follows, length, chunks, ...
 *   TERMS     words of each chunk (u16) | different words in their order (u32) | offsets of blocks of terms (u32)
 *             | for each word: how many chunks have it, and which ones how often (varints)
 *   BITS      signs of the turned vectors, a bit a dimension                     vectors.h
 *   INT8      the centred vectors as int8, each with its scale                   vectors.h
 *
 * segment_open() checks the head, the sizes and the checksum, and reads all bytes once. Bytes that were changed by
 * accident are refused. Bytes that were made to deceive may give wrong postings, but no read leaves them.
 *
 * A struct segment borrows its bytes, for example of a mapped file, and allocates nothing. It may be copied, and read
 * by any thread.
 */

/* The values are stored. */
enum segment_kind { SEGMENT_BITS = 1, SEGMENT_INT8 = 2, SEGMENT_TERMS = 3 };

#define SEGMENT_CHUNKS_MAX     ((uint32_t)10000)
#define SEGMENT_DIMENSIONS_MAX ((uint32_t)8192)

/* ---- Building the words ---- */

struct segment_builder;

struct segment_builder *segment_builder_new(void);
void segment_builder_free(struct segment_builder *builder);

/* The next chunk, from 0: what is indexed of it (chunk_add_indexed()). At most SEGMENT_CHUNKS_MAX. */
void segment_builder_add(struct segment_builder *builder, const char *text, size_t length);

/* Adds the bytes of the segment to `out`, which is empty. The builder can only be freed then. */
void segment_builder_finish(struct segment_builder *builder, struct buf *out);

/* ---- Reading ---- */

struct segment {
    enum segment_kind kind;
    uint32_t chunks;
    uint32_t terms;      /* different words; 0 for other kinds */
    uint32_t blocks;     /* of terms */
    uint32_t dimensions; /* of vectors; 0 for words */
    uint32_t model;      /* that made them: the caller's number; 0 for words */
    uint64_t words;      /* all words of all chunks */
    const uint8_t *body; /* behind the head */
    size_t body_length;
};

/* `bytes` stay where they are as long as the segment is used, at any address. ERR_INVALID: they are no segment of this
 * version, or damaged. */
enum err_code segment_open(const void *bytes, size_t length, struct segment *ret_segment,
                           struct err *err) MUST_CHECK;

/* How long the segment is that begins here, by its head alone. 0: none does, or its end is behind `left` bytes. */
size_t segment_length(const void *bytes, size_t left);

/* The chunks that have a word, in order. */
struct segment_postings {
    const uint8_t *at, *end;
    uint32_t chunks; /* that have it, as it is written: 1 ... segment.chunks */
    uint32_t left;
    uint32_t chunk; /* the first that may come */
    uint32_t limit; /* chunks of the segment */
};

/* False: no chunk has the word. */
bool segment_find(const struct segment *segment, uint32_t word,
                  struct segment_postings *ret_postings);

/* False at the end. `ret_times` is how often the chunk has the word, from 1. */
bool segment_next(struct segment_postings *postings, uint32_t *ret_chunk, uint32_t *ret_times);

/* segment_find() in steps, each of which asks for the memory that the next reads. Who looks many words up in many
 * segments does each step for all of them, and so waits for memory once and not three times a word. */
struct segment_term {
    const uint8_t *at; /* a block of terms; NULL: no chunk has the word */
    uint32_t skip;     /* of its terms */
};
void segment_find_ahead(const struct segment *segment, uint32_t word);
void segment_find_term(const struct segment *segment, uint32_t word,
                       struct segment_term *ret_term);
bool segment_find_postings(const struct segment *segment, const struct segment_term *term,
                           struct segment_postings *ret_postings);

/* The next ones, at most `room`. Returns how many; 0 at the end. */
struct segment_posting {
    uint32_t chunk, times;
};
size_t segment_next_some(struct segment_postings *postings,
                         struct segment_posting *ret_postings, size_t room);

/* How many words a chunk of segment.chunks has; at most 65535. */
static inline uint32_t segment_chunk_words(const struct segment *segment, uint32_t chunk)
{
    const uint8_t *at = segment->body + 2 * (size_t)chunk;

    return at[0] | (uint32_t)at[1] << 8;
}

/* ---- For vectors.h and the fuzz target ---- */

#define SEGMENT_HEAD ((size_t)64)

/* Bytes of one vector in the kinds BITS and INT8. */
size_t segment_stride(enum segment_kind kind, uint32_t dimensions);

/* Begins bytes of a kind: room for the head. Then the caller adds the body, and ends with segment_seal(). */
void segment_begin(struct buf *out);

/* Writes the head over the first SEGMENT_HEAD bytes. `head` says kind, chunks, terms, blocks, dimensions,
 * model and words. */
void segment_seal(struct buf *out, const struct segment *head);

#endif
