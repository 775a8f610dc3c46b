#ifndef RUNNEL_CORE_DOMAIN_PERMISSION_H
#define RUNNEL_CORE_DOMAIN_PERMISSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/compiler.h"

/*
 * permission.h -- whether a person is asked before a tool runs, and before the model sees what it
 * gave.
 *
 * Five say something about it, one after another:
 *
 *   the tool           its handler's own policy
 *   the operator       `tools.permissions` of the configuration, which may loosen or tighten that
 *   project and user   their settings (core/run/catalog/tool_settings.h): only tighten
 *   the request        `runnel.permissions` of assistant, run or response: only tightens
 *   the tool's entry   `require_approval`: only tightens
 *
 * A policy is declared as an object, in today's words or in the older ones:
 *
 *   executionPolicy           "auto", "ask-once", "ask-always"    (or `execution`)
 *   resultApprovalPolicy      "never", "on-error", "always"       (or `result`)
 *   permissionLevel           "public", "moderate", "sensitive": auto, ask-once, ask-always
 *   requireExecutionApproval  false: auto, whatever the level
 *   requireResultApproval     true: always
 *   autoExecute               true: auto, false: ask-once; beside another word the stricter counts
 *
 * It is decoded once, into struct declared_permission: what decides about calls knows no older word. A
 * word that is none of these is refused where it comes in (server/params/permission_params.h), and is
 * the strictest of all should it come from elsewhere: a typing error never opens anything.
 *
 * Pure functions.
 */

/* From lax to strict. */
enum execution_policy {
    EXECUTION_AUTO,
    EXECUTION_ASK_ONCE, /* the answer is remembered when whoever answers says so */
    EXECUTION_ASK_ALWAYS,
};
const char *execution_policy_name(enum execution_policy policy);
/* In the older words: "public" ... */
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

/* The keys of a declaration, and the values of each from lax to strict; no values: a switch. */
#define PERMISSION_KEY_COUNT   6
#define PERMISSION_VALUE_COUNT 3
struct permission_key {
    const char *name;
    const char *same;          /* another name of it, or NULL */
    const char *const *values; /* PERMISSION_VALUE_COUNT, or NULL */
};
extern const struct permission_key permission_keys[PERMISSION_KEY_COUNT];

/* Whether a declaration has a policy for something, and under which key. */
enum permission_source {
    PERMISSION_UNSET,
    PERMISSION_OLDER, /* under one of the older keys */
    PERMISSION_TODAY, /* under one of today's */
};

/* A declaration, decoded. Zeroed: it says nothing. */
struct declared_permission {
    enum permission_source execution_source, result_source;
    enum execution_policy execution;
    enum result_policy result;
};

/* NULL says nothing. */
struct declared_permission declared_permission_read(const json_t *declared);

/* What a tool's declaration and an override of it come to. Today's keys come before older ones, and
 * then the override before the tool: an older key in the override does not beat a newer one of the
 * tool. */
struct permission permission_resolve(struct declared_permission tool,
                                     struct declared_permission override);

/* As it is, with an override, under whichever key. */
struct permission permission_override(struct permission tool,
                                      struct declared_permission override);

/* Of each the stricter. */
struct permission permission_stricter(struct permission a, struct permission b);

/* ---- Sets of declarations ---- */

/* {"group/tool": {...}, "group": {...}}: of one tool, or of all of a group. */
struct permission_line {
    char *key;
    struct declared_permission declared;
};
struct permission_set {
    struct permission_line *lines; /* as they were written */
    size_t count;
    const struct permission_line **sorted; /* the same by key */
};

/* NULL is the empty set. */
void permission_set_read(struct permission_set *ret_set, const json_t *declared);
void permission_set_clear(struct permission_set *set);

/* What a set says of a tool: its own line, else the one for all of its group, else nothing. */
struct declared_permission permission_set_find(const struct permission_set *set,
                                               const char *group, const char *tool);

/* Both sets at once, as JSON for the snapshot of a run: of each tool the stricter policy. Either may be
 * NULL. New reference; NULL when both are. */
json_t *permissions_merge(const json_t *a, const json_t *b);

/* ---- require_approval ---- */

/* "always", "never", or {"always": {"tool_names": [...], "read_only": true}, "never": {...}}: what it
 * says of a tool. `otherwise`: where it is absent, or names the tool in neither list: for a
 * remote server that is OpenAI's EXECUTION_ASK_ALWAYS, for a group of this server EXECUTION_AUTO, that
 * is the tool's own policy. `read_only`: the tool's annotation. */
enum execution_policy permission_required(const json_t *require, const char *tool,
                                          bool read_only, enum execution_policy otherwise);

/* ---- What an answer is remembered by ---- */

#define PERMISSION_KEY_SIZE 65

/* SHA-256, in hexadecimal, over the tool's name, a zero, and the arguments as canonical JSON. A
 * short hash would let somebody find other arguments with the key of approved ones. */
void permission_key(const char *tool, const json_t *args, char ret_key[PERMISSION_KEY_SIZE]);

#endif
