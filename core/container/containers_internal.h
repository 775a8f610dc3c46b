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
    unsigned takers; /* guarded by the lock of all */
    bool putting; /* guarded by the lock of all: a call copies a file into it, or it arrives */
    bool giving;  /* the same: it goes to another node, and who takes it waits */
    bool asked;   /* the same: another node wants it, and a call has it */
    atomic_bool gone; /* set once: its row has ended */
};

struct containers {
    struct containers_options options;
    char *node_id;
    struct lock lock;
    pthread_cond_t put_ended;           /* of some container */
    pthread_cond_t answered;            /* a node was asked for a container, or has answered */
    unsigned answers;                   /* guarded by lock */
    atomic_bool steady;                 /* see containers_set_steady() */
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

/* One call at a time puts files into a container, or brings it here. */
void container_begin_put(const struct container *container);
void container_end_put(const struct container *container);

/* A copy becomes the file that it was before a move: row->blob_id has its bytes. Fills in what the folder says. */
enum err_code container_put_back(const struct container *container,
                                 struct container_file_row *row, struct err *err) MUST_CHECK;

/* ---- Moves (container_moves.c) ---- */

/* Whether to ask a node that lives. One that is dead loses the container in any case. */
enum container_fetching { FETCH_FROM_DEAD, FETCH_FROM_ALL };

/* The row of the container is that of another node. Takes it over, or waits until that node has given it. ERR_OK says
 * nothing: the row is to be read again. */
enum err_code container_fetch(const struct container *container,
                              enum container_fetching fetching, struct err *err) MUST_CHECK;

/* Its row says that it is arriving: puts its files into the folder, once for all who take it. The row is read anew.
 * ERR_CONFLICT "Container is expired.": none of its files is left. ERR_FULL: the disk has no room. It still arrives
 * then, with nothing in the folder: another call tries again, and another node may have it. */
enum err_code container_arrive(struct container *container, struct err *err) MUST_CHECK;

/* Waits while it is given away. */
void container_await_gift(const struct container *container);

enum err_code container_expired(struct err *err);

/* One that a node has no row of: for its use, not for its folder. */
struct container *container_new(struct containers *containers, const struct tenant *tenant,
                                const char *id);

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
