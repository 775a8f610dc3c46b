#ifndef RUNNEL_CORE_INGEST_HISTOGRAM_H
#define RUNNEL_CORE_INGEST_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * histogram.h -- how long things took: how many took at most so long, and all of them together.
 *
 * The bounds are the same for all histograms, from milliseconds to minutes. It starts as zeros, lives as long as what
 * it counts, and has no lock: a reader may see an entry in its bucket and not yet in the sum.
 *
 * Any thread.
 */

#define HISTOGRAM_BOUNDS 14

extern const double histogram_bounds[HISTOGRAM_BOUNDS]; /* seconds, rising */

struct histogram {
    /* Up to each bound and beyond the one before it; the last: the rest */
    atomic_ullong counts[HISTOGRAM_BOUNDS + 1];
    atomic_ullong sum_ns;
};

void histogram_add(struct histogram *histogram, uint64_t ns);

#endif
