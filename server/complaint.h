#ifndef RUNNEL_SERVER_COMPLAINT_H
#define RUNNEL_SERVER_COMPLAINT_H

#include "core/base/err.h"

/*
 * complaint.h -- errors in the terms of OpenAI's API: the envelope's `code`, `param` and `type`, and
 * the HTTP status.
 *
 * An error of the core has a kind, a reason and a sentence. Two tables translate them. Code that reads requests
 * complains with err_invalid() and gives the code itself. No file of the core knows these terms
 * (tests/lint/settings_once.py).
 *
 * Pure functions: any thread. `err` may be NULL where it is filled in.
 */

/* As err_set() with ERR_INVALID, with the envelope's code and the path of the member to blame. `code` must be
 * static; `param` is copied and may be NULL. Returns ERR_INVALID. */
enum err_code err_invalid(struct err *err, const char *code, const char *param,
                          const char *format, ...) PRINTF_LIKE(4, 5);

/* The same for any kind of error. Returns `kind`. */
enum err_code err_set_api(struct err *err, enum err_code kind, const char *code,
                          const char *param, const char *format, ...) PRINTF_LIKE(5, 6);

/* The envelope's "code" and "param"; NULL for null. Borrowed from the error. */
const char *complaint_code(const struct err *err);
const char *complaint_param(const struct err *err);

/* The HTTP status of a kind of error, and the envelope's "type" for it. */
int err_http_status(enum err_code code);
const char *err_api_type(enum err_code code);

#endif
