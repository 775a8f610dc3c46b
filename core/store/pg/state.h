#ifndef RUNNEL_CORE_STORE_PG_STATE_H
#define RUNNEL_CORE_STORE_PG_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/lock.h"
#include "core/store/pg/connection.h"
#include "core/store/store.h"

/*
 * state.h -- what a struct store consists of. For core/store only.
 */

struct wakeups;
struct writer;

struct db {
    struct store *store;
    struct connection *connection; /* NULL until needed, and after it broke */
    unsigned outage;               /* store->outages when it was opened */
    uint64_t deadline_ns;          /* of the call under way */
    bool begun;                    /* between db_begin() and db_end() */
    bool sent;                     /* BEGIN was sent, and neither COMMIT nor ROLLBACK */
    bool failed;                   /* the transaction can only be rolled back */
    struct wakeup *wakes;          /* sent once it is committed */
    size_t wake_count;
    void (*after)(struct store *store, void *arg); /* db_after_commit(); NULL: nothing */
    void *after_arg;
    bool committed;          /* `after` is due */
    struct db *next, **link; /* store->dbs */
};

struct store {
    char *url;
    char *direct_url;
    char *node_id;
    uint64_t deadline_ns;
    int64_t lease_us;
    bool pooled; /* set while opening, then only read */

    atomic_bool up;
    atomic_bool draining; /* other nodes read it in this node's row */
    atomic_uint outages; /* counts them: a connection that was opened before the last one is not
                          * used again */

    atomic_int embedding_model; /* embedding_models.h; 0: words alone */
    _Atomic uint32_t
        tokenizer; /* documents.h: what counts the tokens of chunks; 0: an estimate */
    atomic_bool pgvector_used;   /* pgvector.h: vectors go into its table */
    atomic_bool pgvector_there;  /* there is such a table */
    atomic_int pgvector_indexed; /* the model whose index is known to be there; 0: none */
    _Atomic uint64_t pgvector_index_ns; /* before this moment none is tried */
    _Atomic uint64_t storage_limit;     /* files.h: bytes of a project; 0: no limit */

    pthread_key_t thread_db; /* the calling thread's struct db */
    struct lock lock;
    struct db *dbs; /* of all threads; guarded by lock */

    struct wakeups *wakeups; /* lives as long as the store */
    struct writer *writers;
    unsigned writer_count;
};

/* Notes that the database cannot be reached: every call fails from now on, until a probe
 * succeeds. */
void store_note_away(struct store *store);

/* The same after a missed deadline. The connections of all other threads are dead as well. */
void store_note_silent(struct store *store);

/* Opens a connection of this store, set up for a pooler or not. */
enum err_code store_connect(struct store *store, uint64_t deadline_ns,
                            struct connection **ret_connection, struct err *err) MUST_CHECK;

/* The transaction is committed: sends the wake-ups of db_wake(), and makes the callback of
 * db_after_commit() due. db_commit() calls it when the database has answered. */
void db_note_committed(struct db *db);

struct db *db_of_thread(struct store *store);
void db_free(struct db *db); /* unlinks it; REQUIRES nothing held */

#endif
