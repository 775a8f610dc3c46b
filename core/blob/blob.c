#include "core/blob/blob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/blob/place.h"
#include "core/store/tables/files/blobs.h"

/*
 * The idea: the row is the truth, and it comes first and goes last.
 *
 *   write    row without a size ─▶ bytes ─▶ durable ─▶ the row gets its size: from now on readable
 *   remove   the row is doomed ─▶ bytes go ─▶ the row goes
 *
 * Each arrow may be where a process dies. What it leaves is a row that nobody holds, and the sweep repeats the
 * removal from its beginning. No directory is ever listed to find orphans, and a place needs no
 * listing: a bucket would answer that in pages of a thousand.
 *
 * A writer that is slower than the grace says now and then that it lives.
 */

#define TOUCH_NS ((uint64_t)BLOB_GRACE_SECONDS / 6 * NS_PER_SECOND)

struct blobs {
    struct blob_ground ground;
    enum blob_place place;
};

struct blob_write {
    struct blob_name name;
    struct blob_row row;
    struct sha256_ctx hash;
    void *state;
    uint64_t touched_ns;
    bool finished;
};

struct blob_read {
    struct blob_name name;
    struct blob_row row;
    void *state;
};

static const struct blob_place_ops *const places[] = {
    [BLOB_DIR] = &blob_dir,
    [BLOB_DATABASE] = &blob_pages,
    [BLOB_S3] = &blob_s3,
};

enum err_code blob_full(struct err *err)
{
    return err_refuse(err, ERR_FULL, REASON_STORAGE_FULL, NULL,
                      "The server has no disk space for this file.");
}

enum err_code blob_broken(const struct blob_name *name, const char *why, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot read the bytes of %s: %s", name->id, why);
}

enum err_code blobs_open(const struct blobs_options *options, struct blobs **ret_blobs,
                         struct err *err)
{
    struct blobs *blobs = mem_new(struct blobs);
    enum err_code rc;

    blobs->place = options->place;
    blobs->ground.store = options->store;
    blobs->ground.dir_fd = -1;
    rc = options->dir ? blob_dir_open(options->dir, &blobs->ground, err) : ERR_OK;
    if (!rc && options->s3)
        rc = blob_s3_open(options->s3, &blobs->ground, err);
    if (rc) {
        blobs_free(blobs);
        return rc;
    }
    *ret_blobs = blobs;
    return ERR_OK;
}

void blobs_stop(struct blobs *blobs)
{
    if (blobs)
        blob_s3_stop(blobs->ground.s3);
}

void blobs_free(struct blobs *blobs)
{
    if (!blobs)
        return;
    if (blobs->ground.dir_fd >= 0)
        close(blobs->ground.dir_fd);
    blob_s3_close(blobs->ground.s3);
    free(blobs);
}

enum err_code blobs_have_room(struct blobs *blobs, uint64_t bytes, struct err *err)
{
    const struct blob_place_ops *ops = places[blobs->place];

    return ops->room ? ops->room(&blobs->ground, bytes, err) : ERR_OK;
}

static void name_init(struct blob_name *name, const struct blobs *blobs,
                      const struct tenant *tenant, const char *id)
{
    *name = (struct blob_name){.ground = &blobs->ground, .tenant = tenant_kept(tenant)};
    memcpy(name->id, id, strlen(id) + 1);
}

/* ---- Writing ---- */

/* Which directory or bucket it is. The database is the same for all nodes. */
static const char *home_of(const struct blob_ground *ground, enum blob_place place)
{
    static const char none[ID_SIZE] = "";

    switch (place) {
    case BLOB_DIR: return ground->home;
    case BLOB_S3: return ground->bucket;
    case BLOB_DATABASE: return none;
    }
    return none;
}

static void row_init(struct blob_row *row, const struct blobs *blobs)
{
    *row = (struct blob_row){.place = blobs->place};
    id_make(row->id, "blob_");
    memcpy(row->home, home_of(&blobs->ground, row->place), sizeof(row->home));
}

enum err_code blob_write_begin(struct blobs *blobs, const struct tenant *tenant,
                               struct blob_write **ret_write, struct err *err)
{
    struct blob_write *write;
    enum err_code rc = blobs_have_room(blobs, 0, err);

