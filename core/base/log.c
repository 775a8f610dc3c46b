/*
 * log.c -- makes a line in memory and writes it with one call.
 *
 * One write() for each line keeps lines of several threads apart, and also those of several processes that
 * share a pipe. stdio would need a lock of its own and could write half a line when its buffer is full.
 *
 * Messages quote text of strangers. On a terminal control characters could move the cursor or hide a line,
 * so they are escaped. In JSON lines they are escaped anyway. A message is cut at MESSAGE_LIMIT, because
 * the length of a line must not depend on a client.
 *
 * Logging never fails for its caller and leaves errno as it was, so a log line can stand between a system
 * call and the code that looks at its error.
 */

#include "core/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

/* Bytes of one message. */
#define MESSAGE_LIMIT 4096

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn",
    [LOG_ERROR] = "error", [LOG_OFF] = "off",
};

static _Atomic int threshold = LOG_INFO;
static struct lock one_line = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = LOCK_LOG};

void log_set_level(enum log_level level)
{
    atomic_store(&threshold, (int)level);
}

bool log_parse_level(const char *word, enum log_level *ret_level)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++) {
        if (strcmp(word, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

static void add_time(struct buf *line)
{
    int64_t now = clock_wall_us();
    time_t seconds = (time_t)(now / US_PER_SECOND);
    struct tm utc;
    char text[32];

    gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    buf_addf(line, "%s.%03dZ", text, (int)(now % US_PER_SECOND / 1000));
}

/* This program writes no control characters, so those in a message come from outside. */
static void add_for_terminal(struct buf *line, const char *message)
{
    for (; *message; message++) {
        if ((unsigned char)*message < ' ' || *message == 0x7F)
            buf_addf(line, "\\x%02x", (unsigned)(unsigned char)*message);
        else
            buf_add_char(line, *message);
    }
}

static void add_text_line(struct buf *line, enum log_level level, const char *message)
{
    add_time(line);
    buf_addf(line, " %-5s ", level_names[level]);
    add_for_terminal(line, message);
    buf_add_char(line, '\n');
}

static void add_json_line(struct buf *line, enum log_level level, const char *message)
{
    buf_add_text(line, "{\"time\":\"");
    add_time(line);
    buf_addf(line, "\",\"level\":\"%s\",\"message\":\"", level_names[level]);
    buf_add_json_escaped(line, message, strlen(message));
    buf_add_text(line, "\"}\n");
}

/* A line that cannot be written is lost: there is no other place to report that. */
static void write_all(const char *bytes, size_t size)
{
    while (size) {
        ssize_t done = write(STDERR_FILENO, bytes, size);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return;
        bytes += done;
        size -= (size_t)done;
    }
}

PRINTF_LIKE(1, 0)
static char *message_text(const char *format, va_list arguments)
{
    char text[MESSAGE_LIMIT];

    if (vsnprintf(text, sizeof(text), format, arguments) < 0)
        text[0] = '\0';
    return json_clean_utf8(text, strlen(text));
}

void log_line(enum log_level level, const char *format, ...)
{
    int error_before = errno;
    va_list arguments;

    if ((int)level < atomic_load_explicit(&threshold, memory_order_relaxed) || level >= LOG_OFF)
        return;
    va_start(arguments, format);
    AUTO_FREE char *message = message_text(format, arguments);
    va_end(arguments);
    AUTO_BUF line = {0};

    if (isatty(STDERR_FILENO))
        add_text_line(&line, level, message);
    else
        add_json_line(&line, level, message);
    lock_acquire(&one_line);
    write_all(line.data, line.length);
    lock_release(&one_line);
    errno = error_before;
}
