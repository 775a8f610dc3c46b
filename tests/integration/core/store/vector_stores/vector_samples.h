#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_VECTOR_STORES_VECTOR_SAMPLES_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_VECTOR_STORES_VECTOR_SAMPLES_H

#include <stddef.h>

#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * vector_samples.h -- vector stores, files and documents for tests. All functions assert.
 */

struct sample_id {
    char text[ID_SIZE];
};

struct sample_id sample_file(const struct tenant *tenant);
struct sample_id sample_store(const struct tenant *tenant);

/* With the chunking "auto", and with another one. */
enum err_code try_attach(const struct tenant *tenant, struct sample_id store_id,
                         struct sample_id file_id, int chunk_tokens, struct err *err);
void attach(const struct tenant *tenant, struct sample_id store_id, struct sample_id file_id);

/* Claims a document, which must be there. */
struct document_work claimed(void);
/* A document of one page and one chunk, with that text. */
enum err_code publish(const struct document_work *work, const char *text, struct err *err);

/* Claims and publishes all that is queued. Returns how many. */
size_t publish_all(void);

/* "completed 1 of 3 bytes 40": of a store, its status by what its files say, and the counters. Asserts that all
 * counters of all stores are what count(*) says. */
void assert_counters(struct sample_id store_id, const char *expected);

/* No document, text, chunk or segment is left that no file in a store names, once the sweep has been. */
void assert_nothing_orphaned(void);

#endif
