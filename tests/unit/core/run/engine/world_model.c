/*
 * The model: an upstream that answers from the scenario, and checks what it is sent.
 *
 * A model remembers nothing between requests, and neither does this one. The request alone says which
 * turn it is: each assistant message with calls is a turn that is over. So a run that was taken over gets
 * the same turn again if its new owner sends the same history, and a wrong one if it does not.
 *
 * Each request is checked as a strict upstream checks it. The outputs of a message's calls follow it, one
 * for each call and no other. A run that lost an output, or stored it twice, fails here rather than at an
 * upstream whose error would have to be traced back.
 *
 * A call comes in three pieces: its begin with name and id, its arguments, its end. A crash or a cancel
 * fits between any two of them.
 *
 * The events are called from within a step, and the engine may cancel the turn from within an event. So a
 * turn that is busy is freed behind the callback, as model.h allows.
 */

#include "tests/unit/core/run/engine/world_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/unit/core/run/engine/scenario.h"

static const char *const all_models[] = {"*", NULL};
const struct model_upstream world_upstream = {
    .name = "world",
    .dialect = MODEL_DIALECT_CHAT,
    .url = "http://model/v1",
    .models = all_models,
};

struct model_turn {
    struct actor actor;
    const struct model_events *events;
    void *arg;
    const struct piece *piece;
    unsigned part;  /* of a call: pieces of it that were sent */
    unsigned calls; /* that have begun */
    bool busy;      /* inside a callback */
    bool over;
};

/* ---- The request, as an upstream sees it ---- */

static bool has_calls(const json_t *message)
{
    return json_array_size(json_object_get(message, "tool_calls")) > 0;
}

static const char *role_of(const json_t *message)
{
    return json_get_string(message, "role", "");
}

/* The messages behind the one with the calls are their outputs, one of each call, and of no other. */
static void check_outputs(const json_t *messages, size_t at)
{
    const json_t *calls = json_object_get(json_array_get(messages, at), "tool_calls");
    size_t count = json_array_size(calls);

    for (size_t i = 0; i < count; i++) {
        const char *id = json_get_string(json_array_get(calls, i), "id", "");
        unsigned found = 0;

        for (size_t k = 1; k <= count; k++) {
            const json_t *output = json_array_get(messages, at + k);

            found += strcmp(role_of(output), "tool") == 0 &&
                     strcmp(json_get_string(output, "tool_call_id", ""), id) == 0;
        }
        world_expect(found == 1, "the model is sent %u outputs of call %s", found, id);
    }
    world_expect(strcmp(role_of(json_array_get(messages, at + count + 1)), "tool") != 0,
                 "the model is sent an output of no call");
}

static size_t count_text(const json_t *messages, const char *text)
{
    size_t found = 0, i;
    json_t *message;

    json_array_foreach (messages, i, message) {
        AUTO_FREE char *content = json_text(json_object_get(message, "content"));
        const char *at = strcmp(role_of(message), "assistant") == 0 ? content : NULL;

        for (; at && (at = strstr(at, text)); at += strlen(text))
            found++;
    }
    return found;
}

/* Each text is sent back once at most. A turn that was made again after a crash leaves what the model had
 * said before in the history, but the model must not see it. */
static void check_texts(const json_t *messages)
{
    for (size_t i = 0; i < SCENARIO_TURNS && world->scenario->turns[i]; i++) {
        for (const struct piece *piece = world->scenario->turns[i]; piece->kind; piece++)
            if (piece->kind == PIECE_TEXT)
                world_expect(count_text(messages, piece->text) <= 1,
                             "the model is sent its own \"%s\" twice", piece->text);
    }
}

/* Returns how many turns with calls are over. */
static size_t check_request(const json_t *request)
{
    const json_t *messages = json_object_get(request, "messages");
    size_t turns = 0, i;
    json_t *message;

    check_texts(messages);
    json_array_foreach (messages, i, message) {
        if (!has_calls(message))
            continue;
        check_outputs(messages, i);
        turns++;
    }
    return turns;
}

/* ---- The answer ---- */

static void let_go(struct model_turn *turn)
{
    turn->busy = false;
    if (turn->over)
        free(turn);
}

static void end_turn(struct model_turn *turn)
{
    const struct model_usage usage = {.known = true, .input = 5, .output = 3};

    turn->over = true;
    actor_leave(&turn->actor);
    turn->events->done(turn->arg, turn->calls ? MODEL_FINISH_TOOL_CALLS : MODEL_FINISH_STOP,
                       &usage);
}

/* Its begin, its arguments, its end: three steps. */
static void say_call(struct model_turn *turn, const struct piece *piece)
{
    unsigned call = turn->calls;

    switch (turn->part++) {
    case 0: turn->events->call_begin(turn->arg, call, piece->id, piece->name); return;
    case 1:
        turn->events->call_arguments(turn->arg, call, piece->text, strlen(piece->text));
        return;
    default:
        turn->part = 0;
        turn->calls++;
        turn->piece++;
        turn->events->call_end(turn->arg, call);
    }
}

static void speak(struct actor *actor)
{
    struct model_turn *turn = CONTAINER_OF(actor, struct model_turn, actor);
    const struct piece *piece = turn->piece;

    turn->busy = true;
    switch (piece->kind) {
    case PIECE_END: end_turn(turn); break;
    case PIECE_TEXT:
        turn->piece++;
        turn->events->text(turn->arg, piece->text, strlen(piece->text));
        break;
    case PIECE_REASONING:
        turn->piece++;
        turn->events->reasoning(turn->arg, piece->text, strlen(piece->text));
        break;
    case PIECE_CALL: say_call(turn, piece); break;
    }
    if (!turn->over)
        turn->events->read_end(turn->arg);
    let_go(turn);
}

static const struct actor_ops turn_ops = {
    .thing = THING_MODEL,
    .act = speak,
};

struct model_turn *model_turn_start(struct loop *loop, const struct model_upstream *upstream,
                                    const json_t *request, const struct json_splice *past,
                                    const struct model_events *events, void *arg)
{
    struct model_turn *turn = mem_new(struct model_turn);
    size_t number = check_request(request);

    (void)upstream;
    (void)past;
    turn->events = events;
    turn->arg = arg;
    turn->piece = scenario_turn(world->scenario, number);
    actor_join(&turn->actor, &turn_ops, loop_node(loop));
    world_note("    a request for turn %zu", number);
    return turn;
}

/* The world's models take their requests at once. */
void model_turn_when_sent(struct model_turn *turn, void (*sent)(void *arg), void *arg)
{
    (void)turn;
    sent(arg);
}

void model_turn_cancel(struct model_turn *turn)
{
    if (turn->over)
        return;
    turn->over = true;
    actor_leave(&turn->actor);
    if (!turn->busy)
        free(turn);
}

bool model_break(void)
{
    const struct model_failure failure = {
        .err = {.code = ERR_UPSTREAM, .text = "the model broke down"}};

    for (size_t i = 0; i < world->actors.count; i++) {
        struct actor *actor = world->actors.list[i];
        struct model_turn *turn = CONTAINER_OF(actor, struct model_turn, actor);

        if (actor->ops != &turn_ops || !actor_is_ready(actor))
            continue;
        turn->busy = turn->over = true;
        actor_leave(actor);
        turn->events->failed(turn->arg, &failure);
        let_go(turn);
        return true;
    }
    return false;
}
