/*
 * A form, piece by piece.
 *
 * libmicrohttpd has a post processor for this, and it was used here before. It takes a boundary with other
 * text behind it for data, ends lines at a bare CR or LF, knows neither \" nor `filename*`, wants one blank behind
 * the colon of a header, and needs a connection, from whose headers it reads the boundary wrongly.
 *
 *   BEFORE ─▶ AFTER_BOUNDARY ─▶ HEAD ─▶ DATA ─┐
 *                 ▲      └─▶ OVER             │
 *                 └───────────────────────────┘
 *
 * The delimiter is CR LF -- boundary, and no boundary has a CR. So bytes at the end of a piece that may begin a
 * delimiter are the last CR and what follows it. They are not kept but counted (`matched`): if the next piece
 * goes on otherwise, they were data, and are taken from the delimiter itself. The first boundary of a body needs no
 * line end before it, as if the body began behind one.
 */

#include "server/http/parse/multipart.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

enum state {
    BEFORE,         /* the first boundary */
    AFTER_BOUNDARY, /* nothing of the rest of its line was seen; then: */
    AFTER_DASH,
    AFTER_BLANKS,
    AFTER_CR,
    HEAD,
    DATA,
    OVER, /* behind the last boundary */
    BROKEN,
};

struct multipart {
    const struct multipart_taker *taker;
    void *arg;
    char *delimiter;
    size_t delimiter_length;
    enum state state;
    size_t matched;  /* BEFORE and DATA: bytes of the delimiter that were seen */
    struct buf head; /* HEAD: what of it was seen */
    size_t parts;
};

struct multipart *multipart_new(const char *boundary, const struct multipart_taker *taker,
                                void *arg)
{
    struct multipart *reader = mem_new(struct multipart);

    *reader = (struct multipart){
        .taker = taker,
        .arg = arg,
        .delimiter = mem_printf("\r\n--%s", boundary),
        .matched = strlen("\r\n"),
    };
    reader->delimiter_length = strlen(reader->delimiter);
    return reader;
}

void multipart_free(struct multipart *reader)
{
    if (!reader)
        return;
    free(reader->delimiter);
    buf_clear(&reader->head);
    free(reader);
}

enum err_code multipart_refuse(struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, "We could not parse the form of your request: %s.", what);
}

/* ---- Data, and the delimiter behind it ---- */

static enum err_code give_data(const struct multipart *reader, const char *bytes, size_t size,
                               struct err *err)
{
    if (reader->state == BEFORE && size)
        return multipart_refuse(err, "it does not begin with its boundary");
    if (!size || !reader->taker->data)
        return ERR_OK;
    return reader->taker->data(reader->arg, bytes, size, err);
}

static enum err_code found_delimiter(struct multipart *reader, struct err *err)
{
    bool in_part = reader->state == DATA;

    reader->matched = 0;
    reader->state = AFTER_BOUNDARY;
    return in_part && reader->taker->end ? reader->taker->end(reader->arg, err) : ERR_OK;
}

/* Continues a delimiter that an earlier piece has begun. Returns through *ret_used how many bytes were a part
 * of it; 0 if they were not, and then what looked like one is data. */
static enum err_code go_on_matching(struct multipart *reader, const char *bytes, size_t size,
                                    size_t *ret_used, struct err *err)
{
    size_t missing = reader->delimiter_length - reader->matched;
    size_t length = size < missing ? size : missing;
    size_t matched = reader->matched;

    *ret_used = 0;
    if (memcmp(bytes, reader->delimiter + matched, length) != 0) {
        reader->matched = 0;
        return give_data(reader, reader->delimiter, matched, err);
    }
    *ret_used = length;
    reader->matched += length;
    return length == missing ? found_delimiter(reader, err) : ERR_OK;
}

/* The bytes at the end that may begin a delimiter. */
static size_t count_begun(const struct multipart *reader, const char *bytes, size_t size)
{
    size_t most = size < reader->delimiter_length ? size : reader->delimiter_length - 1;
    const char *begun = memrchr(bytes + size - most, '\r', most);
    size_t length = begun ? (size_t)(bytes + size - begun) : 0;

    return length && memcmp(begun, reader->delimiter, length) == 0 ? length : 0;
}

