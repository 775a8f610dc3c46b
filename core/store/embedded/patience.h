#ifndef RUNNEL_CORE_STORE_EMBEDDED_PATIENCE_H
#define RUNNEL_CORE_STORE_EMBEDDED_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * patience.h -- how long to wait for a process or a file, and what ends the wait.
 *
 * A database that replays its log may take minutes, and a server that is to stop must not wait
 * that long. So each wait has a deadline, and a descriptor that ends it when it becomes
 * readable (an eventfd, a signalfd).
 */

struct patience {
    uint64_t deadline_ns; /* of the monotonic clock */
    int stop_fd;          /* -1: only the deadline ends it. Borrowed, never read */
};

struct patience patience_of(int stop_fd, unsigned seconds);

#define PATIENCE_FDS 2

/* True once one of the descriptors is readable or closed by its other end. */
bool patience_wait(const struct patience *patience, const int *fds, size_t count);

/* Why the wait ended: ERR_CANCELLED or ERR_TIMEOUT. `what` was waited for. */
enum err_code patience_lost(const struct patience *patience, const char *what, struct err *err);

#endif
