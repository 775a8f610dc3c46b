#include "core/model/answer.h"

#include <stdio.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/call_name.h"

/*
 * responses_answer.c -- reads the JSON of a Responses answer.
 *
 * The dialect is redundant. A text comes as deltas, and then whole three times: in an event of its part, of
 * its item, and of the response. Servers leave out what they like. So an item is followed while it grows,
 * and what a later event has that was not emitted is emitted then. The last chance is the end of the
 * response. Nothing is emitted twice, because struct responses_items counts what was.
 *
 * To wait for whole items would be simpler, but the client would see no text until an item ends.
 *
 * The rest of the program knows items one after another. Servers may interleave them: see
 * responses_items.h.
 *
 * A call that the upstream executes itself is emitted as it is, and its reader knows which of them it has wanted.
 * Pictures are larger than texts, so such calls have a limit of their own, and a stream that may bring them has larger
 * events.
 *
 * A call of a custom tool is emitted as a function with one argument, `input`, because for the rest
 * of the program all calls have arguments.
 */

#define EVENT_COST 64 /* bytes that an item counts for, besides its text */

#define CUSTOM_HEAD "{\"input\":\""
#define CUSTOM_TAIL "\"}"

#define CALL_SUFFIX  "_call"
#define EVENT_PREFIX "response."

/* clang-format off */
static const struct {
    const char *type;
    enum responses_kind kind;
} item_types[] = {
    {"message",          RESPONSES_MESSAGE},
    {"reasoning",        RESPONSES_REASONING},
    {"function_call",    RESPONSES_FUNCTION_CALL},
    {"custom_tool_call", RESPONSES_CUSTOM_CALL},
};

static const struct {
    enum responses_list list;
    const char *key;
} lists[] = { /* in the order in which they are emitted */
    {RESPONSES_SUMMARY, "summary"},
    {RESPONSES_CONTENT, "content"},
};

/* The text of a part of an item, by its type. */
static const struct part_type {
    const char *type;
    const char *key;
    size_t piece; /* callback of struct model_events */
} part_types[] = {
    {"output_text",    "text",    offsetof(struct model_events, text)},
    {"text",           "text",    offsetof(struct model_events, text)},
    {"refusal",        "refusal", offsetof(struct model_events, refusal)},
    {"reasoning_text", "text",    offsetof(struct model_events, reasoning)},
    {"summary_text",   "text",    offsetof(struct model_events, summary)},
};

enum growth { DELTA, ALL };

/* Events that add text to a part, or to the arguments of a call. */
static const struct growing {
    const char *type;
    enum growth growth;
    const char *key;   /* of the text */
    enum responses_kind kind;
    const char *part;  /* type of the part; NULL for arguments */
    enum responses_list list;
} growing_events[] = {
    {"response.output_text.delta",             DELTA, "delta",     RESPONSES_MESSAGE,       "output_text",    RESPONSES_CONTENT},
    {"response.output_text.done",              ALL,   "text",      RESPONSES_MESSAGE,       "output_text",    RESPONSES_CONTENT},
    {"response.refusal.delta",                 DELTA, "delta",     RESPONSES_MESSAGE,       "refusal",        RESPONSES_CONTENT},
    {"response.refusal.done",                  ALL,   "refusal",   RESPONSES_MESSAGE,       "refusal",        RESPONSES_CONTENT},
    {"response.function_call_arguments.delta", DELTA, "delta",     RESPONSES_FUNCTION_CALL, NULL,             RESPONSES_CONTENT},
    {"response.function_call_arguments.done",  ALL,   "arguments", RESPONSES_FUNCTION_CALL, NULL,             RESPONSES_CONTENT},
    {"response.custom_tool_call_input.delta",  DELTA, "delta",     RESPONSES_CUSTOM_CALL,   NULL,             RESPONSES_CONTENT},
    {"response.custom_tool_call_input.done",   ALL,   "input",     RESPONSES_CUSTOM_CALL,   NULL,             RESPONSES_CONTENT},
    {"response.reasoning_summary_text.delta",  DELTA, "delta",     RESPONSES_REASONING,     "summary_text",   RESPONSES_SUMMARY},
    {"response.reasoning_summary_text.done",   ALL,   "text",      RESPONSES_REASONING,     "summary_text",   RESPONSES_SUMMARY},
    {"response.reasoning_text.delta",          DELTA, "delta",     RESPONSES_REASONING,     "reasoning_text", RESPONSES_CONTENT},
    {"response.reasoning_text.done",           ALL,   "text",      RESPONSES_REASONING,     "reasoning_text", RESPONSES_CONTENT},
    {"response.reasoning.delta",               DELTA, "delta",     RESPONSES_REASONING,     "reasoning_text", RESPONSES_CONTENT},
    {"response.reasoning.done",                ALL,   "text",      RESPONSES_REASONING,     "reasoning_text", RESPONSES_CONTENT},
};
/* clang-format on */

