/*
 * A create request that repeats an earlier one: its client lost the answer, or could not wait for it.
 *
 *                the earlier response runs     it has ended
 *   stream       its log, then live            its log
 *   background   the object as it is now       the object
 *   else         waits for the end             the object, or the error that the first client got
 *
 * SDKs send a request again after an error, under the same key. If that error were the answer for ever, a
 * key would turn one bad minute of a model into a day. So a response that has failed gives way, as long as
 * it had no effect. A tool that was called would be called twice, so then the error stays. The error of
 * a stream was an answer: its client has seen response.failed, and no SDK repeats that.
 */

#include "server/api/responses/response_repeat.h"

#include "core/base/mem.h"
#include "core/domain/run_settings.h"
#include "core/run/context/chain.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/follow.h"
#include "server/api/responses/response_read.h"
#include "server/api/run_end.h"
#include "server/complaint.h"
#include "server/encode/faces.h"
#include "server/server.h"

static bool is_plain(const struct run_row *run)
{
    return !(run->flags & (RUN_BACKGROUND | RUN_STREAMED));
}

static bool has_failed(const struct run_row *run)
{
    return run->status == RUN_FAILED || run->status == RUN_EXPIRED;
}

bool response_gives_way(const struct run_row *run)
{
    if (!*run->id || run->flags & RUN_BACKGROUND || chain_calls_of(run->usage))
        return false;
    return (is_plain(run) && has_failed(run)) || run->status == RUN_CANCELLED;
}

/* What the first request wanted included. */
static unsigned includes_of(const struct run_row *run)
{
    CLEANUP(run_settings_clear) struct run_settings settings;

    run_settings_load(&settings, run->config);
    return settings.includes;
}

static enum err_code answer(struct request *request, struct run_row *run, struct err *err)
{
    struct sink_answer failure = {0};
    json_t *object = NULL;
    enum err_code rc;

    if (is_plain(run) && has_failed(run)) {
        responses_failure(run, &failure);
        for (size_t i = 0; i < failure.header_count; i++)
            request_set_header(request, failure.headers[i].name, failure.headers[i].value);
        request_answer(request, failure.status, failure.object);
        return ERR_OK;
    }
    rc = response_read(request, run, includes_of(run), &object, err);
    if (rc)
        return rc;
    request_answer(request, 200, object);
    return ERR_OK;
}

static enum err_code follow(struct request *request, const struct run_row *run, struct err *err)
{
    struct engine *engine = request_server(request)->engine;

    if (response_log_is_over(run, request_server(request)->config))
        return err_set_api(err, ERR_INVALID, NULL, "stream",
                           "This response cannot be streamed again because its stream TTL has "
                           "expired.");
    engine_follow(engine, &(struct follow){
                              .tenant = request_tenant(request),
                              .run = run,
                              .sink = request_stream(request, engine_loop(engine, run->id)),
                          });
    return ERR_OK;
}

enum err_code response_repeat(struct request *request, struct run_row *run, struct err *err)
{
    if (run->flags & RUN_STREAMED)
        return follow(request, run, err);
    if (run->flags & RUN_BACKGROUND || run_status_is_final(run->status))
        return answer(request, run, err);
    run_end_await(request, run, answer);
    return ERR_OK;
}
