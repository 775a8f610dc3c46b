#ifndef RUNNEL_SERVER_API_FILES_CONTENT_H
#define RUNNEL_SERVER_API_FILES_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "server/http/request.h"

/*
 * content.h -- an answer that is a file to be saved: whole, or the range that the request asks for.
 *
 * The bytes are read by file workers as the client takes them, so a slow client costs a piece of memory and nothing
 * else, and a slow place a file worker. Every file is served as octets to be saved: a page of HTML must not run in the
 * origin of the API.
 */

struct content {
    const char *filename;
    uint64_t bytes;
    const char *etag; /* with its quotes; NULL: the bytes may change */
    /* As those of struct body_source, for the bytes of the whole file. */
    enum err_code (*read)(void *arg, uint64_t at, void *ret_bytes, size_t size, size_t *ret_got,
                          struct err *err);
    void (*drop)(void *arg);
    void *arg;
};

/* Takes content->arg, unless it fails: ERR_INVALID with status 416, a range behind the end. */
enum err_code content_answer(struct request *request, const struct content *content,
                             struct err *err) MUST_CHECK;

/* The same for a blob of the request's project. */
enum err_code content_answer_blob(struct request *request, const char *blob_id,
                                  const char *filename, struct err *err) MUST_CHECK;

#endif
