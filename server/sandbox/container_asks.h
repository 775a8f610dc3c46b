#ifndef RUNNEL_SERVER_SANDBOX_CONTAINER_ASKS_H
#define RUNNEL_SERVER_SANDBOX_CONTAINER_ASKS_H

/*
 * container_asks.h -- does what other nodes ask of this one's containers (containers_answer()).
 *
 * It is woken by WAKEUP_CONTAINER, by the end of a call whose container another node wants, and by the keeper in case
 * that was lost. An archive takes seconds, so a worker makes it, one round at a time.
 */

struct container_asks;
struct server;

/* NULL without containers. Borrows the server. */
struct container_asks *container_asks_start(struct server *server);
/* Ends what it does now, and gives what other nodes still wait for: calls have ended. NULL is fine. */
void container_asks_stop(struct container_asks *asks);

/* Any thread; does not block. NULL is fine. */
void container_asks_look(struct container_asks *asks);

#endif
