/*
 * run_programs.c -- programs, step by step.
 *
 * A step runs a program from its beginning, and gives it the outputs of the calls that it has made before
 * (core/domain/program.h). It ends at calls that are not made yet, or at the end of the program. So a program has no
 * state here but its calls, which are items and rows like all others. After a crash, and in the next response, they
 * are where any call is, and the next step comes from them.
 *
 * All calls of a step end before the next step. The other way, to go on as soon as one output is there, would let the
 * order in which tools happen to end decide what a program does. Repeated, it could then do another thing.
 *
 * A call of a program is known by its id, which follows from the program's fingerprint and its number
 * (core/run/context/fingerprint.h). So nothing depends on the order of items, or on what a client keeps of them.
 *
 * The arguments of a program are not searched for references to variables: it would be another program when they
 * change. Those of its calls are.
 */

#include "core/run/calls/run_programs.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/domain/program.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_calls.h"
#include "core/run/catalog/programmatic.h"
#include "core/run/context/fingerprint.h"
#include "core/run/context/past_programs.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

struct program {
    struct fingerprint print;
    char *code;
    json_t *calls; /* that the last step was given: the next are behind them; NULL: no step */
    size_t output_bytes;
    size_t bytes; /* of `calls`: outputs and arguments */
    size_t given; /* bytes, to all steps of this residency */
    bool stepping;
    unsigned job;
    json_t *step; /* what its last step has brought; NULL: taken */
};

void program_free(struct program *program)
{
    if (!program)
        return;
    free(program->code);
    json_decref(program->calls);
    json_decref(program->step);
    free(program);
}

static struct program *program_new(const char *code)
{
    struct program *program = mem_new(struct program);

    program->code = mem_strdup(code);
    return program;
}

/* Calls that its last step was given. */
static unsigned known_of(const struct program *program)
{
    return (unsigned)json_array_size(program->calls);
}

static const struct seal *seal_of(const struct run *run)
{
    return engine_options(run->engine)->seal;
}

/* ---- Its items ---- */

static void show_program(struct run *run, struct call *call)
{
    const struct program *program = call->program;
    AUTO_FREE char *sealed =
        fingerprint_seal(seal_of(run), &run->tenant, &program->print, program->code);
    struct item *item;

    run_close_item(run, ITEM_COMPLETED);
    item = run_new_call_item(run, call, item_type_parse(call->use->handler->item->type));
    json_decref(item->fields);
    item->fields =
        json_build("{s:s, s:s, s:s}", "call_id", call->id, "code", "", "fingerprint", sealed);
    run_open_item(run, item);
    json_set_string(item->fields, "code", program->code);
    run_close_item(run, ITEM_COMPLETED);
    call->item = NULL; /* the next item of the call is its output */
    call->shown = true;
}

/* Its output: the parts of a result, or why it has none. */
static void end_program(struct run *run, struct call *call, const json_t *parts,
                        const char *why)
{
    struct tool_output end = {.kind = TOOL_OUTPUT_END};

    if (!why && tool_result_parse(parts, &end.result, &end.error))
        why = "The program has ended without a result.";
    if (why) {
        end.rc = ERR_INVALID;
        tool_result_add_text(&end.result, why);
    }
    run_take_end(run, call, &end);
    tool_output_clear(&end);
}

/* ---- The calls of a program ---- */

static struct call *find_call(const struct run *run, const char *id)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (strcmp(run->calls.list[i].id, id) == 0)
            return &run->calls.list[i];
    }
    return NULL;
}

/* A result that a person has not approved yet is no output. */
static bool has_output(const struct call *call)
{
    return call_status_is_final(call->status) && !call->withheld;
}

/* All calls that it has made have ended: it can go on. */
static bool can_step(const struct run *run, const struct call *call)
{
    if (!call->use || !(call->use->handler->flags & TOOL_PROGRAM) ||
        call_status_is_final(call->status))
        return false;
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *made = &run->calls.list[i];

        if (strcmp(made->caller, call->id) == 0 && !has_output(made))
            return false;
    }
    return true;
}

static bool has_no_result(const struct call *call)
{
    return call->status != CALL_SUCCEEDED || call_result_is_rejected(call) || call->why;
}

/* A call of this residency, as the program knows it. New reference. */
static json_t *ended_call(const struct call *call)
{
    return json_build("{s:s, s:s, s:s, s:b}", "name", call->name, "arguments",
                      call->arguments.length ? call->arguments.data : "{}", "output",
                      call->text, "failed", has_no_result(call));
}

