#ifndef RUNNEL_CORE_DOMAIN_TENANT_H
#define RUNNEL_CORE_DOMAIN_TENANT_H

#include <stddef.h>

#include "core/base/ids.h"

/*
 * tenant.h -- for whom a request or a run acts: a project, and what is known beside it.
 *
 * Everything that a client stores belongs to a project, and no client sees another project's rows.
 * Every function that reads or writes such rows takes a tenant, and every statement binds its project
 * with db_arg_tenant(). tests/lint/tenant.py proves that for each statement.
 *
 * A struct, and not the project's id alone: another fact about the client becomes a field here, and not
 * a parameter of a hundred functions.
 *
 * Who makes a tenant, and how long it lives:
 *
 *   a request     Authentication makes it from the key (server/api/auth.c). It is part of the request
 *                 and lives as long. A WebSocket session copies the one of its handshake. The key is
 *                 looked up again before each response, because it may have been revoked.
 *   a run         Its loop makes it from the run's row (run_new.c), for a new run as for one that is
 *                 taken over: a run outlives its request, and after a crash another node has only the
 *                 row. It is part of struct run. Its limits are the node's and its user is the one
 *                 that the request named. Its key and its features are empty, because nothing that a
 *                 run does may depend on the key that started it.
 *   a tool call   A copy of the run's, with its own copy of the user: a call may outlive its run.
 *   background    The keeper, recovery and wake-ups find the project's id in a row or a list, beside
 *                 the run's id. They make a tenant for one call with tenant_of_project(). Import does
 *                 the same. A write on its way to the database, and a read of the event log, keep a
 *                 copy of the tenant that caused them.
 *
 * All functions borrow a `const struct tenant *` for the length of the call. Code that needs it for
 * longer copies the struct, with tenant_kept(): project and key are part of it, the user is not.
 */

/* Facts that authentication learns with the key. */
enum tenant_features {
    TENANT_TOOL_SETTINGS = 1 << 0, /* the project, or a user of it, may have tool settings
                                    * (core/store/tables/tool_settings.h) */
};

/* What one project may use at once, on one node. 0: no limit. */
struct tenant_limits {
    size_t runs;           /* at work */
    size_t held;           /* of these, waiting for approvals with their requests open */
    size_t variable_bytes; /* variables of responses that are not stored */
};

struct tenant {
    char project[ID_SIZE]; /* proj_...; never empty */
    char key[ID_SIZE];     /* key_...; "" where no key is involved or known */
    const char *user;      /* as the request names it, borrowed; "" for none */
    struct tenant_limits limits;
    unsigned features; /* enum tenant_features; 0 without a key */
};

/* Knows the project alone: no user, no key, no limits, no features. */
struct tenant tenant_of_project(const char *project);

/* A copy that may outlive the maker: all of it but the user, which is borrowed. */
struct tenant tenant_kept(const struct tenant *tenant);

#endif
