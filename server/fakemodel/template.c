/*
 * Templates, and values that fit a JSON schema.
 *
 * A template is replaced by text from the request. There are no conditions and no loops: a script
 * chooses between answers by its rules.
 *
 * {{sample_arguments}} and {{sample_json}} need more: a value that fits the parameters of a tool, or
 * the response_format. It lets the demo model call tools that it has never seen, and lets a test
 * check structured output without writing it. sample() walks the schema and takes the simplest
 * value at each place: const, default, the first of an enum, otherwise a value of the type. Only
 * required properties are filled in.
 *
 * A schema may be recursive ($ref to itself), and may be hostile. Below SAMPLE_DEPTH, arrays stay empty
 * and the last of several alternatives is taken, which is where recursive schemas usually end.
 * Twice as deep, or after SAMPLE_VALUES values, everything is null: then the sample may not fit, but it
 * ends.
 */

#include "server/fakemodel/template.h"

#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/json/json_pointer.h"
#include "core/base/mem.h"

#define SAMPLE_DEPTH  8
#define SAMPLE_VALUES 1000
#define SAMPLE_ITEMS  100 /* of one array, whatever its minItems */

/* ---- samples: values that fit a schema ---- */

struct sampling {
    const json_t *root; /* of the schema, for $ref */
    int depth;
    int count;
};

static json_t *sample(struct sampling *sampling, const json_t *schema);

static json_t *sample_object(struct sampling *sampling, const json_t *schema)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    json_t *object = json_object();
    const char *key;
    json_t *property;

    json_object_foreach ((json_t *)(uintptr_t)properties, key, property) {
        bool wanted = false;
        const json_t *name;
        size_t i;

        json_array_foreach (required, i, name)
            wanted |= json_is_string(name) && !strcmp(json_string_value(name), key);
        if (wanted)
            json_object_set_new(object, key, sample(sampling, property));
    }
    return object;
}

static const char *schema_type(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");

    if (json_is_array(type))
        type = json_array_get(type, 0);
    if (json_is_string(type))
        return json_string_value(type);
    return json_object_get(schema, "properties") ? "object" : "string";
}

static json_t *sample_number(const json_t *schema)
{
    json_t *minimum = json_object_get(schema, "minimum");
    json_t *maximum = json_object_get(schema, "maximum");
    const json_t *below = json_object_get(schema, "exclusiveMinimum");

    if (json_is_number(minimum))
        return json_incref(minimum);
    if (json_is_integer(below) && json_integer_value(below) < INT64_MAX)
        return json_integer(json_integer_value(below) + 1);
    if (json_is_real(below))
        return json_real(json_real_value(below) + 1);
    if (json_is_number(maximum) && json_number_value(maximum) < 1)
        return json_incref(maximum);
    return json_integer(1);
}

static json_t *sample_text(const json_t *schema)
{
    static const struct {
        const char *format;
        const char *text;
    } samples[] = {
        {"date-time", "2026-01-31T12:00:00Z"},
        {"date", "2026-01-31"},
        {"time", "12:00:00Z"},
        {"duration", "PT1H"},
        {"email", "someone@example.com"},
        {"hostname", "example.com"},
        {"ipv4", "192.0.2.1"},
        {"ipv6", "2001:db8::1"},
        {"uri", "https://example.com/"},
        {"uuid", "123e4567-e89b-42d3-a456-426614174000"},
    };
    const char *format = json_get_string(schema, "format", "");

    for (size_t i = 0; i < COUNT_OF(samples); i++)
        if (!strcmp(format, samples[i].format))
            return json_string(samples[i].text);
    return json_string("example");
}

static json_t *sample_array(struct sampling *sampling, const json_t *schema)
{
    json_int_t wanted = json_get_int(schema, "minItems", 0);
    json_t *array = json_array();

    if (wanted == 0 && sampling->depth <= SAMPLE_DEPTH)
        wanted = 1;
    for (json_int_t i = 0; i < wanted && i < SAMPLE_ITEMS; i++)
        json_array_append_new(array, sample(sampling, json_object_get(schema, "items")));
    return array;
}

/* The schema to use instead: the target of $ref, or one of several alternatives. NULL: the schema itself
 * is used. */
