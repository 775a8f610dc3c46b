/*
 * chat_calls.c -- deltas of tool calls, from servers that number them, and from others.
 *
 * OpenAI sends each call as a first delta with index, id and name, and then deltas with the index and a
 * piece of the arguments. Reading by the index alone would do for OpenAI, and mix up the calls of half
 * the servers that claim to be compatible. So a delta finds its call in two steps:
 *
 *   call_pointed_at  which call would continue: by index, else by id, else the last one. Some servers
 *                    begin a call without an index and continue it with one
 *   starts_anew      whether the delta is a new call all the same: another id, another name, or whole
 *                    arguments behind arguments that were whole
 *
 * The rest of the program knows calls one after another. Here they are brought into that order. The
 * first call that has not ended is live: its arguments are emitted as they come. Those of later calls
 * wait in memory. A live call ends when its JSON is complete and another call exists, because until
 * then the server may add to it: some send "{}" first and the arguments afterwards (is_bare).
 *
 * Whether the JSON is complete is found by counting brackets outside strings (struct extent), byte by byte
 * as the text comes. Parsing it again after each piece would take time that grows with its square.
 *
 * What must hold for the callbacks: begin, arguments, extra, end, for each call exactly once and in the
 * order of the calls; every id unique within the answer. A model may reuse an id, or send none, and the
 * client's output then has to find its call, so such an id is replaced.
 */

#include "core/model/chat/chat_calls.h"

#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/model/call_name.h"

#define NO_INDEX (-1)

/* Follows a text to the end of its JSON object. Only brackets and strings matter for that. */
struct extent {
    unsigned depth;
    bool in_string;
    bool escaped;
    bool complete;
};

struct chat_call {
    json_int_t index;   /* as the server numbers it, or NO_INDEX */
    char *given_id;     /* the server's id, or NULL */
    char *id;           /* the emitted id; NULL until then */
    char *name;         /* NULL until the server has sent it */
    json_t *extra;      /* its extra_content, or NULL */
    struct buf waiting; /* arguments that were not emitted yet */
    bool written;       /* some arguments were emitted */
    uint16_t split;     /* in the arguments: see chat_split_char.h */
    struct extent extent;
};

/* One delta, in one form. */
struct delta {
    json_int_t index;
    const char *id;
    const char *name;
    const char *arguments;
    size_t length;
    json_t *extra;
};

static void extent_add_byte(struct extent *extent, char byte)
{
    if (extent->escaped)
        extent->escaped = false;
    else if (extent->in_string && byte == '\\')
        extent->escaped = true;
    else if (byte == '"')
        extent->in_string = !extent->in_string;
    else if (extent->in_string)
        return;
    else if (byte == '{' || byte == '[')
        extent->depth++;
    else if ((byte == '}' || byte == ']') && extent->depth)
        extent->complete = --extent->depth == 0;
}

static void extent_add(struct extent *extent, const char *text, size_t length)
{
    for (size_t i = 0; i < length && !extent->complete; i++)
        extent_add_byte(extent, text[i]);
}

/* Servers write an empty string for a missing value. */
static const char *word_or_none(const json_t *object, const char *key)
{
    const char *word = json_get_string(object, key, "");

    return word[0] ? word : NULL;
}

/* Some servers leave out the "function" around name and arguments. The name is repaired, and arguments
 * that came as an object become text: *ret_name and *ret_text own these. */
static struct delta read_delta(const json_t *value, char **ret_name, char **ret_text)
{
    const json_t *function = json_object_get(value, "function");
    struct delta delta = {.index = json_get_int(value, "index", NO_INDEX),
                          .id = word_or_none(value, "id")};
    const json_t *arguments;

    if (json_object_size(json_object_get(value, "extra_content")))
        delta.extra = json_object_get(value, "extra_content");
    if (!json_is_object(function))
        function = value;
    delta.name = word_or_none(function, "name");
    if (delta.name)
        delta.name = *ret_name = mem_strndup(delta.name, call_name_length(delta.name));
    arguments = json_object_get(function, "arguments");
    if (json_is_string(arguments)) {
        delta.arguments = json_string_value(arguments);
        delta.length = json_string_length(arguments);
    } else if (!json_absent(arguments)) {
        delta.arguments = *ret_text = json_text(arguments);
        delta.length = strlen(*ret_text);
    }
    return delta;
}

static struct chat_call *call_with_index(const struct chat_calls *calls, json_int_t index)
{
    for (unsigned i = calls->count; i-- > 0;) {
        if (calls->list[i].index == index)
            return &calls->list[i];
    }
    return NULL;
}

static struct chat_call *call_with_id(const struct chat_calls *calls, const char *id)
{
    for (unsigned i = calls->count; i-- > 0;) {
        if (calls->list[i].given_id && strcmp(calls->list[i].given_id, id) == 0)
            return &calls->list[i];
    }
    return NULL;
}

/* The call that the delta numbers. The call may have begun without an index: then its id finds it. It is the last
 * call if the delta has neither id nor name. */
