/*
 * citation.c -- an automaton over characters.
 *
 *             【 or [           digit        :          digit       †
 *   TEXT ─────────────▶ OPEN ──────▶ SEARCH ──▶ COLON ──────▶ PASSAGE ──▶ REST
 *                         ▲                                   │  │         │
 *                         └──────────────── , ────────────────┘  └── 】 ───┴──▶ a mark
 *
 * A mark never spans another opening bracket of its kind, so a character that does not fit can begin the next
 * mark, and no text has to be read twice. A mark in narrow brackets needs the dagger: [2:0] is a time, an
 * element of an array or a verse.
 *
 * The mark that begins in the present piece is not copied: if it turns out to be text, it is a part of the text
 * around it. Only what is open at the end of a piece is copied, into `held`.
 *
 * Regular expressions were considered. They see whole texts, and this one comes in pieces.
 */

#include "core/run/citation/citation.h"

#include <string.h>

/* More digits than any search or passage has. */
#define DIGIT_LIMIT 6

#define OPENING "\xE3\x80\x90" /* 【 */
#define CLOSING "\xE3\x80\x91" /* 】 */
#define DAGGER  "\xE2\x80\xA0" /* † */

enum { TEXT, OPEN, SEARCH, COLON, PASSAGE, REST };

enum verdict {
    FITS,
    ENDS, /* it is the last character of a mark */
    MISSES,
};

/* A character of the piece. Characters that mean nothing here have the sign 0. */
struct character {
    char sign; /* a digit, one of `:,[]`, or < > + for the wide brackets and the dagger */
    size_t size;
};

static size_t size_of(const char *text, size_t length)
{
    size_t size = 1;

    while (size < length && ((unsigned char)text[size] & 0xC0) == 0x80)
        size++;
    return size;
}

static bool is(const char *text, size_t size, const char *wanted)
{
    return size == 3 && memcmp(text, wanted, 3) == 0;
}

static struct character character_at(const char *text, size_t length)
{
    struct character character = {.size = size_of(text, length)};

    if (character.size == 1)
        character.sign = strchr("0123456789:,[]", *text) ? *text : 0;
    else if (is(text, character.size, OPENING))
        character.sign = '<';
    else if (is(text, character.size, CLOSING))
        character.sign = '>';
    else if (is(text, character.size, DAGGER))
        character.sign = '+';
    return character;
}

static bool is_digit(char sign)
{
    return sign >= '0' && sign <= '9';
}

/* The first digit of a number: of a search, which begins a pair, or of a passage. */
static enum verdict begin_number(struct citation_parser *parser, char sign)
{
    struct citation_pair *pair;

    if (!is_digit(sign))
        return MISSES;
    parser->digits = 1;
    if (parser->state == OPEN) {
        if (parser->count == CITATION_PAIR_LIMIT)
            return MISSES;
        pair = &parser->pairs[parser->count++];
        *pair = (struct citation_pair){.search = (unsigned)(sign - '0')};
        parser->state = SEARCH;
    } else {
        parser->pairs[parser->count - 1].passage = (unsigned)(sign - '0');
        parser->state = PASSAGE;
    }
    return FITS;
}

static enum verdict add_digit(struct citation_parser *parser, char sign)
{
    struct citation_pair *pair = &parser->pairs[parser->count - 1];
    unsigned *number = parser->state == SEARCH ? &pair->search : &pair->passage;

    if (parser->digits == DIGIT_LIMIT)
        return MISSES;
    parser->digits++;
    *number = *number * 10 + (unsigned)(sign - '0');
    return FITS;
}

static enum verdict move_to(struct citation_parser *parser, unsigned char state)
{
    parser->state = state;
    return FITS;
}

static enum verdict read_pair(struct citation_parser *parser, char sign)
{
    if (is_digit(sign))
        return add_digit(parser, sign);
    if (parser->state == SEARCH)
        return sign == ':' ? move_to(parser, COLON) : MISSES;
    if (sign == ',')
        return move_to(parser, OPEN);
    if (sign == '+')
        return move_to(parser, REST);
    return sign == '>' && parser->wide ? ENDS : MISSES;
}

static enum verdict read_rest(struct citation_parser *parser, const struct character *next)
{
    if (next->sign == (parser->wide ? '>' : ']'))
        return ENDS;
    if (next->sign == '<' || (next->sign == '[' && !parser->wide))
        return MISSES;
    parser->rest += next->size;
    return parser->rest <= CITATION_REST_LIMIT ? FITS : MISSES;
}

