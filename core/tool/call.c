#include "core/tool/call_internal.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/regex.h"
#include "core/memory/message_cache.h"
#include "core/memory/skill.h"
#include "core/memory/variable_memory.h"
#include "core/tool/channel_internal.h"

/*
 * call.c -- the life of one call on its worker, and the functions of tool.h that a handler may use.
 *
 *   loop      tool_call_new(): copies everything out of the run
 *   worker    tool_call_execute(): plan() or run(), then one END into the channel
 *   worker    tool_call_free()
 *
 * The run and the call share nothing but the channel. A run may be cancelled, expire or leave this node
 * while its handler is at work, and a handler that does not return must not keep a run in memory. So all
 * strings and trees are copies, and the channel is counted.
 *
 * Each call ends in exactly one END. There are two sides that may put it: this file when the handler
 * returns, and the executor's timekeeper when the time is over. Neither asks whether the other was first.
 * The channel accepts one END and refuses the rest, so both sides ignore the refusal.
 *
 * A handler learns that it should stop from every function that it calls: they return ERR_CANCELLED when
 * the deadline has passed, the call has its END, or the channel is closed. Interrupting a thread in
 * foreign code (pthread_cancel) would leak its memory and locks.
 *
 * After a crash nothing of this is left. The run's next owner sees a call without an output in the store,
 * and runs it again only if its handler is TOOL_IDEMPOTENT.
 */

/* A copy, because a tree belongs to one thread. The reference counts of jansson are atomic, but they order
 * nothing: the thread that drops the last reference may free memory that another thread still reads. */
static json_t *copy(const json_t *value, const char *fallback)
{
    return value ? json_deep_copy(value) : json_build(fallback);
}

struct tool_call *tool_call_new(const struct tool_call_spec *spec)
{
    struct tool_call *call = mem_new(struct tool_call);

    call->handler = spec->handler;
    call->channel = tool_channel_hold(spec->channel);
    call->position = spec->position;
    call->deadline_ns = UINT64_MAX;
    call->id = mem_strdup(spec->call_id ? spec->call_id : "");
    call->run = mem_strdup(spec->run ? spec->run : "");
    call->thread = mem_strdup(spec->thread ? spec->thread : "");
    if (spec->tenant)
        call->tenant = *spec->tenant;
    call->queued = (struct fair_job){.tenant = &call->tenant, .run = call->run};
    call->seat.use =
        (spec->handler->flags & (TOOL_NEEDS_PYTHON | TOOL_OWN_BOX)) == TOOL_NEEDS_PYTHON
            ? SEAT_PYTHON
            : SEAT_COMMAND;
    call->user = mem_strdup(spec->tenant ? spec->tenant->user : "");
    call->tenant.user = call->user;
    call->scope = mem_strdup(spec->variables.scope ? spec->variables.scope : "");
    call->variables = spec->variables;
    call->variables.scope = call->scope;
    call->variables.memory = variable_memory_hold(spec->variables.memory);
    call->variables.messages = message_cache_hold(spec->variables.messages);
    call->searches = regex_budget_hold(spec->searches);
    call->resolved = spec->resolved;
    call->search = spec->search;
    call->finder = spec->finder;
    call->desk = spec->desk;
    call->web = spec->web;
    call->passage_tokens = spec->passage_tokens;
    call->containers = spec->containers;
    call->past_container = mem_strdup(spec->past_container ? spec->past_container : "");
    call->wanted_container = copy(spec->wanted_container, "n");
    call->keeps_files = spec->keeps_files;
    call->stored = spec->stored;
    call->painter = spec->painter;
    call->pictures = copy(spec->pictures, "[]");
    call->drawn = spec->drawn;
    call->planning = spec->planning;
    call->args = copy(spec->args, "{}");
    call->config = copy(spec->config, "{}");
    call->files = copy(spec->files, "[]");
    call->context = copy(spec->context, "{}");
    call->skills = copy(spec->skills, "[]");
    return call;
}

