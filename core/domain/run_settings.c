/*
 * run_settings.c -- the only code in core/ that knows the keys of a request.
 *
 *   request ─▶ server/params: checks, defaults ─▶ snapshot ─▶ run_settings_read() ─▶ the run
 *                                                    │
 *                                                    └─▶ runs.config ─▶ run_settings_load() ─▶ after a crash
 *
 * A loaded run must behave like the one that was accepted, so both ways decode the same JSON. What the
 * server adds after acceptance (settings of the project, answers to approvals, a wanted compaction) is
 * written into the snapshot and decoded from there. If it were only put into the struct, a crash would lose
 * it. The keys for that are the server's own, and requests may not have them (run_settings_drop_own()).
 *
 * The snapshot was checked by server/params, so nothing here reports an error. A value of a wrong type in a
 * stored snapshot reads as missing. That cannot happen to a checked one.
 *
 * One static function for each part of the struct, in the order of the struct.
 */

#include "core/domain/run_settings.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"

/* Keys that only this server writes: no request has them. */
#define COMPACT_KEY       "runnel_compact"
#define DECISIONS_KEY     "runnel_approvals"
#define TOOL_SETTINGS_KEY "tool_settings"
#define UNAVAILABLE_KEY   "unavailable_tools"

/* ---- Values ---- */

static const char *const compacts[] = {
    [RUN_COMPACT_UNASKED] = NULL,
    [RUN_COMPACT_ITEM] = "item",
    [RUN_COMPACT_WINDOW] = "window",
};

static const char *const histories[] = {
    [RUN_HISTORY_NATIVE] = "native",
    [RUN_HISTORY_COMPACT] = "compact",
};

static const char *const citings[] = {
    [RUN_CITING_NONE] = "none",
    [RUN_CITING_MARKS] = "marks",
    [RUN_CITING_OVERLAP] = "overlap",
};

static const char *const channels[] = {
    [APPROVAL_SUSPEND] = "suspend",
    [APPROVAL_HOLD] = "hold",
    [APPROVAL_WEBHOOK] = "webhook",
    [APPROVAL_DENY] = "deny",
};

static const char *const languages[] = {
    [LANGUAGE_ENGLISH] = "en",
    [LANGUAGE_CHINESE] = "zh",
};

/* clang-format off */
static const struct {
    const char *value;
    enum run_include flag;
} includes[] = {
    {"reasoning.encrypted_content",   RUN_INCLUDE_REASONING},
    {"message.output_text.logprobs",  RUN_INCLUDE_LOGPROBS},
    {"file_search_call.results",      RUN_INCLUDE_SEARCH_RESULTS},
    {"code_interpreter_call.outputs", RUN_INCLUDE_CODE_OUTPUTS},
    {"web_search_call.action.sources", RUN_INCLUDE_WEB_SOURCES},
    {"web_search_call.results",       RUN_INCLUDE_WEB_RESULTS},
    {"step_details.tool_calls[*].file_search.results[*].content", RUN_INCLUDE_SEARCH_CONTENT},
};
/* clang-format on */

/* The index of object[key] in the names; `fallback` for any other value. */
static unsigned place_of(const json_t *object, const char *key, const char *const *names,
                         unsigned count, unsigned fallback)
{
    const char *value = json_get_string(object, key, NULL);

    for (unsigned i = 0; value && i < count; i++) {
        if (names[i] && strcmp(names[i], value) == 0)
            return i;
    }
    return fallback;
}

#define PLACE_OF(object, key, names, fallback) \
    place_of(object, key, names, COUNT_OF(names), fallback)

/* JSON Schema takes 5.0 for an integer, and some clients write it. */
static int64_t limit_of(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_real(value))
        return (int64_t)json_real_value(value);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* A number that is only passed on keeps its form: 1 stays 1, and 1.0 stays 1.0. */
static json_t *as_written(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_absent(value) ? NULL : value;
}

/* ---- Loading ---- */

static void read_model(struct run_settings *settings, const json_t *request)
{
    const json_t *reasoning = json_object_get(request, "reasoning");
    const json_t *text = json_object_get(request, "text");
    const json_t *instructions = json_object_get(request, "instructions");

    settings->model = json_get_string(request, "model", "");
    settings->instructions = json_get_string(request, "instructions", "");
    settings->template_messages = json_is_array(instructions) ? instructions : NULL;
    settings->temperature = as_written(request, "temperature");
    settings->top_p = as_written(request, "top_p");
    settings->top_logprobs = limit_of(request, "top_logprobs", 0);
    settings->reasoning_effort = json_get_string(
        reasoning, "effort", json_get_string(request, "reasoning_effort", NULL));
    settings->reasoning_summary = json_get_string(reasoning, "summary", NULL);
    settings->verbosity = json_get_string(text, "verbosity", NULL);
    settings->format = json_object_get(text, "format");
    if (!settings->format)
        settings->format = json_object_get(request, "response_format");
    settings->user = json_get_string(request, "user", NULL);
    settings->safety_identifier = json_get_string(request, "safety_identifier", NULL);
    settings->prompt_cache_key = json_get_string(request, "prompt_cache_key", NULL);
    settings->service_tier = json_get_string(request, "service_tier", NULL);
}

