#ifndef RUNNEL_CORE_SANDBOX_CGROUP_H
#define RUNNEL_CORE_SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * cgroup.h -- exact limits of a whole box, where cgroups of version 2 are delegated to the server.
 *
 *     the unit's cgroup, delegated
 *       ├── runnel             the server, its zygote and spawner, its private PostgreSQL
 *       ├── box-812-1-1        bubblewrap and all that is in a box: memory, processes, processors
 *       └── box-812-1-2
 *
 * The kernel counts what processes share once, and what no process maps, and it kills a box at once. Elsewhere limits
 * of each process and the spawner's watch stand in its place.
 *
 * A cgroup with controllers for others may have no process itself, so the server goes into one of its own first. It may
 * do that only where the cgroup is its own: systemd says so for a unit with Delegate=yes. Otherwise systemd and the
 * server would both write to it.
 */

/* The folder in which boxes can have cgroups. `mount` is where version 2 is mounted, /sys/fs/cgroup; `membership` the
 * path of /proc/self/cgroup. The caller frees *ret_folder. ERR_NOT_FOUND: the text says what is missing. */
enum err_code cgroup_find(const char *mount, const char *membership, char **ret_folder,
                          struct err *err) MUST_CHECK;

/* Whether systemd, where it runs, leaves the folder to the server. */
bool cgroup_is_delegated(const char *folder);

/* Moves the processes of the folder into its "runnel", and asks for the controllers. Once, before anything is forked.
 * ERR_NOT_FOUND: the kernel refuses. */
enum err_code cgroup_prepare(const char *folder, struct err *err) MUST_CHECK;

/* 0: no limit. */
struct cgroup_limits {
    uint64_t memory; /* bytes, with files in memory */
    uint32_t processes, cpus;
};

/* A new cgroup with limits, whose path the caller frees. ERR_INTERNAL: the kernel refuses one; nothing is left. */
enum err_code cgroup_make(const char *folder, const char *name,
                          const struct cgroup_limits *limits, char **ret_cgroup,
                          struct err *err) MUST_CHECK;

/* This process is in it from now on. */
bool cgroup_join(const char *cgroup);

/* Kills all that is in it. */
void cgroup_kill(const char *cgroup);

/* The kernel has killed it because of its memory. */
bool cgroup_is_over_memory(const char *cgroup);

/* A descriptor for poll(), POLLPRI: whether anything is in it has changed. -1: it is gone. */
int cgroup_watch(const char *cgroup);

/* False: processes are still in it. To be asked again when the watch says so. */
bool cgroup_remove(const char *cgroup, int watch);

/* Ends and removes what servers of this process's number, or of a dead one, have left. */
void cgroup_sweep(const char *folder, pid_t server);

#endif
