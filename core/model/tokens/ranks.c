/*
 * ranks.c -- byte pair encoding.
 *
 * A piece begins as single bytes. The two neighbours whose join is the token of the lowest rank
 * become one part, again and again, until no two neighbours make a token. The simple way searches
 * all neighbours for each join, which costs n squared: billions of steps for a piece of 64 KiB, which
 * a client can send. Here candidates wait in a heap, and n bytes cost n log n.
 *
 * A join makes earlier candidates invalid. They are not searched for in the heap; still_there()
 * rejects them when they come to the top. Each join adds two candidates at most, so the heap never
 * needs more than three places a byte.
 *
 * Only the number of tokens is wanted, so tokens have no ids here: the table maps bytes to a rank.
 */

#include "core/model/tokens/ranks.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

#define NOWHERE UINT32_MAX

struct token {
    uint32_t at; /* the place of its bytes */
    uint32_t length;
    uint32_t rank;
};

struct ranks {
    struct buf bytes; /* of all tokens, one after another */
    struct token *tokens;
    size_t count, room;
    uint32_t *slots; /* open addressing: numbers of tokens, or NOWHERE */
    uint32_t mask;
    size_t longest;
};

/* ---- The table ---- */

static uint32_t hash_of(const char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ (hash >> 32));
}

/* The slot of these bytes, or the empty one where they would be. */
static uint32_t *slot_of(const struct ranks *ranks, const char *bytes, size_t length)
{
    uint32_t at = hash_of(bytes, length) & ranks->mask;

    for (;; at = (at + 1) & ranks->mask) {
        const struct token *token;

        if (ranks->slots[at] == NOWHERE)
            return &ranks->slots[at];
        token = &ranks->tokens[ranks->slots[at]];
        if (token->length == length &&
            memcmp(ranks->bytes.data + token->at, bytes, length) == 0)
            return &ranks->slots[at];
    }
}

/* NOWHERE when the bytes are no token. */
static uint32_t rank_of(const struct ranks *ranks, const char *bytes, size_t length)
{
    uint32_t found;

    if (length > ranks->longest)
        return NOWHERE;
    found = *slot_of(ranks, bytes, length);
    return found == NOWHERE ? NOWHERE : ranks->tokens[found].rank;
}

/* ---- Reading the file ---- */

static enum err_code bad_line(const char *name, size_t line, const char *why, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s:%zu: %s", name, line, why);
}

static void add_token(struct ranks *ranks, const unsigned char *bytes, size_t length,
                      uint32_t rank)
{
    if (ranks->count == ranks->room) {
        ranks->room = ranks->room ? ranks->room * 2 : 4096;
        ranks->tokens = mem_resize(ranks->tokens, ranks->room, sizeof(*ranks->tokens));
    }
    ranks->tokens[ranks->count++] = (struct token){
        .at = (uint32_t)ranks->bytes.length, .length = (uint32_t)length, .rank = rank};
    buf_add(&ranks->bytes, bytes, length);
    if (length > ranks->longest)
        ranks->longest = length;
}

