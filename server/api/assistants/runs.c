/*
 * Runs of threads: made, listed, looked at, answered, cancelled.
 */

#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/catalog/tool_settings.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/follow.h"
#include "core/run/engine/recover.h"
#include "core/store/tables/assistants.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/conversations.h"
#include "core/store/tables/threads/threads.h"
#include "core/tool/files_view.h"
#include "server/api/api.h"
#include "server/encode/encode.h"
#include "server/encode/faces.h"
#include "server/params/assistants/messages.h"
#include "server/params/assistants/run_answers.h"
#include "server/params/assistants/step_include.h"
#include "server/params/params.h"
#include "server/params/request_key.h"
#include "server/params/runnel_params.h"
#include "server/params/skill_params.h"
#include "server/params/tool_settings_params.h"
#include "server/params/variable_params.h"
#include "server/server.h"

/* ---- What a run is made of ---- */

/* The assistant's fields that a run takes over unless its request has its own. */
static const char *const inherited[] = {
    "model",       "instructions", "tools",           "tool_resources",
    "temperature", "top_p",        "response_format", "reasoning_effort",
};
static const char *const own[] = {
    "max_prompt_tokens",
    "max_completion_tokens",
    "truncation_strategy",
    "tool_choice",
    "parallel_tool_calls",
    "runnel",
    "user",
    "safety_identifier",
};

static void take_fields(json_t *config, const json_t *source, const char *const *keys,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(source, keys[i]);

        if (!json_absent(value))
            json_object_set(config, keys[i], value);
    }
}

static void add_instructions(json_t *config, const char *more)
{
    const char *given = json_get_string(config, "instructions", "");
    AUTO_FREE char *both = NULL;

    if (!more || !*more)
        return;
    both = *given ? mem_printf("%s\n\n%s", given, more) : mem_strdup(more);
    json_set_string(config, "instructions", both);
}

/* The run's snapshot: request over thread over assistant. `settings` are those of the thread, or
 * NULL. New reference. */
static json_t *make_config(const struct assistant_row *assistant, const char *settings,
                           const json_t *body)
{
    json_auto_t *base = json_parse_own(assistant->body);
    json_auto_t *threads = settings ? json_parse_own(settings) : NULL;
    json_auto_t *both = runnel_settings_merge(json_object_get(base, "runnel"), threads);
    json_auto_t *asked = runnel_settings(body);
    json_t *config = json_object();

    take_fields(config, base, inherited, COUNT_OF(inherited));
    take_fields(config, json_object_get(body, "thread"),
                (const char *const[]){"tool_resources"}, 1);
    take_fields(config, body, inherited, COUNT_OF(inherited));
    take_fields(config, body, own, COUNT_OF(own));
    add_instructions(config, json_get_string(body, "additional_instructions", NULL));
    json_set(config, "tools", tool_secrets_strip(json_object_get(config, "tools")));
    json_set(config, "runnel", runnel_settings_merge(both, asked));
    return config;
}

static enum err_code check_model(const json_t *config, struct request *request, struct err *err)
{
    const char *model = json_get_string(config, "model", "");
    const struct config *settings = request_server(request)->config;

    if (model_upstream_find(settings->upstreams, settings->upstream_count, model))
        return ERR_OK;
    return err_invalid(err, "model_not_found", "model",
                       "The requested model '%s' does not exist.", model);
}

static int last_messages(const json_t *config)
{
    return (int)json_get_int(json_object_get(config, "truncation_strategy"), "last_messages",
                             0);
}

/* Adds the tools that came with items of the thread, as far back as the run will see; the request brings
 * `more` messages. */
static enum err_code load_tools(struct request *request, const json_t *config,
                                const char *thread_id, size_t more, struct tool_set *tools,
                                struct err *err)
{
    struct server *server = request_server(request);
    size_t last = (size_t)last_messages(config);
    const struct load_span span = {.items = engine_context_limit(server->engine),
                                   .messages = last ? last - more : 0};
    struct item_row *items = NULL;
    size_t count = 0;
    int64_t position;
    enum err_code rc;

    if (last && last <= more)
        return ERR_OK;
    rc = store_conversation_context(server->store, request_tenant(request), thread_id, &span,
                                    &items, &count, &position, err);
    if (rc)
        return rc;
    tool_set_load_items(tools, items, count);
    item_rows_free(items, count);
    return ERR_OK;
}

