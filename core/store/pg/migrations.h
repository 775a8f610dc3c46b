#ifndef RUNNEL_CORE_STORE_PG_MIGRATIONS_H
#define RUNNEL_CORE_STORE_PG_MIGRATIONS_H

#include <stddef.h>

/*
 * migrations.h -- the files of migrations/, which the build has made part of the program.
 */

struct migration {
    int version; /* 1, 2, 3 ... */
    const char *name;
    const char *sql;
};

extern const struct migration migrations[]; /* in order */
extern const size_t migration_count;

#endif
