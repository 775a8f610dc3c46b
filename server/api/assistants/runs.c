/*
 * Runs of threads: create, list, get, submit outputs, cancel.
 *
 * Creating a run:
 *
 *   assistant, thread, request ─▶ snapshot ─▶ settings ─▶ store_run_create() ─▶ answer ─▶ engine_run()
 *
 * The settings of three places become one snapshot, which the run keeps: a later change of the
 * assistant does not reach it. Everything that may refuse the request is checked first, because
 * store_run_create() is the point of no return. In one transaction it stores the messages, the run
 * and this node's lease on it. Only then does the client get an answer, and only then does the
 * engine get the run. So a run that a client knows of survives a crash: when its lease has run out,
 * another node claims it, or this one after its restart.
 *
 * The worker answers before it hands the run to its loop, since the run belongs to the loop from
 * then on. A client that streams gets the stream first, so that no event is missed.
 *
 * A repeated request, under its Idempotency-Key or with the same outputs again, finds the run of
 * the first one. It starts nothing (fence 0, or `repeated`). It gets the run as it is now or, if it
 * wants a stream, the events from where the first request began, out of the log.
 *
 * Cancelling has three cases, by the owner of the run. If it is here, its loop is notified. If it
 * is another node, the status `cancelling` is in the row, and that node notices. If no node owns the
 * run, because it waits for its client, this node claims it and ends it.
 *
 * All of it runs on HTTP workers, which may block on the store.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/domain/search_resources.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/catalog/unavailable.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/follow.h"
#include "core/run/engine/recover.h"
#include "core/store/tables/assistants.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/conversations.h"
#include "core/store/tables/threads/threads.h"
#include "core/tool/files_view.h"
#include "server/api/api.h"
#include "server/api/file_refs.h"
#include "server/api/named_pictures.h"
#include "server/api/new_store.h"
#include "server/api/request_key.h"
#include "server/api/run_end.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/encode/faces.h"
#include "server/files/awaited_files.h"
#include "server/files/file_finder.h"
#include "server/params/assistants/messages.h"
#include "server/params/assistants/run_answers.h"
#include "server/params/assistants/run_request.h"
#include "server/params/assistants/step_include.h"
#include "server/params/params.h"
#include "server/params/runnel_params.h"
#include "server/params/skill_params.h"
#include "server/params/tool_settings_params.h"
#include "server/params/variable_params.h"
#include "server/sandbox/container_assign.h"
#include "server/sandbox/run_node.h"
#include "server/scripts/script_params.h"
#include "server/server.h"

#define STORE_TRIES 3

/* ---- The parts of a run ---- */

static enum err_code check_model(const char *model, struct request *request, struct err *err)
{
    const struct config *config = request_server(request)->config;

    if (model_upstream_find(config->upstreams, config->upstream_count, model))
        return ERR_OK;
    return err_invalid(err, "model_not_found", "model",
                       "The requested model '%s' does not exist.", model);
}

/* Adds the tools that came with items of the thread, as far back as the run will read it. `more` is the
 * number of messages in the request: with a limit on messages, they count before those of the
 * thread. */
static enum err_code load_tools(struct request *request, const struct run_settings *settings,
                                const char *thread_id, size_t more, struct tool_set *tools,
                                struct err *err)
{
    struct server *server = request_server(request);
    size_t last = (size_t)settings->last_messages;
    const struct load_span span = {.items = engine_context_limit(server->engine),
                                   .messages = last ? last - more : 0};
    struct item_row *items = NULL;
    size_t count = 0;
    int64_t position;
    enum err_code rc;
    bool cut;

    if (last && last <= more)
        return ERR_OK;
    rc = store_conversation_context(server->store, request_tenant(request), thread_id, &span,
                                    &items, &count, &cut, &position, err);
    if (rc)
        return rc;
    tool_set_load_items(tools, items, count);
    item_rows_free(items, count);
    return ERR_OK;
}

/* ERR_INVALID for a tool_choice that no tool of the run matches. A list that cannot be resolved is not
 * checked here, because the run itself reports it. The thread is read only
 * if the tools of the request do not match. `thread_id` is NULL for a new thread, which has no
 * tools. */
static enum err_code check_choice(struct request *request, const struct run_settings *settings,
                                  const char *thread_id, size_t more, struct err *err)
{
    const json_t *choice = settings->tool_choice;
    struct tool_set tools = {0};
    enum err_code rc;

    if (!choice || tool_set_init(&tools, settings->tools, settings, NULL))
        return ERR_OK;
    rc = tool_choice_check(&tools, choice, err);
    if (rc && thread_id) {
        rc = load_tools(request, settings, thread_id, more, &tools, err);
        if (!rc)
            rc = tool_choice_check(&tools, choice, err);
    }
    tool_set_clear(&tools);
    return rc;
}

