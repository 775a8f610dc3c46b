#ifndef RUNNEL_SERVER_API_CONTAINERS_CONTAINER_JOB_H
#define RUNNEL_SERVER_API_CONTAINERS_CONTAINER_JOB_H

#include <jansson.h>

#include "core/container/containers.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/tables/idempotency.h"
#include "server/api/aside.h"
#include "server/http/request.h"

/*
 * container_job.h -- what an endpoint of containers does on a file worker, because it copies, looks through a folder,
 * or waits for the end of processes.
 */

struct server;

struct container_job {
    struct aside aside;
    struct server *server;
    struct tenant tenant;
    char container[ID_LIMIT + 1]; /* as the path names it, or "" */
    char file[ID_LIMIT + 1];
    struct page page;
    struct container_row row; /* of a new container */
    json_t *file_ids;         /* references; or NULL */
    json_t *skills;
    char key[IDEMPOTENCY_KEY_LIMIT + 1];
    struct idempotency idempotency;
    /* On a worker. Leaves an answer, whose only reference is the job's. */
    enum err_code (*run)(struct container_job *job, struct err *err);
    json_t *answer;
    /* On an HTTP worker, after run(); NULL: it answers with `answer`. */
    enum err_code (*show)(struct container_job *job, struct request *request, struct err *err);
    struct container_file_row found; /* these are for show() */
    int fd;                          /* of the file; -1: it is not open. Who takes it sets -1 */
    uint64_t bytes;                  /* of it */
};

/* With the path's parameters. */
struct container_job *container_job_new(struct request *request,
                                        enum err_code (*run)(struct container_job *job,
                                                             struct err *err));
void container_job_free(struct container_job *job);

/* Suspends the request, at the end of an endpoint, which returns ERR_OK. Takes the job. */
void container_job_begin(struct request *request, struct container_job *job);

/* ERR_INVALID: this machine has no containers. At the beginning of every endpoint. */
enum err_code containers_present(const struct request *request, struct err *err) MUST_CHECK;

/* The container of a request about its files, taken. One that has expired is not found. */
enum err_code container_take(struct server *server, const struct tenant *tenant, const char *id,
                             struct container **ret_container, struct err *err) MUST_CHECK;

#endif
