#ifndef RUNNEL_SERVER_API_RESPONSES_SKILL_BODY_H
#define RUNNEL_SERVER_API_RESPONSES_SKILL_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/tables/skills.h"
#include "server/api/aside.h"
#include "server/http/parse/form.h"
#include "server/http/request.h"

/*
 * skill_body.h -- what the endpoints of skills and of their versions have in common.
 */

/* The id in the path. Borrowed from the request. */
enum err_code skill_id_read(const struct request *request, const char **ret_id,
                            struct err *err) MUST_CHECK;

/* An endpoint that packs or unpacks a zip does so on a file worker, because that takes up to seconds: between the two
 * halves of the request (aside.h). */
struct skill_job {
    struct aside aside;
    struct server *server;
    struct tenant tenant;
    struct form *form; /* of the request, or NULL */
    json_t *body;      /* else its JSON */
    char id[ID_LIMIT + 1];
    int64_t version;
    bool as_text; /* SKILL.md alone is wanted */
    /* On a worker. Leaves an answer: an object, or bytes of this type */
    enum err_code (*run)(struct skill_job *job, struct err *err);
    json_t *answer;
    const char *type; /* a constant */
    char *bytes;
    size_t length;
};

/* Suspends the request, at the end of an endpoint, which returns ERR_OK. Takes the request's body. `id` may be "". */
void skill_job_begin(struct request *request, const char *id, int64_t version,
                     enum err_code (*run)(struct skill_job *job, struct err *err));

/* The files of a skill: a form, or JSON with the text of SKILL.md. *ret_default is the member `default` of a new
 * version, untouched without it; NULL: the object has no such member. The caller clears the row, also after an
 * error. */
enum err_code skill_body_read(const struct skill_job *job, struct skill_row *ret_row,
                              bool *ret_default, struct err *err) MUST_CHECK;

/* The number of a version as a client writes it: a positive integer, also as text. */
enum err_code skill_number_read(const json_t *value, const char *param, int64_t *ret_number,
                                struct err *err) MUST_CHECK;

/* Numbers of versions are shown as text. */
void skill_set_number(json_t *object, const char *key, int64_t number);

#endif
