#include "server/files/file_desk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/document.h"
#include "core/document/document_type.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/store_files.h"
#include "server/files/file_writes.h"
#include "server/files/stored_file.h"
#include "server/server.h"

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

/* A file that is gone, and not yet taken out of the store, is left out. */
static void add_store_file(const struct store_file_row *row, json_t *files)
{
    if (row->filename)
        json_array_append_new(files,
                              json_build("{s:s, s:s, s:I, s:s}", "id", row->file_id, "filename",
                                         row->filename, "bytes", (json_int_t)row->file_bytes,
                                         "status", store_file_status_name(row->status)));
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
        add_store_file(&rows[i], files);
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

/* A file on its way to a tool. */
struct passing {
    const struct server *server;
    const struct tenant *tenant;
    struct stored_file file;
    size_t first_page; /* 0: from the beginning */
    tool_take_fn *take;
    void *take_arg;
    uint64_t bytes; /* of what is passed; more, if the tool has stopped before the end */
};

static enum err_code pass_bytes(struct passing *passing, char *piece, size_t got,
                                struct err *err)
{
    uint64_t at = 0;

    passing->bytes = passing->file.row.bytes;
    while (got && passing->take(passing->take_arg, piece, got)) {
        enum err_code rc;

        at += got;
        rc = blob_read_at(passing->file.read, at, piece, PIECE, &got, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_page(const struct passing *passing, size_t pages, struct err *err)
{
    if (passing->first_page <= 1 || passing->first_page <= pages)
        return ERR_OK;
    if (!pages)
        return err_set(err, ERR_INVALID, "%s has no pages.", passing->file.row.filename);
    return err_set(err, ERR_INVALID, "Page %zu is beyond the end: %s has %zu page%s.",
                   passing->first_page, passing->file.row.filename, pages,
                   pages == 1 ? "" : "s");
}

/* A page behind a line that names it. `pages` 0: the whole text, which has none. False: no more is wanted. */
static bool pass_page(struct passing *passing, size_t pages, size_t page, const char *text,
                      size_t length)
{
    AUTO_BUF out = {0};

    if (pages)
        buf_addf(&out, "%s[file %s, page %zu of %zu]\n", page > 1 ? "\n\n" : "",
                 passing->file.row.filename, page, pages);
    else
        buf_addf(&out, "[file %s]\n", passing->file.row.filename);
    buf_add(&out, text, length);
    passing->bytes += out.length;
    if (passing->take(passing->take_arg, out.data, out.length))
        return true;
    passing->bytes += page < pages;
    return false;
}

/* From the document that a vector store has of the file. */
static enum err_code pass_stored(struct passing *passing, const char *document_id, size_t pages,
                                 struct err *err)
{
    bool wanted = true;
    enum err_code rc = check_page(passing, pages, err);

    for (size_t page = passing->first_page ? passing->first_page : 1;
         !rc && wanted && page <= pages; page++) {
        AUTO_FREE char *text = NULL;
        bool found = false;

        rc = store_document_text(passing->server->store, passing->tenant, document_id, page - 1,
                                 &text, &found, err);
        if (!rc && !found)
            rc = err_set(err, ERR_CONFLICT, "%s was changed meanwhile. Read it again.",
                         passing->file.row.id);
        if (!rc)
            wanted = pass_page(passing, pages, page, text, strlen(text));
    }
    return rc;
}

/* From the file, by a reader in a confined child. */
static enum err_code pass_read(struct passing *passing, struct err *err)
{
    struct document document = {0};
    const char *text;
    enum err_code rc = stored_file_document(&passing->file, &document, err);

    if (rc)
        return rc;
    rc = check_page(passing, document.pages, err);
    text = document.text.data ? document.text.data : "";
    for (size_t page = 1; !rc; page++) {
        size_t length = strcspn(text, "\f");

        if (page >= passing->first_page &&
            !pass_page(passing, document.pages, page, text, length))
            break;
        text += length;
        if (!*text++)
            break;
    }
    document_clear(&document);
    return rc;
}

static enum err_code pass_text(struct passing *passing, struct err *err)
{
    char document_id[ID_SIZE];
    size_t pages = 0;
    bool found = false;
    enum err_code rc =
        store_document_paged(passing->server->store, passing->tenant, passing->file.row.id,
                             document_id, &pages, &found, err);

    if (rc)
        return rc;
    return found ? pass_stored(passing, document_id, pages, err) : pass_read(passing, err);
}

/* Text is passed as it is. What has text inside is read, and all else is passed for what it is. */
static enum err_code pass(struct passing *passing, struct err *err)
{
    AUTO_FREE char *piece = mem_new_array(char, PIECE);
    size_t got = 0;
    enum document_type type;
    enum err_code rc = blob_read_at(passing->file.read, 0, piece, PIECE, &got, err);

    if (rc)
        return rc;
    type = document_type_of(piece, got < DOCUMENT_TYPE_BYTES ? got : DOCUMENT_TYPE_BYTES,
                            passing->file.row.filename);
    if (type == DOCUMENT_PDF || type == DOCUMENT_RTF || type == DOCUMENT_DOC ||
        type == DOCUMENT_OFFICE)
        return pass_text(passing, err);
    rc = check_page(passing, 0, err);
    return rc ? rc : pass_bytes(passing, piece, got, err);
}

static enum err_code read_file(void *arg, const struct tenant *tenant, const char *id,
                               size_t first_page, tool_take_fn *take, void *take_arg,
                               struct tool_file *ret_file, struct err *err)
{
    struct passing passing = {.server = arg,
                              .tenant = tenant,
                              .first_page = first_page,
                              .take = take,
                              .take_arg = take_arg};
    enum err_code rc = stored_file_open(arg, tenant, id, &passing.file, err);

    if (rc)
        return rc;
    rc = pass(&passing, err);
    if (!rc)
        *ret_file = (struct tool_file){.id = mem_strdup(passing.file.row.id),
                                       .name = mem_strdup(passing.file.row.filename),
                                       .bytes = passing.bytes};
    stored_file_close(&passing.file);
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
