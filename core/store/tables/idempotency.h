#ifndef RUNNEL_CORE_STORE_TABLES_IDEMPOTENCY_H
#define RUNNEL_CORE_STORE_TABLES_IDEMPOTENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * idempotency.h -- requests that a client may repeat without their being carried out again.
 *
 * The client gives each request a key. The transaction that carries the request out stores the
 * key, so both are in the store or neither. A request that failed may be repeated under its
 * key. A request whose key is stored already does nothing. It returns what the first one made,
 * in its present state. If that is a response that failed before it had an effect, the caller may
 * let another one take its place under the key.
 *
 * Keys belong to a project. They are forgotten after IDEMPOTENCY_SECONDS. Until then there are
 * at most as many as requests that were carried out.
 */

#define IDEMPOTENCY_KEY_LIMIT ((size_t)255)
#define IDEMPOTENCY_SECONDS   86400

struct idempotency {
    const char *key;        /* "": the client sent no key, and nothing is stored */
    unsigned char hash[32]; /* of the request: equal hashes mean equal requests */
    const char *replaces;   /* the id of an object that gives way to the new one under this key;
                             * NULL: none does */
};

struct db;

/* What a claim of a key found. */
struct idempotency_claim {
    bool repeated; /* filled in if another request was first: */
    char object_id[ID_LIMIT + 1];
    int64_t first_seq;
};

/* Inside a transaction: claims the key for the object, unless it is taken. If the object is a
 * run with a lease, which must be locked, it notes where the run's log ends. Waits for another
 * transaction that has just claimed the key, or has replaced its object. ERR_INVALID, code
 * idempotency_key_reused, when a different request has it. `idempotency` may be NULL. */
enum err_code idempotency_claim(struct db *db, const struct tenant *tenant,
                                const struct idempotency *idempotency, const char *object_id,
                                struct idempotency_claim *ret_claim,
                                struct err *err) MUST_CHECK;

/* Begins a transaction and claims the key for an object that it is to make. *ret_db is NULL if an earlier request was
 * first; ret_first is then the id of what that one made, and no connection is held. Errors as above. */
enum err_code idempotency_begin(struct store *store, const struct tenant *tenant,
                                const struct idempotency *idempotency, const char *object_id,
                                struct db **ret_db, char ret_first[ID_LIMIT + 1],
                                struct err *err) MUST_CHECK;

/* Whether the request was carried out before; claims nothing. The id of what it made, or "" if the key
 * is not stored. Errors as above. */
enum err_code store_idempotency_find(struct store *store, const struct tenant *tenant,
                                     const struct idempotency *idempotency,
                                     char ret_object[ID_LIMIT + 1], struct err *err) MUST_CHECK;

/* Drops keys that are too old. */
enum err_code store_idempotency_forget(struct store *store, struct err *err) MUST_CHECK;

#endif
