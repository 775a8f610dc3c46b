#ifndef RUNNEL_TESTS_SUPPORT_TENANTS_H
#define RUNNEL_TESTS_SUPPORT_TENANTS_H

#include "core/domain/tenant.h"

/*
 * tenants.h -- tenants for calls of tests, where a statement has no room for a variable.
 *
 * It lives as long as the block that it stands in. `id` is a string literal.
 */

#define TENANT_OF(id) (&(const struct tenant){.project = id, .user = ""})

#endif
