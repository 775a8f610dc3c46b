/*
 * From an answer to what is remembered of it.
 *
 * Three places receive answers: the output of a function, an item of the next response, and
 * /v1/runnel/approvals. All three call grants_make(), and store its rows in the transaction of
 * the answer. So there is no answer without its grants, and no grant without its answer.
 *
 * What can be remembered was decided when the question was asked, and stored with it as its
 * memory. An answer may come days later, from another node, when the assistant or the policy is
 * another one. Deriving the memory again at that time could remember more than the person was
 * shown.
 *
 * The difference that matters below is who wants the grant. If the answer requests it, failing
 * to make it is an error: the person believes that the question will not come again. If it is
 * only the default of the policy, an answer that cannot be remembered still counts for its own
 * call.
 *
 * A grant has the hash of the tool's definition. It counts for a tool with this definition, and
 * a tool that changed under the same name needs a new approval.
 */

#include "core/run/approval/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"

const char *const grant_scopes[] = {"run", "thread", "assistant", "user", NULL};
const char *const grant_matches[] = {"exact", "tool", "pattern", NULL};

/* ---- The form of `remember` ---- */

/* The caller frees. */
static char *at(const char *path, const char *key)
{
    return mem_printf("%s%s%s", path, *path ? "." : "", key);
}

static bool in_list(const char *const *list, const char *word)
{
    for (; *list; list++) {
        if (strcmp(*list, word) == 0)
            return true;
    }
    return false;
}

static enum err_code check_word(const json_t *remember, const char *path, const char *key,
                                const char *const *words, struct err *err)
{
    const json_t *value = json_object_get(remember, key);
    AUTO_FREE char *here = at(path, key);
    AUTO_BUF list = {0};

    if (json_absent(value) ||
        (json_is_string(value) && in_list(words, json_string_value(value))))
        return ERR_OK;
    for (size_t i = 0; words[i]; i++)
        buf_addf(&list, "%s'%s'", !i ? "" : words[i + 1] ? ", " : " and ", words[i]);
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, here,
                      "Invalid value for '%s': expected one of %s.", here, list.data);
}

static enum err_code check_ttl(const json_t *remember, const char *path, struct err *err)
{
    const json_t *value = json_object_get(remember, "ttl_s");
    AUTO_FREE char *here = at(path, "ttl_s");

    if (json_absent(value) || (json_is_integer(value) && json_integer_value(value) >= 1 &&
                               json_integer_value(value) <= GRANT_TTL_LIMIT))
        return ERR_OK;
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, here,
                      "Invalid '%s': expected an integer from 1 to %d.", here, GRANT_TTL_LIMIT);
}

static enum err_code check_remember(const json_t *remember, const char *path, struct err *err)
{
    static const char *const known[] = {"scope", "match", "ttl_s", NULL};
    const char *key;
    json_t *value;
    enum err_code rc;

    if (!json_is_object(remember))
        return err_refuse(err, ERR_INVALID, REASON_BAD_TYPE, path,
                          "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)remember, key, value) {
        AUTO_FREE char *here = at(path, key);

        if (!in_list(known, key))
            return err_refuse(err, ERR_INVALID, REASON_UNKNOWN_MEMBER, here,
                              "Unknown parameter: '%s'.", here);
    }
    rc = check_word(remember, path, "scope", grant_scopes, err);
    if (!rc)
        rc = check_word(remember, path, "match", grant_matches, err);
    return rc ? rc : check_ttl(remember, path, err);
}

enum err_code grant_remember_check(const json_t *said, const char *path, struct err *err)
{
    const json_t *remember = json_object_get(said, "remember");
    const json_t *persist = json_object_get(said, "persistDecision");
    AUTO_FREE char *here = at(path, "persistDecision");

    if (!json_absent(persist) && !json_is_boolean(persist))
        return err_refuse(err, ERR_INVALID, REASON_BAD_TYPE, here,
                          "Invalid type for '%s': expected a boolean.", here);
    if (json_absent(remember))
        return ERR_OK;
    if (!json_absent(persist))
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, here,
                          "Invalid '%s': it cannot be combined with 'remember'.", here);
    free(here);
    here = at(path, "remember");
    return check_remember(remember, here, err);
}

