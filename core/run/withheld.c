#include "core/run/withheld.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

#define VISIBLE "model_visible"

/* Nobody has said yes: the question waits, or its run has ended without an answer. */
static const char undecided[] =
    "{\"status\":\"rejected\",\"message\":\"Result not approved for LLM\"}";

void withheld_mark(json_t *notes)
{
    json_set_bool(notes, VISIBLE, false);
}

static json_t *notes_of(const json_t *body)
{
    return json_object_get(body, "runnel");
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

const char *withheld_told(const json_t *body)
{
    const json_t *notes = notes_of(body);

    return is_refused(notes) ? json_get_string(notes, "output", undecided) : undecided;
}

void withheld_deliver(json_t *body)
{
    if (withheld_waits(body))
        json_set_bool(notes_of(body), VISIBLE, true);
}

/* The variable was never made; that of the arguments was. */
static void forget_variable(json_t *notes)
{
    json_t *variables = json_object_get(notes, "variables");

    json_object_del(variables, "result");
    if (!json_object_size(variables))
        json_object_del(notes, "variables");
}

static void blank(json_t *object, const char *key)
{
    if (json_object_get(object, key))
        json_set(object, key, json_null());
}

void withheld_refuse(json_t *body, const char *reason)
{
    json_t *notes = notes_of(body);
    AUTO_FREE char *told = withheld_refusal(reason);

    if (!withheld_is(body))
        return;
    blank(body, "output");
    blank(body, "error");
    blank(notes, "error"); /* hosted calls keep it there */
    json_set_string(notes, "output", told);
    json_set_string(notes, "status", "result_rejected");
    json_set_string(notes, "reject_reason", reason);
    forget_variable(notes);
}

char *withheld_refusal(const char *reason)
{
    json_auto_t *text = json_build("{s:s, s:s}", "status", "rejected", "message", reason);

    return json_text(text);
}
