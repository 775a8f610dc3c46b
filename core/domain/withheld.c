/*
 * withheld.c -- marks, delivers and refuses the result of a call, inside its item.
 *
 *   withheld_mark()     the item has the result; "model_visible": false
 *   withheld_deliver()  approved: the mark becomes true
 *   withheld_refuse()   the result is removed; a refusal stands in its place
 *
 * The decision is kept in the item and not only in the approval's row. Everything that builds a request for
 * a model reads items: chains of responses, copies of threads, compaction. A separate list of forbidden
 * items would have to be consulted in each of these places, and one that forgets it leaks the result.
 *
 * A refusal deletes instead of hiding. Afterwards no part of the server can leak the result, because it is
 * gone: the text, parts of hosted calls, titles and metadata, and the variable, which was never created.
 *
 * Between the question and the answer the conversation may continue with other runs. Their model sees the
 * preliminary refusal `undecided`.
 */

#include "core/domain/withheld.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"

#define VISIBLE "model_visible"

/* No person has decided: the question waits, or its run has ended without an answer. */
static const char undecided[] =
    "{\"status\":\"rejected\",\"message\":\"Result not approved for LLM\"}";

void withheld_mark(json_t *notes)
{
    json_set_bool(notes, VISIBLE, false);
}

bool withheld_is_noted(const json_t *notes)
{
    return json_is_false(json_object_get(notes, VISIBLE));
}

bool withheld_is(const json_t *body)
{
    return withheld_is_noted(notes_of(body));
}

static bool is_refused(const json_t *notes)
{
    return strcmp(json_get_string(notes, "status", ""), "result_rejected") == 0;
}

bool withheld_waits(const json_t *body)
{
    return withheld_is(body) && !is_refused(notes_of(body));
}

const char *withheld_placeholder(const json_t *body)
{
    const json_t *notes = notes_of(body);

    return is_refused(notes) ? json_get_string(notes, "output", undecided) : undecided;
}

void withheld_deliver(json_t *body)
{
    if (withheld_waits(body))
        json_set_bool(notes_of(body), VISIBLE, true);
}

/* The variable of the result was never created; that of the arguments was. */
static void forget_variable(json_t *notes)
{
    json_t *variables = json_object_get(notes, "variables");

    json_object_del(variables, "result");
    if (!json_object_size(variables))
        json_object_del(notes, "variables");
}

/* A list becomes an empty list, everything else null, so that the item keeps its form. */
static void blank(json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (value)
        json_set(object, key, json_is_array(value) ? json_array() : json_null());
}

/* The members that show a result: text of most calls, lists of hosted calls. */
static void forget_shown(json_t *body)
{
    static const char *const shown[] = {"output", "error", "result", "results", "outputs"};

    for (size_t i = 0; i < COUNT_OF(shown); i++)
        blank(body, shown[i]);
    json_object_del(json_object_get(body, "action"), "sources"); /* that a web search found */
}

/* The notes about a result. They may quote it. */
static void forget_notes(json_t *notes)
{
    static const char *const noted[] = {"reason",      "title",        "metadata",
                                        "attachments", "is_truncated", "error_phase",
                                        NOTE_FILES};

    for (size_t i = 0; i < COUNT_OF(noted); i++)
        json_object_del(notes, noted[i]);
}

void withheld_refuse(json_t *body, const char *reason)
{
    json_t *notes = notes_of(body);
    AUTO_FREE char *refusal = withheld_refusal(reason);

    if (!withheld_is(body))
        return;
    forget_shown(body);
    blank(notes, "error"); /* hosted calls keep it there */
    json_set_string(notes, "output", refusal);
    json_set_string(notes, "status", "result_rejected");
    json_set_string(notes, "reject_reason", reason);
    forget_notes(notes);
    forget_variable(notes);
}

json_t *withheld_hold(const struct variable *variable)
{
    return json_build("{s:s, s:s, s:s, s:I}", "name", variable->name, "value", variable->value,
                      "description", variable->description, "created_at",
                      (json_int_t)variable->created_at);
}

/* It keeps the time of the result, not of the answer: a response that continues from this run sees the
 * variables that the run had when it ended. */
void withheld_variable(const json_t *held, struct variable *ret_variable)
{
    *ret_variable = (struct variable){
        .type = VARIABLE_TOOL_CALL_RESULT,
        .plain = true,
        .value = mem_strdup(json_get_string(held, "value", "")),
        .description = mem_strdup(json_get_string(held, "description", NULL)),
        .created_at = json_get_int(held, "created_at", clock_wall_us()),
    };
    ret_variable->length = (int64_t)variable_length(ret_variable->value);
    (void)snprintf(ret_variable->name, sizeof(ret_variable->name), "%s",
                   json_get_string(held, "name", ""));
}

char *withheld_refusal(const char *reason)
{
    json_auto_t *text = json_build("{s:s, s:s}", "status", "rejected", "message", reason);

    return json_text(text);
}
