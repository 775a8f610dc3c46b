#include "server/file_desk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/document.h"
#include "core/document/document_type.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/store_files.h"
#include "server/file_writes.h"
#include "server/server.h"
#include "server/stored_file.h"

#define PIECE       ((size_t)256 << 10)
#define LIST_LENGTH 50

/* ---- Lists ---- */

static json_t *file_object(const struct file_row *row)
{
    return json_build("{s:s, s:s, s:I, s:s}", "id", row->id, "filename", row->filename, "bytes",
                      (json_int_t)row->bytes, "purpose", row->purpose);
}

static json_t *page_of(json_t *files, bool more)
{
    return json_build("{s:o, s:b}", "files", files, "has_more", more);
}

static enum err_code list_all(const struct server *server, const struct tenant *tenant,
                              const struct page *page, json_t **ret_page, struct err *err)
{
    struct file_row *rows = NULL;
    size_t count = 0;
    bool more = false;
    json_t *files;
    enum err_code rc =
        store_file_list(server->store, tenant, NULL, page, &rows, &count, &more, err);

    if (rc)
        return rc;
    files = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(files, file_object(&rows[i]));
    file_rows_free(rows, count);
    *ret_page = page_of(files, more);
    return ERR_OK;
}

/* A file of the store, which may be deleted meanwhile: then it is left out. */
static enum err_code add_store_file(const struct server *server, const struct tenant *tenant,
                                    const struct store_file_row *row, json_t *files,
                                    struct err *err)
{
    struct file_row file;
    json_t *object;
    enum err_code rc = store_file_get(server->store, tenant, row->file_id, &file, err);

    if (rc)
        return rc == ERR_NOT_FOUND ? ERR_OK : rc;
    object = file_object(&file);
    json_set_string(object, "status", store_file_status_name(row->status));
    json_array_append_new(files, object);
    file_row_clear(&file);
    return ERR_OK;
}

static enum err_code list_store(const struct server *server, const struct tenant *tenant,
                                const char *store_id, const struct page *page,
                                json_t **ret_page, struct err *err)
{
    const struct store_file_filter filter = {.store_id = store_id};
    struct store_file_row *rows = NULL;
    size_t count = 0;
    bool more = false;
    json_auto_t *files = json_array();
    enum err_code rc =
        store_store_file_list(server->store, tenant, &filter, page, &rows, &count, &more, err);

    for (size_t i = 0; !rc && i < count; i++)
        rc = add_store_file(server, tenant, &rows[i], files, err);
    store_file_rows_free(rows, count);
    if (!rc)
        *ret_page = page_of(json_incref(files), more);
    return rc;
}

static enum err_code list(void *arg, const struct tenant *tenant, const json_t *query,
                          json_t **ret_page, struct err *err)
{
    const char *store_id = json_get_string(query, "vector_store_id", NULL);
    const char *after = json_get_string(query, "after", "");
    struct page page = {.limit = (int)json_get_int(query, "count", LIST_LENGTH)};

    if (strlen(after) >= sizeof(page.after))
        return err_set(err, ERR_INVALID, "No such File object: %.64s", after);
    memcpy(page.after, after, strlen(after));
    if (store_id)
        return list_store(arg, tenant, store_id, &page, ret_page, err);
    return list_all(arg, tenant, &page, ret_page, err);
}

/* ---- Bytes ---- */

static enum err_code pass_bytes(const struct stored_file *file, char *piece, size_t got,
                                tool_take_fn *take, void *take_arg, struct err *err)
{
    uint64_t at = 0;

    while (got && take(take_arg, piece, got)) {
        enum err_code rc;

        at += got;
        rc = blob_read_at(file->read, at, piece, PIECE, &got, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static void add_head(struct buf *out, const struct stored_file *file,
                     const struct document *document, size_t page)
{
    if (document->pages)
        buf_addf(out, "%s[file %s, page %zu of %zu]\n", page > 1 ? "\n\n" : "",
                 file->row.filename, page, document->pages);
    else
        buf_addf(out, "[file %s]\n", file->row.filename);
}

/* Each page behind a line that names it. */
static uint64_t pass_pages(const struct stored_file *file, const struct document *document,
                           size_t first_page, tool_take_fn *take, void *take_arg)
{
    const char *page = document->text.data ? document->text.data : "";
    bool wanted = true;
    uint64_t bytes = 0;

    for (size_t number = 1;; number++) {
        size_t length = strcspn(page, "\f");
        AUTO_BUF text = {0};

        if (number >= first_page) {
            add_head(&text, file, document, number);
            buf_add(&text, page, length);
            wanted = wanted && take(take_arg, text.data, text.length);
            bytes += text.length;
        }
        page += length;
        if (!*page++)
            return bytes;
    }
}

static enum err_code pass_text(const struct stored_file *file, size_t first_page,
                               tool_take_fn *take, void *take_arg, uint64_t *ret_bytes,
                               struct err *err)
{
    struct document document = {0};
    enum err_code rc = stored_file_document(file, &document, err);

    if (rc)
        return rc;
    if (first_page > 1 && first_page > document.pages)
        rc = err_set(err, ERR_INVALID, "Page %zu is beyond the end: %s has %zu page%s.",
                     first_page, file->row.filename, document.pages,
                     document.pages == 1 ? "" : "s");
    else
        *ret_bytes = pass_pages(file, &document, first_page, take, take_arg);
    document_clear(&document);
    return rc;
}

/* Text is passed as it is. What has text inside is read by a confined child, and all else is passed for what it is. */
static enum err_code pass(const struct stored_file *file, size_t first_page, tool_take_fn *take,
                          void *take_arg, uint64_t *ret_bytes, struct err *err)
{
    AUTO_FREE char *piece = mem_new_array(char, PIECE);
    size_t got = 0;
    enum document_type type;
    enum err_code rc = blob_read_at(file->read, 0, piece, PIECE, &got, err);

    if (rc)
        return rc;
    type = document_type_of(piece, got < DOCUMENT_TYPE_BYTES ? got : DOCUMENT_TYPE_BYTES,
                            file->row.filename);
    if (type == DOCUMENT_PDF || type == DOCUMENT_RTF || type == DOCUMENT_DOC ||
        type == DOCUMENT_OFFICE)
        return pass_text(file, first_page, take, take_arg, ret_bytes, err);
    if (first_page > 1)
        return err_set(err, ERR_INVALID, "%s has no pages.", file->row.filename);
    *ret_bytes = file->row.bytes;
    return pass_bytes(file, piece, got, take, take_arg, err);
}

static enum err_code read_file(void *arg, const struct tenant *tenant, const char *id,
                               size_t first_page, tool_take_fn *take, void *take_arg,
                               struct tool_file *ret_file, struct err *err)
{
    struct stored_file file = {.read = NULL};
    uint64_t bytes = 0;
    enum err_code rc = stored_file_open(arg, tenant, id, &file, err);

    if (rc)
        return rc;
    rc = pass(&file, first_page, take, take_arg, &bytes, err);
    if (!rc)
        *ret_file = (struct tool_file){.id = mem_strdup(file.row.id),
                                       .name = mem_strdup(file.row.filename),
                                       .bytes = bytes};
    stored_file_close(&file);
    return rc;
}

struct tool_desk file_desk(struct server *server)
{
    return (struct tool_desk){.list = list,
                              .read = read_file,
                              .load = file_writes_load,
                              .change = file_writes_change,
                              .make = file_writes_make,
                              .arg = server};
}
