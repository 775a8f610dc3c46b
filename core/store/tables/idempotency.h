#ifndef RUNNEL_CORE_STORE_TABLES_IDEMPOTENCY_H
#define RUNNEL_CORE_STORE_TABLES_IDEMPOTENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * idempotency.h -- requests that a client may send again without their being carried out again.
 *
 * The client gives each request a key. The key is stored by the transaction that does what the
 * request asks for, so that both are there or neither: what failed may be tried again under the same
 * key. A request whose key is there already does nothing; it gets what the first one made, as that
 * is now.
 *
 * Keys belong to a project. They are forgotten after IDEMPOTENCY_SECONDS; until then there are at
 * most as many as requests that were carried out.
 */

#define IDEMPOTENCY_KEY_LIMIT ((size_t)255)
#define IDEMPOTENCY_SECONDS   86400

struct idempotency {
    const char *key;        /* "": the client gave none, and nothing is remembered */
    unsigned char hash[32]; /* of the request: the same hash is the same request */
};

struct db;

/* Who was first under the key. */
struct idempotency_claim {
    bool repeated; /* somebody else: */
    char object_id[ID_LIMIT + 1];
    int64_t first_seq;
};

/* Inside a transaction: takes the key for the object, unless it is taken. For a run that has a lease,
 * which must be locked, notes where its log ends. Waits for a transaction that has just taken it.
 * ERR_INVALID, code idempotency_key_reused, when another request has. `idempotency` may be NULL. */
enum err_code idempotency_claim(struct db *db, const struct tenant *tenant,
                                const struct idempotency *idempotency, const char *object_id,
                                struct idempotency_claim *ret_claim,
                                struct err *err) MUST_CHECK;

/* Drops those whose time is over. */
enum err_code store_idempotency_forget(struct store *store, struct err *err) MUST_CHECK;

#endif
