#include "core/retrieval/index.h"

#include <string.h>

void index_pad(struct buf *bytes)
{
    size_t more = (INDEX_ALIGN - bytes->length % INDEX_ALIGN) % INDEX_ALIGN;

    memset(buf_reserve(bytes, more + 1), 0, more);
    buf_added(bytes, more);
}

/* Opens the segment at *at, and moves behind it and what pads it. */
static enum err_code open_next(const uint8_t *bytes, size_t length, size_t *at,
                               enum segment_kind kind, struct segment *ret_segment,
                               struct err *err)
{
    size_t left = length - *at;
    uint64_t size = segment_length(bytes + *at, left);
    enum err_code rc;

    if (!size)
        return err_set(err, ERR_INVALID, "The bytes are no segment of this version.");
    rc = segment_open(bytes + *at, (size_t)size, ret_segment, err);
    if (rc)
        return rc;
    if (ret_segment->kind != kind)
        return err_set(err, ERR_INVALID, "A segment of the index is of another kind.");
    size += (INDEX_ALIGN - size % INDEX_ALIGN) % INDEX_ALIGN;
    *at += size < left ? (size_t)size : left;
    return ERR_OK;
}

enum err_code index_open(const void *bytes, size_t length, struct index *ret_index,
                         struct err *err)
{
    struct index index = {0};
    size_t at = 0;
    enum err_code rc = open_next(bytes, length, &at, SEGMENT_TERMS, &index.terms, err);

    if (!rc && at < length) {
        rc = open_next(bytes, length, &at, SEGMENT_BITS, &index.bits, err);
        if (!rc)
            rc = open_next(bytes, length, &at, SEGMENT_INT8, &index.int8, err);
        index.model = index.int8.model;
        if (!rc && (at < length || index.bits.chunks != index.terms.chunks ||
                    index.int8.chunks != index.terms.chunks ||
                    index.bits.dimensions != index.int8.dimensions ||
                    index.bits.model != index.int8.model))
            rc = err_set(err, ERR_INVALID, "The segments of the index do not fit each other.");
    }
    if (!rc)
        *ret_index = index;
    return rc;
}
