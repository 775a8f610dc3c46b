#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_OPERATOR_ROOTS_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_OPERATOR_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * operator_roots.h -- folders of the host that the operator opens to tools: "roots".
 *
 * Models call them /mnt/roots/<name>. A tool that reads or writes there asks a person first
 * (handlers/support/root_call.h). No other code sees them.
 *
 * Set at start, before other threads exist. All other functions: any thread.
 */

#define OPERATOR_ROOTS_LIMIT ((size_t)16)

struct workspace;

struct operator_root {
    const char *name;
    const char *folder; /* on the host: never for a model or a client */
    bool writable;
    struct workspace *workspace;
};

/* Borrowed until operator_roots_set(NULL, 0). */
void operator_roots_set(const struct operator_root *roots, size_t count);

/* NULL: there is no such root. Borrowed. */
const struct operator_root *operator_root_find(const char *name);

/* For the description of a tool: which there are. The caller frees; NULL: none. */
char *operator_roots_note(void);

#endif
