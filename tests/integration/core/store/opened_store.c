/*
 * One store for a whole test program. PostgreSQL takes a second to start, so the tests of a
 * program share it, and each makes rows of its own: ids are random, and what a test counts it
 * selects by its ids.
 */

#include "tests/integration/core/store/opened_store.h"

#include <stdbool.h>
#include <stddef.h>

#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"

struct store *store, *other_store;
static bool writing;

int open_store(void **state)
{
    (void)state;
    store = pg_fixture_store();
    return store ? 0 : -1;
}

int open_writing_store(void **state)
{
    if (open_store(state))
        return -1;
    samples_start();
    writing = true;
    return store_writers_start(store, NULL) ? -1 : 0;
}

int open_two_stores(void **state)
{
    const struct store_options options = {.node_id = "node_other/boot_1"};

    if (open_writing_store(state))
        return -1;
    other_store = pg_fixture_store_with(&options);
    return other_store ? 0 : -1;
}

int close_store(void **state)
{
    (void)state;
    if (writing) {
        store_writers_stop(store);
        samples_stop();
    }
    store_free(other_store);
    pg_fixture_end(store);
    return 0;
}
