/*
 * The strict reader of a connection's bytes: a state machine with one state for each place in a
 * request (enum framing_place).
 *
 *   START ─▶ REQUEST_LINE ─▶ LINE ⇄ NAME, VALUE ─▶ the end of the head ─┬─▶ START: no body
 *                                                                       ├─▶ BODY: counts its bytes
 *                                                                       └─▶ CHUNK_SIZE ─▶ BODY ─▶ CHUNK_END ...
 *
 * It understands only what decides where a request ends: line ends, the two headers Content-Length and
 * Transfer-Encoding, and the sizes of chunks (RFC 9112, sections 6 and 7). Everything else is text that
 * must not hold a control character.
 *
 * It sees bytes in whatever pieces the socket delivers, so every state is in the struct and none in
 * local variables. It allocates nothing, and a name or value that does not matter is not kept. Values,
 * which are most of a head, are skipped in one tight loop (skip_text), and bodies are only counted.
 *
 * A fault is final. Behind it nobody can know what is a request, so `place` becomes FRAMING_LOST and the
 * counts stop.
 */

#include "server/http/parse/framing.h"

#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"
#include "server/http/parse/hygiene.h"

#define REQUEST_LINE_BLANKS 2
#define SIZE_DIGITS         16 /* the digits of a chunk's size: they fit 64 bits */

static void set_fault(struct framing *framing, const char *text)
{
    framing->fault = text;
    framing->place = FRAMING_LOST;
}

/* ---- Words: what the end of the body depends on ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Blanks around a value are not part of it. */
static void word_add(struct framing_word *word, char c)
{
    if (is_blank(c)) {
        word->blank = word->length > 0;
        return;
    }
    if (word->blank || word->length == sizeof(word->text))
        word->other = true;
    else
        word->text[word->length++] = c;
}

static bool word_is(const struct framing_word *word, const char *text)
{
    return !word->other && word->length == strlen(text) &&
           strncasecmp(word->text, text, word->length) == 0;
}

static void take_length(struct framing *framing)
{
    const struct framing_word *value = &framing->value;

    framing->body = FRAMING_UNKNOWN;
    if (value->other || !hygiene_is_length(value->text, value->length))
        return;
    framing->body = FRAMING_LENGTH;
    framing->left = 0;
    for (size_t i = 0; i < value->length; i++)
        framing->left = framing->left * 10 + (uint64_t)(value->text[i] - '0');
}

/* With two such headers it is open which one counts, so the end of the body is unknown. In trailers they
 * come too late to count. */
static void take_header(struct framing *framing)
{
    if (framing->header == FRAMING_OTHER)
        return;
    if (framing->body != FRAMING_NO_BODY)
        framing->body = FRAMING_UNKNOWN;
    else if (framing->header == FRAMING_CONTENT_LENGTH)
        take_length(framing);
    else
        framing->body = word_is(&framing->value, "chunked") ? FRAMING_CHUNKS : FRAMING_UNKNOWN;
}

static enum framing_header header_of(const struct framing *framing)
{
    if (word_is(&framing->name, "content-length"))
        return FRAMING_CONTENT_LENGTH;
    if (word_is(&framing->name, "transfer-encoding"))
        return FRAMING_TRANSFER_ENCODING;
    return FRAMING_OTHER;
}

/* ---- Lines ---- */

static void begin_request(struct framing *framing)
{
    framing->place = FRAMING_START;
    framing->in_trailers = false;
    framing->blanks = 0;
    framing->body = FRAMING_NO_BODY;
}

static void begin_line(struct framing *framing)
{
    framing->place = FRAMING_LINE;
    framing->name = framing->value = (struct framing_word){0};
}

static void begin_chunk_size(struct framing *framing)
{
    framing->place = FRAMING_CHUNK_SIZE;
    framing->left = 0;
    framing->digits = 0;
}

static void end_request(struct framing *framing)
{
    framing->requests++;
    begin_request(framing);
}

static void end_head(struct framing *framing)
{
    framing->heads++;
    switch (framing->body) {
    case FRAMING_NO_BODY: end_request(framing); return;
    case FRAMING_LENGTH:
        if (framing->left)
            framing->place = FRAMING_BODY;
        else
            end_request(framing);
        return;
    case FRAMING_CHUNKS: begin_chunk_size(framing); return;
    case FRAMING_UNKNOWN: framing->place = FRAMING_LOST; return;
    }
}

static void end_request_line(struct framing *framing)
{
    if (framing->blanks == REQUEST_LINE_BLANKS)
        begin_line(framing);
    else
        set_fault(framing, "The request line does not have exactly two spaces.");
}

static void end_chunk_size(struct framing *framing)
{
    if (!framing->digits) {
        set_fault(framing, "A chunk of the body has no size.");
    } else if (framing->left) {
        framing->place = FRAMING_BODY;
    } else {
        framing->in_trailers = true;
        begin_line(framing);
    }
}

