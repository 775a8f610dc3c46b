/*
 * code_interpreter -- OpenAI's hosted tool: the model runs Python in a container.
 *
 * To the model it is the function `python`, which is what models were trained on. The call is an item of the type
 * code_interpreter_call. Its code is complete when it begins to run, at the stage "interpreting"; its outputs come with
 * its end.
 *
 * An output is a text or a picture. The two APIs show a picture differently: in a response it is a data URL, in a run
 * step the id of a file. A container belongs to one of them, so the item is stored with what its own API needs.
 * A picture that is too large for an item is named by the path under which its client can fetch it.
 *
 * What the model reads is made of the outputs alone. So a client that keeps its history itself can send the call back,
 * and the model reads the same words again.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/domain/notes.h"
#include "core/tool/tool_container.h"
#include "handlers/handlers.h"
#include "handlers/support/container_files.h"

/* Bytes of code in one delta. */
#define PIECE ((size_t)16 << 10)

/* ---- Outputs ---- */

static bool is_picture(const json_t *output)
{
    return strcmp(json_get_string(output, "type", ""), "image") == 0;
}

/* A picture of a run step, as a run step shows it; NULL: it is one of a response. */
static const char *step_file(const json_t *output)
{
    return json_get_string(json_object_get(output, "image"), "file_id", NULL);
}

/* What names a picture to the model. Of another server's, nothing is known but that it was there. */
static const char *picture_name(const json_t *output)
{
    const char *file = step_file(output);

    return file ? file : json_get_string(notes_of(output), "file_id", NULL);
}

/* The text that the model reads. Outputs that a client did not include are null in the item that it sends back. The
 * caller frees. */
static char *read_text(const json_t *outputs)
{
    AUTO_BUF text = {0};
    unsigned pictures = 0;
    size_t i;
    json_t *output;

    if (!json_is_array(outputs))
        return mem_strdup("(The output of this call is not in the conversation.)");
    json_array_foreach (outputs, i, output) {
        const char *name = picture_name(output);

        if (!is_picture(output)) {
            buf_add_text(&text, json_get_string(output, "logs", ""));
            continue;
        }
        if (text.length && text.data[text.length - 1] != '\n')
            buf_add_char(&text, '\n');
        buf_addf(&text, "[figure %u%s%s: the user sees it]\n", ++pictures, name ? " " : "",
                 name ? name : "");
    }
    return text.length ? buf_take(&text) : mem_strdup("(no output)");
}

/* A picture with its data, in the form of its API. */
static json_t *shown_picture(const struct tool_container *container, const json_t *output)
{
    const json_t *data = json_object_get(output, "data");
    const char *file = json_get_string(output, "file_id", "");
    AUTO_FREE char *url = NULL;

    if (!data)
        return json_build("{s:s, s:{s:s}}", "type", "image", "image", "file_id", file);
    url = json_is_string(data)
              ? mem_printf("data:image/png;base64,%s", json_string_value(data))
              : mem_printf("/v1/containers/%s/files/%s/content", container->id, file);
    return json_build("{s:s, s:s, s:{s:s}}", "type", "image", "url", url, "runnel", "file_id",
                      file);
}

static json_t *shown_outputs(const struct tool_container *container, const json_t *outputs)
{
    json_t *shown = json_array();
    size_t i;
    json_t *output;

    json_array_foreach (outputs, i, output)
        json_array_append_new(shown, is_picture(output) ? shown_picture(container, output)
                                                        : json_incref(output));
    return shown;
}

/* ---- The item ---- */

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    json_t *outputs = json_object_get(result->data, "outputs");

    (void)args;
    if (outputs)
        json_set(fields, "outputs", json_incref(outputs));
}

/* What the model has read is in the notes: clients see of it what they include. */
static void show(json_t *object, unsigned include)
{
    json_object_del(notes_of(object), "output");
    if (!(include & RUN_INCLUDE_CODE_OUTPUTS))
        json_set(object, "outputs", json_null());
}

static char *retell(const json_t *body, unsigned search, json_t **ret_arguments,
                    json_t **ret_sources)
{
    (void)search;
    (void)ret_sources;
    *ret_arguments = json_build("{s:s}", "code", json_get_string(body, "code", ""));
    return read_text(json_object_get(body, "outputs"));
}

/* An output in a run step, without its place. A picture of a response has no file there. */
static json_t *step_output(const json_t *output)
{
    if (!is_picture(output))
        return json_build("{s:s, s:s}", "type", "logs", "logs",
                          json_get_string(output, "logs", ""));
    return json_build("{s:s, s:{s:s?}}", "type", "image", "image", "file_id",
                      step_file(output) ? step_file(output) : "");
}

static json_t *step_outputs(const json_t *body)
{
    json_t *list = json_array();
    size_t i;
    json_t *output;

    json_array_foreach (json_object_get(body, "outputs"), i, output)
        json_array_append_new(list, step_output(output));
    return list;
}

