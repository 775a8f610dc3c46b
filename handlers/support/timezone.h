#ifndef RUNNEL_HANDLERS_SUPPORT_TIMEZONE_H
#define RUNNEL_HANDLERS_SUPPORT_TIMEZONE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * timezone.h -- the offset of a named time zone at a moment.
 *
 * libc can only change the zone of the whole process (TZ), which threads must not do. So the
 * system's compiled zones (RFC 9636) are read here: the table of changes, and for later times the
 * rule in POSIX form, such as "EST5EDT,M3.2.0,M11.1.0".
 *
 * Any thread.
 */

/* Seconds east of UTC in zone `name` ("Europe/Berlin", "UTC") at `time` (seconds since 1970).
 * ERR_INVALID when there is no such zone. */
enum err_code timezone_offset(const char *name, int64_t time, int *ret_offset,
                              struct err *err) MUST_CHECK;

/* The same from the bytes of a compiled zone; for tests and for timezone_offset(). */
enum err_code timezone_offset_in(const uint8_t *data, size_t size, int64_t time,
                                 int *ret_offset) MUST_CHECK;

/* The same from a POSIX rule. */
enum err_code timezone_offset_by_rule(const char *text, int64_t time,
                                      int *ret_offset) MUST_CHECK;

#endif