void tool_call_free(struct tool_call *call)
{
    if (!call)
        return;
    tool_call_close_container(call, false);
    free(call->past_container);
    json_decref(call->wanted_container);
    json_decref(call->pictures);
    json_decref(call->permission);
    json_decref(call->preview);
    json_decref(call->args);
    json_decref(call->config);
    json_decref(call->files);
    json_decref(call->context);
    json_decref(call->skills);
    free(call->id);
    free(call->run);
    free(call->thread);
    free(call->user);
    free(call->scope);
    variable_memory_release(call->variables.memory);
    message_cache_release(call->variables.messages);
    regex_budget_release(call->searches);
    tool_channel_release(call->channel);
    free(call);
}

json_t *tool_call_args(const struct tool_call *call)
{
    return call->args;
}

const char *tool_call_id(const struct tool_call *call)
{
    return call->id;
}

const struct tenant *tool_call_tenant(const struct tool_call *call)
{
    return &call->tenant;
}

const char *tool_call_run(const struct tool_call *call)
{
    return call->run;
}

const char *tool_call_thread(const struct tool_call *call)
{
    return call->thread;
}

unsigned tool_call_search(const struct tool_call *call)
{
    return call->search;
}

json_t *tool_call_config(const struct tool_call *call)
{
    return call->config;
}

json_t *tool_call_files(const struct tool_call *call)
{
    return call->files;
}

json_t *tool_call_context(const struct tool_call *call)
{
    return call->context;
}

enum err_code tool_call_variables(const struct tool_call *call,
                                  struct variable_access *ret_access, struct err *err)
{
    if (!*call->scope && !call->variables.memory)
        return err_set(err, ERR_INVALID, "There are no variables here.");
    *ret_access = call->variables;
    return ERR_OK;
}

enum err_code tool_call_read_variable(const struct tool_call *call,
                                      const struct variable_access *access, const char *name,
                                      struct variable *ret_variable, struct err *err)
{
    if (variable_is_message(name))
        return message_cache_get(access->messages, name, ret_variable, err);
    return access->ops->get(access, &call->tenant, name, VARIABLE_READ, ret_variable, err);
}

enum err_code tool_call_find(const struct tool_call *call, const json_t *query,
                             json_t **ret_found, struct err *err)
{
    if (!call->finder)
        return err_set(err, ERR_INVALID, "There are no files to search on this server.");
    return call->finder->find(call->finder->arg, call, &call->tenant, query, ret_found, err);
}

enum err_code tool_call_search_web(struct tool_call *call, const json_t *query,
                                   json_t **ret_found, struct err *err)
{
    if (!call->web || !call->web->search)
        return err_set(err, ERR_INVALID, "This server does not search the web.");
    return call->web->search(call->web->arg, call, query, ret_found, err);
}

enum err_code tool_call_page(const struct tool_call *call, const json_t *query,
                             json_t **ret_page, struct err *err)
{
    if (!call->web || !call->web->page)
        return err_set(err, ERR_INVALID, "This server fetches no pages.");
    return call->web->page(call->web->arg, call, query, ret_page, err);
}

char *tool_call_web_result(const struct tool_call *call, size_t number)
{
    if (!call->web || !call->web->result)
        return NULL;
    return call->web->result(call->web->arg, call, number);
}

static enum err_code no_files(struct err *err)
{
    return err_set(err, ERR_INVALID, "There are no files on this server.");
}

enum err_code tool_call_list_files(const struct tool_call *call, const json_t *query,
                                   json_t **ret_page, struct err *err)
{
    if (!call->desk)
        return no_files(err);
    return call->desk->list(call->desk->arg, &call->tenant, query, ret_page, err);
}

enum err_code tool_call_read_file(const struct tool_call *call, const char *id,
                                  size_t first_page, tool_take_fn *take, void *take_arg,
                                  struct tool_file *ret_file, struct err *err)
{
    const struct tool_desk *desk = call->desk;

    return desk ? desk->read(desk->arg, &call->tenant, id, first_page, take, take_arg, ret_file,
                             err)
                : no_files(err);
}

