/*
 * program -- OpenAI's programmatic tool calling: JavaScript of the model that calls other tools.
 *
 *   code, outputs so far ─▶ Node.js in a box of its own: program_driver.js ─▶ calls that it waits for, or its end
 *
 * A step is a whole new process. It costs some 50 ms, and nothing waits in memory while a client works on a call: any
 * server goes on. A process that is kept alive would save that, and lose the program with its server.
 *
 * The box has no files, no network and no container. What comes out of it is taken as hostile: a program that breaks
 * out of its context can only make other calls, and each of them is checked as a call of the model.
 *
 * Who steps a program, and what becomes of its calls, is core/run/calls/run_programs.c.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/program.h"
#include "core/sandbox/box.h"
#include "handlers/handlers.h"
#include "handlers/support/box_call.h"
#include "handlers/support/program_driver.h"

/* What the box may have: the heap, and Node.js around it. */
#define BOX_MEMORY ((uint64_t)512 << 20)

/* Bytes of an answer of the driver. */
#define ANSWER_LIMIT ((size_t)16 << 20)

/* ---- A step ---- */

struct answer {
    struct buf bytes;
    bool too_long;
};

static bool take(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    struct answer *answer = argument;

    if (stream != BOX_STDOUT)
        return true; /* what Node.js says when it ends is of no use to the model */
    answer->too_long = answer->bytes.length + size > ANSWER_LIMIT;
    if (!answer->too_long)
        buf_add(&answer->bytes, bytes, size);
    return !answer->too_long;
}

/* The arguments, and the limits that the driver keeps. */
static void write_input(json_t *args, struct buf *input)
{
    json_auto_t *all = json_copy(args);

    json_set(all, "limits",
             json_build("{s:i, s:i, s:i, s:i}", "calls", PROGRAM_CALLS, "at_once",
                        (int)json_get_int(args, "at_once", PROGRAM_AT_ONCE), "text",
                        PROGRAM_TEXT_LIMIT, "images", PROGRAM_IMAGES));
    json_add_text(input, all);
}

static enum err_code run_driver(struct tool_call *call, struct answer *answer,
                                struct box_result *ret_result, struct err *err)
{
    AUTO_BUF input = {0};
    AUTO_FREE char *line =
        mem_printf("ulimit -t %d; exec /usr/bin/node --max-old-space-size=%d --no-warnings -e "
                   "\"$0\"",
                   PROGRAM_CPU_SECONDS, PROGRAM_HEAP_MIB);
    const char *const arguments[] = {"/bin/bash", "-c", line, program_driver_text(), NULL};
    const struct box_call plan = {
        .arguments = arguments,
        .input = &input,
        .bare_memory = BOX_MEMORY,
        .timeout_ms = PROGRAM_WALL_MS,
        .take_output = take,
        .argument = answer,
    };

    write_input(tool_call_args(call), &input);
    return box_call_run(call, &plan, ret_result, err);
}

/* Why a program was stopped; NULL: it was not. */
static const char *stopped(const struct box_result *result, const struct answer *answer)
{
    if (answer->too_long)
        return "The program was stopped: it makes calls with too long arguments.";
    switch (result->why) {
    case BOX_EXITED: return NULL;
    case BOX_SIGNALLED:
        return result->cpu_us >= (uint64_t)(PROGRAM_CPU_SECONDS - 1) * 1000000
                   ? "The program was stopped: it has used 30 seconds of processor time."
                   : "The program was stopped: it needs more than 128 MiB of memory.";
    case BOX_OVER_MEMORY:
        return "The program was stopped: it needs more than 128 MiB of memory.";
    case BOX_TIMED_OUT: return "The program was stopped: it took too long.";
    case BOX_OVER_DISK:
    case BOX_OVER_COUNT:
    case BOX_GONE:
    case BOX_CANCELLED:
    case BOX_UNWANTED: return "The program was stopped: its sandbox has ended.";
    }
    return NULL;
}

/* ---- Its end ---- */

/* {"image_url": "data:image/png;base64,..."} or another URL, or {"file_id"}. NULL: it is no picture. New reference. */
static json_t *picture_of(const json_t *given)
{
    const char *url = json_get_string(given, "image_url", json_get_string(given, "url", NULL));
    const char *id = json_get_string(given, "file_id", NULL);
    const char *data = url && strncmp(url, "data:image/", 11) == 0 ? strchr(url, ',') : NULL;
    AUTO_FREE char *type = NULL;

    if (data) {
        type = mem_strndup(url + 5, strcspn(url + 5, ";,"));
        return json_build("{s:s, s:s, s:s}", "type", "image", "mime_type", type, "data",
                          data + 1);
    }
    if (url || id)
        return json_build("{s:s, s:s}", "type", "image", "url", url ? url : id);
    return NULL;
}

