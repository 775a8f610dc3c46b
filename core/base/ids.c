/*
 * ids.c -- ids that sort by age and cannot be guessed.
 *
 * An id is the time and randomness in one text. Random ids alone (UUID 4) would scatter new rows over the
 * whole index, and every insert would touch another page. A counter alone would say how many objects other
 * clients make, and ids of one project could be tried in another.
 *
 * The microsecond is made unique in the process by taking the next free one, so two ids of one process are
 * never equal in time and their order is the order in which they were made. Two nodes may use the same
 * microsecond; the random part keeps their ids apart.
 *
 * Randomness comes from the kernel. A generator in the process would have to be seeded, locked, and
 * protected after a fork.
 */

#include "core/base/ids.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/clock.h"

#define TIME_DIGITS (ID_TIME_SIZE - 1)

/* No id is older: 2025 in microseconds. */
#define FIRST_TIME_US (1735689600 * INT64_C(1000000))

/* In ASCII order, so that ids compare like their times. */
static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* The next microsecond that no id of this process has yet. */
static uint64_t next_moment(void)
{
    static _Atomic uint64_t latest;
    uint64_t now = (uint64_t)clock_wall_us();
    uint64_t before = atomic_load_explicit(&latest, memory_order_relaxed);
    uint64_t mine;

    do
        mine = now > before ? now : before + 1;
    while (!atomic_compare_exchange_weak(&latest, &before, mine));
    return mine;
}

static void fill_random(unsigned char *bytes, size_t count)
{
    while (count) {
        ssize_t got = getrandom(bytes, count, 0);

        if (got < 0)
            continue; /* only EINTR can happen */
        bytes += got;
        count -= (size_t)got;
    }
}

void id_random(char *ret_text, size_t count)
{
    unsigned char bytes[64];
    size_t have = 0;
    size_t made = 0;

    while (made < count) {
        if (!have) {
            fill_random(bytes, sizeof(bytes));
            have = sizeof(bytes);
        }
        /* 248 is the largest multiple of 62 in a byte: above it, letters would be unequal. */
        unsigned char byte = bytes[--have];

        if (byte < 248)
            ret_text[made++] = digits[byte % 62];
    }
    ret_text[count] = '\0';
}

void id_time_digits(char ret_text[ID_TIME_SIZE], int64_t us)
{
    uint64_t moment = (uint64_t)us;

    for (size_t i = TIME_DIGITS; i-- > 0; moment /= 62)
        ret_text[i] = digits[moment % 62];
    ret_text[TIME_DIGITS] = '\0';
}

void id_make(char ret_id[ID_SIZE], const char *prefix)
{
    size_t length = strlen(prefix);
    char *body = ret_id + length;

    memcpy(ret_id, prefix, length);
    id_time_digits(body, (int64_t)next_moment());
    id_random(body + TIME_DIGITS, ID_BODY - TIME_DIGITS);
}

bool id_has_prefix(const char *id, const char *prefix)
{
    return strncmp(id, prefix, strlen(prefix)) == 0;
}

/* The body behind the prefix, or NULL. */
static const char *body_of(const char *id, const char *prefix)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz";
    size_t length = prefix ? strlen(prefix) : strspn(id, small) + 1;

    if (prefix ? !id_has_prefix(id, prefix) : length == 1 || id[length - 1] != '_')
        return NULL;
    return strlen(id + length) == ID_BODY && strspn(id + length, digits) == ID_BODY
               ? id + length
               : NULL;
}

bool id_time(const char *id, const char *prefix, int64_t *ret_us)
{
    const char *body = body_of(id, prefix);
    int64_t us = 0;

    if (!body)
        return false;
    for (size_t i = 0; i < TIME_DIGITS; i++)
        us = us * 62 + (strchr(digits, body[i]) - digits);
    if (us < FIRST_TIME_US || us > clock_wall_us() + ID_CLOCK_SKEW_US)
        return false;
    *ret_us = us;
    return true;
}
