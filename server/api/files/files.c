/*
 * Files: listed, read, deleted. Those of another project are unknown.
 *
 * A purpose in the query may be any text: one that no file has gives an empty list, as OpenAI's does.
 */

#include "core/store/tables/files/files.h"

#include "server/api/api.h"
#include "server/encode/encode.h"
#include "server/server.h"

#define LIST_LIMIT 10000

static enum err_code load(struct request *request, struct file_row *ret_row, struct err *err)
{
    return store_file_get(request_server(request)->store, request_tenant(request),
                          request_param(request, "file"), ret_row, err);
}

enum err_code api_file_get(struct request *request, struct err *err)
{
    CLEANUP(file_row_clear) struct file_row row = {0};
    enum err_code rc = load(request, &row, err);

    if (!rc)
        request_answer(request, 200, encode_file(&row));
    return rc;
}

enum err_code api_file_list(struct request *request, struct err *err)
{
    struct file_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page_of(request, LIST_LIMIT, &page, err);

    if (!rc)
        rc = store_file_list(request_server(request)->store, request_tenant(request),
                             request_query(request, "purpose"), &page, &rows, &count, &more,
                             err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_file);
    file_rows_free(rows, count);
    return ERR_OK;
}

enum err_code api_file_delete(struct request *request, struct err *err)
{
    const char *id = request_param(request, "file");
    enum err_code rc =
        store_file_delete(request_server(request)->store, request_tenant(request), id, err);

    if (!rc)
        request_answer(request, 200, encode_deleted(id, "file"));
    return rc;
}
