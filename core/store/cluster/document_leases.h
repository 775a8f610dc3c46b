#ifndef RUNNEL_CORE_STORE_CLUSTER_DOCUMENT_LEASES_H
#define RUNNEL_CORE_STORE_CLUSTER_DOCUMENT_LEASES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/cluster/leases.h"
#include "core/store/store.h"

/*
 * document_leases.h -- leases of documents that are made searchable, and documents of dead owners.
 *
 * The rules are those of runs (leases.c), with one step less: a keeper claims nothing. It puts documents of dead owners
 * back into the queue, from which the workers of all nodes claim (core/store/tables/vector_stores/documents.h).
 *
 * For the keeper of a node. All functions block on the store.
 */

/* `ids` and `fences`: what this node has at work. A lease that was lost is left alone: its owner finds out when it
 * comes back with its work. */
enum err_code store_document_leases_renew(struct store *store, const char *const *ids,
                                          const int64_t *fences, size_t count,
                                          struct err *err) MUST_CHECK;

/* Puts documents of dead owners back into the queue, which counts as an attempt. So are documents of this boot that
 * it does not have at work and whose lease has expired, without that: they could not be given back when the database
 * was away. ERR_STORE also when the database took longer than a third of a lease: then nothing happened. */
enum err_code store_documents_recover(struct store *store, enum claim_scope scope,
                                      const char *const *ids, size_t count, size_t *ret_count,
                                      struct err *err) MUST_CHECK;

#endif