/* A choice that no tool fits. Tools that nobody here executes yet are kept: the run that needs them
 * says so, and knows nothing of a choice among them. The thread is read only for a choice that the request's
 * own do not fit; NULL: it is new, and has none. */
static enum err_code check_choice(struct request *request, const json_t *config,
                                  const char *thread_id, size_t more, struct err *err)
{
    const json_t *choice = json_object_get(config, "tool_choice");
    json_t *list = json_object_get(config, "tools");
    struct tool_set tools = {0};
    enum err_code rc;

    if (!choice || tool_set_init(&tools, json_is_array(list) ? list : NULL,
                                 json_object_get(config, "runnel"),
                                 json_object_get(config, TOOL_SETTINGS_KEY), NULL))
        return ERR_OK;
    rc = tool_choice_check(&tools, choice, err);
    if (rc && thread_id) {
        rc = load_tools(request, config, thread_id, more, &tools, err);
        if (!rc)
            rc = tool_choice_check(&tools, choice, err);
    }
    tool_set_clear(&tools);
    return rc;
}

static void make_row(struct request *request, const struct assistant_row *assistant,
                     const char *thread_id, json_t *config, struct run_row *run)
{
    const json_t *body = request_json(request);
    json_t *metadata = json_object_get(body, "metadata");
    double expiry = request_server(request)->config->run_expiry;

    memset(run, 0, sizeof(*run));
    id_make(run->id, "run_");
    (void)snprintf(run->project, sizeof(run->project), "%s", request_tenant(request)->project);
    (void)snprintf(run->thread_id, sizeof(run->thread_id), "%s", thread_id);
    (void)snprintf(run->assistant_id, sizeof(run->assistant_id), "%s", assistant->id);
    run->face = FACE_ASSISTANTS;
    run->flags = RUN_STORED | RUN_RESUMABLE;
    if (json_get_bool(body, "stream", false))
        run->flags |= RUN_STREAMED;
    run->status = RUN_QUEUED;
    run->config = json_text(config);
    run->metadata = json_is_object(metadata) ? json_text(metadata) : mem_strdup("{}");
    run->created_at = clock_wall_us();
    run->expires_at = run->created_at + (int64_t)(expiry * 1e6);
}

/* ---- Starting ---- */

/* Hands the run to its loop and answers: with its stream, or with the run as it is now. */
static void start_and_answer(struct request *request, struct run_start *start)
{
    struct engine *engine = request_server(request)->engine;
    const char *run_id = start->load.run.id;

    if (start->load.run.flags & RUN_STREAMED)
        start->sink = request_stream(request, engine_loop(engine, run_id));
    else
        request_answer(request, 200, encode_run(&start->load.run));
    start->context = runnel_context(request_json(request));
    start->secrets = tool_secrets_of(json_object_get(request_json(request), "tools"));
    engine_run(engine, start);
}

/* What the request has asked for is done already: the run as it is now, or its stream from
 * where the request has begun it. */
static void answer_again(struct request *request, const struct run_load *load)
{
    struct engine *engine = request_server(request)->engine;
    const struct run_row *run = &load->run;

    if (!json_get_bool(request_json(request), "stream", false)) {
        request_answer(request, 200, encode_run(run));
        return;
    }
    engine_follow(engine, &(struct follow){
                              .face = FACE_ASSISTANTS,
                              .tenant = request_tenant(request),
                              .thread_id = run->thread_id,
                              .run_id = run->id,
                              .first_seq = load->next_seq,
                              .sink = request_stream(request, engine_loop(engine, run->id)),
                          });
}

/* The assistant, and the config that it and the request make. */
static enum err_code read_config(struct request *request, const struct thread_row *new_thread,
                                 const char *thread_id, struct assistant_row *ret_assistant,
                                 json_t **ret_config, struct err *err)
{
    struct server *server = request_server(request);
    const json_t *body = request_json(request);
    AUTO_FREE char *settings = NULL;
    unsigned include = 0;
    enum err_code rc = step_include_read(request, &include, err);

    if (!rc)
        rc = store_assistant_for_run(server->store, request_tenant(request),
                                     json_get_string(body, "assistant_id", ""), thread_id,
                                     ret_assistant, &settings, err);
    if (rc)
        return rc;
    *ret_config =
        make_config(ret_assistant, new_thread ? new_thread->settings : settings, body);
    step_include_keep(*ret_config, include);
    if (request_tenant(request)->features & TENANT_TOOL_SETTINGS)
        rc = tool_settings_keep(server->store, request_tenant(request), *ret_config, err);
    return rc;
}

