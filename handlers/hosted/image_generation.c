/*
 * image_generation -- OpenAI's hosted tool: the model has pictures drawn, and edited.
 *
 * To the model it is the function `generate_image`. The call is an item of the type image_generation_call, whose result
 * is the picture in base64. Previews are stages, "partial_image", with fields of their own.
 *
 * What the request says in its entry of `tools` wins over what the model asks for. Members that have their default are
 * not sent: image models other than OpenAI's refuse what they do not know.
 *
 * In a stored response the picture lies in a blob, and the stored item has only its id.
 *
 * In a thread's run the picture is a file of the project, and the item has its id: run steps show a function, and the
 * next message shows the file (run_made.h).
 *
 * The last image part of a result counts, so a tool may return a preview and the picture.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/tool/picture/tool_picture.h"
#include "handlers/handlers.h"

#define PREVIEWS_LIMIT 3

/* ---- The item ---- */

static const char *const shown_facts[] = {"revised_prompt", "background", "output_format",
                                          "quality",        "size",       "action"};

static const char *const preview_facts[] = {"size", "quality", "background", "output_format"};

static const char *word_of(enum err_code rc)
{
    return rc == ERR_INVALID     ? "invalid_request"
           : rc == ERR_LIMIT     ? "rate_limit_exceeded"
           : rc == ERR_TIMEOUT   ? "timeout"
           : rc == ERR_TOO_LARGE ? "image_too_large"
                                 : "server_error";
}

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    (void)args;
    for (size_t i = 0; i < result->count; i++) {
        const struct tool_part *part = &result->parts[i];

        if (part->kind == TOOL_PART_IMAGE && part->data)
            json_set_string(fields, "result", part->data);
    }
    for (size_t i = 0; i < COUNT_OF(shown_facts); i++) {
        json_t *fact = json_object_get(result->data, shown_facts[i]);

        if (fact)
            json_object_set(fields, shown_facts[i], fact);
    }
}

static void fail(json_t *fields, const struct tool_result *result)
{
    json_t *error = json_object_get(result->data, "error");

    if (error)
        json_object_set(fields, "error", error);
}

/* Of a thread's run the notes name the file. */
static json_t *picture(const json_t *body)
{
    const json_t *files = json_object_get(notes_of(body), NOTE_FILES);
    const char *file = json_get_string(json_array_get(files, 0), "file_id", NULL);
    json_t *result = json_object_get(body, "result");

    const char *blob = json_get_string(notes_of(body), NOTE_PICTURE, NULL);

    if (file)
        return json_build("{s:s}", "file_id", file);
    if (blob)
        return json_build("{s:s}", "blob_id", blob);
    return json_string_length(result) ? json_build("{s:O}", "base64", result) : NULL;
}

/* The request decides; with "auto" the model does. */
static bool edits(const json_t *entry, const json_t *args)
{
    const char *wanted = json_get_string(entry, "action", "auto");

    if (strcmp(wanted, "auto") == 0)
        wanted = json_get_string(args, "action", "generate");
    return strcmp(wanted, "edit") == 0;
}

/* The words stay the same, as a client may send the item again. */
static char *read_text(const char *prompt)
{
    return mem_printf("[A picture was drawn, and the user sees it: %s]", prompt);
}

static char *retell(const json_t *body, unsigned search, json_t **ret_arguments,
                    json_t **ret_sources)
{
    const char *prompt = json_get_string(body, "revised_prompt", "");

    (void)search;
    (void)ret_sources;
    if (!json_is_string(json_object_get(body, "result")) &&
        !json_object_get(notes_of(body), NOTE_PICTURE))
        return NULL;
    *ret_arguments = json_build("{s:s}", "prompt", prompt);
    return read_text(prompt);
}

/* Members of the entry that go to the image model, unless they have their default. */
/* clang-format off */
static const struct {
    const char *key;
    const char *fallback; /* NULL: it has none */
} members[] = {
    {"size", "auto"},
    {"quality", "auto"},
    {"background", "auto"},
    {"moderation", "auto"},
    {"output_format", "png"},
    {"output_compression", "100"},
    {"input_fidelity", NULL},
    {"model", NULL},
    {"complexity", NULL},
    {"frame_count", NULL},
    {"frame_duration_ms", NULL},
    {"svg", NULL},
};
/* clang-format on */

static bool is_default(const json_t *value, const char *fallback)
{
    AUTO_FREE char *text = json_is_string(value) ? NULL : json_text(value);

    return fallback && strcmp(text ? text : json_string_value(value), fallback) == 0;
}

/* ---- Pictures of the upstream ---- */

#define FACT_LIMIT    ((size_t)32768) /* bytes of one string that the upstream says of a picture */
#define PASSED_INDEX  (PREVIEWS_LIMIT - 1)
#define MESSAGE_LIMIT ((size_t)1000)

/* Base64 of whole groups. The picture may have megabytes, and this is a loop: it is not decoded. */
static bool is_base64(const json_t *value)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = json_string_length(value);
    const char *text = json_string_value(value);
    size_t plain = length ? strspn(text, digits) : 0;

    return length && length % 4 == 0 && plain + strspn(text + plain, "=") == length &&
           length - plain <= 2;
}

