/*
 * words.c -- reads a text character by character, and gives away the words that end.
 *
 * Letters are collected in a buffer, folded, with a mark where a part of an identifier begins. Signs of scripts without
 * blanks need no buffer: a word is made of each one and the one before it.
 *
 * Why not a dictionary for Chinese: pairs of signs find more than segmentation with a dictionary that does not know
 * the words of a document, and need nothing to be installed.
 */

#include "core/retrieval/words.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "core/retrieval/fold.h"
#include "core/retrieval/kind.h"

#define WORD_LIMIT      128 /* bytes; a longer run of letters is several words */
#define PARTS_LIMIT     8   /* an identifier with more is noise, such as base64 */
#define CHARACTER_LIMIT 4   /* bytes */
#define PLURAL_MIN      4   /* letters: "its" and "bus" are no plurals */
#define QUARTERS        4

/* ---- Signs that belong together ---- */

/* The kana with the voiced (or half-voiced) mark that follows it; 0 if it takes none. */
static uint32_t voiced(uint32_t kana, uint32_t mark)
{
    uint32_t row = kana >= 0x30A0 ? kana - 0x60 : kana; /* as hiragana */
    bool half = mark == 0x309A || mark == 0xFF9F;

    if (mark != 0x3099 && mark != 0xFF9E && !half)
        return 0;
    if (row >= 0x306F && row <= 0x307B && (row - 0x306F) % 3 == 0) /* ha ... ho */
        return kana + (half ? 2 : 1);
    if (half)
        return 0;
    if (row == 0x3046) /* u */
        return kana + 0x4E;
    /* ka ... chi, then tsu, te, to behind the small tsu */
    if ((row >= 0x304B && row <= 0x3061 && row % 2 == 1) || row == 0x3064 || row == 0x3066 ||
        row == 0x3068)
        return kana + 1;
    return 0;
}

/* A syllable of Hangul with the letter that follows it; 0 if they make none. */
static uint32_t syllable(uint32_t before, uint32_t letter)
{
    if (before - 0x1100 < 19 && letter - 0x1161 < 21)
        return 0xAC00 + ((before - 0x1100) * 21 + (letter - 0x1161)) * 28;
    if (before - 0xAC00 < 11172 && (before - 0xAC00) % 28 == 0 && letter - 0x11A8 < 27)
        return before + (letter - 0x11A7);
    return 0;
}

/* Reads a character with what is composed with it, folded. */
static size_t take_letter(const char *text, size_t length, uint32_t *ret_raw,
                          uint32_t *ret_point)
{
    size_t size = utf8_take(text, length, ret_raw);
    uint32_t point = fold_letter(*ret_raw);

    while (size < length && point >= 0x1100) {
        uint32_t next, made;
        size_t more = utf8_take(text + size, length - size, &next);

        made = next >= 0x1161 && next <= 0x11C2 ? syllable(point, next) : voiced(point, next);
        if (!made)
            break;
        point = made;
        size += more;
    }
    *ret_point = point;
    return size;
}

/* ---- Words ---- */

struct reader {
    words_take *take;
    void *arg;
    /* The word that is being read: */
    char letters[WORD_LIMIT];
    size_t length;
    size_t parts[PARTS_LIMIT + 1]; /* where each begins */
    size_t part_count;
    bool was_lower;  /* the last letter was a small one or a digit */
    bool all_upper;  /* all letters but the last are capitals */
    size_t capitals; /* in a row, at the end */
    /* The run that is being read: */
    uint32_t sign; /* the last one; 0 outside of a run */
    bool paired;   /* it is in a word already */
};

static uint32_t hash_point(uint32_t hash, uint32_t point)
{
    hash = hash_byte(hash, (unsigned char)(point & 0xFF));
    hash = hash_byte(hash, (unsigned char)(point >> 8 & 0xFF));
    return hash_byte(hash, (unsigned char)(point >> 16));
}

static bool ends_with(const char *word, size_t length, const char *end)
{
    size_t size = strlen(end);

    return length >= size && memcmp(word + length - size, end, size) == 0;
}

/* The length of a word without the ending of its plural; "y" replaces the last letter where *ret_y is set. */
static size_t without_plural(const char *word, size_t length, bool *ret_y)
{
    *ret_y = false;
    if (length < PLURAL_MIN)
        return length;
    for (size_t i = 0; i < length; i++) {
        if (word[i] < 'a' || word[i] > 'z')
            return length;
    }
    if (length > PLURAL_MIN && ends_with(word, length, "ies")) {
        *ret_y = true;
        return length - 2;
    }
    if (word[length - 1] == 's' && !strchr("sui", word[length - 2]))
        length--;
    /* "boxes" and "box", "caches" and "cache": the e goes from both. */
    if (word[length - 1] == 'e' &&
        (ends_with(word, length, "xe") || ends_with(word, length, "che") ||
         ends_with(word, length, "she") || ends_with(word, length, "sse") ||
         ends_with(word, length, "ze") || ends_with(word, length, "oe")))
        length--;
    return length;
}

