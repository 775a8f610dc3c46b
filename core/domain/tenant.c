/*
 * tenant.c -- makes the two kinds of tenants that are not made by authentication.
 *
 * A tenant is copied as a struct. Project and key are arrays inside it, so a copy needs no memory of its
 * own and no function to free it. The user is the only pointer. It is borrowed, and tenant_kept() drops it
 * rather than copy it: what keeps a tenant (a write, a read of the log) binds the project alone.
 */

#include "core/domain/tenant.h"

#include <assert.h>
#include <string.h>

struct tenant tenant_of_project(const char *project)
{
    struct tenant tenant = {.user = ""};
    size_t length = strlen(project);

    assert(length && length < sizeof(tenant.project));
    memcpy(tenant.project, project, length + 1);
    return tenant;
}

struct tenant tenant_kept(const struct tenant *tenant)
{
    struct tenant kept = *tenant;

    kept.user = "";
    return kept;
}
