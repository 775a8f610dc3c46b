#ifndef RUNNEL_CORE_STORE_CLUSTER_LOG_READER_H
#define RUNNEL_CORE_STORE_CLUSTER_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/status/run_status.h"
#include "core/domain/tenant.h"
#include "core/net/loop.h"
#include "core/store/store.h"

/*
 * log_reader.h -- the event log, read for run loops, which may not block.
 *
 * One thread with a connection of its own. It reads in the order of the requests, and posts
 * each result back to its loop. Requests for the same frames that wait together are read once:
 * many followers of a run cost the database no more than one.
 */

struct log_read {
    /* Filled in by the loop. */
    struct tenant tenant;    /* the follower's: tenant_kept() */
    enum row_face face;      /* of the run */
    char thread_id[ID_SIZE]; /* of its thread or conversation; "" if it has none */
    char run_id[ID_SIZE];
    int64_t first_seq; /* the first frame wanted */
    size_t limit;      /* about so many bytes */

    /* Filled in by the reader. */
    enum err_code rc;    /* ERR_NOT_FOUND: the run was deleted */
    bool thread_deleted; /* with that: and so was its thread */
    char *frames;        /* owned by the holder of the struct */
    size_t length;
    int64_t next;           /* number of the frame after them */
    enum run_status status; /* of the run, read before the frames */

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

/* Finishes the requests that wait, then joins. */
void log_reader_stop(struct log_reader *reader);

#endif
