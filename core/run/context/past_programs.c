#include "core/run/context/past_programs.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/past_calls.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

/* Bodies without it need not be parsed. */
#define NOTED "\"" NOTE_CALL_ID "\""

json_t *past_program_caller(const char *program)
{
    return json_build("{s:s, s:s}", "type", "program", "caller_id", program);
}

bool past_is_of_program(const json_t *body)
{
    const json_t *caller = json_object_get(body, "caller");

    return json_get_string(caller, "caller_id", NULL) != NULL;
}

static bool has_ended(const struct item_row *items, size_t count, size_t program)
{
    for (size_t i = program + 1; i < count; i++) {
        if (item_type_answers(items[i].type) == items[program].type && !items[i].hidden &&
            strcmp(items[i].call_id, items[program].call_id) == 0)
            return true;
    }
    return false;
}

size_t past_programs_next(const struct item_row *items, size_t count, size_t from)
{
    for (size_t i = from; i < count; i++) {
        if (item_type_makes_calls(items[i].type) && !items[i].hidden &&
            !has_ended(items, count, i))
            return i;
    }
    return count;
}

/* The call gets [its place, the place of its output], and -1 as long as it has no output. */
static void add_place(json_t *places, const struct item_row *items, size_t at, const char *id)
{
    json_t *known = json_object_get(places, id);

    if (!*id)
        return;
    if (!item_type_is_output(items[at].type))
        json_set(places, id, json_build("[i, i]", (int)at, -1));
    else if (known)
        json_array_set_new(known, 1, json_integer((json_int_t)at));
}

/* Items that a client has sent back have no other id of a server-side call than the one in their notes. */
json_t *past_program_places(const struct item_row *items, size_t count)
{
    json_t *places = json_object();

    for (size_t i = 0; i < count; i++) {
        bool noted = !*items[i].call_id && items[i].body && strstr(items[i].body, NOTED);
        json_auto_t *body = noted ? json_parse_own(items[i].body) : NULL;

        if (item_type_is_call(items[i].type) || item_type_is_output(items[i].type))
            add_place(places, items, i,
                      noted ? json_get_string(notes_of(body), NOTE_CALL_ID, "")
                            : items[i].call_id);
    }
    return places;
}

/* A list of parts is text for a program, line by line. The caller frees. */
static char *text_of(const json_t *output)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    if (json_is_string(output))
        return mem_strdup(json_string_value(output));
    if (!json_is_array(output))
        return json_text(output);
    json_array_foreach (output, i, part)
        buf_addf(&text, "%s%s", i ? "\n" : "", json_get_string(part, "text", ""));
    return text.data ? buf_take(&text) : mem_strdup("");
}

/* The output in an item of its own. The caller frees; NULL: it has no output. */
static char *answer_of(const struct item_row *items, json_int_t place)
{
    json_auto_t *body = NULL;
    json_auto_t *output = NULL;

    if (place < 0)
        return NULL;
    body = json_parse_own(items[place].body);
    output = past_output(items[place].type, item_status_name(items[place].status), body);
    return json_absent(output) ? NULL : text_of(output);
}

static bool has_failed(const struct item_row *call)
{
    return call->status == ITEM_FAILED || call->status == ITEM_INCOMPLETE;
}

/* What the program has written. Some items have another form of it, in which nothing is lost but the words: NULL. The
 * caller frees. */
static char *written_of(const struct item_row *call, const json_t *body)
{
    const struct tool_item *look = tool_registry_item(item_row_type_name(call));
    char *text;

    if (look && look->arguments && !json_object_get(body, "input"))
        return NULL;
    text = past_call_arguments(call->type, body);
    if (*text)
        return text;
    free(text);
    return mem_strdup("{}");
}

json_t *past_program_call(const struct item_row *items, const json_t *places,
                          const char *call_id)
{
    const json_t *known = json_object_get(places, call_id);
    json_int_t place = json_integer_value(json_array_get(known, 0));
    const struct item_row *item = &items[place];
    json_auto_t *body = known ? json_parse_own(item->body) : NULL;
    AUTO_FREE char *output = NULL;
    AUTO_FREE char *arguments = NULL;
    AUTO_FREE char *name = NULL;
    const char *own;

    if (!known || notes_say_cut(body))
        return NULL;
    own = past_own_output(item->type, body);
    output =
        own ? mem_strdup(own) : answer_of(items, json_integer_value(json_array_get(known, 1)));
    if (!output)
        return NULL;
    name = past_call_name(item->type, body);
    arguments = written_of(item, body);
    return json_build("{s:s, s:s*, s:s, s:b, s:s*}", "name", name, "arguments", arguments,
                      "output", output, "failed", own && has_failed(item), "label",
                      json_get_string(body, "server_label", NULL));
}