/* Items show a tool of a server by its own name. Programs know it by that of the model. */
static void rename_call(const struct run *run, json_t *call)
{
    const char *label = json_get_string(call, "label", "");
    const struct tool_use *use =
        tool_set_find_labelled(&run->tools, label, json_get_string(call, "name", ""));

    if (use && *label)
        json_set_string(call, "name", use->name);
}

/* A call that it has made: of this residency, or of the history, unless `places` is NULL. New reference; NULL: it has
 * no output. */
static json_t *made_call(const struct run *run, const json_t *places, const char *id)
{
    const struct call *call = find_call(run, id);
    json_t *made = NULL;

    if (call && call->text)
        return ended_call(call);
    if (places)
        made = past_program_call(run->history, places, id);
    if (made)
        rename_call(run, made);
    return made;
}

static void add_made(struct program *program, json_t *made)
{
    size_t output = json_string_length(json_object_get(made, "output"));

    program->output_bytes += output;
    program->bytes += output + json_string_length(json_object_get(made, "arguments"));
    json_array_append_new(program->calls, made);
}

/* Adds the calls that have ended since the last step. The history is read for the first step: all later calls are of
 * this residency. False: there is a call without an output, or behind one that is missing. A step would make it
 * again. */
static bool add_calls(const struct run *run, struct program *program)
{
    bool first = !program->calls;
    json_auto_t *places = first ? past_program_places(run->history, run->history_count) : NULL;
    char id[ID_SIZE];
    unsigned number;

    if (first)
        program->calls = json_array();
    for (number = (unsigned)json_array_size(program->calls); number < PROGRAM_CALLS; number++) {
        json_t *made;

        fingerprint_call_id(&program->print, number, id);
        made = made_call(run, places, id);
        if (!made)
            break;
        add_made(program, made);
    }
    for (; number < PROGRAM_CALLS; number++) {
        fingerprint_call_id(&program->print, number, id);
        if (find_call(run, id) || json_object_get(places, id))
            return false;
        if (!first)
            break; /* they are numbered without gaps here */
    }
    return true;
}

/* The call becomes that of a program, which may call other tools than the model. */
static void give_to_program(const struct run *run, struct call *call, const char *program,
                            const json_t *choice)
{
    (void)snprintf(call->caller, sizeof(call->caller), "%s", program);
    call->use = tool_set_find_programmatic(&run->tools, choice, call->name);
    call->hidden = call->use && call->use->handler->flags & TOOL_HIDDEN;
    call->final = false;
}

/* The client executes it, or the server. */
static void set_side(struct call *call)
{
    bool clients = call->use && tool_use_is_clients(call->use);

    if (clients != call_is_clients(call))
        call_move(call, clients ? CALL_EV_HAND_OVER : CALL_EV_TAKE_BACK);
}

/* The array of calls may move. */
static void make_call(struct run *run, unsigned position, unsigned number, const json_t *asked)
{
    const struct call *program = &run->calls.list[position];
    char caller[ID_LIMIT + 1];
    char id[ID_SIZE];
    struct call *call;

    memcpy(caller, program->id, sizeof(caller));
    fingerprint_call_id(&program->program->print, number, id);
    call = run_add_call(run, id, json_get_string(asked, "name", ""));
    give_to_program(run, call, caller, run->settings.tool_choice);
    set_side(call);
    buf_add_text(&call->arguments, json_get_string(asked, "arguments", "{}"));
    if (call_is_clients(call))
        run_show_clients_call(run, (unsigned)(call - run->calls.list));
    run_note_call(run, call, CALL_WAITING, NULL);
}

/* They are numbered in their order, behind those that it was given. Anything else is no answer of an honest driver. */
static bool are_new(const struct program *program, const json_t *asked)
{
    size_t i;
    json_t *call;

    if (!json_array_size(asked) || json_array_size(asked) > PROGRAM_AT_ONCE ||
        known_of(program) + json_array_size(asked) > PROGRAM_CALLS)
        return false;
    json_array_foreach (asked, i, call) {
        if (json_get_int(call, "number", -1) != (json_int_t)(known_of(program) + i))
            return false;
    }
    return true;
}

/* ---- A step ---- */

static struct call *find_stepping(const struct run *run, unsigned job)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct program *program = run->calls.list[i].program;

        if (program && program->stepping && program->job == job)
            return &run->calls.list[i];
    }
    return NULL;
}

static void take_step(struct run *run, unsigned job, const struct offload_result *result)
{
    struct program *program = find_stepping(run, job)->program;

    program->stepping = false;
    program->step = result->error ? json_build("{s:s}", "failed", result->error->text)
                                  : json_incref((json_t *)(uintptr_t)result->fields);
    if (!program->step)
        program->step =
            json_build("{s:s}", "failed", "The program has ended without a result.");
}

