#ifndef RUNNEL_CORE_STORE_WRITER_GROUP_COMMIT_H
#define RUNNEL_CORE_STORE_WRITER_GROUP_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/pg/connection.h"
#include "core/store/writer/writer.h"

/*
 * group_commit.h -- the writes of several runs as one transaction.
 *
 * The rows of all runs are written table by table: one statement per table, whatever the number
 * of runs, all sent with one Sync. No two writes of a group are of the same run.
 */

enum group_try {
    GROUP_FIRST, /* what the writes create cannot exist */
    GROUP_AGAIN, /* the last try may have been committed */
};

struct group {
    struct run_write *writes[WRITER_GROUP_LIMIT];
    size_t count;
};

/* Commits the group. Every write gets its rc, ERR_OK or ERR_CONFLICT. After a failure nothing
 * was written, unless the connection broke: then it is unknown. */
enum err_code group_write(const struct group *group, enum group_try try,
                          struct connection *connection, const char *owner, int64_t lease_us,
                          uint64_t deadline_ns, struct err *err) MUST_CHECK;

/* A lease is gone because another node has it, or because the run was deleted. Of the writes that
 * came back with ERR_CONFLICT, the latter get ERR_NOT_FOUND. Without such writes nothing happens. What is
 * deleted stays so, hence this may be repeated, and needs no transaction with the group. */
enum err_code group_find_deleted(const struct group *group, struct connection *connection,
                                 uint64_t deadline_ns, struct err *err) MUST_CHECK;

#endif
