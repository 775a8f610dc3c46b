/*
 * segment.c -- writes and reads the bytes of an index.
 *
 * Words stand in their order, each as it is: most words that are looked for are in a few segments only, and must be
 * missed fast. In a document of average size distances between them would have four bytes, too. The terms behind them
 * stand in blocks of BLOCK_TERMS, each with its offset. In a block everything is a varint: seven bits a byte, the
 * lowest first.
 *
 *   term      n, chunks that have the word | n > 1: bytes of its postings | postings
 *   posting   2 · distance from the chunk before, plus 1 if the chunk has the word more than once | then how often
 *
 * A posting of a builder is one number, so that sorting moves eight bytes: word, chunk, times from the top. It is
 * sorted by word alone; chunks were added in their order, and the sort keeps it.
 */

#include "core/retrieval/segment.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/words.h"

#define MAGIC        "runnel\x1A\x01" /* the last byte is the version */
#define MAGIC_LENGTH ((size_t)8)
#define BLOCK_TERMS  16u
#define NEAR         8u /* words around the expected place */

/* Where the head has what. */
enum {
    AT_CHECKSUM = 8,
    AT_LENGTH = 16, /* the checksum begins here */
    AT_KIND = 24,
    AT_CHUNKS = 28,
    AT_TERMS = 32,
    AT_BLOCKS = 36,
    AT_DIMENSIONS = 40,
    AT_MODEL = 44,
    AT_WORDS = 48,
};

#define WORDS_LIMIT 0xFFFFu /* of a chunk, as it is written */

/* ---- Numbers ---- */

static uint32_t get32(const uint8_t *at)
{
    uint32_t number;

    memcpy(&number, at, sizeof(number));
    return le32toh(number);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof(number));
    return le64toh(number);
}

static void put32(char *at, uint32_t number)
{
    number = htole32(number);
    memcpy(at, &number, sizeof(number));
}

static void put64(char *at, uint64_t number)
{
    number = htole64(number);
    memcpy(at, &number, sizeof(number));
}

static void add_varint(struct buf *out, uint32_t number)
{
    for (; number >= 0x80; number >>= 7)
        buf_add_char(out, (char)(number | 0x80));
    buf_add_char(out, (char)number);
}