static void apply_step(struct run *run, unsigned position, const json_t *step)
{
    const struct program *program = run->calls.list[position].program;
    const json_t *asked = json_object_get(step, "calls");
    const char *why = json_get_string(step, "failed", NULL);
    size_t i;
    json_t *call;

    if (!asked || why) {
        end_program(run, &run->calls.list[position], json_object_get(step, "result"), why);
        return;
    }
    if (!are_new(program, asked)) {
        end_program(run, &run->calls.list[position], NULL,
                    "The program did not repeat itself.");
        return;
    }
    json_array_foreach (asked, i, call)
        make_call(run, position, known_of(run->calls.list[position].program) + (unsigned)i,
                  call);
}

/* All have stepped. What they call now stands behind them. */
static void end_steps(struct run *run)
{
    unsigned count = run->calls.count;

    for (unsigned i = 0; i < count; i++) {
        struct program *program = run->calls.list[i].program;
        json_auto_t *step = program ? TAKE(program->step) : NULL;

        if (step)
            apply_step(run, i, step);
    }
    run_pass_stage(run);
}

/* False: it has ended instead. */
static bool begin_program(struct run *run, struct call *call)
{
    json_auto_t *args = NULL;
    struct err err;

    call->started_at = clock_wall_us();
    if (!chain_admit(&run->chain)) {
        call_move(call, CALL_EV_LIMIT);
        end_program(run, call, NULL, chain_reason(run->chain.stop));
        return false;
    }
    call_move(call, CALL_EV_ADMIT);
    if (!call->program && run_prepare_call(run, call, &args, &err)) {
        call->phase = CHAIN_PARSE_ARGUMENTS;
        end_program(run, call, NULL, err.text);
        return false;
    }
    call_move(call, CALL_EV_EXECUTE);
    if (!call->program) {
        call->program = program_new(json_get_string(args, "code", ""));
        fingerprint_make(&call->program->print);
    }
    if (!call->shown)
        show_program(run, call);
    return true;
}

static bool has_called(const json_t *calls, const char *name)
{
    size_t i;
    json_t *call;

    json_array_foreach (calls, i, call) {
        if (strcmp(json_get_string(call, "name", ""), name) == 0)
            return true;
    }
    return false;
}

/* What it may call. What it has called stays, although a later request may not allow it: its steps repeat these calls.
 * New reference. */
static json_t *callable(const struct run *run, const json_t *calls)
{
    const json_t *choice = run->settings.tool_choice;
    json_t *names = tool_set_programmatic(&run->tools, choice);
    json_auto_t *all = tool_set_programmatic(&run->tools, NULL);
    size_t i;
    json_t *tool;

    json_array_foreach (all, i, tool) {
        const char *name = json_string_value(json_array_get(tool, 0));

        if (!tool_set_find_programmatic(&run->tools, choice, name) && has_called(calls, name))
            json_array_append(names, tool);
    }
    return names;
}

/* Why the program cannot have another step; NULL: it can. */
static const char *refusal_of(const struct run *run, struct program *program)
{
    if (!add_calls(run, program))
        return "A call of the program, or its output, is missing.";
    if (program->output_bytes > PROGRAM_OUTPUTS_LIMIT)
        return "The outputs of the program's calls are too long.";
    program->given += program->bytes;
    if (program->given > PROGRAM_GIVEN_LIMIT)
        return "The program waits too often behind long outputs. Make calls together, with "
               "Promise.all, or in several programs.";
    return NULL;
}

/* What the step is given; NULL: it cannot have all of that, and the program has ended. The worker's copy is one of
 * memory: the loop parses and writes nothing again. New reference. */
static json_t *arguments_of(struct run *run, struct call *call)
{
    struct program *program = call->program;
    const char *why = refusal_of(run, program);

    if (why) {
        end_program(run, call, NULL, why);
        return NULL;
    }
    return json_build("{s:s, s:s, s:I, s:i, s:o, s:O}", "code", program->code, "seed",
                      program->print.seed, "now", (json_int_t)program->print.now_ms, "at_once",
                      run->settings.one_call ? 1 : PROGRAM_AT_ONCE, "tools",
                      callable(run, program->calls), "calls", program->calls);
}

