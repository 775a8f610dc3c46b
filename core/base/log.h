#ifndef RUNNEL_CORE_BASE_LOG_H
#define RUNNEL_CORE_BASE_LOG_H

#include <stdbool.h>

#include "core/base/compiler.h"

/*
 * log.h -- the log for the operator: one line for each event, on stderr.
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

/* Lines below this level are dropped. Any thread, at any time. */
void log_set_level(enum log_level level);
/* "debug", "info", "warn", "error", "off". False for any other word. */
bool log_parse_level(const char *word, enum log_level *ret_level);

/* Formats and writes one line. Keeps errno. */
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
