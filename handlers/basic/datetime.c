/*
 * datetime -- what time it is, here or elsewhere.
 *
 * A model has no clock. Without arguments the answer is ISO 8601 in UTC. With a time zone it is
 * local time with offset and zone. With a format it is the text of the format.
 *
 * This is also the handler to read first. A file has a schema, some functions, and at its end the
 * descriptor, which handlers.h lists. run() reads arguments that were checked against the schema, returns
 * an error that helps the model, or adds text to the result.
 *
 * The format has six tokens and no escapes. strftime() would be the usual choice, but models write
 * "YYYY-MM-DD" far more reliably than "%Y-%m-%d", and a stranger's format stays away from a C library.
 */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "handlers/handlers.h"
#include "handlers/support/timezone.h"

#define FORMAT_LIMIT ((size_t)1000)

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"properties\": {"
    "  \"format\": {\"type\": \"string\", \"maxLength\": 1000,"
    "   \"description\": \"Which parts to show and how, from YYYY, MM, DD, HH, mm and ss, e.g."
    " 'DD.MM.YYYY HH:mm'. Left out: ISO 8601.\"},"
    "  \"timezone\": {\"type\": \"string\","
    "   \"description\": \"IANA name of a time zone, e.g. Europe/Berlin. Left out: UTC.\"}}}";

struct moment {
    struct tm local;
    int milliseconds;
    int offset; /* seconds east of UTC */
};

static enum err_code moment_now(const char *zone, struct moment *ret_moment, struct err *err)
{
    int64_t now_us = clock_wall_us();
    struct moment moment = {.milliseconds = (int)(now_us % US_PER_SECOND / 1000)};
    time_t seconds = (time_t)(now_us / US_PER_SECOND);

    if (zone) {
        enum err_code rc = timezone_offset(zone, seconds, &moment.offset, err);

        if (rc)
            return rc;
    }
    seconds += moment.offset;
    gmtime_r(&seconds, &moment.local);
    *ret_moment = moment;
    return ERR_OK;
}

static void add_utc(struct buf *buf, const struct moment *moment)
{
    char text[64];

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &moment->local);
    buf_addf(buf, "%s.%03dZ", text, moment->milliseconds);
}

static void add_local(struct buf *buf, const struct moment *moment, const char *zone)
{
    int minutes = (moment->offset < 0 ? -moment->offset : moment->offset) / 60;
    char text[64];

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &moment->local);
    buf_addf(buf, "%s%c%02d:%02d (%s)", text, moment->offset < 0 ? '-' : '+', minutes / 60,
             minutes % 60, zone);
}

/* Each token becomes as many digits as it has letters. A second occurrence stays text: "MM/MM" is
 * rather a mistake than the month twice. */
static const char *const tokens[] = {"YYYY", "MM", "DD", "HH", "mm", "ss"};

static void add_formatted(struct buf *buf, const struct moment *moment, const char *format)
{
    const struct tm *local = &moment->local;
    const int values[] = {local->tm_year + 1900, local->tm_mon + 1, local->tm_mday,
                          local->tm_hour,        local->tm_min,     local->tm_sec};
    bool used[COUNT_OF(tokens)] = {false};

    while (*format) {
        size_t i = 0;

        while (i < COUNT_OF(tokens) &&
               (used[i] || strncmp(format, tokens[i], strlen(tokens[i])) != 0))
            i++;
        if (i < COUNT_OF(tokens)) {
            buf_addf(buf, "%0*d", (int)strlen(tokens[i]), values[i]);
            format += strlen(tokens[i]);
            used[i] = true;
        } else {
            buf_add_char(buf, *format++);
        }
    }
}

static enum err_code datetime(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    const char *format = json_get_string(tool_call_args(call), "format", NULL);
    const char *zone = json_get_string(tool_call_args(call), "timezone", NULL);
    AUTO_BUF text = {0};
    struct moment moment;
    enum err_code rc;

    if (format && strlen(format) > FORMAT_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "format is longer than %zu bytes", FORMAT_LIMIT);
    rc = moment_now(zone, &moment, err);
    if (rc)
        return rc;
    if (format)
        add_formatted(&text, &moment, format);
    else if (zone)
        add_local(&text, &moment, zone);
    else
        add_utc(&text, &moment);
    tool_result_add_bytes(ret_result, text.data ? text.data : "", text.length);
    return ERR_OK;
}

const struct tool_handler datetime_handler = {
    .name = "datetime",
    .group = "basic",
    .description = "Tells the current date and time. Call this first for anything that depends "
                   "on what day or time it is.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .run = datetime,
    .returns = {"string", "ISO 8601, or as `format` says"},
    .tags = (const char *const[]){"time", NULL},
};
