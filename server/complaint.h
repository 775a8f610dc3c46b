#ifndef RUNNEL_SERVER_COMPLAINT_H
#define RUNNEL_SERVER_COMPLAINT_H

#include "core/base/err.h"

/*
 * complaint.h -- errors in the terms of OpenAI's API: the envelope's `code`, `param` and `type`, and
 * the HTTP status.
 *
 * The core says which kind of error it is, a reason and a sentence. What the API calls that stands in
 * two tables here. Whoever reads a request complains with err_invalid(), which has the code at hand.
 * No file of the core knows these terms (tests/lint/settings_once.py).
 */

/* As err_set() with ERR_INVALID, naming the request field to blame and the
 * envelope's code. `code` is a string literal; `param` is copied and may be NULL. */
enum err_code err_invalid(struct err *err, const char *code, const char *param,
                          const char *format, ...) PRINTF_LIKE(4, 5);

/* The same for any kind of error. */
enum err_code err_set_api(struct err *err, enum err_code kind, const char *code,
                          const char *param, const char *format, ...) PRINTF_LIKE(5, 6);

/* The envelope's "code" and "param"; NULL for null. Borrowed from the error. */
const char *complaint_code(const struct err *err);
const char *complaint_param(const struct err *err);

/* The HTTP status of a kind of error, and the envelope's "type" for it. */
int err_http_status(enum err_code code);
const char *err_api_type(enum err_code code);

#endif
