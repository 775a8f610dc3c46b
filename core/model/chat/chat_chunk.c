#include "core/model/chat/chat_chunk.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "core/base/utf8.h"

/*
 * chat_chunk.c -- one pass over the bytes, no tree, no allocation in the common case.
 *
 * A chunk is described by three tables, one for each object that it may hold. Each row is a member
 * and the values that it may have. The scanner gives up at anything that is not in the tables. So nothing
 * that could matter is overlooked: an error, a tool call, usage, a second choice.
 * The tables list members in the order in which servers send them: the search for a key starts
 * behind the last one found and so hits at once.
 *
 * A vectorised JSON library would be as fast and accept more. But it is a large dependency that
 * reads bytes of strangers; this is a few screens of code with a fuzz target.
 */

enum allowed {
    ALLOW_NULL = 1 << 0,
    ALLOW_STRING = 1 << 1,    /* any, skipped */
    ALLOW_INTEGER = 1 << 2,   /* any, skipped */
    ALLOW_ZERO = 1 << 3,      /* exactly 0 */
    ALLOW_ASSISTANT = 1 << 4, /* exactly "assistant" */
    ALLOW_CONTENT = 1 << 5,   /* the string that is wanted */
    ALLOW_DELTA = 1 << 6,     /* the object around it */
    ALLOW_CHOICES = 1 << 7,   /* the array of one object around that */
};

#define ALLOW_SCALAR (ALLOW_NULL | ALLOW_STRING | ALLOW_INTEGER)

struct member {
    const char *name;
    size_t length;
    unsigned allowed;
};

#define MEMBER(name, allowed)           \
    {                                   \
        name, sizeof(name) - 1, allowed \
    }

/* clang-format off */
static const struct member chunk_members[] = {
    MEMBER("id",                 ALLOW_SCALAR),
    MEMBER("object",             ALLOW_SCALAR),
    MEMBER("created",            ALLOW_SCALAR),
    MEMBER("model",              ALLOW_SCALAR),
    MEMBER("service_tier",       ALLOW_SCALAR),
    MEMBER("system_fingerprint", ALLOW_SCALAR),
    MEMBER("provider",           ALLOW_SCALAR),
    MEMBER("choices",            ALLOW_CHOICES),
    MEMBER("usage",              ALLOW_NULL),
    MEMBER("obfuscation",        ALLOW_SCALAR),
    MEMBER("prompt_token_ids",   ALLOW_NULL),
};

static const struct member choice_members[] = {
    MEMBER("index",                ALLOW_ZERO),
    MEMBER("delta",                ALLOW_DELTA),
    MEMBER("logprobs",             ALLOW_NULL),
    MEMBER("finish_reason",        ALLOW_NULL),
    MEMBER("native_finish_reason", ALLOW_NULL),
    MEMBER("stop_reason",          ALLOW_NULL),
    MEMBER("matched_stop",         ALLOW_NULL),
    MEMBER("token_ids",            ALLOW_NULL),
};

static const struct member delta_members[] = {
    MEMBER("role",              ALLOW_ASSISTANT | ALLOW_NULL),
    MEMBER("content",           ALLOW_CONTENT),
    MEMBER("refusal",           ALLOW_NULL),
    MEMBER("reasoning",         ALLOW_NULL),
    MEMBER("reasoning_content", ALLOW_NULL),
    MEMBER("tool_calls",        ALLOW_NULL),
    MEMBER("function_call",     ALLOW_NULL),
    MEMBER("audio",             ALLOW_NULL),
};
/* clang-format on */

#define INTEGER_DIGITS 18 /* so many always fit into 64 bits; jansson refuses larger numbers */

struct scan {
    const char *at;
    const char *end;
    struct buf *scratch;
    const char *text; /* NULL until the content was found */
    size_t text_length;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
        scan->at++;
}

/* The next byte after blanks; 0 at the end. A NUL in the text is refused like the end. */
static char peek(struct scan *scan)
{
    skip_blanks(scan);
    return scan->at < scan->end ? *scan->at : '\0';
}

