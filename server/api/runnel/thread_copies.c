/*
 * Threads that are made from other threads: fork, copy, merge. An extension.
 *
 * Each is one transaction of the store, which copies rows inside the database
 * (core/store/tables/threads/thread_copies.h): a long thread never passes through this process. The
 * request has no parameters beside the ids in its path. Its body may be missing, and an unknown
 * member is refused, so that parameters may be added later.
 */

#include "core/store/tables/threads/thread_copies.h"
#include "server/api/api.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/server.h"

static enum err_code answer(struct request *request, struct thread_row *row)
{
    request_answer(request, 200, encode_thread(row));
    thread_row_clear(row);
    return ERR_OK;
}

static enum err_code check_body(const struct request *request, struct err *err)
{
    static const char *const known[] = {NULL};

    return param_unknown(request_json(request), "", known, err);
}

enum err_code api_thread_fork(struct request *request, struct err *err)
{
    struct thread_row row;
    char id[ID_LIMIT + 1];
    enum err_code rc = param_thread_id(request_param(request, "thread"), "thread_id", id, err);

    if (!rc)
        rc = check_body(request, err);
    if (!rc)
        rc = store_thread_fork(request_server(request)->store, request_tenant(request), id,
                               &row, err);
    return rc ? rc : answer(request, &row);
}

typedef enum err_code put_fn(struct store *store, const struct tenant *tenant, const char *from,
                             const char *to, struct thread_row *ret_row, struct err *err);

static enum err_code put_into(struct request *request, put_fn *put, struct err *err)
{
    struct thread_row row;
    char from[ID_LIMIT + 1];
    char to[ID_LIMIT + 1];
    enum err_code rc = param_thread_id(request_param(request, "from"), "from", from, err);

    if (!rc)
        rc = param_thread_id(request_param(request, "to"), "to", to, err);
    if (!rc)
        rc = check_body(request, err);
    if (!rc)
        rc = put(request_server(request)->store, request_tenant(request), from, to, &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_thread_copy(struct request *request, struct err *err)
{
    return put_into(request, store_thread_copy, err);
}

enum err_code api_thread_merge(struct request *request, struct err *err)
{
    return put_into(request, store_thread_merge, err);
}
