/*
 * known_items.c -- how often a search finds the document that it should.
 *
 *   known_items <documents.jsonl     each line {"text": ..., "query": ...}; one without a query is only to be found
 *
 * Documents are cut into chunks of 800 tokens with an overlap of 400, and indexed as the server does. Each query is
 * searched in all of them. Prints one line of JSON: recall_10 is the share of the queries whose document is among the
 * first ten documents, mrr the mean of 1 / its place (0 behind the first 200 chunks).
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/retrieval/chunker.h"
#include "core/retrieval/lexical.h"
#include "core/retrieval/segment.h"

#define HITS_LIMIT 200
#define TOP        10

struct document {
    char *query; /* or NULL */
    struct buf bytes;
    struct segment segment;
};

struct corpus {
    struct document *documents;
    const struct segment **segments;
    size_t count, room;
    size_t chunks, text_bytes, segment_bytes;
};

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "known_items: %s: %s\n", what, err ? err->text : "");
    exit(1);
}

static void index_text(struct document *document, const char *text, struct corpus *corpus)
{
    struct chunking chunking = CHUNKING_AUTO;
    struct segment_builder *builder = segment_builder_new();
    struct chunks chunks = {0};
    struct err err;
    AUTO_BUF indexed = {0};

    if (chunks_make(&chunking, NULL, text, strlen(text), &chunks, &err))
        die("chunks", &err);
    for (size_t i = 0; i < chunks.count; i++) {
        buf_reset(&indexed);
        chunk_add_indexed(&indexed, &chunks.items[i], text, NULL);
        segment_builder_add(builder, indexed.data, indexed.length);
    }
    segment_builder_finish(builder, &document->bytes);
    segment_builder_free(builder);
    if (segment_open(document->bytes.data, document->bytes.length, &document->segment, &err))
        die("segment", &err);
    corpus->chunks += chunks.count;
    corpus->text_bytes += strlen(text);
    corpus->segment_bytes += document->bytes.length;
    chunks_clear(&chunks);
}

static void add_document(struct corpus *corpus, const json_t *json)
{
    struct document *document;

    if (corpus->count == corpus->room) {
        corpus->room = corpus->room ? 2 * corpus->room : 64;
        corpus->documents =
            mem_resize(corpus->documents, corpus->room, sizeof(*corpus->documents));
    }
    document = &corpus->documents[corpus->count++];
    *document = (struct document){.query = mem_strdup(json_get_string(json, "query", NULL))};
    index_text(document, json_get_string(json, "text", ""), corpus);
}

/* The place of a document among those of the hits, from 1; 0: it is not among them. */
static size_t place_of(size_t document, const struct lexical_hit *hits, size_t count)
{
    size_t place = 0;

    for (size_t i = 0; i < count; i++) {
        size_t j = 0;

        while (j < i && hits[j].document != hits[i].document)
            j++;
        place += j == i;
        if (hits[i].document == document)
            return place;
    }
    return 0;
}

static void search_all(const struct corpus *corpus, double index_seconds)
{
    struct lexical_hit hits[HITS_LIMIT];
    size_t queries = 0, found = 0;
    double sum = 0;
    uint64_t begin = clock_thread_ns();

    for (size_t i = 0; i < corpus->count; i++) {
        const char *query = corpus->documents[i].query;
        size_t place;

        if (!query)
            continue;
        place = place_of(i, hits,
                         lexical_search(corpus->segments, corpus->count, query, strlen(query),
                                        hits, HITS_LIMIT, NULL));
        queries++;
        found += place >= 1 && place <= TOP;
        sum += place ? 1 / (double)place : 0;
    }
    printf(
        "{\"documents\": %zu, \"chunks\": %zu, \"queries\": %zu, \"recall_10\": %.4f, "
        "\"mrr\": %.4f, \"text_bytes\": %zu, \"segment_bytes\": %zu, \"index_seconds\": %.3f, "
        "\"query_ms\": %.3f}\n",
        corpus->count, corpus->chunks, queries, (double)found / (double)queries,
        sum / (double)queries, corpus->text_bytes, corpus->segment_bytes, index_seconds,
        (double)(clock_thread_ns() - begin) / 1e6 / (double)queries);
}

int main(void)
{
    struct corpus corpus = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    uint64_t spent = 0;

    while ((length = getline(&line, &room, stdin)) > 0) {
        json_t *json = json_loadb(line, (size_t)length, 0, NULL);
        uint64_t begin = clock_thread_ns();

        if (!json)
            die("a line is no JSON", NULL);
        add_document(&corpus, json);
        spent += clock_thread_ns() - begin;
        json_decref(json);
    }
    corpus.segments = mem_zeroed(corpus.count + 1, sizeof(*corpus.segments));
    for (size_t i = 0; i < corpus.count; i++)
        corpus.segments[i] = &corpus.documents[i].segment;
    search_all(&corpus, (double)spent / 1e9);
    for (size_t i = 0; i < corpus.count; i++) {
        free(corpus.documents[i].query);
        buf_clear(&corpus.documents[i].bytes);
    }
    free(corpus.documents);
    free(corpus.segments);
    free(line);
    return 0;
}