unsigned run_include_parse(const char *value)
{
    for (size_t i = 0; i < COUNT_OF(includes); i++) {
        if (strcmp(value, includes[i].value) == 0)
            return includes[i].flag;
    }
    return 0;
}

static void read_includes(struct run_settings *settings, const json_t *request)
{
    size_t i;
    json_t *value;

    json_array_foreach (json_object_get(request, "include"), i, value)
        settings->includes |= run_include_parse(json_string_value(value));
}

static void read_tools(struct run_settings *settings, const json_t *request,
                       const json_t *runnel)
{
    json_t *tools = json_object_get(request, "tools");

    settings->tools = json_is_array(tools) ? tools : NULL;
    settings->tool_choice = json_object_get(request, "tool_choice");
    settings->tool_groups = json_object_get(runnel, "tool_groups");
    settings->tool_resources = json_object_get(request, "tool_resources");
    settings->awaited_store = json_get_string(request, "awaited_store", NULL);
    settings->expired_store = json_get_string(request, "expired_store", NULL);
    settings->skills = json_object_get(runnel, "skills");
    settings->scripts = json_object_get(request, RUN_SCRIPTS_KEY);
    settings->one_call = !json_get_bool(request, "parallel_tool_calls", true);
}

static void read_tool_settings(struct run_settings *settings, const json_t *request)
{
    const json_t *others = json_object_get(request, TOOL_SETTINGS_KEY);

    settings->project_tool_groups = json_object_get(others, "tool_groups");
    permission_set_clear(&settings->project_permissions);
    permission_set_read(&settings->project_permissions, json_object_get(others, "permissions"));
}

/* Calls have two limits, OpenAI's max_tool_calls and the server's own; the lower one counts. */
static void read_limits(struct run_settings *settings, const json_t *request,
                        const json_t *runnel)
{
    const json_t *rounds = json_object_get(runnel, "rounds");
    int64_t max_calls = limit_of(rounds, "max_calls", RUN_NO_LIMIT);

    settings->max_prompt_tokens = limit_of(request, "max_prompt_tokens", RUN_NO_LIMIT);
    settings->max_completion_tokens = limit_of(
        request, "max_output_tokens", limit_of(request, "max_completion_tokens", RUN_NO_LIMIT));
    settings->max_rounds = (unsigned)limit_of(rounds, "max", 0);
    settings->max_calls = limit_of(request, "max_tool_calls", RUN_NO_LIMIT);
    if (max_calls < settings->max_calls)
        settings->max_calls = max_calls;
}

static void read_history(struct run_settings *settings, const json_t *request,
                         const json_t *runnel)
{
    const json_t *management = json_object_get(request, "context_management");
    const json_t *strategy = json_object_get(request, "truncation_strategy");
    const json_t *cache = json_object_get(runnel, "message_cache");

    settings->truncates = strcmp(json_get_string(request, "truncation", ""), "auto") == 0;
    settings->last_messages = (int)limit_of(strategy, "last_messages", 0);
    settings->compacts = json_array_size(management) > 0;
    settings->compact_threshold =
        limit_of(json_array_get(management, 0), "compact_threshold", 0);
    settings->compact = (enum run_compact)PLACE_OF(
        request, COMPACT_KEY, compacts,
        json_object_get(request, COMPACT_KEY) ? RUN_COMPACT_ITEM : RUN_COMPACT_UNASKED);
    settings->history =
        (enum run_history)PLACE_OF(runnel, "history", histories, RUN_HISTORY_UNSET);
    settings->citing =
        (enum run_citing)PLACE_OF(runnel, "citations", citings, RUN_CITING_UNSET);
    settings->message_limit = (size_t)limit_of(cache, "max_chars", 0);
}

static void read_results(struct run_settings *settings, const json_t *runnel)
{
    const json_t *truncation = json_object_get(runnel, "truncation");
    int64_t limit = limit_of(truncation, "limit", 0);

    settings->result_limit = limit > 0 ? (size_t)limit : 0;
    settings->result_head_only = strcmp(json_get_string(truncation, "mode", ""), "head") == 0;
    settings->language = (enum language)PLACE_OF(json_object_get(runnel, "rules"), "language",
                                                 languages, LANGUAGE_ENGLISH);
}

static struct run_decision read_decision(const json_t *decision)
{
    return (struct run_decision){
        .id = json_get_string(decision, "id", ""),
        .call_id = json_get_string(decision, "call_id", ""),
        .name = json_get_string(decision, "name", ""),
        .label = json_get_string(decision, "label", ""),
        .arguments = json_get_string(decision, "arguments", "{}"),
        .kind = json_get_string(decision, "kind", ""),
        .definition = json_get_string(decision, "definition", NULL),
        .reason = json_get_string(decision, "reason", NULL),
        .extra = json_object_get(decision, "extra"),
        .approve = json_get_bool(decision, "approve", false),
        .lost = json_get_bool(decision, "lost", false),
    };
}

