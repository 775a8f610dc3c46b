/*
 * timezone.c -- reads compiled time zones (TZif, RFC 9636) and POSIX rules.
 *
 *   name ─▶ /usr/share/zoneinfo/<name> ─▶ table of changes ─▶ the last change before the time
 *                                          └─ after the last change: the rule in the footer
 *
 * localtime_r() knows one zone, that of the process. Setting TZ for a call would change it for all threads
 * while they run. tzalloc() would be the right function, and glibc does not have it.
 *
 * A file has its data twice: with 32-bit times for old readers, then with 64-bit times. The first block is
 * only measured, to find the second.
 *
 * The data is the system's, but its path comes from a model. A name is checked before it becomes a path,
 * only regular files of a limited size are read, and every table is checked against the size of the file.
 */

#include "handlers/support/timezone.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONES      "/usr/share/zoneinfo"
#define NAME_LIMIT 64
#define SIZE_LIMIT ((size_t)64 << 10) /* the largest zone has 4 KiB */
#define RULE_LIMIT 128

#define MINUTE 60
#define HOUR   3600
#define DAY    ((int64_t)86400)

/* ---- calendar ---- */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970-01-01 to the first of January of `year`. */
static int64_t days_to_year(int64_t year)
{
    int64_t before = year - 1;

    return 365 * (year - 1970) + (before / 4 - before / 100 + before / 400) -
           (1969 / 4 - 1969 / 100 + 1969 / 400);
}

static int64_t year_of(int64_t time)
{
    int64_t year = 1970 + time / (int64_t)(365.2425 * (double)DAY);

    while (days_to_year(year) * DAY > time)
        year--;
    while (days_to_year(year + 1) * DAY <= time)
        year++;
    return year;
}