static struct responses_items *items_of(struct answer *answer)
{
    return &answer->state.items;
}

static bool is_hosted_type(const char *type)
{
    size_t length = strlen(type);

    return length > strlen(CALL_SUFFIX) &&
           length < sizeof(((struct responses_items *)0)->hosted_type) &&
           strcmp(type + length - strlen(CALL_SUFFIX), CALL_SUFFIX) == 0;
}

static enum responses_kind kind_of(const struct answer *answer, const json_t *item)
{
    const char *type = json_get_string(item, "type", "");

    for (size_t i = 0; i < COUNT_OF(item_types); i++) {
        if (strcmp(item_types[i].type, type) == 0)
            return item_types[i].kind;
    }
    return answer->sink.events->hosted && is_hosted_type(type) ? RESPONSES_HOSTED_CALL
                                                               : RESPONSES_OTHER;
}

static const struct part_type *part_type_of(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(part_types); i++) {
        if (strcmp(part_types[i].type, type) == 0)
            return &part_types[i];
    }
    return NULL;
}

static bool is_call(enum responses_kind kind)
{
    return kind == RESPONSES_FUNCTION_CALL || kind == RESPONSES_CUSTOM_CALL;
}

static enum err_code stopped(const struct answer *answer)
{
    return answer->sink.stopped ? ERR_CANCELLED : ERR_OK;
}

/* Adds to a set, which is made when it is first needed. */
static void put_word(json_t **set, const char *word)
{
    if (!*set)
        *set = json_object();
    json_set_bool(*set, word, true);
}

static void put_begun(struct responses_items *items, json_int_t index)
{
    char word[32];

    (void)snprintf(word, sizeof(word), "%lld", (long long)index);
    put_word(&items->begun, word);
}

static bool has_begun(const struct responses_items *items, json_int_t index)
{
    char word[32];

    (void)snprintf(word, sizeof(word), "%lld", (long long)index);
    return json_object_get(items->begun, word);
}

/* ---- Calls ---- */

/* The server's id, unless it is too long for a client to send back, or not unique. */
static void choose_id(struct responses_items *items, const char *given,
                      char ret_id[ID_LIMIT + 1])
{
    char made[ID_SIZE];

    if (*given && strlen(given) <= ID_LIMIT && !json_object_get(items->ids, given)) {
        (void)snprintf(ret_id, ID_LIMIT + 1, "%s", given);
    } else {
        id_make(made, "call_");
        (void)snprintf(ret_id, ID_LIMIT + 1, "%s", made);
    }
    put_word(&items->ids, ret_id);
}

static enum err_code pass_arguments(struct answer *answer, const char *text, size_t length)
{
    struct chat_sink *sink = &answer->sink;
    enum err_code rc = length ? answer_count(answer, length) : ERR_OK;

    if (rc || !length)
        return rc;
    sink->announced = true;
    sink->events->call_arguments(sink->arg, items_of(answer)->calls - 1, text, length);
    return stopped(answer);
}

/* Emits what the model writes for a call, as arguments. */
static enum err_code pass_written(struct answer *answer, const char *text, size_t length)
{
    struct responses_items *items = items_of(answer);

