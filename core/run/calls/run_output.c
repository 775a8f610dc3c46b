/*
 * The output of tools, as it comes out of the channel: items, their events, or the text of the
 * answer.
 *
 * Each output of a worker passes run_take_output() on the loop. What becomes of it depends on
 * the call:
 *
 *   an ordinary call  its item opens when its tool starts, grows by stages, deltas and
 *                     metadata, and closes with its END. The channel lets one call speak at a
 *                     time (the floor), so one item is open at a time, as OpenAI's streams have
 *                     it. A call that starts while another has the floor opens when it gets it.
 *   a hidden call     is stored as a hidden item. Nothing is emitted.
 *   a final call      its text streams as a part of a message, because it is the answer. Its
 *                     item follows behind the message, when all calls of the turn have ended
 *                     (run_show_final_calls()).
 *
 * The END of a call decides three texts, and they differ:
 *
 *   whole   what the tool returned, or why it returned nothing
 *   shown   what the model receives and the item has: cut to a limit, with a hint where the
 *           rest is
 *   kept    the whole as a variable, which the model can read in pieces (run_variables.h)
 *
 * Texts that are not the tool's (a refusal, a limit) and answers of final tools are never cut
 * to the model's limit: they are short, or the client is their reader. Nor are results of calls that a program has
 * made: the program reads them.
 *
 * The variable and the row of the call go into the same write, and usually the item, too. So
 * after a crash either the call has its end and everything that belongs to it, or it is still
 * "running" (execute.c). The item comes later if the call is final, or has ended while another
 * call has the floor. A silent call may have the floor for long, and what the others have done
 * must not wait for it. So the row is stored at the end of the tool, with what the item needs
 * (call_end.h), and again without that when the item is.
 */

#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/approval/run_grants.h"
#include "core/run/approval/run_results.h"
#include "core/run/approval/run_taint.h"
#include "core/run/calls/answered_call.h"
#include "core/run/calls/call_end.h"
#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_servers.h"
#include "core/run/calls/run_variables.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/tool/cut.h"
#include "core/tool/tool_item.h"

/* Bytes of text that are kept of a call, in its item and as an answer. */
#define OUTPUT_KEPT_LIMIT ((size_t)1 << 20)

/* Between two metadata events of a call. */
#define METADATA_INTERVAL_NS (100 * NS_PER_MS)

/* ---- Output before the end ---- */

/* The item of a hosted tool, with the fields that it has before the first output. */
static struct item *new_hosted_item(struct run *run, struct call *call,
                                    const struct tool_item *look)
{
    struct item *item = run_new_call_item(run, call, item_type_parse(look->type));

    item_row_set_type(&item->row, look->type);
    if (look->id_prefix)
        id_make(item->row.id, look->id_prefix);
    item->look = look;
    item->tool_type = mem_strdup(call->use->type);
    json_decref(item->fields);
    item->fields = look->fields ? json_parse_own(look->fields) : json_object();
    run_name_caller(call, item);
    return item;
}

void run_emit_stage(struct run *run, struct item *item, const char *stage, json_t *fields)
{
    run_emit(run, &(struct run_event){
                      .kind = RUN_EVENT_STAGE, .item = item, .name = stage, .fields = fields});
}

/* The stages that every server-side call has. An output that is an item of its own has other events. */
static void emit_usual_stage(struct run *run, struct item *item, const char *stage)
{
    if (!item_answer_of(item))
        run_emit_stage(run, item, stage, NULL);
}

static bool is_opening(const struct tool_output *output)
{
    return output->kind == TOOL_OUTPUT_STAGE && strcmp(output->name, TOOL_STAGE_OPENING) == 0;
}

/* A call that did not come to its container, or that a crash has cut. Its client looks into the last one that is
 * known. */
static void name_past_container(const struct run *run, struct item *item)
{
    char id[ID_SIZE];

    run_past_container(run, id);
    if (*id && json_object_get(item->fields, "container_id"))
        json_set_string(item->fields, "container_id", id);
}

/* The call has the floor, so its item opens. The arguments are known by now and are emitted as
 * one delta. `fields` are those that the tool has brought for it; borrowed, or NULL. */
