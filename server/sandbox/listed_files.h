#ifndef RUNNEL_SERVER_SANDBOX_LISTED_FILES_H
#define RUNNEL_SERVER_SANDBOX_LISTED_FILES_H

#include "core/run/turn/run_start.h"

struct server;

/*
 * listed_files.h -- the files and skills of a run's container, by the names that they get in it.
 *
 * The model reads them in the description of the tool, before the first call puts them there.
 */

/* Fills start->settings.container_files and container_skills. Blocks on the store if a tool has a container.
 * When the store fails, the model does without the list. */
void listed_files_add(struct server *server, struct run_start *start);

#endif