static const json_t *stand_in(const struct sampling *sampling, const json_t *schema)
{
    static const char *const alternatives[] = {"anyOf", "oneOf", "allOf"};
    const char *ref = json_get_string(schema, "$ref", NULL);

    if (ref)
        return json_find_ref(sampling->root, ref);
    for (size_t i = 0; i < COUNT_OF(alternatives); i++) {
        const json_t *list = json_object_get(schema, alternatives[i]);
        size_t count = json_array_size(list);

        if (count)
            return json_array_get(list, sampling->depth > SAMPLE_DEPTH ? count - 1 : 0);
    }
    return NULL;
}

static json_t *sample_of_type(struct sampling *sampling, const json_t *schema)
{
    const char *type = schema_type(schema);

    if (!strcmp(type, "object"))
        return sample_object(sampling, schema);
    if (!strcmp(type, "array"))
        return sample_array(sampling, schema);
    if (!strcmp(type, "integer") || !strcmp(type, "number"))
        return sample_number(schema);
    if (!strcmp(type, "boolean"))
        return json_true();
    return !strcmp(type, "null") ? json_null() : sample_text(schema);
}

static json_t *sample(struct sampling *sampling, const json_t *schema)
{
    const json_t *other = stand_in(sampling, schema);
    json_t *given = json_object_get(schema, "const");
    json_t *made;

    if (!given)
        given = json_object_get(schema, "default");
    if (!given)
        given = json_array_get(json_object_get(schema, "enum"), 0);
    if (given)
        return json_incref(given);
    if (sampling->depth > 2 * SAMPLE_DEPTH || sampling->count++ >= SAMPLE_VALUES)
        return json_null();
    sampling->depth++;
    made = other ? sample(sampling, other) : sample_of_type(sampling, schema);
    sampling->depth--;
    return made;
}

static void add_sample(struct buf *buf, const json_t *schema)
{
    struct sampling sampling = {.root = schema};
    json_auto_t *value = json_is_object(schema) ? sample(&sampling, schema) : json_object();

    json_add_text(buf, value);
}

/* ---- templates ---- */

static void add_last_user(struct buf *buf, const struct prompt *prompt)
{
    buf_add_text(buf, prompt->user);
}

static void add_system(struct buf *buf, const struct prompt *prompt)
{
    buf_add_text(buf, prompt->system);
}

static void add_model(struct buf *buf, const struct prompt *prompt)
{
    buf_add_text(buf, prompt->model);
}

static void add_request(struct buf *buf, const struct prompt *prompt)
{
    buf_add_int(buf, (int64_t)prompt->number);
}

static void add_tool_name(struct buf *buf, const struct prompt *prompt)
{
    buf_add_text(buf, prompt->tool_name);
}

static void add_tool_output(struct buf *buf, const struct prompt *prompt)
{
    AUTO_FREE char *text = prompt_content_text(prompt->tool_output);

    buf_add_text(buf, text);
}

static void add_tool_outputs(struct buf *buf, const struct prompt *prompt)
{
    const json_t *messages = prompt->messages;
    size_t left = prompt->tool_results;
    size_t first = json_array_size(messages);

    while (left > 0)
        left -= prompt_has_role(json_array_get(messages, --first), "tool");
    for (; first < json_array_size(messages); first++) {
        const json_t *message = json_array_get(messages, first);

        if (!prompt_has_role(message, "tool"))
            continue;
        if (left++)
            buf_add_text(buf, ", ");
        AUTO_FREE char *text = prompt_content_text(json_object_get(message, "content"));

        buf_add_text(buf, text);
    }
}

/* The longest line behind the first line that begins with a mark such as 【1:0†source】, and the mark behind it: what a
 * model does with a passage that it cites. Without a mark the whole output. */
static void add_passage(struct buf *buf, const struct prompt *prompt)
{
    AUTO_FREE char *text = prompt_content_text(prompt->tool_output);
    const char *head = strstr(text, "\n【");
    const char *mark = head ? head + 1 : NULL;
    const char *mark_end = mark ? strstr(mark, "】") : NULL;
    const char *line = mark_end ? strchr(mark_end, '\n') : NULL;
    const char *best = text;
    size_t length = 0;

    while (line && strncmp(++line, "【", strlen("【")) != 0) {
        size_t size = strcspn(line, "\n");

        if (size > length) {
            best = line;
            length = size;
        }
        line = line[size] ? line + size : NULL;
    }
    if (!length) {
        buf_add_text(buf, text);
        return;
    }
    buf_add(buf, best, length);
    buf_add(buf, mark, (size_t)(mark_end - mark) + strlen("】"));
}

