/*
 * bench_retrieval.c -- chunks, segments and searches over many of them, beside PostgreSQL's own text search.
 *
 *   bench_retrieval CHUNKS QUERIES CONNINFO <documents.jsonl     lines of tests/quality/corpora.py: {"text", "query"}
 *
 * Documents are put together to such of some DOCUMENT_BYTES, and repeated until there are CHUNKS chunks. PostgreSQL
 * gets the same chunks in a table with a GIN index, of its configuration `simple`, and the same queries, whose words
 * are joined by "or" and ordered by ts_rank. Prints one line of JSON. One thread. Times are of the processor, because
 * other processes may be at work; only the percentiles of PostgreSQL's queries are of the wall.
 */

#include <jansson.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/retrieval/chunker.h"
#include "core/retrieval/lexical.h"
#include "core/retrieval/segment.h"

#define RESULTS        20
#define DOCUMENT_BYTES 16384
#define POSTGRES_EVERY 10 /* queries; it takes too long for all of them */

struct list {
    char **items;
    size_t count, room;
};

struct index {
    struct buf *bytes;
    struct segment *opened;
    const struct segment **segments;
    size_t count, room;
    size_t chunks, text_bytes, segment_bytes;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_retrieval: %s: %s\n", what, why);
    exit(1);
}

/* Of this thread's processor time. */
static double ms_since(uint64_t begin)
{
    return (double)(clock_thread_ns() - begin) / 1e6;
}

static void list_add(struct list *list, const char *text)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->items = mem_resize(list->items, list->room, sizeof(*list->items));
    }
    list->items[list->count++] = mem_strdup(text);
}

static void read_documents(struct list *texts, struct list *queries)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while ((length = getline(&line, &room, stdin)) > 0) {
        json_t *json = json_loadb(line, (size_t)length, 0, NULL);

        if (!json)
            die("input", "a line is no JSON");
        list_add(texts, json_get_string(json, "text", ""));
        if (json_get_string(json, "query", NULL))
            list_add(queries, json_get_string(json, "query", NULL));
        json_decref(json);
    }
    free(line);
    if (!texts->count || !queries->count)
        die("input", "no documents with queries");
}

/* ---- PostgreSQL ---- */

static void execute(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_COPY_IN)
        die(sql, PQerrorMessage(connection));
    PQclear(result);
}

/* One row of COPY. */
static void copy_chunk(PGconn *connection, const struct buf *text)
{
    AUTO_BUF row = {0};

    for (size_t i = 0; i < text->length; i++) {
        char byte = text->data[i];

        if (byte == '\\' || byte == '\n' || byte == '\t' || byte == '\r') {
            buf_add_char(&row, '\\');
            byte = byte == '\n' ? 'n' : byte == '\t' ? 't' : byte == '\r' ? 'r' : byte;
        }
        buf_add_char(&row, byte);
    }
    buf_add_char(&row, '\n');
    if (PQputCopyData(connection, row.data, (int)row.length) != 1)
        die("copy", PQerrorMessage(connection));
}

