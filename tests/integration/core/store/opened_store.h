#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_OPENED_STORE_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_OPENED_STORE_H

#include "core/store/store.h"

/*
 * opened_store.h -- the store that the tests of a program share, on a PostgreSQL of their own.
 *
 * For cmocka_run_group_tests(): one of the three opens, close_store() undoes all of it.
 */

extern struct store *store; /* node_test, boot_1 */
extern struct store
    *other_store; /* node_other on the same database, where open_two_stores() was it */

int open_store(void **state);
int open_writing_store(void **state); /* with writers, and samples_start() */
int open_two_stores(void **state);    /* the first of them writes */
int close_store(void **state);

#endif
