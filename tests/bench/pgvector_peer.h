#ifndef RUNNEL_TESTS_BENCH_PGVECTOR_PEER_H
#define RUNNEL_TESTS_BENCH_PGVECTOR_PEER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * pgvector_peer.h -- the vectors of a benchmark in a table of pgvector, with an HNSW index of halfvecs. What fails ends
 * the program.
 */

struct peer;

struct peer *peer_open(const char *conninfo, size_t dimensions);
void peer_close(struct peer *peer);

/* `kept`: the filter leaves it. Numbers are given in order. */
void peer_add(struct peer *peer, size_t number, bool kept, const float *vector);

/* Once all are there. Returns the seconds that the index took. */
double peer_index(struct peer *peer);

enum peer_search {
    PEER_ALL,           /* with the settings of the server's engine */
    PEER_KEPT,          /* what the filter leaves, likewise */
    PEER_KEPT_ONE_SCAN, /* without iterative scans: pgvector's default */
};

/* Fills the numbers of the nearest, at most `limit`; returns how many. */
size_t peer_find(struct peer *peer, enum peer_search search, const float *query, size_t limit,
                 size_t *ret_numbers);

#endif
