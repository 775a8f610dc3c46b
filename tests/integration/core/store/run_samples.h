#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_RUN_SAMPLES_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_RUN_SAMPLES_H

#include "core/store/tables/runs/runs.h"
#include "tests/integration/core/store/samples.h"

/*
 * run_samples.h -- what clients do to runs of the opened store, a line each.
 */

const char *status_of(const char *run_id);

/* A run of the thread, or of none (""). */
enum err_code create(const char *thread_id, struct run_load *ret_load, struct err *err);

/* Answers these calls. The hash stands for what the answers were. */
enum err_code submit(const struct run_row *run, const char *const *ids, size_t count,
                     const unsigned char *hash, struct run_load *ret_load, bool *ret_repeated,
                     struct err *err);
extern const unsigned char hash_one[32], hash_two[32];

/* Completes it, and clears the load. */
void end_run(struct run_load *load);

#endif