static void show_call(struct run *run, struct call *call, json_t *fields)
{
    bool here = call->use && !tool_use_is_clients(call->use);
    const struct tool_item *look = here ? call->use->handler->item : NULL;
    struct item *item;

    if (run_answer_of(run, call)) {
        run_show_answered(run, call, fields);
        return;
    }
    if (look && look->answer)
        look = NULL;
    run_close_item(run, ITEM_COMPLETED);
    item =
        look ? new_hosted_item(run, call, look) : run_new_call_item(run, call, ITEM_MCP_CALL);
    if (here && !look && !item->label)
        item->label = mem_strdup(tool_use_label(call->use));
    if (look && fields)
        json_object_update(item->fields, fields);
    else if (look && call->use->handler->flags & TOOL_NEEDS_SANDBOX)
        name_past_container(run, item);
    run_open_item(run, item);
    run_emit_stage(run, item, TOOL_STAGE_OPENING, NULL);
    if (call->arguments.length)
        run_emit_arguments(run, item, call->arguments.data, call->arguments.length);
    run_emit_arguments_done(run, item);
}

/* Opens the message that the texts of final calls become, and a part of it for this call. */
static void open_final_message(struct run *run, struct call *call)
{
    if (call->message && run->items.open == call->message && call->message->part_open)
        return;
    if (!run->items.open || run->items.open->row.type != ITEM_MESSAGE) {
        struct item *message;

        run_close_item(run, ITEM_COMPLETED);
        message = run_new_item(run, ITEM_MESSAGE);
        /* The model reads the answer after the calls, so it is of the next turn, though
         * clients see it before them. */
        message->row.turn = run->calls.turn + 1;
        run_open_item(run, message);
    }
    run_open_part(run, PART_TEXT);
    call->message = run->items.open;
}

static void keep_text(struct call *call, const struct tool_output *output)
{
    if (call->said.length + output->length <= OUTPUT_KEPT_LIMIT)
        buf_add(&call->said, output->text, output->length);
}

/* Of a call that has ended the text is kept already. */
static void take_text(struct run *run, struct call *call, const struct tool_output *output)
{
    if (!call_status_is_final(call->status))
        keep_text(call, output);
    if (!call->final || !output->length)
        return;
    open_final_message(run, call);
    run_add_text(run, output->text, output->length);
}

static void take_stage(struct run *run, struct call *call, const struct tool_output *output)
{
    if (!call->item || call->item != run->items.open || is_opening(output))
        return;
    item_settle(call->item);
    run_emit_stage(run, call->item, output->name, output->fields);
}

/* A field of the item grows. The item has the whole field when it closes. */
static void take_delta(struct run *run, struct call *call, const struct tool_output *output)
{
    struct item *item = call->item;

    if (!item || item != run->items.open)
        return;
    item_grow(item, output->name, output->text, output->length);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_DELTA,
                                      .item = item,
                                      .name = output->name,
                                      .text = output->text,
                                      .length = output->length});
}

/* Merges metadata into the item: for each key the last value counts. A piece that is too
 * large is ignored. If the sum becomes too large, all is dropped, and the next piece begins
 * anew. */
static void note_metadata(struct item *item, const json_t *fields)
{
    json_t *all = json_object_get(item->metadata, "metadata");

    if (!json_is_object(fields) ||
        json_dumpb(fields, NULL, 0, JSON_COMPACT) > TOOL_METADATA_LIMIT)
        return;
    if (!item->metadata)
        item->metadata = json_object();
    if (!all) {
        all = json_object();
        json_set(item->metadata, "metadata", all);
    }
    json_object_update(all, (json_t *)(uintptr_t)fields);
    if (json_dumpb(all, NULL, 0, JSON_COMPACT) > TOOL_METADATA_LIMIT)
        json_object_del(item->metadata, "metadata");
}

/* A person sees what the call says of itself, else what the tool is called. */
static void note_title(const struct call *call, struct item *item, const char *title)
{
    bool has_title = json_object_get(item->metadata, "title");

    if (title)
        item_note(item, "title", title);
    else if (!has_title && call->use)
        item_note(item, "title", tool_use_title(call->use));
}

/* A change that follows the last event too soon is noted without an event: the item has it
 * when it closes. */
