#ifndef RUNNEL_CORE_SANDBOX_SPAWN_H
#define RUNNEL_CORE_SANDBOX_SPAWN_H

#include "core/base/err.h"
#include "core/sandbox/spawner.h"

/*
 * spawn.h -- the server's side of the spawner: where requests go.
 *
 * A request is one message, so threads share the spawner's socket without a lock. The lock guards only which
 * spawner is the current one. When a send fails, the spawner is gone: the thread that notices gets another one from
 * the zygote, and the others find it there.
 */

/* Forks the zygote. Once, before the first thread. */
enum err_code spawn_start(const struct compute_task *tasks, size_t count,
                          struct err *err) MUST_CHECK;

/* Ends the spawner with its children and the zygote, and waits for the zygote. */
void spawn_stop(void);

/* Sends a request to the current spawner, which is made if needed. Any thread. ERR_INTERNAL: not started, or the
 * zygote is gone. */
enum err_code spawn_send(const struct spawn_request *request, size_t size, const int *fds,
                         size_t count, struct err *err) MUST_CHECK;

/* Waits for the end of a child at the caller's side of its end channel. */
void spawn_take_end(int channel, struct compute_end *ret_end);

#endif
