#ifndef RUNNEL_CORE_CONTAINER_BOX_ENVIRONMENT_H
#define RUNNEL_CORE_CONTAINER_BOX_ENVIRONMENT_H

/*
 * box_environment.h -- the environment of commands in a container.
 */

/* The usual lines, and those of the operator, which replace a usual one of the same name. `more` ends with NULL, or is
 * NULL. So ends the result; box_environment_free() releases it. */
char **box_environment_new(unsigned cpus, const char *const *more);
void box_environment_free(char **environment); /* NULL is fine */

#endif