static void make_row(struct request *request, const struct assistant_row *assistant,
                     const char *thread_id, const struct run_settings *settings,
                     struct run_row *run)
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
    run->config = run_settings_store(settings);
    run->metadata = json_is_object(metadata) ? json_text(metadata) : mem_strdup("{}");
    run->created_at = clock_wall_us();
    run->expires_at = run->created_at + (int64_t)(expiry * 1e6);
}

/* ---- Starting ---- */

/* Answers with the stream of the run, or with the run as it is now, and hands the run to its loop. The
 * row must be encoded before: engine_run() takes it. */
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
    awaited_files_run(request_server(request), start);
}

/* Answers a repeated request: with the run as it is now, or with its stream from the event with which
 * the first request began. */
static void answer_again(struct request *request, const struct run_load *load)
{
    struct engine *engine = request_server(request)->engine;
    const struct run_row *run = &load->run;

    if (!json_get_bool(request_json(request), "stream", false)) {
        request_answer(request, 200, encode_run(run));
        return;
    }
    engine_follow(engine, &(struct follow){
                              .tenant = request_tenant(request),
                              .run = run,
                              .first_seq = load->next_seq,
                              .sink = request_stream(request, engine_loop(engine, run->id)),
                          });
}

/* A store of the assistant or the thread that has expired is no error of the request: the run fails and names it. */
static enum err_code note_expired(const struct request *request, json_t *snapshot,
                                  struct err *err)
{
    const json_t *resources = json_object_get(snapshot, "tool_resources");
    const json_t *search = json_object_get(resources, "file_search");
    const char *expired = NULL;
    enum err_code rc;

    if (!search_resources_used(json_object_get(snapshot, "tools")))
        return ERR_OK;
    rc = file_finder_expired(request_server(request), request_tenant(request),
                             json_object_get(search, "vector_store_ids"), &expired, err);
    if (!rc && expired)
        json_set_string(snapshot, "expired_store", expired);
    return rc;
}

/* A run that searches waits for the files of its thread's store, because the request before may have attached them. */
static void note_awaited(json_t *snapshot, const char *thread_resources)
{
    json_auto_t *resources = NULL;
    const char *store;

    if (!thread_resources || !search_resources_used(json_object_get(snapshot, "tools")))
        return;
    resources = json_parse_own(thread_resources);
    store = search_resources_store(resources);
    if (store)
        json_set_string(snapshot, "awaited_store", store);
}

/* What messages attach goes into the store of the thread. If that is gone or has expired, or never was, a new one is
 * made with the run, which is to search it. */
static enum err_code expect_store(const struct request *request, char **resources,
                                  struct new_store *made, struct err *err)
{
    json_auto_t *has = *resources ? json_parse_own(*resources) : NULL;
    json_auto_t *kept = NULL;
    const char *id = search_resources_store(has);
    bool lives = false;
    enum err_code rc = ERR_OK;

    if (id)
        rc = file_finder_lives(request_server(request), request_tenant(request), id, &lives,
                               err);
    if (rc)
        return rc;
    (void)snprintf(made->filled_id, sizeof(made->filled_id), "%s", lives ? id : made->row.id);
    if (lives)
        return ERR_OK;
    kept = new_store_resources(made, has);
    free(*resources);
    *resources = json_text(kept);
    return ERR_OK;
}

/* Loads the assistant, and merges the settings of the assistant, the thread and the request. */
static enum err_code read_settings(struct request *request, const struct thread_row *new_thread,
                                   struct new_store *made, const char *thread_id,
                                   struct assistant_row *ret_assistant,
                                   struct run_settings *ret_settings, struct err *err)
{
    struct server *server = request_server(request);
    const struct tenant *tenant = request_tenant(request);
    const json_t *body = request_json(request);
    AUTO_FREE char *threads = NULL;
    AUTO_FREE char *resources = NULL;
    json_auto_t *snapshot = NULL;
    json_auto_t *skilled = NULL;
    json_auto_t *scripted = NULL;
    unsigned include = 0;
    enum err_code rc = param_step_include(request, &include, err);

