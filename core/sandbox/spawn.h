#ifndef RUNNEL_CORE_SANDBOX_SPAWN_H
#define RUNNEL_CORE_SANDBOX_SPAWN_H

#include "core/base/err.h"
#include "core/sandbox/message.h"
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

/* The folder in which boxes have cgroups; NULL: they have none, and *ret_why says why. After spawn_start(). */
const char *spawn_cgroup(const char **ret_why);

/* Ends the spawner with its children and the zygote, and waits for the zygote. */
void spawn_stop(void);

/* Sends a request to the current spawner, which is made if needed. `program` is NULL for a task. Any thread.
 * ERR_INTERNAL: not started, or the zygote is gone. ERR_TOO_LARGE: the program does not fit into a message. */
enum err_code spawn_send(const struct spawn_request *request, const struct program *program,
                         const int *fds, size_t count, struct err *err) MUST_CHECK;

/* Runs a child, adds its output to *ret_output, also when it fails, and waits for its end. inputs[0] becomes its
 * descriptor 0, and inputs[1] ... a program's 3, 4 ...; borrowed. Any thread that may wait.
 *
 * ERR_OK: *ret_end says how it ended. ERR_TOO_LARGE: more than output_max bytes; the child is killed. */
enum err_code spawn_run(const struct spawn_request *request, const struct program *program,
                        const int *inputs, size_t count, size_t output_max,
                        struct buf *ret_output, struct compute_end *ret_end,
                        struct err *err) MUST_CHECK;

#endif
