/*
 * The grant, and the checks that it and the questions owe each other.
 *
 * Of a question and a grant that are committed at the same time neither sees the other, so each looks again after
 * its commit. This world shows what happens when a check is lost: its node dies, or the store does not answer. The
 * rule is grants_check().
 */

#include "tests/unit/core/run/engine/world_grants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/tables/approvals/grants.h"
#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/world_client.h"
#include "tests/unit/core/run/engine/world_database.h"

/* Longer than a keeper needs for a check, a claim and the end of a pause. */
#define BESIDE_NS (30 * NS_PER_SECOND)

static bool is_for_permission(const struct approval_row *row)
{
    return row->kind == APPROVAL_OF_PERMISSION && row->status == APPROVAL_PENDING &&
           strcmp(row->policy, "auto") == 0;
}

static bool is_of_thread(const struct approval_row *row)
{
    return strncmp(row->run_id, "run_", 4) == 0;
}

/* Its run waits for the answer: it has no owner, or it is a response that holds. */
static bool is_open(const struct approval_row *row)
{
    const struct record *record = database_find(row->run_id);

    if (!record || !is_for_permission(row))
        return false;
    if (!is_of_thread(row))
        return strcmp(row->used_by, row->run_id) == 0 &&
               !run_status_is_final(record->row.status);
    return record->row.status == RUN_REQUIRES_ACTION && !*record->lease.owner &&
           record->row.expires_at > clock_wall_us();
}

/* The call of runnel_approval has its output. True: nothing else is required. */
static bool answer_call(const struct approval_row *row)
{
    bool rest = false;

    for (size_t i = 0; i < world->database->call_count; i++) {
        struct call_row *call = &world->database->calls[i];

        if (strcmp(call->run_id, row->run_id) != 0 || !call->client ||
            call->state != CALL_WAITING)
            continue;
        if (strcmp(call->call_id, row->id) == 0) {
            row_set(&call->output, "{\"approve\":true}");
            call->state = CALL_DONE;
        } else {
            rest = true;
        }
    }
    return !rest;
}

static void cover(struct node *node, struct approval_row *row)
{
    struct record *record = database_find(row->run_id);

    if (!is_open(row))
        return;
    world_note("    %s is covered by the grant", row->id);
    row->status = APPROVAL_APPROVED;
    row->decided_at = clock_wall_us();
    if (!is_of_thread(row)) {
        store_wake_others(&node->store, WAKEUP_ANSWERED, row->run_id);
        (void)engine_check_approvals(node->engine, row->run_id);
        return;
    }
    memcpy(row->used_by, row->run_id, sizeof(row->run_id));
    if (!answer_call(row))
        return;
    row_set(&record->row.required_action, NULL);
    database_move(record, RUN_QUEUED);
    record->submitted = false;
    record->lease.wait_until = 0;
    store_wake_others(&node->store, WAKEUP_CLAIM, NULL);
}

static void cover_first(struct node *node, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cover(node, &world->database->approvals[i]);
}

/* ---- The person who makes it ---- */

struct granting {
    struct actor actor;
    size_t seen; /* questions that were there when it looked */
    bool committed;
};

static void leave(struct granting *granting)
{
    world->grants->under_way = false;
    actor_leave(&granting->actor);
    free(granting);
}

static void commit(struct granting *granting, struct node *node)
{
    if (store_call_fails(&node->store)) {
        leave(granting);
        return;
    }
    world_note("    the grant is made");
    world->grants->made = world->grants->looks = true;
    granting->committed = true;
    cover_first(node, granting->seen);
    if (store_call_is_forgotten())
        leave(granting);
}

/* If it fails, it is still owed. */
static void look(struct granting *granting, struct node *node)
{
    if (!store_call_fails(&node->store)) {
        cover_first(node, world->database->approval_count);
        world->grants->looks = false;
    }
    leave(granting);
}

static void do_next(struct actor *actor)
{
    struct granting *granting = CONTAINER_OF(actor, struct granting, actor);

    if (granting->committed)
        look(granting, actor->node);
    else
        commit(granting, actor->node);
}

static const struct actor_ops granting_ops = {
    .thing = THING_CLIENT,
    .act = do_next,
};

bool grant_begin(struct node *node)
{
    struct granting *granting;

    if (world->grants->made || world->grants->under_way)
        return false;
    granting = mem_new(struct granting);
    granting->seen = world->database->approval_count;
    world->grants->under_way = true;
    actor_join(&granting->actor, &granting_ops, node);
    return true;
}

void grants_forget(struct node *node)
{
    for (size_t i = world->actors.count; i-- > 0;) {
        struct actor *actor = world->actors.list[i];

        if (actor->ops == &granting_ops && actor->node == node)
            leave(CONTAINER_OF(actor, struct granting, actor));
    }
}

/* ---- Checks ---- */

void grants_note_question(size_t place)
{
    world->grants->owed[place] = is_for_permission(&world->database->approvals[place]);
}

static bool owes(size_t place, const struct run_write *write)
{
    return world->grants->owed[place] &&
           (!write || strcmp(world->database->approvals[place].run_id, write->run_id) == 0);
}

/* Of the questions of one write; NULL: of all. */
static void look_for(struct node *node, const struct run_write *write)
{
    for (size_t i = 0; i < world->database->approval_count; i++) {
        if (!owes(i, write))
            continue;
        if (store_call_fails(&node->store))
            return;
        if (world->grants->made)
            cover(node, &world->database->approvals[i]);
        world->grants->owed[i] = false;
    }
}

void grants_look_for(struct node *node, const struct run_write *write)
{
    if (!write->rc && write->approval_count)
        look_for(node, write);
}

void grants_look_again(struct node *node)
{
    look_for(node, NULL);
    if (!world->grants->looks || store_call_fails(&node->store))
        return;
    cover_first(node, world->database->approval_count);
    world->grants->looks = false;
}

/* ---- The rule ---- */

static bool waits_beside(const struct client *client)
{
    for (size_t i = 0; world->grants->made && i < world->database->approval_count; i++) {
        const struct approval_row *row = &world->database->approvals[i];

        if (strcmp(row->run_id, client->run_id) == 0 && is_open(row))
            return true;
    }
    return false;
}

void grants_check(void)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        uint64_t *since = &world->grants->beside_ns[i];

        if (database_is_away() || !waits_beside(world->clients[i]))
            *since = 0;
        else if (!*since)
            *since = world->now_ns;
        else
            world_expect(world->now_ns - *since < BESIDE_NS, "a run waits beside a grant");
    }
}

enum err_code store_grants_find(struct store *store, const struct grant_place *place,
                                const struct grant_question *questions, size_t count,
                                struct grant_row **ret_grants, struct err *err)
{
    (void)place;
    if (store_call_fails(store))
        return err_set(err, ERR_STORE, "the database is away");
    *ret_grants = mem_new_array(struct grant_row, count + 1);
    for (size_t i = 0; world->grants->made && i < count; i++) {
        if (!questions[i].type)
            continue;
        (*ret_grants)[i].approve = true;
        (void)snprintf((*ret_grants)[i].id, sizeof((*ret_grants)[i].id), "grant_1");
    }
    return ERR_OK;
}