    if (items->kind == RESPONSES_FUNCTION_CALL)
        return pass_arguments(answer, text, length);
    buf_reset(&items->escaped);
    buf_add_json_escaped(&items->escaped, text, length);
    return pass_arguments(answer, items->escaped.data, items->escaped.length);
}

static enum err_code pass_input_cut(struct answer *answer, const struct chat_cut *cut)
{
    enum err_code rc = pass_written(answer, cut->head, cut->head_length);

    return rc ? rc : pass_written(answer, cut->text, cut->length);
}

static enum err_code pass_input(struct answer *answer, const char *text, size_t length)
{
    struct chat_cut cut;

    chat_split_char_cut(&items_of(answer)->split, &answer->sink.surrogates, text, length, &cut);
    return pass_input_cut(answer, &cut);
}

static enum err_code settle_input(struct answer *answer)
{
    struct chat_cut cut;

    chat_split_char_end(&items_of(answer)->split, &cut);
    return pass_input_cut(answer, &cut);
}

/* Calls of both kinds have one limit: each is an item of the response. */
static enum err_code check_room(const struct answer *answer)
{
    const struct responses_items *items = &answer->state.items;

    if (items->calls + items->hosted_calls < MODEL_CALL_LIMIT)
        return ERR_OK;
    return chat_error_broken(answer->failure, "The model made more than %d tool calls at once.",
                             MODEL_CALL_LIMIT);
}

static enum err_code begin_call(struct answer *answer, const json_t *item)
{
    struct responses_items *items = items_of(answer);
    struct chat_sink *sink = &answer->sink;
    const char *given = json_get_string(item, "name", "");
    AUTO_FREE char *name = mem_strndup(given, call_name_length(given));
    char id[ID_LIMIT + 1];
    enum err_code rc;

    if (!*name)
        return chat_error_broken(answer->failure, "The model called a tool without naming it.");
    rc = check_room(answer);
    rc = rc ? rc : answer_count(answer, strlen(name));
    if (rc)
        return rc;
    choose_id(items, json_get_string(item, "call_id", ""), id);
    sink->announced = true;
    sink->events->call_begin(sink->arg, items->calls++, id, name);
    if (sink->stopped || items->kind == RESPONSES_FUNCTION_CALL)
        return stopped(answer);
    return pass_arguments(answer, CUSTOM_HEAD, strlen(CUSTOM_HEAD));
}

static enum err_code end_call(struct answer *answer)
{
    struct responses_items *items = items_of(answer);
    struct chat_sink *sink = &answer->sink;
    enum err_code rc = settle_input(answer);

    if (!rc && items->kind == RESPONSES_CUSTOM_CALL)
        rc = pass_arguments(answer, CUSTOM_TAIL, strlen(CUSTOM_TAIL));
    if (rc)
        return rc;
    sink->events->call_end(sink->arg, items->calls - 1);
    return stopped(answer);
}

/* ---- Calls that the upstream executes ---- */

static enum err_code count_hosted(struct answer *answer, const json_t *value)
{
    struct responses_items *items = items_of(answer);

    items->hosted_size += json_dumpb(value, NULL, 0, JSON_COMPACT);
    if (items->hosted_size <= MODEL_HOSTED_LIMIT)
        return ERR_OK;
    return chat_error_broken(answer->failure,
                             "The calls that the upstream has executed are larger than %zu "
                             "bytes.",
                             MODEL_HOSTED_LIMIT);
}

static enum err_code begin_hosted(struct answer *answer, const json_t *item)
{
    struct responses_items *items = items_of(answer);
    struct chat_sink *sink = &answer->sink;
    enum err_code rc = check_room(answer);

    if (rc)
        return rc;
    items->hosted_calls++;
    (void)snprintf(items->hosted_type, sizeof(items->hosted_type), "%s",
                   json_get_string(item, "type", ""));
    sink->announced = true;
    sink->events->hosted->begin(sink->arg, items->hosted_type);
    return stopped(answer);
}