static void give(struct reader *reader, const char *word, size_t length)
{
    uint32_t hash = HASH_OF_NOTHING;
    bool y;

    length = without_plural(word, length, &y);
    for (size_t i = 0; i + y < length; i++)
        hash = hash_byte(hash, (unsigned char)word[i]);
    reader->take(reader->arg, y ? hash_byte(hash, 'y') : hash);
}

static void end_word(struct reader *reader)
{
    size_t length = reader->length;

    if (length) {
        /* "PDFs", "IDs" */
        if (reader->all_upper && length > 2 && reader->letters[length - 1] == 's' &&
            reader->was_lower) {
            length--;
            reader->part_count = 0;
        }
        give(reader, reader->letters, length);
        if (reader->part_count && reader->part_count <= PARTS_LIMIT &&
            reader->parts[reader->part_count - 1] == length) /* "name_" */
            reader->part_count--;
        if (reader->part_count > 1 && reader->part_count <= PARTS_LIMIT) {
            reader->parts[reader->part_count] = length;
            for (size_t i = 0; i < reader->part_count; i++) {
                size_t begin = reader->parts[i], end = reader->parts[i + 1];

                if (end > begin)
                    give(reader, reader->letters + begin, end - begin);
            }
        }
    }
    reader->length = 0;
    reader->part_count = 0;
    reader->was_lower = false;
    reader->all_upper = true;
    reader->capitals = 0;
}

static void end_run(struct reader *reader)
{
    if (reader->sign && !reader->paired)
        reader->take(reader->arg, hash_point(HASH_OF_NOTHING, reader->sign));
    reader->sign = 0;
    reader->paired = false;
}

static void begin_part(struct reader *reader, size_t at)
{
    if (reader->part_count && reader->parts[reader->part_count - 1] == at)
        return;
    if (reader->part_count < PARTS_LIMIT)
        reader->parts[reader->part_count] = at;
    if (reader->part_count <= PARTS_LIMIT)
        reader->part_count++;
}

/* A letter or digit: `raw` as it stands there, `point` folded. */
static void add_letter(struct reader *reader, uint32_t raw, uint32_t point)
{
    bool upper = raw != point && raw < 0x80;

    if (reader->length + CHARACTER_LIMIT > WORD_LIMIT)
        end_word(reader);
    if (!reader->length)
        begin_part(reader, 0);
    else if (upper && reader->was_lower)
        begin_part(reader, reader->length); /* max|File */
    else if (!upper && reader->capitals > 1 && point >= 'a' && point <= 'z')
        begin_part(reader, reader->length - 1); /* HTTP|Server */
    if (reader->was_lower)
        reader->all_upper = false;
    reader->was_lower = !upper;
    reader->capitals = upper ? reader->capitals + 1 : 0;
    reader->length =
        (size_t)(utf8_put(reader->letters + reader->length, point) - reader->letters);
}

static void add_sign(struct reader *reader, uint32_t point)
{
    if (reader->sign) {
        reader->take(reader->arg, hash_point(hash_point(HASH_OF_NOTHING, reader->sign), point));
        reader->paired = true;
    }
    reader->sign = point;
}

void words_read(const char *text, size_t length, words_take *take, void *arg)
{
    struct reader reader = {.take = take, .arg = arg, .all_upper = true};

    for (size_t at = 0; at < length;) {
        uint32_t raw, point;
        const char *letters;
        enum kind kind;

        at += take_letter(text + at, length - at, &raw, &point);
        kind = kind_of(point);
        letters = fold_several(raw);
        if (kind == KIND_MARK)
            continue;
        if (kind != KIND_RUN)
            end_run(&reader);
        if (kind != KIND_LETTER && !(point == '_' && reader.length))
            end_word(&reader);
        if (letters) {
            for (; *letters; letters++)
                add_letter(&reader, (unsigned char)*letters, (unsigned char)*letters);
        } else if (kind == KIND_LETTER) {
            add_letter(&reader, raw, point);
        } else if (point == '_' && reader.length) {
            begin_part(&reader, reader.length);
            reader.was_lower = false;
        } else if (kind == KIND_RUN) {
            add_sign(&reader, point);
        } else if (kind == KIND_LONE) {
            take(arg, hash_point(HASH_OF_NOTHING, point));
        }
    }
    end_word(&reader);
    end_run(&reader);
}

/* ---- Tokens ---- */

size_t words_quarters(const char *text, size_t length)
{
    size_t quarters = 0;

    for (size_t at = 0; at < length;) {
        uint32_t point;

        at += utf8_take(text + at, length - at, &point);
        quarters += point < 0x80                                                   ? 1
                    : kind_of(point) == KIND_LETTER || kind_of(point) == KIND_MARK ? 2
                                                                                   : 4;
    }
    return quarters;
}

size_t words_tokens(const struct token_counter *counter, const char *text, size_t length)
{
    if (counter)
        return counter->count(counter->arg, text, length);
    return (words_quarters(text, length) + QUARTERS - 1) / QUARTERS;
}
