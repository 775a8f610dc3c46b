/*
 * However a form is cut into pieces, its parts are the same, and so is the error.
 *
 * The parts of a form that was accepted, written again in the simplest way, are read as the same parts.
 * The first byte of the input says where the bytes are cut; the boundary is "b".
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "server/http/parse/multipart.h"

struct read {
    struct buf noted; /* the parts, each with lengths in front of its texts */
    struct buf again; /* the form, written again */
    struct buf data;
    struct err err;
    enum err_code rc;
};

/* The three characters that SDKs and browsers escape. */
static void add_quoted(struct buf *text, const char *value)
{
    for (; *value; value++) {
        if (strchr("\"\r\n", *value))
            buf_addf(text, "%%%02X", (unsigned)*value);
        else if (*value == '\\')
            buf_add_text(text, "\\\\");
        else
            buf_add_char(text, *value);
    }
}

static void note(struct buf *noted, const char *text, size_t length)
{
    buf_addf(noted, "%zu:", length);
    buf_add(noted, text, length);
}

/* In a filename that was percent-encoded there may be what a quoted one cannot have. */
static bool has_control(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && !strchr("\t\r\n", *text)) || *text == 0x7F)
            return true;
    return false;
}

static enum err_code begin_part(void *arg, struct part_head *head, struct err *err)
{
    struct read *read = arg;

    if (head->filename && has_control(head->filename))
        return err_set(err, ERR_CANCELLED, "a control character");
    note(&read->noted, head->name, strlen(head->name));
    buf_add_text(&read->again, "--b\r\nContent-Disposition: form-data; name=\"");
    add_quoted(&read->again, head->name);
    if (head->filename) {
        note(&read->noted, head->filename, strlen(head->filename));
        buf_add_text(&read->again, "\"; filename=\"");
        add_quoted(&read->again, head->filename);
    }
    buf_add_text(&read->again, "\"\r\n");
    if (head->type) {
        note(&read->noted, head->type, strlen(head->type));
        buf_addf(&read->again, "Content-Type: %s\r\n", head->type);
    }
    buf_add_text(&read->again, "\r\n");
    return ERR_OK;
}

static enum err_code take_data(void *arg, const char *bytes, size_t size, struct err *err)
{
    struct read *read = arg;

    (void)err;
    assert(size);
    buf_add(&read->data, bytes, size);
    buf_add(&read->again, bytes, size);
    return ERR_OK;
}

static enum err_code end_part(void *arg, struct err *err)
{
    struct read *read = arg;

    (void)err;
    note(&read->noted, read->data.data ? read->data.data : "", read->data.length);
    buf_reset(&read->data);
    buf_add_text(&read->again, "\r\n");
    return ERR_OK;
}

static const struct multipart_taker taker = {begin_part, take_data, end_part};

/* `cuts` is the state of a small generator of piece lengths; 0 means one piece. */
static void read_form(struct read *read, const char *bytes, size_t size, uint32_t cuts)
{
    struct multipart *reader = multipart_new("b", &taker, read);

    for (size_t at = 0; !read->rc && at < size;) {
        size_t length = size - at;
        char *piece;

        if (cuts) {
            cuts = cuts * 1664525u + 1013904223u;
            length = (cuts >> 24) % 7 == 0 ? 1 + (cuts >> 16) % 64 : 1 + (cuts >> 16) % 4;
            length = length > size - at ? size - at : length;
        }
        piece = mem_zeroed(length, 1);
        memcpy(piece, bytes + at, length);
        read->rc = multipart_take(reader, piece, length, &read->err);
        free(piece);
        at += length;
    }
    if (!read->rc)
        read->rc = multipart_end(reader, &read->err);
    multipart_free(reader);
}

static void read_clear(struct read *read)
{
    buf_clear(&read->noted);
    buf_clear(&read->again);
    buf_clear(&read->data);
}

static bool is_same(const struct buf *a, const struct buf *b)
{
    return a->length == b->length && (!a->length || memcmp(a->data, b->data, a->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct read whole = {0}, cut = {0}, again = {0};

    if (!size)
        return 0;
    read_form(&whole, (const char *)bytes + 1, size - 1, 0);
    read_form(&cut, (const char *)bytes + 1, size - 1, 1u + bytes[0] * 2654435761u);
    assert(whole.rc == cut.rc && strcmp(whole.err.text, cut.err.text) == 0);
    assert(is_same(&whole.noted, &cut.noted));
    if (!whole.rc) {
        buf_add_text(&whole.again, "--b--\r\n");
        read_form(&again, whole.again.data, whole.again.length, 0);
        assert(!again.rc && is_same(&whole.noted, &again.noted));
    }
    read_clear(&whole);
    read_clear(&cut);
    read_clear(&again);
    return 0;
}
