#ifndef RUNNEL_CORE_RETRIEVAL_CHUNKER_H
#define RUNNEL_CORE_RETRIEVAL_CHUNKER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/retrieval/words.h"

/*
 * retrieval/chunker.h -- the text of a document as chunks: the pieces that are indexed, found and shown. Pure.
 *
 * A chunk is a range of the text, so the text itself is stored once. Chunks overlap: each begins before the last one
 * ends. Together they have every character that is no white space.
 *
 * A chunk has at most `max_tokens` tokens, and ends at the best place in its last eighth: before a heading or a page,
 * at a blank line, a line or row, the end of a sentence (. ! ? and their Chinese and Japanese forms), a blank. Only
 * where a run of letters fills the whole eighth is it cut, and then between two characters.
 *
 * A row of a table stays whole if it fits into a chunk. A chunk that begins inside a table repeats its header row, if
 * that is at most a quarter of the chunk. A table is what Markdown calls so, or lines with the same number of " | ".
 *
 * The text is valid UTF-8 (core/document/document.h). A form feed stands between pages. Lines that begin with one to
 * six "#" and a blank are headings, outside of fences (```).
 */

#define CHUNKS_MAX       ((size_t)10000) /* of one document */
#define CHUNK_TOKENS_MIN 100
#define CHUNK_TOKENS_MAX 4096
#define CHUNK_HEADING_MAX \
    ((size_t)240) /* bytes of a heading path; a longer one loses its outer headings */

/* What clients call the static chunking strategy. */
struct chunking {
    uint32_t max_tokens;     /* CHUNK_TOKENS_MIN ... CHUNK_TOKENS_MAX */
    uint32_t overlap_tokens; /* 0 ... half of max_tokens */
};

/* The strategy "auto". */
#define CHUNKING_AUTO ((struct chunking){.max_tokens = 800, .overlap_tokens = 400})

struct chunk {
    uint32_t n;         /* from 0 */
    uint32_t page;      /* where it begins, from 1; 0: the text has no form feed */
    uint32_t tokens;    /* of its text, with the repeated header row */
    size_t begin;       /* bytes of the text */
    size_t length;      /* never 0 */
    size_t head_begin;  /* the header row of the table that it begins in */
    size_t head_length; /* 0: it does not begin in a table */
    char *heading;      /* the headings above it: "Safety > Batteries"; "" without any */
};

struct chunks {
    struct chunk *items;
    size_t count;
};

void chunks_clear(struct chunks *chunks);

/* Cuts a text. A text of white space alone has no chunks. `counter` may be NULL (words.h). Costs about a second for
 * 60 MiB without a counter. ERR_TOO_LARGE: more than CHUNKS_MAX chunks; *ret_chunks is untouched. */
enum err_code chunks_make(const struct chunking *chunking, const struct token_counter *counter,
                          const char *text, size_t length, struct chunks *ret_chunks,
                          struct err *err) MUST_CHECK;

/* Adds what is shown of a chunk: the header row of its table, if it has one, and its text. Form feeds are newlines.
 * `text` is the text that was cut. */
void chunk_add_text(struct buf *out, const struct chunk *chunk, const char *text);

/* Adds what is indexed, and sent to an embedding model: a line with the filename, a line with the heading path, if it
 * has one, and what is shown. `filename` may be NULL. */
void chunk_add_indexed(struct buf *out, const struct chunk *chunk, const char *text,
                       const char *filename);

/* The same, of a chunk that was stored: its heading path, and what is shown. */
void chunk_add_parts(struct buf *out, const char *filename, const char *heading,
                     const char *shown);

#endif
