/*
 * socket/turn.c -- lanes, and the responses in them.
 *
 *   turn_add() ─▶ queue ─▶ start_lane() ─▶ worker: make_run() ─▶ was_made() ─▶ run() ─▶ events ─▶ end_turn()
 *                                               │                   ▲    ├─▶ fail(): an error event
 *                                               │ files             │    └─▶ the client has left: dropped
 *                                               └─▶ fetched ─▶ reader: make_run()
 *
 * A turn is in its lane's queue, or it is the lane's active turn. An active turn is first with a worker,
 * which makes the run as a POST would (response_create.h), and then with the engine, as a sink on the
 * loop of the socket. While a turn is active, the others of its lane wait: the next create usually
 * continues the response before it, and must find it ended.
 *
 * Its sink receives the same frames as a stream of server-sent events (frames.h). Rendering events once
 * for both transports keeps them equal, and finding the JSON in a frame is cheaper than a second
 * rendering. The sink also receives the run's context at its end, for the memory of the connection.
 *
 * Who frees a turn? Three parties may still need it: the worker, the engine, and the task `cancel` in
 * the loop's inbox. The worker always comes back by was_made(), and the engine by sink_close(), so
 * end_turn() runs exactly once. If `cancel` is posted then, the task frees the turn. Each turn holds
 * the socket, so the session outlives it.
 *
 * The client may leave at any moment. A turn in a queue is freed. A run is cancelled. A turn that is
 * with its worker is dropped when it comes back, unless its run is in the store already: then the run
 * starts and is cancelled at once, so that its row gets a final status.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/runs/runs.h"
#include "server/api/auth.h"
#include "server/api/input_files.h"
#include "server/api/responses/inline_skills.h"
#include "server/api/responses/response_create.h"
#include "server/api/responses/socket/session.h"
#include "server/complaint.h"
#include "server/files/awaited_files.h"
#include "server/server.h"

static void start_lane(struct session *session, struct lane *lane);

/* ---- Making and unmaking ---- */

static struct turn *turn_new(struct session *session)
{
    struct turn *turn = mem_new(struct turn);

    turn->session = session;
    turn->generate = true;
    websocket_hold(session->socket);
    return turn;
}

static void drop_body(struct turn *turn)
{
    json_decref(turn->body);
    turn->body = NULL;
    session_uncount(turn->session, turn->counted);
    turn->counted = 0;
}

/* The session may be gone after this. */
static void turn_free(struct turn *turn)
{
    struct session *session = turn->session;

    drop_body(turn);
    steers_clear(session, &turn->steers_in);
    steers_clear(session, &turn->steers);
    past_release(session->memory, turn->past);
    json_decref(turn->required);
    input_files_free(turn->files);
    free(turn->settings);
    free(turn->text);
    free(turn);
    websocket_release(session->socket);
}

/* ---- Lanes ---- */

static struct lane *find_lane(const struct session *session, const char *name)
{
    struct lane *lane = session->lanes;

    while (lane && strcmp(lane->name, name) != 0)
        lane = lane->next;
    return lane;
}

static struct lane *add_lane(struct session *session, const char *name)
{
    struct lane *lane = mem_new(struct lane);

    (void)snprintf(lane->name, sizeof(lane->name), "%s", name);
    lane->last = &lane->first;
    lane->next = session->lanes;
    session->lanes = lane;
    session->lane_count++;
    return lane;
}

static void remove_lane(struct session *session, struct lane *lane)
{
    struct lane **at = &session->lanes;

    while (*at != lane)
        at = &(*at)->next;
    *at = lane->next;
    session->lane_count--;
    free(lane);
}

static void put_last(struct lane *lane, struct turn *turn)
{
    turn->lane = lane;
    *lane->last = turn;
    lane->last = &turn->next;
    turn->session->waiting++;
    turn->session->waiting_bytes += turn->length;
}

static void put_first(struct lane *lane, struct turn *turn)
{
    turn->lane = lane;
    turn->next = lane->first;
    lane->first = turn;
    if (!turn->next)
        lane->last = &turn->next;
    turn->session->waiting++;
    turn->session->waiting_bytes += turn->length;
}

static struct turn *take_first(struct lane *lane)
{
    struct turn *turn = lane->first;

