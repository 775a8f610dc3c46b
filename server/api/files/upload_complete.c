/*
 * The parts of an upload become a file.
 *
 * They are copied, one behind the other, into a new blob. The other way, a file of several blobs, would spare the copy,
 * but not the reading: the file needs a SHA-256 of its own, and the client may want the MD5 to be checked. And every
 * reader of files would have to know about parts for ever, while the copy is over in seconds.
 *
 *   HTTP worker    reads the body; the connection is suspended
 *   turns.h        one completion of an upload at a time: a repeated request waits, and finds the file
 *   file worker    reads the upload, then copies a slice and puts itself at the end of the queue, until all is copied
 *   checker        makes the file, where the operator has a command that looks at uploads
 *
 * So a large file does not keep small ones waiting, and a few threads are enough. Nothing is locked meanwhile. The
 * transaction that makes the file reads the status again: the upload may have been cancelled, or completed by another
 * node, and then the copy is dropped. Parts that come meanwhile are not in `part_ids`, and go with the others. A part's
 * blob that is let go during the copy is still read to its end (core/blob/blob.h).
 *
 * Memory: a piece for each worker, and the list of the parts.
 */

#include <jansson.h>
#include <nettle/md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/files/uploads.h"
#include "server/api/api.h"
#include "server/api/aside.h"
#include "server/api/files/turns.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/files/file_check.h"
#include "server/params/params.h"
#include "server/server.h"

#define PIECE ((size_t)1 << 18) /* read and written at once */
#define SLICE ((size_t)4 << 20) /* copied before others have their turn */

#define MD5_TEXT_SIZE (2 * MD5_DIGEST_SIZE + 1)

struct join {
    struct aside aside;
    struct turn turn;
    struct server *server;
    struct tenant tenant;
    json_t *part_ids;
    char md5[MD5_TEXT_SIZE]; /* "": not given */

    struct upload_row row;
    struct part_row *parts; /* in the order of part_ids */
    size_t count, part;     /* parts; those that are copied */
    struct blob_read *read; /* the present one */
    uint64_t at;            /* its bytes that are copied */
    struct blob_write *write;
    struct md5_ctx hash;
    struct file_row file; /* id "": none yet, or it is gone */
};

static void join_free(struct aside *aside)
{
    struct join *join = CONTAINER_OF(aside, struct join, aside);

    json_decref(join->part_ids);
    upload_row_clear(&join->row);
    file_row_clear(&join->file);
    free(join->parts);
    blob_read_free(join->read);
    blob_write_free(join->write);
    free(join);
}

/* ---- Which parts ---- */

static int compare_parts(const void *id, const void *part)
{
    return strcmp(id, ((const struct part_row *)part)->id);
}

/* `known` are all parts of the upload, by id. One that was taken has no blob left. */
static enum err_code order_parts(struct join *join, struct part_row *known, size_t known_count,
                                 struct err *err)
{
    size_t i;
    json_t *id;

    join->count = json_array_size(join->part_ids);
    join->parts = mem_new_array(struct part_row, join->count + 1);
    json_array_foreach (join->part_ids, i, id) {
        struct part_row *part =
            bsearch(json_string_value(id), known, known_count, sizeof(*known), compare_parts);

        struct param_path path = param_index("part_ids", i);

        if (!part)
            return err_invalid(err, "invalid_part_ids", path.text,
                               "Part %.64s does not belong to %s.", json_string_value(id),
                               join->row.id);
        if (!*part->blob_id)
            return err_invalid(err, "invalid_part_ids", path.text, "Part %s is named twice.",
                               part->id);
        join->parts[i] = *part;
        part->blob_id[0] = '\0';
    }
    return ERR_OK;
}

static enum err_code check_bytes(const struct join *join, struct err *err)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < join->count; i++)
        bytes += join->parts[i].bytes;
    if (bytes == join->row.bytes)
        return ERR_OK;
    return err_invalid(err, "bytes_mismatch", "part_ids",
                       "The parts have %llu bytes, but the upload was made for %llu.",
                       (unsigned long long)bytes, (unsigned long long)join->row.bytes);
}

/* ---- The copy ---- */

static enum err_code copy_piece(struct join *join, char *piece, size_t *ret_size,
                                struct err *err)
{
    const struct part_row *part = &join->parts[join->part];
    size_t size = 0;
    enum err_code rc = ERR_OK;

