/*
 * permission.c -- decodes declarations of policies, and combines them.
 *
 * Values are ordered from lax to strict, in the enums as in the tables of names. So "the stricter of two" is
 * a comparison, and an unknown value can be read as the last one of its table.
 *
 * Two ways to combine are needed. The operator's configuration may loosen what a handler declares, because
 * the operator is responsible for the server: permission_override(). All levels after that may only
 * tighten: permission_stricter(). A thread or a request comes from a client, and a client must not be able
 * to turn off a question that the operator wants.
 *
 * Sets are sorted once and searched by halving. A run looks up several sets for each of its calls, and an
 * operator may list hundreds of tools.
 */

#include "core/domain/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"

/* ---- Values, from lax to strict ---- */

#define STRICTEST (PERMISSION_VALUE_COUNT - 1)

static const char *const executions[] = {"auto", "ask-once", "ask-always"};
static const char *const results[] = {"never", "on-error", "always"};
static const char *const levels[] = {"public", "moderate", "sensitive"};

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

/* A value that is not in the list is the strictest. */
static unsigned index_of(const char *const *values, const json_t *value)
{
    for (unsigned i = 0; json_is_string(value) && i < PERMISSION_VALUE_COUNT; i++) {
        if (strcmp(values[i], json_string_value(value)) == 0)
            return i;
    }
    return STRICTEST;
}

/* ---- Declarations ---- */

enum { KEY_EXECUTION, KEY_RESULT, KEY_LEVEL, KEY_ASKS_EXECUTION, KEY_ASKS_RESULT, KEY_AUTO };

/* clang-format off */
const struct permission_key permission_keys[PERMISSION_KEY_COUNT] = {
    [KEY_EXECUTION]      = {"executionPolicy",          "execution", executions},
    [KEY_RESULT]         = {"resultApprovalPolicy",     "result",    results},
    [KEY_LEVEL]          = {"permissionLevel",          NULL,        levels},
    [KEY_ASKS_EXECUTION] = {"requireExecutionApproval", NULL,        NULL},
    [KEY_ASKS_RESULT]    = {"requireResultApproval",    NULL,        NULL},
    [KEY_AUTO]           = {"autoExecute",              NULL,        NULL},
};
/* clang-format on */

/* The value of a key, under either of its names; NULL when it is missing or null. */
static const json_t *value_of(const json_t *declared, unsigned place)
{
    const struct permission_key *key = &permission_keys[place];
    const json_t *value = json_object_get(declared, key->name);

    if (json_absent(value) && key->same)
        value = json_object_get(declared, key->same);
    return json_absent(value) ? NULL : value;
}

/* The older keys together. Only an explicit `false` removes a question, and not beside autoExecute. */
static void read_older_execution(const json_t *declared, struct declared_permission *permission)
{
    const json_t *level = value_of(declared, KEY_LEVEL);
    const json_t *required = value_of(declared, KEY_ASKS_EXECUTION);
    const json_t *automatic = value_of(declared, KEY_AUTO);

    if (!level && !required && !automatic)
        return;
    permission->execution_source = PERMISSION_OLDER;
    permission->execution = level ? index_of(levels, level) : EXECUTION_AUTO;
    if (automatic && !json_is_true(automatic) && permission->execution == EXECUTION_AUTO)
        permission->execution = EXECUTION_ASK_ONCE;
    if (json_is_false(required) && !automatic)
        permission->execution = EXECUTION_AUTO;
}

struct declared_permission declared_permission_read(const json_t *declared)
{
    struct declared_permission permission = {0};
    const json_t *asks = value_of(declared, KEY_ASKS_RESULT);

    if (value_of(declared, KEY_EXECUTION)) {
        permission.execution_source = PERMISSION_TODAY;
        permission.execution = index_of(executions, value_of(declared, KEY_EXECUTION));
    } else {
        read_older_execution(declared, &permission);
    }
    if (value_of(declared, KEY_RESULT)) {
        permission.result_source = PERMISSION_TODAY;
        permission.result = index_of(results, value_of(declared, KEY_RESULT));
    } else if (asks) {
        permission.result_source = PERMISSION_OLDER;
        permission.result = json_is_false(asks) ? RESULT_NEVER : RESULT_ALWAYS;
    }
    return permission;
}

struct permission permission_resolve(struct declared_permission tool,
                                     struct declared_permission override)
{
    struct permission permission = {tool.execution, tool.result};