    if (!turn)
        return NULL;
    lane->first = turn->next;
    if (!lane->first)
        lane->last = &lane->first;
    turn->next = NULL;
    turn->session->waiting--;
    turn->session->waiting_bytes -= turn->length;
    return turn;
}

/* ---- The end of a turn ---- */

/* The caller's last step: the turn is freed, and perhaps the session with it. */
static void end_turn(struct turn *turn)
{
    struct session *session = turn->session;
    struct lane *lane = turn->lane;

    lane->active = NULL;
    start_lane(session, lane);
    session_close_if_idle(session);
    turn->closed = true;
    if (!turn->cancel_posted)
        turn_free(turn);
}

/* ---- The sink of a run ---- */

static struct turn *turn_of(struct sink *sink)
{
    return CONTAINER_OF(sink, struct turn, sink);
}

static bool was_steered(const char *json, size_t length)
{
    json_auto_t *event = NULL;
    const json_t *response, *details;

    if (json_parse(json, length, &event, NULL))
        return false;
    response = json_object_get(event, "response");
    details = json_object_get(response, "incomplete_details");
    return strcmp(json_get_string(details, "reason", ""), "steered") == 0;
}

static bool name_is(const char *name, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(name, word, length) == 0;
}

/* Notes how the response ends. The numbers of events have no gaps, so a count of them is the next number.
 * Only the end needs its JSON parsed, to see whether it was steered. */
static void note_event(struct turn *turn, const char *name, size_t name_length,
                       const char *json, size_t length)
{
    turn->next_sequence++;
    if (name_is(name, name_length, "response.created"))
        steers_clear(turn->session, &turn->steers_in); /* they are the response's now */
    else if (name_is(name, name_length, "response.completed"))
        turn->end = TURN_COMPLETED;
    else if (name_is(name, name_length, "response.failed"))
        turn->end = TURN_FAILED;
    else if (name_is(name, name_length, "response.incomplete"))
        turn->end =
            turn->steers.count && was_steered(json, length) ? TURN_STEERED : TURN_INCOMPLETE;
}

static void send_event(const struct turn *turn, const char *json, size_t length)
{
    AUTO_BUF text = {0};

    if (!*turn->lane->name) {
        websocket_text(turn->session->socket, json, length);
        return;
    }
    buf_add(&text, json, length - 1); /* without its last brace */
    buf_add_text(&text, ",\"stream_id\":\"");
    buf_add_text(&text, turn->lane->name); /* has nothing to escape */
    buf_add_text(&text, "\"}");
    websocket_text(turn->session->socket, text.data, text.length);
}

#define EVENT "event: "
#define DATA  "\ndata: "

/* Sends the JSON of each frame as a message. Comments, and the "[DONE]" at the end of a stream, have no
 * event name and are skipped. */
static void sink_events(struct sink *sink, const char *frames, size_t length)
{
    struct turn *turn = turn_of(sink);
    const char *end = frames + length;

    while (frames < end) {
        const char *stop = memmem(frames, (size_t)(end - frames), "\n\n", 2);
        const char *data = memmem(frames, (size_t)(end - frames), DATA, strlen(DATA));

        if (!stop)
            break;
        if (data && data < stop && strncmp(frames, EVENT, strlen(EVENT)) == 0) {
            const char *name = frames + strlen(EVENT);
            const char *json = data + strlen(DATA);

            note_event(turn, name, (size_t)(data - name), json, (size_t)(stop - json));
            send_event(turn, json, (size_t)(stop - json));
        }
        frames = stop + 2;
    }
    websocket_flush(turn->session->socket);
}

/* Remembers the response. Its items are not kept if it has failed, or if it is in a conversation: that may
 * grow before it is continued, and only the store knows how it stands then. */
static void sink_context(struct sink *sink, const struct item_row *const *items, size_t count)
{
    struct turn *turn = turn_of(sink);
    struct session *session = turn->session;
    bool failed = turn->end == TURN_FAILED || turn->end == TURN_RUNS;
    struct ws_response *response;

    if (session->gone)
        return;
    if (failed || (turn->stored && turn->in_conversation))
        response = ws_memory_keep(session->memory, turn->id, NULL, NULL, 0);
    else
        response = ws_memory_keep(session->memory, turn->id, turn->past, items, count);
    response->stored = turn->stored;
    response->completed = turn->end == TURN_COMPLETED;
    memcpy(response->lane, turn->lane->name, sizeof(response->lane));
    turn->remembered = response;
    turn->required = steer_required(items, count, turn->id);
}