static json_t *step(const json_t *body, unsigned include)
{
    (void)include;
    return json_build("{s:s, s:o}", "input", json_get_string(body, "code", ""), "outputs",
                      step_outputs(body));
}

static json_t *step_delta(const char *field, const char *text, size_t length)
{
    return strcmp(field, "code") == 0 ? json_build("{s:s%}", "input", text, length) : NULL;
}

static json_t *step_end(const json_t *body)
{
    json_t *outputs = step_outputs(body);
    size_t i;
    json_t *output;

    json_array_foreach (outputs, i, output)
        json_set_int(output, "index", (json_int_t)i);
    return json_build("{s:o}", "outputs", outputs);
}

static const struct item_stream streams[] = {
    {"code", "response.code_interpreter_call_code", "interpreting"},
    {0},
};

const struct tool_item code_interpreter_item = {
    .type = "code_interpreter_call",
    .fields = "{\"code\":\"\",\"container_id\":\"\",\"outputs\":[]}",
    .fill = fill,
    .show = show,
    .retell = retell,
    .function = "python",
    .streams = streams,
    .step_type = "code_interpreter",
    .step = step,
    .step_opening = "{\"input\":\"\",\"outputs\":[]}",
    .step_delta = step_delta,
    .step_end = step_end,
};

/* ---- Running ---- */

/* The item opens with its container, and shows its code. */
static enum err_code show_code(struct tool_call *call, const char *container_id,
                               const char *code)
{
    enum err_code rc = tool_call_open(call, json_build("{s:s}", "container_id", container_id));
    size_t left = strlen(code);

    while (!rc && left) {
        size_t size = left > PIECE ? utf8_fit(code, PIECE) : left;

        rc = tool_call_emit_delta(call, "code", code, size);
        code += size;
        left -= size;
    }
    return rc ? rc : tool_call_emit_stage(call, "interpreting", NULL);
}

static void add_line(struct buf *text, const char *line)
{
    if (!line)
        return;
    if (text->length)
        buf_add_char(text, '\n');
    buf_add_text(text, line);
}

/* What is lost, the text of the outputs, the files that the user cannot get, and how it ended: each on lines of its
 * own. */
static void add_text(struct tool_container *container, const struct tool_run *ran,
                     const json_t *shown, struct tool_result *result)
{
    AUTO_FREE char *text = read_text(shown);
    AUTO_BUF all = {0};

    add_line(&all, container->lost);
    container->lost_shown = true;
    add_line(&all, text);
    add_line(&all, ran->unkept);
    add_line(&all, ran->ended);
    tool_result_add_text(result, all.data);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *code = json_get_string(tool_call_args(call), "code", "");
    struct tool_container *container = NULL;
    CLEANUP(tool_run_clear) struct tool_run ran = {0};
    json_t *shown;
    enum err_code found = tool_call_container(call, &container, err);
    enum err_code rc = show_code(call, found ? "" : container->id, code);

    if (found || rc)
        return found ? found : rc;
    rc = tool_call_python(call, code, &ran, err);
    if (rc)
        return rc;
    shown = shown_outputs(container, ran.outputs);
    add_text(container, &ran, shown, ret_result);
    tool_result_set_data(ret_result, json_build("{s:o}", "outputs", shown));
    tool_result_set_files(ret_result, TAKE(ran.files));
    return ERR_OK;
}

/* ---- The words for the model ---- */

static const char about[] =
    "Runs Python code in a container, and shows what it prints, the "
    "value of its last line, and its figures. Variables "
    "and files stay from call to call. The working directory is "
    "/mnt/data, where the user's files are. There is no "
    "network, unless the environment has HTTPS_PROXY: then programs reach "
    "through it the hosts that the user allows. Figures of matplotlib are shown to the user "
    "when "
    "plt.show() is called. A file that the user should get is "
    "saved in /mnt/data and named in the answer as a link: "
    "[report.csv](sandbox:/mnt/data/report.csv).";

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"code\"],"
    " \"properties\": {\"code\": {\"type\": \"string\", \"maxLength\": 1048576,"
    "  \"description\": \"Python code, as in a notebook. A line that begins with ! is a shell "
    "command.\"}}}";

static json_t *init(const struct tool_context *context)
{
    return container_note_of(context->settings);
}

const struct tool_handler code_interpreter_handler = {
    .name = "python",
    .type = "code_interpreter",
    .group = "hosted",
    .description = about,
    .parameters = parameters,
    .flags = TOOL_HOSTED | TOOL_NEEDS_SANDBOX | TOOL_NEEDS_PYTHON | TOOL_TAKES_SEAT |
             TOOL_OPENS | TOOL_IN_ORDER,
    .item = &code_interpreter_item,
    .init = init,
    .run = run,
};
