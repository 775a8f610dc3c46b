#include "core/domain/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"

/* ---- Words, from lax to strict ---- */

#define WORD_COUNT 3
#define STRICTEST  (WORD_COUNT - 1)

static const char *const executions[WORD_COUNT + 1] = {"auto", "ask-once", "ask-always"};
static const char *const results[WORD_COUNT + 1] = {"never", "on-error", "always"};
static const char *const levels[WORD_COUNT + 1] = {"public", "moderate", "sensitive"};

const char *execution_policy_name(enum execution_policy policy)
{
    return executions[policy];
}

const char *execution_policy_level(enum execution_policy policy)
{
    return levels[policy];
}

const char *result_policy_name(enum result_policy policy)
{
    return results[policy];
}

static bool find_word(const char *const *words, const json_t *value, unsigned *ret_place)
{
    for (unsigned i = 0; json_is_string(value) && words[i]; i++) {
        if (strcmp(words[i], json_string_value(value)) == 0) {
            *ret_place = i;
            return true;
        }
    }
    return false;
}

static unsigned place_of(const char *const *words, const json_t *value)
{
    unsigned place = STRICTEST;

    (void)find_word(words, value, &place);
    return place;
}

/* ---- Declarations ---- */

/* What a declaration may say, and in which words: none for a switch. */
/* clang-format off */
static const struct key {
    const char *name;
    const char *same; /* another name of it, or NULL */
    const char *const *words;
} keys[] = {
    {"executionPolicy",          "execution", executions},
    {"resultApprovalPolicy",     "result",    results},
    {"permissionLevel",          NULL,        levels},
    {"requireExecutionApproval", NULL,        NULL},
    {"requireResultApproval",    NULL,        NULL},
    {"autoExecute",              NULL,        NULL},
};
/* clang-format on */

static const json_t *said(const json_t *declared, const struct key *key)
{
    const json_t *value = json_object_get(declared, key->name);

    if (json_absent(value) && key->same)
        value = json_object_get(declared, key->same);
    return json_absent(value) ? NULL : value;
}

static const json_t *new_execution(const json_t *declared)
{
    return said(declared, &keys[0]);
}

static const json_t *new_result(const json_t *declared)
{
    return said(declared, &keys[1]);
}

/* Only `false` is a way out of a question. */
static bool old_execution(const json_t *declared, enum execution_policy *ret_policy)
{
    const json_t *level = said(declared, &keys[2]);
    const json_t *required = said(declared, &keys[3]);
    const json_t *automatic = said(declared, &keys[5]);

    if (!level && !required && !automatic)
        return false;
    *ret_policy = level ? place_of(levels, level) : EXECUTION_AUTO;
    if (automatic && !json_is_true(automatic) && *ret_policy == EXECUTION_AUTO)
        *ret_policy = EXECUTION_ASK_ONCE;
    if (json_is_false(required) && !automatic)
        *ret_policy = EXECUTION_AUTO;
    return true;
}

/* Only `false` is none. */
static bool old_result(const json_t *declared, enum result_policy *ret_policy)
{
    const json_t *required = said(declared, &keys[4]);

    if (!required)
        return false;
    *ret_policy = json_is_false(required) ? RESULT_NEVER : RESULT_ALWAYS;
    return true;
}

struct permission permission_resolve(const json_t *tool, const json_t *override)
{
    struct permission permission = {EXECUTION_AUTO, RESULT_NEVER};

    if (new_execution(override))
        permission.execution = place_of(executions, new_execution(override));
    else if (new_execution(tool))
        permission.execution = place_of(executions, new_execution(tool));
    else if (!old_execution(override, &permission.execution))
        (void)old_execution(tool, &permission.execution);

    if (new_result(override))
        permission.result = place_of(results, new_result(override));
    else if (new_result(tool))
        permission.result = place_of(results, new_result(tool));
    else if (!old_result(override, &permission.result))
        (void)old_result(tool, &permission.result);
    return permission;
}

struct permission permission_override(struct permission tool, const json_t *override)
{
    if (new_execution(override))
        tool.execution = place_of(executions, new_execution(override));
    else
        (void)old_execution(override, &tool.execution);
    if (new_result(override))
        tool.result = place_of(results, new_result(override));
    else
        (void)old_result(override, &tool.result);
    return tool;
}