/* What it has said, line by line. New reference. */
static json_t *said(const json_t *texts)
{
    AUTO_BUF all = {0};
    size_t i;
    json_t *text;

    json_array_foreach (texts, i, text)
        buf_addf(&all, "%s%s", i ? "\n" : "",
                 json_is_string(text) ? json_string_value(text) : "");
    return json_build("{s:s, s:o}", "type", "text", "text",
                      json_stringn_nocheck(all.data ? all.data : "", all.length));
}

/* New reference. */
static json_t *parts_of(const json_t *answer)
{
    json_t *list = json_build("[o]", said(json_object_get(answer, "texts")));
    size_t i;
    json_t *given;

    json_array_foreach (json_object_get(answer, "images"), i, given) {
        json_t *picture = picture_of(given);

        if (picture)
            json_array_append_new(list, picture);
    }
    return list;
}

/* The fields of the stage. New reference. */
static json_t *report(const struct answer *answer)
{
    json_auto_t *object = NULL;
    struct err err;

    if (json_parse(answer->bytes.data ? answer->bytes.data : "", answer->bytes.length, &object,
                   &err) ||
        !json_is_object(object))
        return json_build("{s:s}", "failed", "The program has ended without a result.");
    if (json_get_bool(object, "strayed", false))
        return json_build("{s:s}", "failed", "The program did not repeat itself.");
    if (json_get_string(object, "failed", NULL))
        return json_build("{s:O}", "failed", json_object_get(object, "failed"));
    if (json_is_array(json_object_get(object, "calls")))
        return json_build("{s:O}", "calls", json_object_get(object, "calls"));
    return json_build("{s:o}", "result", parts_of(object));
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    struct answer answer = {0};
    struct box_result result = {.why = BOX_GONE};
    enum err_code rc = run_driver(call, &answer, &result, err);
    const char *why = rc && !answer.too_long ? NULL : stopped(&result, &answer);

    (void)ret_result;
    if (!rc || why)
        rc = tool_call_emit_stage(call, PROGRAM_STAGE,
                                  why ? json_build("{s:s}", "failed", why) : report(&answer));
    buf_clear(&answer.bytes);
    return rc;
}

/* ---- Its items ---- */

static json_t *call_fields(const json_t *args)
{
    return json_build("{s:s, s:s}", "code", json_get_string(args, "code", ""), "fingerprint",
                      "");
}

static void fill_output(json_t *fields, const json_t *args, const struct tool_result *result,
                        const char *why)
{
    (void)args;
    if (why)
        json_set_string(fields, "result", why);
    else if (result && result->count && result->parts[0].kind == TOOL_PART_TEXT)
        json_set_string(fields, "result", result->parts[0].data);
}

static const struct item_answer output = {
    .type = "program_output",
    .fields = "{\"result\":\"\"}",
    .call = call_fields,
    .fill = fill_output,
};

static const char *name_of(const json_t *body)
{
    (void)body;
    return "program";
}

static json_t *arguments_of(const json_t *body)
{
    return json_build("{s:s}", "code", json_get_string(body, "code", ""));
}

static json_t *output_of(const json_t *body, const char *status)
{
    bool failed = strcmp(status, "incomplete") == 0;
    const char *result = json_get_string(body, "result", "");
    AUTO_FREE char *text =
        mem_printf("%s%s", failed ? "The program did not come to its end. " : "", result);

    return json_string_nocheck(text);
}

static const struct tool_item item = {
    .type = "program",
    .answer = &output,
    .name = name_of,
    .arguments = arguments_of,
    .output = output_of,
};

/* ---- The words for the model ---- */

/* The tools that a program may call stand behind it (core/run/catalog/programmatic.c). */
static const char about[] =
    "Runs a JavaScript program that calls tools. The program is the body of an async function: "
    "await works at its top. It calls a tool with `await tools.name({...})`, an object of "
    "arguments, and gets the tool's output: a value if that is JSON, else a string. A call "
    "that "
    "fails throws an Error. Calls that are awaited together, with Promise.all, are made "
    "together. Only the values that it passes to text(value) come back to you; image(url) "
    "shows "
    "the user a picture. Use a program for several calls, and to filter, join or count their "
    "outputs, so that you need not read all of them. Each program begins anew. There are no "
    "modules, no files, no network, no timers and no console; time stands still.";

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"code\"],"
    " \"properties\": {\"code\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": "
    "1048576,"
    "  \"description\": \"The program.\"}}}";

const struct tool_handler program_handler = {
    .name = "program",
    .type = "programmatic_tool_calling",
    .group = "hosted",
    .description = about,
    .parameters = parameters,
    .flags = TOOL_HOSTED | TOOL_NEEDS_SANDBOX | TOOL_NEEDS_NODE | TOOL_PROGRAM |
             TOOL_IDEMPOTENT | TOOL_NOT_KEPT,
    .shown_limit = CUT_NO_LIMIT,
    .timeout_seconds = PROGRAM_WALL_MS / 1000.0 + 60,
    .item = &item,
    .run = run,
};
