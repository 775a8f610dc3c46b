/*
 * Bytes on their way to a client.
 *
 * A range is one range (RFC 9110, section 14.2). Several at once are answered with the whole file, which is
 * allowed, and so is what is not understood.
 */

#include "server/api/files/content.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/domain/file_name.h"
#include "core/run/engine/engine.h"
#include "server/server.h"

/* A part of the content: what the answer has. */
struct download {
    struct content content; /* only its functions, and their argument */
    uint64_t from;
};

static enum err_code read_piece(void *arg, uint64_t at, void *ret_bytes, size_t size,
                                size_t *ret_got, struct err *err)
{
    const struct download *download = arg;
    const struct content *content = &download->content;

    return content->read(content->arg, download->from + at, ret_bytes, size, ret_got, err);
}

static void drop(void *arg)
{
    struct download *download = arg;

    download->content.drop(download->content.arg);
    free(download);
}

/* ---- Ranges ---- */

enum range { RANGE_ALL, RANGE_PART, RANGE_BEYOND };

/* False for a text that is no number. */
static bool take_number(const char **text, uint64_t *ret_number)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *ret_number = strtoull(*text, &end, 10);
    *text = end;
    return !errno;
}

/* "bytes=0-99", "bytes=100-", "bytes=-100". */
static enum range find_range(const char *text, uint64_t size, uint64_t *ret_from,
                             uint64_t *ret_count)
{
    uint64_t first = 0, last = 0;
    bool has_first, has_last;

    if (!text || strncasecmp(text, "bytes=", 6) != 0)
        return RANGE_ALL;
    text += 6;
    has_first = take_number(&text, &first);
    if (*text++ != '-')
        return RANGE_ALL;
    has_last = take_number(&text, &last);
    if (*text || (!has_first && !has_last) || (has_first && has_last && last < first))
        return RANGE_ALL;
    if (!has_first) {
        first = last < size ? size - last : 0;
        if (!last)
            return RANGE_BEYOND;
    }
    if (first >= size)
        return RANGE_BEYOND;
    if (!has_first || !has_last || last >= size)
        last = size - 1;
    *ret_from = first;
    *ret_count = last - first + 1;
    return RANGE_PART;
}

static enum err_code beyond(struct request *request, uint64_t size, struct err *err)
{
    AUTO_FREE char *range = mem_printf("bytes */%llu", (unsigned long long)size);

    request_set_header(request, "Content-Range", range);
    request_fail_status(request, 416);
    return err_set(err, ERR_INVALID, "The file has only %llu bytes.", (unsigned long long)size);
}

/* ---- The answer ---- */

static void set_headers(struct request *request, const struct content *content)
{
    AUTO_FREE char *disposition = file_name_disposition(content->filename);

    if (content->etag)
        request_set_header(request, "ETag", content->etag);
    request_set_header(request, "Accept-Ranges", "bytes");
    request_set_header(request, "Content-Disposition", disposition);
    request_set_header(request, "X-Content-Type-Options", "nosniff");
    request_set_header(request, "Cache-Control", "private");
}

enum err_code content_answer(struct request *request, const struct content *content,
                             struct err *err)
{
    uint64_t from = 0, count = content->bytes;
    enum range range = find_range(request_header(request, "range"), count, &from, &count);
    struct server *server = request_server(request);
    struct body_source source = {.size = count,
                                 .read = read_piece,
                                 .drop = drop,
                                 .workers = server->file_workers,
                                 .loop = engine_any_loop(server->engine)};
    struct download *download;

    if (range == RANGE_BEYOND)
        return beyond(request, content->bytes, err);
    if (range == RANGE_PART) {
        AUTO_FREE char *text = mem_printf("bytes %llu-%llu/%llu", (unsigned long long)from,
                                          (unsigned long long)(from + count - 1),
                                          (unsigned long long)content->bytes);

        request_set_header(request, "Content-Range", text);
    }
    set_headers(request, content);
    download = mem_new(struct download);
    *download = (struct download){.content = *content, .from = from};
    source.arg = download;
    request_answer_from(request, range == RANGE_PART ? 206 : 200, "application/octet-stream",
                        &source);
    return ERR_OK;
}

/* ---- Blobs ---- */

static enum err_code read_blob(void *arg, uint64_t at, void *ret_bytes, size_t size,
                               size_t *ret_got, struct err *err)
{
    return blob_read_at(arg, at, ret_bytes, size, ret_got, err);
}

static void drop_blob(void *arg)
{
    blob_read_free(arg);
}

#define ETAG_SIZE (2 * BLOB_HASH_SIZE + 3)

static void make_etag(const uint8_t sha256[BLOB_HASH_SIZE], char ret_etag[ETAG_SIZE])
{
    memcpy(ret_etag, "\"", 2);
    for (size_t i = 0; i < BLOB_HASH_SIZE; i++)
        snprintf(ret_etag + 1 + 2 * i, 3, "%02x", sha256[i]);
    memcpy(ret_etag + 1 + 2 * BLOB_HASH_SIZE, "\"", 2);
}

enum err_code content_answer_blob(struct request *request, const char *blob_id,
                                  const char *filename, struct err *err)
{
    char etag[ETAG_SIZE];
    struct content content = {
        .filename = filename, .etag = etag, .read = read_blob, .drop = drop_blob};
    struct blob_read *read;
    enum err_code rc = blob_read_open(request_server(request)->blobs, request_tenant(request),
                                      blob_id, &read, err);

    if (rc)
        return rc;
    make_etag(blob_read_row(read)->sha256, etag);
    content.bytes = blob_read_row(read)->bytes;
    content.arg = read;
    rc = content_answer(request, &content, err);
    if (rc)
        blob_read_free(read);
    return rc;
}
