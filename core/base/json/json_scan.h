#ifndef RUNNEL_CORE_BASE_JSON_JSON_SCAN_H
#define RUNNEL_CORE_BASE_JSON_JSON_SCAN_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * json_scan.h -- bounds what a text would cost to parse as JSON, before it is parsed.
 *
 * One pass that allocates nothing. It knows strings, brackets and separators, just enough
 * to bound what jansson will do with the text. Whether it is JSON at all is for jansson to decide.
 */

/* ERR_TOO_LARGE when the text nests deeper than JSON_DEPTH_LIMIT or holds more than
 * JSON_TOKEN_LIMIT values and keys. */
enum err_code json_scan(const char *text, size_t length, struct err *err) MUST_CHECK;

#endif
