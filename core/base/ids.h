#ifndef RUNNEL_CORE_BASE_IDS_H
#define RUNNEL_CORE_BASE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ids.h -- ids of objects, as OpenAI spells them: a prefix and 24 letters or digits.
 *
 * The first nine of the 24 are the time in microseconds, in base 62 and ASCII order, and
 * never the same twice in one process; the other fifteen are random (89 bits). So ids are
 * unguessable, yet sort by age under the "C" collation, and neighbours in time are
 * neighbours in the index.
 *
 * Any thread may call.
 */

#define ID_BODY 24
#define ID_SIZE 48 /* prefix, body and NUL of every id that id_make() makes */

/* The longest id that a client may send anywhere. */
#define ID_LIMIT 64

void id_make(char ret_id[ID_SIZE], const char *prefix); /* id_make(id, "run_") */

/* `count` random letters and digits, from the kernel; for keys. ret_text has count + 1 bytes. */
void id_random(char *ret_text, size_t count);

bool id_has_prefix(const char *id, const char *prefix);

/* Clocks of servers are apart by no more than this. */
#define ID_CLOCK_SKEW_US (3600 * INT64_C(1000000))

/* Whether a server of this kind can have made the id: its form, and a time in it that has been. Ids from
 * elsewhere have the same form, but few have such a time. With NULL any prefix will do. */
bool id_time(const char *id, const char *prefix, int64_t *ret_us);

/* What ids of that time begin with, after their prefix. */
#define ID_TIME_SIZE 10
void id_time_digits(char ret_text[ID_TIME_SIZE], int64_t us);

#endif
