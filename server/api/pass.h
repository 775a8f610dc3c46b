#ifndef RUNNEL_SERVER_API_PASS_H
#define RUNNEL_SERVER_API_PASS_H

#include <jansson.h>

#include "core/base/spool.h"
#include "core/model/model.h"
#include "server/http/request.h"

/*
 * pass.h -- what the two kinds of requests that are passed through share: pass_through.c has those of
 * JSON and the way to the upstream and back, pass_form.c reads forms.
 */

/* The upstream of the body's member `model`, or of the model that OpenAI takes for this path. */
enum err_code pass_find_upstream(const struct request *request, const json_t *body,
                                 const struct model_upstream **ret_upstream,
                                 struct err *err) MUST_CHECK;

/* What is sent instead of the body that the client has sent. */
struct pass_body {
    char *bytes; /* NULL: the client's */
    size_t length;
    void (*sent)(void *arg); /* called once it is no longer in memory; or NULL */
    void *sent_arg;
};

/* Suspends the request and sends the body, which it takes, also if it fails. The last thing that an endpoint does. */
enum err_code pass_bytes(struct request *request, const struct model_upstream *upstream,
                         const struct pass_body *body, struct err *err) MUST_CHECK;

/* Suspends the request and sends the form, which it takes, with the Content-Type of the request. The last
 * thing that an endpoint does. */
void pass_form(struct request *request, const struct model_upstream *upstream,
               struct spool *form);

#endif
