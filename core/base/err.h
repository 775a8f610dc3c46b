#ifndef RUNNEL_CORE_BASE_ERR_H
#define RUNNEL_CORE_BASE_ERR_H

#include <stdarg.h>

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
 * A refusal also has a reason (enum err_reason) and a `place`, the member of the request that is wrong,
 * such as "tools[0].type". The codes and HTTP statuses of the APIs are not known here: server/complaint.h
 * has a table of them.
 *
 * Running out of memory is not one of these errors: see mem.h. Any thread; a struct err belongs to its
 * caller.
 */

enum err_code {
    ERR_OK = 0,
    ERR_INVALID,      /* the input makes no sense as it is written */
    ERR_UNAUTHORIZED, /* no key, or an unknown one */
    ERR_FORBIDDEN,    /* a key, but not for this */
    ERR_NOT_FOUND,    /* it makes sense, but the object does not exist */
    ERR_METHOD,       /* the object exists, but does not have this operation */
    ERR_CONFLICT,     /* the object exists, but its state does not allow the operation */
    ERR_TAKEN,        /* another caller was first, and did something else */
    ERR_TOO_LARGE,    /* larger than a named limit */
    ERR_FULL,         /* the disk has no room for it */
    ERR_LIMIT,        /* too much at once; try again later */
    ERR_CANCELLED,    /* the caller no longer wants it */
    ERR_TIMEOUT,      /* it took longer than the caller allowed */
    ERR_UPSTREAM,     /* the model, or another service, failed */
    ERR_STORE,        /* PostgreSQL failed, or is away */
    ERR_INTERNAL,     /* this server failed: this one is always a bug */
    ERR_CODE_COUNT
};

/* What exactly is wrong, for a caller that acts on it or translates it. */
enum err_reason {
    REASON_UNSET, /* the code says everything */

    /* Of a member of the input: */
    REASON_BAD_VALUE,
    REASON_BAD_TYPE,
    REASON_UNKNOWN_MEMBER,
    REASON_MISSING_MEMBER,
    REASON_UNSUPPORTED, /* valid, but this server does not have it */
    REASON_LIST_TOO_LONG,
    REASON_ITEMS_TOO_LARGE, /* the named items, all together */
    REASON_BAD_SEAL,        /* encrypted content that this server has not written */

    /* Of a state: */
    REASON_UNKNOWN_KEY,         /* no such API key */
    REASON_UNKNOWN_PARENT,      /* no such response to continue */
    REASON_KEY_REUSED,          /* an idempotency key, for another request */
    REASON_CONVERSATION_LOCKED, /* a run is at work in it */
    REASON_DECIDED,             /* the approval was answered before */
    REASON_USED,                /* another response has continued with the answer */
    REASON_BUSY,                /* too much at once, here or upstream */
    REASON_NO_MODEL,            /* the upstream does not have this model */
    REASON_STORAGE_FULL,        /* a disk, or the database's, has no room */
    REASON_STORAGE_QUOTA,       /* the project's files have as many bytes as they may */
    REASON_ELSEWHERE,           /* the bytes lie on another node's disk */
    REASON_TOO_MANY_FILES,      /* a vector store has as many as it may */
    REASON_STORE_EXPIRED,       /* of a vector store */
    REASON_SEARCH_TIMEOUT,      /* a search of vector stores took too long */
    REASON_SEARCH_TOO_LARGE,    /* one would see too many chunks */
    REASON_UPLOAD_ENDED,        /* it was completed or cancelled, or has expired */
    REASON_UPLOAD_TOO_LARGE,    /* its parts would have more bytes than it was made for */
    REASON_CONTAINER_ELSEWHERE, /* the folder of a container is on another node */
    REASON_CONTAINER_FULL, /* the folder of a container would have more bytes than it may */
    REASON_SCANNED,        /* a PDF whose pages have no text */
    REASON_SCAN_MODEL,     /* what reads such pages is away */
    REASON_ADDRESS,        /* it is not one of the public internet: core/net/egress.h */
    REASON_COUNT
};

struct err {
    enum err_code code;
    enum err_reason reason;
    /* The API's code for it, if the server or an upstream has set one; a constant, or NULL */
    const char *word;
    char place[96];  /* the member that is wrong, or "" */
    char text[1024]; /* one sentence, no newline */
};

/* Fills in *err (unless err is NULL) and returns `code`, so that a failure is
 * one statement: return err_set(err, ERR_NOT_FOUND, "...", ...); */
enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* As err_set(), with a reason and the member that is wrong (copied; may be NULL). */
enum err_code err_refuse(struct err *err, enum err_code code, enum err_reason reason,
                         const char *place, const char *format, ...) PRINTF_LIKE(5, 6);

/* The same, for functions with variable arguments of their own. */
enum err_code err_fill(struct err *err, enum err_code code, enum err_reason reason,
                       const char *place, const char *format, va_list arguments)
    PRINTF_LIKE(5, 0);

#endif
