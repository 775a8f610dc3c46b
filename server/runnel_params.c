#include "server/runnel_params.h"

#include "core/base/json.h"
#include "core/run/chain.h"
#include "core/tool/cut.h"
#include "server/params.h"

/* Tool calls that a request may ask for at most. */
#define CALLS_LIMIT 1000000000

static enum err_code check_truncation(const json_t *runnel, struct err *err)
{
    static const char *const known[] = {"mode", "limit", NULL};
    static const char *const modes[] = {"head_tail", "head", NULL};
    json_t *truncation = NULL;
    const char *mode;
    json_int_t limit;
    enum err_code rc =
        param_object(runnel, "runnel", "truncation", PARAM_OPTIONAL, &truncation, err);

    if (rc || !truncation)
        return rc;
    rc = param_unknown(truncation, "runnel.truncation", known, err);
    if (!rc)
        rc = param_enum(truncation, "runnel.truncation", "mode", PARAM_OPTIONAL, modes, &mode,
                        err);
    if (!rc)
        rc = param_int(truncation, "runnel.truncation", "limit", 1, (json_int_t)CUT_NO_LIMIT,
                       &limit, err);
    return rc;
}

static enum err_code check_rules(const json_t *runnel, struct err *err)
{
    static const char *const known[] = {"language", NULL};
    static const char *const languages[] = {"en", "zh", NULL};
    json_t *rules = NULL;
    const char *language;
    enum err_code rc = param_object(runnel, "runnel", "rules", PARAM_OPTIONAL, &rules, err);

    if (rc || !rules)
        return rc;
    rc = param_unknown(rules, "runnel.rules", known, err);
    return rc ? rc
              : param_enum(rules, "runnel.rules", "language", PARAM_OPTIONAL, languages,
                           &language, err);
}

static enum err_code check_rounds(const json_t *runnel, struct err *err)
{
    static const char *const known[] = {"max", "max_calls", NULL};
    json_t *rounds = NULL;
    json_int_t number;
    enum err_code rc = param_object(runnel, "runnel", "rounds", PARAM_OPTIONAL, &rounds, err);

    if (rc || !rounds)
        return rc;
    rc = param_unknown(rounds, "runnel.rounds", known, err);
    if (!rc)
        rc = param_int(rounds, "runnel.rounds", "max", 1, CHAIN_ROUNDS_LIMIT, &number, err);
    return rc ? rc
              : param_int(rounds, "runnel.rounds", "max_calls", 0, CALLS_LIMIT, &number, err);
}

enum err_code runnel_params_check(const json_t *body, struct err *err)
{
    static const char *const known[] = {"context", "rounds", "rules", "truncation", NULL};
    json_t *runnel = NULL, *context = NULL;
    enum err_code rc;

    rc = param_object(body, "", "runnel", PARAM_OPTIONAL, &runnel, err);
    if (rc || !runnel)
        return rc;
    rc = param_unknown(runnel, "runnel", known, err);
    if (!rc)
        rc = param_object(runnel, "runnel", "context", PARAM_OPTIONAL, &context, err);
    if (!rc)
        rc = check_rounds(runnel, err);
    if (!rc)
        rc = check_rules(runnel, err);
    return rc ? rc : check_truncation(runnel, err);
}

json_t *runnel_context(const json_t *body)
{
    const json_t *context = json_object_get(json_object_get(body, "runnel"), "context");

    return json_is_object(context) ? json_deep_copy(context) : NULL;
}

json_t *runnel_settings(const json_t *body)
{
    static const char *const kept[] = {"rounds", "rules", "truncation"};
    const json_t *runnel = json_object_get(body, "runnel");
    json_t *settings = json_object();

    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        json_t *value = json_object_get(runnel, kept[i]);

        if (!json_absent(value))
            json_object_set(settings, kept[i], value);
    }
    return settings;
}