static void copy_facts(json_t *fields, const json_t *from, const char *const *keys,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *fact = json_object_get(from, keys[i]);

        if (json_is_string(fact) && json_string_length(fact) <= FACT_LIMIT)
            json_object_set(fields, keys[i], fact);
    }
}

static json_t *passed_stage(const char *stage, const json_t *event, bool *ret_garbage)
{
    json_t *picture = json_object_get(event, "partial_image_b64");
    json_int_t index = json_get_int(event, "partial_image_index", -1);
    json_t *fields;

    (void)stage; /* there is one besides the first */
    if (!is_base64(picture) || index < 0 || index > PASSED_INDEX) {
        *ret_garbage = true;
        return NULL;
    }
    fields =
        json_build("{s:O, s:I}", "partial_image_b64", picture, "partial_image_index", index);
    copy_facts(fields, event, preview_facts, COUNT_OF(preview_facts));
    return fields;
}

static json_t *passed_fields(const json_t *item)
{
    json_t *result = json_object_get(item, "result");
    json_t *fields;

    if (!is_base64(result))
        return NULL;
    fields = json_build("{s:O}", "result", result);
    copy_facts(fields, item, shown_facts, COUNT_OF(shown_facts));
    return fields;
}

static json_t *passed_failed(const json_t *item)
{
    const json_t *error = json_object_get(item, "error");
    const char *code = json_get_string(error, "code", "");
    const char *message = json_get_string(error, "message", "");
    bool usable = *code && strlen(code) <= MESSAGE_LIMIT && strlen(message) <= MESSAGE_LIMIT;

    return json_build("{s:n, s:{s:s, s:s, s:n, s:s}}", "result", "error", "code",
                      usable ? code : word_of(ERR_UPSTREAM), "message",
                      usable ? message : "The model's server has not drawn the picture.",
                      "param", "type", "image_generation_error");
}

static json_t *passed_sent(const json_t *body)
{
    return json_build("{s:O?}", "result", json_object_get(body, "result"));
}

static char *passed_arguments(const json_t *body)
{
    json_auto_t *arguments =
        json_build("{s:s}", "prompt", json_get_string(body, "revised_prompt", ""));

    return json_text(arguments);
}

/* The upstream does not have this server's files. */
static bool keeps(const json_t *entry)
{
    return json_is_string(
        json_object_get(json_object_get(entry, "input_image_mask"), "file_id"));
}

static json_t *passed_entry(const json_t *entry)
{
    static const char *const more[] = {"action", "partial_images", "input_image_mask"};
    json_t *kept = json_build("{s:s}", "type", json_get_string(entry, "type", ""));

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *value = json_object_get(entry, members[i].key);

        if (!json_absent(value) && !is_default(value, members[i].fallback))
            json_object_set(kept, members[i].key, value);
    }
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        json_t *value = json_object_get(entry, more[i]);

        if (!json_absent(value))
            json_object_set(kept, more[i], value);
    }
    return kept;
}

static const char *const passed_stages[] = {"generating", "partial_image", NULL};

static const struct item_passed passed = {
    .entry = passed_entry,
    .stages = passed_stages,
    .stage = passed_stage,
    .fields = passed_fields,
    .failed = passed_failed,
    .sent = passed_sent,
    .arguments = passed_arguments,
    .keeps = keeps,
};

const struct tool_item image_generation_item = {
    .type = "image_generation_call",
    .fields = "{\"result\":null}",
    .fill = fill,
    .fail = fail,
    .picture = picture,
    .picture_field = "result",
    .edits = edits,
    .retell = retell,
    .function = "generate_image",
    .passed = &passed,
};

/* ---- The order ---- */

static json_t *members_of(const struct tool_call *call, bool edit)
{
    const json_t *entry = tool_call_config(call);
    const char *size = json_get_string(tool_call_args(call), "size", NULL);
    json_t *made = json_object();

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *value = json_object_get(entry, members[i].key);
        bool of_edits = strcmp(members[i].key, "input_fidelity") == 0;

        if (!json_absent(value) && !is_default(value, members[i].fallback) &&
            (edit || !of_edits))
            json_object_set(made, members[i].key, value);
    }
    if (size && !json_object_get(made, "size") && strcmp(size, "auto") != 0)
        json_set_string(made, "size", size);
    return made;
}

static unsigned previews_of(const struct tool_call *call)
{
    json_int_t count = json_get_int(tool_call_config(call), "partial_images", 0);

    return count < 0 ? 0 : count > PREVIEWS_LIMIT ? PREVIEWS_LIMIT : (unsigned)count;
}

/* ---- Running ---- */

static enum err_code show_preview(struct tool_call *call, const json_t *event)
{
    json_t *fields =
        json_build("{s:s, s:I}", "partial_image_b64", json_get_string(event, "b64_json", ""),
                   "partial_image_index", json_get_int(event, "partial_image_index", 0));

