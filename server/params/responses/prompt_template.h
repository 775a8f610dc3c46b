#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_PROMPT_TEMPLATE_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_PROMPT_TEMPLATE_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * prompt_template.h -- prompt templates: what may be in one, and what becomes of a request with one.
 *
 * A template is a JSON object: instructions and messages (`input`) in which {{name}} is a variable,
 * and parameters of a response, such as model and tools. What the request says itself wins. A
 * variable's value is text, or, where a whole part of a message is made of it, a picture or a file.
 *
 * Instructions and messages stand in front of everything else that the model sees, and are not
 * carried along a chain: they become the response's `instructions`.
 *
 * Pure functions: any thread.
 */

#define PROMPT_MESSAGE_LIMIT   ((size_t)100)
#define PROMPT_NAME_LIMIT      ((size_t)256)
#define PROMPT_VARIABLE_LIMIT  ((size_t)100) /* of a template, and of a request */
#define PROMPT_VARIABLE_LENGTH ((size_t)64)
#define PROMPT_SIZE_LIMIT      ((size_t)1048576) /* bytes of a template: a page has 100 of them */
#define PROMPT_TEXT_LIMIT      ((size_t)10485760) /* bytes, with the variables in their places */

/* The keys that a template may have; ends with NULL. */
extern const char *const prompt_template_keys[];

/* The template in a body, checked and completed. The caller owns *ret_template. */
enum err_code prompt_template_parse(const json_t *body, json_t **ret_template,
                                    struct err *err) MUST_CHECK;

/* The names of its variables, in order of appearance. New reference. */
json_t *prompt_template_variables(const json_t *template);

/* `prompt` of a request: its shape, not its existence. */
enum err_code prompt_param_check(const json_t *body, struct err *err) MUST_CHECK;

/* A version as a request names it; NULL means the newest. What is no number is ERR_NOT_FOUND, as what
 * there is none of. */
enum err_code prompt_version_parse(const char *prompt_id, const char *version, int *ret_version,
                                   struct err *err) MUST_CHECK;

/* The request with the template in it. Every variable of the template must be given, and no other.
 * The caller owns *ret_body. */
enum err_code prompt_apply(const json_t *template, int version, const json_t *body,
                           json_t **ret_body, struct err *err) MUST_CHECK;

#endif
