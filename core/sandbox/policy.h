#ifndef RUNNEL_CORE_SANDBOX_POLICY_H
#define RUNNEL_CORE_SANDBOX_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/sandbox/box.h"
#include "core/sandbox/message.h"

/*
 * policy.h -- what a box sees and may call: bubblewrap's arguments, from tables.
 *
 * Everything that depends on bubblewrap is in policy.c, so that other machinery can take its place. The tables are
 * the security policy: which files are there, and which system calls are not. Rules that keep bubblewrap's
 * known faults away:
 *
 *   Nothing is mounted below a folder that the box can write: a link there could lead the mount elsewhere.
 *   A bubblewrap that is setuid root is not used, and neither is one that root runs.
 *   Neither --uid nor --dev is passed: both make a second user namespace.
 *   Each descriptor is used once, because bubblewrap closes it.
 */

/* A program and the descriptors that it takes, as spawn.h wants them. */
struct policy {
    struct program program;
    size_t argument_count;
    int inputs
        [MESSAGE_FDS]; /* inputs[0] is for its descriptor 0, and the caller's to fill in */
    size_t input_count;
};

/* Fills in how to start a box's first process. policy_clear() releases it, also after a failure. ERR_INVALID: a
 * folder of the plan is missing, or is a link. ERR_INTERNAL: bubblewrap is missing or must not be used, or the kernel
 * refuses a memory file. */
enum err_code policy_make(const struct box_plan *plan, struct policy *ret_policy,
                          struct err *err) MUST_CHECK;

/* Closes inputs[1] and those behind it. */
void policy_clear(struct policy *policy);

/* Where bubblewrap is. ERR_INTERNAL: it is missing, or setuid. A constant. */
enum err_code policy_bwrap(const char **ret_path, struct err *err) MUST_CHECK;

#endif