static void read_decisions(struct run_settings *settings, const json_t *request)
{
    const json_t *list = json_object_get(request, DECISIONS_KEY);
    size_t i;
    json_t *decision;

    settings->decisions = mem_resize(settings->decisions, json_array_size(list) + 1,
                                     sizeof(*settings->decisions));
    settings->decision_count = json_array_size(list);
    json_array_foreach (list, i, decision)
        settings->decisions[i] = read_decision(decision);
}

static void read_approvals(struct run_settings *settings, const json_t *request,
                           const json_t *runnel)
{
    const json_t *approval = json_object_get(runnel, "approval");

    settings->approval.channel =
        (enum approval_channel)PLACE_OF(approval, "channel", channels, APPROVAL_SUSPEND);
    settings->approval.hold_seconds = limit_of(approval, "hold_timeout_s", RUN_HOLD_SECONDS);
    settings->approval.remember = json_get_string(approval, "remember_default", "thread");
    settings->approval.rejects_pending =
        strcmp(json_get_string(approval, "pending", ""), "reject") == 0;
    permission_set_read(&settings->permissions, json_object_get(runnel, "permissions"));
    read_decisions(settings, request);
}

void run_settings_read(struct run_settings *ret_settings, json_t *snapshot)
{
    const json_t *runnel = json_object_get(snapshot, "runnel");
    struct run_settings settings = {.snapshot = snapshot};

    read_model(&settings, snapshot);
    read_includes(&settings, snapshot);
    read_tools(&settings, snapshot, runnel);
    read_tool_settings(&settings, snapshot);
    read_limits(&settings, snapshot, runnel);
    read_history(&settings, snapshot, runnel);
    read_results(&settings, runnel);
    read_approvals(&settings, snapshot, runnel);
    *ret_settings = settings;
}

void run_settings_load(struct run_settings *ret_settings, const char *text)
{
    run_settings_read(ret_settings, text ? json_parse_own(text) : json_object());
}

void run_settings_clear(struct run_settings *settings)
{
    permission_set_clear(&settings->permissions);
    permission_set_clear(&settings->project_permissions);
    free(settings->decisions);
    json_decref(settings->container_files);
    json_decref(settings->container_skills);
    json_decref(settings->snapshot);
    *settings = (struct run_settings){0};
}

const char *run_settings_user(const struct run_settings *settings)
{
    if (settings->user && *settings->user)
        return settings->user;
    return settings->safety_identifier ? settings->safety_identifier : "";
}

bool run_settings_want_logprobs(const struct run_settings *settings)
{
    return settings->includes & RUN_INCLUDE_LOGPROBS || settings->top_logprobs > 0;
}

/* ---- Storing ---- */

char *run_settings_store(const struct run_settings *settings)
{
    return json_text(settings->snapshot);
}

void run_settings_drop_own(json_t *request)
{
    static const char *const own[] = {COMPACT_KEY, DECISIONS_KEY, TOOL_SETTINGS_KEY,
                                      UNAVAILABLE_KEY};

    for (size_t i = 0; i < COUNT_OF(own); i++)
        json_object_del(request, own[i]);
}

void run_settings_set_compact(struct run_settings *settings, enum run_compact compact)
{
    settings->compact = compact;
    if (compact)
        json_set_string(settings->snapshot, COMPACT_KEY, compacts[compact]);
}

void run_settings_set_transformations(struct run_settings *settings, json_t *list)
{
    json_object_set(settings->snapshot, "input_transformations", list);
}

void run_settings_set_tools(struct run_settings *settings, json_t *tool_settings)
{
    if (!tool_settings)
        return;
    json_set(settings->snapshot, TOOL_SETTINGS_KEY, tool_settings);
    read_tool_settings(settings, settings->snapshot);
}

void run_settings_set_tool_list(struct run_settings *settings, json_t *tools)
{
    json_object_set(settings->snapshot, "tools", tools);
    settings->tools = tools;
}

void run_settings_set_unavailable(struct run_settings *settings, json_t *left_out)
{
    json_set(settings->snapshot, UNAVAILABLE_KEY, left_out);
}

json_t *run_settings_unavailable(const json_t *snapshot)
{
    return json_object_get(snapshot, UNAVAILABLE_KEY);
}

static json_t *decision_object(const struct run_decision *decision)
{
    json_t *object =
        json_build("{s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:s}", "id", decision->id, "call_id",
                   decision->call_id, "name", decision->name, "label", decision->label,
                   "arguments", decision->arguments, "approve", (int)decision->approve, "lost",
                   (int)decision->lost, "kind", decision->kind);

    json_set_string(object, "definition", decision->definition);
    if (decision->extra)
        json_set(object, "extra", json_deep_copy(decision->extra));
    json_set_string(object, "reason", decision->reason);
    return object;
}

void run_settings_decide(struct run_settings *settings, const struct run_decision *decisions,
                         size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, decision_object(&decisions[i]));
    json_set(settings->snapshot, DECISIONS_KEY, list);
    read_decisions(settings, settings->snapshot);
}