static enum err_code parse_line(struct ranks *ranks, const char *name, size_t number,
                                const char *line, size_t length, struct err *err)
{
    unsigned char bytes[RANKS_BYTES_LIMIT];
    const char *blank = memchr(line, ' ', length);
    size_t count = 0;
    uint64_t rank = 0;

    if (!blank ||
        sodium_base642bin(bytes, sizeof(bytes), line, (size_t)(blank - line), NULL, &count,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        !count)
        return bad_line(name, number, "expected a token in base64, a blank and its rank", err);
    for (const char *digit = blank + 1; digit < line + length; digit++) {
        if (*digit < '0' || *digit > '9' || rank > UINT32_MAX / 10 - 1)
            return bad_line(name, number, "the rank is not a number", err);
        rank = rank * 10 + (uint64_t)(*digit - '0');
    }
    if (ranks->count == RANKS_TOKEN_LIMIT)
        return bad_line(name, number, "too many tokens", err);
    add_token(ranks, bytes, count, (uint32_t)rank);
    return ERR_OK;
}

static enum err_code parse_lines(struct ranks *ranks, const char *name, const char *text,
                                 size_t size, struct err *err)
{
    const char *end = text + size;

    for (size_t number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        size_t shown = length && text[length - 1] == '\r' ? length - 1 : length;
        enum err_code rc = ERR_OK;

        if (shown)
            rc = parse_line(ranks, name, number, text, shown, err);
        if (rc)
            return rc;
        text += length + 1;
    }
    return ERR_OK;
}

static enum err_code build_table(struct ranks *ranks, const char *name, struct err *err)
{
    uint32_t size = 512;

    while (size < ranks->count * 2)
        size *= 2;
    ranks->mask = size - 1;
    ranks->slots = mem_new_array(uint32_t, size);
    memset(ranks->slots, 0xff, size * sizeof(*ranks->slots));
    for (uint32_t i = 0; i < ranks->count; i++)
        *slot_of(ranks, ranks->bytes.data + ranks->tokens[i].at, ranks->tokens[i].length) = i;
    for (int byte = 0; byte < 256; byte++) {
        char only = (char)byte;

        if (rank_of(ranks, &only, 1) == NOWHERE)
            return err_set(err, ERR_INVALID, "%s: the byte 0x%02x has no token", name, byte);
    }
    return ERR_OK;
}

enum err_code ranks_parse(const char *name, const char *text, size_t length,
                          struct ranks **ret_ranks, struct err *err)
{
    struct ranks *ranks = mem_new(struct ranks);
    enum err_code rc = parse_lines(ranks, name, text, length, err);

    if (!rc)
        rc = build_table(ranks, name, err);
    if (rc) {
        ranks_free(ranks);
        return rc;
    }
    *ret_ranks = ranks;
    return ERR_OK;
}

void ranks_free(struct ranks *ranks)
{
    if (!ranks)
        return;
    buf_clear(&ranks->bytes);
    free(ranks->tokens);
    free(ranks->slots);
    free(ranks);
}

/* ---- Merging ---- */

/* Two neighbouring parts that would make a token: [at, middle) and [middle, end). */
struct pair {
    uint32_t rank, at, middle, end;
};

/* A piece in parts. next[i] is the end of the part that begins at i, and so the beginning of the next
 * part; it is 0 for places inside a part. */
struct merging {
    const struct ranks *ranks;
    const char *piece;
    uint32_t length;
    uint32_t *next, *before;
    struct pair *heap;
    size_t heap_size;
};

/* Of two candidates with the same rank the left one is first, as in the encoders that models were
 * trained with. */
static bool comes_before(const struct pair *a, const struct pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap_pairs(struct pair *a, struct pair *b)
{
    struct pair held = *a;

    *a = *b;
    *b = held;
}

static void push(struct merging *merging, struct pair pair)
{
    struct pair *heap = merging->heap;
    size_t at = merging->heap_size++;

    heap[at] = pair;
    for (; at && comes_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap_pairs(&heap[at], &heap[(at - 1) / 2]);
}

static struct pair pop(struct merging *merging)
{
    struct pair *heap = merging->heap;
    struct pair first = heap[0];
    size_t size = --merging->heap_size;
    size_t at = 0;

    heap[0] = heap[size];
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < size; child++)
            if (comes_before(&heap[child], &heap[least]))
                least = child;
        if (least == at)
            return first;
        swap_pairs(&heap[at], &heap[least]);
        at = least;
    }
}

/* Adds the part at `at` and the next one as a candidate, if they would make a token. */
static void consider(struct merging *merging, uint32_t at)
{
    uint32_t middle = merging->next[at];
    uint32_t end, rank;

    if (middle >= merging->length)
        return;
    end = merging->next[middle];
    rank = rank_of(merging->ranks, merging->piece + at, end - at);
    if (rank != NOWHERE)
        push(merging, (struct pair){rank, at, middle, end});
}

static bool still_there(const struct merging *merging, const struct pair *pair)
{
    return merging->next[pair->at] == pair->middle && merging->next[pair->middle] == pair->end;
}

static void join(struct merging *merging, const struct pair *pair)
{
    merging->next[pair->at] = pair->end;
    merging->next[pair->middle] = 0;
    if (pair->end < merging->length)
        merging->before[pair->end] = pair->at;
    consider(merging, pair->at);
    if (pair->at)
        consider(merging, merging->before[pair->at]);
}

static size_t merge(struct merging *merging)
{
    size_t parts = merging->length;

    for (uint32_t i = 0; i < merging->length; i++) {
        merging->next[i] = i + 1;
        merging->before[i] = i ? i - 1 : 0;
    }
    for (uint32_t i = 0; i + 1 < merging->length; i++)
        consider(merging, i);
    while (merging->heap_size) {
        struct pair pair = pop(merging);

        if (!still_there(merging, &pair))
            continue;
        join(merging, &pair);
        parts--;
    }
    return parts;
}

static size_t count_part(const struct ranks *ranks, const char *piece, size_t length)
{
    struct merging merging = {.ranks = ranks, .piece = piece, .length = (uint32_t)length};
    size_t count;

    if (length <= 1 || rank_of(ranks, piece, length) != NOWHERE)
        return length ? 1 : 0;
    merging.next = mem_new_array(uint32_t, length);
    merging.before = mem_new_array(uint32_t, length);
    merging.heap =
        mem_new_array(struct pair, 3 * length); /* one a byte, and two for each join */
    count = merge(&merging);
    free(merging.next);
    free(merging.before);
    free(merging.heap);
    return count;
}

size_t ranks_count(const struct ranks *ranks, const char *piece, size_t length)
{
    size_t count = 0;

    for (; length > RANKS_PIECE_LIMIT; length -= RANKS_PIECE_LIMIT) {
        count += count_part(ranks, piece, RANKS_PIECE_LIMIT);
        piece += RANKS_PIECE_LIMIT;
    }
    return count + count_part(ranks, piece, length);
}
