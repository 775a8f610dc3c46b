#include "core/document/pictures.h"

#include <string.h>
#include <unistd.h>

#include "core/document/document.h"
#include "core/document/document_type.h"
#include "core/document/reading.h"

void document_pictures_clear(struct document_pictures *pictures)
{
    buf_clear(&pictures->bytes);
    pictures->count = 0;
}

/* ---- PNG ---- */

#define SIGNATURE  "\x89PNG\r\n\x1A\n"
#define MARK_SIZE  ((size_t)8) /* of the signature; also of a chunk's length and name */
#define CHECK_SIZE ((size_t)4)

static size_t number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;

    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* The length of the PNG file at the beginning; 0: it is none, or not whole. */
static size_t png_length(const char *bytes, size_t length)
{
    size_t at = MARK_SIZE;

    if (length < MARK_SIZE || memcmp(bytes, SIGNATURE, MARK_SIZE) != 0)
        return 0;
    while (length - at >= MARK_SIZE + CHECK_SIZE) {
        size_t size = number_at(bytes + at);
        bool last = memcmp(bytes + at + 4, "IEND", 4) == 0;

        if (size > length - at - MARK_SIZE - CHECK_SIZE)
            return 0;
        at += MARK_SIZE + size + CHECK_SIZE;
        if (last)
            return at;
    }
    return 0;
}

bool document_pictures_divide(struct document_pictures *pictures)
{
    const struct buf *bytes = &pictures->bytes;

    for (size_t at = 0; at < bytes->length;) {
        size_t length = png_length(bytes->data + at, bytes->length - at);

        if (!length || pictures->count == DOCUMENT_PICTURES_MAX)
            return false;
        at += length;
        pictures->ends[pictures->count++] = at;
    }
    return pictures->count > 0;
}

/* ---- All of it ---- */

static enum err_code refuse(enum err_reason reason, const char *sentence, struct err *err)
{
    return err_refuse(err, ERR_INVALID, reason, NULL, "%s", sentence);
}

static enum err_code check_type(int fd, struct err *err)
{
    char head[1024];
    ssize_t got = lseek(fd, 0, SEEK_SET) == 0 ? read(fd, head, sizeof(head)) : -1;

    if (got < 0)
        return err_set(err, ERR_INTERNAL, "cannot read a file");
    if (document_type_of(head, (size_t)got, NULL) != DOCUMENT_PDF)
        return refuse(REASON_UNSUPPORTED, "It is no PDF file.", err);
    return lseek(fd, 0, SEEK_SET) == 0 ? ERR_OK
                                       : err_set(err, ERR_INTERNAL, "cannot read a file");
}

static enum err_code undrawn(const struct compute_end *end, struct err *err)
{
    if (end->why == COMPUTE_BUSY)
        return err_set(err, ERR_LIMIT, "Too many files are being read. Try again later.");
    if (end->why == COMPUTE_LOST)
        return err_set(err, ERR_INTERNAL, "the child that read a file was lost");
    if (end->why == COMPUTE_EXITED && end->status == READING_NO_READER)
        return refuse(REASON_UNSUPPORTED,
                      "It is a PDF file, and poppler-utils is not installed to draw its pages.",
                      err);
    if (end->why == COMPUTE_EXITED && end->status == COMPUTE_NOT_CONFINED)
        return refuse(REASON_UNSUPPORTED,
                      "It is a PDF file, and this machine cannot confine what draws its pages.",
                      err);
    if (end->why == COMPUTE_EXITED)
        return refuse(REASON_BAD_VALUE, "The pages of the file cannot be drawn.", err);
    return refuse(REASON_BAD_VALUE, "Drawing the pages of the file takes too much.", err);
}

enum err_code document_pictures(int fd, struct document_pictures *ret_pictures, struct err *err)
{
    struct compute_plan plan = {
        .task = DOCUMENT_TASK_PICTURES,
        .input = fd,
        .output_max = DOCUMENT_PICTURES_BYTES_MAX,
        .wall_ms = DOCUMENT_WALL_MS,
    };
    struct document_pictures pictures = {0};
    struct compute_end end;
    enum err_code rc = check_type(fd, err);

    if (!rc)
        rc = compute_run(&plan, &pictures.bytes, &end, err);
    if (rc == ERR_TOO_LARGE)
        rc = err_set(err, rc, "The pictures of the pages have more than 64 MiB.");
    /* The child may lie. */
    if (!rc && (end.why != COMPUTE_EXITED || end.status != READING_DONE ||
                !document_pictures_divide(&pictures)))
        rc = undrawn(&end, err);
    if (rc)
        document_pictures_clear(&pictures);
    else
        *ret_pictures = pictures;
    return rc;
}
