#ifndef RUNNEL_CORE_SANDBOX_MEMORY_FILE_H
#define RUNNEL_CORE_SANDBOX_MEMORY_FILE_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * memory_file.h -- bytes as a file that only descriptors know: code for a command, which is too long for an argument.
 */

/* A descriptor that is read from the first byte on. It cannot be changed or enlarged, not even by a box that has it.
 * The caller closes it. -1: *err says why. Any thread. */
int memory_file(const void *bytes, size_t size, struct err *err);

#endif
