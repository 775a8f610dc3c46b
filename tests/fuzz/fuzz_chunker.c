/*
 * The text of a stranger's document becomes chunks. For any text they cover it, keep their size, begin and end between
 * characters, and can be indexed; and a segment of them is one that opens.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/retrieval/chunker.h"
#include "core/retrieval/segment.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f';
}

static void check(const struct chunks *chunks, const struct chunking *chunking,
                  const char *text, size_t length)
{
    struct segment_builder *builder = segment_builder_new();
    struct segment segment;
    AUTO_BUF indexed = {0}, bytes = {0};
    size_t covered = 0;

    for (size_t n = 0; n < chunks->count; n++) {
        const struct chunk *chunk = &chunks->items[n];

        assert(chunk->length && chunk->begin + chunk->length <= length);
        assert(chunk->tokens <= chunking->max_tokens);
        assert(json_valid_utf8(text + chunk->begin, chunk->length));
        for (; covered < chunk->begin; covered++)
            assert(is_blank(text[covered]));
        assert(chunk->begin + chunk->length > covered);
        covered = chunk->begin + chunk->length;
        buf_reset(&indexed);
        chunk_add_indexed(&indexed, chunk, text, "name.md");
        segment_builder_add(builder, indexed.data, indexed.length);
    }
    for (; covered < length; covered++)
        assert(is_blank(text[covered]));
    segment_builder_finish(builder, &bytes);
    segment_builder_free(builder);
    assert(segment_open(bytes.data, bytes.length, &segment, NULL) == ERR_OK);
    assert(segment.chunks == chunks->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct chunking chunking;
    struct chunks chunks = {0};
    AUTO_FREE char *text = NULL;
    size_t length;

    if (size < 2)
        return 0;
    chunking.max_tokens = CHUNK_TOKENS_MIN + data[0];
    chunking.overlap_tokens = data[1] % (chunking.max_tokens / 2 + 1);
    text = json_clean_utf8((const char *)data + 2, size - 2);
    length = strlen(text);
    if (chunks_make(&chunking, NULL, text, length, &chunks, NULL) == ERR_OK)
        check(&chunks, &chunking, text, length);
    chunks_clear(&chunks);
    return 0;
}