enum stage_step run_step_programs(struct run *run)
{
    AUTO_FREE json_t **args = mem_new_array(json_t *, run->calls.count + 1);
    unsigned count = 0;

    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (!can_step(run, call) ||
            (call->status == CALL_PROPOSED && !begin_program(run, call)))
            continue;
        args[i] = arguments_of(run, call);
        if (!args[i])
            continue;
        call->program->stepping = true;
        call->program->job = count++;
    }
    if (!count)
        return STAGE_PASSED;
    run_offload(run, count, take_step, end_steps);
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];

        if (args[i])
            run_offload_job(run, call->program->job,
                            (struct tool_call_spec){
                                .handler = call->use->handler,
                                .call_id = call->id,
                                .args = args[i],
                                .config = call->use->entry,
                                .containers = engine_options(run->engine)->containers,
                            });
        json_decref(args[i]);
    }
    return STAGE_WAITS;
}

enum stage_step run_continue_programs(struct run *run)
{
    bool any = false;

    for (unsigned i = 0; i < run->calls.count; i++)
        any |= can_step(run, &run->calls.list[i]);
    if (!any)
        return STAGE_PASSED;
    if (run->drain_wanted && run_is_resumable(run))
        run_release(run);
    else
        run_walk_stages(run);
    return STAGE_WAITS;
}

/* ---- Of earlier residencies and responses ---- */

/* The program of an item. NULL: it is not one of this server's. */
static struct program *read_program(const struct run *run, const struct item_row *item)
{
    json_auto_t *body = json_parse_own(item->body);
    const char *code = json_get_string(body, "code", "");
    struct program *program = program_new(code);
    struct err err;

    if (fingerprint_open(seal_of(run), &run->tenant, json_get_string(body, "fingerprint", ""),
                         code, &program->print, &err) == ERR_OK)
        return program;
    log_info("run %s: the program %s cannot go on: %s", run->row.id, item->call_id, err.text);
    program_free(program);
    return NULL;
}

/* The request has no tool that runs it, or its fingerprint is not one of this server. */
static void end_past_program(struct run *run, const struct item_row *past)
{
    const struct tool_item *look = tool_registry_item(item_row_type_name(past));
    struct item *item = run_new_item(run, item_type_parse(look->answer->type));

    memcpy(item->row.call_id, past->call_id, sizeof(item->row.call_id));
    item->fields = json_build("{s:s, s:s}", "call_id", past->call_id, "result", "");
    run_open_item(run, item);
    json_set_string(item->fields, "result", "The program was not continued.");
    run_close_item(run, ITEM_INCOMPLETE);
}

bool run_take_programs(struct run *run)
{
    const struct tool_use *use = tool_set_find_program(&run->tools);
    const struct item_row *items = run->history;
    size_t count = run->history_count;
    bool any = false;

    run->calls.turn = run->row.turn;
    for (size_t at = 0; (at = past_programs_next(items, count, at)) < count; at++) {
        struct program *program = use ? read_program(run, &items[at]) : NULL;
        json_auto_t *args = program ? json_build("{s:s}", "code", program->code) : NULL;
        struct call *call;

        if (!program) {
            end_past_program(run, &items[at]);
            continue;
        }
        call = run_add_call(run, items[at].call_id, use->name);
        call->use = use; /* tool_choice does not count: the call was made before */
        call->program = program;
        call->shown = any = true;
        json_add_text(&call->arguments, args);
    }
    return any;
}

/* A program of this run that has been shown. */
static void restore_begun(struct run *run, struct call *call)
{
    for (size_t i = run->history_count; i-- > 0 && !call->program;) {
        const struct item_row *item = &run->history[i];

        if (item_type_makes_calls(item->type) && !item->hidden &&
            strcmp(item->call_id, call->id) == 0)
            call->program = read_program(run, item);
    }
    call->shown = call->program != NULL;
}

static bool has_made(const struct program *program, const char *id)
{
    for (unsigned number = 0; program && number < PROGRAM_CALLS; number++) {
        char own[ID_SIZE];

        fingerprint_call_id(&program->print, number, own);
        if (strcmp(own, id) == 0)
            return true;
    }
    return false;
}

void run_restore_program(struct run *run, struct call *call)
{
    if (call->use && call->use->handler->flags & TOOL_PROGRAM) {
        restore_begun(run, call);
        return;
    }
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *program = &run->calls.list[i];

        if (program != call && has_made(program->program, call->id)) {
            /* One that was approved has its tool already: tool_choice is not about that. */
            give_to_program(run, call, program->id,
                            call->use ? NULL : run->settings.tool_choice);
            return;
        }
    }
}

void run_cut_programs(struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (call->program && call->shown && call->status == CALL_EXECUTING)
            end_program(run, call, NULL, "The response has ended before the program.");
    }
}