static const int month_starts[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

static int64_t days_to_month(int64_t year, int month)
{
    return days_to_year(year) + month_starts[month - 1] + (month > 2 && is_leap(year));
}

/* ---- POSIX rules ---- */

/* When the clocks change in a year, in local time. */
struct change {
    char kind; /* 'M': month, week, weekday; 'J': day without leap days; 'D': day from 0 */
    int month, week, day;
    int seconds; /* after midnight, may be negative or beyond the day */
};

struct rule {
    int standard, summer; /* seconds east of UTC */
    bool has_summer;
    struct change to_summer, to_standard;
};

static bool read_number(const char **at, int limit, int *ret_number)
{
    int number = 0;

    if (!isdigit((unsigned char)**at))
        return false;
    while (isdigit((unsigned char)**at)) {
        number = number * 10 + (*(*at)++ - '0');
        if (number > limit)
            return false;
    }
    *ret_number = number;
    return true;
}

static bool skip(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* "EST" or "<+03>". */
static bool skip_name(const char **at)
{
    const char *start = *at;

    if (skip(at, '<')) {
        *at += strcspn(*at, ">");
        return skip(at, '>');
    }
    while (isalpha((unsigned char)**at))
        (*at)++;
    return *at - start >= 3;
}

/* "5", "-3:30", "+1:02:03" in seconds. */
static bool read_time(const char **at, int *ret_seconds)
{
    int sign = skip(at, '-') ? -1 : 1;
    int hours, minutes = 0, seconds = 0;

    (void)skip(at, '+');
    if (!read_number(at, 167, &hours))
        return false;
    if (skip(at, ':') && !read_number(at, 59, &minutes))
        return false;
    if (skip(at, ':') && !read_number(at, 59, &seconds))
        return false;
    *ret_seconds = sign * (hours * HOUR + minutes * MINUTE + seconds);
    return true;
}

static bool read_month(const char **at, struct change *change)
{
    return read_number(at, 12, &change->month) && change->month > 0 && skip(at, '.') &&
           read_number(at, 5, &change->week) && change->week > 0 && skip(at, '.') &&
           read_number(at, 6, &change->day);
}

/* ",M3.2.0/1", ",J60", ",59". */
static bool read_change(const char **at, struct change *change)
{
    bool good;

    change->seconds = 2 * HOUR;
    if (!skip(at, ','))
        return false;
    if (skip(at, 'M')) {
        change->kind = 'M';
        good = read_month(at, change);
    } else {
        change->kind = skip(at, 'J') ? 'J' : 'D';
        good = read_number(at, 365, &change->day);
    }
    return good && (!skip(at, '/') || read_time(at, &change->seconds));
}

static bool read_rule(const char *text, struct rule *rule)
{
    int west;

    if (!skip_name(&text) || !read_time(&text, &west))
        return false;
    rule->standard = -west;
    rule->has_summer = *text != '\0';
    if (!rule->has_summer)
        return true;

    if (!skip_name(&text))
        return false;
    rule->summer = rule->standard + HOUR;
    if (*text && *text != ',') {
        if (!read_time(&text, &west))
            return false;
        rule->summer = -west;
    }
    return read_change(&text, &rule->to_summer) && read_change(&text, &rule->to_standard) &&
           !*text;
}

/* The day on which the clocks change, counted from 1970. */
static int64_t change_day(const struct change *change, int64_t year)
{
    int64_t first, next, day;

    if (change->kind == 'D')
        return days_to_year(year) + change->day;
    if (change->kind == 'J')
        return days_to_year(year) + change->day - 1 + (change->day > 59 && is_leap(year));

    first = days_to_month(year, change->month);
    next =
        change->month == 12 ? days_to_year(year + 1) : days_to_month(year, change->month + 1);
    /* 1970-01-01 was a Thursday, day 4 of its week. */
    day = first + (change->day - (first + 4) % 7 + 7) % 7 + (int64_t)7 * (change->week - 1);
    return day < next ? day : day - 7; /* week 5 is the last of the month */
}

static int64_t change_time(const struct change *change, int64_t year, int offset)
{
    return change_day(change, year) * DAY + change->seconds - offset;
}

enum err_code timezone_offset_by_rule(const char *text, int64_t time, int *ret_offset)
{
    struct rule rule = {.has_summer = false};
    int64_t year, begin, end;
    bool summer;

    if (!read_rule(text, &rule))
        return ERR_INVALID;
    *ret_offset = rule.standard;
    if (!rule.has_summer)
        return ERR_OK;

    year = year_of(time + rule.standard);
    begin = change_time(&rule.to_summer, year, rule.standard);
    end = change_time(&rule.to_standard, year, rule.summer);
    /* South of the equator the year begins in summer time. */
    summer = begin < end ? time >= begin && time < end : time >= begin || time < end;
    if (summer)
        *ret_offset = rule.summer;
    return ERR_OK;
}

/* ---- compiled zones ---- */

#define HEADER_SIZE 44

/* The sizes of what follows a header. */
struct tables {
    uint32_t is_ut, is_std, leaps, times, types, chars;
};

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_i64(const uint8_t *at)
{
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

static bool read_header(const uint8_t *data, size_t size, struct tables *tables)
{
    if (size < HEADER_SIZE || memcmp(data, "TZif", 4) != 0)
        return false;
    *tables = (struct tables){read_u32(data + 20), read_u32(data + 24), read_u32(data + 28),
                              read_u32(data + 32), read_u32(data + 36), read_u32(data + 40)};
    return tables->is_ut < SIZE_LIMIT && tables->is_std < SIZE_LIMIT &&
           tables->leaps < SIZE_LIMIT && tables->times < SIZE_LIMIT &&
           tables->types < SIZE_LIMIT && tables->chars < SIZE_LIMIT;
}

static size_t tables_size(const struct tables *tables, size_t time_size)
{
    return tables->times * (time_size + 1) + tables->types * (size_t)6 + tables->chars +
           tables->leaps * (time_size + 4) + tables->is_std + tables->is_ut;
}

/* The offset by the rule between two newlines after the tables. */
static enum err_code offset_by_footer(const uint8_t *footer, size_t size, int64_t time,
                                      int *ret_offset)
{
    char rule[RULE_LIMIT];
    const uint8_t *end;
    size_t length;

    if (size < 2 || footer[0] != '\n')
        return ERR_INVALID;
    end = memchr(footer + 1, '\n', size - 1);
    length = end ? (size_t)(end - footer) - 1 : 0;
    if (!length || length >= sizeof(rule))
        return ERR_INVALID;
    memcpy(rule, footer + 1, length);
    rule[length] = '\0';
    return timezone_offset_by_rule(rule, time, ret_offset);
}

/* The number of changes at or before `time`. */
static size_t changes_before(const uint8_t *times, size_t count, int64_t time)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (read_i64(times + middle * 8) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum err_code offset_of_type(const uint8_t *types, size_t count, size_t type,
                                    int *ret_offset)
{
    if (type >= count)
        return ERR_INVALID;
    *ret_offset = (int)(int32_t)read_u32(types + type * 6);
    return ERR_OK;
}

enum err_code timezone_offset_in(const uint8_t *data, size_t size, int64_t time,
                                 int *ret_offset)
{
    struct tables tables;
    const uint8_t *types;
    size_t passed;

    /* The first block has 32-bit times, for old readers. */
    if (!read_header(data, size, &tables) || data[4] < '2' ||
        tables_size(&tables, 4) > size - HEADER_SIZE)
        return ERR_INVALID;
    size -= HEADER_SIZE + tables_size(&tables, 4);
    data += HEADER_SIZE + tables_size(&tables, 4);
    if (!read_header(data, size, &tables) || tables_size(&tables, 8) > size - HEADER_SIZE)
        return ERR_INVALID;
    size -= HEADER_SIZE + tables_size(&tables, 8);
    data += HEADER_SIZE;

    types = data + tables.times * (size_t)9;
    passed = changes_before(data, tables.times, time);
    if (passed == tables.times &&
        offset_by_footer(data + tables_size(&tables, 8), size, time, ret_offset) == ERR_OK)
        return ERR_OK;
    return offset_of_type(types, tables.types,
                          passed ? data[tables.times * (size_t)8 + passed - 1] : 0, ret_offset);
}

/* ---- zones by name ---- */

/* A name must stay inside the directory of zones. "right/" counts leap seconds, which clocks do not. */
static bool is_name(const char *name)
{
    size_t length = strlen(name);

    if (!length || length > NAME_LIMIT || !isalpha((unsigned char)name[0]))
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_+-/", *c))
            return false;
    return strncmp(name, "right/", 6) != 0;
}

/* Reads a regular file that is not too large; returns the number of bytes, or 0. */
static size_t read_zone(const char *path, uint8_t *ret_data, size_t limit)
{
    struct stat status;
    size_t size = 0;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        while (size < limit && (got = read(fd, ret_data + size, limit - size)) > 0)
            size += (size_t)got;
    close(fd);
    return got == 0 ? size : 0;
}

enum err_code timezone_offset(const char *name, int64_t time, int *ret_offset, struct err *err)
{
    char path[sizeof(ZONES) + NAME_LIMIT + 2];
    uint8_t data[SIZE_LIMIT];
    size_t size = 0;

    if (strcmp(name, "UTC") == 0 || strcmp(name, "GMT") == 0) {
        *ret_offset = 0;
        return ERR_OK;
    }
    if (is_name(name)) {
        (void)snprintf(path, sizeof(path), ZONES "/%s", name);
        size = read_zone(path, data, sizeof(data));
    }
    if (timezone_offset_in(data, size, time, ret_offset))
        return err_set(err, ERR_INVALID,
                       "no such time zone: %s (use an IANA name such as Europe/Berlin)", name);
    return ERR_OK;
}
