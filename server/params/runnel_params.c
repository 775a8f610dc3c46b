#include "server/params/runnel_params.h"

#include <string.h>

#include <stdint.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/permission.h"
#include "core/memory/skill.h"
#include "core/run/approval/grant.h"
#include "core/run/approval/run_hold.h"
#include "core/run/context/chain.h"
#include "core/run/context/long_messages.h"
#include "core/tool/cut.h"
#include "core/tool/override.h"
#include "server/complaint.h"
#include "server/params/group_params.h"
#include "server/params/params.h"
#include "server/params/permission_params.h"
#include "server/params/skill_params.h"
#include "server/params/variable_params.h"

/* The largest value of runnel.rounds.max_calls. */
#define CALLS_LIMIT 1000000000

/*
 * The object `runnel` is how a request uses what OpenAI's API has no parameter for. OpenAI's SDKs pass
 * it through (`extra_body`), and a server that does not know it ignores it.
 *
 * Every member is a line of one table: its key, where it may be, and the function that checks it. Most
 * members are settings. They may also be set for an assistant or a thread, and then hold for all of its
 * runs. Two belong to one request only, the context for handlers and the variables of the start.
 *
 * Settings of several levels are merged from the widest to the narrowest: assistant, thread, request.
 * For most members the narrowest level that has a value wins. Members about security are different,
 * because the levels may belong to different people: an assistant is often written by an operator, a
 * request comes from an application.
 *
 *   permissions, skill_permissions   of both values the stricter one
 *   approval.channel                 "deny" of a wider level cannot be undone
 *   approval.remember_default        of both scopes the narrower one
 *   check_results                    accepts only true
 *
 * A member that is null has no value, at any depth, and so never removes one of a wider level. Without
 * that rule, {"permissions": null} in a request would be the way around all of the above.
 */

/* ---- Checks of the members. `runnel` is the object, `path` its path ---- */

/* Any object: only handlers read it. */
static enum err_code check_context(const json_t *runnel, const char *path, struct err *err)
{
    json_t *context = NULL;

    return param_object(runnel, path, "context", PARAM_OPTIONAL, &context, err);
}

static enum err_code check_truncation(const json_t *runnel, const char *path, struct err *err)
{
    static const char *const known[] = {"mode", "limit", NULL};
    static const char *const modes[] = {"head_tail", "head", NULL};
    const struct param_path here = param_key(path, "truncation");
    json_t *truncation = NULL;
    const char *mode;
    json_int_t limit;
    enum err_code rc =
        param_object(runnel, path, "truncation", PARAM_OPTIONAL, &truncation, err);

    if (rc || !truncation)
        return rc;
    rc = param_unknown(truncation, here.text, known, err);
    if (!rc)
        rc = param_enum(truncation, here.text, "mode", PARAM_OPTIONAL, modes, &mode, err);
    if (!rc)
        rc =
            param_int(truncation, here.text, "limit", 1, (json_int_t)CUT_NO_LIMIT, &limit, err);
    return rc;
}

static enum err_code check_rules(const json_t *runnel, const char *path, struct err *err)
{
    static const char *const known[] = {"language", NULL};
    static const char *const languages[] = {"en", "zh", NULL};
    const struct param_path here = param_key(path, "rules");
    json_t *rules = NULL;
    const char *language;
    enum err_code rc = param_object(runnel, path, "rules", PARAM_OPTIONAL, &rules, err);

    if (rc || !rules)
        return rc;
    rc = param_unknown(rules, here.text, known, err);
    return rc ? rc
              : param_enum(rules, here.text, "language", PARAM_OPTIONAL, languages, &language,
                           err);
}

static enum err_code check_history(const json_t *runnel, const char *path, struct err *err)
{
    static const char *const forms[] = {"native", "compact", NULL};
    const char *form;

    return param_enum(runnel, path, "history", PARAM_OPTIONAL, forms, &form, err);
}

static enum err_code check_citations(const json_t *runnel, const char *path, struct err *err)
{
    static const char *const ways[] = {"overlap", "marks", "none", NULL};
    const char *way;

    return param_enum(runnel, path, "citations", PARAM_OPTIONAL, ways, &way, err);
}

static enum err_code check_message_cache(const json_t *runnel, const char *path,
                                         struct err *err)
{
    static const char *const known[] = {"max_chars", NULL};
    const struct param_path here = param_key(path, "message_cache");
    json_t *cache = NULL;
    json_int_t number;
    enum err_code rc = param_object(runnel, path, "message_cache", PARAM_OPTIONAL, &cache, err);

