#ifndef RUNNEL_CORE_DOMAIN_PERMISSION_H
#define RUNNEL_CORE_DOMAIN_PERMISSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/compiler.h"

/*
 * permission.h -- the policy of a tool: does a person have to approve its calls, and their results before
 * the model sees them?
 *
 * Five levels contribute to the policy, in this order:
 *
 *   the tool           its handler's own policy
 *   the operator       `tools.permissions` of the configuration, which may loosen or tighten that
 *   project and user   their settings (core/run/catalog/tool_settings.h): only tighten
 *   the request        `runnel.permissions` of assistant, run or response: only tightens
 *   the tool's entry   `require_approval`: only tightens
 *
 * A policy is declared as an object, with present or older keys:
 *
 *   executionPolicy           "auto", "ask-once", "ask-always"    (or `execution`)
 *   resultApprovalPolicy      "never", "on-error", "always"       (or `result`)
 *   permissionLevel           "public", "moderate", "sensitive": auto, ask-once, ask-always
 *   requireExecutionApproval  false: auto, whatever the level
 *   requireResultApproval     true: always
 *   autoExecute               true: auto, false: ask-once; with another key the stricter one counts
 *
 * A declaration is decoded once, into struct declared_permission; code that decides about calls knows no
 * older key. An unknown value in a request is refused (server/params/permission_params.h). From any other
 * source an unknown value counts as the strictest one, so a typing error never loosens a policy.
 *
 * Pure functions: any thread.
 */

/* From lax to strict. */
enum execution_policy {
    EXECUTION_AUTO,
    EXECUTION_ASK_ONCE, /* an answer may become a grant, which covers later calls */
    EXECUTION_ASK_ALWAYS,
};
const char *execution_policy_name(enum execution_policy policy);
/* The older name: "public", "moderate", "sensitive". */
const char *execution_policy_level(enum execution_policy policy);

enum result_policy {
    RESULT_NEVER,
    RESULT_ON_ERROR,
    RESULT_ALWAYS,
};
const char *result_policy_name(enum result_policy policy);

struct permission {
    enum execution_policy execution;
    enum result_policy result;
};

/* ---- Declarations ---- */

/* The keys of a declaration, each with its values from lax to strict. A key without values is a boolean. */
#define PERMISSION_KEY_COUNT   6
#define PERMISSION_VALUE_COUNT 3
struct permission_key {
    const char *name;
    const char *same;          /* a second name of the key, or NULL */
    const char *const *values; /* PERMISSION_VALUE_COUNT, or NULL */
};
extern const struct permission_key permission_keys[PERMISSION_KEY_COUNT];

/* Whether a declaration has a value, and under which kind of key. */
enum permission_source {
    PERMISSION_UNSET,
    PERMISSION_OLDER, /* under one of the older keys */
    PERMISSION_TODAY, /* under a present key */
};

/* A decoded declaration. Zeroed, it declares nothing. */
struct declared_permission {
    enum permission_source execution_source, result_source;
    enum execution_policy execution;
    enum result_policy result;
};

/* NULL is an empty declaration. */
struct declared_permission declared_permission_read(const json_t *declared);

/* The policy of a tool with an override. Present keys win over older keys; among keys of one kind the
 * override wins. So an older key in the override does not replace a present key of the tool. */
struct permission permission_resolve(struct declared_permission tool,
                                     struct declared_permission override);

/* The policy with what the override declares, no matter under which key. */
struct permission permission_override(struct permission tool,
                                      struct declared_permission override);

/* The stricter value of each member. */
struct permission permission_stricter(struct permission a, struct permission b);

/* ---- Sets of declarations ---- */

/* {"group/tool": {...}, "group": {...}}: declarations for one tool, or for all tools of a group. */
struct permission_line {
    char *key;
    struct declared_permission declared;
};
struct permission_set {
    struct permission_line *lines; /* in the order of the JSON */
    size_t count;
    const struct permission_line **sorted; /* the same, sorted by key */
};

/* NULL gives an empty set. The caller clears it. */
void permission_set_read(struct permission_set *ret_set, const json_t *declared);
void permission_set_clear(struct permission_set *set);

/* The declaration for a tool: its own, else that of its group, else an empty one. NULL is an empty set. */
struct declared_permission permission_set_find(const struct permission_set *set,
                                               const char *group, const char *tool);

/* Merges two sets, as JSON for the snapshot of a run: for each key the stricter policy. Either may be NULL.
 * New reference; NULL when both are NULL. */
json_t *permissions_merge(const json_t *a, const json_t *b);

/* ---- require_approval ---- */

/* The policy that `require_approval` of an entry has for a tool. The value is "always", "never", or
 * {"always": {"tool_names": [...], "read_only": true}, "never": {...}}. `read_only` is the tool's
 * annotation. `otherwise` is the result when the value is missing or names the tool in neither list. For a
 * remote server that is EXECUTION_ASK_ALWAYS, as with OpenAI; for a group of this server EXECUTION_AUTO,
 * so that the tool's own policy counts. */
enum execution_policy permission_required(const json_t *require, const char *tool,
                                          bool read_only, enum execution_policy otherwise);

/* ---- Keys of grants ---- */

#define PERMISSION_KEY_SIZE 65

/* The key of a grant for exactly these arguments: SHA-256, in hexadecimal, of the tool's name, a zero byte,
 * and the arguments as JSON with sorted keys. With a short hash a model could find other arguments that
 * have the key of approved ones. */
void permission_key(const char *tool, const json_t *args, char ret_key[PERMISSION_KEY_SIZE]);

#endif