/* ---- Making grants ---- */

/* What an answer requests, with defaults filled in. */
struct wanted_grant {
    bool said;         /* the answer itself requests it, so failing to make it is an error */
    const char *scope; /* NULL: nothing is remembered */
    const char *match;
    json_int_t ttl_s; /* 0: it does not expire */
    char path[160];   /* of the key that requests it, for errors */
};

static struct wanted_grant wanted_of(const json_t *said, const char *path, const json_t *memory)
{
    const json_t *remember = json_object_get(said, "remember");
    bool persist = json_get_bool(said, "persistDecision", false);
    struct wanted_grant wanted = {.said = persist || json_is_object(remember)};
    AUTO_FREE char *here = at(path, persist ? "persistDecision" : "remember");

    (void)snprintf(wanted.path, sizeof(wanted.path), "%.*s", (int)sizeof(wanted.path) - 1,
                   here);
    wanted.scope = json_get_string(remember, "scope", json_get_string(memory, "default", NULL));
    if (!wanted.scope && wanted.said)
        wanted.scope = "thread";
    wanted.match = json_get_string(remember, "match",
                                   persist                          ? "tool"
                                   : json_object_get(memory, "key") ? "exact"
                                                                    : "pattern");
    wanted.ttl_s = json_integer_value(json_object_get(remember, "ttl_s"));
    return wanted;
}

static bool wants_nothing(const json_t *said, const struct wanted_grant *wanted)
{
    return json_is_false(json_object_get(said, "persistDecision")) || !wanted->scope;
}

static enum err_code refuse(const struct wanted_grant *wanted, const char *why, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, wanted->path, "Invalid '%s': %s",
                      wanted->path, why);
}

/* The id that the grant belongs to; NULL: the question has no such scope. */
static const char *find_scope(const struct wanted_grant *wanted, const json_t *memory,
                              const struct grant_answer *answer)
{
    const json_t *scopes = json_object_get(memory, "scopes");
    const char *thread = json_get_string(scopes, "thread", NULL);

    if (strcmp(wanted->scope, "run") == 0)
        return answer->run;
    if (strcmp(wanted->scope, "thread") != 0)
        return json_get_string(scopes, wanted->scope, NULL);
    /* Outside conversations several responses may continue one parent. The grant belongs to the
     * branch of the response that brings the answer, not to its siblings. */
    return answer->run && thread && strncmp(thread, "resp_", 5) == 0 ? answer->run : thread;
}

static const char *why_no_scope(const struct wanted_grant *wanted)
{
    if (strcmp(wanted->scope, "run") == 0)
        return "the response that continues does not exist yet. Its own input can say this.";
    if (strcmp(wanted->scope, "assistant") == 0)
        return "the run has no assistant.";
    return "the request that led to the question names no 'user'.";
}

static void add(const struct wanted_grant *wanted, const struct grant_answer *answer,
                const json_t *memory, const char *scope_id, const char *key,
                struct grant_row **grants, size_t *count)
{
    bool pattern = strcmp(wanted->match, "pattern") == 0;
    struct grant_row grant = {
        .scope = mem_strdup(wanted->scope),
        .scope_id = mem_strdup(scope_id),
        .tool = mem_strdup(json_get_string(memory, "tool", "")),
        .match = mem_strdup(wanted->match),
        .match_key = mem_strdup(key),
        .type = mem_strdup(pattern ? json_get_string(memory, "type", "") : ""),
        .definition = mem_strdup(answer->definition ? answer->definition : ""),
        .approve = answer->approve,
        .said = wanted->said,
        .reason = mem_strdup(answer->reason),
        .created_at = clock_wall_us(),
    };

    if (wanted->ttl_s)
        grant.expires_at = grant.created_at + wanted->ttl_s * 1000000;
    id_make(grant.id, "grant_");
    (void)snprintf(grant.approval_id, sizeof(grant.approval_id), "%s", answer->approval_id);
    *grants = mem_resize(*grants, *count + 1, sizeof(**grants));
    (*grants)[(*count)++] = grant;
}

