#ifndef RUNNEL_CORE_DOMAIN_PERMISSION_H
#define RUNNEL_CORE_DOMAIN_PERMISSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

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
 * A word that is none of these is refused where it comes in (permission_check()), and is the
 * strictest of all should it come from elsewhere: a typing error never opens anything.
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

/* What a tool's declaration and somebody's override of it come to; both may be NULL. Today's words
 * come before older ones, and then the override before the tool: an older word in the override does
 * not beat a newer one of the tool. */
struct permission permission_resolve(const json_t *tool, const json_t *override);

/* As it is, with an override: an older word in it is a word all the same. */
struct permission permission_override(struct permission tool, const json_t *override);

/* Of each the stricter. */
struct permission permission_stricter(struct permission a, struct permission b);

/* ERR_INVALID (param `path`...) for a key or a word that there is not, and for an object that says the
 * same thing twice. */
enum err_code permission_check(const json_t *declared, const char *path,
                               struct err *err) MUST_CHECK;

/* A set of declarations, {"group/tool": {...}, "group": {...}}: of one tool, or of all of a group. Each
 * is checked as above. */
enum err_code permissions_check(const json_t *set, const char *path,
                                struct err *err) MUST_CHECK;

/* What a set says of a tool: its own line, else the one for all of its group; NULL for nothing. */
const json_t *permissions_find(const json_t *set, const char *group, const char *tool);

/* Both sets at once: of each tool the stricter policy. Either may be NULL. New reference; NULL when
 * both are. */
json_t *permissions_merge(const json_t *a, const json_t *b);

/* ---- require_approval ---- */

/* "always", "never", or {"always": {"tool_names": [...], "read_only": true}, "never": {...}}.
 * ERR_INVALID for anything else, and for a tool that both name. */
enum err_code permission_require_check(const json_t *require, const char *path,
                                       struct err *err) MUST_CHECK;

/* What it says of a tool. `otherwise`: where it is absent, or names the tool in neither list: for a
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