static void take_metadata(struct run *run, struct call *call, const struct tool_output *output)
{
    uint64_t now = clock_mono_ns();
    struct item *item = call->item;

    if (!item || item != run->items.open || item_answer_of(item))
        return;
    if (output->text || json_object_size(output->fields))
        note_title(call, item, output->text);
    note_metadata(item, output->fields);
    if (!item->metadata || (call->noted_ns && now - call->noted_ns < METADATA_INTERVAL_NS))
        return;
    call->noted_ns = now;
    run_emit(run, &(struct run_event){
                      .kind = RUN_EVENT_METADATA, .item = item, .fields = item->metadata});
}

/* ---- The texts of a call that has ended ---- */

/* How much of the result the model sees. */
static struct cut_rule rule_of(const struct run *run, const struct call *call)
{
    const struct tool_handler *handler = call->use ? call->use->handler : NULL;
    size_t limit = handler && handler->shown_limit ? handler->shown_limit : CUT_DEFAULT_LIMIT;
    const char *written = call->arguments.length ? call->arguments.data : "{}";
    json_auto_t *args = NULL;
    struct cut_rule rule;

    if (json_parse(written, strlen(written), &args, NULL))
        args = NULL; /* no JSON: the text is the error about that, and has the default limit */
    rule = cut_rule(&run->settings, args, limit);
    /* An error is not kept in a variable, so what is cut off would be lost to the model. */
    if (call_has_failed(call) && rule.limit < CUT_DEFAULT_LIMIT)
        rule.limit = CUT_DEFAULT_LIMIT;
    return rule;
}

/* Cuts the result for the model, keeps the whole in a variable, and adds the hint where it
 * is. The caller frees. */
static char *shown_text(struct run *run, struct call *call, const char *text)
{
    const struct tool_handler *handler = call->use ? call->use->handler : NULL;
    struct cut_rule rule = rule_of(run, call);
    struct cut_shown shown;
    AUTO_FREE char *cut = handler && handler->cut && !call_has_failed(call)
                              ? handler->cut(text, &rule, &shown)
                              : cut_text(text, &rule, &shown);
    char *hinted = NULL;

    call->truncated = shown.truncated;
    hinted = run_keep_result(run, call, text, cut, &shown);
    return hinted ? hinted : TAKE(cut);
}

/* A person has refused the call or its result: the model receives the reason instead of the
 * result. */
static bool is_rejected(const struct call *call)
{
    return call->status == CALL_REJECTED || call_result_is_rejected(call);
}

/* The tool itself says that it did not do it, and why. That is neither output nor error. */
static bool is_undone(const struct call *call)
{
    return call->outcome == TOOL_REJECTED || call->outcome == TOOL_CANCELLED;
}

/* The text is the answer of the run: the client reads it. */
static bool is_answer(const struct call *call)
{
    return call->final && !call->hidden && call->status == CALL_SUCCEEDED;
}

/* The whole text of a call, unless a person has refused it. The caller frees. */
static char *output_text(const struct run *run, const struct call *call,
                         const struct tool_output *output)
{
    AUTO_FREE char *whole = NULL;

    if (call->status == CALL_SKIPPED)
        return chain_placeholder(run->chain.stop);
    if (call->outcome == TOOL_REJECTED)
        return withheld_refusal(call->why);
    if (call->outcome == TOOL_CANCELLED)
        return chain_cancelled(call->why);
    if (output->rc && !output->result.count)
        return mem_strdup(output->error.text);
    /* A tool may emit its text in pieces and return nothing. */
    whole = tool_result_text(&output->result);
    if (!*whole && call->said.length) {
        free(whole);
        whole = mem_strdup(call->said.data);
    }
    return TAKE(whole);
}

/* Lets a hosted tool fill in the fields of its item. */
static void fill_hosted(struct item *item, const struct call *call,
                        const struct tool_output *output)
{
    const char *text = call->arguments.length ? call->arguments.data : "{}";
    json_auto_t *args = NULL;

    if (!item->look || !item->look->fill)
        return;
    if (json_parse(text, strlen(text), &args, NULL))
        args = NULL;
    item->look->fill(item->fields, args, &output->result);
}

/* ---- The row of a call that has ended ---- */

/* The item of a final call is shown after all calls of the turn have ended. */
static bool is_shown_later(const struct call *call)
{
    return call->final && !call->hidden && call->status != CALL_SKIPPED;
}

