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

#define WORD_LIMIT      128 /* bytes; a longer run of letters is several words */
#define PARTS_LIMIT     8   /* an identifier with more is noise, such as base64 */
#define CHARACTER_LIMIT 4   /* bytes */
#define PLURAL_MIN      4   /* letters: "its" and "bus" are no plurals */
#define QUARTERS        4

/* ---- Kinds of characters ---- */

enum kind {
    SEPARATES,
    LETTER,
    MARK, /* belongs to the letter before it, and does not count */
    RUN,  /* a sign of a script without blanks */
    LONE, /* a word by itself */
};

/* What is not a LETTER, from U+0080. */
/* clang-format off */
static const struct {
    uint32_t first, last;
    enum kind kind;
} kinds[] = {
    {0x80, 0xA9, SEPARATES}, {0xAB, 0xAC, SEPARATES}, {0xAD, 0xAD, MARK}, {0xAE, 0xB1, SEPARATES},
    {0xB4, 0xB4, SEPARATES}, {0xB6, 0xB8, SEPARATES}, {0xBB, 0xBF, SEPARATES}, {0xD7, 0xD7, SEPARATES},
    {0xF7, 0xF7, SEPARATES}, {0x2C2, 0x2DF, SEPARATES}, {0x300, 0x36F, MARK}, {0x37E, 0x37E, SEPARATES},
    {0x387, 0x387, SEPARATES}, {0x482, 0x482, SEPARATES}, {0x483, 0x489, MARK}, {0x55A, 0x55F, SEPARATES},
    {0x589, 0x58F, SEPARATES}, {0x591, 0x5BD, MARK}, {0x5BE, 0x5BE, SEPARATES}, {0x5BF, 0x5BF, MARK},
    {0x5C0, 0x5C0, SEPARATES}, {0x5C1, 0x5C2, MARK}, {0x5C3, 0x5C3, SEPARATES}, {0x5C4, 0x5C5, MARK},
    {0x5C6, 0x5C6, SEPARATES}, {0x5C7, 0x5C7, MARK}, {0x5F3, 0x5F4, SEPARATES}, {0x600, 0x60F, SEPARATES},
    {0x610, 0x61A, MARK}, {0x61B, 0x61F, SEPARATES}, {0x640, 0x640, MARK}, {0x64B, 0x65F, MARK},
    {0x66A, 0x66D, SEPARATES}, {0x670, 0x670, MARK}, {0x6D4, 0x6D4, SEPARATES}, {0x6D6, 0x6DC, MARK},
    {0x6DD, 0x6DE, SEPARATES}, {0x6DF, 0x6E8, MARK}, {0x6E9, 0x6E9, SEPARATES}, {0x6EA, 0x6ED, MARK},
    {0x700, 0x70F, SEPARATES}, {0x964, 0x965, SEPARATES}, {0x970, 0x970, SEPARATES}, {0xE01, 0xE3A, RUN},
    {0xE3F, 0xE3F, SEPARATES}, {0xE40, 0xE4E, RUN}, {0xE4F, 0xE4F, SEPARATES}, {0xE50, 0xE59, RUN},
    {0xE5A, 0xE5B, SEPARATES}, {0xE80, 0xEFF, RUN}, {0xF01, 0xF17, SEPARATES}, {0xF3A, 0xF3D, SEPARATES},
    {0x1000, 0x1049, RUN}, {0x104A, 0x104F, SEPARATES}, {0x1050, 0x109F, RUN}, {0x10FB, 0x10FB, SEPARATES},
    {0x1100, 0x11FF, RUN}, {0x1360, 0x1368, SEPARATES}, {0x1780, 0x17D3, RUN}, {0x17D4, 0x17DA, SEPARATES},
    {0x17DB, 0x17FF, RUN}, {0x1800, 0x180A, SEPARATES}, {0x1AB0, 0x1AFF, MARK}, {0x1DC0, 0x1DFF, MARK},
    {0x2000, 0x200B, SEPARATES}, {0x200C, 0x200F, MARK}, {0x2010, 0x205F, SEPARATES}, {0x2060, 0x2064, MARK},
    {0x2065, 0x206F, SEPARATES}, {0x207A, 0x207E, SEPARATES}, {0x208A, 0x208E, SEPARATES}, {0x20A0, 0x20CF, SEPARATES},
    {0x20D0, 0x20FF, MARK}, {0x2100, 0x2101, SEPARATES}, {0x2116, 0x2118, SEPARATES}, {0x2120, 0x2123, SEPARATES},
    {0x2190, 0x245F, SEPARATES}, {0x2500, 0x25FF, SEPARATES}, {0x2600, 0x27BF, LONE}, {0x27C0, 0x2BFF, SEPARATES},
    {0x2E00, 0x2E7F, SEPARATES}, {0x2E80, 0x2FDF, RUN}, {0x2FE0, 0x3004, SEPARATES}, {0x3005, 0x3007, RUN},
    {0x3008, 0x3020, SEPARATES}, {0x3021, 0x3029, RUN}, {0x302A, 0x302F, MARK}, {0x3030, 0x3030, SEPARATES},
    {0x3031, 0x3035, RUN}, {0x3036, 0x3037, SEPARATES}, {0x3038, 0x303C, RUN}, {0x303D, 0x3040, SEPARATES},
    {0x3041, 0x3096, RUN}, {0x3099, 0x309A, MARK}, {0x309B, 0x309C, SEPARATES}, {0x309D, 0x309F, RUN},
    {0x30A0, 0x30A0, SEPARATES}, {0x30A1, 0x30FA, RUN}, {0x30FB, 0x30FB, SEPARATES}, {0x30FC, 0x318F, RUN},
    {0x3190, 0x319F, SEPARATES}, {0x31A0, 0x31BF, RUN}, {0x31C0, 0x31EF, SEPARATES}, {0x31F0, 0x31FF, RUN},
    {0x3200, 0x33FF, LONE}, {0x3400, 0x4DBF, RUN}, {0x4DC0, 0x4DFF, LONE}, {0x4E00, 0xA48F, RUN},
    {0xA490, 0xA4CF, SEPARATES}, {0xA960, 0xA97F, RUN}, {0xAC00, 0xD7FF, RUN}, {0xE000, 0xF8FF, SEPARATES},
    {0xF900, 0xFAFF, RUN}, {0xFD3E, 0xFD3F, SEPARATES}, {0xFE00, 0xFE0F, MARK}, {0xFE10, 0xFE1F, SEPARATES},
    {0xFE20, 0xFE2F, MARK}, {0xFE30, 0xFE6F, SEPARATES}, {0xFEFF, 0xFEFF, MARK}, {0xFF00, 0xFF65, SEPARATES},
    {0xFF9E, 0xFF9F, MARK}, {0xFFA0, 0xFFDF, RUN}, {0xFFE0, 0xFFFF, SEPARATES}, {0x1F000, 0x1FAFF, LONE},
    {0x20000, 0x3FFFF, RUN}, {0xE0000, 0xE0FFF, MARK}, {0xF0000, 0x10FFFF, SEPARATES},
};
/* clang-format on */