    if (rc || !cache)
        return rc;
    rc = param_unknown(cache, here.text, known, err);
    if (!rc && json_absent(json_object_get(cache, "max_chars")))
        return param_missing(err, param_key(here.text, "max_chars").text);
    return rc ? rc
              : param_int(cache, here.text, "max_chars", LONG_MESSAGE_LEAST, LONG_MESSAGE_MOST,
                          &number, err);
}

static enum err_code check_rounds(const json_t *runnel, const char *path, struct err *err)
{
    static const char *const known[] = {"max", "max_calls", NULL};
    const struct param_path here = param_key(path, "rounds");
    json_t *rounds = NULL;
    json_int_t number;
    enum err_code rc = param_object(runnel, path, "rounds", PARAM_OPTIONAL, &rounds, err);

    if (rc || !rounds)
        return rc;
    rc = param_unknown(rounds, here.text, known, err);
    if (!rc)
        rc = param_int(rounds, here.text, "max", 1, CHAIN_ROUNDS_LIMIT, &number, err);
    return rc ? rc : param_int(rounds, here.text, "max_calls", 0, CALLS_LIMIT, &number, err);
}

static enum err_code check_approval(const json_t *runnel, const char *path, struct err *err)
{
    static const char *const known[] = {"channel", "hold_timeout_s", "pending",
                                        "remember_default", NULL};
    static const char *const pending[] = {"refuse", "reject", NULL};
    static const char *const channels[] = {"suspend", "hold", "webhook", "deny", NULL};
    const struct param_path here = param_key(path, "approval");
    json_t *approval = NULL;
    const char *word;
    json_int_t seconds;
    enum err_code rc = param_object(runnel, path, "approval", PARAM_OPTIONAL, &approval, err);

    if (rc || !approval)
        return rc;
    rc = param_unknown(approval, here.text, known, err);
    if (!rc)
        rc = param_enum(approval, here.text, "channel", PARAM_OPTIONAL, channels, &word, err);
    if (!rc)
        rc = param_int(approval, here.text, "hold_timeout_s", 1, RUN_HOLD_SECONDS_LIMIT,
                       &seconds, err);
    if (!rc)
        rc = param_enum(approval, here.text, "pending", PARAM_OPTIONAL, pending, &word, err);
    return rc ? rc
              : param_enum(approval, here.text, "remember_default", PARAM_OPTIONAL,
                           grant_scopes, &word, err);
}

static enum err_code check_permissions(const json_t *runnel, const char *path, struct err *err)
{
    const json_t *set = json_object_get(runnel, "permissions");

    return json_absent(set) ? ERR_OK
                            : permissions_check(set, param_key(path, "permissions").text, err);
}

/* Policies decide which results a person checks. A request can repeat that, and cannot turn it off. */
static enum err_code check_results(const json_t *runnel, const char *path, struct err *err)
{
    const struct param_path here = param_key(path, "check_results");
    bool check = true;
    enum err_code rc = param_bool(runnel, path, "check_results", &check, err);

    if (rc || check)
        return rc;
    return err_invalid(err, "unsupported_value", here.text,
                       "Unsupported value: '%s' cannot be false: policies only tighten.",
                       here.text);
}

/* ---- The table ---- */

enum place {
    OF_REQUEST, /* only in a run or a response, and not one of its settings */
    ANYWHERE,   /* also in an assistant or a thread */
};

/* clang-format off */
static const struct member {
    const char *key;
    enum place place;
    enum err_code (*check)(const json_t *runnel, const char *path, struct err *err);
} members[] = {
    {"approval",    ANYWHERE,   check_approval},
    {"check_results", ANYWHERE, check_results},
    {"citations",   ANYWHERE,   check_citations},
    {"context",     OF_REQUEST, check_context},
    {"history",     ANYWHERE,   check_history},
    {"message_cache", ANYWHERE, check_message_cache},
    {"permissions", ANYWHERE,   check_permissions},
    {"rounds",      ANYWHERE,   check_rounds},
    {"rules",       ANYWHERE,   check_rules},
    {"skill_permissions", ANYWHERE, skill_permissions_check},
    {"skills",      ANYWHERE,   skill_params_check},
    {"tool_groups", ANYWHERE,   group_params_check},
    {"truncation",  ANYWHERE,   check_truncation},
    {VARIABLES_IN_KEY, OF_REQUEST, variables_in_check},
};
/* clang-format on */

static enum err_code check(const json_t *object, const char *path, enum place place,
                           struct err *err)
{
    const struct param_path here = param_key(path, "runnel");
    const char *known[COUNT_OF(members) + 1] = {NULL};
    size_t count = 0;
    json_t *runnel = NULL;
    enum err_code rc = param_object(object, path, "runnel", PARAM_OPTIONAL, &runnel, err);

