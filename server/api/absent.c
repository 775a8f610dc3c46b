#include "core/base/compiler.h"
#include "server/http/routes.h"

/*
 * What OpenAI's API has and this server does not, so that the refusal can say so. "Invalid URL" would
 * send people looking for a mistake in their own settings.
 *
 * A row without a method stands for a path and for all below it. New operations of OpenAI mostly come below
 * paths that are here already. A row with a method is for a path that this server has for other methods.
 * Routes come first (routes.c), so a row need not go when a part of its paths is served.
 *
 * tests/e2e/python/test_absent.py holds the table against OpenAI's SDK.
 */

/* clang-format off */
const struct absent_route absent_routes[] = {
    {NULL,     "/v1/agents"},
    {NULL,     "/v1/audio"},
    {NULL,     "/v1/batches"},
    {NULL,     "/v1/chatkit"},
    {NULL,     "/v1/completions"},
    {NULL,     "/v1/content_provenance_checks"},
    {NULL,     "/v1/decisions"},
    {NULL,     "/v1/embeddings"},
    {NULL,     "/v1/evals"},
    {NULL,     "/v1/fine_tuning"},
    {NULL,     "/v1/images"},
    {NULL,     "/v1/live"},
    {NULL,     "/v1/moderations"},
    {NULL,     "/v1/organization"},
    {NULL,     "/v1/projects"},
    {NULL,     "/v1/realtime"},
    {NULL,     "/v1/safety"},
    {NULL,     "/v1/uploads"},
    {NULL,     "/v1/vaults"},
    {NULL,     "/v1/videos"},
    {NULL,     "/v1/webhook_endpoints"},
    {NULL,     "/v1/webhook_event_types"},

    {"GET",    "/v1/chat/completions"},
    {NULL,     "/v1/chat/completions/{completion}"},
    {"DELETE", "/v1/models/{model...}"},
};
/* clang-format on */

const size_t absent_route_count = COUNT_OF(absent_routes);
