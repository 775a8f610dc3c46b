#ifndef RUNNEL_SERVER_KEEPER_H
#define RUNNEL_SERVER_KEEPER_H

#include <stdint.h>

#include "core/base/err.h"

/*
 * keeper.h -- the thread that does what no request asks for.
 *
 *   leases       renews those of the runs on this node
 *   recovery     takes over runs whose owner died, and runs that have expired
 *   approvals    lets runs continue that wait beside a grant
 *   responses    closes foreground responses whose node died, and removes deleted ones for good
 *   files        deletes those that have expired, and the bytes of those that are deleted
 *   documents    takes over those of dead nodes, and removes what no vector store names
 *   event log    makes and drops partitions
 *   database     while it is away: the only thread that tries to reach it; starts a private one again
 *
 * It owns nothing: everything goes through the store and the engine.
 *
 * Nothing is taken over unless this node's own leases were renewed just before. After an interruption the leases
 * of other nodes are left alone for the length of a lease, because living nodes renew them first.
 */

struct config;
struct database;
struct keeper;
struct server;

/* Microseconds that a deleted response is kept for responses that are already continuing it. It is longer than a
 * response may take. */
int64_t keeper_grace_us(const struct config *config);

/* Starts the thread. `server` and `database` are borrowed until keeper_stop(). If only the last step fails,
 * *ret_keeper is set all the same, and must be stopped. */
enum err_code keeper_start(struct server *server, struct database *database,
                           struct keeper **ret_keeper, struct err *err) MUST_CHECK;

/* From now on no run is taken over, and other nodes make none for this one. Leases are still renewed. Any thread. */
void keeper_drain(struct keeper *keeper);

/* Ends and joins the thread. NULL is fine. */
void keeper_stop(struct keeper *keeper);

#endif
