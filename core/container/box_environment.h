#ifndef RUNNEL_CORE_CONTAINER_BOX_ENVIRONMENT_H
#define RUNNEL_CORE_CONTAINER_BOX_ENVIRONMENT_H

/*
 * box_environment.h -- the environment of commands in a container.
 */

/* The usual lines, and those of the operator, which replace a usual one of the same name. `more` ends with NULL, or is
 * NULL. So ends the result; box_environment_free() releases it. */
char **box_environment_new(unsigned cpus, const char *const *more);
/* The same, for boxes with a proxy on that port of their 127.0.0.1. box_environment_free() frees it, too. */
char **box_environment_through(const char *const *environment, unsigned port);

void box_environment_free(char **environment); /* NULL is fine */

#endif