static void end_line(struct framing *framing)
{
    switch (framing->place) {
    case FRAMING_START: return;
    case FRAMING_REQUEST_LINE: end_request_line(framing); return;
    case FRAMING_LINE:
        if (framing->in_trailers)
            end_request(framing);
        else
            end_head(framing);
        return;
    case FRAMING_NAME: set_fault(framing, "A header has no colon."); return;
    case FRAMING_VALUE:
        take_header(framing);
        begin_line(framing);
        return;
    case FRAMING_CHUNK_SIZE:
    case FRAMING_CHUNK_EXTENSION: end_chunk_size(framing); return;
    case FRAMING_CHUNK_END: begin_chunk_size(framing); return;
    case FRAMING_BODY:
    case FRAMING_LOST: return;
    }
}

/* ---- What lines hold ---- */

static void take_in_request_line(struct framing *framing, char c)
{
    framing->place = FRAMING_REQUEST_LINE;
    if (c == '\t')
        set_fault(framing, "The request line holds a tab.");
    else if (c == ' ')
        framing->blanks++;
}

static void take_in_name(struct framing *framing, char c)
{
    bool is_first = framing->place == FRAMING_LINE;

    if (c == ':' && !is_first) {
        framing->place = FRAMING_VALUE;
        framing->header = header_of(framing);
    } else if (hygiene_is_token_char(c)) {
        framing->place = FRAMING_NAME;
        word_add(&framing->name, c);
    } else if (is_first && is_blank(c)) {
        set_fault(framing,
                  "A header continues on the next line."); /* obs-fold: RFC 9112, 5.2 */
    } else {
        set_fault(framing, "A header name has an invalid character.");
    }
}

static bool hexadecimal(char c, unsigned *ret_digit)
{
    if (c >= '0' && c <= '9')
        *ret_digit = (unsigned)(c - '0');
    else if (c >= 'a' && c <= 'f')
        *ret_digit = (unsigned)(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
        *ret_digit = (unsigned)(c - 'A') + 10;
    else
        return false;
    return true;
}

static void take_in_chunk_size(struct framing *framing, char c)
{
    unsigned digit;

    if (c == ';' && framing->digits) {
        framing->place = FRAMING_CHUNK_EXTENSION;
    } else if (hexadecimal(c, &digit) && framing->digits < SIZE_DIGITS) {
        framing->digits++;
        framing->left = framing->left * 16 + digit;
    } else {
        set_fault(framing, "A chunk of the body has an invalid size.");
    }
}

static void take_line_char(struct framing *framing, char c)
{
    switch (framing->place) {
    case FRAMING_START:
    case FRAMING_REQUEST_LINE: take_in_request_line(framing, c); return;
    case FRAMING_LINE:
    case FRAMING_NAME: take_in_name(framing, c); return;
    case FRAMING_VALUE: word_add(&framing->value, c); return;
    case FRAMING_CHUNK_SIZE: take_in_chunk_size(framing, c); return;
    case FRAMING_CHUNK_END:
        set_fault(framing, "A chunk of the body is longer than its size.");
        return;
    case FRAMING_CHUNK_EXTENSION:
    case FRAMING_BODY:
    case FRAMING_LOST: return;
    }
}

static void take_control(struct framing *framing, char c)
{
    if (!c)
        framing->fault_begins_line =
            framing->place == FRAMING_START || framing->place == FRAMING_LINE;
    if (c == '\r')
        framing->after_cr = true;
    else if (c == '\n')
        set_fault(framing, "A line ends in an LF without a CR.");
    else if (!c)
        set_fault(framing, "A line holds a NUL.");
    else
        set_fault(framing, "A line holds a control character.");
}

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7F;
}

static void take(struct framing *framing, char c)
{
    if (framing->after_cr && c != '\n') {
        set_fault(framing, "A line holds a CR without an LF after it.");
    } else if (framing->after_cr) {
        framing->after_cr = false;
        end_line(framing);
    } else if (is_control(c)) {
        take_control(framing, c);
    } else {
        take_line_char(framing, c);
    }
}

/* ---- Everything ---- */

/* Skips text that decides nothing, which is most of a head. */
static size_t skip_text(const struct framing *framing, const char *bytes, size_t count)
{
    size_t skipped = 0;

    if (framing->place == FRAMING_VALUE && framing->header == FRAMING_OTHER &&
        !framing->after_cr)
        while (skipped < count && !is_control(bytes[skipped]))
            skipped++;
    return skipped;
}

/* Skips bytes that are only counted. */
static size_t skip_body(struct framing *framing, size_t count)
{
    size_t skipped = framing->left < count ? (size_t)framing->left : count;

    framing->left -= skipped;
    if (framing->left)
        return skipped;
    if (framing->body == FRAMING_CHUNKS)
        framing->place = FRAMING_CHUNK_END;
    else
        end_request(framing);
    return skipped;
}

size_t framing_read(struct framing *framing, const char *bytes, size_t count)
{
    size_t at = 0;

    if (framing->place == FRAMING_LOST)
        return count;
    while (at < count && framing->place != FRAMING_LOST) {
        if (framing->place == FRAMING_BODY) {
            at += skip_body(framing, count - at);
            continue;
        }
        at += skip_text(framing, bytes + at, count - at);
        if (at < count)
            take(framing, bytes[at++]);
    }
    return framing->fault ? at - 1 : count;
}
