/*
 * test_weather -- a hosted tool whose item has a type that no other code knows. Never part of a release.
 *
 * It is the example of handlers/README.md, "Add a hosted tool". This file is all of its code: the item, what
 * streams, its events, its run step. Besides there are its line in handlers.h, its tests (test_test_handlers.c,
 * test_hosted.py), and its schemas. openapi.yaml describes releases, so the schemas are in test_weather.yaml
 * beside this file. The end-to-end tests add them to the contract and check every answer against both.
 *
 * The forecast is args.pieces; args.fail is the reason of a failure.
 */

#include <string.h>

#include "core/base/json.h"
#include "handlers/handlers.h"

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    json_set_string(fields, "place", json_get_string(args, "place", ""));
    json_set_int(fields, "parts", (json_int_t)result->count);
}

static json_t *step(const json_t *body, unsigned include)
{
    (void)include;
    return json_build("{s:s, s:s}", "place", json_get_string(body, "place", ""), "forecast",
                      json_get_string(body, "forecast", ""));
}

static const struct item_stream streams[] = {
    {"forecast", "response.weather_call_forecast", "signing"},
    {0},
};

static const struct tool_item item = {
    .type = "weather_call",
    .id_prefix = "wx_",
    .fields = "{\"place\":null,\"forecast\":\"\"}",
    .fill = fill,
    .streams = streams,
    .step_type = "weather",
    .step = step,
};

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *why = json_get_string(args, "fail", NULL);
    enum err_code rc =
        tool_call_emit_stage(call, "measuring", json_build("{s:i}", "stations", 3));
    const json_t *piece;
    size_t i;

    json_array_foreach (json_object_get(args, "pieces"), i, piece) {
        const char *text = json_is_string(piece) ? json_string_value(piece) : "";

        if (!rc)
            rc = tool_call_emit_delta(call, "forecast", text, strlen(text));
    }
    if (!rc)
        rc = tool_call_emit_stage(call, "signing", NULL);
    if (rc)
        return rc;
    if (why)
        return err_set(err, ERR_INVALID, "%s", why);
    tool_result_add_text(ret_result, "It will rain.");
    return ERR_OK;
}

const struct tool_handler test_weather_handler = {
    .name = "test_weather",
    .group = "test",
    .description = "Says what the weather will be.",
    .parameters = "{\"type\": \"object\", \"additionalProperties\": true}",
    .item = &item,
    .run = run,
};