enum err_code tool_call_load_text(const struct tool_call *call, const char *id, size_t limit,
                                  struct tool_text *ret_text, struct err *err)
{
    const struct tool_desk *desk = call->desk;

    return desk ? desk->load(desk->arg, &call->tenant, id, limit, ret_text, err)
                : no_files(err);
}

enum err_code tool_call_change_text(const struct tool_call *call, const struct tool_text *read,
                                    const char *bytes, size_t length, struct err *err)
{
    const struct tool_desk *desk = call->desk;

    return desk ? desk->change(desk->arg, &call->tenant, read, bytes, length, err)
                : no_files(err);
}

enum err_code tool_call_make_text(const struct tool_call *call, const char *name,
                                  const char *vector_store_id, const char *bytes, size_t length,
                                  struct tool_file *ret_file, struct err *err)
{
    const struct tool_desk *desk = call->desk;

    return desk ? desk->make(desk->arg, &call->tenant, name, vector_store_id, bytes, length,
                             ret_file, err)
                : no_files(err);
}

void tool_text_clear(struct tool_text *text)
{
    free(text->id);
    free(text->name);
    free(text->version);
    free(text->bytes);
    *text = (struct tool_text){.length = 0};
}

void tool_file_clear(struct tool_file *file)
{
    free(file->id);
    free(file->name);
    *file = (struct tool_file){.bytes = 0};
}

size_t tool_call_passage_tokens(const struct tool_call *call)
{
    return call->passage_tokens;
}

const json_t *tool_call_skills(const struct tool_call *call)
{
    return call->skills;
}

enum err_code tool_call_read_skill(const struct tool_call *call, const json_t *skill,
                                   const char *file, char **ret_text, struct err *err)
{
    json_auto_t *files = NULL;
    AUTO_FREE char *prompt = NULL;
    enum err_code rc = call->variables.ops->skill(
        &call->variables, &call->tenant, skill_version_of(skill), &prompt, &files, err);

    if (rc)
        return rc;
    if (file)
        return skill_file_text(skill, files, file, ret_text, err);
    *ret_text = skill_text(skill, prompt, files);
    return ERR_OK;
}

struct regex_budget *tool_call_searches(const struct tool_call *call)
{
    return call->searches;
}

bool tool_call_is_resolved(const struct tool_call *call)
{
    return call->resolved;
}

uint64_t tool_call_due(const struct tool_call *call, bool *ret_waits)
{
    uint64_t waited = tool_channel_waited(call->channel, call->position, ret_waits);

    return call->deadline_ns < UINT64_MAX - waited ? call->deadline_ns + waited : UINT64_MAX;
}

static bool past_deadline(const struct tool_call *call)
{
    uint64_t now = clock_mono_ns();
    bool waits;

    return now >= call->deadline_ns && now >= tool_call_due(call, &waits);
}

bool tool_call_cancelled(const struct tool_call *call)
{
    return past_deadline(call) || tool_channel_call_over(call->channel, call->position);
}

int tool_call_cancel_fd(const struct tool_call *call)
{
    return tool_channel_over_fd(call->channel, call->position);
}

enum err_code tool_call_wait(struct tool_call *call, uint64_t ns)
{
    uint64_t now = clock_mono_ns();
    uint64_t until = ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
    bool waits;
    uint64_t due = tool_call_due(call, &waits);

    if (until > due)
        until = due;
    if (tool_channel_wait_over(call->channel, call->position, until) || past_deadline(call))
        return ERR_CANCELLED;
    return ERR_OK;
}

static enum err_code emit(struct tool_call *call, struct tool_output output)
{
    if (past_deadline(call)) {
        tool_output_clear(&output);
        return ERR_CANCELLED;
    }
    return tool_channel_put(call->channel, call->position, &output);
}

enum err_code tool_call_emit_text(struct tool_call *call, const char *text, size_t length)
{
    char *clean = json_clean_utf8(text, length);