static enum err_code take_data(struct multipart *reader, const char *bytes, size_t size,
                               size_t *ret_used, struct err *err)
{
    const char *found;
    enum err_code rc;

    if (reader->matched)
        return go_on_matching(reader, bytes, size, ret_used, err);
    found = memmem(bytes, size, reader->delimiter, reader->delimiter_length);
    if (found) {
        size = (size_t)(found - bytes);
        *ret_used = size + reader->delimiter_length;
        rc = give_data(reader, bytes, size, err);
        return rc ? rc : found_delimiter(reader, err);
    }
    *ret_used = size;
    reader->matched = count_begun(reader, bytes, size);
    return give_data(reader, bytes, size - reader->matched, err);
}

/* ---- Boundaries and heads ---- */

static enum state behind_boundary(enum state state, char byte)
{
    bool blank_fits = state == AFTER_BOUNDARY || state == AFTER_BLANKS;

    switch (byte) {
    case '-':
        if (state == AFTER_BOUNDARY)
            return AFTER_DASH;
        return state == AFTER_DASH ? OVER : BROKEN;
    case ' ':
    case '\t': return blank_fits ? AFTER_BLANKS : BROKEN;
    case '\r': return blank_fits ? AFTER_CR : BROKEN;
    case '\n': return state == AFTER_CR ? HEAD : BROKEN;
    default: return BROKEN;
    }
}

static enum err_code take_boundary_line(struct multipart *reader, char byte, struct err *err)
{
    reader->state = behind_boundary(reader->state, byte);
    if (reader->state == BROKEN)
        return multipart_refuse(err, "a boundary has other text behind it");
    return ERR_OK;
}

static enum err_code begin_part(struct multipart *reader, struct err *err)
{
    CLEANUP(part_head_clear) struct part_head head = {0};
    struct err why = {0};

    if (reader->parts++ == MULTIPART_PART_LIMIT)
        return err_set(err, ERR_INVALID, "The form of your request has more than %zu parts.",
                       MULTIPART_PART_LIMIT);
    if (part_head_parse(reader->head.data, reader->head.length, &head, &why))
        return multipart_refuse(err, why.text);
    buf_clear(&reader->head);
    reader->state = DATA;
    return reader->taker->begin ? reader->taker->begin(reader->arg, &head, err) : ERR_OK;
}

static bool ends_with(const struct buf *text, const char *end)
{
    size_t length = strlen(end);

    return text->length >= length &&
           memcmp(text->data + text->length - length, end, length) == 0;
}

/* Takes a line, or a piece of one. The empty line is the end of the head. */
static enum err_code take_head(struct multipart *reader, const char *bytes, size_t size,
                               size_t *ret_used, struct err *err)
{
    struct buf *head = &reader->head;
    size_t room = MULTIPART_HEAD_LIMIT + 1 - head->length;
    const char *end;

    size = size < room ? size : room;
    end = memchr(bytes, '\n', size);
    size = end ? (size_t)(end + 1 - bytes) : size;
    *ret_used = size;
    buf_add(head, bytes, size);
    if (head->length > MULTIPART_HEAD_LIMIT)
        return multipart_refuse(err, "the head of a part is too large");
    if (end && !ends_with(head, "\r\n"))
        return multipart_refuse(err, "the head of a part is not well-formed");
    if (!end || (head->length > 2 && !ends_with(head, "\r\n\r\n")))
        return ERR_OK;
    head->length -= strlen("\r\n");
    return begin_part(reader, err);
}

static enum err_code take_end(char byte, struct err *err)
{
    if (strchr(" \t\r\n", byte) && byte)
        return ERR_OK;
    return multipart_refuse(err, "there is text behind its last boundary");
}

enum err_code multipart_take(struct multipart *reader, const char *bytes, size_t size,
                             struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t used = 1; !rc && size; bytes += used, size -= used, used = 1) {
        switch (reader->state) {
        case BEFORE:
        case DATA: rc = take_data(reader, bytes, size, &used, err); break;
        case AFTER_BOUNDARY:
        case AFTER_DASH:
        case AFTER_BLANKS:
        case AFTER_CR: rc = take_boundary_line(reader, *bytes, err); break;
        case HEAD: rc = take_head(reader, bytes, size, &used, err); break;
        case OVER: rc = take_end(*bytes, err); break;
        case BROKEN: assert(false); break; /* taken after an error */
        }
    }
    if (rc)
        reader->state = BROKEN;
    return rc;
}

enum err_code multipart_end(const struct multipart *reader, struct err *err)
{
    if (reader->state == OVER)
        return ERR_OK;
    return multipart_refuse(err, MULTIPART_EXPECTED);
}
