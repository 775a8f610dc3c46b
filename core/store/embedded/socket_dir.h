#ifndef RUNNEL_CORE_STORE_EMBEDDED_SOCKET_DIR_H
#define RUNNEL_CORE_STORE_EMBEDDED_SOCKET_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * socket_dir.h -- where the socket of a private cluster lies.
 *
 * In data_dir/run; when that is too long for a socket, in a directory in /tmp. Its random name is kept
 * in data_dir/socket_dir, and written down before the directory is made: so whoever opens the
 * cluster finds the others' place, whoever of them was killed, and none is left behind.
 *
 * Called by one at a time, see embedded.c; no cluster runs that could be seen.
 */

/* Makes the directory, for its owner alone, and removes what a cluster left in it that was killed.
 * `path` is where it was before, or "", and then says where it is. ERR_STORE, and everything is as it
 * was, if somebody listens there all the same. */
enum err_code socket_dir_make(const char *data_dir, uid_t uid, gid_t gid, char path[PATH_MAX],
                              struct err *err) MUST_CHECK;

/* False if somebody has removed the socket, or its directory, of a cluster that runs. */
bool socket_dir_has_socket(const char *path);

/* The cluster has been stopped: leaves nothing outside data_dir. "" is fine. */
void socket_dir_remove(const char *data_dir, uid_t uid, const char *path);

/* Makes a directory that only its owner may use. One that is there is fine. */
enum err_code private_dir_make(const char *path, uid_t uid, gid_t gid,
                               struct err *err) MUST_CHECK;

#endif
