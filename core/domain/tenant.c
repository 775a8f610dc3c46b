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
