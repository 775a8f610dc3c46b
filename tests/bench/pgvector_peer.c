#include "tests/bench/pgvector_peer.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

struct peer {
    PGconn *connection;
    size_t dimensions;
    struct buf row;
    bool copying;
    enum peer_search set; /* of the settings now */
};

static void die(const struct peer *peer, const char *what)
{
    fprintf(stderr, "bench: pgvector: %s: %s\n", what, PQerrorMessage(peer->connection));
    exit(1);
}

static void run(struct peer *peer, const char *sql)
{
    PGresult *result = PQexec(peer->connection, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN)
        die(peer, sql);
    PQclear(result);
}

struct peer *peer_open(const char *conninfo, size_t dimensions)
{
    struct peer *peer = mem_zeroed(1, sizeof(*peer));
    AUTO_FREE char *table = mem_printf(
        "CREATE UNLOGGED TABLE chunks (number integer NOT NULL, kept boolean NOT NULL,"
        " vector halfvec(%zu) NOT NULL)",
        dimensions);

    peer->connection = PQconnectdb(conninfo);
    peer->dimensions = dimensions;
    if (PQstatus(peer->connection) != CONNECTION_OK)
        die(peer, "connect");
    run(peer, "CREATE EXTENSION vector");
    run(peer, table);
    run(peer, "ALTER TABLE chunks ALTER COLUMN vector SET STORAGE PLAIN");
    return peer;
}

void peer_close(struct peer *peer)
{
    PQfinish(peer->connection);
    buf_clear(&peer->row);
    free(peer);
}

/* ---- Filling ---- */

/* Rounded to 11 bits. What is too small for a normal number becomes 0. */
static uint16_t half_of(float number)
{
    int exponent;
    float fraction = frexpf(fabsf(number), &exponent); /* 0.5 to 1 */
    unsigned bits = (unsigned)lroundf(fraction * 2048);
    uint16_t sign = signbit(number) ? 0x8000 : 0;

    if (bits == 2048) {
        bits = 1024;
        exponent++;
    }
    if (exponent < -13 || number == 0)
        return sign;
    return sign | (uint16_t)((unsigned)(exponent + 14) << 10 | (bits - 1024));
}

static void add_16(struct buf *row, uint16_t number)
{
    number = htons(number);
    buf_add(row, &number, sizeof(number));
}

static void add_32(struct buf *row, uint32_t number)
{
    number = htonl(number);
    buf_add(row, &number, sizeof(number));
}

static void send_row(struct peer *peer)
{
    if (PQputCopyData(peer->connection, peer->row.data, (int)peer->row.length) != 1)
        die(peer, "copy");
    peer->row.length = 0;
}

void peer_add(struct peer *peer, size_t number, bool kept, const float *vector)
{
    const char one = kept ? 1 : 0;

    if (!peer->copying) {
        run(peer, "COPY chunks FROM STDIN (FORMAT binary)");
        buf_add(&peer->row, "PGCOPY\n\377\r\n\0", 11);
        add_32(&peer->row, 0);
        add_32(&peer->row, 0);
        peer->copying = true;
    }
    add_16(&peer->row, 3);
    add_32(&peer->row, 4);
    add_32(&peer->row, (uint32_t)number);
    add_32(&peer->row, 1);
    buf_add(&peer->row, &one, 1);
    add_32(&peer->row, (uint32_t)(4 + 2 * peer->dimensions));
    add_16(&peer->row, (uint16_t)peer->dimensions);
    add_16(&peer->row, 0);
    for (size_t i = 0; i < peer->dimensions; i++)
        add_16(&peer->row, half_of(vector[i]));
    send_row(peer);
}

double peer_index(struct peer *peer)
{
    uint64_t begin;

    add_16(&peer->row, 0xffff);
    send_row(peer);
    if (PQputCopyEnd(peer->connection, NULL) != 1)
        die(peer, "copy");
    for (PGresult *result; (result = PQgetResult(peer->connection)); PQclear(result)) {
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            die(peer, "copy");
    }
    begin = clock_mono_ns();
    run(peer, "CREATE INDEX ON chunks USING hnsw (vector halfvec_cosine_ops)");
    run(peer, "ANALYZE chunks");
    run(peer, "SET hnsw.ef_search = 400; SET hnsw.iterative_scan = relaxed_order;"
              " SET hnsw.max_scan_tuples = 40000");
    return (double)(clock_mono_ns() - begin) / 1e9;
}

/* ---- Searching ---- */

size_t peer_find(struct peer *peer, enum peer_search search, const float *query, size_t limit,
                 size_t *ret_numbers)
{
    AUTO_FREE char *sql =
        mem_printf("SELECT number FROM chunks%s ORDER BY vector <=> $1::halfvec(%zu) LIMIT %zu",
                   search == PEER_ALL ? "" : " WHERE kept", peer->dimensions, limit);
    AUTO_BUF text = {0};
    const char *values[1];
    PGresult *result;
    size_t count;

    if (search != peer->set)
        run(peer, search == PEER_KEPT_ONE_SCAN ? "SET hnsw.iterative_scan = off"
                                               : "SET hnsw.iterative_scan = relaxed_order");
    peer->set = search;
    for (size_t i = 0; i < peer->dimensions; i++)
        buf_addf(&text, "%c%.6g", i ? ',' : '[', (double)query[i]);
    buf_add_char(&text, ']');
    buf_add_char(&text, '\0');
    values[0] = text.data;
    result = PQexecParams(peer->connection, sql, 1, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        die(peer, sql);
    count = (size_t)PQntuples(result);
    for (size_t i = 0; i < count; i++)
        ret_numbers[i] = strtoul(PQgetvalue(result, (int)i, 0), NULL, 10);
    PQclear(result);
    return count;
}
