#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_PROMPT_TEMPLATE_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_PROMPT_TEMPLATE_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * prompt_template.h -- prompt templates: what one may contain, and how it is applied to a request.
 *
 * A template is a JSON object. It has instructions and messages (`input`), in which {{name}} is a variable,
 * and parameters of a response, such as model and tools. A parameter of the request wins over the
 * template's. The value of a variable is a text. In a message of the user, developer or system it may also
 * be a picture or a file.
 *
 * Instructions and messages become the `instructions` of the response. The model sees them before everything
 * else, and the next response of the chain does not inherit them.
 *
 * Pure functions, apart from fresh ids: any thread.
 */

#define PROMPT_MESSAGE_LIMIT   ((size_t)100)
#define PROMPT_NAME_LIMIT      ((size_t)256)     /* characters */
#define PROMPT_VARIABLE_LIMIT  ((size_t)100)     /* of a template, and of a request */
#define PROMPT_VARIABLE_LENGTH ((size_t)64)      /* bytes of a variable's name */
#define PROMPT_SIZE_LIMIT      ((size_t)1048576) /* bytes of a template: a page lists 100 of them */
#define PROMPT_TEXT_LIMIT \
    ((size_t)10485760) /* bytes of a template with its variables filled in */

/* The keys that a template may have; ends with NULL. */
extern const char *const prompt_template_keys[];

/* Checks the body of a new version and makes the template that is stored. New reference. */
enum err_code prompt_template_parse(const json_t *body, json_t **ret_template,
                                    struct err *err) MUST_CHECK;

/* The names of a template's variables, in order of appearance. New reference. */
json_t *prompt_template_variables(const json_t *template);

/* Checks `prompt` of a request, without looking for the template. */
enum err_code prompt_param_check(const json_t *body, struct err *err) MUST_CHECK;

/* The number of the version that a request names; NULL means the newest. A text that is no number is
 * ERR_NOT_FOUND, like a version that does not exist. */
enum err_code prompt_version_parse(const char *prompt_id, const char *version, int *ret_version,
                                   struct err *err) MUST_CHECK;

/* Makes an ordinary request of `body` and the template. ERR_INVALID unless the request gives exactly the
 * template's variables. *ret_body is a new reference that shares values with both. */
enum err_code prompt_apply(const json_t *template, int version, const json_t *body,
                           json_t **ret_body, struct err *err) MUST_CHECK;

#endif