    for (size_t i = 0; i < COUNT_OF(preview_facts); i++) {
        const char *fact = json_get_string(event, preview_facts[i], NULL);

        if (fact)
            json_set_string(fields, preview_facts[i], fact);
    }
    return tool_call_emit_stage(call, "partial_image", fields);
}

static const char *fact_of(const struct tool_drawn *drawn, const json_t *order, const char *key,
                           const char *fallback)
{
    return json_get_string(drawn->facts, key, json_get_string(order, key, fallback));
}

/* As OpenAI's items have them: what the image model said, else what was asked for. */
static json_t *facts_of(const struct tool_drawn *drawn, const json_t *order, bool edit,
                        const char *prompt)
{
    return json_build("{s:s, s:s, s:s, s:s, s:s, s:s}", "action", edit ? "edit" : "generate",
                      "background", fact_of(drawn, order, "background", "auto"),
                      "output_format", fact_of(drawn, order, "output_format", "png"), "quality",
                      fact_of(drawn, order, "quality", "auto"), "size",
                      fact_of(drawn, order, "size", "auto"), "revised_prompt",
                      json_get_string(drawn->facts, "revised_prompt", prompt));
}

/* A file that the next message of the thread shows. */
static void add_file(struct tool_result *result, const struct tool_drawn *drawn)
{
    AUTO_FREE char *path = mem_printf("pictures/%s", drawn->file_id);

    tool_result_set_files(result,
                          json_build("[{s:s, s:s, s:I, s:s, s:b}]", "file_id", drawn->file_id,
                                     "path", path, "bytes", (json_int_t)drawn->bytes, "change",
                                     "created", "figure", true));
}

static void show_picture(struct tool_result *result, struct tool_drawn *drawn, json_t *facts)
{
    AUTO_FREE char *text = read_text(json_get_string(facts, "revised_prompt", ""));

    tool_result_add_text(result, text);
    tool_result_set_data(result, facts);
    (void)snprintf(result->picture_id, sizeof(result->picture_id), "%s", drawn->blob_id);
    if (drawn->file_id)
        add_file(result, drawn);
    if (drawn->base64) {
        size_t length = strlen(drawn->base64);

        tool_result_add_part(result, (struct tool_part){.kind = TOOL_PART_IMAGE,
                                                        .mime_type = TAKE(drawn->type),
                                                        .length = length,
                                                        .data = TAKE(drawn->base64)});
    }
}

/* The item says why, and the model reads it. */
static void show_failure(struct tool_result *result, const struct tool_drawn *drawn,
                         enum err_code rc, const struct err *err)
{
    json_t *error = drawn->error
                        ? json_incref(drawn->error)
                        : json_build("{s:s, s:s, s:n, s:s}", "code", word_of(rc), "message",
                                     err->text, "param", "type", "image_generation_error");

    tool_result_add_text(result, err->text);
    tool_result_set_data(result, json_build("{s:o}", "error", error));
    tool_result_end(result, TOOL_ERROR, err->text);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *prompt = json_get_string(tool_call_args(call), "prompt", "");
    bool edit = edits(tool_call_config(call), tool_call_args(call));
    json_auto_t *order = members_of(call, edit);
    CLEANUP(tool_drawn_clear) struct tool_drawn drawn = {0};
    const struct tool_drawing drawing = {
        .prompt = prompt,
        .members = order,
        .previews = previews_of(call),
        .edit = edit,
        .mask = json_object_get(tool_call_config(call), "input_image_mask"),
        .preview = show_preview,
    };
    enum err_code rc = tool_call_emit_stage(call, "generating", NULL);

    if (!rc)
        rc = tool_call_draw(call, &drawing, &drawn, err);
    if (rc == ERR_CANCELLED)
        return rc;
    if (rc)
        show_failure(ret_result, &drawn, rc, err);
    else
        show_picture(ret_result, &drawn, facts_of(&drawn, order, edit, prompt));
    return ERR_OK;
}

/* ---- The words for the model ---- */

static const char about[] =
    "Draws a picture, or edits one, and shows it to the user. With the action \"edit\" it "
    "begins "
    "with the last picture that was drawn and what the user has sent since, or with the "
    "pictures "
    "that the user has sent. Describe in the prompt all that the picture should show. The user "
    "sees the picture: do not describe it again, and do not link to it.";

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"prompt\"],"
    " \"properties\": {\"prompt\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": "
    "32000,"
    "  \"description\": \"What the picture shows, or what is to change in it.\"},"
    " \"action\": {\"type\": \"string\", \"enum\": [\"generate\", \"edit\"],"
    "  \"description\": \"A new picture, or a change of one that is there.\"},"
    " \"size\": {\"type\": \"string\", \"maxLength\": 20,"
    "  \"description\": \"Width and height in pixels, such as 1024x1536.\"}}}";

const struct tool_handler image_generation_handler = {
    .name = "generate_image",
    .type = "image_generation",
    .group = "hosted",
    .description = about,
    .parameters = parameters,
    .flags = TOOL_HOSTED | TOOL_DRAWS | TOOL_NOT_KEPT,
    .item = &image_generation_item,
    .shown_limit = CUT_NO_LIMIT,
    .run = run,
};
