/*
 * var_ref.c -- replacing references, and not more than references.
 *
 * A model that passes a long result from one tool to the next would write it again, token by token: slow,
 * expensive, and with errors. Instead it writes a name, and the server puts the value there.
 *
 * That makes a small macro language out of arguments, with the dangers of one:
 *
 * - Injection. Values come from tools, and tools from the internet. Only what the model or the client
 *   wrote is expanded (variable_is_trusted). Any other value is inserted as it is, with whatever looks
 *   like a reference in it.
 * - Loops. `path` holds the names that are being expanded; a name that is among them is an error. A set of
 *   all names would be wrong, because one variable may be used twice.
 * - Growth. Values that refer to values twice double the text with each level. So depth and count are
 *   limited, and so are the bytes of the result.
 *
 * Expansion works on the strings of the parsed arguments, never on their JSON text. A value with a quote
 * cannot break out of its string then, and needs no escaping.
 *
 * Each variable is read once for a call. Reading may need the database, and both uses of a name must have
 * the same value.
 *
 * An unknown form of a reference is not an error but plain text. Arguments may be a program, or a
 * document about this syntax.
 */

#include "core/memory/var_ref.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"

#define MARK "$VAR_REF{{"

/* ---- The form of a reference ---- */

struct reference {
    char name[VARIABLE_NAME_LIMIT + 1];
    size_t start;
    size_t length; /* SIZE_MAX: to the end */
};

/* Reads ":123" and returns its end; NULL if there is no number. A number that is too large becomes a large
 * one: it is beyond any value. */
static const char *read_number(const char *at, size_t *ret_number)
{
    size_t number = 0;

    if (*at != ':' || at[1] < '0' || at[1] > '9')
        return NULL;
    for (at++; *at >= '0' && *at <= '9'; at++)
        number = number < SIZE_MAX / 16 ? number * 10 + (size_t)(*at - '0') : SIZE_MAX / 16;
    *ret_number = number;
    return at;
}

/* Reads the reference that begins at `at` and returns its end; NULL if none begins there. */
static const char *read_reference(const char *at, struct reference *ret_reference)
{
    struct reference found = {.length = SIZE_MAX};
    const char *next;
    size_t length = 0;

    if (strncmp(at, MARK, strlen(MARK)) != 0)
        return NULL;
    for (at += strlen(MARK); variable_name_has(*at); at++) {
        if (length == VARIABLE_NAME_LIMIT)
            return NULL;
        found.name[length++] = *at;
    }
    if (!length)
        return NULL;
    if ((next = read_number(at, &found.start)))
        at = next;
    if (next && (next = read_number(at, &found.length)))
        at = next;
    if (strncmp(at, "}}", 2) != 0)
        return NULL;
    *ret_reference = found;
    return at + 2;
}

/* Finds the next reference of the text. False: no reference, and nothing is set. */
static bool find_reference(const char *text, struct reference *ret_reference,
                           const char **ret_begin, const char **ret_end)
{
    while ((text = strstr(text, MARK))) {
        const char *end = read_reference(text, ret_reference);

        if (end) {
            *ret_begin = text;
            *ret_end = end;
            return true;
        }
        text++;
    }
    return false;
}

bool var_ref_is_in(json_t *args)
{
    struct reference reference;
    const char *begin, *end, *key;
    json_t *value;
    size_t i;

    if (json_is_string(args))
        return find_reference(json_string_value(args), &reference, &begin, &end);
    json_array_foreach (args, i, value)
        if (var_ref_is_in(value))
            return true;
    json_object_foreach (args, key, value)
        if (var_ref_is_in(value))
            return true;
    return false;
}

/* The JSON text may spell the mark with \u escapes. Any such escape makes it worth parsing. */
bool var_ref_may_be_in(const char *arguments)
{
    return strstr(arguments, MARK) || strstr(arguments, "\\u");
}

/* ---- Its value ---- */

/* A variable that was looked up, kept for the next reference to it. */
struct value {
    struct variable variable;
    struct value *next;
};

struct resolving {
    var_ref_find_fn *find;
    void *arg;
    struct value *values; /* newest first */
    unsigned count;
    size_t bytes; /* inserted so far */
    const char
        *path[VAR_REF_DEPTH_LIMIT + 1]; /* names that are being expanded, outermost first */
    unsigned depth;
};

static void resolving_clear(struct resolving *resolving)
{
    while (resolving->values) {
        struct value *value = resolving->values;

        resolving->values = value->next;
        variable_clear(&value->variable);
        free(value);
    }
}

static enum err_code find_value(struct resolving *resolving, const char *name,
                                const struct variable **ret_variable, struct err *err)
{
    struct value *value = resolving->values;
    enum err_code rc;

    while (value && strcmp(value->variable.name, name) != 0)
        value = value->next;
    if (!value) {
        value = mem_new(struct value);
        rc = resolving->find(resolving->arg, name, &value->variable, err);
        if (rc) {
            free(value);
            return rc;
        }
        (void)snprintf(value->variable.name, sizeof(value->variable.name), "%s", name);
        value->next = resolving->values;
        resolving->values = value;
    }
    *ret_variable = &value->variable;
    return ERR_OK;
}

static enum err_code fail_circular(const struct resolving *resolving, const char *name,
                                   struct err *err)
{
    AUTO_BUF chain = {0};