/* Whether it may run, here and now. *ret_skilled is the config with its skills, or left alone when there
 * are none. */
static enum err_code check_config(struct request *request, const json_t *config,
                                  json_t **ret_skilled, struct err *err)
{
    struct server *server = request_server(request);
    enum err_code rc =
        skill_params_resolve(server->store, request_tenant(request), config, ret_skilled, err);

    if (!rc)
        rc = check_model(config, request, err);
    if (!rc)
        rc = runnel_channel_check(server->engine, request_tenant(request),
                                  json_object_get(config, "runnel"), err);
    return rc ? rc : engine_admit(server->engine, err);
}

static enum err_code create(struct request *request, const struct thread_row *new_thread,
                            const char *thread_id, struct item_row *messages, size_t count,
                            struct err *err)
{
    struct server *server = request_server(request);
    CLEANUP(assistant_row_clear) struct assistant_row assistant = {0};
    CLEANUP(run_row_clear) struct run_row run = {0};
    json_auto_t *config = NULL;
    json_auto_t *skilled = NULL;
    struct variable *variables = NULL;
    size_t variable_count = 0;
    struct run_start start = {.arrival = ARRIVAL_NEW, .new_thread = new_thread};
    struct idempotency idempotency;
    enum err_code rc = request_key(request, &idempotency, err);

    if (!rc)
        rc = read_config(request, new_thread, thread_id, &assistant, &config, err);
    if (!rc)
        rc = check_config(request, config, &skilled, err);
    if (!rc)
        rc = check_choice(request, skilled ? skilled : config, new_thread ? NULL : thread_id,
                          count, err);
    if (rc)
        return rc;

    make_row(request, &assistant, thread_id, skilled ? skilled : config, &run);
    variables_in_read(request_json(request), &variables, &variable_count);
    rc = store_run_create(server->store,
                          &(struct run_creation){
                              .tenant = request_tenant(request),
                              .run = &run,
                              .variables = variables,
                              .variable_count = variable_count,
                              .thread = new_thread,
                              .messages = messages,
                              .message_count = count,
                              .last_messages = last_messages(config),
                              .context_limit = engine_context_limit(server->engine),
                              .idempotency = &idempotency,
                          },
                          &start.load, err);
    variables_free(variables, variable_count);
    if (rc)
        return rc;
    if (start.load.fence) {
        start_and_answer(request, &start);
        return ERR_OK;
    }
    answer_again(request, &start.load);
    run_load_clear(&start.load);
    return ERR_OK;
}

static const char *const run_keys[] = {
    "additional_instructions",
    "additional_messages",
    "assistant_id",
    "instructions",
    "max_completion_tokens",
    "max_prompt_tokens",
    "metadata",
    "model",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "runnel",
    "safety_identifier",
    "stream",
    "temperature",
    "tool_choice",
    "tool_resources",
    "tools",
    "top_p",
    "truncation_strategy",
    "user",
    NULL,
};
static const char *const thread_run_keys[] = {
    "assistant_id",
    "instructions",
    "max_completion_tokens",
    "max_prompt_tokens",
    "metadata",
    "model",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "runnel",
    "safety_identifier",
    "stream",
    "temperature",
    "thread",
    "tool_choice",
    "tool_resources",
    "tools",
    "top_p",
    "truncation_strategy",
    "user",
    NULL,
};

static enum err_code check_body(const json_t *body, const char *const *known, struct err *err)
{
    const json_t *resources = json_object_get(body, "tool_resources");
    const char *assistant_id;
    bool stream = false;
    enum err_code rc;

    rc = param_string(body, "", "assistant_id", PARAM_REQUIRED, ID_LIMIT, &assistant_id, err);
    if (rc)
        return rc;
    rc = param_id(assistant_id, "asst", "assistant_id", err);
    if (rc)
        return rc;
    rc = param_unknown(body, "", known, err);
    if (!rc)
        rc = param_bool(body, "", "stream", &stream, err);
    if (!rc)
        rc = tool_settings_user_check(body, err);
    if (!rc && !json_absent(resources))
        rc = files_view_check_resources(resources, "tool_resources", err);
    if (!rc)
        rc = runnel_params_check(body, err);
    return rc ? rc : run_params_check(body, err);
}