/* False: there is no whole number before `end`. */
static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint32_t *ret_number)
{
    uint32_t number = 0;

    if (*at < end && **at < 0x80) { /* nearly all are that small */
        *ret_number = *(*at)++;
        return true;
    }

    for (unsigned shift = 0; shift < 35 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;

        number |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static uint64_t checksum(const uint8_t *bytes, size_t length)
{
    uint64_t sum = length;
    uint8_t rest[8] = {0};

    for (; length >= 8; bytes += 8, length -= 8) {
        sum = (sum ^ get64(bytes)) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 29;
    }
    memcpy(rest, bytes, length);
    sum = (sum ^ get64(rest)) * 0x9E3779B97F4A7C15u;
    return sum ^ sum >> 32;
}

/* ---- Head ---- */

void segment_begin(struct buf *out)
{
    assert(!out->length);
    memset(buf_reserve(out, SEGMENT_HEAD), 0, SEGMENT_HEAD);
    buf_added(out, SEGMENT_HEAD);
}

void segment_seal(struct buf *out, const struct segment *head)
{
    char *at = out->data;

    memcpy(at, MAGIC, MAGIC_LENGTH);
    put64(at + AT_LENGTH, out->length);
    put32(at + AT_KIND, (uint32_t)head->kind);
    put32(at + AT_CHUNKS, head->chunks);
    put32(at + AT_TERMS, head->terms);
    put32(at + AT_BLOCKS, head->blocks);
    put32(at + AT_DIMENSIONS, head->dimensions);
    put32(at + AT_MODEL, head->model);
    put64(at + AT_WORDS, head->words);
    put64(at + AT_CHECKSUM, checksum((const uint8_t *)at + AT_LENGTH, out->length - AT_LENGTH));
}

/* ---- Building ---- */

struct segment_builder {
    uint64_t *postings; /* word << 32 | chunk << TIMES_BITS | times */
    size_t count, room;
    uint64_t *found; /* the words of one chunk, << 32 */
    size_t found_count, found_room;
    uint64_t *scratch; /* for sorting */
    size_t scratch_room;
    uint16_t *chunk_words;
    uint32_t chunks;
    uint64_t words;
};

#define TIMES_BITS  18
#define TIMES_LIMIT ((1u << TIMES_BITS) - 1)

struct segment_builder *segment_builder_new(void)
{
    struct segment_builder *builder = mem_new(struct segment_builder);

    builder->chunk_words = mem_new_array(uint16_t, SEGMENT_CHUNKS_MAX);
    return builder;
}

void segment_builder_free(struct segment_builder *builder)
{
    if (!builder)
        return;
    free(builder->postings);
    free(builder->found);
    free(builder->scratch);
    free(builder->chunk_words);
    free(builder);
}

static void append(uint64_t **list, size_t *count, size_t *room, uint64_t number)
{
    if (*count == *room) {
        *room = *room ? 2 * *room : 1024;
        *list = mem_resize(*list, *room, sizeof(**list));
    }
    (*list)[(*count)++] = number;
}

/* Sorts by the upper half, byte by byte from the lowest; numbers with equal ones keep their order. A stranger
 * chooses the words, so no hash table. */
static void sort_by_word(struct segment_builder *builder, uint64_t *list, size_t count)
{
    size_t begins[4][256] = {{0}};
    uint64_t *from = list, *to;

    if (builder->scratch_room < count) {
        builder->scratch_room = count;
        builder->scratch = mem_resize(builder->scratch, count, sizeof(*builder->scratch));
    }
    to = builder->scratch;
    for (size_t i = 0; i < count; i++) {
        for (unsigned byte = 0; byte < 4; byte++)
            begins[byte][list[i] >> (32 + 8 * byte) & 0xFF]++;
    }
    for (unsigned byte = 0; byte < 4; byte++) {
        size_t sum = 0;
        uint64_t *swapped = from;

        for (size_t i = 0; i < 256; i++) {
            size_t here = begins[byte][i];

            begins[byte][i] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            to[begins[byte][from[i] >> (32 + 8 * byte) & 0xFF]++] = from[i];
        from = to;
        to = swapped;
    }
    /* Four passes: the result is where it began. */
}

static void take_word(void *arg, uint32_t word)
{
    struct segment_builder *builder = arg;

    append(&builder->found, &builder->found_count, &builder->found_room, (uint64_t)word << 32);
}

void segment_builder_add(struct segment_builder *builder, const char *text, size_t length)
{
    uint64_t *found;
    size_t count;

    assert(builder->chunks < SEGMENT_CHUNKS_MAX);
    builder->found_count = 0;
    words_read(text, length, take_word, builder);
    found = builder->found;
    count = builder->found_count;
    sort_by_word(builder, found, count);
    for (size_t i = 0; i < count;) {
        size_t first = i;

        while (i < count && found[i] == found[first])
            i++;
        append(&builder->postings, &builder->count, &builder->room,
               found[first] | (uint64_t)builder->chunks << TIMES_BITS |
                   (i - first < TIMES_LIMIT ? i - first : TIMES_LIMIT));
    }
    builder->chunk_words[builder->chunks++] =
        (uint16_t)(count < WORDS_LIMIT ? count : WORDS_LIMIT);
    builder->words += count < WORDS_LIMIT ? count : WORDS_LIMIT;
}

/* The postings of one word, which are the first `count` ones. */
static void write_postings(struct buf *out, const uint64_t *postings, size_t count)
{
    uint32_t next = 0; /* the first chunk that may come */

    for (size_t i = 0; i < count; i++) {
        uint32_t chunk = (uint32_t)(postings[i] >> TIMES_BITS & 0x3FFF);
        uint32_t times = (uint32_t)(postings[i] & TIMES_LIMIT);

        add_varint(out, (chunk - next) << 1 | (times > 1));
        if (times > 1)
            add_varint(out, times);
        next = chunk + 1;
    }
}

static void add32(struct buf *out, uint32_t number)
{
    put32(buf_reserve(out, sizeof(number)), number);
    buf_added(out, sizeof(number));
}

/* All words into `words`, the offsets of their blocks into `table`, their postings into `out`. Returns how many. */
static uint32_t write_terms(const struct segment_builder *builder, struct buf *words,
                            struct buf *table, struct buf *out)
{
    AUTO_BUF postings = {0};
    uint32_t terms = 0;

    for (size_t i = 0; i < builder->count; terms++) {
        uint32_t word = (uint32_t)(builder->postings[i] >> 32);
        size_t first = i;

        while (i < builder->count && builder->postings[i] >> 32 == word)
            i++;
        add32(words, word);
        if (terms % BLOCK_TERMS == 0)
            add32(table, (uint32_t)out->length);
        add_varint(out, (uint32_t)(i - first));
        buf_reset(&postings);
        write_postings(&postings, builder->postings + first, i - first);
        if (i - first > 1)
            add_varint(out, (uint32_t)postings.length);
        buf_add(out, postings.data, postings.length);
    }
    return terms;
}

void segment_builder_finish(struct segment_builder *builder, struct buf *out)
{
    AUTO_BUF words = {0};
    AUTO_BUF table = {0};
    AUTO_BUF postings = {0};
    struct segment head = {
        .kind = SEGMENT_TERMS, .chunks = builder->chunks, .words = builder->words};

    sort_by_word(builder, builder->postings, builder->count);
    head.terms = write_terms(builder, &words, &table, &postings);
    head.blocks = (head.terms + BLOCK_TERMS - 1) / BLOCK_TERMS;
    segment_begin(out);
    for (uint32_t i = 0; i < builder->chunks; i++) {
        buf_add_char(out, (char)(builder->chunk_words[i] & 0xFF));
        buf_add_char(out, (char)(builder->chunk_words[i] >> 8));
    }
    if (head.terms) {
        buf_add(out, words.data, words.length);
        buf_add(out, table.data, table.length);
        buf_add(out, postings.data, postings.length);
    }
    segment_seal(out, &head);
}

/* ---- Reading ---- */

static const uint8_t *words_of(const struct segment *segment)
{
    return segment->body + 2 * (size_t)segment->chunks;
}

static const uint8_t *table_of(const struct segment *segment)
{
    return words_of(segment) + sizeof(uint32_t) * (size_t)segment->terms;
}

/* Behind the table. */
static const uint8_t *terms_of(const struct segment *segment)
{
    return table_of(segment) + sizeof(uint32_t) * (size_t)segment->blocks;
}

static size_t terms_length(const struct segment *segment)
{
    return segment->body_length - (size_t)(terms_of(segment) - segment->body);
}

/* The words and the table are in order, and the table points into the terms. */
static bool is_ordered(const struct segment *segment)
{
    const uint8_t *words = words_of(segment), *table = table_of(segment);

    for (uint32_t i = 1; i < segment->terms; i++) {
        if (get32(words + 4 * (size_t)i) <= get32(words + 4 * (size_t)(i - 1)))
            return false;
    }
    for (uint32_t i = 0; i < segment->blocks; i++) {
        if (get32(table + 4 * (size_t)i) >= terms_length(segment) ||
            (i && get32(table + 4 * (size_t)i) <= get32(table + 4 * (size_t)(i - 1))))
            return false;
    }
    return true;
}

/* The sizes that the head claims are those of the body. */
static bool is_whole(const struct segment *segment)
{
    switch (segment->kind) {
    case SEGMENT_TERMS:
        return segment->blocks == (segment->terms + (uint64_t)BLOCK_TERMS - 1) / BLOCK_TERMS &&
               2 * (uint64_t)segment->chunks + 4 * (uint64_t)segment->terms +
                       4 * (uint64_t)segment->blocks <=
                   segment->body_length &&
               is_ordered(segment);
    case SEGMENT_BITS:
    case SEGMENT_INT8:
        return segment->dimensions >= 1 && segment->dimensions <= SEGMENT_DIMENSIONS_MAX &&
               segment->body_length ==
                   segment->chunks * segment_stride(segment->kind, segment->dimensions);
    }
    return false;
}

size_t segment_stride(enum segment_kind kind, uint32_t dimensions)
{
    return kind == SEGMENT_BITS ? (dimensions + 63) / 64 * 8
                                : sizeof(float) + (dimensions + 3) / 4 * 4;
}

size_t segment_length(const void *bytes, size_t left)
{
    const uint8_t *at = bytes;
    uint64_t length;

    if (left < SEGMENT_HEAD || memcmp(at, MAGIC, MAGIC_LENGTH) != 0)
        return 0;
    length = get64(at + AT_LENGTH);
    return length >= SEGMENT_HEAD && length <= left ? (size_t)length : 0;
}

enum err_code segment_open(const void *bytes, size_t length, struct segment *ret_segment,
                           struct err *err)
{
    const uint8_t *at = bytes;
    struct segment segment;

    if (length < SEGMENT_HEAD || memcmp(at, MAGIC, MAGIC_LENGTH) != 0)
        return err_set(err, ERR_INVALID, "The bytes are no segment of this version.");
    if (get64(at + AT_LENGTH) != length ||
        get64(at + AT_CHECKSUM) != checksum(at + AT_LENGTH, length - AT_LENGTH))
        return err_set(err, ERR_INVALID, "The segment is damaged.");
    segment = (struct segment){
        .kind = (enum segment_kind)get32(at + AT_KIND),
        .chunks = get32(at + AT_CHUNKS),
        .terms = get32(at + AT_TERMS),
        .blocks = get32(at + AT_BLOCKS),
        .dimensions = get32(at + AT_DIMENSIONS),
        .model = get32(at + AT_MODEL),
        .words = get64(at + AT_WORDS),
        .body = at + SEGMENT_HEAD,
        .body_length = length - SEGMENT_HEAD,
    };
    if (segment.chunks > SEGMENT_CHUNKS_MAX || !is_whole(&segment))
        return err_set(err, ERR_INVALID, "The segment's head does not fit its body.");
    *ret_segment = segment;
    return ERR_OK;
}

/* Reads a term: its postings, and where the next term begins. */
static bool take_term(const struct segment *segment, const uint8_t **at, const uint8_t *end,
                      struct segment_postings *ret_postings)
{
    const uint8_t *begin;
    uint32_t chunks, bytes;

    if (!take_varint(at, end, &chunks) || !chunks || chunks > segment->chunks)
        return false;
    if (chunks > 1) {
        if (!take_varint(at, end, &bytes) || bytes > (size_t)(end - *at))
            return false;
        begin = *at;
        *at += bytes;
    } else {
        uint32_t posting, times;

        begin = *at;
        if (!take_varint(at, end, &posting) || (posting & 1 && !take_varint(at, end, &times)))
            return false;
    }
    *ret_postings = (struct segment_postings){
        .at = begin, .end = *at, .chunks = chunks, .left = chunks, .limit = segment->chunks};
    return true;
}

/* Words are hashes, so one lies near its share of the table. */
static uint32_t guess_of(uint32_t count, uint32_t word)
{
    return (uint32_t)((uint64_t)word * count >> 32);
}

/* The first of the words that is not less. Halving begins with a narrow range around the guess, which grows while it is
 * wrong. */
static uint32_t first_from(const uint8_t *words, uint32_t count, uint32_t word)
{
    uint32_t guess = guess_of(count, word), reach = NEAR;
    uint32_t low = guess, high = guess;

    while (low && get32(words + 4 * (size_t)(low - 1)) >= word) {
        low = low > reach ? low - reach : 0;
        reach *= 2;
    }
    reach = NEAR;
    while (high < count && get32(words + 4 * (size_t)high) < word) {
        high = count - high > reach ? high + reach : count;
        reach *= 2;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (get32(words + 4 * (size_t)middle) < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void segment_find_ahead(const struct segment *segment, uint32_t word)
{
    uint32_t guess = guess_of(segment->terms, word);

    assert(segment->kind == SEGMENT_TERMS);
    if (!segment->terms)
        return;
    __builtin_prefetch(words_of(segment) + 4 * (size_t)guess);
    __builtin_prefetch(table_of(segment) + 4 * (size_t)(guess / BLOCK_TERMS));
}

void segment_find_term(const struct segment *segment, uint32_t word,
                       struct segment_term *ret_term)
{
    const uint8_t *words = words_of(segment);
    uint32_t term = first_from(words, segment->terms, word);

    assert(segment->kind == SEGMENT_TERMS);
    *ret_term = (struct segment_term){0};
    if (term == segment->terms || get32(words + 4 * (size_t)term) != word)
        return;
    ret_term->at =
        terms_of(segment) + get32(table_of(segment) + 4 * (size_t)(term / BLOCK_TERMS));
    ret_term->skip = term % BLOCK_TERMS;
    __builtin_prefetch(ret_term->at);
}

bool segment_find_postings(const struct segment *segment, const struct segment_term *term,
                           struct segment_postings *ret_postings)
{
    const uint8_t *at = term->at, *end = terms_of(segment) + terms_length(segment);

    if (!at)
        return false;
    for (uint32_t i = term->skip + 1; i > 0; i--) {
        if (!take_term(segment, &at, end, ret_postings))
            return false;
    }
    return true;
}

bool segment_find(const struct segment *segment, uint32_t word,
                  struct segment_postings *ret_postings)
{
    struct segment_term term;

    segment_find_term(segment, word, &term);
    return segment_find_postings(segment, &term, ret_postings);
}

static inline bool next_posting(struct segment_postings *postings, uint32_t *ret_chunk,
                                uint32_t *ret_times)
{
    uint32_t posting, times = 1;

    if (!postings->left || !take_varint(&postings->at, postings->end, &posting) ||
        (posting & 1 && !take_varint(&postings->at, postings->end, &times)))
        return false;
    if (posting >> 1 >= postings->limit - postings->chunk || !times) {
        postings->left = 0;
        return false;
    }
    *ret_chunk = postings->chunk + (posting >> 1);
    *ret_times = times;
    postings->chunk = *ret_chunk + 1;
    postings->left--;
    return true;
}

bool segment_next(struct segment_postings *postings, uint32_t *ret_chunk, uint32_t *ret_times)
{
    return next_posting(postings, ret_chunk, ret_times);
}

/* On a copy, which the compiler keeps in registers. */
size_t segment_next_some(struct segment_postings *postings,
                         struct segment_posting *ret_postings, size_t room)
{
    struct segment_postings at = *postings;
    size_t count = 0;

    while (count < room &&
           next_posting(&at, &ret_postings[count].chunk, &ret_postings[count].times))
        count++;
    *postings = at;
    return count;
}
