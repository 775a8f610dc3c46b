/*
 * Bytes in the database: rows of BLOB_PAGE bytes, each a transaction of its own, so that a large file is
 * no large transaction. Readers see them when the blob's row says that they are complete.
 *
 * Memory: one page for each blob that is being written or read.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/blob/place.h"
#include "core/store/tables/files/blobs.h"

struct page_buffer {
    int64_t n; /* the next page */
    size_t length;
    char bytes[BLOB_PAGE];
};

static enum err_code begin(const struct blob_name *name, void **ret_state, struct err *err)
{
    (void)name;
    (void)err;
    *ret_state = mem_new(struct page_buffer);
    return ERR_OK;
}

static enum err_code write_page(const struct blob_name *name, struct page_buffer *page,
                                struct err *err)
{
    enum err_code rc = store_blob_page_write(name->ground->store, &name->tenant, name->id,
                                             page->n, page->bytes, page->length, err);

    if (rc == ERR_STORE && err && err->reason == REASON_STORAGE_FULL)
        return blob_full(err);
    if (rc)
        return rc;
    page->n++;
    page->length = 0;
    return ERR_OK;
}

static enum err_code add(const struct blob_name *name, void *state, const void *bytes,
                         size_t size, struct err *err)
{
    struct page_buffer *page = state;

    for (size_t at = 0; at < size;) {
        size_t room = BLOB_PAGE - page->length;
        size_t count = size - at < room ? size - at : room;
        enum err_code rc = ERR_OK;

        memcpy(page->bytes + page->length, (const char *)bytes + at, count);
        page->length += count;
        at += count;
        if (page->length == BLOB_PAGE)
            rc = write_page(name, page, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code finish(const struct blob_name *name, void *state, struct err *err)
{
    struct page_buffer *page = state;

    return page->length ? write_page(name, page, err) : ERR_OK;
}

static enum err_code open_pages(const struct blob_name *name, void **ret_state, struct err *err)
{
    (void)name;
    (void)err;
    *ret_state = NULL;
    return ERR_OK;
}

/* Each page is asked for the piece that is wanted, and no more. */
static enum err_code read_pages(const struct blob_name *name, void *state, uint64_t at,
                                void *ret_bytes, size_t size, struct err *err)
{
    (void)state;
    for (size_t got = 0; got < size;) {
        size_t from = (size_t)((at + got) % BLOB_PAGE);
        size_t count = size - got < BLOB_PAGE - from ? size - got : BLOB_PAGE - from;
        enum err_code rc = store_blob_page_read(name->ground->store, &name->tenant, name->id,
                                                (int64_t)((at + got) / BLOB_PAGE), from,
                                                (char *)ret_bytes + got, count, err);

        if (rc == ERR_NOT_FOUND)
            return blob_broken(name, "a page is missing", err);
        if (rc)
            return rc;
        got += count;
    }
    return ERR_OK;
}

static enum err_code remove_pages(const struct blob_name *name, struct err *err)
{
    return store_blob_pages_remove(name->ground->store, &name->tenant, name->id, err);
}

const struct blob_place_ops blob_pages = {
    .begin = begin,
    .add = add,
    .finish = finish,
    .end = free,
    .open = open_pages,
    .read = read_pages,
    .close = free,
    .remove = remove_pages,
};
