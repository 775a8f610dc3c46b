/*
 * A request on its way to the model: by way of the operator's hook, if there is one.
 */

#include "core/run/turn/run.h"

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/context/context_responses.h"
#include "core/run/turn/before_send.h"

/* Outlives its run, when the run does not wait for the hook. */
struct sending {
    struct outgoing outgoing;
    struct loop_task task;
    struct loop *loop;
    struct run *run; /* the loop's; NULL when nobody waits for it */
    json_t *chat;    /* without its messages */
    const struct model_events *events;
};

/* As its upstream understands it; takes `chat`. */
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

static void send_on(struct sending *sending)
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

static void come_back(struct loop_task *task)
{
    struct sending *sending = CONTAINER_OF(task, struct sending, task);

    send_on(sending);
    json_decref(sending->outgoing.messages);
    json_decref(sending->chat);
    free(sending);
}

static void looked(struct outgoing *outgoing)
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
    sending->task.run = come_back;
    sending->chat = chat;
    sending->events = events;
    /* Copied: a part of them may be the run's, too. */
    sending->outgoing.messages = json_deep_copy(json_object_get(chat, "messages"));
    sending->outgoing.done = looked;
    hook->look(hook, &sending->outgoing);
}

void run_stop_sending(struct run *run)
{
    if (run->turn.sending)
        TAKE(run->turn.sending)->run = NULL;
}
