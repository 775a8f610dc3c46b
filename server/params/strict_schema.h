#ifndef RUNNEL_SERVER_PARAMS_STRICT_SCHEMA_H
#define RUNNEL_SERVER_PARAMS_STRICT_SCHEMA_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * strict_schema.h -- what `strict: true` requires of a JSON Schema, with OpenAI's complaints.
 *
 * A model can only be held to a schema in which every object is closed: it lists its properties, requires
 * all of them and allows no other. The first broken rule is reported, with its place:
 *
 *   Invalid schema for function 'f': In context=('properties', 'unit'), 'additionalProperties'
 *   is required to be supplied and to be false.
 *
 * Pure functions: any thread.
 */

/* What a complaint is about: "function 'f'" or "response_format 'x'", with the error's code and param. All
 * borrowed; `api_code` must be static. */
struct schema_subject {
    const char *kind; /* "function", "response_format" */
    const char *name;
    const char *api_code;
    const char *param;
};

/* The parameters of a function must describe an object, strict or not. An empty schema means that it has no
 * parameters. */
enum err_code function_schema_check(const json_t *schema, const struct schema_subject *subject,
                                    struct err *err) MUST_CHECK;

/* All rules of strict mode. */
enum err_code strict_schema_check(const json_t *schema, const struct schema_subject *subject,
                                  struct err *err) MUST_CHECK;

#endif