/* Seconds of processor time that the server's process has used: ticks in /proc. */
static double postgres_seconds(PGconn *connection)
{
    char path[64];
    unsigned long user = 0, system = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", PQbackendPID(connection));
    file = fopen(path, "r");
    if (!file || fscanf(file, "%*d %*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                        &user, &system) != 2)
        die(path, "unreadable");
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static size_t search_postgres(PGconn *connection, const char *query)
{
    const char *values[] = {query};
    PGresult *result = PQexecParams(
        connection,
        "SELECT id, ts_rank(words, q) AS rank FROM chunks,"
        " CAST(replace(CAST(plainto_tsquery('simple', $1) AS text), '&', '|') AS tsquery) q"
        " WHERE words @@ q ORDER BY rank DESC LIMIT 20",
        1, NULL, values, NULL, NULL, 0);
    size_t rows;

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        die(query, PQerrorMessage(connection));
    rows = (size_t)PQntuples(result);
    PQclear(result);
    return rows;
}

/* ---- Ours ---- */

/* Cuts and indexes one document; the seconds of both go to `ret_seconds`. With a connection its chunks are copied. */
static void add_document(struct index *index, const char *text, PGconn *connection,
                         double *ret_seconds)
{
    struct chunking chunking = CHUNKING_AUTO;
    struct segment_builder *builder;
    struct chunks chunks = {0};
    uint64_t begin = clock_thread_ns();
    AUTO_BUF indexed = {0};

    if (index->count == index->room) {
        index->room = index->room ? 2 * index->room : 64;
        index->bytes = mem_resize(index->bytes, index->room, sizeof(*index->bytes));
    }
    index->bytes[index->count] = (struct buf){0};
    builder = segment_builder_new();
    if (chunks_make(&chunking, NULL, text, strlen(text), &chunks, NULL))
        die("chunks", "too many");
    for (size_t i = 0; i < chunks.count; i++) {
        buf_reset(&indexed);
        chunk_add_indexed(&indexed, &chunks.items[i], text, NULL);
        segment_builder_add(builder, indexed.data, indexed.length);
    }
    segment_builder_finish(builder, &index->bytes[index->count]);
    segment_builder_free(builder);
    *ret_seconds += ms_since(begin) / 1e3;
    for (size_t i = 0; connection && i < chunks.count; i++) {
        buf_reset(&indexed);
        chunk_add_indexed(&indexed, &chunks.items[i], text, NULL);
        copy_chunk(connection, &indexed);
    }
    index->chunks += chunks.count;
    index->text_bytes += strlen(text);
    index->segment_bytes += index->bytes[index->count++].length;
    chunks_clear(&chunks);
}

static void open_segments(struct index *index)
{
    index->opened = mem_new_array(struct segment, index->count);
    index->segments = mem_zeroed(index->count, sizeof(*index->segments));
    for (size_t i = 0; i < index->count; i++) {
        if (segment_open(index->bytes[i].data, index->bytes[i].length, &index->opened[i], NULL))
            die("segment", "damaged");
        index->segments[i] = &index->opened[i];
    }
}

static int compare_doubles(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) -
           (*(const double *)a < *(const double *)b);
}

static json_t *times_of(double *times, size_t count, double cpu_ms)
{
    qsort(times, count, sizeof(*times), compare_doubles);
    return json_build("{s:i, s:f, s:f, s:f}", "queries", (int)count, "p50_ms", times[count / 2],
                      "p99_ms", times[count * 99 / 100], "mean_cpu_ms", cpu_ms / (double)count);
}

static json_t *measure_ours(const struct index *index, const struct list *queries, size_t count)
{
    AUTO_FREE double *times = mem_new_array(double, count);
    struct lexical_hit hits[RESULTS];
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        const char *query = queries->items[i * 7919 % queries->count];
        uint64_t begin = clock_thread_ns();

        lexical_search(index->segments, index->count, query, strlen(query), hits, RESULTS,
                       NULL);
        times[i] = ms_since(begin);
        sum += times[i];
    }
    return times_of(times, count, sum);
}

static json_t *measure_postgres(PGconn *connection, const struct list *queries, size_t count)
{
    AUTO_FREE double *times = mem_new_array(double, count);
    double before = postgres_seconds(connection);
    size_t measured = 0;

    for (size_t i = 0; i < count; i += POSTGRES_EVERY) {
        const char *query = queries->items[i * 7919 % queries->count];
        uint64_t begin = clock_mono_ns();

        search_postgres(connection, query);
        times[measured++] = (double)(clock_mono_ns() - begin) / 1e6;
    }
    return times_of(times, measured, (postgres_seconds(connection) - before) * 1e3);
}

int main(int argc, char **argv)
{
    struct list texts = {0}, queries = {0};
    struct index index = {0};
    size_t wanted, asked;
    double seconds = 0, indexing;
    PGconn *connection;
    json_t *result;
    AUTO_FREE char *line = NULL;

    if (argc != 4)
        die("usage", "bench_retrieval CHUNKS QUERIES CONNINFO <documents.jsonl");
    wanted = strtoul(argv[1], NULL, 10);
    asked = strtoul(argv[2], NULL, 10);
    connection = PQconnectdb(argv[3]);
    if (PQstatus(connection) != CONNECTION_OK)
        die(argv[3], PQerrorMessage(connection));
    read_documents(&texts, &queries);

    execute(connection, "CREATE TABLE chunks (id bigserial, body text)");
    execute(connection, "COPY chunks (body) FROM STDIN");
    for (size_t i = 0; index.chunks < wanted;) {
        AUTO_BUF text = {0};

        for (; text.length < DOCUMENT_BYTES; i++) {
            buf_add_text(&text, texts.items[i % texts.count]);
            buf_add_text(&text, "\n\n");
        }
        add_document(&index, text.data, connection, &seconds);
    }
    if (PQputCopyEnd(connection, NULL) != 1)
        die("copy", PQerrorMessage(connection));
    for (PGresult *done; (done = PQgetResult(connection));)
        PQclear(done);
    open_segments(&index);

    indexing = postgres_seconds(connection);
    execute(connection, "ALTER TABLE chunks ADD COLUMN words tsvector"
                        " GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED");
    execute(connection, "CREATE INDEX ON chunks USING gin (words)");
    indexing = postgres_seconds(connection) - indexing;
    execute(connection, "VACUUM ANALYZE chunks");

    result = json_build(
        "{s:I, s:I, s:f, s:f, s:f, s:f, s:o, s:o}", "documents", (json_int_t)index.count,
        "chunks", (json_int_t)index.chunks, "text_mib", (double)index.text_bytes / (1 << 20),
        "index_mib", (double)index.segment_bytes / (1 << 20), "index_seconds", seconds,
        "postgres_index_seconds", indexing, "ours", measure_ours(&index, &queries, asked),
        "postgres", measure_postgres(connection, &queries, asked));
    line = json_text(result);
    puts(line);
    json_decref(result);
    PQfinish(connection);
    return 0;
}
