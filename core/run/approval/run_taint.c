/*
 * run_taint.c -- looks for foreign results in the items of a run.
 *
 * Whether a run is tainted is not stored anywhere. The item of a call with a foreign result has a note, and is
 * stored with it. So a run that pauses, or that another node continues after a crash, gets the same answer as the one
 * that began it. A flag in memory would have been lost there, and names of tools would say nothing about a server that
 * the next response no longer has.
 *
 * The search goes backwards and ends at a message of a user. Before that is what earlier runs have read; the person
 * has spoken since. A response that only brings an approval, or the output of a function, continues the response before
 * it, and has no such message: there the search goes on into the earlier response.
 *
 * Variables outlive the message: results are kept in them, and the model may read one much later. So a call that reads
 * variables has a foreign result if the conversation has any, and so has a call whose arguments refer to one. Which
 * variable came from where is not known: that would have to be noted in each copy of it.
 *
 * Calls of one turn were written before any of them had a result. So results of the present turn do not count, and it
 * makes no difference in which order the calls of a turn end. There are two exceptions. A call that the upstream has
 * executed itself: the model has read its result when it writes the next call. And programs, which make arguments of
 * what they have read: as soon as a program calls a tool with foreign results, its turn counts as one behind them.
 */

#include "core/run/approval/run_taint.h"

#include <string.h>

#include "core/base/json.h"
#include "core/domain/notes.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

/* Most items have no such note, and are not parsed. A quotation of it in a text has a backslash before the mark. */
static bool is_noted(const struct item_row *item)
{
    json_auto_t *body = NULL;

    if (!item->body || !strstr(item->body, "\"" NOTE_FOREIGN "\""))
        return false;
    body = json_parse_own(item->body);
    return json_is_true(json_object_get(notes_of(body), NOTE_FOREIGN));
}

/* Clients that keep their history send calls back, and no note leaves this server. So such a call is foreign unless it
 * is of a tool of this request whose results are not. */
static bool is_sent_back(const struct run *run, const struct item_row *item)
{
    const struct tool_item *look = tool_registry_item(item_row_type_name(item));
    const struct tool_use *use;
    json_auto_t *body = NULL;

    if (!item->input || item->type != ITEM_MCP_CALL)
        return item->input && look && look->pages;
    body = json_parse_own(item->body);
    use = tool_set_find_labelled(&run->tools, json_get_string(body, "server_label", ""),
                                 json_get_string(body, "name", ""));
    return !use || use->handler->flags & TOOL_FOREIGN;
}

static bool is_foreign(const struct run *run, const struct item_row *item)
{
    return is_noted(item) || is_sent_back(run, item);
}

static bool is_passed(const struct item_row *item)
{
    return item->body && strstr(item->body, "\"" NOTE_PASSED "\"");
}

static bool is_of_this_turn(const struct run *run, const struct item_row *item)
{
    return run_has_made(run, item) && item->turn >= run->calls.turn && !is_passed(item);
}

static bool is_from_a_user(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE && strcmp(item->role, "user") == 0;
}

/* Items that the run has made since the last look. Those of the present turn wait for the next one. */
static void read_items(const struct run *run)
{
    struct run_taint *taint = run->taint;

    for (size_t i = taint->items; i < run->items.count; i++) {
        const struct item_row *item = &run->items.list[i]->row;

        if (run->items.list[i]->open || is_of_this_turn(run, item))
            continue;
        if (!taint->since && is_foreign(run, item))
            taint->since = item->completed_at;
        if (i == taint->items)
            taint->items++;
    }
}

/* Behind the last message of a user the oldest foreign result counts. Before it, that there is any. */
static void read_history(const struct run *run)
{
    struct run_taint *taint = run->taint;
    bool behind = true;

    taint->waits = false;
    for (size_t i = run->history_count; i-- > 0;) {
        const struct item_row *item = &run->history[i];

        behind = behind && !is_from_a_user(item);
        if (!behind && taint->earlier)
            return;
        if (is_of_this_turn(run, item)) {
            taint->waits =
                true; /* a residency that continues a turn: it counts from the next one on */
            continue;
        }
        if (!is_foreign(run, item))
            continue;
        if (behind)
            taint->since = item->completed_at;
        else
            taint->earlier = true;
    }
}

/* Nothing is read twice: what has been found stays true until the run ends, as no user speaks in between. */
static const struct run_taint *look(const struct run *run)
{
    struct run_taint *taint = run->taint;

    if (!taint->known || (taint->waits && taint->turn != run->calls.turn))
        read_history(run);
    taint->known = true;
    taint->turn = run->calls.turn;
    read_items(run);
    return taint;
}

/* References bring the text of variables into the calls of this turn. */
static bool has_references(const struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (run->calls.list[i].resolved)
            return true;
    }
    return false;
}

/* What runs in a container can do harm outside of it only by a network. Which container it will be is known when a
 * worker opens it, so what the operator allows decides. */
static bool acts(const struct run *run, const struct tool_use *use)
{
    return use->handler->flags & TOOL_ACTS || (use->handler->flags & TOOL_TAKES_SEAT &&
                                               engine_options(run->engine)->containers_online);
}

/* A program passes outputs on within its turn. The order in which its calls end makes no difference here either. */
static bool program_reads_foreign_text(const struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];

        if (*call->caller && call->use && run_reads_foreign_text(run, call->use))
            return true;
    }
    return false;
}

int64_t run_tainted_since(const struct run *run, const struct tool_use *use)
{
    const struct run_taint *taint;

    if (!acts(run, use) || engine_options(run->engine)->ignore_taint)
        return 0;
    taint = look(run);
    if (taint->since)
        return taint->since;
    if (program_reads_foreign_text(run))
        return run->row.created_at;
    return taint->earlier && has_references(run) ? run->row.created_at : 0;
}

bool run_reads_foreign_text(const struct run *run, const struct tool_use *use)
{
    const struct run_taint *taint;

    if (use->handler->flags & TOOL_FOREIGN)
        return true;
    if (!(use->handler->flags & (TOOL_READER | TOOL_VARIABLES)))
        return false;
    taint = look(run);
    return taint->since || taint->earlier;
}