    if (!rc)
        rc = store_assistant_for_run(server->store, tenant,
                                     json_get_string(body, "assistant_id", ""), thread_id,
                                     ret_assistant, &threads, &resources, err);
    if (!rc && !new_thread && new_store_filling(made))
        rc = expect_store(request, &resources, made, err);
    if (rc)
        return rc;
    snapshot = run_request_snapshot(ret_assistant, new_thread ? new_thread->settings : threads,
                                    new_thread ? new_thread->tool_resources : resources, body);
    step_include_keep(snapshot, include);
    note_awaited(snapshot, new_thread ? new_thread->tool_resources : resources);
    rc = note_expired(request, snapshot, err);
    if (rc)
        return rc;
    rc = skill_params_resolve(server->store, tenant, snapshot, &skilled, err);
    if (!rc)
        rc = script_params_resolve(server->store, tenant, skilled ? skilled : snapshot,
                                   &scripted, err);
    if (rc)
        return rc;
    run_settings_read(ret_settings, scripted  ? TAKE(scripted)
                                    : skilled ? TAKE(skilled)
                                              : TAKE(snapshot));
    unavailable_tools_note(ret_settings, clock_mono_ns());
    return tenant->features & TENANT_TOOL_SETTINGS
               ? tool_settings_apply(server->store, tenant, ret_settings, err)
               : ERR_OK;
}

/* Whether a run with these settings may start: its model exists, and so does the approval channel that it
 * names, and the engine has room for one more run. */
static enum err_code check_settings(struct request *request,
                                    const struct run_settings *settings, struct err *err)
{
    struct server *server = request_server(request);
    enum err_code rc = check_model(settings->model, request, err);

    if (!rc)
        rc = runnel_channel_check(server->engine, request_tenant(request), settings, err);
    return rc ? rc : engine_admit(server->engine, err);
}

static enum err_code find_node(struct request *request, const struct run_row *run,
                               const struct run_settings *settings, char ret_node[ID_SIZE],
                               struct err *err)
{
    return run_node_wanted(request_server(request),
                           &(struct run_node){.tenant = request_tenant(request),
                                              .run = run,
                                              .settings = settings,
                                              .body = request_json(request)},
                           ret_node, err);
}

/* As in a response: a shell that is shown with its container has it from now on. */
static enum err_code find_containers(const struct request *request, struct run_row *run,
                                     struct run_settings *settings, char ret_made[ID_SIZE],
                                     struct err *err)
{
    const struct container_assign wanted = {.tenant = request_tenant(request), .run = run};
    const json_t *before = settings->tools;
    enum err_code rc =
        container_assign(request_server(request), &wanted, settings, ret_made, err);

    if (rc || settings->tools == before)
        return rc;
    free(run->config);
    run->config = run_settings_store(settings);
    return ERR_OK;
}

static enum err_code create(struct request *request, const struct thread_row *new_thread,
                            struct new_store *made, const char *thread_id,
                            struct item_row *messages, size_t count, struct err *err)
{
    struct server *server = request_server(request);
    CLEANUP(assistant_row_clear) struct assistant_row assistant = {0};
    CLEANUP(run_row_clear) struct run_row run = {0};
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct variable *variables = NULL;
    size_t variable_count = 0;
    struct run_start start = {.arrival = ARRIVAL_NEW, .new_thread = new_thread};
    struct idempotency idempotency;
    char node[ID_SIZE] = "", container[ID_SIZE] = "";
    enum err_code rc = request_key(request, &idempotency, err);

    if (!rc)
        rc = read_settings(request, new_thread, made, thread_id, &assistant, &settings, err);
    if (!rc)
        rc = check_settings(request, &settings, err);
    if (!rc)
        rc = check_choice(request, &settings, new_thread ? NULL : thread_id, count, err);
    if (rc)
        return rc;

    make_row(request, &assistant, thread_id, &settings, &run);
    rc = find_containers(request, &run, &settings, container, err);
    if (!rc && !new_thread)
        rc = find_node(request, &run, &settings, node, err);
    if (rc)
        return rc;
    variables_in_read(request_json(request), &variables, &variable_count);
    rc = store_run_create(server->store,
                          &(struct run_creation){
                              .tenant = request_tenant(request),
                              .run = &run,
                              .variables = variables,
                              .variable_count = variable_count,
                              .thread = new_thread,
                              .filling = new_store_filling(made),
                              .filled_id = made->filled_id,
                              .messages = messages,
                              .message_count = count,
                              .last_messages = settings.last_messages,
                              .context_limit = engine_context_limit(server->engine),
                              .idempotency = &idempotency,
                              .wanted_node = node,
                          },
                          &start.load, err);
    variables_free(variables, variable_count);
    if (rc && *container)
        containers_undo(server->containers, request_tenant(request), container);
    if (rc)
        return rc;
    /* Without a fence this node does not own the run: the request repeats an earlier one, or another node has the
     * container of the thread. */
    if (start.load.fence) {
        start.settings = settings;
        settings = (struct run_settings){0};
        start_and_answer(request, &start);
        return ERR_OK;
    }
    answer_again(request, &start.load);
    run_load_clear(&start.load);
    return ERR_OK;
}

