#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_WRITER_WRITER_SAMPLES_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_WRITER_WRITER_SAMPLES_H

#include "core/store/tables/runs/runs.h"
#include "core/store/writer/writer.h"

/*
 * writer_samples.h -- a write that has all of a run, and what the database has of a run.
 */

/* A response that has ended, with a question and an answer. */
struct run_write *finished_response(struct run_row *ret_run);

const char *status_of(const struct run_row *run); /* valid until the next question */
long leases_of(const struct run_row *run);
long items_of(const struct run_row *run);

#endif
