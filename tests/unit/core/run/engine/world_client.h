#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_CLIENT_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_CLIENT_H

#include "core/base/ids.h"
#include "tests/unit/core/run/engine/world.h"
#include "tests/unit/core/run/engine/world_stream.h"

/*
 * world_client.h -- the client of a run, who does what the scenario says.
 *
 * It makes the run, follows it again when its stream broke, and answers what the run asks. It calls
 * the store and the engine as server/api_*.c do for it.
 */

struct client {
    struct actor actor;
    struct node *node; /* to which it is connected */
    char thread_id[ID_SIZE];
    char run_id[ID_SIZE];
    int64_t expires_at;
    bool made;             /* it has tried to make the run */
    bool acknowledged;     /* and was told that it is there */
    struct stream *stream; /* the last one */
};

void clients_join(struct node *node);
void clients_free(void);
/* It has what it wants. */
bool client_is_done(struct client *client);

/* ---- Incidents: false where they make no sense ---- */

bool client_hang_up(struct client *client);
bool client_leave_midway(struct client *client); /* in the middle of the next event */
bool client_cancel(struct client *client, struct node *node);
bool client_submit(struct client *client, struct node *node);
bool client_approve(struct client *client, struct node *node);
bool client_reject(struct client *client, struct node *node);
bool client_follow(struct client *client, struct node *node);
bool client_steer(struct client *client, struct node *node);

#endif
