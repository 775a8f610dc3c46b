#ifndef RUNNEL_CORE_STORE_WRITER_GROUP_COMMIT_H
#define RUNNEL_CORE_STORE_WRITER_GROUP_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/pg/connection.h"
#include "core/store/writer/writer.h"

/*
 * group_commit.h -- the writes of several runs as one transaction.
 *
 * The rows of all of them go table by table: a statement per table, whatever the number of runs,
 * all sent with one Sync. No two writes of a group are of the same run.
 */

enum group_try {
    GROUP_FIRST, /* what is to be created is not there */
    GROUP_AGAIN, /* the last try may have been committed */
};

struct group {
    struct run_write *writes[WRITER_GROUP_LIMIT];
    size_t count;
};

/* Carries out the group: every write gets its rc, ERR_OK or ERR_CONFLICT. On failure nothing has
 * happened, unless the connection broke: then it is unknown. */
enum err_code group_write(const struct group *group, enum group_try try,
                          struct connection *connection, const char *owner, int64_t lease_us,
                          uint64_t deadline_ns, struct err *err) MUST_CHECK;

#endif