    if (rc || !runnel)
        return rc;
    /* A member in the wrong place is as unknown as a misspelt one. */
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (members[i].place >= place)
            known[count++] = members[i].key;
    rc = param_unknown(runnel, here.text, known, err);
    for (size_t i = 0; !rc && i < COUNT_OF(members); i++)
        rc = members[i].check(runnel, here.text, err);
    return rc;
}

enum err_code runnel_params_check(const json_t *body, struct err *err)
{
    return check(body, "", OF_REQUEST, err);
}

enum err_code runnel_defaults_check(const json_t *object, const char *path, struct err *err)
{
    return check(object, path, ANYWHERE, err);
}

enum err_code runnel_defaults_change(const json_t *object, char **ret_text, struct err *err)
{
    const json_t *runnel = json_object_get(object, "runnel");
    enum err_code rc = runnel_defaults_check(object, "", err);

    if (!rc && runnel)
        *ret_text = json_is_null(runnel) ? mem_strdup("{}") : json_text(runnel);
    return rc;
}

enum err_code runnel_channel_check(const struct engine *engine, const struct tenant *tenant,
                                   const struct run_settings *settings, struct err *err)
{
    if (settings->approval.channel != APPROVAL_WEBHOOK || engine_webhook(engine, tenant))
        return ERR_OK;
    return err_invalid(err, "unsupported_value", "runnel.approval.channel",
                       "Unsupported value: 'webhook': this project has no webhook.");
}

json_t *runnel_context(const json_t *body)
{
    const json_t *context = json_object_get(json_object_get(body, "runnel"), "context");

    return json_is_object(context) ? json_deep_copy(context) : NULL;
}

json_t *runnel_settings(const json_t *body)
{
    const json_t *runnel = json_object_get(body, "runnel");
    json_t *settings = json_object();

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *value = json_object_get(runnel, members[i].key);

        if (members[i].place == ANYWHERE && !json_absent(value))
            json_object_set(settings, members[i].key, value);
    }
    return settings;
}

/* ---- Merging two levels ---- */

static bool denies_approvals(const json_t *settings)
{
    const json_t *approval = json_object_get(settings, "approval");

    return strcmp(json_get_string(approval, "channel", ""), "deny") == 0;
}

/* The place of the scope in grant_scopes, whose order is from narrow to wide. The default is "thread". */
static size_t width_of(const json_t *settings)
{
    const json_t *approval = json_object_get(settings, "approval");
    const char *scope = json_get_string(approval, "remember_default", "thread");
    size_t width = 0;

    while (grant_scopes[width] && strcmp(grant_scopes[width], scope) != 0)
        width++;
    return width;
}

static bool says_scope(const json_t *settings)
{
    return json_get_string(json_object_get(settings, "approval"), "remember_default", NULL);
}

static void set_narrower(json_t *both, const json_t *wide, const json_t *narrow)
{
    size_t width = width_of(wide);

    if (!says_scope(wide) || !says_scope(narrow))
        return;
    if (width_of(narrow) < width)
        width = width_of(narrow);
    json_set_string(json_object_get(both, "approval"), "remember_default", grant_scopes[width]);
}

/* Removes null members at any depth: null means that a level has no value. */
static void drop_nulls(json_t *value)
{
    const char *key;
    json_t *member;
    void *next;

    json_object_foreach_safe(value, next, key, member)
    {
        if (json_is_null(member))
            json_object_del(value, key);
        else
            drop_nulls(member);
    }
}

/* A copy without nulls; NULL for NULL. New reference. */
static json_t *without_nulls(const json_t *settings)
{
    json_t *copy = json_deep_copy(settings);

    drop_nulls(copy);
    return copy;
}

/* The general merge comes first; then the members about security replace what it made of them. */
json_t *runnel_settings_merge(const json_t *wide, const json_t *narrow)
{
    json_auto_t *over = without_nulls(narrow);
    json_t *groups = overrides_merge(json_object_get(wide, "tool_groups"),
                                     json_object_get(over, "tool_groups"));
    json_t *permissions = permissions_merge(json_object_get(wide, "permissions"),
                                            json_object_get(over, "permissions"));
    json_t *skills = skill_permissions_merge(json_object_get(wide, SKILL_PERMISSIONS_KEY),
                                             json_object_get(over, SKILL_PERMISSIONS_KEY));
    json_t *both = json_is_object(wide) ? json_deep_copy(wide) : json_object();
    bool denies = denies_approvals(wide);

    if (json_is_object(over))
        json_object_update_recursive(both, over);
    if (groups)
        json_set(both, "tool_groups", groups);
    if (permissions)
        json_set(both, "permissions", permissions);
    if (skills)
        json_set(both, SKILL_PERMISSIONS_KEY, skills);
    set_narrower(both, wide, over);
    if (denies)
        json_set(both, "approval", json_build("{s:s}", "channel", "deny"));
    return both;
}