static enum err_code finish_hosted(struct answer *answer, const json_t *item)
{
    struct chat_sink *sink = &answer->sink;
    enum err_code rc = count_hosted(answer, item);

    if (rc)
        return rc;
    sink->events->hosted->end(sink->arg, item);
    return stopped(answer);
}

/* The stage that the name of an event of the open call says; NULL: it is another event. */
static const char *stage_in(const struct responses_items *items, const char *type)
{
    size_t length = strlen(items->hosted_type);

    if (strncmp(type, EVENT_PREFIX, strlen(EVENT_PREFIX)) != 0)
        return NULL;
    type += strlen(EVENT_PREFIX);
    return strncmp(type, items->hosted_type, length) == 0 && type[length] == '.'
               ? type + length + 1
               : NULL;
}

/* ---- Parts ---- */

static enum err_code pass_part(struct answer *answer, const char *type, const char *text,
                               size_t length)
{
    const struct part_type *part = part_type_of(type);
    answer_piece_fn *piece;

    if (!part)
        return ERR_OK;
    memcpy(&piece, (const char *)answer->sink.events + part->piece, sizeof(piece));
    items_of(answer)->emitted += length;
    return answer_pass(answer, piece, text, length);
}

/* The next piece belongs to this part. False when the part has ended already. */
static bool turn_to_part(struct answer *answer, enum responses_list list, json_int_t index)
{
    struct responses_items *items = items_of(answer);
    size_t number = index < 0 ? 1 : (size_t)index + 1;

    if (number < items->parts[list])
        return false;
    if (number == items->parts[list])
        return true;
    if (items->parts[list]) {
        if (answer_settle(answer))
            return false;
        answer->sink.events->part_end(answer->sink.arg);
    }
    items->parts[list] = number;
    items->emitted = 0;
    items->annotations = 0;
    return !answer->sink.stopped;
}

/* Emits the annotations of the part that were not emitted yet. */
static enum err_code emit_annotations(struct answer *answer, const json_t *part)
{
    struct responses_items *items = items_of(answer);
    const json_t *list = json_object_get(part, "annotations");
    enum err_code rc = ERR_OK;

    while (!rc && items->annotations < json_array_size(list))
        rc = answer_pass_annotation(answer, json_array_get(list, items->annotations++));
    return rc;
}

static enum err_code emit_part(struct answer *answer, const json_t *part)
{
    const char *type = json_get_string(part, "type", "");
    const struct part_type *known = part_type_of(type);
    const json_t *text = known ? json_object_get(part, known->key) : NULL;
    enum err_code rc;

    if (!items_of(answer)->emitted && json_string_length(text)) {
        rc = pass_part(answer, type, json_string_value(text), json_string_length(text));
        if (rc)
            return rc;
    }
    return emit_annotations(answer, part);
}

