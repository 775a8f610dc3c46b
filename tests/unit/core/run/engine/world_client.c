/*
 * The client, and the endpoint that serves it.
 *
 * A client of this world has no HTTP. What an endpoint would do with its request is done here, with the
 * same calls of the store and the engine in the same order: server/api/assistants/runs.c,
 * server/api/responses/response_create.c, server/api/runnel/approvals.c. When the order of these calls
 * changes there, it must change here, or the schedules test a server that does not exist.
 *
 * What it wants is computed from the rows each time (wants_something()), and is no state of its own. So
 * it behaves as a polling client does: it sees a commit as soon as the database has it, and may act on it
 * before the loop that wrote it has been notified. That is where the order `report_last` finds bugs.
 *
 * A request to a store that fails is not repeated, because the request of a real client would have
 * been answered with an error. What such a request did or did not do is for the rules to find out.
 * What it still wants it tries again in a later step.
 *
 * An incident may act for the client at any step, also when it makes no sense: outputs for a run that
 * waits for nothing, a second decision. The store must refuse these, and nothing may follow from them.
 */

#include "tests/unit/core/run/engine/world_client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/engine/follow.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/tables/approvals/approvals.h"
#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/schedule.h"
#include "tests/unit/core/run/engine/world_database.h"
#include "tests/unit/core/run/engine/world_grants.h"
#include "tests/unit/core/run/engine/world_tools.h"

static const struct tenant world_tenant = {.project = "proj_1", .user = ""};

static bool is_of_thread(void)
{
    return world->scenario->face == FACE_ASSISTANTS;
}

static bool is(enum run_flags flag)
{
    return world->scenario->flags & flag;
}

/* ---- Making the run ---- */

static struct run_row make_row(const struct client *client)
{
    const struct scenario *scenario = world->scenario;
    struct run_row run = {
        .project = "proj_1",
        .face = scenario->face,
        .flags = scenario->flags,
        .status = is_of_thread() || is(RUN_BACKGROUND) ? RUN_QUEUED : RUN_IN_PROGRESS,
        .config = mem_strdup(scenario->config),
        .metadata = mem_strdup("{}"),
        .created_at = clock_wall_us(),
        .expires_at = clock_wall_us() + schedule_expiry_us(),
    };

    id_make(run.id, is_of_thread() ? "run_" : "resp_");
    if (is_of_thread() || scenario->conversation)
        memcpy(run.thread_id, client->thread_id, sizeof(run.thread_id));
    if (is_of_thread())
        (void)snprintf(run.assistant_id, sizeof(run.assistant_id), "asst_1");
    return run;
}

static struct item_row make_message(const struct run_row *run)
{
    struct item_row item = {
        .input = true,
        .turn = -1,
        .status = ITEM_COMPLETED,
        .type = ITEM_MESSAGE,
        .role = "user",
        .body = mem_strdup("{\"content\":[{\"type\":\"input_text\",\"text\":\"Hello\"}]}"),
        .created_at = clock_wall_us(),
        .completed_at = clock_wall_us(),
    };

    id_make(item.id, "msg_");
    if (is_of_thread()) {
        item.metadata = mem_strdup("{}");
        memcpy(item.thread_id, run->thread_id, sizeof(item.thread_id));
    } else {
        memcpy(item.run_id, run->id, sizeof(item.run_id));
    }
    return item;
}

static void listen_from(struct client *client, struct run_start *start, int64_t first)
{
    client->stream =
        stream_new(client, client->node,
                   start->load.run.flags & RUN_STREAMED ? STREAM_EVENTS : STREAM_ANSWER, first);
    start->sink = &client->stream->sink;
}

/* As server/api/assistants/runs.c. Without a stream the client is answered at once, and polls. */
static void make_run(struct client *client)
{
    struct run_start start = {.arrival = ARRIVAL_NEW};
    struct run_row run = make_row(client);
    struct item_row message = make_message(&run);
    const struct run_creation creation = {
        .run = &run, .messages = &message, .message_count = 1};

    memcpy(client->run_id, run.id, sizeof(client->run_id));
    client->expires_at = run.expires_at;
    if (store_run_create(&client->node->store, &creation, &start.load, NULL) == ERR_OK) {
        client->acknowledged = true;
        if (is(RUN_STREAMED))
            listen_from(client, &start, 0);
        engine_run(client->node->engine, &start);
    }
    run_row_clear(&run);
    item_row_clear(&message);
}

