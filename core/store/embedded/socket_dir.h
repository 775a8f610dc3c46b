#ifndef RUNNEL_CORE_STORE_EMBEDDED_SOCKET_DIR_H
#define RUNNEL_CORE_STORE_EMBEDDED_SOCKET_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * socket_dir.h -- where the socket of a private cluster lies.
 *
 * In data_dir/run. If that path is too long for a socket, in a directory in /tmp with a random
 * name. The name is kept in data_dir/socket_dir, and written there before the directory is
 * made. So every process that opens the cluster finds the directory, whichever of them was
 * killed, and none is left behind.
 *
 * One process at a time calls this (embedded.c), and none that could be seen runs the cluster.
 */

/* Makes the directory for its owner alone, and removes what a killed cluster left in it. `path`
 * is where it was before, or ""; on success it says where it is. ERR_STORE, with nothing
 * changed, if a process listens there all the same. */
enum err_code socket_dir_make(const char *data_dir, uid_t uid, gid_t gid, char path[PATH_MAX],
                              struct err *err) MUST_CHECK;

/* False if the socket of a running cluster, or its directory, was removed. */
bool socket_dir_has_socket(const char *path);

/* After the cluster was stopped: leaves nothing outside data_dir. "" is fine. */
void socket_dir_remove(const char *data_dir, uid_t uid, const char *path);

/* Makes a directory that only its owner may use. One that exists is fine. */
enum err_code private_dir_make(const char *path, uid_t uid, gid_t gid,
                               struct err *err) MUST_CHECK;

#endif