    for (unsigned i = 0; i < resolving->depth; i++)
        buf_addf(&chain, "%s -> ", resolving->path[i]);
    buf_add_text(&chain, name);
    return err_set(err, ERR_INVALID, "Circular variable reference: %.900s", chain.data);
}

/* Checks the limits before a reference is followed. */
static enum err_code check_limits(struct resolving *resolving, const char *name,
                                  struct err *err)
{
    for (unsigned i = 0; i < resolving->depth; i++) {
        if (strcmp(resolving->path[i], name) == 0)
            return fail_circular(resolving, name, err);
    }
    if (resolving->depth > VAR_REF_DEPTH_LIMIT - 1)
        return err_set(
            err, ERR_INVALID,
            "References inside the values of variables may be nested at most %d deep.",
            VAR_REF_DEPTH_LIMIT);
    if (++resolving->count > VAR_REF_COUNT_LIMIT)
        return err_set(err, ERR_INVALID, "A call may contain at most %d variable references.",
                       VAR_REF_COUNT_LIMIT);
    return ERR_OK;
}

static enum err_code insert_plain(struct resolving *resolving, const char *text, size_t length,
                                  struct buf *out, struct err *err)
{
    resolving->bytes += length;
    if (resolving->bytes > VAR_REF_BYTES_LIMIT)
        return err_set(err, ERR_INVALID,
                       "The arguments are too long: variable references may insert at most %zu "
                       "bytes.",
                       VAR_REF_BYTES_LIMIT);
    buf_add(out, text, length);
    return ERR_OK;
}

static enum err_code expand(struct resolving *resolving, const char *text, struct buf *out,
                            struct err *err);

static enum err_code follow(struct resolving *resolving, const struct reference *reference,
                            struct buf *out, struct err *err)
{
    const struct variable *variable = NULL;
    AUTO_FREE char *part = NULL;
    enum err_code rc = check_limits(resolving, reference->name, err);

    if (!rc)
        rc = find_value(resolving, reference->name, &variable, err);
    if (rc)
        return rc;
    part = variable_slice(variable->value, reference->start, reference->length);
    if (!variable_is_trusted(variable))
        return insert_plain(resolving, part, strlen(part), out, err);
    resolving->path[resolving->depth++] = variable->name;
    rc = expand(resolving, part, out, err);
    resolving->depth--;
    return rc;
}

/* Adds the text to `out`, with its references replaced. */
static enum err_code expand(struct resolving *resolving, const char *text, struct buf *out,
                            struct err *err)
{
    struct reference reference;
    const char *begin, *end;
    enum err_code rc = ERR_OK;

    while (!rc && find_reference(text, &reference, &begin, &end)) {
        rc = insert_plain(resolving, text, (size_t)(begin - text), out, err);
        if (!rc)
            rc = follow(resolving, &reference, out, err);
        text = end;
    }
    return rc ? rc : insert_plain(resolving, text, strlen(text), out, err);
}

static enum err_code expand_string(struct resolving *resolving, json_t *value,
                                   json_t **ret_value, struct err *err)
{
    AUTO_BUF out = {0};
    enum err_code rc = expand(resolving, json_string_value(value), &out, err);

    if (!rc)
        *ret_value = json_stringn(out.data ? out.data : "", out.length);
    return rc;
}

static enum err_code expand_value(struct resolving *resolving, json_t *value,
                                  json_t **ret_value, struct err *err);

static enum err_code expand_array(struct resolving *resolving, json_t *array,
                                  json_t **ret_value, struct err *err)
{
    json_auto_t *made = json_array();
    json_t *member;
    size_t i;

    json_array_foreach (array, i, member) {
        json_t *expanded = NULL;
        enum err_code rc = expand_value(resolving, member, &expanded, err);

        if (rc)
            return rc;
        json_array_append_new(made, expanded);
    }
    *ret_value = TAKE(made);
    return ERR_OK;
}

static enum err_code expand_object(struct resolving *resolving, json_t *object,
                                   json_t **ret_value, struct err *err)
{
    json_auto_t *made = json_object();
    json_t *member;
    const char *key;

    json_object_foreach (object, key, member) {
        json_t *expanded = NULL;
        enum err_code rc = expand_value(resolving, member, &expanded, err);

        if (rc)
            return rc;
        json_object_set_new(made, key, expanded);
    }
    *ret_value = TAKE(made);
    return ERR_OK;
}

static enum err_code expand_value(struct resolving *resolving, json_t *value,
                                  json_t **ret_value, struct err *err)
{
    if (json_is_text(value))
        return expand_string(resolving, value, ret_value, err);
    switch (json_typeof(value)) {
    case JSON_ARRAY: return expand_array(resolving, value, ret_value, err);
    case JSON_OBJECT: return expand_object(resolving, value, ret_value, err);
    default: *ret_value = json_deep_copy(value); return ERR_OK;
    }
}

static json_t *used_names(const struct resolving *resolving)
{
    json_t *names = json_array();

    for (const struct value *value = resolving->values; value; value = value->next)
        json_array_insert_new(names, 0, json_string(value->variable.name));
    return names;
}

enum err_code var_ref_resolve(json_t *args, var_ref_find_fn *find, void *arg, json_t **ret_args,
                              json_t **ret_names, struct err *err)
{
    struct resolving resolving = {.find = find, .arg = arg};
    enum err_code rc = expand_value(&resolving, args, ret_args, err);

    if (!rc && ret_names)
        *ret_names = used_names(&resolving);
    resolving_clear(&resolving);
    return rc;
}