static enum err_code add_patterns(const struct wanted_grant *wanted,
                                  const struct grant_answer *answer, const json_t *memory,
                                  const char *scope_id, struct grant_row **grants,
                                  size_t *count, struct err *err)
{
    const json_t *patterns = json_object_get(memory, "patterns");
    size_t i;
    json_t *pattern;

    if (!json_array_size(patterns))
        return refuse(wanted, "the approval request has no patterns.", err);
    json_array_foreach (patterns, i, pattern)
        add(wanted, answer, memory, scope_id, json_string_value(pattern), grants, count);
    return ERR_OK;
}

/* The grant cannot be made: an error only if the answer requests it. */
static enum err_code cannot(const struct wanted_grant *wanted, const char *why, struct err *err)
{
    return wanted->said ? refuse(wanted, why, err) : ERR_OK;
}

enum err_code grants_make(const json_t *said, const char *path,
                          const struct grant_answer *answer, struct grant_row **grants,
                          size_t *count, struct err *err)
{
    json_auto_t *memory = json_parse_own(answer->memory);
    struct wanted_grant wanted = wanted_of(said, path, memory);
    enum err_code rc = grant_remember_check(said, path, err);
    const char *scope_id;
    bool exact;

    if (rc || wants_nothing(said, &wanted))
        return rc;
    if (!memory)
        return cannot(&wanted,
                      "no answer to this approval request is remembered: it is always asked.",
                      err);
    if (answer->forgets)
        return cannot(&wanted, "a response that is not stored remembers no answers.", err);
    scope_id = find_scope(&wanted, memory, answer);
    if (!scope_id)
        return cannot(&wanted, why_no_scope(&wanted), err);
    if (strcmp(wanted.match, "pattern") == 0)
        return add_patterns(&wanted, answer, memory, scope_id, grants, count, err);
    if (!json_object_get(memory, "key"))
        return refuse(&wanted, "a permission can only be remembered by 'pattern'.", err);
    exact = strcmp(wanted.match, "exact") == 0;
    add(&wanted, answer, memory, scope_id, exact ? json_get_string(memory, "key", "") : "",
        grants, count);
    return ERR_OK;
}

bool grant_is_requested(const json_t *said)
{
    return !json_absent(json_object_get(said, "remember")) ||
           !json_absent(json_object_get(said, "persistDecision"));
}

/* ---- Covering other questions ---- */

/* The grant is about this tool, this type of permission and this scope. Scopes of the run and
 * its thread need no comparison, because both belong to the same run. */
static bool is_for(const struct grant_row *grant, const json_t *memory, const char *definition)
{
    const json_t *scopes = json_object_get(memory, "scopes");
    bool own = strcmp(grant->scope, "run") == 0 || strcmp(grant->scope, "thread") == 0;

    return strcmp(grant->match, "pattern") == 0 && strcmp(grant->definition, definition) == 0 &&
           strcmp(grant->tool, json_get_string(memory, "tool", "")) == 0 &&
           strcmp(grant->type, json_get_string(memory, "type", "")) == 0 &&
           (own || strcmp(grant->scope_id, json_get_string(scopes, grant->scope, "")) == 0);
}

/* Must agree with GRANT_COVERS in grant_sql.h, which decides the same for stored grants. */
static bool covers(const char *pattern, const char *text)
{
    size_t length = strlen(pattern);

    if (length && pattern[length - 1] == '*')
        return strncmp(text, pattern, length - 1) == 0;
    return strcmp(text, pattern) == 0;
}

/* At least one grant allows the text, and no grant refuses it. */
static bool is_allowed(const struct grant_row *grants, size_t count, const json_t *memory,
                       const char *definition, const char *text)
{
    bool allowed = false;

    for (size_t i = 0; *text && i < count; i++) {
        if (!is_for(&grants[i], memory, definition) || !covers(grants[i].match_key, text))
            continue;
        if (!grants[i].approve)
            return false;
        allowed = true;
    }
    return allowed;
}

bool grants_cover(const struct grant_row *grants, size_t count, const char *memory,
                  const char *definition)
{
    json_auto_t *object = json_parse_own(memory);
    const json_t *patterns = json_object_get(object, "patterns");
    size_t i;
    json_t *pattern;

    json_array_foreach (patterns, i, pattern) {
        if (!is_allowed(grants, count, object, definition, json_string_value(pattern)))
            return false;
    }
    return definition && json_array_size(patterns);
}
