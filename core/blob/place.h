#ifndef RUNNEL_CORE_BLOB_PLACE_H
#define RUNNEL_CORE_BLOB_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"

/*
 * place.h -- what a place for bytes must be able to do. Only for core/blob: others see blob.h.
 *
 * A place knows names and bytes. Rows, hashes, ids, who may read and when something is removed are blob.c's
 * business. All functions may block. Errors are those of blob.h.
 */

struct s3;
struct s3_options;
struct store;

/* Where the bytes of the places are. */
struct blob_ground {
    struct store *store;
    int dir_fd;           /* the directory */
    char home[ID_SIZE];   /* its id */
    struct s3 *s3;        /* NULL: no bucket */
    char bucket[ID_SIZE]; /* its id, or "" */
};

/* Whose bytes: what a place needs for a name of its own. */
struct blob_name {
    const struct blob_ground *ground;
    struct tenant tenant;
    char id[ID_SIZE];
    uint64_t bytes; /* when they are read */
};

struct blob_place_ops {
    /* ERR_FULL if so many bytes have no room. May be NULL. */
    enum err_code (*room)(const struct blob_ground *ground, uint64_t bytes, struct err *err);

    /* What is written until finish() may be lost. `state` is the place's own, and freed by end(), which is
     * called exactly once for a begin() that succeeded, after finish() or without it. */
    enum err_code (*begin)(const struct blob_name *name, void **ret_state, struct err *err);
    enum err_code (*add)(const struct blob_name *name, void *state, const void *bytes,
                         size_t size, struct err *err);
    enum err_code (*finish)(const struct blob_name *name, void *state, struct err *err);
    void (*end)(void *state);

    enum err_code (*open)(const struct blob_name *name, void **ret_state, struct err *err);
    /* All of these bytes, which are within the blob. */
    enum err_code (*read)(const struct blob_name *name, void *state, uint64_t at,
                          void *ret_bytes, size_t size, struct err *err);
    void (*close)(void *state);

    /* ERR_OK also if nothing is there. */
    enum err_code (*remove)(const struct blob_name *name, struct err *err);
};

extern const struct blob_place_ops blob_dir, blob_pages, blob_s3;

/* Opens a directory, makes it if it is missing, and finds or makes its id. */
enum err_code blob_dir_open(const char *path, struct blob_ground *ground,
                            struct err *err) MUST_CHECK;

/* Looks whether the bucket can be used. A server that is away only gets a line in the log. */
enum err_code blob_s3_open(const struct s3_options *options, struct blob_ground *ground,
                           struct err *err) MUST_CHECK;
void blob_s3_close(struct s3 *s3); /* NULL is fine */
/* Requests that wait for the bucket end. NULL is fine. */
void blob_s3_stop(struct s3 *s3);

enum err_code blob_full(struct err *err);
/* Bytes are missing that must be there. */
enum err_code blob_broken(const struct blob_name *name, const char *why, struct err *err);

#endif
