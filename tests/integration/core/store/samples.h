#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_SAMPLES_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_SAMPLES_H

#include <semaphore.h>

#include "core/store/tables/runs/runs.h"
#include "core/store/writer/writer.h"
#include "tests/support/tenants.h"

/*
 * samples.h -- rows to store, and writes that the test waits for.
 */

#define PROJECT "proj_samples"
#define TENANT  TENANT_OF(PROJECT)
#define CONTEXT 100

/* A run of a thread that exists, or without a thread ("": a response). The caller clears it. */
struct run_row sample_run(const char *thread_id, enum run_status status);
struct item_row sample_item(const struct run_row *run, int64_t position, const char *body);
struct call_row sample_call(const struct run_row *run, int position, const char *call_id);
struct step_row sample_step(const struct run_row *run);

/* Makes an empty thread. */
void sample_thread(char ret_id[ID_SIZE]);

/* Makes a run on the thread, owned by the store's node. The caller clears the load. */
struct run_load sample_created(struct store *store, const char *thread_id);

/* Where writes of the tests come back to. */
void samples_start(void);
void samples_stop(void);

/* A write of the run that owns a copy of it; for `update` and `create` alike. */
struct run_write *sample_write(const struct run_row *run, int64_t fence);
void sample_add_item(struct run_write *write, const struct item_row *item); /* takes it */
void sample_add_call(struct run_write *write, const struct call_row *call); /* takes it */
void sample_add_step(struct run_write *write, const struct step_row *step); /* takes it */
void sample_add_log(struct run_write *write, int64_t first, const char *frames);

/* Waits until so many writes have come back. */
void samples_await(size_t count);

/* Hands them over, waits until all have come back. They are the caller's again. */
void sample_hand_over(struct store *store, struct run_write *const *writes, size_t count);
/* One, and frees it. */
enum err_code sample_put(struct store *store, struct run_write *write);

/* Moves a run that this node owns to waiting for the client, with the calls a and b. */
void sample_ask_client(struct store *store, struct run_load *load);

#endif