static struct chat_call *call_numbered(const struct chat_calls *calls,
                                       const struct delta *delta)
{
    struct chat_call *last = calls->count ? &calls->list[calls->count - 1] : NULL;
    struct chat_call *call = delta->id ? call_with_id(calls, delta->id) : NULL;

    if (call && call->index == NO_INDEX)
        return call;
    call = call_with_index(calls, delta->index);
    if (!call && last && last->index == NO_INDEX && !delta->id && !delta->name)
        return last;
    return call;
}

/* The call that a delta seems to continue: by index, else by id, else the last call. */
static struct chat_call *call_pointed_at(const struct chat_calls *calls,
                                         const struct delta *delta)
{
    struct chat_call *call;

    if (delta->index != NO_INDEX)
        return call_numbered(calls, delta);
    call = delta->id ? call_with_id(calls, delta->id) : NULL;
    if (call)
        return call;
    return calls->count ? &calls->list[calls->count - 1] : NULL;
}

/* True when the delta begins a new call although it points to `call`. A delta without a name never
 * does: some servers make up a new id for each delta. */
static bool starts_anew(const struct chat_call *call, const struct delta *delta)
{
    bool same_id = delta->id && call->given_id && strcmp(delta->id, call->given_id) == 0;
    bool other_id = delta->id && call->given_id && !same_id;

    if (!delta->name || !call->name)
        return false;
    /* Every call has the index 0, or none. */
    if (other_id || strcmp(delta->name, call->name) != 0)
        return true;
    /* Every delta repeats name and id; the last one may be empty. */
    if (delta->index != NO_INDEX && same_id)
        return false;
    /* Whole calls of the same tool, without ids or with the same id for all. */
    return call->extent.complete && delta->length;
}

/* The call that the delta continues; NULL for a new one. */
static struct chat_call *call_of(const struct chat_calls *calls, const struct delta *delta)
{
    struct chat_call *call = call_pointed_at(calls, delta);

    return call && starts_anew(call, delta) ? NULL : call;
}

static struct chat_call *call_add(struct chat_calls *calls, const struct delta *delta)
{
    struct chat_call *call;

    if (calls->count == calls->capacity) {
        calls->capacity = calls->capacity ? calls->capacity * 2 : 2;
        calls->list = mem_resize(calls->list, calls->capacity, sizeof(*calls->list));
    }
    call = &calls->list[calls->count++];
    *call = (struct chat_call){.index = delta->index};
    return call;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!strchr(" \t\r\n", text[i]))
            return false;
    }
    return true;
}

/* The arguments are "{}" so far, and more may follow: gateways to APIs where arguments begin as an
 * empty object send that first. */
static bool is_bare(const struct chat_call *call)
{
    return !call->written && call->waiting.length == 2 &&
           memcmp(call->waiting.data, "{}", 2) == 0;
}

static bool begins_object(const char *text, size_t length)
{
    while (length && strchr(" \t\r\n", *text)) {
        text++;
        length--;
    }
    return length && *text == '{';
}

/* Arguments that follow "{}" replace it. */
static void call_write(struct chat_call *call, const char *text, size_t length)
{
    if (!length)
        return;
    if (is_bare(call) && begins_object(text, length)) {
        buf_reset(&call->waiting);
        call->extent = (struct extent){0};
    }
    buf_add(&call->waiting, text, length);
    extent_add(&call->extent, text, length);
}

static void call_write_cut(struct chat_call *call, const struct chat_cut *cut)
{
    call_write(call, cut->head, cut->head_length);
    call_write(call, cut->text, cut->length);
}

static void call_fill(struct chat_call *call, const struct delta *delta,
                      const struct chat_surrogates *surrogates)
{
    struct chat_cut cut;

    if (call->index == NO_INDEX)
        call->index = delta->index;
    if (delta->id && !call->given_id)
        call->given_id = mem_strdup(delta->id);
    if (delta->name && !call->name)
        call->name = mem_strdup(delta->name);
    if (delta->extra) {
        json_decref(call->extra);
        call->extra = json_incref(delta->extra);
    }
    chat_split_char_cut(&call->split, surrogates, delta->arguments, delta->length, &cut);
    call_write_cut(call, &cut);
}

static bool id_is_used(const struct chat_calls *calls, unsigned before, const char *id)
{
    for (unsigned i = 0; i < before; i++) {
        if (strcmp(calls->list[i].id, id) == 0)
            return true;
    }
    return false;
}

/* The server's id, unless it is too long for a client to send back, or not unique. */
static char *choose_id(const struct chat_calls *calls, unsigned number)
{
    const char *given = calls->list[number].given_id;
    char made[ID_SIZE];

    if (given && strlen(given) <= ID_LIMIT && !id_is_used(calls, number, given))
        return mem_strdup(given);
    id_make(made, "call_");
    return mem_strdup(made);
}