/* The run left the engine without a final event: this node lost its lease. */
static void send_lost(struct turn *turn)
{
    struct err err;

    err_set(&err, ERR_INTERNAL, "response %s ended without a last event", turn->id);
    session_error(turn->session, turn->lane->name, &err);
}

static void sink_close(struct sink *sink)
{
    struct turn *turn = turn_of(sink);

    turn->running = false;
    if (turn->end == TURN_RUNS && !turn->session->gone)
        send_lost(turn);
    if (turn->steers_in.count)
        steer_unclaim(turn);
    steer_settle(turn, turn->remembered);
    if (turn->remembered)
        turn->remembered->next_sequence = turn->next_sequence;
    end_turn(turn);
}

static const struct sink_ops sink_ops = {
    .events = sink_events,
    .context = sink_context,
    .close = sink_close,
};

/* ---- Making a run: on a worker ---- */

static enum err_code find_body(struct turn *turn, struct err *err)
{
    struct ws_command command = {0};
    enum err_code rc;

    if (turn->automatic) {
        turn->body = json_parse_own(turn->settings);
        json_set_string(turn->body, "previous_response_id", turn->parent);
        return ERR_OK;
    }
    if (turn->body)
        return ERR_OK;
    rc = ws_command_parse(turn->text, turn->length, &command, err);
    turn->body = command.body;
    return rc;
}

/* The part of a body that an automatic successor inherits. The caller frees. */
static char *settings_of(const json_t *body)
{
    json_auto_t *settings = json_copy((json_t *)(uintptr_t)body);

    json_object_del(settings, "input");
    json_object_del(settings, "previous_response_id");
    return json_text(settings);
}

/* The key may have been revoked since the connection was opened, and the server may be draining. */
static enum err_code check_key(const struct turn *turn, struct tenant *ret_tenant,
                               struct err *err)
{
    struct server *server = turn->session->server;

    if (atomic_load(&server->draining))
        return err_set(err, ERR_UPSTREAM,
                       "The server is shutting down. Please retry your request.");
    return auth_check(server, turn->session->authorization, ret_tenant, err);
}

