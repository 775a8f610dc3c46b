#include "core/ingest/make_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/base/spool.h"
#include "core/base/utf8.h"
#include "core/blob/blob.h"
#include "core/domain/tenant.h"
#include "core/retrieval/index.h"
#include "core/retrieval/segment.h"

#define COPY_BYTES ((size_t)1 << 18)

void made_document_clear(struct made_document *made)
{
    for (size_t i = 0; made->shown && i < made->chunks.count; i++)
        free((void *)(uintptr_t)made->shown[i].text);
    free(made->shown);
    free(made->texts);
    buf_clear(&made->segment);
    chunks_clear(&made->chunks);
    document_clear(&made->document);
    *made = (struct made_document){0};
}

/* ---- Reading ---- */

static enum err_code copy(struct blob_read *read, struct spool *spool, struct err *err)
{
    AUTO_FREE char *bytes = mem_new_array(char, COPY_BYTES);
    uint64_t at = 0;
    size_t got;

    for (;;) {
        enum err_code rc = blob_read_at(read, at, bytes, COPY_BYTES, &got, err);

        if (!rc && got)
            rc = spool_write(spool, bytes, got, err);
        if (rc || !got)
            return rc;
        at += got;
    }
}

/* Readers want a file that can be read from any place, wherever the blob lies. */
static enum err_code fetch(struct blobs *blobs, const char *spool_dir,
                           const struct document_work *work, struct spool **ret_spool,
                           struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    struct blob_read *read;
    enum err_code rc = blob_read_open(blobs, &tenant, work->blob_id, &read, err);

    if (rc)
        return rc;
    rc = spool_open(spool_dir, ret_spool, err);
    if (!rc) {
        rc = copy(read, *ret_spool, err);
        if (rc)
            spool_close(TAKE(*ret_spool));
    }
    blob_read_free(read);
    return rc;
}

/* ---- What the client reads ---- */

static enum err_code say(struct unmade_document *why, const char *code, enum err_code rc,
                         const char *first, const char *second)
{
    why->code = code;
    (void)snprintf(why->message, sizeof(why->message), "%s%s%s", first, *second ? " " : "",
                   second);
    return rc;
}

static enum err_code say_why(struct unmade_document *why, const struct err *err)
{
    if (err->code == ERR_INVALID && err->reason == REASON_UNSUPPORTED)
        return say(why, "unsupported_file", err->code, "The file type is not supported.",
                   err->text);
    if (err->code == ERR_INVALID || err->code == ERR_TOO_LARGE)
        return say(why, "invalid_file", err->code, err->text, "");
    why->code = NULL;
    return err->code;
}

/* ---- Cutting ---- */

enum err_code document_cut(struct blobs *blobs, const char *spool_dir,
                           const struct document_scans *scans,
                           const struct token_counter *counter,
                           const struct document_work *work, struct made_document *made,
                           struct unmade_document *ret_why, struct err *err)
{
    const struct chunking chunking = {.max_tokens = (uint32_t)work->chunk_tokens,
                                      .overlap_tokens = (uint32_t)work->overlap_tokens};
    struct spool *spool = NULL;
    enum err_code rc = fetch(blobs, spool_dir, work, &spool, err);
    bool empty;

    ret_why->code = NULL;
    if (rc)
        return rc;
    empty = !spool->size;
    rc = empty ? ERR_OK : document_read(spool->fd, work->filename, scans, &made->document, err);
    spool_close(spool);
    if (!rc && FAULT("ingest.read"))
        rc = err_set(err, ERR_INTERNAL, "a fault in reading a file");
    if (!rc && made->document.text.length)
        rc = chunks_make(&chunking, counter, made->document.text.data,
                         made->document.text.length, &made->chunks, err);
    if (rc == ERR_TOO_LARGE && made->document.text.length)
        err_set(err, rc,
                "The file could not be parsed because it is too large: it has more than %zu "
                "chunks.",
                CHUNKS_MAX);
    if (rc)
        return say_why(ret_why, err);
    if (made->chunks.count)
        return ERR_OK;
    err_set(err, ERR_INVALID, "%s",
            empty ? "The file is empty." : "No text was found in the file.");
    return say_why(ret_why, err);
}

/* ---- Indexing ---- */

/* One page, or a piece of one: as many bytes as a row may have. */
static void add_texts(struct made_document *made, const char *text, size_t length)
{
    while (length) {
        size_t fits = utf8_fit(text, length < DOCUMENT_PIECE ? length : DOCUMENT_PIECE);

        made->texts[made->text_count++] = (struct document_text){text, fits};
        text += fits;
        length -= fits;
    }
}

static void split_pages(struct made_document *made)
{
    const char *page = made->document.text.data;
    size_t most = made->document.text.length / (DOCUMENT_PIECE - 4) + 2;

    for (const char *at = page; (at = strchr(at, '\f')); at++)
        most++;
    made->texts = mem_zeroed(most, sizeof(*made->texts));
    for (;;) {
        size_t length = strcspn(page, "\f");

        if (length)
            add_texts(made, page, length);
        else if (made->document.pages)
            made->texts[made->text_count++] = (struct document_text){"", 0};
        page += length;
        if (!*page++)
            return;
    }
}

void document_index(const char *filename, struct made_document *made)
{
    const char *text = made->document.text.data;
    struct segment_builder *builder = segment_builder_new();
    struct buf indexed = {0};

    split_pages(made);
    made->shown = mem_zeroed(made->chunks.count + 1, sizeof(*made->shown));
    for (size_t i = 0; i < made->chunks.count; i++) {
        const struct chunk *chunk = &made->chunks.items[i];
        struct buf shown = {0};

        chunk_add_text(&shown, chunk, text);
        made->shown[i] = (struct document_chunk){
            .page = chunk->page, .heading = chunk->heading, .text = buf_take(&shown)};
        buf_reset(&indexed);
        chunk_add_indexed(&indexed, chunk, text, filename);
        segment_builder_add(builder, indexed.data, indexed.length);
    }
    segment_builder_finish(builder, &made->segment);
    index_pad(&made->segment); /* vectors may follow */
    segment_builder_free(builder);
    buf_clear(&indexed);
}