/* Almost always the byte is the next one: servers send few blanks. */
static inline bool accept(struct scan *scan, char byte)
{
    if (UNLIKELY(scan->at == scan->end || *scan->at != byte) && peek(scan) != byte)
        return false;
    scan->at++;
    return true;
}

static bool accept_word(struct scan *scan, const char *word, size_t length)
{
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

/* Marks the zero bytes of a word; exact up to and including the lowest one. */
static inline uint64_t zero_bytes(uint64_t word)
{
    return (word - 0x0101010101010101u) & ~word;
}

/* The first byte that is more than plain text: a quote, a backslash, a control character or
 * the start of a multi-byte character. Eight bytes at a time. */
static const char *plain_end(const char *at, const char *end)
{
    const uint64_t high = 0x8080808080808080u;

    while (end - at >= 8) {
        uint64_t word;
        uint64_t found;

        memcpy(&word, at, sizeof(word));
        word = le64toh(word);
        found = ((word - 0x2020202020202020u) & ~word) |
                zero_bytes(word ^ 0x2222222222222222u) |
                zero_bytes(word ^ 0x5c5c5c5c5c5c5c5cu) | word;
        found &= high;
        if (found)
            return at + (__builtin_ctzll(found) >> 3);
        at += 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\' &&
           (unsigned char)*at < 0x80)
        at++;
    return at;
}

/* Bytes of the well-formed multi-byte character at `at`, or 0. */
static size_t utf8_sequence(const char *at, const char *end)
{
    unsigned char first = (unsigned char)at[0];
    size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned char second;

    if (first < 0xC2 || first > 0xF4 || (size_t)(end - at) < length)
        return 0;
    second = (unsigned char)at[1];
    if ((first == 0xE0 && second < 0xA0) || /* a longer spelling than needed */
        (first == 0xED && second > 0x9F) || /* half of a surrogate pair */
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (utf8_begins(at[i]))
            return 0;
    }
    return length;
}

/* Moves to the end of plain text. True at a quote, which is skipped, or a backslash, which is not. */
static bool skip_text(struct scan *scan)
{
    while ((scan->at = plain_end(scan->at, scan->end)) < scan->end) {
        size_t length;

        if (*scan->at == '"' || *scan->at == '\\')
            return true;
        length = (unsigned char)*scan->at < 0x80 ? 0 : utf8_sequence(scan->at, scan->end);
        if (!length)
            return false;
        scan->at += length;
    }
    return false;
}

static bool skip_string(struct scan *scan)
{
    scan->at++;
    return skip_text(scan) && *scan->at++ == '"';
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The four digits of a \u escape, or -1. */
static int32_t scan_unit(struct scan *scan)
{
    int32_t unit = 0;

    if (scan->end - scan->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int value = hex_value(*scan->at++);

        if (value < 0)
            return -1;
        unit = unit << 4 | value;
    }
    return unit;
}

/* The character of a \u escape, or of two for one outside the BMP; -1 for half a pair. */
static int32_t scan_code_point(struct scan *scan)
{
    int32_t unit = scan_unit(scan);
    int32_t low;

    if (unit < 0xD800 || unit > 0xDFFF)
        return unit;
    if (unit > 0xDBFF || !accept_word(scan, "\\u", 2))
        return -1;
    low = scan_unit(scan);
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

/* Reads the escape at a backslash and writes its character; NULL when it is invalid. */
static char *scan_escape(struct scan *scan, char *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meaning[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    int32_t point;

    if (scan->end - scan->at < 2 || scan->at[1] == '\0')
        return NULL;
    letter = strchr(letters, scan->at[1]);
    if (letter) {
        scan->at += 2;
        *out++ = meaning[letter - letters];
        return out;
    }
    if (scan->at[1] != 'u')
        return NULL;
    scan->at += 2;
    point = scan_code_point(scan);
    return point > 0 ? utf8_put(out, (uint32_t)point) : NULL;
}

/* Unescapes the rest of a content string from its first backslash on; `start` is its beginning. The
 * result is never longer than the escaped text. */
static bool scan_escaped(struct scan *scan, const char *start)
{
    char *text = buf_reserve(scan->scratch, (size_t)(scan->end - start));
    char *out = text;

    for (;;) {
        size_t length = (size_t)(scan->at - start);

        memcpy(out, start, length);
        out += length;
        if (*scan->at == '"')
            break;
        out = scan_escape(scan, out);
        if (!out)
            return false;
        start = scan->at;
        if (!skip_text(scan))
            return false;
    }
    scan->at++;
    scan->text = text;
    scan->text_length = (size_t)(out - text);
    buf_added(scan->scratch, scan->text_length);
    return true;
}

static bool scan_content(struct scan *scan)
{
    const char *start = ++scan->at;

    if (!skip_text(scan))
        return false;
    if (*scan->at == '\\')
        return scan_escaped(scan, start);
    scan->text = start;
    scan->text_length = (size_t)(scan->at - start);
    scan->at++;
    return true;
}

static bool scan_string(struct scan *scan, unsigned allowed)
{
    if (allowed & ALLOW_CONTENT)
        return scan_content(scan);
    if (allowed & ALLOW_STRING)
        return skip_string(scan);
    return (allowed & ALLOW_ASSISTANT) && accept_word(scan, "\"assistant\"", 11);
}

static bool skip_integer(struct scan *scan)
{
    const char *first;

    if (*scan->at == '-')
        scan->at++;
    first = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    if (scan->at == first || scan->at - first > INTEGER_DIGITS)
        return false;
    return *first != '0' || scan->at - first == 1;
}

static bool scan_number(struct scan *scan, unsigned allowed)
{
    if (allowed & ALLOW_INTEGER)
        return skip_integer(scan);
    return (allowed & ALLOW_ZERO) && accept_word(scan, "0", 1);
}

static bool scan_object(struct scan *scan, const struct member *members, unsigned count);

static bool scan_choices(struct scan *scan)
{
    scan->at++;
    return scan_object(scan, choice_members, COUNT_OF(choice_members)) && accept(scan, ']');
}

static bool scan_value(struct scan *scan, unsigned allowed)
{
    switch (peek(scan)) {
    case '"': return scan_string(scan, allowed);
    case 'n': return (allowed & ALLOW_NULL) && accept_word(scan, "null", 4);
    case '{':
        return (allowed & ALLOW_DELTA) &&
               scan_object(scan, delta_members, COUNT_OF(delta_members));
    case '[': return (allowed & ALLOW_CHOICES) && scan_choices(scan);
    default: return scan->at < scan->end && scan_number(scan, allowed);
    }
}

/* Skips a key and its colon, and returns its place in the table, or `count` for an unknown key. A key
 * with escapes is unknown. */
static unsigned scan_key(struct scan *scan, const struct member *members, unsigned count,
                         unsigned guess)
{
    if (!accept(scan, '"'))
        return count;
    for (unsigned tried = 0; tried < count; tried++, guess++) {
        const struct member *member;

        if (guess >= count)
            guess = 0;
        member = &members[guess];
        if ((size_t)(scan->end - scan->at) > member->length &&
            scan->at[member->length] == '"' &&
            memcmp(scan->at, member->name, member->length) == 0) {
            scan->at += member->length + 1;
            return accept(scan, ':') ? guess : count;
        }
    }
    return count;
}

static bool scan_object(struct scan *scan, const struct member *members, unsigned count)
{
    unsigned seen = 0; /* a bit per member: a duplicate makes the scanner give up */
    unsigned which = count;

    if (!accept(scan, '{'))
        return false;
    do {
        which = scan_key(scan, members, count, which + 1);
        if (which == count || (seen & 1u << which))
            return false;
        seen |= 1u << which;
        if (!scan_value(scan, members[which].allowed))
            return false;
    } while (accept(scan, ','));
    return accept(scan, '}');
}

bool chat_chunk_scan(const char *chunk, size_t length, struct buf *scratch,
                     const char **ret_text, size_t *ret_length)
{
    struct scan scan = {.at = chunk, .end = chunk + length, .scratch = scratch};

    buf_reset(scratch);
    if (!scan_object(&scan, chunk_members, COUNT_OF(chunk_members)) || !scan.text)
        return false;
    skip_blanks(&scan);
    if (scan.at != scan.end)
        return false;
    *ret_text = scan.text;
    *ret_length = scan.text_length;
    return true;
}
