#ifndef RUNNEL_CORE_DOMAIN_TENANT_H
#define RUNNEL_CORE_DOMAIN_TENANT_H

#include <stddef.h>

#include "core/base/ids.h"

/*
 * tenant.h -- in whose name a request or a run acts: a project, and what is known beside it.
 *
 * Everything that a client stores belongs to a project, and no client sees another project's rows.
 * So every function that reads or writes such rows takes a tenant, and every statement binds its
 * project (db_arg_tenant(); tests/lint/tenant.py looks at each statement). A struct instead of the
 * project's bare id: what else depends on who asks is added here, and not to a hundred signatures.
 *
 * Who makes a tenant, and how long it lives:
 *
 *   a request     Authentication makes it from the key (server/api/auth.c). It is part of the request
 *                 and lives as long. A WebSocket session copies that of its handshake; the key is
 *                 looked up again before each response, and may have been revoked.
 *   a run         Its loop makes it from the run's row (engine_arrivals.c), in every case alike: a run
 *                 outlives its request, and after a crash another node has nothing but the row. It is
 *                 part of struct run. Its limits are those of the node, its user is the one that the
 *                 request named, its key and features are unknown: nothing that a run does may depend
 *                 on which key started it.
 *   a tool call   A copy of the run's, user included: a call may outlive its run.
 *   anything else The keeper, recovery and wake-ups find the project's id beside the run's, in a row or in
 *                 a list of such, and make a tenant for the length of one call:
 *                 tenant_of_project(). So do import and the other subcommands. A write on its
 *                 way to the database and a read of the event log keep a copy of the one that
 *                 caused them.
 *
 * Everybody below borrows a `const struct tenant *` for the length of the call. What needs one for
 * longer takes a copy: project and key are part of the struct. Only `user` points elsewhere, to what the
 * maker owns, and tenant_kept() leaves it out.
 */

/* What does not go without saying. */
enum tenant_features {
    TENANT_TOOL_SETTINGS = 1 << 0, /* the project, or a user of it, may have tool settings
                                    * (core/store/tables/tool_settings.h) */
};

/* What one project may use at once, on one node. 0: no limit. */
struct tenant_limits {
    size_t runs; /* at work */
    size_t held; /* of these, waiting for approvals with their requests open */
};

struct tenant {
    char project[ID_SIZE]; /* proj_...; never empty */
    char key[ID_SIZE];     /* key_...; "" where no key is involved or known */
    const char *user;      /* as the request names it, borrowed; "" for nobody in particular */
    struct tenant_limits limits;
    unsigned features; /* enum tenant_features; 0 where nobody has looked */
};

/* Of whom only the project is known: no user, no key, no limits, no features. */
struct tenant tenant_of_project(const char *project);

/* For what outlives the maker: all but the user, who is borrowed. */
struct tenant tenant_kept(const struct tenant *tenant);

#endif
