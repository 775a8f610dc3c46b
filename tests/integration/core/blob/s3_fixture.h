#ifndef RUNNEL_TESTS_INTEGRATION_CORE_BLOB_S3_FIXTURE_H
#define RUNNEL_TESTS_INTEGRATION_CORE_BLOB_S3_FIXTURE_H

#include <stdbool.h>

#include "core/net/s3_client.h"

/*
 * s3_fixture.h -- the server of S3 that the end-to-end tests have, too: tests/e2e/python/harness/s3.py.
 *
 * One a process, used by one thread.
 */

bool s3_fixture_start(void);
void s3_fixture_stop(void);

/* Its bucket and keys. */
struct s3_options s3_fixture_options(void);

/* "left", "clear", "heal" or "fail OPERATION WHAT". Returns "objects uploads", valid until the next call. */
const char *s3_fixture_ask(const char *command);

#endif
