#ifndef RUNNEL_SERVER_API_UPSTREAM_CALL_H
#define RUNNEL_SERVER_API_UPSTREAM_CALL_H

#include <stddef.h>

#include "core/model/model.h"
#include "core/net/http_client.h"
#include "core/net/loop.h"

/*
 * upstream_call.h -- a plain request to an upstream, with the upstream's URL and key.
 *
 * For endpoints that pass something through. Turns of a run use core/model, which understands the
 * answer.
 */

struct upstream_call {
    const struct model_upstream *upstream;
    const char *method;
    const char *path; /* appended to the upstream's URL: "/models" */
    char *body;       /* JSON; taken; NULL for no body */
    size_t body_length;
    void (*sent)(void *arg); /* called once the body is no longer in memory; or NULL */
    void *sent_arg;
    struct spool *spool;           /* instead of `body`; taken */
    const char *type;              /* its Content-Type */
    struct http_timeouts timeouts; /* nanoseconds */
    /* The callbacks of http_client.h: on the loop, none after a cancel. */
    void (*on_head)(void *arg, const struct http_head *head);
    void (*on_data)(void *arg, const char *bytes, size_t size);
    void (*on_done)(void *arg, enum err_code rc, const struct err *error);
    void *arg;
};

/* On the loop. As http_call_start(): the call lives until on_done or http_call_cancel(). Everything
 * except the body is borrowed for this call only. */
struct http_call *upstream_call_start(struct loop *loop, const struct upstream_call *call);

#endif
