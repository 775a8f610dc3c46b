/*
 * run_passed.c -- from the upstream's items to items of the run.
 *
 * Nothing of the upstream's JSON is stored or shown as it is: the tool's `passed` (core/tool/tool_item.h) makes the
 * fields anew, so a stream with garbage ends as a call that has failed, and not as one that a client cannot parse. For
 * the same reason the order of stages is made here.
 *
 * Rejected: to show the upstream's ids. Two upstreams may use one id, and items of a conversation are found by it.
 */

#include "core/run/turn/run_passed.h"

#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/calls/run_calls.h"
#include "core/run/turn/run.h"
#include "core/tool/channel.h"
#include "core/tool/tool_item.h"

#define UPSTREAM_ID_LIMIT 256 /* bytes of an id that is kept */

static const struct item_passed *passed_of(const struct run *run)
{
    return run->turn.passed.use->handler->item->passed;
}

static void take_begin(void *arg, const char *type)
{
    struct run *run = arg;
    const struct tool_use *use = tool_set_find_passed(&run->tools, type);
    const struct tool_item *look = use ? use->handler->item : NULL;
    struct item *item;

    run->turn.passed = (struct run_passed){0};
    if (!use || run_call_is_open(run))
        return;
    run_close_item(run, ITEM_COMPLETED);
    item = run_new_item(run, item_type_parse(type));
    item_row_set_type(&item->row, type);
    if (look->id_prefix)
        id_make(item->row.id, look->id_prefix);
    (void)snprintf(item->row.call_id, sizeof(item->row.call_id), "%s", item->row.id);
    item->look = look;
    item->tool_type = mem_strdup(use->type);
    item->name = mem_strdup(use->handler->name);
    item->fields = look->fields ? json_parse_own(look->fields) : json_object();
    item_note(item, "upstream", run->turn.upstream->name);
    json_set_bool(item->metadata, NOTE_PASSED, true);
    run->turn.passed.use = use;
    run_open_item(run, item);
    run_emit_stage(run, item, TOOL_STAGE_OPENING, NULL);
    run_pump(run);
}

/* The stage that each call has. */
static void want_first_stage(struct run *run)
{
    if (run->turn.passed.begun)
        return;
    run->turn.passed.begun = true;
    run_emit_stage(run, run->items.open, passed_of(run)->stages[0], NULL);
}

static bool is_known(const struct item_passed *passed, const char *stage)
{
    const char *const *known = passed->stages;

    while (*known && strcmp(*known, stage) != 0)
        known++;
    return *known;
}

static void take_stage(void *arg, const char *stage, const json_t *event)
{
    struct run *run = arg;
    const struct item_passed *passed = run->turn.passed.use ? passed_of(run) : NULL;
    json_auto_t *fields = NULL;
    bool garbage = false;

    if (!passed || !is_known(passed, stage) || run->turn.passed.stages == PASSED_STAGES_LIMIT)
        return;
    want_first_stage(run);
    if (strcmp(stage, passed->stages[0]) == 0)
        return;
    fields = passed->stage ? passed->stage(stage, event, &garbage) : NULL;
    if (!garbage) {
        run->turn.passed.stages++;
        run_emit_stage(run, run->items.open, stage, fields);
    }
    run_pump(run);
}

/* Servers have other words for a call that is complete, and no word at all. */
static bool is_broken(const json_t *item)
{
    static const char *const words[] = {"failed", "incomplete", "cancelled"};
    const char *status = json_get_string(item, "status", "");

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i], status) == 0)
            return true;
    }
    return !json_object_size(item);
}

static void note_course(const struct run *run, struct item *item, const json_t *given)
{
    const char *id = json_get_string(given, "id", "");

    if (*id && strlen(id) <= UPSTREAM_ID_LIMIT)
        item_note(item, "upstream_id", id);
    if (run->turn.passed.use->handler->flags & TOOL_FOREIGN)
        json_set_bool(item->metadata, NOTE_FOREIGN, true);
}

/* What the model of another upstream reads of it: what it would of the same call of this server. NULL: nothing. */
static char *read_text(const struct item *item)
{
    json_auto_t *arguments = NULL;
    json_t *sources = NULL;
    char *text =
        item->look->retell ? item->look->retell(item->fields, 0, &arguments, &sources) : NULL;

    json_decref(sources);
    return text;
}

static void take_end(void *arg, const json_t *given)
{
    struct run *run = arg;
    const struct item_passed *passed = run->turn.passed.use ? passed_of(run) : NULL;
    struct item *item = run->items.open;
    json_auto_t *fields = NULL;
    AUTO_FREE char *arguments = NULL;
    bool failed;

    if (!passed)
        return;
    fields = is_broken(given) ? NULL : passed->fields(given);
    failed = !fields;
    if (failed)
        fields = passed->failed(given);
    json_object_update(item->fields, fields);
    arguments = passed->arguments(item->fields);
    want_first_stage(run);
    run_emit_arguments(run, item, arguments, strlen(arguments));
    run_emit_arguments_done(run, item);
    note_course(run, item, given);
    if (!failed)
        item->output = read_text(item);
    run_emit_stage(run, item, failed ? "failed" : "completed", NULL);
    run->turn.passed = (struct run_passed){0};
    chain_count_passed(&run->chain);
    run_close_item(run, failed ? ITEM_FAILED : ITEM_COMPLETED);
    run_pump(run);
}

const struct model_hosted_events run_passed_events = {
    .begin = take_begin, .stage = take_stage, .end = take_end};
