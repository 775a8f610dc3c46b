#ifndef RUNNEL_TESTS_SUPPORT_COPY_CLUSTER_H
#define RUNNEL_TESTS_SUPPORT_COPY_CLUSTER_H

#include <stdbool.h>

/* Copies the cluster of a stopped `data_dir` to another one, whose own cluster goes. False, and a line on standard
 * error, when that failed. */
bool copy_cluster(const char *data_dir, const char *other);

#endif
