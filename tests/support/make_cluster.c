/*
 * make_cluster DIRECTORY -- a cluster with the schema, stopped, for the integration tests to begin with a copy of it
 * (pg_fixture.c). What was there before is removed.
 */

#include <stdio.h>

#include "tests/support/copy_cluster.h"
#include "tests/support/pg_fixture.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: make_cluster DIRECTORY\n");
        return 2;
    }
    (void)pg_fixture_url();
    pg_fixture_stop();
    return copy_cluster(pg_fixture_directory(), argv[1]) ? 0 : 1;
}
