#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_VARIABLE_SAMPLES_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_VARIABLE_SAMPLES_H

#include "core/store/tables/threads/variables.h"
#include "tests/integration/core/store/samples.h"

/*
 * variable_samples.h -- variables in the opened store, put and read in one line.
 */

#define THEIRS TENANT_OF("proj_theirs")

enum err_code put_change(const char *scope, const struct variable_change *change,
                         enum variable_put how, struct err *err);
void put(const char *scope, const char *name, const char *value);
void fill(const char *scope, int count); /* v1 to v<count>, one after the other */

/* NULL: it does not exist. */
void expect_is(const char *scope, const char *name, const char *value);

/* The names of a list, joined by blanks. */
void expect_names(const char *scope, const struct variable_query *query, int64_t total,
                  const char *names);
void expect_all(const char *scope, int64_t total, const char *names);

/* How many there were. */
size_t take_away(const char *scope, const char *const *names, size_t count, const char *type);

/* Makes a response that has ended. */
void respond(const char *parent, const char *thread, char ret_id[ID_SIZE]);

/* A call's result that comes with the write of its run. */
void add_result(struct run_write *write, const char *scope, const char *name,
                const char *value);

#endif