enum err_code api_run_create(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    char thread_id[ID_LIMIT + 1];
    struct item_row *messages = NULL;
    size_t count = 0;
    enum err_code rc;

    rc = param_thread_id(request_param(request, "thread"), "thread_id", thread_id, err);
    if (rc)
        return rc;
    rc = check_body(body, run_keys, err);
    if (rc)
        return rc;
    rc = messages_decode(body, "", "additional_messages", thread_id, &messages, &count, err);
    if (rc)
        return rc;
    rc = create(request, NULL, thread_id, messages, count, err);
    item_rows_free(messages, count);
    return rc;
}

enum err_code api_thread_run_create(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    json_t *given = NULL;
    json_auto_t *empty = json_object();
    CLEANUP(thread_row_clear) struct thread_row thread = {0};
    struct item_row *messages = NULL;
    size_t count = 0;
    enum err_code rc;

    rc = check_body(body, thread_run_keys, err);
    if (rc)
        return rc;
    rc = param_object(body, "", "thread", PARAM_OPTIONAL, &given, err);
    if (rc)
        return rc;
    rc = thread_decode(given ? given : empty, "thread", &thread, &messages, &count, err);
    if (rc)
        return rc;
    rc = create(request, &thread, thread.id, messages, count, err);
    item_rows_free(messages, count);
    return rc;
}

/* ---- Looking ---- */

/* The thread of the path, also under its conversation's name, and the run. */
static enum err_code read_ids(const struct request *request, char ret_thread[ID_LIMIT + 1],
                              struct err *err)
{
    enum err_code rc =
        param_thread_id(request_param(request, "thread"), "thread_id", ret_thread, err);

    if (rc)
        return rc;
    return param_id(request_param(request, "run"), "run", "run_id", err);
}

/* SDKs poll as often as this says. */
static void answer_run(struct request *request, const struct run_row *run)
{
    if (!run_status_is_final(run->status))
        request_set_header(request, "openai-poll-after-ms", "500");
    request_answer(request, 200, encode_run(run));
}

enum err_code api_run_get(struct request *request, struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    char thread_id[ID_LIMIT + 1];
    enum err_code rc = read_ids(request, thread_id, err);

    if (rc)
        return rc;
    rc = store_run_get(request_server(request)->store, request_tenant(request), thread_id,
                       request_param(request, "run"), &run, err);
    if (rc)
        return rc;
    answer_run(request, &run);
    return ERR_OK;
}

/* No runs, or no such thread? */
static enum err_code check_thread(struct request *request, const char *thread_id,
                                  struct err *err)
{
    CLEANUP(thread_row_clear) struct thread_row thread = {0};

    return store_thread_get(request_server(request)->store, request_tenant(request), thread_id,
                            &thread, err);
}

enum err_code api_run_list(struct request *request, struct err *err)
{
    char thread_id[ID_LIMIT + 1];
    struct page page;
    AUTO_FREE struct run_row *runs = NULL;
    size_t count = 0;
    bool more = false;
    json_t *data;
    enum err_code rc;

    rc = param_thread_id(request_param(request, "thread"), "thread_id", thread_id, err);
    if (rc)
        return rc;
    rc = param_page(request, &page, err);
    if (rc)
        return rc;
    rc = store_run_list(request_server(request)->store, request_tenant(request), thread_id,
                        &page, &runs, &count, &more, err);
    if (rc)
        return rc;
    rc = count ? ERR_OK : check_thread(request, thread_id, err);
    if (rc)
        return rc;
    data = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(data, encode_run(&runs[i]));
        run_row_clear(&runs[i]);
    }
    request_answer(request, 200, encode_list(data, more));
    return ERR_OK;
}

enum err_code api_run_modify(struct request *request, struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    json_t *given = json_object_get(request_json(request), "metadata");
    AUTO_FREE char *metadata = NULL;
    json_t *checked = NULL;
    char thread_id[ID_LIMIT + 1];
    enum err_code rc = read_ids(request, thread_id, err);

    if (rc)
        return rc;
    rc = param_unknown(request_json(request), "", (const char *const[]){"metadata", NULL}, err);
    if (!rc)
        rc = param_metadata(request_json(request), &checked, err);
    if (rc)
        return rc;
    if (given)
        metadata = checked ? json_text(checked) : mem_strdup("{}");
    rc = store_run_modify(request_server(request)->store, request_tenant(request), thread_id,
                          request_param(request, "run"), metadata, &run, err);
    if (rc)
        return rc;
    answer_run(request, &run);
    return ERR_OK;
}

/* Joins the stream of a run again: what was said after `starting_after`, and what is to come,
 * until the run has ended. */
