#include "core/ingest/histogram.h"

#include "core/base/clock.h"

const double histogram_bounds[HISTOGRAM_BOUNDS] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120};

void histogram_add(struct histogram *histogram, uint64_t ns)
{
    double seconds = (double)ns / (double)NS_PER_SECOND;
    size_t bucket = 0;

    while (bucket < HISTOGRAM_BOUNDS && seconds > histogram_bounds[bucket])
        bucket++;
    atomic_fetch_add(&histogram->counts[bucket], 1);
    atomic_fetch_add(&histogram->sum_ns, ns);
}
