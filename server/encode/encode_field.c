#include "server/encode/encode_field.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/domain/notes.h"
#include "core/domain/run_settings.h"
#include "core/run/catalog/tool_secrets.h"
#include "server/encode/encode.h"

/*
 * Small pieces that all objects share: a field with a default, a time, an id, the reasons of an
 * incomplete run.
 *
 * Defaults are JSON texts in tables ("[]", "1.0", NULL for null). A table row is then all that a field
 * needs, and the text is exactly what OpenAI's server shows: 1.0 and not 1.
 *
 * Secrets of remote tool servers are removed once more on the way out, although what is stored has
 * none: a leak then needs two mistakes. The mark that replaces them in the store (tool_secrets.h) is
 * removed as well.
 */

void field_copy(json_t *object, const json_t *source, const struct field *field)
{
    json_t *value = json_object_get(source, field->key);

    if (json_absent(value))
        json_set_own(object, field->key, field->fallback);
    else
        json_set(object, field->key, json_incref(value));
}

void field_copy_all(json_t *object, const json_t *source, const struct field *fields,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        field_copy(object, source, &fields[i]);
}

void field_copy_present(json_t *object, const json_t *source, const char *key)
{
    json_t *value = json_object_get(source, key);

    if (!json_absent(value))
        json_set(object, key, json_incref(value));
}

static const char *const secrets[] = {"authorization", "headers", TOOL_SECRETS_MARK};

static bool has_secrets(const json_t *tool)
{
    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        if (json_object_get(tool, secrets[i]))
            return true;
    return false;
}

static json_t *without_secrets(const json_t *tool)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)tool);

    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        json_object_del(copy, secrets[i]);
    return copy;
}

/* A shell whose container the server has found is shown with that. New reference. */
static json_t *with_container(json_t *tool)
{
    const json_t *environment = json_object_get(tool, "environment");
    const char *id = json_get_string(environment, "container_id", NULL);
    json_t *copy;

    if (!id || strcmp(json_get_string(environment, "type", ""), "container_auto") != 0)
        return tool;
    copy = json_copy(tool);
    json_set(copy, "environment",
             json_build("{s:s, s:s}", "type", "container_reference", "container_id", id));
    json_decref(tool);
    return copy;
}

void field_show_tools(json_t *object)
{
    const json_t *tools = json_object_get(object, "tools");
    json_t *shown = json_array();
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool)
        json_array_append_new(shown, with_container(has_secrets(tool) ? without_secrets(tool)
                                                                      : json_incref(tool)));
    json_set(object, "tools", shown);
}

void field_set_own(json_t *object, const char *key, const char *text, const char *fallback)
{
    json_set_own(object, key, text ? text : fallback);
}

void field_set_id(json_t *object, const char *key, const char *id)
{
    json_set_string(object, key, *id ? id : NULL);
}

void field_set_time(json_t *object, const char *key, int64_t microseconds)
{
    json_set(object, key, encode_time(microseconds));
}

void field_set_unavailable(json_t *object, const json_t *snapshot)
{
    json_t *left_out = run_settings_unavailable(snapshot);

    if (left_out)
        json_set(notes_make(object), "unavailable_tools", json_incref(left_out));
}

/* The store has microseconds, the API whole seconds. */
json_t *encode_time(int64_t microseconds)
{
    return microseconds ? json_integer(microseconds / US_PER_SECOND) : json_null();
}

json_t *encode_new(const char *id, const char *object, int64_t created_at)
{
    return json_build("{s:s, s:s, s:I}", "id", id, "object", object, "created_at",
                      (json_int_t)(created_at / US_PER_SECOND));
}

json_t *encode_incomplete(const char *incomplete, enum row_face face)
{
    /* A run may be read by the API that did not make it, in a conversation. Both have the same limits under
     * different names. */
    /* clang-format off */
    static const char *const words[][2] = {
        [0] = {[FACE_ASSISTANTS] = "max_completion_tokens", [FACE_RESPONSES] = "max_output_tokens"},
        [1] = {[FACE_ASSISTANTS] = "max_prompt_tokens",     [FACE_RESPONSES] = "max_output_tokens"},
    };
    /* clang-format on */
    json_auto_t *parsed = json_parse_own(incomplete);
    const char *reason = json_get_string(parsed, "reason", NULL);

    if (!reason)
        return json_null();
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i][FACE_ASSISTANTS], reason) == 0 ||
            strcmp(words[i][FACE_RESPONSES], reason) == 0)
            return json_build("{s:s}", "reason", words[i][face]);
    /* Assistants has no such reason for runs (content_filter): the message has it, the run's details are empty. */
    return face == FACE_ASSISTANTS ? json_object() : json_build("{s:s}", "reason", reason);
}
