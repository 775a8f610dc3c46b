/*
 * Responses: create, get, follow, list input, cancel, delete.
 *
 * A response is a run of the other face. In which way a create request is answered depends on two
 * flags of the body:
 *
 *                      stream: true                    stream: false
 *   foreground         events, until the end           the object, when the response has ended
 *   background: true   events; may be followed again   the object at once, status queued
 *
 * A foreground response exists for other requests only when it has ended: before that, GET, DELETE and
 * cancel are 404. Its client cancels it by closing the connection.
 *
 * A background response is resumable. Its events are in the log, from which a GET with stream=true
 * sends them again, first those that are stored and then the live ones. After a crash another node
 * continues it.
 *
 * Under an Idempotency-Key, a foreground response is resumable too, for repeats of its request only
 * (response_repeat.h). To all other requests it is a foreground response.
 *
 * Everything that takes long is on the run's loop. An endpoint checks, makes a sink on that loop, and
 * hands it to the engine.
 */

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/follow.h"
#include "core/run/engine/recover.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/deleted.h"
#include "server/api/api.h"
#include "server/api/input_files.h"
#include "server/api/request_key.h"
#include "server/api/responses/chain_cache.h"
#include "server/api/responses/inline_skills.h"
#include "server/api/responses/response_create.h"
#include "server/api/responses/response_read.h"
#include "server/api/responses/response_repeat.h"
#include "server/api/run_end.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/encode/faces.h"
#include "server/files/awaited_files.h"
#include "server/keeper.h"
#include "server/params/params.h"
#include "server/params/responses/response_params.h"
#include "server/server.h"

/* ---- Creating ---- */

/* The sink of a new response. A background response without a stream is answered as soon as it is stored.
 * If it is stored already (it has a fence), that is now, and it needs no sink. */
static struct sink *make_sink(struct request *request, struct engine *engine,
                              const struct run_load *load)
{
    const struct run_row *run = &load->run;
    struct loop *loop = engine_loop(engine, run->id);

    if (run->flags & RUN_STREAMED)
        return request_stream(request, loop);
    if (!load->fence || !(run->flags & RUN_BACKGROUND))
        return request_wait(request, loop);
    request_answer(request, 200, encode_response(run, json_array()));
    return NULL;
}

/* OpenAI's API ignores the header for a response that is not stored. */
static enum err_code read_key(struct request *request, struct idempotency *ret_key,
                              struct err *err)
{
    *ret_key = (struct idempotency){.key = ""};
    return json_get_bool(request_json(request), "store", true)
               ? request_key(request, ret_key, err)
               : ERR_OK;
}

/* A repeat may be refused although the first request was not: what that was about has changed meanwhile,
 * by its own response or otherwise. So the key is looked up before the refusal goes out. */
static bool find_repeated(const struct response_create *create)
{
    struct server *server = create->server;
    char id[ID_LIMIT + 1] = "";
    struct err ignored;

    return *create->key->key &&
           store_idempotency_find(server->store, create->tenant, create->key, id, &ignored) ==
               ERR_OK &&
           *id &&
           store_run_get(server->store, create->tenant, NULL, id, create->repeated, &ignored) ==
               ERR_OK;
}

enum err_code api_response_create(struct request *request, struct err *err)
{
    struct server *server = request_server(request);
    CLEANUP(run_row_clear) struct run_row repeated = {0};
    struct idempotency key;
    struct response_create create = {
        .server = server,
        .tenant = request_tenant(request),
        .body = request_json(request),
        .key = &key,
        .repeated = &repeated,
    };
    struct run_start start = {0};
    char failed[ID_SIZE];
    enum err_code rc;

    if (!request_came_back(request))
        inline_skills_drop_notes(request_json(request));
    if (input_files_wait(request, "input", api_response_create) ||
        inline_skills_wait(request, api_response_create))
        return ERR_OK;
    rc = read_key(request, &key, err);
    if (!rc)
        rc = response_create_prepare(&create, &start, err);
    if (!rc && response_gives_way(&repeated)) {
        key.replaces = memcpy(failed, repeated.id, sizeof(failed));
        run_row_clear(&repeated);
        repeated = (struct run_row){0};
        rc = response_create_prepare(&create, &start, err);
    }
    if (rc && (!find_repeated(&create) || response_gives_way(&repeated)))
        return rc;
    if (*repeated.id)
        return response_repeat(request, &repeated, err);
    start.sink = make_sink(request, server->engine, &start.load);
    awaited_files_run(server, &start);
    return ERR_OK;
}

/* ---- Reading ---- */

static enum err_code check_streamable(const struct run_row *run, const struct config *config,
                                      struct err *err)
{
    if (!(run->flags & RUN_BACKGROUND))
        return err_set_api(err, ERR_INVALID, NULL, "stream",
                           "This response cannot be streamed because it was not created with "
                           "background=true.");
    if (!(run->flags & RUN_STREAMED) || response_log_is_over(run, config))
        return err_set_api(err, ERR_INVALID, NULL, "stream",
                           "This response cannot be streamed because it was not created with "
                           "stream=true or the stream TTL has expired.");
    return ERR_OK;
}

/* Streams the events after `starting_after`: those that are stored, then those to come. */
static enum err_code follow(struct request *request, const struct run_row *run, struct err *err)
{
    struct engine *engine = request_server(request)->engine;
    int64_t first = 0;
    enum err_code rc = check_streamable(run, request_server(request)->config, err);

    if (!rc)
        rc = param_starting_after(request, &first, err);
    if (rc)
        return rc;
    engine_follow(engine, &(struct follow){
                              .tenant = request_tenant(request),
                              .run = run,
                              .first_seq = first,
                              .sink = request_stream(request, engine_loop(engine, run->id)),
                          });
    return ERR_OK;
}

