#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_CLIENT_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_CLIENT_H

#include "core/base/ids.h"
#include "tests/unit/core/run/engine/world.h"
#include "tests/unit/core/run/engine/world_stream.h"

/*
 * world_client.h -- the client of a run, which does what the scenario says.
 *
 * It makes the run, follows it again when its stream breaks, submits outputs and decides approval
 * requests. It calls the store and the engine as the endpoints in server/api do.
 */

struct client {
    struct actor actor;
    struct node *node; /* to which it is connected */
    char thread_id[ID_SIZE];
    char run_id[ID_SIZE];
    int64_t expires_at;
    bool made;             /* it has tried to make the run */
    bool acknowledged;     /* and was answered that it exists */
    struct stream *stream; /* the last one; NULL: none yet */
};

/* Makes the clients of the scenario, connected to this node. */
void clients_join(struct node *node);
void clients_free(void);
/* It wants nothing more. */
bool client_is_done(struct client *client);

/* ---- Incidents: false when they are impossible now ---- */

bool client_hang_up(struct client *client);
bool client_leave_midway(struct client *client); /* within the next event */
bool client_cancel(struct client *client, struct node *node);
bool client_submit(struct client *client, struct node *node);
bool client_approve(struct client *client, struct node *node);
bool client_reject(struct client *client, struct node *node);
bool client_grant(struct client *client, struct node *node); /* by another person */
bool client_follow(struct client *client, struct node *node);
bool client_follow_deaf(struct client *client, struct node *node); /* and does not read */
bool client_steer(struct client *client, struct node *node);

#endif
