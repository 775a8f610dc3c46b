#ifndef RUNNEL_CORE_BLOB_BLOB_H
#define RUNNEL_CORE_BLOB_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"

/*
 * blob.h -- bytes of any size under an id, wherever they lie.
 *
 * A blob is written once, from its first byte to its last, and never changes. Where the bytes lie stands in
 * its row, so the place of new blobs may change while old ones are read where they are.
 *
 *     rc = blob_write_begin(blobs, tenant, &write, err);       // refuses if the disk is full
 *     while (bytes arrive)
 *         rc = blob_write_add(write, bytes, size, err);
 *     rc = blob_write_finish(write, &blob, err);               // safe on disk, and readable
 *     blob_write_free(write);                                  // without finish: nothing is left
 *
 * A blob belongs to a project; another project's is ERR_NOT_FOUND. Rows of other tables hold it by its id:
 * their statements count them (core/store/tables/files/README.md). What nobody has held for
 * BLOB_GRACE_SECONDS is removed by blobs_sweep(). So a finished blob is to be held soon, and one that is let go
 * is read to its end by those who read it.
 *
 * Nothing is orphaned by a crash at any point: the row is made before the first byte is kept, and goes after the
 * last was removed. What a crash has left is swept.
 *
 * All functions block, on the disk or the store. Any thread may call, with no lock held; a writer or a reader
 * is used by one thread at a time, and must end before the blobs.
 *
 * Errors, of every function: ERR_FULL with REASON_STORAGE_FULL, if a disk has no room, be it the database's or
 * S3's. ERR_STORE, if the database is away. ERR_STORE with REASON_ELSEWHERE, if the bytes lie in a
 * directory or bucket that this node does not have. ERR_UPSTREAM, if S3 is away, also after it was asked again.
 * ERR_LIMIT with REASON_BUSY, if too many blobs are written to S3 at once. ERR_NOT_FOUND. ERR_INTERNAL, if
 * a disk or S3 fails otherwise, or bytes are missing that should be there.
 */

struct blobs;
struct blob_read;
struct blob_write;
struct s3_options;
struct store;

/* Far more than a pause of a client that writes, or the time that one reads. */
#define BLOB_GRACE_SECONDS 3600

/* A directory counts as full with less free than this, or than a twentieth of its file system, whichever is less: the
 * database and the log often lie on the same disk, and fail worse. */
#define BLOB_RESERVE      ((uint64_t)1 << 30)
#define BLOB_RESERVE_PART 20

struct blobs_options {
    struct store *store; /* borrowed until blobs_free() */
    const char *
        dir; /* its parent must exist; it is made if it is missing. NULL: none, so `place` is not
                      * BLOB_DIR */
    enum blob_place place;       /* of new blobs */
    const struct s3_options *s3; /* NULL: no bucket, so `place` is not BLOB_S3 */
};

/* A bucket that cannot be used as it is configured is ERR_INVALID or ERR_INTERNAL. Makes the directory ready, also if
 * new blobs go elsewhere: old ones may lie there. A directory gets an id, in its file `home`: nodes that share it are
 * one home, and a node never takes its own for another's. */
enum err_code blobs_open(const struct blobs_options *options, struct blobs **ret_blobs,
                         struct err *err) MUST_CHECK;
void blobs_free(struct blobs *blobs);

/* For a server that stops: what waits for S3 ends with ERR_UPSTREAM within about a second, as all that asks S3 later. A
 * bucket that hangs would hold up the end by minutes. NULL is fine. */
void blobs_stop(struct blobs *blobs);

/* ERR_FULL if a blob of `bytes` more would have no room now; an early answer and no promise. Does not ask a
 * database. */
enum err_code blobs_have_room(struct blobs *blobs, uint64_t bytes, struct err *err) MUST_CHECK;

enum err_code blob_write_begin(struct blobs *blobs, const struct tenant *tenant,
                               struct blob_write **ret_write, struct err *err) MUST_CHECK;
/* After an error the write can only be freed. */
enum err_code blob_write_add(struct blob_write *write, const void *bytes, size_t size,
                             struct err *err) MUST_CHECK;
/* The SHA-256 of the bytes that were added so far. */
void blob_write_hash(const struct blob_write *write, uint8_t ret_sha256[BLOB_HASH_SIZE]);
/* Makes the bytes durable, then readable, in one step. *ret_blob has their number and SHA-256. Afterwards
 * the write can only be freed. */
enum err_code blob_write_finish(struct blob_write *write, struct blob_row *ret_blob,
                                struct err *err) MUST_CHECK;
/* Removes what was not finished, as far as it can; blobs_sweep() does the rest. NULL is fine. */
void blob_write_free(struct blob_write *write);

enum err_code blob_read_open(struct blobs *blobs, const struct tenant *tenant, const char *id,
                             struct blob_read **ret_read, struct err *err) MUST_CHECK;
/* Borrowed. */
const struct blob_row *blob_read_row(const struct blob_read *read);
/* Up to `size` bytes from byte `at`; less only at the end, and 0 behind it. */
enum err_code blob_read_at(struct blob_read *read, uint64_t at, void *ret_bytes, size_t size,
                           size_t *ret_got, struct err *err) MUST_CHECK;
void blob_read_free(struct blob_read *read); /* NULL is fine */

/* Removes a blob that nobody holds, now. ERR_NOT_FOUND also if a row does. */
enum err_code blob_remove(struct blobs *blobs, const struct tenant *tenant, const char *id,
                          struct err *err) MUST_CHECK;
/* The same for a blob whose row could not be made: what cannot be removed now is swept later. After a COMMIT without an
 * answer a row may hold it, and then it stays. */
void blob_remove_unheld(struct blobs *blobs, const struct tenant *tenant, const char *id);

/* The same for one that a row has let go. Where readers could miss its bytes it stays until the sweep: only an open
 * file of a directory outlives its name. */
void blob_remove_let_go(struct blobs *blobs, const struct tenant *tenant, const char *id);

/* For the keeper: removes up to `limit` blobs that nobody has held for `grace_us`, of all projects. A blob whose
 * bytes cannot be removed now is tried again by the next sweep. */
enum err_code blobs_sweep(struct blobs *blobs, int64_t grace_us, size_t limit,
                          size_t *ret_count, struct err *err) MUST_CHECK;

#endif
