/*
 * json2interface -- TypeScript interfaces for a piece of JSON.
 *
 * A model that reads the shape instead of the data needs a fraction of the tokens. An object
 * becomes an interface named after its key, in the singular. An array has the type of its first
 * element. null only says that a value may be missing. Equal shapes with equal names share one
 * interface.
 *
 * The interfaces are made in one walk. An object takes its place in the list before its members are
 * described, so the outermost interface comes first, as a person would write it. If its text then equals
 * that of an earlier interface, the place is given back.
 *
 * A JSON Schema would be exact, but is longer than most data. Models read TypeScript well, and a few
 * details that it cannot say (a date, a missing value) are worth the loss.
 */

#include <ctype.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"

#define INTERFACE_LIMIT 500
#define NAME_LIMIT      200

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"json\"],"
    " \"properties\": {"
    "  \"json\": {\"type\": \"string\", \"description\": \"The JSON text.\"},"
    "  \"interfaceName\": {\"type\": \"string\","
    "   \"description\": \"Name of the outermost interface.\", \"default\": \"Root\"}}}";

struct interface {
    char *base; /* the name before it was made unique */
    char *name;
    char *body; /* NULL while it is being made */
};

struct maker {
    struct interface interfaces[INTERFACE_LIMIT];
    size_t count;
};

static void maker_clear(struct maker *maker)
{
    for (size_t i = 0; i < maker->count; i++) {
        free(maker->interfaces[i].base);
        free(maker->interfaces[i].name);
        free(maker->interfaces[i].body);
    }
}

/* ---- names ---- */

static bool ends_with(const char *word, size_t length, const char *end)
{
    size_t size = strlen(end);

    return length > size && memcmp(word + length - size, end, size) == 0;
}