    if (override.execution_source && override.execution_source >= tool.execution_source)
        permission.execution = override.execution;
    if (override.result_source && override.result_source >= tool.result_source)
        permission.result = override.result;
    return permission;
}

struct permission permission_override(struct permission tool,
                                      struct declared_permission override)
{
    if (override.execution_source)
        tool.execution = override.execution;
    if (override.result_source)
        tool.result = override.result;
    return tool;
}

struct permission permission_stricter(struct permission a, struct permission b)
{
    return (struct permission){
        .execution = a.execution > b.execution ? a.execution : b.execution,
        .result = a.result > b.result ? a.result : b.result,
    };
}

/* ---- Sets ---- */

static int compare_lines(const void *a, const void *b)
{
    const struct permission_line *const *one = a;
    const struct permission_line *const *other = b;

    return strcmp((*one)->key, (*other)->key);
}

void permission_set_read(struct permission_set *ret_set, const json_t *declared)
{
    size_t count = json_object_size(declared);
    struct permission_set set = {0};
    const char *key;
    json_t *value;

    if (count) {
        set.lines = mem_new_array(struct permission_line, count);
        set.sorted = mem_new_array(const struct permission_line *, count);
    }
    json_object_foreach ((json_t *)(uintptr_t)declared, key, value) {
        set.lines[set.count] =
            (struct permission_line){mem_strdup(key), declared_permission_read(value)};
        set.sorted[set.count] = &set.lines[set.count];
        set.count++;
    }
    if (count)
        qsort(set.sorted, count, sizeof(*set.sorted), compare_lines);
    *ret_set = set;
}

void permission_set_clear(struct permission_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->lines[i].key);
    free(set->lines);
    free(set->sorted);
    *set = (struct permission_set){0};
}

static const struct permission_line *find_line(const struct permission_set *set,
                                               const char *key)
{
    size_t first = 0, end = set ? set->count : 0;

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = strcmp(key, set->sorted[middle]->key);

        if (order == 0)
            return set->sorted[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

struct declared_permission permission_set_find(const struct permission_set *set,
                                               const char *group, const char *tool)
{
    AUTO_FREE char *own = mem_printf("%s/%s", group, tool);
    const struct permission_line *line = find_line(set, own);

    if (!line)
        line = find_line(set, group);
    return line ? line->declared : (struct declared_permission){0};
}

/* The policy of a set for a key: its own declaration, or that of its group. */
static struct permission policy_of(const json_t *set, const char *key)
{
    AUTO_FREE char *group = mem_strndup(key, strcspn(key, "/"));
    const json_t *own = json_object_get(set, key);
    struct permission lax = {EXECUTION_AUTO, RESULT_NEVER};

    return permission_override(
        lax, declared_permission_read(own ? own : json_object_get(set, group)));
}

/* Called for both sides: a key of only one set meets the group of the other. */
static void merge_keys(json_t *merged, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *declared;

    json_object_foreach ((json_t *)(uintptr_t)a, key, declared) {
        struct permission both = permission_stricter(policy_of(a, key), policy_of(b, key));

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

/* All members of a filter must match. An empty filter matches no tool, as an empty list of names would. */
static bool holds(const json_t *filter, const char *tool, bool read_only)
{
    const json_t *list = json_object_get(filter, "tool_names");
    const json_t *wanted = json_object_get(filter, "read_only");

    if (json_absent(list) && json_absent(wanted))
        return false;
    if (!json_absent(list) && !json_list_has(list, tool))
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
    /* Anything unknown asks. A tool in both lists asks as well: the stricter one counts. */
    if (!json_is_object(require) || holds(json_object_get(require, "always"), tool, read_only))
        return EXECUTION_ASK_ALWAYS;
    return holds(json_object_get(require, "never"), tool, read_only) ? EXECUTION_AUTO
                                                                     : otherwise;
}

/* ---- Keys ---- */

void permission_key(const char *tool, const json_t *args, char ret_key[PERMISSION_KEY_SIZE])
{
    AUTO_FREE char *canonical =
        json_dumps(args, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    struct sha256_ctx context;
    uint8_t hash[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    /* With its NUL: no name and arguments together look like another name with other arguments. */
    sha256_update(&context, strlen(tool) + 1, (const uint8_t *)tool);
    sha256_update(&context, strlen(canonical), (const uint8_t *)canonical);
    sha256_digest(&context, sizeof(hash), hash);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(ret_key + 2 * i, 3, "%02x", hash[i]);
}
