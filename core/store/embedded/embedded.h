#ifndef RUNNEL_CORE_STORE_EMBEDDED_EMBEDDED_H
#define RUNNEL_CORE_STORE_EMBEDDED_EMBEDDED_H

#include <stdbool.h>

#include "core/base/err.h"

/*
 * embedded.h -- a private PostgreSQL cluster under data_dir, for database_url=embedded.
 *
 * Binaries come from `pg_config --bindir`, else from the newest /usr/lib/postgresql/N/bin. The
 * cluster is data_dir/pg, its socket lies in a directory of mode 0700 (see socket_dir.h), and it
 * listens on no TCP port. Started by
 * root, it runs as user postgres, else nobody. A postmaster that survived its server is adopted.
 */

struct embedded;

/* Makes the cluster if there is none, and starts it unless it runs: `runnel keys`, `migrate` and
 * `import` use that of a server, or their own for as long as one of them works. Errors are one
 * sentence that says what to do: the binaries are missing; the user cannot reach the directory; the
 * cluster is of another major version (both are named).
 *
 * Waits for what a crash left to be replayed, but not once stop_fd is readable (-1: none): then it is
 * ERR_CANCELLED, and the cluster is stopped. After 120 s it is ERR_TIMEOUT, and the replay goes on. While
 * another process starts or stops the cluster it waits for that one, whatever stop_fd says. */
enum err_code embedded_open(const char *data_dir, int stop_fd, struct embedded **ret_embedded,
                            struct err *err) MUST_CHECK;

/* Starts it again if it has ended under us, or if its socket has been removed; its URL stays. At once,
 * if nothing is wrong, or if somebody else is just starting it. Called by one thread at a time; waits
 * as above, and may be called again after ERR_CANCELLED and ERR_TIMEOUT. */
enum err_code embedded_revive(struct embedded *embedded, int stop_fd,
                              struct err *err) MUST_CHECK;

/* libpq connection string of the database "runnel". Borrowed. */
const char *embedded_url(const struct embedded *embedded);

/* Stops the cluster (fast mode, waits for its end), if nobody else has it open. NULL is fine. */
void embedded_close(struct embedded *embedded);

/* Locks data_dir for one server. ERR_CONFLICT when another has it; *ret_fd stays open as long as
 * the lock is wanted. */
enum err_code data_dir_lock(const char *data_dir, int *ret_fd, struct err *err) MUST_CHECK;

#endif
