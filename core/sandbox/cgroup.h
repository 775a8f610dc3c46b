#ifndef RUNNEL_CORE_SANDBOX_CGROUP_H
#define RUNNEL_CORE_SANDBOX_CGROUP_H

#include <stdbool.h>

#include "core/base/err.h"

/*
 * cgroup.h -- whether boxes could have exact limits. No box is put into a cgroup yet: only check.c asks.
 *
 * A cgroup (version 2) limits the memory and the processes of a box together, and counts what they share once. The
 * server may make cgroups only below its own, and only if that was delegated: systemd does it for a unit with
 * Delegate=yes. Limits of each process and the spawner's watch stand in their place.
 */

/* The folder of the server's cgroup, if boxes can have cgroups below it. `mount` is where version 2 is mounted,
 * /sys/fs/cgroup; `membership` the path of /proc/self/cgroup. The caller frees *ret_folder. ERR_NOT_FOUND: the text
 * says what is missing. */
enum err_code cgroup_find(const char *mount, const char *membership, char **ret_folder,
                          struct err *err) MUST_CHECK;

#endif