    return emit(call, (struct tool_output){
                          .kind = TOOL_OUTPUT_TEXT, .text = clean, .length = strlen(clean)});
}

enum err_code tool_call_emit_stage(struct tool_call *call, const char *stage, json_t *fields)
{
    return emit(call, (struct tool_output){.kind = TOOL_OUTPUT_STAGE,
                                           .name = mem_strdup(stage),
                                           .fields = fields});
}

enum err_code tool_call_open(struct tool_call *call, json_t *fields)
{
    return tool_call_emit_stage(call, TOOL_STAGE_OPENING, fields);
}

enum err_code tool_call_emit_delta(struct tool_call *call, const char *field, const char *text,
                                   size_t length)
{
    char *clean = json_clean_utf8(text, length);

    return emit(call, (struct tool_output){.kind = TOOL_OUTPUT_DELTA,
                                           .name = mem_strdup(field),
                                           .text = clean,
                                           .length = strlen(clean)});
}

void tool_call_metadata(struct tool_call *call, const char *title, json_t *metadata)
{
    char *clean = title ? json_clean_utf8(title, strlen(title)) : NULL;

    /* Checked here, before the channel merges it with earlier values of the same call. */
    if (metadata && json_dumpb(metadata, NULL, 0, JSON_COMPACT) > TOOL_METADATA_LIMIT) {
        json_decref(metadata);
        metadata = NULL;
    }

    /* The call may be over. The handler learns that from the next function that can wait. */
    (void)!emit(call, (struct tool_output){.kind = TOOL_OUTPUT_METADATA,
                                           .text = clean,
                                           .length = clean ? strlen(clean) : 0,
                                           .fields = metadata});
}

void tool_call_end_with(struct tool_channel *channel, unsigned position,
                        const struct err *error)
{
    struct tool_output end = {.kind = TOOL_OUTPUT_END, .rc = error->code, .error = *error};

    /* Refused when the call has its END, or the channel is closed: both are fine. */
    (void)!tool_channel_put(channel, position, &end);
}

void tool_call_timeout_error(const struct tool_handler *handler, struct err *ret_error)
{
    err_set(ret_error, ERR_TIMEOUT, "%s took too long and was stopped", handler->name);
}

/* Runs the handler. Tests inject failures before it, instead of it and after it. */
static enum err_code run_handler(struct tool_call *call, struct tool_result *ret_result,
                                 struct err *err)
{
    enum err_code rc;

    if (FAULT("tool.before_run"))
        return err_set(err, ERR_INTERNAL, "%s was not started", call->handler->name);
    if (FAULT("tool.run"))
        return err_set(err, ERR_INTERNAL, "%s broke down", call->handler->name);
    rc = call->handler->run(call, ret_result, err);
    tool_call_list_places(call, ret_result);
    if (FAULT("tool.after_run"))
        return err_set(err, ERR_INTERNAL, "the result of %s was lost", call->handler->name);
    return rc;
}

/* Every failure has a text. A handler that stopped because of its deadline reports a timeout, whatever it
 * returned. */
static void complete_error(const struct tool_call *call, enum err_code rc, struct err *error)
{
    bool gave_up = rc == ERR_CANCELLED || rc == ERR_TIMEOUT;

    if (gave_up && past_deadline(call))
        tool_call_timeout_error(call->handler, error);
    else if (!error->text[0] && rc == ERR_CANCELLED)
        err_set(error, rc, "%s was cancelled", call->handler->name);
    else if (!error->text[0])
        err_set(error, rc, "%s failed and did not say why", call->handler->name);
    else
        error->code = rc;
}

/* Patterns as JSON, or NULL when there are too many or one is too long. New reference. */
static json_t *patterns_of(const struct tool_permission *permission)
{
    json_t *patterns = json_array();

    for (size_t i = 0; permission->patterns && permission->patterns[i]; i++) {
        if (i == TOOL_PATTERNS_LIMIT || strlen(permission->patterns[i]) > TOOL_PATTERN_LIMIT) {
            json_decref(patterns);
            return NULL;
        }
        json_array_append_new(patterns, json_string_nocheck(permission->patterns[i]));
    }
    return patterns;
}