/* Two requests at once may both find that the thread has no store. One makes it, and the other looks again. */
static enum err_code create_in_thread(struct request *request, const char *thread_id,
                                      struct item_row *messages, size_t count, struct err *err)
{
    CLEANUP(new_store_clear) struct new_store made = {0};
    enum err_code rc;
    int tries = 0;

    new_store_of_messages(json_object_get(request_json(request), "additional_messages"), &made);
    do {
        rc = create(request, NULL, &made, thread_id, messages, count, err);
    } while (rc == ERR_CONFLICT && strcmp(err->place, THREAD_STORE_PLACE) == 0 &&
             ++tries < STORE_TRIES);
    return rc;
}

/* The members of a request that both operations have: a run in an existing thread, and one with a new
 * thread. */
#define RUN_KEYS                                                                              \
    "assistant_id", "instructions", "max_completion_tokens", "max_prompt_tokens", "metadata", \
        "model", "parallel_tool_calls", "reasoning_effort", "response_format", "runnel",      \
        "safety_identifier", "stream", "temperature", "tool_choice", "tool_resources",        \
        "tools", "top_p", "truncation_strategy", "user"

static const char *const run_keys[] = {RUN_KEYS, "additional_instructions",
                                       "additional_messages", NULL};
static const char *const thread_run_keys[] = {RUN_KEYS, "thread", NULL};

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
        rc = new_store_refuse(body, "", err);
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
    if (named_pictures_wait(request, body, "", "additional_messages", api_run_create))
        return ERR_OK;
    rc = messages_decode(body, "", "additional_messages", thread_id, &messages, &count, err);
    if (rc)
        return rc;
    rc = file_refs_check_messages(request, body, "", "additional_messages", err);
    if (!rc)
        rc = file_refs_check_resources(request, body, "", err);
    if (!rc)
        rc = create_in_thread(request, thread_id, messages, count, err);
    item_rows_free(messages, count);
    return rc;
}

enum err_code api_thread_run_create(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    json_t *given = NULL;
    json_auto_t *empty = json_object();
    CLEANUP(thread_row_clear) struct thread_row thread = {0};
    CLEANUP(new_store_clear) struct new_store made = {0};
    struct item_row *messages = NULL;
    size_t count = 0;
    enum err_code rc;

    rc = check_body(body, thread_run_keys, err);
    if (rc)
        return rc;
    rc = param_object(body, "", "thread", PARAM_OPTIONAL, &given, err);
    if (rc)
        return rc;
    if (named_pictures_wait(request, given, "thread", "messages", api_thread_run_create))
        return ERR_OK;
    rc = thread_decode(given ? given : empty, "thread", &thread, &messages, &count, err);
    if (rc)
        return rc;
    rc = file_refs_check_thread(request, given, "thread", err);
    if (!rc)
        rc = file_refs_check_resources(request, body, "", err);
    if (!rc)
        rc = new_store_of_thread(given, "thread", &thread, &made, err);
    if (!rc)
        rc = create(request, &thread, &made, thread.id, messages, count, err);
    item_rows_free(messages, count);
    return rc;
}

/* ---- Reading ---- */

/* The thread and the run in the path. The thread may be named as a conversation. */
static enum err_code read_ids(const struct request *request, char ret_thread[ID_LIMIT + 1],
                              struct err *err)
{
    enum err_code rc =
        param_thread_id(request_param(request, "thread"), "thread_id", ret_thread, err);

    if (rc)
        return rc;
    return param_id(request_param(request, "run"), "run", "run_id", err);
}

/* OpenAI's SDKs poll a run at the interval of this header (create_and_poll() and its like). */
static void answer_run(struct request *request, const struct run_row *run)
{
    if (!run_status_is_final(run->status))
        request_set_header(request, "openai-poll-after-ms", "500");
    request_answer(request, 200, encode_run(run));
}

/* A run that waits for its client when its time is over has no owner: it is claimed here, and its loop ends
 * it. */