static enum err_code emit_list(struct answer *answer, enum responses_list list,
                               const json_t *parts)
{
    const struct responses_items *items = items_of(answer);
    size_t first = items->parts[list] ? items->parts[list] - 1 : 0;

    for (size_t i = first; i < json_array_size(parts); i++) {
        enum err_code rc;

        if (!turn_to_part(answer, list, (json_int_t)i))
            return stopped(answer);
        rc = emit_part(answer, json_array_get(parts, i));
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Items ---- */

static enum err_code begin_item(struct answer *answer, json_int_t index, const json_t *item)
{
    struct responses_items *items = items_of(answer);
    enum err_code rc = answer_count(answer, EVENT_COST);

    if (rc)
        return rc;
    put_begun(items, index);
    items->open = true;
    items->split = 0;
    items->index = index;
    items->kind = kind_of(answer, item);
    items->emitted = items->annotations = 0;
    memset(items->parts, 0, sizeof(items->parts));
    if (items->kind == RESPONSES_HOSTED_CALL)
        return begin_hosted(answer, item);
    return is_call(items->kind) ? begin_call(answer, item) : ERR_OK;
}

/* The token limit has cut the item. It stays open until the end of the turn. */
static bool is_cut(const json_t *item)
{
    return strcmp(json_get_string(item, "status", ""), "incomplete") == 0;
}

static enum err_code finish_call(struct answer *answer, const json_t *item)
{
    const struct responses_items *items = items_of(answer);
    const json_t *text =
        json_object_get(item, items->kind == RESPONSES_FUNCTION_CALL ? "arguments" : "input");

    if (!items->emitted && json_string_length(text)) {
        enum err_code rc =
            pass_input(answer, json_string_value(text), json_string_length(text));

        if (rc)
            return rc;
    }
    return is_cut(item) ? ERR_OK : end_call(answer);
}

static enum err_code finish_parts(struct answer *answer, const json_t *item)
{
    enum responses_kind kind = items_of(answer)->kind;
    struct chat_sink *sink = &answer->sink;
    struct model_item end = {
        .kind = kind == RESPONSES_MESSAGE ? MODEL_ITEM_MESSAGE : MODEL_ITEM_REASONING,
        .id = json_get_string(item, "id", NULL),
        .encrypted_content = json_get_string(item, "encrypted_content", NULL)};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < COUNT_OF(lists); i++)
        rc = emit_list(answer, lists[i].list, json_object_get(item, lists[i].key));
    if (!rc)
        rc = answer_settle(answer);
    if (!rc && end.encrypted_content)
        rc = answer_count(answer, strlen(end.encrypted_content));
    if (rc || is_cut(item))
        return rc;
    sink->announced = true;
    sink->events->item_end(sink->arg, &end);
    return stopped(answer);
}

/* The open item is complete: emits what was not emitted of it. */
static enum err_code finish_item(struct answer *answer, const json_t *item)
{
    struct responses_items *items = items_of(answer);

    items->open = false;
    if (is_call(items->kind))
        return finish_call(answer, item);
    if (items->kind == RESPONSES_HOSTED_CALL)
        return finish_hosted(answer, item);
    return items->kind == RESPONSES_OTHER ? ERR_OK : finish_parts(answer, item);
}

static enum err_code emit_item(struct answer *answer, json_int_t index, const json_t *item)
{
    enum err_code rc = begin_item(answer, index, item);

    return rc ? rc : finish_item(answer, item);
}

/* Emits the complete items that had to wait. */
static enum err_code emit_late(struct answer *answer)
{
    struct responses_items *items = items_of(answer);
    json_auto_t *late = TAKE(items->late);

    for (size_t i = 0; i < json_array_size(late); i++) {
        const json_t *event = json_array_get(late, i);
        enum err_code rc = emit_item(answer, json_get_int(event, "output_index", -1),
                                     json_object_get(event, "item"));

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code put_late(struct answer *answer, const json_t *event)
{
    struct responses_items *items = items_of(answer);
    AUTO_FREE char *text = json_text(event);
    enum err_code rc = answer_count(answer, strlen(text));

    if (rc)
        return rc;
    if (!items->late)
        items->late = json_array();
    json_array_append(items->late, (json_t *)(uintptr_t)event);
    return ERR_OK;
}

/* ---- Events ---- */

static bool is_of_open_item(const struct answer *answer, const json_t *event)
{
    const struct responses_items *items = &answer->state.items;

    return items->open && json_get_int(event, "output_index", -1) == items->index;
}

static enum err_code item_added(struct answer *answer, const json_t *event)
{
    const struct responses_items *items = items_of(answer);
    json_int_t index = json_get_int(event, "output_index", -1);

    if (items->open || has_begun(items, index))
        return ERR_OK;
    return begin_item(answer, index, json_object_get(event, "item"));
}

static enum err_code item_done(struct answer *answer, const json_t *event)
{
    const struct responses_items *items = items_of(answer);
    const json_t *item = json_object_get(event, "item");
    json_int_t index = json_get_int(event, "output_index", -1);
    enum err_code rc;

    if (is_of_open_item(answer, event))
        rc = finish_item(answer, item);
    else if (has_begun(items, index))
        return ERR_OK;
    else if (items->open)
        return put_late(answer, event);
    else
        rc = emit_item(answer, index, item);
    return rc ? rc : emit_late(answer);
}

static enum err_code part_done(struct answer *answer, const json_t *event)
{
    if (!is_of_open_item(answer, event) || items_of(answer)->kind != RESPONSES_MESSAGE)
        return ERR_OK;
    if (!turn_to_part(answer, RESPONSES_CONTENT, json_get_int(event, "content_index", 0)))
        return stopped(answer);
    return emit_part(answer, json_object_get(event, "part"));
}

static enum err_code annotation_added(struct answer *answer, const json_t *event)
{
    if (!is_of_open_item(answer, event) || items_of(answer)->kind != RESPONSES_MESSAGE)
        return ERR_OK;
    if (!turn_to_part(answer, RESPONSES_CONTENT, json_get_int(event, "content_index", 0)))
        return stopped(answer);
    items_of(answer)->annotations++;
    return answer_pass_annotation(answer, json_object_get(event, "annotation"));
}

static enum err_code grow_part(struct answer *answer, const struct growing *growing,
                               const json_t *event, const json_t *text)
{
    const char *key = growing->list == RESPONSES_SUMMARY ? "summary_index" : "content_index";

    if (!turn_to_part(answer, growing->list, json_get_int(event, key, 0)))
        return stopped(answer);
    if (growing->growth == ALL && items_of(answer)->emitted)
        return ERR_OK;
    return pass_part(answer, growing->part, json_string_value(text), json_string_length(text));
}

static enum err_code grow(struct answer *answer, const struct growing *growing,
                          const json_t *event)
{
    struct responses_items *items = items_of(answer);
    const json_t *text = json_object_get(event, growing->key);

    if (!is_of_open_item(answer, event) || items->kind != growing->kind ||
        !json_string_length(text))
        return ERR_OK;
    if (growing->growth == DELTA && growing->part) {
        enum err_code rc = answer_pass_logprobs(answer, json_object_get(event, "logprobs"));

        if (rc)
            return rc;
    }
    if (growing->part)
        return grow_part(answer, growing, event, text);
    if (growing->growth == ALL && items->emitted)
        return ERR_OK;
    items->emitted += json_string_length(text);
    return pass_input(answer, json_string_value(text), json_string_length(text));
}

/* An event of no other name: a stage of the open hosted call, or ignored. */
static enum err_code hosted_event(struct answer *answer, const char *type, const json_t *event)
{
    const struct responses_items *items = items_of(answer);
    struct chat_sink *sink = &answer->sink;
    const char *stage;
    enum err_code rc;

    if (!is_of_open_item(answer, event) || items->kind != RESPONSES_HOSTED_CALL)
        return ERR_OK;
    stage = stage_in(items, type);
    rc = stage ? count_hosted(answer, event) : ERR_OK;
    if (rc || !stage)
        return rc;
    sink->events->hosted->stage(sink->arg, stage, event);
    return stopped(answer);
}

/* ---- The end ---- */

static enum model_finish finish_of(const json_t *response)
{
    const char *reason =
        json_get_string(json_object_get(response, "incomplete_details"), "reason", "");

    if (strcmp(json_get_string(response, "status", ""), "incomplete") != 0)
        return MODEL_FINISH_STOP;
    return strcmp(reason, "content_filter") == 0 ? MODEL_FINISH_CONTENT_FILTER
                                                 : MODEL_FINISH_LENGTH;
}

/* Emits the items of the response that had no event. That stops at events without an index, which
 * could have been of any item. */
static enum err_code emit_rest(struct answer *answer, const json_t *output)
{
    struct responses_items *items = items_of(answer);

    for (size_t i = 0; i < json_array_size(output) && !has_begun(items, -1); i++) {
        const json_t *item = json_array_get(output, i);
        enum err_code rc = ERR_OK;

        if (items->open && items->index == (json_int_t)i)
            rc = finish_item(answer, item);
        else if (!items->open && !has_begun(items, (json_int_t)i))
            rc = emit_item(answer, (json_int_t)i, item);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static void read_usage(struct answer *answer, const json_t *response)
{
    answer_read_usage(answer, json_object_get(response, "usage"), "input_tokens",
                      "output_tokens");
}

static enum err_code response_ended(struct answer *answer, const json_t *response)
{
    enum err_code rc = emit_rest(answer, json_object_get(response, "output"));

    if (rc)
        return rc;
    read_usage(answer, response);
    answer->finish = finish_of(response);
    answer->finish_seen = answer->done_seen = true;
    return ERR_OK;
}

static enum err_code response_failed(struct answer *answer, const json_t *response)
{
    enum err_code rc;

    read_usage(answer, response);
    rc = chat_error_in(response, answer->failure);
    if (rc)
        return rc;
    chat_error_broken(answer->failure, "The model's response %s.",
                      strcmp(json_get_string(response, "status", ""), "cancelled") == 0
                          ? "was cancelled"
                          : "failed without saying why");
    answer->failure->temporary = true;
    return ERR_UPSTREAM;
}

static enum err_code ended_event(struct answer *answer, const json_t *event)
{
    return response_ended(answer, json_object_get(event, "response"));
}

static enum err_code failed_event(struct answer *answer, const json_t *event)
{
    return response_failed(answer, json_object_get(event, "response"));
}

static enum err_code error_event(struct answer *answer, const json_t *event)
{
    read_usage(answer, event);
    return chat_error_in(event, answer->failure);
}

/* clang-format off */
static const struct {
    const char *type;
    enum err_code (*read)(struct answer *answer, const json_t *event);
} other_events[] = { /* all others are ignored */
    {"response.output_item.added",            item_added},
    {"response.output_item.done",             item_done},
    {"response.content_part.done",            part_done},
    {"response.output_text.annotation.added", annotation_added},
    {"response.completed",                    ended_event},
    {"response.incomplete",                   ended_event},
    {"response.failed",                       failed_event},
    {"response.cancelled",                    failed_event},
    {"error",                                 error_event},
};
/* clang-format on */

static enum err_code read_event(struct answer *answer, const json_t *event)
{
    const char *type = json_get_string(event, "type", "");

    for (size_t i = 0; i < COUNT_OF(growing_events); i++) {
        if (strcmp(growing_events[i].type, type) == 0)
            return grow(answer, &growing_events[i], event);
    }
    for (size_t i = 0; i < COUNT_OF(other_events); i++) {
        if (strcmp(other_events[i].type, type) == 0)
            return other_events[i].read(answer, event);
    }
    return *type ? hosted_event(answer, type, event) : error_event(answer, event);
}

static enum err_code read_whole(struct answer *answer, const json_t *whole)
{
    const char *status = json_get_string(whole, "status", "");
    enum err_code rc;

    read_usage(answer, whole);
    rc = chat_error_in(whole, answer->failure);
    if (rc)
        return rc;
    if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0)
        return response_failed(answer, whole);
    if (!json_is_array(json_object_get(whole, "output")))
        return chat_error_broken(answer->failure,
                                 "The upstream model server's answer holds no output.");
    return response_ended(answer, whole);
}

/* Ends the open item of a server that did not end it. */
static enum err_code end_open(struct answer *answer)
{
    json_auto_t *nothing = json_object();
    enum err_code rc = ERR_OK;

    if (items_of(answer)->open)
        rc = finish_item(answer, nothing);
    return rc ? rc : emit_late(answer);
}

static unsigned count_calls(const struct answer *answer)
{
    return answer->state.items.calls;
}

static void clear(struct answer *answer)
{
    struct responses_items *items = items_of(answer);

    json_decref(items->begun);
    json_decref(items->ids);
    json_decref(items->late);
    buf_clear(&items->escaped);
    *items = (struct responses_items){0};
}

const struct answer_dialect responses_answer = {
    .event = read_event,
    .whole = read_whole,
    .usage = read_usage,
    .end = end_open,
    .calls = count_calls,
    .clear = clear,
};
