#ifndef RUNNEL_SERVER_KEEPER_H
#define RUNNEL_SERVER_KEEPER_H

#include <stdint.h>

#include "core/base/err.h"

/*
 * keeper.h -- the thread that looks after what nobody is asking for.
 *
 * It renews the leases of the runs that live here, takes over runs whose owner fell silent and
 * runs whose time is over, closes responses whose node died with their client, makes and drops
 * partitions of the event log, removes what was deleted and is needed no longer, and, while the
 * database is away, is the only one who tries to reach it, and starts a private one again. It owns
 * nothing: everything goes through the store and the engine.
 *
 * Nothing is taken over unless our own leases were renewed just before. When they were not for a
 * while, those of other nodes are left alone for one lease: who is alive renews them first. Claims
 * are small, and leases are renewed between them and while logs are read.
 */

struct config;
struct database;
struct keeper;
struct server;

/* How long what is deleted stays for those who are continuing it already: when a response may take no
 * longer, its row is there. */
int64_t keeper_grace_us(const struct config *config);

enum err_code keeper_start(struct server *server, struct database *database,
                           struct keeper **ret_keeper, struct err *err) MUST_CHECK;

/* Takes over nothing any more; leases are still renewed. */
void keeper_drain(struct keeper *keeper);
void keeper_stop(struct keeper *keeper); /* NULL is fine */

#endif
