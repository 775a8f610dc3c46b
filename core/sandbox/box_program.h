#ifndef RUNNEL_CORE_SANDBOX_BOX_PROGRAM_H
#define RUNNEL_CORE_SANDBOX_BOX_PROGRAM_H

#include "core/base/err.h"

/*
 * box_program.h -- the first process of a box, as a program in memory: box/main.c.
 */

/* A descriptor of it, which can be executed and not be changed. The caller closes it. -1: *err says why. Any
 * thread. */
int box_program(struct err *err);

#endif
