#ifndef RUNNEL_TESTS_SUPPORT_CAUGHT_STDERR_H
#define RUNNEL_TESTS_SUPPORT_CAUGHT_STDERR_H

#include <stdio.h>
#include <unistd.h>

#include "core/base/mem.h"

/*
 * caught_stderr.h -- what a test's code writes to the log, as text. One at a time.
 */

static int real_stderr;
static FILE *caught;

static inline void stderr_begin(void)
{
    caught = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
}

/* The caller frees. */
static inline char *stderr_end(void)
{
    char text[1024];
    size_t length;

    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    rewind(caught);
    length = fread(text, 1, sizeof(text) - 1, caught);
    (void)fclose(caught);
    return mem_strndup(text, length);
}

#endif