/* Stores the result: {"output": ...} or {"error": ...}, why the call was not executed, and what its item
 * needs if that comes later. restore.c reads it. */
static void put_result(struct run *run, const struct call *call)
{
    const char *text = is_shown_later(call) && call->said.length ? call->said.data : call->text;
    json_auto_t *output = NULL;
    AUTO_FREE char *json = NULL;

    if (!run_is_resumable(run))
        return;
    output = json_build("{s:s}", call_has_failed(call) ? "error" : "output", text);
    if (call->status == CALL_SKIPPED)
        json_set_string(output, "reason", chain_reason(run->chain.stop));
    else if (call->refused)
        json_set_bool(output, "refused", true);
    if (is_shown_later(call) || call->waiting_count)
        json_set(output, "end", call_end_json(call));
    run_note_withheld(call, output);
    json = json_text(output);

    run_note_call(run, call, CALL_DONE, json);
    if (!run->publishing.frames.count)
        run->writing.urgent = true; /* no frame asks for a write, but the effect has happened */
}

/* ---- Notes of the item, its object `runnel` ---- */

/* What the tool says about its work: a title for people, and metadata. */
static void note_description(const struct call *call, struct item *item,
                             const struct tool_result *result)
{
    if (result->title || result->metadata)
        note_title(call, item, result->title);
    if (result->metadata)
        note_metadata(item, result->metadata);
}

static const char *status_name(const struct call *call)
{
    if (call->status == CALL_SUCCEEDED)
        return tool_status_name(TOOL_SUCCESS);
    if (!call->use)
        return tool_status_name(TOOL_NOT_FOUND);
    return tool_status_name(call->outcome ? call->outcome : TOOL_ERROR);
}

/* The result beside its text: status, phase of an error, title, metadata, and parts that are
 * not text. A hosted tool has fields of its own for these. */
static void note_result(struct item *item, const struct call *call,
                        const struct tool_output *output)
{
    const struct tool_result *result = &output->result;
    json_t *attachments;

    if (item->tool_type)
        return;
    item_note(item, "status", status_name(call));
    if (call->status == CALL_FAILED && call->use)
        item_note(item, "error_phase", chain_phase_name(call->phase));
    note_description(call, item, result);
    attachments = tool_result_attachments(result);
    if (attachments)
        json_set(item->metadata, "attachments", attachments);
}

/* What the model may cite of the result, and under which number. A withheld result is not shown yet: the
 * residency that shows it finds both in the item. */
static void note_sources(struct run *run, struct item *item, const struct call *call,
                         const struct tool_output *output)
{
    if (!call->search || !output->result.sources)
        return;
    json_set_int(item->metadata, NOTE_SEARCH, call->search);
    json_set(item->metadata, NOTE_SOURCES, json_incref(output->result.sources));
    if (!call->withheld)
        run_add_sources(run, call->search, output->result.sources, item->output);
}

static const char *container_of(const struct item *item)
{
    const char *noted = json_get_string(item->metadata, "container_id", "");

    return *noted ? noted : item_container(item->fields);
}

/* A withheld result shows no files yet, either. */
static void note_files(struct run *run, struct item *item, const struct call *call,
                       const struct tool_output *output)
{
    json_t *files = output->result.files;

    if (!files)
        return;
    json_set(item->metadata, NOTE_FILES, json_incref(files));
    if (!call->withheld)
        run_made_add(run, container_of(item), files);
}

/* The picture is shown with the item, and stored beside it. */
static void note_picture(struct item *item, const struct tool_output *output)
{
    if (*output->result.picture_id && item->look && item->look->picture_field)
        item_keep_picture(item, item->look->picture_field, output->result.picture_id);
}

static bool can_fail(enum item_type type)
{
    return item_type_statuses(type) != ITEM_STATUSES_USUAL &&
           item_type_statuses(type) != ITEM_STATUSES_CLOSED &&
           item_type_statuses(type) != ITEM_STATUSES_NONE;
}

static enum item_status status_of(const struct call *call)
{
    bool never_fails = call->item && !can_fail(call->item->row.type);

