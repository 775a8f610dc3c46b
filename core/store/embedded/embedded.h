#ifndef RUNNEL_CORE_STORE_EMBEDDED_EMBEDDED_H
#define RUNNEL_CORE_STORE_EMBEDDED_EMBEDDED_H

#include <stdbool.h>

#include "core/base/err.h"

/*
 * embedded.h -- a private PostgreSQL cluster under data_dir, for database_url=embedded.
 *
 * The programs come from `pg_config --bindir`, else from the newest /usr/lib/postgresql/N/bin.
 * The cluster is data_dir/pg. Its socket is in a directory of mode 0700 (socket_dir.h), and it
 * listens on no TCP port. If root starts the server, the cluster runs as user postgres, else as
 * nobody. A postmaster that survived its server is adopted.
 */

struct embedded;

/* Makes the cluster if it is missing, and starts it unless it runs. `runnel keys`, `migrate`
 * and `import` use the cluster of a running server, or start it for as long as they need it.
 * Errors are one sentence that says what to do: the programs are missing; the user cannot reach
 * the directory; the cluster is of another major version (both are named). Waits while the
 * cluster replays its log after a crash. Once stop_fd is readable (-1: none) the result is
 * ERR_CANCELLED, and the cluster is stopped. After 120 s it is ERR_TIMEOUT, and the replay goes
 * on. While another process starts or stops the cluster, this one waits for it, whatever
 * stop_fd says. */
enum err_code embedded_open(const char *data_dir, int stop_fd, struct embedded **ret_embedded,
                            struct err *err) MUST_CHECK;

/* Starts the cluster again if it has ended, or if its socket was removed. Its URL stays the
 * same. Returns at once if nothing is wrong, or if another process is just starting it. One
 * thread at a time may call. Waits as above, and may be called again after ERR_CANCELLED and
 * ERR_TIMEOUT. */
enum err_code embedded_revive(struct embedded *embedded, int stop_fd,
                              struct err *err) MUST_CHECK;

/* libpq connection string of the database "runnel". Borrowed. */
const char *embedded_url(const struct embedded *embedded);

/* Stops the cluster (fast mode, and waits for its end), unless another process has it open.
 * NULL is fine. */
void embedded_close(struct embedded *embedded);

/* Locks data_dir for one server. ERR_CONFLICT if another server has it. *ret_fd stays open for
 * as long as the lock is needed. */
enum err_code data_dir_lock(const char *data_dir, int *ret_fd, struct err *err) MUST_CHECK;

#endif