    if (!join->read)
        rc =
            blob_read_open(join->server->blobs, &join->tenant, part->blob_id, &join->read, err);
    if (!rc)
        rc = blob_read_at(join->read, join->at, piece, PIECE, &size, err);
    if (!rc)
        rc = blob_write_add(join->write, piece, size, err);
    if (rc)
        return rc;
    if (!size)
        return err_set(err, ERR_INTERNAL, "%s has fewer bytes than its part", part->blob_id);
    md5_update(&join->hash, size, (const uint8_t *)piece);
    join->at += size;
    *ret_size = size;
    if (join->at == part->bytes) {
        blob_read_free(TAKE(join->read));
        join->at = 0;
        join->part++;
    }
    return ERR_OK;
}

static enum err_code copy_slice(struct join *join, struct err *err)
{
    AUTO_FREE char *piece = mem_zeroed(1, PIECE);
    size_t size = 0;

    if (atomic_load(&join->server->draining))
        return err_set(err, ERR_STORE,
                       "The server is shutting down. Please retry your request.");
    for (size_t copied = 0; copied < SLICE && join->part < join->count; copied += size) {
        enum err_code rc = copy_piece(join, piece, &size, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_md5(struct join *join, struct err *err)
{
    uint8_t digest[MD5_DIGEST_SIZE];
    char text[MD5_TEXT_SIZE];

    md5_digest(&join->hash, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    if (!*join->md5 || strcasecmp(text, join->md5) == 0)
        return ERR_OK;
    return err_invalid(err, "md5_mismatch", "md5", "The MD5 of the parts is %s, not %s.", text,
                       join->md5);
}

/* ---- The file ---- */

static void file_init(struct file_row *file, const struct upload_row *upload)
{
    *file = (struct file_row){.filename = mem_strdup(upload->filename),
                              .purpose = mem_strdup(upload->purpose),
                              .bytes = upload->bytes,
                              .created_at = clock_wall_us()};
    id_make(file->id, "file-");
    if (upload->file_seconds)
        file->expires_at = file->created_at + upload->file_seconds * US_PER_SECOND;
}

/* Also for an upload that was completed before: then without bytes, and the file is that of then. */
static enum err_code make_file(struct join *join, struct err *err)
{
    AUTO_FREE char *part_ids = json_text(join->part_ids);
    enum err_code rc;

    rc = store_upload_complete(join->server->store, &join->tenant, join->row.id, part_ids,
                               &join->file, err);
    if (!rc)
        join->row.status = UPLOAD_COMPLETED;
    return rc;
}

static enum err_code finish(struct join *join, struct err *err)
{
    struct blob_row blob;
    enum err_code rc = check_md5(join, err);

    if (!rc)
        rc = blob_write_finish(join->write, &blob, err);
    if (rc)
        return rc;
    file_init(&join->file, &join->row);
    memcpy(join->file.blob_id, blob.id, sizeof(blob.id));
    rc = FAULT("upload.joined") ? err_set(err, ERR_STORE, "a fault behind the copy")
                                : file_check(join->server, &join->tenant, blob.id, err);
    if (!rc)
        rc = make_file(join, err);
    if (rc || strcmp(join->file.blob_id, blob.id) != 0)
        blob_remove_unheld(join->server->blobs, &join->tenant, blob.id);
    return rc;
}

/* ---- On a file worker ---- */

static void end(struct join *join, enum err_code rc)
{
    blob_write_free(TAKE(join->write));
    turns_end(join->server->joins, join->server->file_workers, &join->turn);
    aside_done(&join->aside, rc);
}

static void make_whole(struct work *work)
{
    struct join *join = CONTAINER_OF(work, struct join, aside.work);

    end(join, finish(join, &join->aside.err));
}

static void go_on(struct work *work)
{
    struct join *join = CONTAINER_OF(work, struct join, aside.work);
    enum err_code rc = copy_slice(join, &join->aside.err);

    if (rc) {
        end(join, rc);
    } else if (join->part < join->count) {
        workers_put(join->server->file_workers, work);
    } else if (join->server->checkers) {
        work->run = make_whole;
        workers_put(join->server->checkers, work);
    } else {
        make_whole(work);
    }
}

/* Its turn has come, and those before it may have ended the upload. The parts are read before the status, because they
 * go with it: of a pending upload they are complete. */
static enum err_code begin(struct join *join, struct err *err)
{
    AUTO_FREE struct part_row *known = NULL;
    struct store *store = join->server->store;
    enum upload_status status;
    size_t count = 0;
    enum err_code rc =
        store_upload_parts(store, &join->tenant, join->turn.id, &known, &count, err);

    if (!rc)
        rc = store_upload_get(store, &join->tenant, join->turn.id, &join->row, err);
    if (!rc)
        rc = upload_check(&join->row, UPLOAD_EV_COMPLETE, &status, err);
    if (rc)
        return rc;
    if (join->row.status == UPLOAD_COMPLETED)
        return make_file(join, err);
    rc = order_parts(join, known, count, err);
    if (!rc)
        rc = check_bytes(join, err);
    if (!rc)
        rc = blobs_have_room(join->server->blobs, join->row.bytes, err);
    if (!rc)
        rc = blob_write_begin(join->server->blobs, &join->tenant, &join->write, err);
    return rc;
}

static void start(struct work *work)
{
    struct join *join = CONTAINER_OF(work, struct join, aside.work);
    enum err_code rc = begin(join, &join->aside.err);

    if (rc || !join->write) {
        end(join, rc);
        return;
    }
    md5_init(&join->hash);
    join->aside.work.run = go_on;
    workers_put(join->server->file_workers, work);
}

/* ---- On an HTTP worker ---- */

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    const struct join *join = CONTAINER_OF(aside, struct join, aside);

    (void)err;
    request_answer(request, 200,
                   encode_upload(&join->row, *join->file.id ? &join->file : NULL));
    return ERR_OK;
}

static const struct aside_ops aside_ops = {.resume = resume, .free = join_free};

static enum err_code check_ids(const json_t *ids, struct err *err)
{
    size_t i;
    json_t *id;

    json_array_foreach (ids, i, id) {
        struct param_path path = param_index("part_ids", i);

        if (!json_is_string(id))
            return param_wrong_type(err, path.text, "a string", id);
    }
    return ERR_OK;
}

static enum err_code check_md5_text(const char *md5, struct err *err)
{
    if (!md5 || (strlen(md5) == MD5_TEXT_SIZE - 1 &&
                 strspn(md5, "0123456789abcdefABCDEF") == MD5_TEXT_SIZE - 1))
        return ERR_OK;
    return err_invalid(err, "invalid_value", "md5",
                       "Invalid 'md5': expected %d hexadecimal digits.", MD5_TEXT_SIZE - 1);
}

enum err_code api_upload_complete(struct request *request, struct err *err)
{
    static const char *const keys[] = {"part_ids", "md5", NULL};
    struct server *server = request_server(request);
    const json_t *body = request_json(request);
    const char *id = request_param(request, "upload");
    const char *md5 = NULL;
    json_t *ids = NULL;
    struct upload_row row;
    struct join *join;
    enum err_code rc = param_unknown(body, "", keys, err);

    if (!rc)
        rc = param_array(body, "", "part_ids", PARAM_REQUIRED, UPLOAD_PARTS_LIMIT, &ids, err);
    if (!rc)
        rc = check_ids(ids, err);
    if (!rc)
        rc = param_string(body, "", "md5", PARAM_OPTIONAL, 0, &md5, err);
    if (!rc)
        rc = check_md5_text(md5, err);
    /* An unknown one is refused before it waits. */
    if (!rc)
        rc = store_upload_get(server->store, request_tenant(request), id, &row, err);
    if (rc)
        return rc;
    upload_row_clear(&row);
    join = mem_new(struct join);
    join->server = server;
    join->tenant = tenant_kept(request_tenant(request));
    join->part_ids = json_deep_copy(ids);
    if (md5)
        memcpy(join->md5, md5, MD5_TEXT_SIZE);
    join->aside.work.run = start;
    aside_begin(request, &join->aside, &aside_ops);
    rc = turns_take(server->joins, server->file_workers, &join->turn, &join->tenant, id,
                    &join->aside.work, &join->aside.err);
    if (rc)
        aside_done(&join->aside, rc);
    return ERR_OK;
}