/* Without the scheme, and up to the path. */
static void add_host(struct buf *buf, const char *url, size_t length)
{
    const char *slashes = memmem(url, length, "//", 2);
    const char *host = slashes ? slashes + 2 : url;
    size_t rest = length - (size_t)(host - url);
    const char *path = memchr(host, '/', rest);

    buf_add(buf, host, path ? (size_t)(path - host) : rest);
}

/* The passage of the first page that a web search has found, "[1] title — URL" and the passage on the next line, with a
 * link to the page behind it: what a model does with a page that it cites. Without a page the whole output. */
static void add_page(struct buf *buf, const struct prompt *prompt)
{
    static const char dash[] = " — ";
    AUTO_FREE char *text = prompt_content_text(prompt->tool_output);
    const char *head = strstr(text, "\n[1] ");
    const char *url = head ? strstr(head, " — http") : NULL;
    const char *passage = url ? strchr(url, '\n') : NULL;
    size_t length;

    if (!passage) {
        buf_add_text(buf, text);
        return;
    }
    url += strlen(dash);
    length = strcspn(url, " \n");
    buf_add(buf, passage + 1, strcspn(passage + 1, "\n"));
    buf_add_text(buf, " ([");
    add_host(buf, url, length);
    buf_addf(buf, "](%.*s))", (int)length, url);
}

/* What stands behind the word that announces code; all of it without the word. */
static const char *behind_word(const char *text)
{
    static const char *const words[] = {"python:", "shell:", "program:"};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const char *found = strcasestr(text, words[i]);

        if (found)
            return found + strlen(words[i]);
    }
    return text;
}

/* What the user has written behind the first of these words, without blank lines around it and without a fence. */
static void add_code(struct buf *buf, const struct prompt *prompt)
{
    static const char fence[] = "```";
    const char *text = behind_word(prompt->user);
    const char *end;

    if (strstr(text, fence)) {
        text = strstr(text, fence) + strlen(fence);
        text += strcspn(text, "\n"); /* the name of the language */
        end = strstr(text, fence);
    } else {
        end = NULL;
    }
    text += strspn(text, " \n");
    buf_add(buf, text, end && end > text ? (size_t)(end - text) : strlen(text));
}

static void add_sample_arguments(struct buf *buf, const struct prompt *prompt)
{
    add_sample(buf, json_object_get(prompt_tool_definition(prompt->tool), "parameters"));
}

static void add_sample_json(struct buf *buf, const struct prompt *prompt)
{
    add_sample(buf, prompt->schema);
}

/* clang-format off */
static const struct {
    const char *name;
    void (*add)(struct buf *buf, const struct prompt *prompt);
} templates[] = {
    {"{{last_user}}",        add_last_user},
    {"{{system}}",           add_system},
    {"{{model}}",            add_model},
    {"{{request}}",          add_request},
    {"{{tool_name}}",        add_tool_name},
    {"{{tool_output}}",      add_tool_output},
    {"{{tool_outputs}}",     add_tool_outputs},
    {"{{passage}}",          add_passage},
    {"{{page}}",             add_page},
    {"{{code}}",             add_code},
    {"{{sample_arguments}}", add_sample_arguments},
    {"{{sample_json}}",      add_sample_json},
};
/* clang-format on */

/* Adds the value of the template with which `text` begins. Returns the template's length, or 0 if there is
 * no template. */
static size_t expand_template(struct buf *buf, const char *text, const struct prompt *prompt)
{
    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        size_t length = strlen(templates[i].name);

        if (!strncmp(text, templates[i].name, length)) {
            templates[i].add(buf, prompt);
            return length;
        }
    }
    return 0;
}

char *template_expand(const char *text, const struct prompt *prompt)
{
    struct buf buf = {0};

    while (*text) {
        size_t length = expand_template(&buf, text, prompt);

        if (!length)
            buf_add_char(&buf, *text++);
        text += length;
    }
    return buf_take(&buf);
}

json_t *template_expand_json(json_t *value, const struct prompt *prompt)
{
    json_t *copy;
    json_t *item;
    const char *key;
    size_t i;

    if (json_is_text(value)) {
        AUTO_FREE char *text = template_expand(json_string_value(value), prompt);
        return json_string(text);
    }
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach (value, i, item)
            json_array_append_new(copy, template_expand_json(item, prompt));
        return copy;
    }
    if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach (value, key, item)
            json_object_set_new(copy, key, template_expand_json(item, prompt));
        return copy;
    }
    return json_incref(value);
}
