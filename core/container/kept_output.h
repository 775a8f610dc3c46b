#ifndef RUNNEL_CORE_CONTAINER_KEPT_OUTPUT_H
#define RUNNEL_CORE_CONTAINER_KEPT_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * kept_output.h -- what is kept of a program's output: its beginning and its end.
 *
 * A program may print for ever. The first half of the limit is kept, and the last half; what is between is dropped and
 * counted, and the program goes on. Memory is one and a half times the limit at most, and is taken as output comes.
 *
 * Figures stand between pieces of text. So places are counted in bytes of all output, and a text is asked for from
 * one place to another:
 *
 *     at = kept.total;                                       when the figure comes
 *     kept_output_text(&kept, 0, at), the figure, kept_output_text(&kept, at, kept.total)
 *
 * One thread at a time.
 */

struct kept_output {
    size_t limit;    /* bytes, at least 2; set it first, the rest is zeros */
    uint64_t total;  /* bytes that came */
    struct buf head; /* the first limit / 2 */
    struct buf tail; /* the last limit / 2, and some before them */
};

void kept_output_add(struct kept_output *kept, const char *bytes, size_t size);

/* The text from one place to another, as UTF-8: what is not becomes U+FFFD, but a character that the cut has divided is
 * left out. Where something was dropped it says so: "\n[... 12345 bytes left out ...]\n". The caller frees it. */
char *kept_output_text(const struct kept_output *kept, uint64_t from, uint64_t to);

/* How many bytes were dropped. */
uint64_t kept_output_dropped(const struct kept_output *kept);

void kept_output_clear(struct kept_output *kept);

#endif
