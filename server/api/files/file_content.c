/*
 * The bytes of a file.
 */

#include "core/store/tables/files/files.h"
#include "server/api/api.h"
#include "server/api/files/content.h"
#include "server/server.h"

static enum err_code answer(struct request *request, struct err *err)
{
    CLEANUP(file_row_clear) struct file_row file = {0};
    enum err_code rc = store_file_get(request_server(request)->store, request_tenant(request),
                                      request_param(request, "file"), &file, err);

    return rc ? rc : content_answer_blob(request, file.blob_id, file.filename, err);
}

/* Again, because a tool may give the file other bytes between its row and them. */
enum err_code api_file_content(struct request *request, struct err *err)
{
    enum err_code rc = answer(request, err);

    return rc == ERR_NOT_FOUND ? answer(request, err) : rc;
}