/* Of a folded character. */
static enum kind kind_of(uint32_t point)
{
    size_t low = 0, high = COUNT_OF(kinds);

    if (point < 0x80) {
        return (point >= 'a' && point <= 'z') || (point >= '0' && point <= '9') ? LETTER
                                                                                : SEPARATES;
    }
    if (point >= 0x4E00 && point <= 0x9FFF) /* most of a Chinese text */
        return RUN;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (kinds[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT_OF(kinds) && kinds[low].first <= point ? kinds[low].kind : LETTER;
}

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
        if (kind == MARK)
            continue;
        if (kind != RUN)
            end_run(&reader);
        if (kind != LETTER && !(point == '_' && reader.length))
            end_word(&reader);
        if (letters) {
            for (; *letters; letters++)
                add_letter(&reader, (unsigned char)*letters, (unsigned char)*letters);
        } else if (kind == LETTER) {
            add_letter(&reader, raw, point);
        } else if (point == '_' && reader.length) {
            begin_part(&reader, reader.length);
            reader.was_lower = false;
        } else if (kind == RUN) {
            add_sign(&reader, point);
        } else if (kind == LONE) {
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
        quarters += point < 0x80                                         ? 1
                    : kind_of(point) == LETTER || kind_of(point) == MARK ? 2
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