/* As server/api/responses/response_create.c. A response in a conversation is stored before it comes to
 * its loop; any other is stored by its loop. */
static void make_response(struct client *client)
{
    struct run_start start = {.arrival = ARRIVAL_NEW};
    struct run_load *load = &start.load, made = {0};
    struct run_creation creation = {.run = &load->run};

    load->run = make_row(client);
    load->items = mem_new_array(struct item_row, 1);
    load->items[0] = make_message(&load->run);
    load->item_count = 1;
    load->next_position = 1;
    memcpy(client->run_id, load->run.id, sizeof(client->run_id));
    client->expires_at = load->run.expires_at;
    if (world->scenario->conversation) {
        creation.messages = load->items;
        creation.message_count = 1;
        if (store_run_create(&client->node->store, &creation, &made, NULL)) {
            run_load_clear(load);
            return;
        }
        load->fence = made.fence;
        run_load_clear(&made);
    }
    listen_from(client, &start, 0);
    engine_run(client->node->engine, &start);
}

/* ---- What the client wants next ---- */

static const struct record *its_record(const struct client *client)
{
    return client->made ? database_find(client->run_id) : NULL;
}

/* Its stream broke before the run had ended. A client that has hung up does not return. */
static bool wants_to_follow(const struct client *client)
{
    const struct stream *stream = client->stream;

    if (!is(RUN_RESUMABLE) || !its_record(client) || !stream || stream->kind != STREAM_EVENTS ||
        stream->gone || *stream->terminal)
        return false;
    return stream->broken || (stream->closed && !stream->ended);
}

static bool is_question(const struct call_row *call)
{
    return strcmp(call->tool, RUN_APPROVAL_FUNCTION) == 0;
}

static bool is_open(const struct call_row *call, const struct client *client)
{
    return strcmp(call->run_id, client->run_id) == 0 && call->client &&
           call->state == CALL_WAITING;
}

static bool would_answer(const struct call_row *call)
{
    return is_question(call) ? world->scenario->decision != DECISION_NONE
                             : world->scenario->submits;
}

/* The run waits, and the client can answer everything that it waits for. */
static bool wants_to_submit(const struct client *client)
{
    const struct record *record = its_record(client);
    bool any = false;

    if (!record || record->row.status != RUN_REQUIRES_ACTION ||
        record->row.expires_at <= clock_wall_us())
        return false;
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *call = &world->database->calls[i];

        if (!is_open(call, client))
            continue;
        if (!would_answer(call))
            return false;
        any = true;
    }
    return any;
}

/* The first approval request of its run that is pending. */
static const struct approval_row *find_question(const struct client *client)
{
    for (size_t i = 0; client->made && i < world->database->approval_count; i++) {
        const struct approval_row *row = &world->database->approvals[i];

        if (row->status == APPROVAL_PENDING && strcmp(row->run_id, client->run_id) == 0)
            return row;
    }
    return NULL;
}

/* Only if a response is held for it. Without a hold, the next request of a client would decide. */
static bool wants_to_decide(const struct client *client)
{
    const struct approval_row *question = find_question(client);

    return world->scenario->decision != DECISION_NONE && question &&
           strcmp(question->used_by, client->run_id) == 0;
}

/* A person elsewhere allows what its plan asks, while the question is on its way or when it is stored. */
static bool wants_grant(const struct client *client)
{
    enum granting_time time = world->scenario->grants;

    return time != GRANT_NEVER && !world->grants->made && !world->grants->under_way &&
           its_record(client) &&
           (find_question(client) ||
            (time == GRANT_BESIDE && execution_of(client->run_id, "k2")));
}

static bool wants_something(struct actor *actor)
{
    const struct client *client = CONTAINER_OF(actor, struct client, actor);

    if (database_is_away())
        return false;
    return !client->made || wants_to_follow(client) || wants_to_submit(client) ||
           wants_to_decide(client) || wants_grant(client);
}

bool client_is_done(struct client *client)
{
    return client->made && !wants_something(&client->actor);
}

/* ---- Following ---- */

static struct stream *follow(struct client *client, struct node *node, int64_t first)
{
    struct stream *stream = stream_new(client, node, STREAM_EVENTS, first);

    stream->numbered = true;
    engine_follow(node->engine, &(struct follow){.tenant = &world_tenant,
                                                 .run = &its_record(client)->row,
                                                 .first_seq = first,
                                                 .flags = FOLLOW_NUMBERED | FOLLOW_WAITING,
                                                 .sink = &stream->sink});
    return stream;
}

