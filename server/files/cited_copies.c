#include "server/files/cited_copies.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "server/server.h"
#include "server/workers.h"

struct cited_copies {
    struct run_cited hook;
    struct server *server;
    struct workers *worker;
};

struct copy {
    struct work work;
    struct server *server;
    char container_id[ID_SIZE];
    char file_id[ID_SIZE];
};

static void run(struct work *work)
{
    struct copy *copy = CONTAINER_OF(work, struct copy, work);
    struct err err;

    if (containers_copy_file(copy->server->containers, &work->tenant, copy->container_id,
                             copy->file_id, &err))
        log_info("%s of %s is not copied: %s", copy->file_id, copy->container_id, err.text);
    free(copy);
}

static void cite(struct run_cited *hook, const struct tenant *tenant, const char *container_id,
                 const char *file_id)
{
    struct cited_copies *copies = CONTAINER_OF(hook, struct cited_copies, hook);
    struct copy *copy;

    if (strlen(container_id) >= ID_SIZE || strlen(file_id) >= ID_SIZE)
        return; /* a client's history may name anything */
    copy = mem_new(struct copy);
    copy->work.tenant = tenant_kept(tenant);
    copy->work.run = run;
    copy->server = copies->server;
    memcpy(copy->container_id, container_id, strlen(container_id) + 1);
    memcpy(copy->file_id, file_id, strlen(file_id) + 1);
    if (workers_offer(copies->worker, &copy->work, CITED_COPIES_LIMIT))
        return;
    log_info("%s of %s is not copied: too many wait", file_id, container_id);
    free(copy);
}

struct cited_copies *cited_copies_start(struct server *server)
{
    struct cited_copies *copies;

    if (!server->containers)
        return NULL;
    copies = mem_new(struct cited_copies);
    copies->hook.cite = cite;
    copies->server = server;
    copies->worker = workers_new(server->crew, 1);
    return copies;
}

void cited_copies_stop(struct cited_copies *copies)
{
    if (!copies)
        return;
    workers_stop(copies->worker);
    free(copies);
}

struct run_cited *cited_copies_hook(struct cited_copies *copies)
{
    return copies ? &copies->hook : NULL;
}
