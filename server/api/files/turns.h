#ifndef RUNNEL_SERVER_API_FILES_TURNS_H
#define RUNNEL_SERVER_API_FILES_TURNS_H

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "server/workers.h"

/*
 * turns.h -- work that is done one at a time for each object of a project.
 *
 * A client that repeats a long request must not have it carried out twice side by side: the second waits here, without
 * a thread, until the first has ended. Then it finds what the first one has done.
 *
 * Any thread.
 */

#define TURNS_LIMIT 64 /* of a project, at work or waiting */

struct turns;

struct turn {
    struct turn *next; /* the list's */
    char project[ID_SIZE];
    char id[ID_LIMIT + 1]; /* of the object */
    struct work *work;
    bool at_work;
};

struct turns *turns_new(void);
void turns_free(struct turns *turns); /* without any turn left; NULL is fine */

/* Puts the work, now or when those before it under the same id have ended. `turn` is part of a larger struct, and lives
 * until turns_end(). ERR_LIMIT with REASON_BUSY: its project has TURNS_LIMIT of them, and nothing happens. */
enum err_code turns_take(struct turns *turns, struct workers *workers, struct turn *turn,
                         const struct tenant *tenant, const char *id, struct work *work,
                         struct err *err) MUST_CHECK;

/* The work has ended: the next one under its id is put. */
void turns_end(struct turns *turns, struct workers *workers, struct turn *turn);

#endif
