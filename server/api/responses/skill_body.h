#ifndef RUNNEL_SERVER_API_RESPONSES_SKILL_BODY_H
#define RUNNEL_SERVER_API_RESPONSES_SKILL_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/tables/skills.h"
#include "server/http/request.h"

/*
 * skill_body.h -- what the endpoints of skills and of their versions have in common.
 */

/* The id in the path. Borrowed from the request. */
enum err_code skill_id_read(const struct request *request, const char **ret_id,
                            struct err *err) MUST_CHECK;

/* The files of a skill: a form, or JSON with the text of SKILL.md. *ret_default is the member `default` of a new
 * version, untouched without it; NULL: the object has no such member. The caller clears the row, also after an
 * error. */
enum err_code skill_body_read(struct request *request, struct skill_row *ret_row,
                              bool *ret_default, struct err *err) MUST_CHECK;

/* The number of a version as a client writes it: a positive integer, also as text. */
enum err_code skill_number_read(const json_t *value, const char *param, int64_t *ret_number,
                                struct err *err) MUST_CHECK;

/* Numbers of versions are shown as text. */
void skill_set_number(json_t *object, const char *key, int64_t number);

#endif