    if (call->status == CALL_SKIPPED || is_undone(call))
        return ITEM_INCOMPLETE;
    if (call_has_failed(call) && never_fails)
        return ITEM_INCOMPLETE;
    return call_has_failed(call) ? ITEM_FAILED : ITEM_COMPLETED;
}

/* The round in which it was executed, its start and end in milliseconds; or why it was not
 * executed. */
static void note_course(const struct run *run, struct item *item, const struct call *call)
{
    if (!item->metadata)
        item->metadata = json_object();
    if (call->status == CALL_SKIPPED) {
        json_set_string(item->metadata, "reason", chain_reason(run->chain.stop));
        return;
    }
    json_set_int(item->metadata, "round", (json_int_t)run->chain.all_rounds + 1);
    if (!call->ended_at) /* it ended before a crash: the times are lost */
        return;
    json_set_int(item->metadata, "start", call->started_at / 1000);
    json_set_int(item->metadata, "end", call->ended_at / 1000);
}

/* The names of its variables. Those of a response that is not stored live as long as the run
 * does, so they are not named. */
static void note_variables(const struct run *run, struct item *item, const struct call *call)
{
    if (run->variables)
        return;
    if (!item->metadata)
        item->metadata = json_object();
    json_set(item->metadata, "variables",
             json_build("{s:s, s:s}", "result", call->kept->result, "args", call->kept->args));
}

/* Whose group formats the call in a chain's log: see chain_log.h. */
static void note_group(struct item *item, const struct call *call)
{
    const struct tool_handler *handler = call->use ? call->use->handler : NULL;

    if (handler && (handler->compress_args || handler->compress_result))
        item_note(item, "group", handler->group);
}

/* Of a call that reached its tool. A person may have refused the result: then the model has not read it, and this is
 * not called. */
static void note_foreign(const struct run *run, struct item *item, const struct call *call)
{
    if (!call->use || !run_reads_foreign_text(run, call->use) || call->refused ||
        call->status == CALL_SKIPPED)
        return;
    if (!item->metadata)
        item->metadata = json_object();
    json_set_bool(item->metadata, NOTE_FOREIGN, true);
}

/* ---- The item of a call that has ended ---- */

/* A person has refused the call or its result. The item has neither output nor error: its
 * notes say what the model received. */
static void close_rejected(struct run *run, struct call *call, const char *text)
{
    bool ran = call_result_is_rejected(call);
    struct item *item = call->item;

    item->output = mem_strdup(text);
    if (item_answer_of(item))
        run_fill_answer(call, NULL, text);
    else
        item_set_field(item, "output", json_null());
    item_note(item, "status", ran ? "result_rejected" : "execution_rejected");
    item_note(item, "reject_reason", call->reason);
    item_note(item, "output", text);
    if (ran)
        note_course(run, item, call);
    emit_usual_stage(run, item, "failed");
    /* An output without a status for it says by itself that nothing was executed. */
    run_close_item(run, item_answer_of(item) && !can_fail(item->row.type) ? ITEM_COMPLETED
                                                                          : ITEM_INCOMPLETE);
}

/* The tool did nothing. Neither output nor error either, but what the model received. */
static void note_undone(const struct run *run, struct item *item, const struct call *call,
                        const char *text)
{
    bool rejected = call->outcome == TOOL_REJECTED;

    item->output = mem_strdup(text);
    if (item_answer_of(item))
        item_answer_of(item)->fill(item->fields, NULL, NULL, text);
    else
        item_set_field(item, "output", json_null());
    item_note(item, "status", tool_status_name(call->outcome));
    item_note(item, rejected ? "reject_reason" : "reason", call->why);
    item_note(item, "output", text);
    note_course(run, item, call);
    if (call->withheld)
        withheld_mark(item->metadata);
}

