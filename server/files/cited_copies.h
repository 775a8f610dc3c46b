#ifndef RUNNEL_SERVER_FILES_CITED_COPIES_H
#define RUNNEL_SERVER_FILES_CITED_COPIES_H

#include "core/base/err.h"
#include "core/run/turn/run_made.h"

/*
 * cited_copies.h -- files of containers that answers cite, copied to where every server finds them.
 *
 * A citation is made on a run's loop, and a copy takes its time. So it is made by a thread of its own, after the
 * citation: a client that asks another server at once may still read that the container's server does not answer.
 *
 * A copy that fails is for the log. So is one too many: CITED_COPIES_LIMIT of a project may wait.
 */

#define CITED_COPIES_LIMIT 1000

struct cited_copies;
struct server;

/* NULL without containers. Borrows the server. */
struct cited_copies *cited_copies_start(struct server *server);
/* After all copies that wait. Only when no loop runs any more. NULL is fine. */
void cited_copies_stop(struct cited_copies *copies);

/* For the engine; NULL for NULL. */
struct run_cited *cited_copies_hook(struct cited_copies *copies);

#endif