/* ERR_NOT_FOUND also for a foreground response that has not ended. */
static enum err_code find_response(struct request *request, struct run_row *ret_run,
                                   struct err *err)
{
    const char *id = request_param(request, "response");
    enum err_code rc = store_run_get(request_server(request)->store, request_tenant(request),
                                     NULL, id, ret_run, err);

    if (rc)
        return rc;
    if (!(ret_run->flags & RUN_BACKGROUND) && !run_status_is_final(ret_run->status))
        return err_set(err, ERR_NOT_FOUND, "Response with id '%s' not found.", id);
    return ERR_OK;
}

static enum err_code check_query(const struct request *request, bool *ret_stream,
                                 unsigned *ret_include, struct err *err)
{
    bool obfuscation = false; /* checked and ignored: deltas are never padded */
    int64_t first = 0;
    enum err_code rc = param_item_include(request, ret_include, err);

    if (!rc)
        rc = param_query_bool(request, "stream", ret_stream, err);
    if (!rc)
        rc = param_starting_after(request, &first, err);
    return rc ? rc : param_query_bool(request, "include_obfuscation", &obfuscation, err);
}

enum err_code api_response_get(struct request *request, struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    bool stream = false;
    unsigned include = 0;
    json_t *object = NULL;
    enum err_code rc = check_query(request, &stream, &include, err);

    if (!rc)
        rc = find_response(request, &run, err);
    if (!rc && stream)
        return follow(request, &run, err);
    if (!rc)
        rc = response_read(request, &run, include, &object, err);
    if (rc)
        return rc;
    if (!run_status_is_final(run.status))
        request_set_header(request, "openai-poll-after-ms", "500");
    request_answer(request, 200, object);
    return ERR_OK;
}

enum err_code api_response_delete(struct request *request, struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    struct server *server = request_server(request);
    enum err_code rc = find_response(request, &run, err);

    if (!rc)
        rc = store_response_delete(server->store, request_tenant(request), run.id,
                                   keeper_grace_us(server->config), err);
    if (rc)
        return rc;
    chain_cache_drop(server->chain_cache, request_tenant(request), run.id);
    request_answer(request, 200, encode_deleted(run.id, "response.deleted"));
    return ERR_OK;
}

enum err_code api_response_inputs(struct request *request, struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    struct item_row *items = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    unsigned include = 0;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = param_item_include(request, &include, err);
    if (!rc)
        rc = find_response(request, &run, err);
    if (!rc)
        rc = store_run_items(request_server(request)->store, request_tenant(request), run.id,
                             true, &page, &items, &count, &more, err);
    if (rc)
        return rc;
    rc = answer_items(request, items, count, include, more, err);
    item_rows_free(items, count);
    return rc;
}

/* ---- Cancelling ---- */

static bool may_be_cancelled(const struct run_row *run)
{
    return run->flags & RUN_BACKGROUND &&
           (run->status == RUN_QUEUED || run->status == RUN_IN_PROGRESS);
}

/* The object of a cancelled response. If the server stops first, the response may still be cancelling; it
 * can come to no other end then. */
static enum err_code answer_cancelled(struct request *request, struct run_row *run)
{
    run->status = RUN_CANCELLED;
    request_answer(request, 200, encode_response(run, json_array()));
    return ERR_OK;
}

/* Also when the response has ended: it may have come to another end before the cancel reached it. Then the
 * client gets the error for that. */
static enum err_code answer_uncancellable(struct request *request, struct run_row *run,
                                          struct err *err)
{
    if (!(run->flags & RUN_BACKGROUND))
        return err_set(err, ERR_CONFLICT, "Cannot cancel a synchronous response.");
    if (run->status == RUN_CANCELLED || run->status == RUN_CANCELLING)
        return answer_cancelled(request, run);
    return err_set(err, ERR_CONFLICT, "Cannot cancel a %s response.",
                   run_status_name(run->status));
}

/* Notifies the owner of the run, or claims the run and ends it here if it has no owner. ERR_CONFLICT if it
 * is being cancelled already, or has ended. */
static enum err_code cancel(struct server *server, const struct tenant *tenant,
                            const struct run_row *run, struct err *err)
{
    struct run_start start = {.arrival = ARRIVAL_CLAIMED};
    enum cancel_outcome outcome;
    enum err_code rc =
        store_run_cancel(server->store, tenant, NULL, run->id,
                         engine_context_limit(server->engine), &outcome, &start.load, err);

    if (rc)
        return rc;
    if (outcome == CANCEL_OWNED_HERE)
        engine_cancel(server->engine, run->id);
    if (outcome == CANCEL_CLAIMED &&
        recover_load(server->store, &responses_face, &start.load, NULL) == ERR_OK)
        engine_run(server->engine, &start);
    else
        run_load_clear(&start.load);
    return ERR_OK;
}

/* Answers when the response has ended, and not at once, so that the client can continue its conversation
 * immediately. */
enum err_code api_response_cancel(struct request *request, struct err *err)
{
    CLEANUP(run_row_clear) struct run_row run = {0};
    enum err_code rc = find_response(request, &run, err);

    if (rc)
        return rc;
    if (run.status != RUN_CANCELLING && !may_be_cancelled(&run))
        return answer_uncancellable(request, &run, err);
    rc = cancel(request_server(request), request_tenant(request), &run, err);
    if (rc && rc != ERR_CONFLICT)
        return rc;
    run_end_await(request, &run, answer_uncancellable);
    return ERR_OK;
}
