#ifndef RUNNEL_SERVER_HTTP_PARSE_HEADER_PARAM_H
#define RUNNEL_SERVER_HTTP_PARSE_HEADER_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * header_param.h -- the parameters of a header's value: `; name="a b"; charset=utf-8`.
 *
 * The grammar is that of RFC 9110, section 5.6.6: name=value, separated by semicolons, where a value is
 * a token or a quoted string. A plain value may have characters that would need quotes (= : / and the
 * like), because clients send boundaries without them. Pure functions.
 */

struct header_param {
    const char *name; /* inside the text, `name_length` long; a token */
    size_t name_length;
    const char *value; /* without the quotes, but still with its backslashes */
    size_t value_length;
    bool quoted;
};

/* Where the parameters begin: behind "multipart/form-data" and the blanks that follow. */
const char *header_params(const char *value);

/* The next parameter at *at, which moves behind it. False: no more; then *at is at the end of the
 * text, or at what is no parameter. */
bool header_param_next(const char **at, struct header_param *ret_param);

/* Upper and lower case are the same. */
bool header_param_is(const struct header_param *param, const char *name);

#endif
