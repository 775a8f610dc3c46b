#ifndef RUNNEL_CORE_BASE_ERR_H
#define RUNNEL_CORE_BASE_ERR_H

#include "core/base/compiler.h"

/*
 * err.h -- how a function says that it failed, and why.
 *
 * A function that can fail returns an enum err_code, ERR_OK being zero, and
 * takes a `struct err *` last. The code is for the caller to act on; the text
 * is for the person who will read the log line or the HTTP response. A caller
 * that only needs the code passes NULL.
 *
 *     rc = store_run_get(store, tenant, run_id, &run, err);
 *     if (rc)
 *         return rc;
 *
 * The text is written once, by the function that knows most, and travels up
 * untouched. A function either returns an error or logs it, never both.
 *
 * Errors that a client caused carry two more fields of OpenAI's envelope:
 * `param`, the request field to blame, and `api_code`, such as
 * "invalid_value". The texts are those of OpenAI's API.
 *
 * Running out of memory is not one of these errors: see mem.h.
 */

enum err_code {
    ERR_OK = 0,
    ERR_INVALID,      /* 400: the request makes no sense as written */
    ERR_UNAUTHORIZED, /* 401: no key, or an unknown one */
    ERR_FORBIDDEN,    /* 403: a key, but not for this */
    ERR_NOT_FOUND,    /* 404: it makes sense, but the object does not exist */
    ERR_METHOD,       /* 405: the path exists, this method of it does not */
    ERR_CONFLICT,  /* 400: the object is in a state that does not allow it (OpenAI says 400) */
    ERR_TAKEN,     /* 409: another request was first, and did something else */
    ERR_TOO_LARGE, /* 413: larger than a named limit */
    ERR_LIMIT,     /* 429: too much at once; try again later */
    ERR_CANCELLED, /* the caller no longer wants it */
    ERR_TIMEOUT,   /* it took longer than the caller allowed */
    ERR_UPSTREAM,  /* the model, or another service, has failed */
    ERR_STORE,     /* 503: PostgreSQL has failed, or cannot be reached */
    ERR_INTERNAL,  /* 500: this server has failed, which is always a bug */
    ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    const char *api_code; /* static string for the envelope's "code", or NULL */
    char param[96];       /* offending request field, or empty */
    char text[1024];      /* one sentence, no newline */
};

/* Fills in *err (unless err is NULL) and returns `code`, so that a failure is
 * one statement: return err_set(err, ERR_NOT_FOUND, "...", ...); */
enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* As err_set() with ERR_INVALID, naming the request field to blame and the
 * envelope's code. `api_code` is a string literal; `param` is copied and may be NULL. */
enum err_code err_invalid(struct err *err, const char *api_code, const char *param,
                          const char *format, ...) PRINTF_LIKE(4, 5);

/* As err_set() for any code, with the fields of the envelope. */
enum err_code err_set_api(struct err *err, enum err_code code, const char *api_code,
                          const char *param, const char *format, ...) PRINTF_LIKE(5, 6);

/* The HTTP status of a code, and the envelope's "type" for it. */
int err_http_status(enum err_code code);
const char *err_api_type(enum err_code code);

#endif
