/*
 * A request on its way to the model, by way of the operator's hook (before_send.h).
 *
 * Without a hook the request leaves at once. With one, its messages go to the hook, which may need
 * another thread. The run waits as it waits for a model: nothing blocks. A `sending` comes back as a task
 * of the loop. If the run has stopped in the meantime, run_stop_sending() has cut the link between the
 * two, and the task only frees the sending. That is why a sending belongs to its task and not to the run.
 *
 * The hook sees the request as Chat Completions, whatever the upstream speaks, and the translation comes
 * after it. So there is one form to write masks for. A hook that
 * refuses the messages fails the run.
 */

#include "core/run/turn/run.h"

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/context/context_responses.h"
#include "core/run/turn/before_send.h"

/* Freed by its task. It may outlive its run. */
struct sending {
    struct outgoing outgoing;
    struct loop_task task;
    struct loop *loop;
    struct run *run; /* only the loop reads it; NULL: the run no longer waits */
    json_t *chat;    /* the request; the hook has a copy of its messages */
    const struct model_events *events;
};

/* The request in the dialect of the run's upstream. Takes `chat`. */
static json_t *in_dialect(const struct run *run, json_t *chat)
{
    json_t *request;

    if (run->turn.upstream->dialect != MODEL_DIALECT_RESPONSES)
        return chat;
    request = context_responses(chat, &run->settings, &run->tools, run->turn.upstream->name);
    json_decref(chat);
    return request;
}

static void start(struct run *run, json_t *chat, const struct model_events *events)
{
    json_auto_t *request = in_dialect(run, chat);

    run->turn.model = model_turn_start(run->loop, run->turn.upstream, request, events, run);
}

/* The hook has finished. */
static void resume(struct sending *sending)
{
    struct run *run = sending->run;

    if (!run)
        return;
    run->turn.sending = NULL;
    if (sending->outgoing.rc) {
        run->chain.failed = run->turn.last_answer ? CHAIN_FINAL_RESPONSE : CHAIN_LLM_RESPONSE;
        log_warn("run %s: not sent: %s", run->row.id, sending->outgoing.why.text);
        run_fail(run, "server_error", "The request could not be prepared for the model.");
    } else {
        json_object_set(sending->chat, "messages", sending->outgoing.messages);
        start(run, TAKE(sending->chat), sending->events);
    }
    run_pump(run);
}

static void back_on_loop(struct loop_task *task)
{
    struct sending *sending = CONTAINER_OF(task, struct sending, task);

    resume(sending);
    json_decref(sending->outgoing.messages);
    json_decref(sending->chat);
    free(sending);
}

/* Any thread: the hook calls it. */
static void hook_done(struct outgoing *outgoing)
{
    struct sending *sending = CONTAINER_OF(outgoing, struct sending, outgoing);

    loop_post(sending->loop, &sending->task);
}

void run_send(struct run *run, json_t *chat, const struct model_events *events)
{
    struct before_send *hook = engine_options(run->engine)->before_send;
    struct sending *sending;

    if (!hook) {
        start(run, chat, events);
        return;
    }
    sending = run->turn.sending = mem_new(struct sending);
    sending->run = run;
    sending->loop = run->loop;
    sending->task.run = back_on_loop;
    sending->chat = chat;
    sending->events = events;
    /* A deep copy, because the hook may be on another thread and the run may share parts of the messages.
     * The counts of jansson order nothing between threads. */
    sending->outgoing.messages = json_deep_copy(json_object_get(chat, "messages"));
    sending->outgoing.done = hook_done;
    hook->look(hook, &sending->outgoing);
}

void run_stop_sending(struct run *run)
{
    if (run->turn.sending)
        TAKE(run->turn.sending)->run = NULL;
}
