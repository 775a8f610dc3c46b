#ifndef RUNNEL_CORE_CONTAINER_CONTAINERS_INTERNAL_H
#define RUNNEL_CORE_CONTAINER_CONTAINERS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/lock.h"
#include "core/container/containers.h"

/*
 * containers_internal.h -- what the files of containers.h share, and their folders.
 */

#define CONTAINER_USERS 65536 /* of the users that workspaces belong to */

/* A container that is taken, by any number of calls. */
struct use {
    struct use *next;
    struct tenant tenant;
    char id[ID_SIZE];
    unsigned takers;  /* guarded by the lock of all */
    bool putting;     /* guarded by the lock of all: a call copies a file into it */
    atomic_bool gone; /* set once: its row has ended */
};

struct containers {
    struct containers_options options;
    char *node_id;
    struct lock lock;
    pthread_cond_t put_ended;           /* of some container */
    struct use *uses;                   /* guarded by lock */
    uint8_t users[CONTAINER_USERS / 8]; /* guarded by lock; a bit for each that has a folder */
};

struct container {
    struct containers *all;
    struct container_row row;
    struct tenant tenant;
    struct use *use;
    struct workspace *workspace;
    bool is_new;
    bool copies_nothing; /* its run is not stored */
};

/* Opens the folder, or makes it for a user that no other folder belongs to, as long as there are such. */
enum err_code container_folder_open(struct containers *containers, const struct tenant *tenant,
                                    const char *id, struct workspace **ret_workspace,
                                    struct err *err) MUST_CHECK;

/* Sends the folder to the trash. ERR_OK also if there is no folder. */
enum err_code container_folder_discard(struct containers *containers,
                                       const struct tenant *tenant, const char *id,
                                       struct err *err) MUST_CHECK;

/* All folders whose containers do not run here. Before the first container is taken. */
enum err_code container_folders_sweep(struct containers *containers,
                                      struct err *err) MUST_CHECK;

#endif
