#ifndef RUNNEL_SERVER_PARAMS_STRICT_SCHEMA_H
#define RUNNEL_SERVER_PARAMS_STRICT_SCHEMA_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * strict_schema.h -- what strict:true asks of a JSON Schema, with OpenAI's complaints.
 *
 * A model can only be held to a schema in which every object is closed: it lists its properties,
 * requires all of them and allows no other. One rule that is broken is reported, with the place:
 *
 *   Invalid schema for function 'f': In context=('properties', 'unit'), 'additionalProperties'
 *   is required to be supplied and to be false.
 *
 * Pure functions.
 */

/* How complaints are worded: "function 'f'" or "response_format 'x'", with the envelope's code
 * and param. */
struct schema_subject {
    const char *kind; /* "function" */
    const char *name;
    const char *api_code;
    const char *param;
};

/* The parameters of a function must describe an object, strict or not. A schema without any
 * keys is fine: no parameters. */
enum err_code function_schema_check(const json_t *schema, const struct schema_subject *subject,
                                    struct err *err) MUST_CHECK;

enum err_code strict_schema_check(const json_t *schema, const struct schema_subject *subject,
                                  struct err *err) MUST_CHECK;

#endif