    if (rc)
        return rc;
    write = mem_new(struct blob_write);
    row_init(&write->row, blobs);
    name_init(&write->name, blobs, tenant, write->row.id);
    sha256_init(&write->hash);
    write->touched_ns = clock_mono_ns();
    rc = store_blob_begin(blobs->ground.store, tenant, &write->row, err);
    if (!rc)
        rc = places[blobs->place]->begin(&write->name, &write->state, err);
    if (rc) {
        blob_write_free(write);
        return rc;
    }
    *ret_write = write;
    return ERR_OK;
}

/* Otherwise the sweep would take it for something left by a crash. */
static enum err_code say_alive(struct blob_write *write, struct err *err)
{
    uint64_t now = clock_mono_ns();

    if (now - write->touched_ns < TOUCH_NS)
        return ERR_OK;
    write->touched_ns = now;
    return store_blob_touch(write->name.ground->store, &write->name.tenant, write->row.id, err);
}

enum err_code blob_write_add(struct blob_write *write, const void *bytes, size_t size,
                             struct err *err)
{
    enum err_code rc = say_alive(write, err);

    if (rc)
        return rc;
    sha256_update(&write->hash, size, bytes);
    write->row.bytes += size;
    return places[write->row.place]->add(&write->name, write->state, bytes, size, err);
}

void blob_write_hash(const struct blob_write *write, uint8_t ret_sha256[BLOB_HASH_SIZE])
{
    struct sha256_ctx hash = write->hash;

    sha256_digest(&hash, BLOB_HASH_SIZE, ret_sha256);
}

enum err_code blob_write_finish(struct blob_write *write, struct blob_row *ret_blob,
                                struct err *err)
{
    enum err_code rc = places[write->row.place]->finish(&write->name, write->state, err);

    if (!rc && FAULT("blob.durable"))
        rc = err_set(err, ERR_STORE, "a fault behind the last byte");
    if (rc)
        return rc;
    blob_write_hash(write, write->row.sha256);
    rc = store_blob_written(write->name.ground->store, &write->name.tenant, &write->row, err);
    if (rc)
        return rc;
    write->finished = true;
    *ret_blob = write->row;
    return ERR_OK;
}

/* ---- Removing ---- */

static enum err_code remove_row(const struct blob_ground *ground, const struct tenant *tenant,
                                const struct blob_row *row, struct err *err)
{
    struct blob_name name = {.ground = ground, .tenant = tenant_kept(tenant)};
    enum err_code rc;

    memcpy(name.id, row->id, sizeof(name.id));
    rc = places[row->place]->remove(&name, err);
    return rc ? rc : store_blob_forget(ground->store, tenant, row->id, err);
}

static enum err_code remove_blob(const struct blob_ground *ground, const struct tenant *tenant,
                                 const char *id, struct err *err)
{
    struct blob_row row;
    enum err_code rc = store_blob_doom(ground->store, tenant, id, &row, err);

    return rc ? rc : remove_row(ground, tenant, &row, err);
}

/* What cannot be removed now is swept, so nothing is said about it. A COMMIT without an answer may have made the
 * blob readable; nobody knows its id, so it is removed like the others. */
void blob_write_free(struct blob_write *write)
{
    if (!write)
        return;
    if (write->state)
        places[write->row.place]->end(write->state);
    /* The sweep may have taken a writer that was slow for a crash. Then the row is gone, and not what the writer
     * has put since. */
    if (!write->finished && remove_blob(write->name.ground, &write->name.tenant, write->row.id,
                                        NULL) == ERR_NOT_FOUND)
        (void)places[write->row.place]->remove(&write->name, NULL);
    free(write);
}

enum err_code blob_remove(struct blobs *blobs, const struct tenant *tenant, const char *id,
                          struct err *err)
{
    return remove_blob(&blobs->ground, tenant, id, err);
}

void blob_remove_unheld(struct blobs *blobs, const struct tenant *tenant, const char *id)
{
    struct err err = {0};

    if (blob_remove(blobs, tenant, id, &err) && err.code != ERR_NOT_FOUND)
        log_info("%s is removed later: %s", id, err.text);
}