enum err_code api_run_events(struct request *request, struct err *err)
{
    struct engine *engine = request_server(request)->engine;
    CLEANUP(run_row_clear) struct run_row run = {0};
    char thread_id[ID_LIMIT + 1];
    int64_t first = 0;
    enum err_code rc = read_ids(request, thread_id, err);

    if (!rc)
        rc = param_starting_after(request, &first, err);
    if (!rc)
        rc = store_run_get(request_server(request)->store, request_tenant(request), thread_id,
                           request_param(request, "run"), &run, err);
    if (rc)
        return rc;
    engine_follow(engine, &(struct follow){
                              .face = FACE_ASSISTANTS,
                              .tenant = request_tenant(request),
                              .thread_id = run.thread_id,
                              .run_id = run.id,
                              .first_seq = first,
                              .flags = FOLLOW_NUMBERED | FOLLOW_WAITING,
                              .sink = request_stream(request, engine_loop(engine, run.id)),
                          });
    return ERR_OK;
}

/* ---- Cancelling ---- */

enum err_code api_run_cancel(struct request *request, struct err *err)
{
    struct server *server = request_server(request);
    struct run_start start = {.arrival = ARRIVAL_CLAIMED};
    enum cancel_outcome outcome;
    char thread_id[ID_LIMIT + 1];
    enum err_code rc = read_ids(request, thread_id, err);

    if (rc)
        return rc;
    rc = store_run_cancel(server->store, request_tenant(request), thread_id,
                          request_param(request, "run"), engine_context_limit(server->engine),
                          &outcome, &start.load, err);
    if (rc)
        return rc;
    answer_run(request, &start.load.run);
    if (outcome == CANCEL_OWNED_HERE)
        engine_cancel(server->engine, start.load.run.id);
    if (outcome != CANCEL_CLAIMED) {
        run_load_clear(&start.load);
        return ERR_OK;
    }
    /* If the log cannot be read now, the keeper takes the run up when its lease has run out. */
    if (recover_load(server->store, &assistants_face, &start.load, NULL) == ERR_OK)
        engine_run(server->engine, &start);
    else
        run_load_clear(&start.load);
    return ERR_OK;
}

/* ---- Answering ---- */

/* What stands in the request, and nothing of the run yet. */
static enum err_code read_submission(struct request *request, struct run_answers *ret_answers,
                                     bool *ret_stream, struct err *err)
{
    static const char *const known[] = {"tool_outputs", "stream", NULL};
    const json_t *body = request_json(request);
    enum err_code rc = param_unknown(body, "", known, err);

    if (!rc)
        rc = param_bool(body, "", "stream", ret_stream, err);
    if (!rc)
        rc = run_answers_read(body, ret_answers, err);
    return rc;
}

static void set_streamed(struct run_row *run, bool stream)
{
    run->flags &= ~(unsigned)RUN_STREAMED;
    if (stream)
        run->flags |= RUN_STREAMED;
}

enum err_code api_run_submit(struct request *request, struct err *err)
{
    struct server *server = request_server(request);
    struct run_start start = {.arrival = ARRIVAL_SUBMITTED};
    CLEANUP(run_answers_clear) struct run_answers answers = {0};
    struct idempotency idempotency;
    bool repeated = false, stream = false;
    char thread_id[ID_LIMIT + 1];
    enum err_code rc = read_ids(request, thread_id, err);

    if (!rc)
        rc = read_submission(request, &answers, &stream, err);
    if (!rc)
        rc = request_key(request, &idempotency, err);
    if (!rc)
        rc = engine_admit(server->engine, err);
    if (!rc)
        rc = run_answers_settle(server->store, request_tenant(request),
                                request_param(request, "run"), &answers, err);
    if (!rc)
        rc = store_run_submit(server->store,
                              &(struct submission){
                                  .tenant = request_tenant(request),
                                  .thread_id = thread_id,
                                  .run_id = request_param(request, "run"),
                                  .answers = answers.list,
                                  .count = answers.count,
                                  .grants = &answers.grants,
                                  .hash = answers.hash,
                                  .idempotency = &idempotency,
                                  .context_limit = engine_context_limit(server->engine),
                              },
                              &start.load, &repeated, err);
    if (rc)
        return rc;
    if (repeated) {
        answer_again(request, &start.load);
        run_load_clear(&start.load);
        return ERR_OK;
    }
    set_streamed(&start.load.run, stream);
    start_and_answer(request, &start);
    return ERR_OK;
}
