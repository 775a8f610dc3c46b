/*
 * script_parse.c -- a box without files, and the parser in it.
 *
 * Python's own parser reads Python best, and it is large and written in C: a source of a stranger may use up its stack
 * or its memory. So it runs where commands of models run, and its answer is taken as hostile, too: it must be JSON of
 * at most ANSWER_LIMIT bytes, and its parts are looked at before they are used.
 */

#include "server/scripts/script_parse.h"

#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/container/boxes.h"
#include "core/container/python.h"
#include "core/sandbox/memory_file.h"
#include "server/complaint.h"
#include "server/server.h"

#define MEMORY       ((uint64_t)256 << 20)
#define TIMEOUT_MS   10000
#define ANSWER_LIMIT ((size_t)4 << 20)

__asm__(".pushsection .rodata\n"
        "script_parser: .incbin \"" PARSER "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char script_parser[] __attribute__((visibility("hidden")));

static bool take(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    struct buf *answer = argument;

    if (stream == BOX_STDERR)
        return true;
    if (size > ANSWER_LIMIT - answer->length)
        return false;
    buf_add(answer, bytes, size);
    return true;
}

static enum err_code execute(struct boxes_hold *hold, struct server *server, int input,
                             struct buf *ret_answer, struct err *err)
{
    const char *const arguments[] = {"/usr/bin/python3", "-I", "-S", "-c", script_parser, NULL};
    const struct box_run plan = {.command = {.folder = "/",
                                             .arguments = arguments,
                                             .environment = boxes_environment(server->boxes)},
                                 .input = input,
                                 .timeout_ms = TIMEOUT_MS,
                                 .cancel = -1,
                                 .leftovers = BOX_KILL_LEFTOVERS,
                                 .take_output = take,
                                 .argument = ret_answer};
    struct box_result result = {.why = BOX_GONE};
    enum err_code rc = box_run(boxes_box(hold), &plan, &result, err);

    if (!rc && (result.why != BOX_EXITED || result.status != 0))
        rc = err_invalid(err, "invalid_value", "source",
                         "Invalid 'source': it cannot be parsed with the time and the memory "
                         "that there are.");
    return rc;
}

/* Why a machine makes no box is the operator's to read. */
static enum err_code no_box(enum err_code rc, struct err *err)
{
    if (rc == ERR_LIMIT)
        return err_refuse(err, rc, REASON_BUSY, NULL,
                          "The server is out of sandbox memory; try again.");
    if (rc == ERR_CANCELLED)
        return err_set(err, ERR_STORE, "The server is stopping; try again.");
    log_error("a script is not parsed: %s", err->text);
    return err_set(err, ERR_INTERNAL, "The server could not start the parser of scripts.");
}

static enum err_code run_parser(struct server *server, const char *source,
                                struct buf *ret_answer, struct err *err)
{
    const struct boxes_request request = {
        .container = "", .memory = MEMORY, .use = BOXES_ALONE, .cancel = -1};
    struct boxes_hold *hold = NULL;
    int input = memory_file(source, strlen(source), err);
    enum err_code rc = input < 0 ? ERR_INTERNAL : ERR_OK;

    if (!rc) {
        rc = boxes_take(server->boxes, &request, &hold, err);
        rc = rc ? no_box(rc, err) : ERR_OK;
    }
    rc = rc ? rc : execute(hold, server, input, ret_answer, err);
    boxes_give(hold);
    if (input >= 0)
        close(input);
    return rc;
}

static bool is_definition(const json_t *answer)
{
    const json_t *functions = json_object_get(answer, "functions");
    size_t i;
    json_t *function;

    json_array_foreach (functions, i, function) {
        if (!*json_get_string(function, "name", "") ||
            !json_is_object(json_object_get(function, "parameters")) ||
            !json_is_string(json_object_get(function, "description")))
            return false;
    }
    return json_array_size(functions) > 0 && json_is_string(json_object_get(answer, "rules"));
}

enum err_code script_source_parse(struct server *server, const char *source,
                                  json_t **ret_definition, struct err *err)
{
    AUTO_BUF text = {0};
    json_auto_t *answer = NULL;
    const char *refused;
    enum err_code rc;

    if (!server->boxes || !python_is_installed())
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
                          "This server executes no scripts: its log says why.");
    rc = run_parser(server, source, &text, err);
    if (rc)
        return rc;
    if (json_parse(text.data ? text.data : "", text.length, &answer, err))
        return err_set(err, ERR_INTERNAL, "The parser of scripts has failed.");
    refused = json_get_string(answer, "refused", NULL);
    if (refused)
        return err_invalid(err, "invalid_value", "source", "Invalid 'source': %.400s", refused);
    if (!is_definition(answer))
        return err_set(err, ERR_INTERNAL, "The parser of scripts has failed.");
    *ret_definition = json_incref(answer);
    return ERR_OK;
}