bool client_follow(struct client *client, struct node *node)
{
    if (!is(RUN_RESUMABLE) || !its_record(client))
        return false;
    (void)follow(client, node, 0);
    return true;
}

bool client_follow_deaf(struct client *client, struct node *node)
{
    if (!is(RUN_RESUMABLE) || !its_record(client))
        return false;
    stream_deafen(follow(client, node, 0));
    return true;
}

/* ---- Outputs ---- */

#define ANSWERS 8

static const char *output_of(const struct call_row *call, bool approve)
{
    if (!is_question(call))
        return "42";
    return approve ? "{\"approve\":true}" : "{\"approve\":false}";
}

/* One for each call that waits. The caller frees the array; the texts are borrowed from the rows. */
static struct tool_answer *make_answers(const struct client *client, size_t *ret_count)
{
    struct tool_answer *answers = mem_new_array(struct tool_answer, ANSWERS);
    bool approve =
        world->scenario->decision == DECISION_APPROVE || world->scenario->grants != GRANT_NEVER;

    *ret_count = 0;
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *call = &world->database->calls[i];

        if (!is_open(call, client))
            continue;
        assert(*ret_count < ANSWERS);
        answers[(*ret_count)++] = (struct tool_answer){
            .call_id = call->call_id, .output = output_of(call, approve), .approve = approve};
    }
    return answers;
}

/* A submission that is repeated is recognised by its hash. Any function of the ids will do. */
static void hash_answers(const struct tool_answer *answers, size_t count,
                         unsigned char hash[32])
{
    memset(hash, 0, 32);
    for (size_t i = 0; i < count; i++) {
        for (const char *at = answers[i].call_id; *at; at++)
            hash[(at - answers[i].call_id) % 32] ^= (unsigned char)*at;
    }
}

/* The run continues on the node to which the outputs were submitted, with a new stream from there on. */
static void continue_run(struct client *client, struct node *node, struct run_start *start)
{
    start->load.run.flags &= ~(unsigned)RUN_STREAMED;
    if (is(RUN_STREAMED)) {
        start->load.run.flags |= RUN_STREAMED;
        client->node = node;
        listen_from(client, start, start->load.next_seq);
    }
    engine_run(node->engine, start);
}

static bool submit(struct client *client, struct node *node)
{
    struct run_start start = {.arrival = ARRIVAL_SUBMITTED};
    size_t count;
    AUTO_FREE struct tool_answer *answers = make_answers(client, &count);
    unsigned char hash[32];
    const struct submission submission = {.tenant = &world_tenant,
                                          .thread_id = client->thread_id,
                                          .run_id = client->run_id,
                                          .answers = answers,
                                          .count = count,
                                          .hash = hash};
    bool repeated = false;
    enum err_code rc;

    hash_answers(answers, count, hash);
    rc = store_run_submit(&node->store, &submission, &start.load, &repeated, NULL);
    world_note("    submits %zu outputs: %d%s", count, (int)rc, repeated ? ", repeated" : "");
    if (rc)
        return true;
    if (repeated)
        run_load_clear(&start.load);
    else
        continue_run(client, node, &start);
    return true;
}

bool client_submit(struct client *client, struct node *node)
{
    return is_of_thread() && its_record(client) && submit(client, node);
}

/* ---- Decisions ---- */

static void decide_held(struct node *node, const struct approval_row *question, bool approve)
{
    const struct approval_answer answer = {.id = question->id, .approve = approve};
    struct approval_row row;

    if (store_approval_decide(&node->store, &world_tenant, &answer, NULL, &row, NULL))
        return;
    if (strcmp(row.used_by, row.run_id) == 0 &&
        !engine_check_approvals(node->engine, row.run_id))
        store_wake_others(&node->store, WAKEUP_ANSWERED, row.run_id);
    approval_row_clear(&row);
}