static bool fits(const json_t *metadata)
{
    return metadata && json_dumpb(metadata, NULL, 0, JSON_COMPACT) <= TOOL_METADATA_LIMIT;
}

/* A copy, because it goes to another thread and may be part of the arguments. Metadata beyond the limit is
 * left out, as in tool_call_metadata(). */
static json_t *metadata_of(const struct tool_permission *permission)
{
    json_t *metadata =
        fits(permission->metadata) ? json_deep_copy(permission->metadata) : json_object();

    json_decref(permission->metadata);
    return metadata;
}

enum err_code tool_call_ask(struct tool_call *call, const struct tool_permission *permission,
                            struct err *err)
{
    json_t *metadata = metadata_of(permission);
    json_t *patterns = patterns_of(permission);

    if (!patterns) {
        json_decref(metadata);
        return err_set(err, ERR_LIMIT, "%s would need too many permissions at once",
                       call->handler->name);
    }
    json_decref(call->permission);
    call->permission =
        json_build("{s:s, s:o, s:s, s:o}", "type", permission->type, "patterns", patterns,
                   "title", permission->title ? permission->title : "", "metadata", metadata);
    return ERR_OK;
}

void tool_call_preview(struct tool_call *call, json_t *preview)
{
    json_decref(call->preview);
    call->preview = fits(preview) ? json_deep_copy(preview) : NULL;
    json_decref(preview);
}

/* What plan() has asked for and what it shows go to the loop as a stage, because an END has room for a result only. */
static enum err_code run_plan(struct tool_call *call, struct err *err)
{
    enum err_code rc = call->handler->plan(call, err);

    if (rc || (!call->permission && !call->preview))
        return rc;
    return tool_call_emit_stage(call, "planned",
                                json_build("{s:o*, s:o*}", "permission", TAKE(call->permission),
                                           "preview", TAKE(call->preview)));
}

/* Maps the status that tool_result_end() set to the error of the END. Without one it is a success. */
static void take_status(const struct tool_call *call, struct tool_output *end)
{
    static const struct {
        enum err_code rc;
        const char *before,
            *after; /* around the tool's name, when the handler gave no reason */
    } ends[] = {
        [TOOL_SUCCESS] = {ERR_OK, "", ""},
        [TOOL_ERROR] = {ERR_UPSTREAM, "", " failed and did not say why"},
        [TOOL_REJECTED] = {ERR_FORBIDDEN, "", " refused and did not say why"},
        [TOOL_CANCELLED] = {ERR_CANCELLED, "", " was cancelled"},
        [TOOL_NOT_FOUND] = {ERR_NOT_FOUND, "Tool ", " not found"},
    };
    enum tool_status status = end->result.status;

    end->rc = ends[status].rc;
    if (end->rc && end->result.why)
        err_set(&end->error, end->rc, "%s", end->result.why);
    else if (end->rc)
        err_set(&end->error, end->rc, "%s%s%s", ends[status].before, call->handler->name,
                ends[status].after);
}

void tool_call_execute(struct tool_call *call)
{
    struct tool_output end = {.kind = TOOL_OUTPUT_END};

    /* The run may have ended while the call waited for a worker: then nothing starts. */
    if (tool_channel_call_over(call->channel, call->position))
        return;
    end.rc = call->planning ? run_plan(call, &end.error)
                            : run_handler(call, &end.result, &end.error);
    if (end.rc) {
        tool_result_clear(&end.result);
        complete_error(call, end.rc, &end.error);
        end.rc = end.error.code;
    } else {
        /* Here and not on the loop: a large tree takes long to print. */
        tool_result_format(&end.result, call->handler, call->args);
        take_status(call, &end);
    }
    /* Refused when the timekeeper was faster, or the channel is closed: both are fine. */
    (void)!tool_channel_put(call->channel, call->position, &end);
}