static void close_call(struct run *run, struct call *call, const struct tool_output *output,
                       const char *text)
{
    bool failed = call_has_failed(call);
    struct item *item = call->item;

    note_group(item, call);
    if (is_rejected(call)) {
        close_rejected(run, call, text);
        return;
    }
    note_foreign(run, item, call);
    if (is_undone(call)) {
        note_undone(run, item, call, text);
        note_description(call, item, &output->result);
        emit_usual_stage(run, item, "failed");
        run_close_item(run, ITEM_INCOMPLETE);
        return;
    }
    item->output = mem_strdup(text);
    note_course(run, item, call);
    if (item_answer_of(item))
        run_fill_answer(call, &output->result,
                        failed || call->status == CALL_SKIPPED ? text : NULL);
    if (call->status == CALL_SKIPPED) {
        run_close_item(run, status_of(call));
        return;
    }
    if (failed)
        item->error = mem_strdup(text);
    else
        fill_hosted(item, call, output);
    if (failed && item->look && item->look->fail)
        item->look->fail(item->fields, &output->result);
    note_sources(run, item, call, output);
    note_files(run, item, call, output);
    note_picture(item, output);
    if (call->truncated)
        json_set_bool(item->metadata, "is_truncated", true);
    /* The way to a remote tool has failed, not the tool: OpenAI's item has an object for
     * that. */
    if (call->fault) {
        if (!item->fields)
            item->fields = json_object();
        json_object_set(item->fields, "error", call->fault);
    }
    note_result(item, call, output);
    if (call->kept)
        note_variables(run, item, call);
    if (call->list_changed)
        json_set_bool(item->metadata, RUN_LIST_CHANGED, true);
    if (call->withheld)
        withheld_mark(item->metadata);
    emit_usual_stage(run, item, failed ? "failed" : "completed");
    run_close_item(run, status_of(call));
}

static void store_hidden_call(struct run *run, struct call *call, const char *text)
{
    struct item *item = run_new_call_item(run, call, ITEM_MCP_CALL);

    item->row.hidden = true;
    if (call->arguments.length)
        buf_add(&item->arguments, call->arguments.data, call->arguments.length);
    note_group(item, call);
    if (!is_rejected(call))
        note_foreign(run, item, call);
    if (is_undone(call)) {
        note_undone(run, item, call, text);
        run_store_silently(run, item, ITEM_INCOMPLETE);
        return;
    }
    item->output = mem_strdup(text);
    note_course(run, item, call);
    if (call_has_failed(call))
        item->error = mem_strdup(text);
    if (call->withheld)
        withheld_mark(item->metadata);
    run_store_silently(run, item, status_of(call));
}

/* ---- Final calls ---- */

/* The text of the call for its item. Of a failed call that is the error: what it had emitted before is in
 * the message. */
static void finish_said(struct call *call)
{
    if (call_has_failed(call))
        buf_clear(&call->said);
    if (!call->said.length)
        buf_add_text(&call->said, call->text);
}

/* Keeps its place for run_show_final_calls(). */
static void keep_final_call(struct run *run, const struct call *call)
{
    run->calls.final_order =
        mem_resize(run->calls.final_order, run->calls.final_count + 1, sizeof(unsigned));
    run->calls.final_order[run->calls.final_count++] = (unsigned)(call - run->calls.list);
}

static void end_final_call(struct run *run, struct call *call)
{
    if (call->status == CALL_SUCCEEDED && !call->message && *call->text) {
        open_final_message(run, call);
        run_add_text(run, call->text, strlen(call->text));
    }
    if (call->message && run->items.open == call->message) {
        run_close_part(run);
        run_store_open_item(run); /* this part is complete, also if a crash follows */
    }
    keep_final_call(run, call);
}

/* ---- The end of a call ---- */

/* The tool has ended: what becomes of its result is decided, whether or not the call has the floor. */
static void settle(struct run *run, struct call *call, const struct tool_output *end)
{
    enum call_status was = call->status;
    AUTO_FREE char *whole = NULL;

    call_move(call, end->rc ? CALL_EV_FAIL : CALL_EV_SUCCEED);
    run->calls.ended++;
    call->ended_at = clock_wall_us();
    call->outcome = end->result.status;
    call->refused = was != CALL_ADMITTED && was != CALL_EXECUTING;
    if (is_undone(call))
        call->why = mem_strdup(end->error.text);
    if (was == CALL_EXECUTING)
        run_check_result(run, call);

    /* The whole text; then what of it is shown. A withheld result is cut now, too: the
     * person approves what the model will receive. */
    whole = is_rejected(call) ? run_refusal_text(call) : output_text(run, call, end);
    if (is_answer(call) || is_rejected(call) || is_undone(call) || *call->caller)
        call->text = mem_strndup(whole, utf8_fit(whole, OUTPUT_KEPT_LIMIT));
    else
        call->text = shown_text(run, call, whole);
    if (call->withheld)
        run_freeze_result(call, call->text);
    if (is_shown_later(call))
        finish_said(call);
}