/* This request has no stream. Clients that follow the run receive what comes of it. */
static void decide_of_run(const struct client *client, struct node *node,
                          const struct approval_row *question, bool approve)
{
    struct run_start start = {.arrival = ARRIVAL_SUBMITTED};
    const struct tool_answer answer = {
        .call_id = question->id,
        .output = approve ? "{\"approve\":true}" : "{\"approve\":false}",
        .approve = approve,
    };
    unsigned char hash[32];
    const struct submission submission = {.tenant = &world_tenant,
                                          .thread_id = client->thread_id,
                                          .run_id = client->run_id,
                                          .answers = &answer,
                                          .count = 1,
                                          .hash = hash};
    bool goes_on = false;

    hash_answers(&answer, 1, hash);
    if (store_run_decide(&node->store, &submission, &start.load, &goes_on, NULL))
        return;
    start.load.run.flags &= ~(unsigned)RUN_STREAMED;
    if (goes_on)
        engine_run(node->engine, &start);
    else
        run_load_clear(&start.load);
}

static bool decide(struct client *client, struct node *node, bool approve)
{
    const struct approval_row *question = find_question(client);

    if (!question)
        return false;
    world_note("    says %s", approve ? "yes" : "no");
    if (is_of_thread())
        decide_of_run(client, node, question, approve);
    else
        decide_held(node, question, approve);
    return true;
}

bool client_approve(struct client *client, struct node *node)
{
    return decide(client, node, true);
}

bool client_reject(struct client *client, struct node *node)
{
    return decide(client, node, false);
}

/* ---- Cancelling, steering, leaving ---- */

/* A run without an owner is claimed by the cancel, and ended on this node, as server/api/assistants/runs.c
 * does it. */
bool client_cancel(struct client *client, struct node *node)
{
    enum cancel_outcome outcome;
    struct run_load load = {0};
    enum err_code rc;

    if (!is(RUN_RESUMABLE) || !its_record(client))
        return false;
    rc =
        store_run_cancel(&node->store, &world_tenant, is_of_thread() ? client->thread_id : NULL,
                         client->run_id, 100, &outcome, &load, NULL);
    if (rc)
        return rc == ERR_STORE; /* the answer was lost: it may be cancelled all the same */
    if (outcome == CANCEL_OWNED_HERE)
        engine_cancel(node->engine, client->run_id);
    if (outcome == CANCEL_CLAIMED)
        node_take_over(node, &load);
    else
        run_load_clear(&load);
    return true;
}

bool client_grant(struct client *client, struct node *node)
{
    (void)client;
    return world->scenario->grants != GRANT_NEVER && grant_begin(node);
}

bool client_steer(struct client *client, struct node *node)
{
    return client->made && !is_of_thread() &&
           engine_steer(node->engine, client->run_id, "steer_1");
}

static struct stream *open_stream(const struct client *client)
{
    struct stream *stream = client->stream;

    return stream && !stream->closed && !stream_is_cut(stream) ? stream : NULL;
}

bool client_hang_up(struct client *client)
{
    struct stream *stream = open_stream(client);

    if (stream)
        stream_hang_up(stream);
    return stream;
}

bool client_leave_midway(struct client *client)
{
    struct stream *stream = open_stream(client);

    if (!stream || stream->leaving || stream->kind != STREAM_EVENTS)
        return false;
    stream->leaving = true;
    return true;
}

/* ---- The client ---- */

static void do_next(struct actor *actor)
{
    struct client *client = CONTAINER_OF(actor, struct client, actor);

    client->node = node_up(client->node);
    if (!client->made) {
        client->made = true;
        if (is_of_thread())
            make_run(client);
        else
            make_response(client);
    } else if (wants_to_follow(client)) {
        client->stream =
            follow(client, client->node, client->stream->first + client->stream->count);
    } else if (wants_grant(client)) {
        (void)grant_begin(client->node);
    } else if (wants_to_submit(client) && !world->scenario->decides) {
        (void)submit(client, client->node);
    } else {
        (void)decide(client, client->node, world->scenario->decision == DECISION_APPROVE);
    }
}

static const struct actor_ops client_ops = {
    .thing = THING_CLIENT,
    .is_ready = wants_something,
    .act = do_next,
};

void clients_join(struct node *node)
{
    unsigned count = world->scenario->clients ? world->scenario->clients : 1;

    assert(count <= WORLD_CLIENTS);
    while (world->client_count < count) {
        struct client *client = mem_new(struct client);

        client->node = node;
        world->clients[world->client_count++] = client;
        (void)snprintf(client->thread_id, sizeof(client->thread_id), "thread_%u",
                       world->client_count);
        actor_join(&client->actor, &client_ops, NULL);
    }
}

void clients_free(void)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        actor_leave(&world->clients[i]->actor);
        free(world->clients[i]);
    }
}