struct permission permission_stricter(struct permission a, struct permission b)
{
    return (struct permission){
        .execution = a.execution > b.execution ? a.execution : b.execution,
        .result = a.result > b.result ? a.result : b.result,
    };
}

/* ---- Checking ---- */

/* A key can be as long as its author likes: only the error's text is cut, between characters. */
static char *path_of(const char *path, const char *key)
{
    return mem_printf("%s.%s", path, key);
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(keys[i].name, name) == 0 ||
            (keys[i].same && strcmp(keys[i].same, name) == 0))
            return &keys[i];
    }
    return NULL;
}

static enum err_code check_value(const struct key *key, const json_t *value, const char *path,
                                 struct err *err)
{
    unsigned place;

    if (!key->words && !json_is_boolean(value))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected a boolean.", path);
    if (!key->words || find_word(key->words, value, &place))
        return ERR_OK;
    return err_invalid(err, "invalid_value", path,
                       "Invalid value for '%s': expected one of '%s', '%s' and '%s'.", path,
                       key->words[0], key->words[1], key->words[2]);
}

enum err_code permission_check(const json_t *declared, const char *path, struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(declared))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)declared, name, value) {
        const struct key *key = find_key(name);
        AUTO_FREE char *here = path_of(path, name);
        enum err_code rc;

        if (!key)
            return err_invalid(err, "unknown_parameter", here, "Unknown parameter: '%s'.",
                               here);
        if (key->same && json_object_get(declared, key->name) &&
            json_object_get(declared, key->same))
            return err_invalid(err, "invalid_value", here,
                               "Invalid '%s': '%s' and '%s' are the same.", path, key->name,
                               key->same);
        rc = check_value(key, value, here, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code permissions_check(const json_t *set, const char *path, struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(set))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)set, name, value) {
        AUTO_FREE char *here = path_of(path, name);
        enum err_code rc = permission_check(value, here, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

const json_t *permissions_find(const json_t *set, const char *group, const char *tool)
{
    AUTO_FREE char *own = mem_printf("%s/%s", group, tool);
    const json_t *found = json_object_get(set, own);

    return found ? found : json_object_get(set, group);
}

/* What a set says about a key: by itself, or about all of its group. */
static struct permission said_of(const json_t *set, const char *key)
{
    AUTO_FREE char *group = mem_strndup(key, strcspn(key, "/"));
    const json_t *own = json_object_get(set, key);

    return permission_resolve(NULL, own ? own : json_object_get(set, group));
}

static void merge_keys(json_t *merged, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *declared;

    json_object_foreach ((json_t *)(uintptr_t)a, key, declared) {
        struct permission both = permission_stricter(said_of(a, key), said_of(b, key));

        json_set(merged, key,
                 json_build("{s:s, s:s}", "execution", execution_policy_name(both.execution),
                            "result", result_policy_name(both.result)));
    }
}

json_t *permissions_merge(const json_t *a, const json_t *b)
{
    json_t *merged;

    if (json_absent(a) && json_absent(b))
        return NULL;
    merged = json_object();
    merge_keys(merged, a, b);
    merge_keys(merged, b, a);
    return merged;
}

/* ---- require_approval ---- */

static bool names(const json_t *filter, const char *tool)
{
    size_t i;
    json_t *name;

    json_array_foreach (json_object_get(filter, "tool_names"), i, name) {
        if (strcmp(json_string_value(name), tool) == 0)
            return true;
    }
    return false;
}

/* All that a filter says must hold; one that says nothing filters nothing out, and holds for none. */
static bool holds(const json_t *filter, const char *tool, bool read_only)
{
    const json_t *list = json_object_get(filter, "tool_names");
    const json_t *wanted = json_object_get(filter, "read_only");

    if (json_absent(list) && json_absent(wanted))
        return false;
    if (!json_absent(list) && !names(filter, tool))
        return false;
    return json_absent(wanted) || json_is_true(wanted) == read_only;
}

enum execution_policy permission_required(const json_t *require, const char *tool,
                                          bool read_only, enum execution_policy otherwise)
{
    if (json_absent(require))
        return otherwise;
    if (json_is_string(require))
        return strcmp(json_string_value(require), "never") == 0 ? EXECUTION_AUTO
                                                                : EXECUTION_ASK_ALWAYS;
    if (!json_is_object(require) || holds(json_object_get(require, "always"), tool, read_only))
        return EXECUTION_ASK_ALWAYS;
    return holds(json_object_get(require, "never"), tool, read_only) ? EXECUTION_AUTO
                                                                     : otherwise;
}

static enum err_code check_names(const json_t *list, const char *path, struct err *err)
{
    AUTO_FREE char *here = path_of(path, "tool_names");
    size_t i;
    json_t *name;

    if (json_absent(list))
        return ERR_OK;
    if (!json_is_array(list))
        return err_invalid(err, "invalid_type", here,
                           "Invalid type for '%s': expected an array of strings.", here);
    json_array_foreach (list, i, name) {
        if (!json_is_string(name))
            return err_invalid(err, "invalid_type", here,
                               "Invalid type for '%s[%zu]': expected a string.", here, i);
    }
    return ERR_OK;
}

static enum err_code check_filter(const json_t *filter, const char *path, struct err *err)
{
    const json_t *read_only = json_object_get(filter, "read_only");
    const char *name;
    json_t *value;

    if (json_absent(filter))
        return ERR_OK;
    if (!json_is_object(filter))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)filter, name, value) {
        AUTO_FREE char *here = path_of(path, name);

        if (strcmp(name, "tool_names") != 0 && strcmp(name, "read_only") != 0)
            return err_invalid(err, "unknown_parameter", here, "Unknown parameter: '%s'.",
                               here);
    }
    if (!json_absent(read_only) && !json_is_boolean(read_only)) {
        AUTO_FREE char *here = path_of(path, "read_only");

        return err_invalid(err, "invalid_type", here,
                           "Invalid type for '%s': expected a boolean.", here);
    }
    return check_names(json_object_get(filter, "tool_names"), path, err);
}

