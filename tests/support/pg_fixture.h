#ifndef RUNNEL_TESTS_SUPPORT_PG_FIXTURE_H
#define RUNNEL_TESTS_SUPPORT_PG_FIXTURE_H

#include "core/store/store.h"

/*
 * pg_fixture.h -- a PostgreSQL of the test program's own.
 *
 * The first call makes a private cluster in a directory under /dev/shm or /tmp; pg_fixture_end() stops it and removes
 * the directory. When the program dies before, a small guard process does.
 */

/* A store on it, its schema in place. More than one may be open at a time: they are nodes. */
struct store *pg_fixture_store(void);
struct store *pg_fixture_store_with(const struct store_options *options); /* url is filled in */

/* Its connection string. */
const char *pg_fixture_url(void);

/* The directory that would be data_dir. */
const char *pg_fixture_directory(void);

/* Stops the cluster, as an administrator would, and starts it again; the URL stays. */
void pg_fixture_stop(void);
void pg_fixture_start(void);

/* Frees the store (NULL is fine), then stops the cluster. */
void pg_fixture_end(struct store *store);

/* The only value of a statement, as text; "" for NULL or no row. Overwritten by the next call. */
const char *pg_fixture_ask(const char *format, ...) PRINTF_LIKE(1, 2);
long pg_fixture_count(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
