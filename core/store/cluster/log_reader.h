#ifndef RUNNEL_CORE_STORE_CLUSTER_LOG_READER_H
#define RUNNEL_CORE_STORE_CLUSTER_LOG_READER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/run_status.h"
#include "core/domain/tenant.h"
#include "core/net/loop.h"
#include "core/store/store.h"

/*
 * log_reader.h -- the event log, read for run loops, which may not block.
 *
 * One thread with a connection of its own; reads are done in the order in which they were asked
 * for, and each is posted back to its loop. Those that ask for the same while they wait are
 * done as one: who follows a run with others costs the database nothing more.
 */

struct log_read {
    /* Filled in by the loop. */
    struct tenant tenant;         /* the follower's: tenant_kept() */
    char thread_id[ID_LIMIT + 1]; /* of an Assistants run; "" for a response */
    char run_id[ID_LIMIT + 1];
    int64_t first_seq; /* the first frame wanted */
    size_t limit;      /* about so many bytes */

    /* Filled in by the reader. */
    enum err_code rc; /* ERR_NOT_FOUND: there is no such run any more */
    char *frames;     /* owned by whoever holds the read */
    size_t length;
    int64_t next;           /* number of the frame after them */
    enum run_status status; /* of the run, as of before the frames were read */

    struct loop *loop;
    struct loop_task done; /* done.run is called there */
    void *arg;             /* the loop's own */
    struct log_read *next_read;
};

struct log_reader;

enum err_code log_reader_start(struct store *store, struct log_reader **ret_reader,
                               struct err *err) MUST_CHECK;

/* Any thread. Never blocks. */
void log_reader_ask(struct log_reader *reader, struct log_read *read);

/* Answers what was asked for, then joins. */
void log_reader_stop(struct log_reader *reader);

#endif