/* The English singular, by a rule of thumb. A wrong guess makes an odd name and no wrong shape. */
static char *singular(const char *word)
{
    static const char *const kept[] = {"ss", "us", "is"};
    static const char *const shortened[] = {"sses", "xes", "ches", "shes"};
    size_t length = strlen(word);

    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (ends_with(word, length, kept[i]))
            return mem_strdup(word);
    if (ends_with(word, length, "ies"))
        return mem_printf("%.*sy", (int)length - 3, word);
    for (size_t i = 0; i < COUNT_OF(shortened); i++)
        if (ends_with(word, length, shortened[i]))
            return mem_strndup(word, length - 2);
    return mem_strndup(word, ends_with(word, length, "s") ? length - 1 : length);
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* "user_names" becomes "UserNames", "2nd" becomes "_2nd". */
static char *type_name(const char *key)
{
    AUTO_BUF name = {0};
    bool begins = true;

    if (isdigit((unsigned char)*key))
        buf_add_char(&name, '_');
    for (; *key && name.length < NAME_LIMIT; key++) {
        if (!is_letter(*key) || *key == '_') {
            begins = true;
            continue;
        }
        buf_add_char(&name, begins ? (char)toupper((unsigned char)*key) : *key);
        begins = false;
    }
    if (!name.length)
        buf_add_text(&name, "Item");
    return buf_take(&name);
}

static bool is_identifier(const char *key)
{
    if (!*key || isdigit((unsigned char)*key))
        return false;
    while (is_letter(*key))
        key++;
    return !*key;
}

static bool is_taken(const struct maker *maker, const char *name)
{
    for (size_t i = 0; i < maker->count; i++)
        if (maker->interfaces[i].name && strcmp(maker->interfaces[i].name, name) == 0)
            return true;
    return false;
}

static char *unique_name(const struct maker *maker, const char *base)
{
    char *name = mem_strdup(base);

    for (int i = 2; is_taken(maker, name); i++) {
        free(name);
        name = mem_printf("%s%d", base, i);
    }
    return name;
}

/* ---- types ---- */

/* "2026-11-21", with or without a time after it. */
static bool is_date(const char *text)
{
    static const char shape[] = "dddd-dd-dd";
    size_t i;

    for (i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    if (!text[i])
        return true;
    return (text[i] == 'T' || text[i] == ' ') && isdigit((unsigned char)text[i + 1]) &&
           isdigit((unsigned char)text[i + 2]) && text[i + 3] == ':';
}

static enum err_code add_type(struct maker *maker, struct buf *buf, const json_t *value,
                              const char *base, struct err *err);

static void add_key(struct buf *buf, const char *key)
{
    if (is_identifier(key)) {
        buf_add_text(buf, key);
        return;
    }
    buf_add_char(buf, '"');
    buf_add_json_escaped(buf, key, strlen(key));
    buf_add_char(buf, '"');
}

static enum err_code add_members(struct maker *maker, struct buf *buf, json_t *object,
                                 struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach (object, key, value) {
        AUTO_FREE char *one = singular(key);
        AUTO_FREE char *base = type_name(one);
        enum err_code rc;

        buf_add_text(buf, "  ");
        add_key(buf, key);
        buf_add_text(buf, json_is_null(value) ? "?: " : ": ");
        rc = add_type(maker, buf, value, base, err);
        if (rc)
            return rc;
        buf_add_text(buf, ";\n");
    }
    return ERR_OK;
}

/* An earlier interface of the same origin and shape, or NULL. */
static const char *find_same(const struct maker *maker, const char *base, const char *body)
{
    for (size_t i = 0; i < maker->count; i++) {
        const struct interface *other = &maker->interfaces[i];

        if (other->body && strcmp(other->base, base) == 0 && strcmp(other->body, body) == 0)
            return other->name;
    }
    return NULL;
}

/* Adds the name of the interface for an object. The interface takes its place before those of its
 * members, so that interfaces are in the order in which a reader meets their names. */
static enum err_code add_interface(struct maker *maker, struct buf *buf, json_t *object,
                                   const char *base, struct err *err)
{
    size_t place = maker->count;
    AUTO_BUF body = {0};
    const char *same;
    enum err_code rc;

    if (place == INTERFACE_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "the JSON has more than %d different objects",
                       INTERFACE_LIMIT);
    maker->interfaces[place].name = unique_name(maker, base);
    maker->interfaces[place].base = mem_strdup(base);
    maker->count++;
    rc = add_members(maker, &body, object, err);
    if (rc)
        return rc;

    same = find_same(maker, base, body.data ? body.data : "");
    if (!same) {
        maker->interfaces[place].body = buf_take(&body);
        buf_add_text(buf, maker->interfaces[place].name);
        return ERR_OK;
    }
    /* Its members were found to be the same, too, so its place is still the last. */
    buf_add_text(buf, same);
    free(maker->interfaces[place].name);
    free(maker->interfaces[place].base);
    maker->interfaces[place] = (struct interface){0};
    maker->count = place;
    return ERR_OK;
}

static enum err_code add_type(struct maker *maker, struct buf *buf, const json_t *value,
                              const char *base, struct err *err)
{
    enum err_code rc = ERR_OK;

    switch (json_typeof(value)) {
    case JSON_OBJECT: return add_interface(maker, buf, (json_t *)(uintptr_t)value, base, err);
    case JSON_ARRAY:
        if (json_array_size(value))
            rc = add_type(maker, buf, json_array_get(value, 0), base, err);
        else
            buf_add_text(buf, "any");
        buf_add_text(buf, "[]");
        break;
    case JSON_STRING:
        buf_add_text(buf, is_date(json_string_value(value)) ? "Date" : "string");
        break;
    case JSON_INTEGER:
    case JSON_REAL: buf_add_text(buf, "number"); break;
    case JSON_TRUE:
    case JSON_FALSE: buf_add_text(buf, "boolean"); break;
    case JSON_NULL: buf_add_text(buf, "any"); break;
    }
    return rc;
}

/* ---- the call ---- */

static void add_interfaces(struct buf *text, const struct maker *maker)
{
    for (size_t i = 0; i < maker->count; i++)
        buf_addf(text, "%sinterface %s {\n%s}\n", text->length ? "\n" : "",
                 maker->interfaces[i].name, maker->interfaces[i].body);
}

/* A value that is no object gets a name, too: "type Root = RootItem[];". */
static enum err_code describe(struct maker *maker, struct buf *text, const json_t *value,
                              const char *name, struct err *err)
{
    AUTO_FREE char *item = mem_printf("%sItem", name);
    AUTO_BUF type = {0};
    enum err_code rc;

    rc = add_type(maker, &type, value, json_is_object(value) ? name : item, err);
    if (rc)
        return rc;
    if (!json_is_object(value))
        buf_addf(text, "type %s = %s;\n", name, type.data);
    add_interfaces(text, maker);
    return ERR_OK;
}

static enum err_code json2interface(struct tool_call *call, struct tool_result *ret_result,
                                    struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *json = json_get_string(args, "json", "");
    AUTO_FREE char *name = type_name(json_get_string(args, "interfaceName", "Root"));
    CLEANUP(maker_clear) struct maker maker = {.count = 0};
    json_auto_t *value = NULL;
    AUTO_BUF text = {0};
    enum err_code rc = json_parse(json, strlen(json), &value, err);

    if (!rc)
        rc = describe(&maker, &text, value, name, err);
    if (rc)
        return rc;
    tool_result_add_bytes(ret_result, text.data ? text.data : "", text.length);
    return ERR_OK;
}

const struct tool_handler json2interface_handler = {
    .name = "json2interface",
    .group = "basic",
    .description = "Describes the shape of a JSON text as TypeScript interfaces.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .run = json2interface,
    .returns = {"string", "TypeScript interfaces"},
    .tags = (const char *const[]){"text", "json", NULL},
};
