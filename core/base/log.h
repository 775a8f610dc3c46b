#ifndef RUNNEL_CORE_BASE_LOG_H
#define RUNNEL_CORE_BASE_LOG_H

#include <stdbool.h>

#include "core/base/compiler.h"

/*
 * log.h -- what the operator reads: one line per event, on stderr.
 *
 * JSON lines, or plain text when stderr is a terminal. Any thread may call. Never log
 * request bodies, keys or connection strings.
 */

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR,
    LOG_OFF,
};

void log_set_level(enum log_level level);
bool log_parse_level(const char *word, enum log_level *ret_level);

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
