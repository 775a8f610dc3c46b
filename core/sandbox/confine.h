#ifndef RUNNEL_CORE_SANDBOX_CONFINE_H
#define RUNNEL_CORE_SANDBOX_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * confine.h -- a process gives up everything that a parser does not need.
 *
 * A child that reads hostile bytes calls confine_self() before it looks at the first one. Afterwards it
 * can compute, read its open descriptors, write to them, and read system files below /usr, /lib and
 * /etc/fonts. It cannot open another file, make a socket or a process, or see the memory of another
 * process. Nothing can take this back, and programs that it executes inherit it.
 *
 * Five layers, in this order:
 *
 *   limits       memory, processor seconds, descriptors, no file that grows, no core file
 *   namespaces   no network and no IPC of the host, where the kernel lets an ordinary user make them
 *   privileges   no capabilities, and none to be gained
 *   Landlock     which files can be opened
 *   seccomp      which system calls exist; any other fails with EPERM
 *
 * Landlock and seccomp are required: without either, confine_self() fails and the child must end. The
 * namespaces are a further wall behind them, so a kernel that refuses them is no failure.
 *
 * In a build with AddressSanitizer or ThreadSanitizer the memory limit is left out, because their shadow
 * memory is larger than any limit.
 */

/* The limits of one child. */
#define CONFINE_MEMORY      ((uint64_t)1 << 30) /* bytes of data, RLIMIT_DATA */
#define CONFINE_CPU_SECONDS ((uint64_t)60)
#define CONFINE_DESCRIPTORS ((uint64_t)32)

enum confine_for {
    CONFINE_COMPUTE, /* this program's own code */
    CONFINE_PROGRAM, /* the child will execute a program of the system, such as pdftotext */
};

/* Confines the calling process, which must have one thread. ERR_INTERNAL: the text names the layer that
 * failed, and the process may be confined in part. */
enum err_code confine_self(enum confine_for purpose, struct err *err) MUST_CHECK;

/* Closes what /proc has of the calling process, its memory and its descriptors, to others of the same user, and forbids
 * core files: a command that got out of its box would be such a process, and memory has keys. A build with a sanitizer
 * does nothing, because LeakSanitizer looks into its own process. Before the first thread. */
void confine_hide(void);

/* The version of the kernel's Landlock; 0: it has none. Any thread. */
int confine_landlock_version(void);

/* The kernel has seccomp filters. Any thread. */
bool confine_has_seccomp(void);

#endif