/* Emits the beginning of the live call, once. */
static enum err_code begin_live(struct chat_calls *calls, struct chat_sink *sink)
{
    unsigned number = calls->live;
    struct chat_call *call = &calls->list[number];

    if (call->id)
        return ERR_OK;
    call->id = choose_id(calls, number);
    sink->announced = true;
    sink->events->call_begin(sink->arg, number, call->id, call->name);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

/* Emits what has come of the live call's arguments. */
static enum err_code pass_on(struct chat_calls *calls, struct chat_sink *sink)
{
    struct chat_call *call = &calls->list[calls->live];

    if (!call->waiting.length)
        return ERR_OK;
    call->written = true;
    sink->events->call_arguments(sink->arg, calls->live, call->waiting.data,
                                 call->waiting.length);
    buf_reset(&call->waiting);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

static enum err_code pass_extra(struct chat_calls *calls, struct chat_sink *sink)
{
    const json_t *extra = calls->list[calls->live].extra;

    if (!extra)
        return ERR_OK;
    sink->events->call_extra(sink->arg, calls->live, extra);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

static enum err_code end_live(struct chat_calls *calls, struct chat_sink *sink)
{
    enum err_code rc = pass_on(calls, sink);

    if (!rc)
        rc = pass_extra(calls, sink);
    if (rc)
        return rc;
    buf_clear(&calls->list[calls->live].waiting);
    sink->events->call_end(sink->arg, calls->live++);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

/* Emits as much as the order allows. A call without a name holds up the later ones. */
static enum err_code advance(struct chat_calls *calls, struct chat_sink *sink)
{
    while (calls->live < calls->count && calls->list[calls->live].name) {
        const struct chat_call *live = &calls->list[calls->live];
        enum err_code rc = begin_live(calls, sink);

        if (rc)
            return rc;
        if (!live->extent.complete || calls->live + 1 == calls->count)
            return is_bare(live) ? ERR_OK : pass_on(calls, sink);
        rc = end_live(calls, sink);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static size_t length_of(const char *word)
{
    return word ? strlen(word) : 0;
}

/* Too large an extra_content is dropped. The upstream may then refuse the call, with an error that
 * says so. */
static size_t extra_length(struct delta *delta)
{
    size_t length = delta->extra ? json_dumpb(delta->extra, NULL, 0, JSON_COMPACT) : 0;

    if (length <= MODEL_EXTRA_LIMIT)
        return length;
    log_warn("the extra_content of a tool call is larger than %zu bytes and is dropped",
             MODEL_EXTRA_LIMIT);
    delta->extra = NULL;
    return 0;
}

static bool has_ended(const struct chat_calls *calls, const struct chat_call *call)
{
    return call < calls->list + calls->live;
}

enum err_code chat_calls_take(struct chat_calls *calls, const json_t *value,
                              struct chat_sink *sink, struct chat_failure *failure)
{
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *text = NULL;
    struct delta delta = read_delta(value, &name, &text);
    size_t extra = extra_length(&delta);
    bool speaks = delta.id || delta.name || delta.length;
    struct chat_call *call;

    if (!speaks && !delta.extra)
        return ERR_OK;
    sink->size += delta.length + length_of(delta.id) + length_of(delta.name) + extra;
    if (sink->size > MODEL_TURN_LIMIT)
        return chat_error_broken(failure, "The model's answer is larger than %zu bytes.",
                                 MODEL_TURN_LIMIT);
    call = call_of(calls, &delta);
    if (!call && !speaks)
        return ERR_OK; /* extra content without a call */
    if (call && has_ended(calls, call)) {
        if (is_blank(delta.arguments, delta.length))
            return ERR_OK;
        return chat_error_broken(failure, "The model continued a tool call that was complete.");
    }
    if (!call && calls->count == MODEL_CALL_LIMIT)
        return chat_error_broken(failure, "The model made more than %d tool calls at once.",
                                 MODEL_CALL_LIMIT);
    if (!call)
        call = call_add(calls, &delta);
    call_fill(call, &delta, &sink->surrogates);
    return advance(calls, sink);
}

enum err_code chat_calls_end(struct chat_calls *calls, struct chat_sink *sink,
                             struct chat_failure *failure)
{
    while (calls->live < calls->count) {
        struct chat_call *live = &calls->list[calls->live];
        struct chat_cut cut;
        enum err_code rc;

        if (!live->name)
            return chat_error_broken(failure, "The model called a tool without naming it.");
        chat_split_char_end(&live->split, &cut);
        call_write_cut(live, &cut);
        rc = begin_live(calls, sink);
        if (!rc)
            rc = end_live(calls, sink);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

void chat_calls_clear(struct chat_calls *calls)
{
    for (unsigned i = 0; i < calls->count; i++) {
        free(calls->list[i].given_id);
        free(calls->list[i].id);
        free(calls->list[i].name);
        json_decref(calls->list[i].extra);
        buf_clear(&calls->list[i].waiting);
    }
    free(calls->list);
    *calls = (struct chat_calls){0};
}
