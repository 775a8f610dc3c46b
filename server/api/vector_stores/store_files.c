/*
 * Files in vector stores.
 *
 * What a document says is shown page by page, in one answer: SDKs never ask for a second.
 */

#include "core/store/tables/vector_stores/store_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/vector_stores/documents.h"
#include "server/api/api.h"
#include "server/api/vector_stores/held_poll.h"
#include "server/complaint.h"
#include "server/encode/encode_vector_store.h"
#include "server/params/params.h"
#include "server/params/vector_store_params.h"
#include "server/server.h"

static enum err_code load(struct request *request, struct store_file_row *ret_row,
                          struct err *err)
{
    return store_store_file_get(request_server(request)->store, request_tenant(request),
                                request_param(request, "store"), request_param(request, "file"),
                                ret_row, err);
}

static enum err_code answer(struct request *request, struct store_file_row *row)
{
    if (row->status == STORE_FILE_IN_PROGRESS || row->status == STORE_FILE_CANCELLED)
        poll_header_set(request, row->created_at);
    request_answer(request, 200, encode_store_file(row));
    store_file_row_clear(row);
    return ERR_OK;
}

enum err_code api_store_file_create(struct request *request, struct err *err)
{
    CLEANUP(file_list_clear) struct file_list list = {0};
    struct store *store = request_server(request)->store;
    const char *store_id = request_param(request, "store");
    struct store_file_row row;
    enum err_code rc = store_file_read_body(request_json(request), &list, err);

    if (!rc)
        rc = store_files_attach(store, request_tenant(request), store_id, list.files, 1, err);
    if (!rc)
        rc = store_store_file_get(store, request_tenant(request), store_id,
                                  list.files[0].file_id, &row, err);
    return rc ? rc : answer(request, &row);
}

static enum err_code answer_now(struct request *request, struct err *err)
{
    struct store_file_row row;
    enum err_code rc = load(request, &row, err);

    return rc ? rc : answer(request, &row);
}

enum err_code api_store_file_get(struct request *request, struct err *err)
{
    uint64_t mark = held_polls_mark(request_server(request)->held_polls);
    struct store_file_row row;
    enum err_code rc = load(request, &row, err);

    if (rc)
        return rc;
    if (!is_poll(request) ||
        (row.status != STORE_FILE_IN_PROGRESS && row.status != STORE_FILE_CANCELLED))
        return answer(request, &row);
    held_poll_wait(request, row.status == STORE_FILE_CANCELLED ? "" : row.document_id, mark,
                   answer_now);
    store_file_row_clear(&row);
    return ERR_OK;
}

enum err_code api_store_file_modify(struct request *request, struct err *err)
{
    static const char *const known[] = {"attributes", NULL};
    const json_t *body = request_json(request);
    AUTO_FREE char *text = NULL;
    json_t *attributes = NULL;
    struct store_file_row row;
    enum err_code rc = param_unknown(body, "", known, err);

