#ifndef RUNNEL_SERVER_HTTP_PARSE_JSON_NUL_H
#define RUNNEL_SERVER_HTTP_PARSE_JSON_NUL_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * json_nul.h -- names the place at which a JSON text has the character U+0000.
 *
 * No text of this server may have it, because neither C nor PostgreSQL can keep it. json_parse() refuses it
 * without a path, as it refuses what is no JSON at all.
 */

/* For a text that json_parse() has refused. ERR_INVALID if U+0000 is the reason: in a string, with its place
 * ("input[0].content"), or in a key, without one. ERR_OK if the text is wrong in another way. */
enum err_code json_nul_check(const char *text, size_t length, struct err *err) MUST_CHECK;

#endif
