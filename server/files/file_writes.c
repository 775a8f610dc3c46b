#include "server/files/file_writes.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/document/document_type.h"
#include "core/domain/file_name.h"
#include "core/retrieval/chunker.h"
#include "core/store/tables/files/file_change.h"
#include "core/store/tables/vector_stores/store_files.h"
#include "server/files/stored_file.h"
#include "server/server.h"

/* ---- Reading ---- */

static enum err_code load(const struct stored_file *file, size_t limit,
                          struct tool_text *ret_text, struct err *err)
{
    size_t length = (size_t)file->row.bytes;
    AUTO_FREE char *bytes = NULL;
    enum document_type type;
    enum err_code rc;

    if (file->row.bytes > limit)
        return err_set(err, ERR_TOO_LARGE, "The file has more than %zu MiB.", limit >> 20);
    bytes = mem_zeroed(length + 1, 1);
    rc = stored_file_bytes(file, bytes, err);
    if (rc)
        return rc;
    type = document_type_of(bytes, length < DOCUMENT_TYPE_BYTES ? length : DOCUMENT_TYPE_BYTES,
                            file->row.filename);
    if (!document_type_is_plain(type))
        return err_set(err, ERR_INVALID,
                       "The file is no plain text. Make a new document with its text instead.");
    *ret_text = (struct tool_text){.id = mem_strdup(file->row.id),
                                   .name = mem_strdup(file->row.filename),
                                   .version = mem_strdup(file->row.blob_id),
                                   .bytes = TAKE(bytes),
                                   .length = length};
    return ERR_OK;
}

enum err_code file_writes_load(void *arg, const struct tenant *tenant, const char *id,
                               size_t limit, struct tool_text *ret_text, struct err *err)
{
    struct stored_file file;
    enum err_code rc = stored_file_open(arg, tenant, id, &file, err);

    if (rc)
        return rc;
    rc = load(&file, limit, ret_text, err);
    stored_file_close(&file);
    return rc;
}

/* ---- Writing ---- */

static enum err_code write_blob(const struct server *server, const struct tenant *tenant,
                                const char *bytes, size_t length, struct blob_row *ret_blob,
                                struct err *err)
{
    uint64_t most = server->config->max_file;
    struct blob_write *write = NULL;
    enum err_code rc;

    if (length > most)
        return err_set(err, ERR_TOO_LARGE, "The file is larger than %llu bytes.",
                       (unsigned long long)most);
    rc = blobs_have_room(server->blobs, length, err);
    if (!rc)
        rc = blob_write_begin(server->blobs, tenant, &write, err);
    if (!rc)
        rc = blob_write_add(write, bytes, length, err);
    if (!rc)
        rc = blob_write_finish(write, ret_blob, err);
    blob_write_free(write);
    return rc;
}

enum err_code file_writes_change(void *arg, const struct tenant *tenant,
                                 const struct tool_text *read, const char *bytes, size_t length,
                                 struct err *err)
{
    const struct server *server = arg;
    struct file_row row = {.bytes = read->length};
    struct blob_row blob;
    enum err_code rc = write_blob(server, tenant, bytes, length, &blob, err);

    if (rc)
        return rc;
    (void)snprintf(row.id, sizeof(row.id), "%s", read->id);
    (void)snprintf(row.blob_id, sizeof(row.blob_id), "%s", read->version);
    rc = store_file_replace(server->store, tenant, server->config->max_project_bytes, &row,
                            &blob, err);
    if (rc)
        blob_remove_unheld(server->blobs, tenant, blob.id);
    else
        blob_remove_let_go(server->blobs, tenant, row.blob_id);
    return rc;
}

enum err_code file_writes_make(void *arg, const struct tenant *tenant, const char *name,
                               const char *vector_store_id, const char *bytes, size_t length,
                               struct tool_file *ret_file, struct err *err)
{
    const struct server *server = arg;
    AUTO_FREE char *kept = file_name_kept(name);
    struct file_row row = {.filename = kept,
                           .purpose = (char *)(uintptr_t)FILE_WRITES_PURPOSE,
                           .bytes = length,
                           .created_at = clock_wall_us()};
    const struct store_file_new attached = {.file_id = row.id,
                                            .chunk_tokens = (int)CHUNKING_AUTO.max_tokens,
                                            .overlap_tokens =
                                                (int)CHUNKING_AUTO.overlap_tokens};
    struct blob_row blob;
    enum err_code rc = write_blob(server, tenant, bytes, length, &blob, err);

    if (rc)
        return rc;
    id_make(row.id, "file-");
    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    rc = store_file_make(server->store, tenant, server->config->max_project_bytes, &row,
                         vector_store_id, &attached, err);
    if (rc) {
        blob_remove_unheld(server->blobs, tenant, blob.id);
        return rc;
    }
    *ret_file =
        (struct tool_file){.id = mem_strdup(row.id), .name = TAKE(kept), .bytes = length};
    return ERR_OK;
}