enum err_code blobs_sweep(struct blobs *blobs, int64_t grace_us, size_t limit,
                          size_t *ret_count, struct err *err)
{
    AUTO_FREE struct stale_blob *stale = NULL;
    size_t count;
    size_t removed = 0;
    bool away = false;
    enum err_code rc =
        store_blobs_stale(blobs->ground.store, blobs->ground.home, blobs->ground.bucket,
                          grace_us, limit, &stale, &count, err);

    for (size_t i = 0; !rc && !away && i < count; i++) {
        struct err why = {0};

        switch (remove_blob(&blobs->ground, &stale[i].tenant, stale[i].id, &why)) {
        case ERR_OK: removed++; break;
        case ERR_NOT_FOUND: break; /* held, or removed by another node's sweep */
        case ERR_STORE: rc = why.code; break;
        default: log_warn("%s was not removed: %s", stale[i].id, why.text);
        }
        away = why.code == ERR_UPSTREAM; /* one wait is enough: the caller has other work */
        if (rc && err)
            *err = why;
    }
    if (!rc)
        *ret_count = removed;
    return rc;
}

/* ---- Reading ---- */

static enum err_code check_home(const struct blobs *blobs, const struct blob_row *row,
                                struct err *err)
{
    if (strcmp(row->home, home_of(&blobs->ground, row->place)) == 0)
        return ERR_OK;
    if (row->place == BLOB_S3)
        return err_refuse(err, ERR_STORE, REASON_ELSEWHERE, NULL,
                          "The bytes of this file lie in a bucket of S3 that is not the one of "
                          "files.s3.");
    return err_refuse(
        err, ERR_STORE, REASON_ELSEWHERE, NULL,
        "The bytes of this file lie in a directory of another server. With "
        "several servers, set file_storage to database or s3, or share files_dir.");
}

void blob_remove_let_go(struct blobs *blobs, const struct tenant *tenant, const char *id)
{
    struct blob_row row;

    if (!store_blob_get(blobs->ground.store, tenant, id, &row, NULL) && row.place == BLOB_DIR &&
        !check_home(blobs, &row, NULL))
        blob_remove_unheld(blobs, tenant, id);
}

enum err_code blob_read_open(struct blobs *blobs, const struct tenant *tenant, const char *id,
                             struct blob_read **ret_read, struct err *err)
{
    struct blob_read *read;
    struct blob_row row;
    enum err_code rc = store_blob_get(blobs->ground.store, tenant, id, &row, err);

    if (!rc)
        rc = check_home(blobs, &row, err);
    if (rc)
        return rc;
    read = mem_new(struct blob_read);
    read->row = row;
    name_init(&read->name, blobs, tenant, row.id);
    read->name.bytes = row.bytes;
    rc = places[row.place]->open(&read->name, &read->state, err);
    if (rc) {
        free(read);
        /* Its row may have gone first. */
        return rc == ERR_INTERNAL && store_blob_get(blobs->ground.store, tenant, id, &row,
                                                    NULL) == ERR_NOT_FOUND
                   ? err_set(err, ERR_NOT_FOUND, "%.64s is gone", id)
                   : rc;
    }
    *ret_read = read;
    return ERR_OK;
}

const struct blob_row *blob_read_row(const struct blob_read *read)
{
    return &read->row;
}

enum err_code blob_read_at(struct blob_read *read, uint64_t at, void *ret_bytes, size_t size,
                           size_t *ret_got, struct err *err)
{
    uint64_t left = at < read->row.bytes ? read->row.bytes - at : 0;
    size_t wanted = left < size ? (size_t)left : size;
    enum err_code rc = ERR_OK;

    if (wanted)
        rc =
            places[read->row.place]->read(&read->name, read->state, at, ret_bytes, wanted, err);
    if (!rc)
        *ret_got = wanted;
    return rc;
}

void blob_read_free(struct blob_read *read)
{
    if (!read)
        return;
    if (read->state)
        places[read->row.place]->close(read->state);
    free(read);
}
