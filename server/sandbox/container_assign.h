#ifndef RUNNEL_SERVER_SANDBOX_CONTAINER_ASSIGN_H
#define RUNNEL_SERVER_SANDBOX_CONTAINER_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/domain/tenant.h"

/*
 * container_assign.h -- the container of a shell with `container_auto`, when its run is accepted.
 *
 * Clients see in `tools` which container it is, also before the first call. So its row is there from then on, with its
 * skills; its folder and its box come with the first call.
 */

struct server;

struct container_assign {
    const struct tenant *tenant;
    const struct run_row *run;
    const struct item_row *items; /* of its context, if that was read */
    size_t item_count;
    bool unpacked; /* notes of inline skills are this server's; else they count for nothing */
};

/* Notes in settings->tools the id of each container_auto, instead of its skills, which the container has then.
 * ERR_NOT_FOUND: there is no such skill, or no such version. ERR_LIMIT: the project has too many containers. *ret_made,
 * which may be "": a container that was made, and that nothing needs if the run is not made. Blocks on the store, and
 * for the inline skills that were not unpacked yet. */
enum err_code container_assign(struct server *server, const struct container_assign *wanted,
                               struct run_settings *settings, char ret_made[ID_SIZE],
                               struct err *err) MUST_CHECK;

#endif