/* A stored response may have been deleted since: then its memory must not be used. */
static enum err_code check_parent(struct turn *turn, struct response_create *create,
                                  struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    enum err_code rc;

    if (!turn->past || !turn->parent_stored)
        return ERR_OK;
    rc = store_run_get(create->server->store, create->tenant, NULL, turn->parent, &run, err);
    if (rc == ERR_NOT_FOUND)
        create->past = NULL; /* loading the chain from the store then reports the error */
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

static enum err_code make_run(struct turn *turn, struct err *err)
{
    struct server *server = turn->session->server;
    struct item_row *past = NULL;
    struct response_create create = {
        .server = server,
        .tenant = &turn->tenant,
        .body = turn->body,
        .idle = !turn->generate,
        .loop = turn->session->loop,
        .past = turn->past ? &past : NULL,
    };
    enum err_code rc = check_parent(turn, &create, err);

    if (rc)
        return rc;
    if (create.past)
        past = past_items(turn->past, engine_context_limit(server->engine), &create.past_count,
                          &create.past_cut);
    rc = response_create_prepare(&create, &turn->start, err);
    if (past)
        item_rows_free(past, create.past_count);
    return rc;
}

static enum err_code prepare(struct turn *turn, struct err *err)
{
    const struct session *session = turn->session;
    struct tenant now = {0};
    enum err_code rc = check_key(turn, &now, err);

    turn->tenant = session->tenant;
    turn->tenant.features = now.features;
    if (!rc)
        rc = find_body(turn, err);
    if (rc)
        return rc;
    if (!turn->automatic)
        turn->settings = settings_of(turn->body);
    turn->compacts = json_array_size(json_object_get(turn->body, "context_management")) > 0;
    if (turn->steers_in.count)
        json_set(turn->body, "input",
                 steers_input(&turn->steers_in, json_object_get(turn->body, "input")));
    input_files_drop_notes(turn->body, "input");
    inline_skills_drop_notes(turn->body);
    turn->packed = inline_skills_packed(turn->body);
    turn->files =
        input_files_find(session->server, &turn->tenant, turn->body, "input", session->loop);
    return ERR_OK;
}

static void give_back(struct turn *turn, enum err_code rc)
{
    turn->rc = turn->err.code = rc;
    loop_post(turn->session->loop, &turn->done);
}

static void make_on_worker(struct work *work)
{
    struct turn *turn = CONTAINER_OF(work, struct turn, work);
    enum err_code rc = prepare(turn, &turn->err);

    if (!rc && !turn->files && !turn->packed)
        rc = make_run(turn, &turn->err);
    give_back(turn, rc);
}

/* On a reader: a PDF takes seconds, a skill's zip too, and the workers have other connections. */
static void read_and_make(struct work *work)
{
    struct turn *turn = CONTAINER_OF(work, struct turn, work);
    enum err_code rc =
        turn->files ? input_files_read(turn->files, turn->body, &turn->err) : ERR_OK;

    turn->packed = false;
    input_files_free(TAKE(turn->files));
    if (!rc)
        rc = make_run(turn, &turn->err);
    give_back(turn, rc);
}

/* ---- From the queue to the engine ---- */

static void cancel_ran(struct loop_task *task)
{
    struct turn *turn = CONTAINER_OF(task, struct turn, cancel);

    turn->cancel_posted = false;
    if (turn->closed)
        turn_free(turn);
    else if (turn->sink.gone)
        turn->sink.gone(&turn->sink, turn->sink.gone_arg);
}

/* Cancels the run, by a task in the loop's inbox. The run's arrival may still be in that inbox and must be
 * first; and the engine may be calling this sink right now, and must not be called back. */
static void cancel_turn(struct turn *turn)
{
    if (!turn->running || turn->cancel_posted)
        return;
    turn->cancel_posted = true;
    turn->cancel.run = cancel_ran;
    loop_post(turn->session->loop, &turn->cancel);
}

static void run(struct turn *turn)
{
    const struct run_row *row = &turn->start.load.run;

    memcpy(turn->id, row->id, sizeof(turn->id));
    turn->stored = row->flags & RUN_STORED;
    turn->in_conversation = *row->thread_id != '\0';
    turn->sink.ops = &sink_ops;
    turn->start.sink = &turn->sink;
    turn->start.without_model = !turn->generate;
    turn->running = true;
    awaited_files_run(turn->session->server, &turn->start);
    if (turn->session->gone)
        cancel_turn(turn);
}

/* As OpenAI does it: if a response cannot be continued, the next attempt does not use its memory. */
static void forget_parent(const struct turn *turn)
{
    struct ws_response *parent = ws_memory_find(turn->session->memory, turn->parent);

    if (parent && !parent->waiting)
        ws_memory_forget(turn->session->memory, parent);
}

static void fail(struct turn *turn)
{
    if (!turn->automatic)
        session_error(turn->session, turn->lane->name, &turn->err);
    steer_unclaim(turn);
    forget_parent(turn);
    end_turn(turn);
}

static void was_made(struct loop_task *task);

static void put_to_reader(struct turn *turn)
{
    turn->work.run = read_and_make;
    turn->done.run = was_made;
    workers_put(turn->session->server->readers, &turn->work);
}

static void was_fetched(struct loop_task *task)
{
    struct turn *turn = CONTAINER_OF(task, struct turn, done);

    turn->fetching = false;
    if (turn->session->gone)
        was_made(task);
    else
        put_to_reader(turn);
}

static void fetched(void *arg)
{
    struct turn *turn = arg;

    turn->done.run = was_fetched;
    loop_post(turn->session->loop, &turn->done);
}

/* No thread waits for other servers. */
static void take_files(struct turn *turn)
{
    turn->fetching = input_files_fetch(turn->files, fetched, turn);
    if (!turn->fetching)
        put_to_reader(turn);
}

static void was_made(struct loop_task *task)
{
    struct turn *turn = CONTAINER_OF(task, struct turn, done);

    if (!turn->rc && turn->files && !turn->session->gone) {
        take_files(turn);
        return;
    }
    if (!turn->rc && turn->packed && !turn->session->gone) {
        put_to_reader(turn);
        return;
    }
    drop_body(turn);
    free(TAKE(turn->text));
    if (turn->rc) {
        fail(turn);
        return;
    }
    /* A run with a fence is in the store already and must get its end there: it goes to the engine. */
    if (turn->session->gone && !turn->start.load.fence) {
        run_start_clear(&turn->start);
        end_turn(turn);
        return;
    }
    turn->counted = turn->settings ? strlen(turn->settings) : 0;
    session_count(turn->session, turn->counted);
    run(turn);
}

static void find_parent(struct turn *turn)
{
    struct session *session = turn->session;
    struct ws_response *parent;

    parent = *turn->parent ? ws_memory_find(session->memory, turn->parent) : NULL;
    if (!parent)
        return;
    turn->past = past_hold(parent->past);
    turn->parent_stored = parent->stored;
    if (!turn->automatic && strcmp(parent->lane, turn->lane->name) == 0)
        steer_claim(parent, turn);
}

static void start_lane(struct session *session, struct lane *lane)
{
    struct turn *turn;

    if (lane->active)
        return;
    turn = take_first(lane);
    if (!turn) {
        remove_lane(session, lane);
        return;
    }
    lane->active = turn;
    find_parent(turn);
    turn->work.run = make_on_worker;
    turn->work.tenant = session->tenant;
    turn->done.run = was_made;
    workers_put(session->server->workers, &turn->work);
}

/* ---- Entry points ---- */

/* Limits the lanes of a connection, and the turns that wait. A turn in a new lane does not wait. */
static enum err_code check_room(const struct session *session, const struct lane *lane,
                                size_t length, struct err *err)
{
    const struct config *config = session->server->config;

    if (!lane && session->lane_count >= config->websocket_lanes)
        return err_invalid(err, "websocket_stream_limit_reached", "stream_id",
                           "This WebSocket connection has reached its stream limit.");
    if (lane && (session->waiting >= WS_TURNS_WAITING ||
                 session->waiting_bytes + length > config->max_body))
        return err_set_api(err, ERR_LIMIT, "rate_limit_exceeded", NULL,
                           "Too many responses wait on this WebSocket connection.");
    return ERR_OK;
}

void turn_add(struct session *session, struct ws_command *command, char *text, size_t length)
{
    struct lane *lane = find_lane(session, command->lane);
    struct turn *turn;
    struct err err;

    if (check_room(session, lane, length, &err)) {
        session_error(session, command->lane, &err);
        free(text);
        return;
    }
    turn = turn_new(session);
    turn->text = text;
    turn->length = length;
    turn->generate = command->generate;
    turn->counted = length;
    session_count(session, length);
    (void)snprintf(turn->parent, sizeof(turn->parent), "%s",
                   json_get_string(command->body, "previous_response_id", ""));
    if (!lane) {
        lane = add_lane(session, command->lane);
        turn->body =
            TAKE(command->body); /* it starts at once: no need to parse the text again */
    }
    put_last(lane, turn);
    start_lane(session, lane);
}

void turn_add_successor(struct turn *turn)
{
    struct turn *next = turn_new(turn->session);

    next->automatic = true;
    next->settings = TAKE(turn->settings);
    next->steers_in = turn->steers;
    turn->steers = (struct steers){0};
    memcpy(next->parent, turn->id, sizeof(turn->id));
    put_first(turn->lane, next);
}

struct turn *turn_find(const struct session *session, const char *response_id)
{
    for (struct lane *lane = session->lanes; lane; lane = lane->next) {
        if (lane->active && lane->active->running && strcmp(lane->active->id, response_id) == 0)
            return lane->active;
    }
    return NULL;
}

void turns_cancel(struct session *session)
{
    struct lane *lane = session->lanes, *next;

    for (; lane; lane = next) {
        struct turn *turn;

        next = lane->next;
        while ((turn = take_first(lane)))
            turn_free(turn);
        if (lane->active && lane->active->fetching)
            input_files_cancel(lane->active->files);
        else if (lane->active)
            cancel_turn(lane->active);
    }
}