static enum verdict read_next(struct citation_parser *parser, const struct character *next)
{
    if (parser->size + next->size > CITATION_HELD_LIMIT)
        return MISSES;
    parser->size += next->size;
    if (parser->state == REST)
        return read_rest(parser, next);
    if (parser->state == OPEN || parser->state == COLON)
        return begin_number(parser, next->sign);
    return read_pair(parser, next->sign);
}

/* Its last byte is looked for, which is rarer than its first: every kana begins with that one. */
static const char *find_wide(const char *text, size_t length)
{
    const char *at = text;
    const char *end = text + length;

    while ((at = memchr(at, OPENING[2], (size_t)(end - at)))) {
        if (at - text >= 2 && memcmp(at - 2, OPENING, 2) == 0)
            return at - 2;
        at++;
    }
    return NULL;
}

/* The next bracket of each kind in a piece; NULL: the piece has no more. */
struct openings {
    const char *narrow, *wide;
};

/* The first opening bracket from `at` on; NULL without one. Most pieces have none, and end here. A bracket that
 * lies ahead is not looked for again: a piece may be long, and full of brackets of one kind. */
static const char *find_opening(struct openings *next, const char *at, const char *end)
{
    if (next->narrow && next->narrow < at)
        next->narrow = memchr(at, '[', (size_t)(end - at));
    if (next->wide && next->wide < at)
        next->wide = find_wide(at, (size_t)(end - at));
    if (!next->narrow || (next->wide && next->wide < next->narrow))
        return next->wide;
    return next->narrow;
}

static struct openings find_openings(const char *text, size_t length)
{
    return (struct openings){memchr(text, '[', length), find_wide(text, length)};
}

static void begin_mark(struct citation_parser *parser, bool wide)
{
    parser->state = OPEN;
    parser->wide = wide;
    parser->size = wide ? 3 : 1;
    parser->rest = 0;
    parser->count = 0;
}

static void pass_text(const struct citation_events *events, void *arg, const char *text,
                      size_t length)
{
    if (length)
        events->text(arg, text, length);
}

static void let_go(struct citation_parser *parser, const struct citation_events *events,
                   void *arg)
{
    size_t length = parser->held_length;

    parser->held_length = 0;
    pass_text(events, arg, parser->held, length);
}

static void hold(struct citation_parser *parser, const char *text, size_t length)
{
    memcpy(parser->held + parser->held_length, text, length);
    parser->held_length += length;
}

/* The mark is whole: from `text` on, behind what is held of it. */
static void end_mark(struct citation_parser *parser, const char *text, size_t length,
                     const struct citation_events *events, void *arg)
{
    struct citation_mark mark = {
        .text = text, .length = length, .pairs = parser->pairs, .count = parser->count};

    if (parser->held_length) {
        hold(parser, text, length);
        mark.text = parser->held;
        mark.length = parser->held_length;
    }
    parser->held_length = 0;
    parser->state = TEXT;
    events->mark(arg, &mark);
}

void citation_feed(struct citation_parser *parser, const char *text, size_t length,
                   const struct citation_events *events, void *arg)
{
    struct openings next_opening = find_openings(text, length);
    size_t from = 0; /* before it, all was passed on */
    size_t mark = 0; /* where the open mark begins in this piece */
    size_t at = 0;

    while (at < length) {
        struct character next;
        enum verdict verdict;

        if (parser->state == TEXT) {
            const char *opening = find_opening(&next_opening, text + at, text + length);

            if (!opening)
                break;
            mark = (size_t)(opening - text);
            begin_mark(parser, *opening != '[');
            at = mark + parser->size;
            continue;
        }
        next = character_at(text + at, length - at);
        verdict = read_next(parser, &next);
        if (verdict == MISSES) {
            parser->state = TEXT; /* the character may begin another mark: it is read again */
            let_go(parser, events, arg);
            continue;
        }
        at += next.size;
        if (verdict == ENDS) {
            pass_text(events, arg, text + from, mark - from);
            end_mark(parser, text + mark, at - mark, events, arg);
            from = mark = at;
        }
    }
    if (parser->state == TEXT) {
        pass_text(events, arg, text + from, length - from);
        return;
    }
    pass_text(events, arg, text + from, mark - from);
    hold(parser, text + mark, length - mark);
}

void citation_end(struct citation_parser *parser, const struct citation_events *events,
                  void *arg)
{
    parser->state = TEXT;
    let_go(parser, events, arg);
}