static enum err_code check_both(const json_t *require, const char *path, struct err *err)
{
    const json_t *never = json_object_get(require, "never");
    size_t i;
    json_t *name;

    json_array_foreach (json_object_get(json_object_get(require, "always"), "tool_names"), i,
                        name) {
        if (names(never, json_string_value(name)))
            return err_invalid(
                err, "invalid_value", path,
                "Invalid '%s': the tool '%s' is named in both 'always' and 'never'.", path,
                json_string_value(name));
    }
    return ERR_OK;
}

static enum err_code check_filters(const json_t *require, const char *path, struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_object_size(require))
        return err_invalid(err, "invalid_value", path,
                           "Invalid '%s': expected 'always', 'never' or both.", path);
    json_object_foreach ((json_t *)(uintptr_t)require, name, value) {
        AUTO_FREE char *here = path_of(path, name);
        enum err_code rc;

        if (strcmp(name, "always") != 0 && strcmp(name, "never") != 0)
            return err_invalid(err, "unknown_parameter", here, "Unknown parameter: '%s'.",
                               here);
        rc = check_filter(value, here, err);
        if (rc)
            return rc;
    }
    return check_both(require, path, err);
}

enum err_code permission_require_check(const json_t *require, const char *path, struct err *err)
{
    const char *word = json_string_value(require);

    if (json_absent(require))
        return ERR_OK;
    if (json_is_object(require))
        return check_filters(require, path, err);
    if (!word)
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected one of a string or an object.",
                           path);
    if (strcmp(word, "always") == 0 || strcmp(word, "never") == 0)
        return ERR_OK;
    return err_invalid(err, "invalid_value", path,
                       "Invalid value for '%s': expected one of 'always' and 'never'.", path);
}

/* ---- Keys ---- */

void permission_key(const char *tool, const json_t *args, char ret_key[PERMISSION_KEY_SIZE])
{
    AUTO_FREE char *canonical =
        json_dumps(args, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    struct sha256_ctx context;
    uint8_t hash[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    sha256_update(&context, strlen(tool) + 1, (const uint8_t *)tool);
    sha256_update(&context, strlen(canonical), (const uint8_t *)canonical);
    sha256_digest(&context, sizeof(hash), hash);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(ret_key + 2 * i, 3, "%02x", hash[i]);
}