    if (!rc && !json_object_get(body, "attributes"))
        rc = param_missing(err, "attributes");
    if (!rc)
        rc = param_attributes(body, "", &attributes, err);
    if (rc)
        return rc;
    text = attributes ? json_text(attributes) : mem_strdup("{}");
    rc = store_store_file_modify(request_server(request)->store, request_tenant(request),
                                 request_param(request, "store"),
                                 request_param(request, "file"), text, &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_store_file_delete(struct request *request, struct err *err)
{
    const char *file_id = request_param(request, "file");
    enum err_code rc =
        store_store_file_delete(request_server(request)->store, request_tenant(request),
                                request_param(request, "store"), file_id, err);

    if (!rc)
        request_answer(request, 200, encode_deleted(file_id, "vector_store.file.deleted"));
    return rc;
}

/* ---- Lists ---- */

static enum err_code check_status(const char *status, struct err *err)
{
    for (int i = 0; status && i < STORE_FILE_STATUS_COUNT; i++)
        if (strcmp(status, store_file_status_names[i]) == 0)
            return ERR_OK;
    return status ? param_wrong_word(err, "filter", status, store_file_status_names) : ERR_OK;
}

static enum err_code answer_list(struct request *request, const char *batch_id, struct err *err)
{
    struct store_file_filter filter = {.store_id = request_param(request, "store"),
                                       .batch_id = batch_id,
                                       .status = request_query(request, "filter")};
    struct store_file_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = check_status(filter.status, err);
    if (!rc)
        rc = store_store_file_list(request_server(request)->store, request_tenant(request),
                                   &filter, &page, &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_store_file);
    store_file_rows_free(rows, count);
    return ERR_OK;
}

enum err_code api_store_file_list(struct request *request, struct err *err)
{
    CLEANUP(vector_store_row_clear) struct vector_store_row row = {0};
    enum err_code rc =
        store_vector_store_get(request_server(request)->store, request_tenant(request),
                               request_param(request, "store"), &row, err);

    return rc ? rc : answer_list(request, NULL, err);
}

enum err_code api_file_batch_file_list(struct request *request, struct err *err)
{
    struct file_batch_row row;
    enum err_code rc = store_file_batch_get(
        request_server(request)->store, request_tenant(request),
        request_param(request, "store"), request_param(request, "batch"), &row, err);

    return rc ? rc : answer_list(request, row.id, err);
}

/* ---- Content ---- */

/* The code of an error outlives the row. */
static const char *error_code(const struct store_file_row *row)
{
    static const char *const codes[] = {"unsupported_file", "invalid_file"};

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (strcmp(row->error_code, codes[i]) == 0)
            return codes[i];
    return "server_error";
}

static enum err_code not_ready(const struct store_file_row *row, struct err *err)
{
    if (row->status == STORE_FILE_FAILED)
        return err_invalid(err, error_code(row), NULL, "%s", row->error_message);
    if (row->status == STORE_FILE_CANCELLED)
        return err_invalid(err, "file_not_ready", NULL, "File %s was cancelled.", row->file_id);
    return err_invalid(err, "file_not_ready", NULL, "File %s is still being processed.",
                       row->file_id);
}

/* The pages of a document on their way: one is in memory, however long the document is and however slowly it is
 * read. */
struct pages {
    struct store *store;
    struct tenant tenant;
    char document_id[ID_SIZE];
    size_t n; /* the next page */
    bool ended;
    struct buf piece; /* of the answer */
    size_t sent;      /* of the piece */
};

static void drop_pages(void *arg)
{
    struct pages *pages = arg;

    buf_clear(&pages->piece);
    free(pages);
}

/* {"type": "text", "text": ...} */
static void add_page(struct pages *pages, const char *text)
{
    json_auto_t *page = json_build("{s:s, s:s}", "type", "text", "text", text);

    if (pages->n++)
        buf_add_text(&pages->piece, ",");
    json_add_text(&pages->piece, page);
}

/* Behind the last page. All pages of a document go at once, so if the first one is there, none was missing. */
static enum err_code end_pages(struct pages *pages, struct err *err)
{
    AUTO_FREE char *text = NULL;
    bool found = false;
    enum err_code rc = store_document_text(pages->store, &pages->tenant, pages->document_id, 0,
                                           &text, &found, err);

    if (rc)
        return rc;
    if (!found)
        return err_set(err, ERR_NOT_FOUND, "the document %s was deleted meanwhile",
                       pages->document_id);
    pages->ended = true;
    buf_add_text(&pages->piece, "],\"has_more\":false,\"next_page\":null}");
    return ERR_OK;
}

static enum err_code next_piece(struct pages *pages, struct err *err)
{
    AUTO_FREE char *text = NULL;
    bool found = false;
    enum err_code rc = store_document_text(pages->store, &pages->tenant, pages->document_id,
                                           pages->n, &text, &found, err);

    if (rc)
        return rc;
    buf_reset(&pages->piece);
    pages->sent = 0;
    if (!pages->n)
        buf_add_text(&pages->piece,
                     "{\"object\":\"vector_store.file_content.page\",\"data\":[");
    if (!found)
        return end_pages(pages, err);
    add_page(pages, text);
    return ERR_OK;
}

static enum err_code read_pages(void *arg, uint64_t at, void *ret_bytes, size_t size,
                                size_t *ret_got, struct err *err)
{
    struct pages *pages = arg;
    size_t left;

    (void)at;
    if (pages->sent == pages->piece.length && !pages->ended) {
        enum err_code rc = next_piece(pages, err);

        if (rc)
            return rc;
    }
    left = pages->piece.length - pages->sent;
    *ret_got = left < size ? left : size;
    memcpy(ret_bytes, pages->piece.data + pages->sent, *ret_got);
    pages->sent += *ret_got;
    return ERR_OK;
}

enum err_code api_store_file_content(struct request *request, struct err *err)
{
    CLEANUP(store_file_row_clear) struct store_file_row row = {0};
    struct pages *pages;
    enum err_code rc = load(request, &row, err);

    if (rc)
        return rc;
    if (row.status != STORE_FILE_COMPLETED)
        return not_ready(&row, err);
    pages = mem_new(struct pages);
    *pages = (struct pages){.store = request_server(request)->store,
                            .tenant = tenant_kept(request_tenant(request))};
    memcpy(pages->document_id, row.document_id, sizeof(pages->document_id));
    rc = next_piece(pages, err);
    if (rc) {
        drop_pages(pages);
        return rc;
    }
    request_answer_from(
        request, 200, "application/json",
        &(struct body_source){
            .size = BODY_SIZE_UNKNOWN, .read = read_pages, .drop = drop_pages, .arg = pages});
    return ERR_OK;
}