static enum err_code expire(struct request *request, const struct run_row *run, struct err *err)
{
    struct server *server = request_server(request);
    struct run_start start = {.arrival = ARRIVAL_CLAIMED};
    enum err_code rc =
        store_run_claim_late(server->store, request_tenant(request), run->thread_id, run->id,
                             engine_context_limit(server->engine), &start.load, err);

    if (rc)
        return rc;
    if (start.load.fence &&
        recover_load(server->store, &assistants_face, &start.load, NULL) == ERR_OK)
        engine_run(server->engine, &start);
    else
        run_load_clear(&start.load);
    return ERR_OK;
}

/* For a look at a run whose time is over: the run expires, and then `then` answers. Its owner may be
 * about to end it in another way, so this look waits for that end and does not foretell it. */
static enum err_code answer_expired(struct request *request, const struct run_row *run,
                                    enum err_code (*then)(struct request *request,
                                                          struct run_row *run, struct err *err),
                                    struct err *err)
{
    enum err_code rc = expire(request, run, err);

    if (!rc)
        run_end_await(request, run, then);
    return rc;
}

static enum err_code show_run(struct request *request, struct run_row *run, struct err *err)
{
    (void)err;
    answer_run(request, run);
    return ERR_OK;
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
    if (run_row_is_late(&run))
        return answer_expired(request, &run, show_run, err);
    return show_run(request, &run, err);
}

/* For an empty list: ERR_NOT_FOUND if that is so because there is no such thread. */
static enum err_code check_thread(struct request *request, const char *thread_id,
                                  struct err *err)
{
    CLEANUP(thread_row_clear) struct thread_row thread = {0};

    return store_thread_get(request_server(request)->store, request_tenant(request), thread_id,
                            &thread, err);
}

/* A page of runs, as the request wants it. */
struct run_page {
    struct run_row *rows;
    size_t count;
    bool more;
};

static void run_page_clear(struct run_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        run_row_clear(&page->rows[i]);
    free(page->rows);
}

static enum err_code load_page(struct request *request, struct run_page *ret_page,
                               struct err *err)
{
    char thread_id[ID_LIMIT + 1];
    struct page page;
    enum err_code rc;

    rc = param_thread_id(request_param(request, "thread"), "thread_id", thread_id, err);
    if (!rc)
        rc = param_page(request, &page, err);
    if (!rc)
        rc = store_run_list(request_server(request)->store, request_tenant(request), thread_id,
                            &page, &ret_page->rows, &ret_page->count, &ret_page->more, err);
    return rc || ret_page->count ? rc : check_thread(request, thread_id, err);
}

static void show_page(struct request *request, const struct run_page *page)
{
    json_t *data = json_array();

    for (size_t i = 0; i < page->count; i++)
        json_array_append_new(data, encode_run(&page->rows[i]));
    request_answer(request, 200, encode_list(data, page->more));
}

/* One of them has expired meanwhile. */
static enum err_code list_again(struct request *request, struct run_row *run, struct err *err)
{
    CLEANUP(run_page_clear) struct run_page page = {0};
    enum err_code rc = load_page(request, &page, err);

    (void)run;
    if (!rc)
        show_page(request, &page);
    return rc;
}

/* A thread has one run at most that has not ended. */
enum err_code api_run_list(struct request *request, struct err *err)
{
    CLEANUP(run_page_clear) struct run_page page = {0};
    enum err_code rc = load_page(request, &page, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < page.count; i++) {
        if (run_row_is_late(&page.rows[i]))
            return answer_expired(request, &page.rows[i], list_again, err);
    }
    show_page(request, &page);
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

/* Joins the stream of a run again: first its events after `starting_after`, then those to come, until
 * the run has ended. An extension: OpenAI cannot resume the stream of a thread's run. */
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
                              .tenant = request_tenant(request),
                              .run = &run,
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
    /* If the log cannot be read now, the lease runs out, and the keeper of some node ends the run. */
    if (recover_load(server->store, &assistants_face, &start.load, NULL) == ERR_OK)
        engine_run(server->engine, &start);
    else
        run_load_clear(&start.load);
    return ERR_OK;
}

/* ---- Submitting outputs ---- */

/* Reads the request alone. Whether its outputs fit the run's calls is known only in the transaction
 * that stores them. */
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
    /* The row has the flag of the request that created the run; this one may want the other kind of
     * answer. */
    start.load.run.flags &= ~(unsigned)RUN_STREAMED;
    if (stream)
        start.load.run.flags |= RUN_STREAMED;
    start_and_answer(request, &start);
    return ERR_OK;
}
