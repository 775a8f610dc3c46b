/*
 * A request on its way to the model, by way of hooks (before_send.h).
 *
 * Without a hook the request leaves at once. With one, its messages go to the hook, which may need
 * another thread. The operator's hook comes first: the bytes of files are none of its business. The run waits as it
 * waits for a model: nothing blocks. A `sending` comes back as a task of the loop. If the run has stopped in the
 * meantime, run_stop_sending() has cut the link between the two, and the task only frees the sending. That is why a
 * sending belongs to its task and not to the run.
 *
 * A hook sees the request as Chat Completions, whatever the upstream speaks, and the translation comes
 * after it. So there is one form to write masks for. A hook that
 * refuses the messages fails the run.
 */

#include "core/run/turn/run.h"

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/context/context_responses.h"
#include "core/run/turn/before_send.h"
#include "core/run/turn/named_files.h"

/* Freed by its task. It may outlive its run. */
struct sending {
    struct outgoing outgoing;
    struct loop_task task;
    struct loop *loop;
    struct run *run; /* only the loop reads it; NULL: the run no longer waits */
    json_t *chat;    /* the request; the hooks have a copy of its messages */
    bool looked;     /* the operator's hook has seen it, or is missing */
    bool loaded;     /* the same of the hook for files */
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

    run->turn.model =
        model_turn_start(run->loop, run->turn.upstream, request,
                         run->turn.past.text ? &run->turn.past : NULL, events, run);
}

/* The next hook that has to see the messages; NULL: none is left. */
static struct before_send *next_hook(struct sending *sending)
{
    const struct engine_options *options = engine_options(sending->run->engine);

    if (!sending->looked) {
        sending->looked = true;
        if (options->before_send)
            return options->before_send;
    }
    if (!sending->loaded) {
        sending->loaded = true;
        if (messages_name_files(sending->outgoing.messages, sending->outgoing.upstream))
            return options->load_files;
    }
    return NULL;
}

/* A hook has finished, or the first one is wanted. */
static void go_on(struct sending *sending)
{
    struct before_send *hook = next_hook(sending);
    struct run *run = sending->run;

    if (hook) {
        hook->look(hook, &sending->outgoing);
        return;
    }
    run->turn.sending = NULL;
    json_object_set(sending->chat, "messages", sending->outgoing.messages);
    start(run, TAKE(sending->chat), sending->events);
    if (sending->outgoing.sent)
        model_turn_when_sent(run->turn.model, TAKE(sending->outgoing.sent),
                             sending->outgoing.sent_arg);
    sending->run = NULL;
}

static void refuse(struct sending *sending)
{
    const struct err *why = &sending->outgoing.why;
    struct run *run = TAKE(sending->run);

    run->turn.sending = NULL;
    run->chain.failed = run->turn.last_answer ? CHAIN_FINAL_RESPONSE : CHAIN_LLM_RESPONSE;
    log_warn("run %s: not sent: %s", run->row.id, why->text);
    if (why->reason == REASON_BUSY)
        run_fail_as(run, &(struct run_failure){.kind = ERR_LIMIT,
                                               .code = "rate_limit_exceeded",
                                               .message = why->text});
    else
        run_fail(run, "server_error", "The request could not be prepared for the model.");
}

static void sending_free(struct sending *sending)
{
    struct outgoing *outgoing = &sending->outgoing;

    json_decref(outgoing->messages);
    json_decref(sending->chat);
    if (outgoing->sent)
        outgoing->sent(outgoing->sent_arg);
    free(sending);
}

static void back_on_loop(struct loop_task *task)
{
    struct sending *sending = CONTAINER_OF(task, struct sending, task);
    struct run *run = sending->run;

    if (run && sending->outgoing.rc)
        refuse(sending);
    else if (run)
        go_on(sending);
    if (!sending->run)
        sending_free(sending);
    if (run)
        run_pump(run);
}

/* Any thread: the hook calls it. */
static void hook_done(struct outgoing *outgoing)
{
    struct sending *sending = CONTAINER_OF(outgoing, struct sending, outgoing);

    loop_post(sending->loop, &sending->task);
}

void run_send(struct run *run, json_t *chat, const struct model_events *events)
{
    const struct engine_options *options = engine_options(run->engine);
    json_t *messages = json_object_get(chat, "messages");
    struct sending *sending;

    if (!options->before_send &&
        !(options->load_files && messages_name_files(messages, run->turn.upstream))) {
        start(run, chat, events);
        return;
    }
    sending = run->turn.sending = mem_new(struct sending);
    sending->run = run;
    sending->loop = run->loop;
    sending->task.run = back_on_loop;
    sending->chat = chat;
    sending->events = events;
    /* A deep copy, because a hook may be on another thread and the run may share parts of the messages.
     * The counts of jansson order nothing between threads. */
    sending->outgoing.messages = json_deep_copy(messages);
    sending->outgoing.tenant = tenant_kept(&run->tenant);
    sending->outgoing.upstream = run->turn.upstream;
    sending->outgoing.done = hook_done;
    go_on(sending);
}

void run_stop_sending(struct run *run)
{
    if (run->turn.sending)
        TAKE(run->turn.sending)->run = NULL;
}
