#ifndef RUNNEL_SERVER_HTTP_PARSE_URI_H
#define RUNNEL_SERVER_HTTP_PARSE_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * uri.h -- the target of a request, taken apart and decoded once.
 *
 * Segments are split before they are decoded, so that an encoded slash inside an id never
 * becomes a boundary. A target that decodes to a control character or to bytes that are not
 * UTF-8 is refused, above all %00: it would end a string early.
 */

#define URI_LENGTH_LIMIT  ((size_t)4096)
#define URI_SEGMENT_LIMIT 16
#define URI_QUERY_LIMIT   64

struct uri_parameter {
    const char *name;
    const char *value;
};

struct uri {
    char *memory; /* everything below points into it */
    char *joined; /* made by uri_rest() */
    size_t segment_count;
    const char *segments[URI_SEGMENT_LIMIT];
    size_t query_count;
    struct uri_parameter *query; /* NULL without parameters */
};

/* `target` is from the request line: "/path?query". ERR_INVALID or ERR_TOO_LARGE. */
enum err_code uri_parse(const char *target, struct uri *ret_uri, struct err *err) MUST_CHECK;
void uri_clear(struct uri *uri);

/* The segments from `first` on, joined by slashes. The text lives as long as the uri. */
const char *uri_rest(struct uri *uri, size_t first);

/* The name of query parameter number n, as it was given; NULL behind the last. */
const char *uri_query_name(const struct uri *uri, size_t n);

/* The first query parameter of that name, or NULL. */
const char *uri_query(const struct uri *uri, const char *name);

/* The value of each `name` or `name[]`, one after another, then NULL. *at starts as 0. */
const char *uri_query_next(const struct uri *uri, const char *name, size_t *at);

/* True if `name` or `name[]` is given with this value. */
bool uri_query_has(const struct uri *uri, const char *name, const char *value);

#endif