static void show_end(struct run *run, struct call *call, const struct tool_output *end)
{
    if (call->hidden) {
        store_hidden_call(run, call, call->text);
    } else if (is_shown_later(call)) {
        end_final_call(run, call);
    } else {
        if (!call->item) /* it was not started, or is of a final tool and no answer */
            show_call(run, call, NULL);
        close_call(run, call, end, call->text);
    }
}

/* The END of a call, when it may speak. A call that waited for the floor was settled before. */
static void take_end(struct run *run, struct call *call, const struct tool_output *end)
{
    if (!call_status_is_final(call->status))
        settle(run, call, end);
    show_end(run, call, end);
    put_result(run, call);
}

void run_take_end(struct run *run, struct call *call, const struct tool_output *end)
{
    take_end(run, call, end);
}

static void take_output(struct run *run, struct call *call, const struct tool_output *output)
{
    if (!call->hidden && !call->final && !call->item)
        show_call(run, call, is_opening(output) ? output->fields : NULL);
    switch (output->kind) {
    case TOOL_OUTPUT_START: break;
    case TOOL_OUTPUT_TEXT: take_text(run, call, output); break;
    case TOOL_OUTPUT_STAGE: take_stage(run, call, output); break;
    case TOOL_OUTPUT_DELTA: take_delta(run, call, output); break;
    case TOOL_OUTPUT_METADATA: take_metadata(run, call, output); break;
    case TOOL_OUTPUT_END: take_end(run, call, output); break;
    }
}

/* ---- Calls that have ended and wait for the floor ---- */

static struct call *call_at(const struct run *run, unsigned channel_position)
{
    return &run->calls.list[run->calls.positions[channel_position]];
}

void run_keep_outputs(struct run *run, struct tool_output *outputs, unsigned count)
{
    struct call *call = call_at(run, outputs[count - 1].call);

    for (unsigned i = 0; i < count; i++) {
        if (outputs[i].kind == TOOL_OUTPUT_TEXT)
            keep_text(call, &outputs[i]);
    }
    call->waiting = outputs;
    call->waiting_count = count;
    settle(run, call, &outputs[count - 1]);
    put_result(run, call);
}

/* The call has the floor. The END, which is the last output, stores its row without them. */
static void show_waiting(struct run *run, struct call *call)
{
    struct tool_output *outputs = TAKE(call->waiting);
    unsigned count = call->waiting_count;

    call->waiting_count = 0;
    for (unsigned i = 0; i < count; i++) {
        take_output(run, call, &outputs[i]);
        tool_output_clear(&outputs[i]);
    }
    free(outputs);
}

void run_take_output(struct run *run, const struct tool_output *output)
{
    struct call *call = call_at(run, output->call);

    if (output->kept)
        show_waiting(run, call);
    else
        take_output(run, call, output);
}

/* What they did must be in the history, or the model would do it again. */
void run_show_ended_calls(struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (call->waiting_count && !call->final)
            show_waiting(run, call);
    }
}

/* ---- After a crash ---- */

void run_restore_end(struct run *run, struct call *call, const json_t *stored)
{
    call_end_restore(call, json_object_get(stored, "end"));
    call->text =
        mem_strdup(json_get_string(stored, call_has_failed(call) ? "error" : "output", ""));
    if (is_shown_later(call))
        finish_said(call);
    if (!call->waiting_count)
        keep_final_call(run, call);
}

void run_show_waiting(struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (run->calls.list[i].waiting_count)
            show_waiting(run, &run->calls.list[i]);
    }
}

/* ---- When all calls have ended ---- */

void run_show_final_calls(struct run *run)
{
    for (unsigned i = 0; i < run->calls.final_count; i++) {
        struct call *call = &run->calls.list[run->calls.final_order[i]];
        struct tool_output nothing = {.kind = TOOL_OUTPUT_END};

        show_call(run, call, NULL);
        close_call(run, call, &nothing, call->said.length ? call->said.data : "");
    }
}
