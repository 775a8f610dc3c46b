/*
 * past_reasoning.c -- notes of reasoning, and the message that they become part of.
 *
 *   upstream ─▶ item, notes ──────────────────────────────▶ past_reasoning_give_back() ─▶ upstream
 *                 └─▶ sealed ─▶ client ─▶ past_reasoning_open() ─▶ notes ─┘
 *
 * The seal has a domain of its own beside that of compactions, which lies in the same project: a client
 * cannot pass the one off as the other.
 *
 * Rejected: to keep the upstream's whole message. Its text, calls and reasoning are items already, and a
 * second copy would disagree with them after a mask, a cut or a compaction.
 */

#include "core/run/context/past_reasoning.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"

#define CONTENT "reasoning_content"

/* Of what is sealed: a request may not bring back more. */
#define CARRIED_LIMIT (SEAL_TEXT_LIMIT / 2)

/* ---- Notes ---- */

static json_t *reasoning_of(const json_t *body)
{
    return json_object_get(notes_of(body), "reasoning");
}

enum past_reasoning_maker past_reasoning_maker(const json_t *body, const char *upstream)
{
    const char *maker = json_get_string(notes_of(body), "upstream", NULL);

    if (!maker)
        return PAST_REASONING_CLIENTS;
    return strcmp(maker, upstream) == 0 ? PAST_REASONING_OWN : PAST_REASONING_ANOTHERS;
}

/* The note in an item that is being made. */
static json_t *note_in(struct item *item, const char *upstream)
{
    json_t *note;

    item_note(item, "upstream", upstream);
    note = json_object_get(item->metadata, "reasoning");
    if (!note) {
        note = json_object();
        json_set(item->metadata, "reasoning", note);
    }
    return note;
}

void past_reasoning_note(struct item *item, const char *upstream, const char *member)
{
    json_t *note = note_in(item, upstream);

    if (member)
        json_set_string(note, "member", member);
}

static void append(json_t *object, const char *key, json_t *value)
{
    if (!json_object_get(object, key))
        json_set(object, key, json_array());
    json_array_append(json_object_get(object, key), value);
}

void past_reasoning_note_detail(struct item *item, const char *upstream, const json_t *detail)
{
    json_auto_t *copy = json_deep_copy(detail);

    append(note_in(item, upstream), "details", copy);
}

/* ---- The text ---- */

/* The item's reasoning text. The caller frees. */
static char *text_of(const json_t *body)
{
    const char *noted = json_get_string(reasoning_of(body), "text", NULL);
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    if (noted)
        return mem_strdup(noted);
    json_array_foreach (json_object_get(body, "content"), i, part)
        buf_add_text(&text, json_get_string(part, "text", ""));
    return mem_strndup(text.data ? text.data : "", text.length);
}

/* ---- What clients carry ---- */

/* The caller frees. */
static char *domain_of(const struct tenant *tenant)
{
    return mem_printf("%s reasoning", tenant->project);
}

char *past_reasoning_sealed(const struct seal *seal, const struct tenant *tenant,
                            const struct item *item)
{
    json_auto_t *body = item_body(item);
    json_t *note = reasoning_of(body);
    AUTO_FREE char *domain = domain_of(tenant);
    AUTO_FREE char *reasoning = text_of(body);
    AUTO_FREE char *text = NULL;
    json_auto_t *carried = NULL;

    if (!note)
        return NULL;
    carried =
        json_build("{s:s, s:o}", "upstream", json_get_string(notes_of(body), "upstream", ""),
                   "reasoning", json_copy(note));
    json_set_string(json_object_get(carried, "reasoning"), "text", reasoning);
    text = json_text(carried);
    return strlen(text) > CARRIED_LIMIT ? NULL : seal_text(seal, domain, text, strlen(text));
}

static void open_one(const struct seal *seal, const char *domain, struct item_row *item)
{
    json_auto_t *body = json_parse_own(item->body);
    const char *sealed = json_get_string(body, "encrypted_content", NULL);
    AUTO_FREE char *text = NULL;
    size_t length = 0;
    json_auto_t *carried = NULL;

    if (!sealed || seal_open(seal, domain, sealed, &text, &length, NULL))
        return;
    carried = json_parse_own(text);
    json_object_update(notes_make(body), carried);
    free(item->body);
    item->body = json_text(body);
}

void past_reasoning_open(const struct seal *seal, const struct tenant *tenant,
                         struct item_row *items, size_t count)
{
    AUTO_FREE char *domain = domain_of(tenant);

    for (size_t i = 0; i < count; i++) {
        if (items[i].type == ITEM_REASONING)
            open_one(seal, domain, &items[i]);
    }
}

/* ---- What stays here ---- */

/* The ids of the reasoning that the client sent itself: not of what its references name. The caller frees. */
static const char **ids_in(const json_t *input, size_t *ret_count)
{
    const char **ids = mem_new_array(const char *, json_array_size(input) + 1);
    size_t i;
    json_t *item;

    *ret_count = 0;
    json_array_foreach (input, i, item) {
        if (strcmp(json_get_string(item, "type", ""), "reasoning") == 0)
            ids[(*ret_count)++] = json_get_string(item, "id", NULL);
    }
    return ids;
}

static size_t count_reasoning(const struct item_row *items, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += items[i].type == ITEM_REASONING;
    return found;
}

static bool is_of_another(const struct item_row *item, const char *upstream)
{
    json_auto_t *body = json_parse_own(item->body);

    return past_reasoning_maker(body, upstream) == PAST_REASONING_ANOTHERS;
}

/* With references the two lists differ: then an item has the id under which it is stored. */
json_t *past_reasoning_withheld(const struct item_row *items, size_t count, const json_t *input,
                                const char *upstream)
{
    size_t id_count = 0, seen = 0;
    AUTO_FREE const char **ids = ids_in(input, &id_count);
    bool same = id_count == count_reasoning(items, count);
    json_auto_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const char *id;

        if (items[i].type != ITEM_REASONING)
            continue;
        id = same && ids[seen] ? ids[seen] : items[i].id;
        seen++;
        if (is_of_another(&items[i], upstream))
            json_array_append_new(list, json_build("{s:s, s:s, s:s, s:s}", "id", id, "type",
                                                   "reasoning", "action", "removed", "reason",
                                                   "model_mismatch"));
    }
    return json_array_size(list) ? json_incref(list) : NULL;
}

/* ---- The message ---- */

/* A client's own reasoning has no maker; that of an older version of this server has no member. */
static const char *member_for(const struct item_row *item, const json_t *body,
                              const char *upstream)
{
    switch (past_reasoning_maker(body, upstream)) {
    case PAST_REASONING_OWN: return json_get_string(reasoning_of(body), "member", NULL);
    case PAST_REASONING_CLIENTS:
        return item->input && item->type == ITEM_REASONING ? CONTENT : NULL;
    case PAST_REASONING_ANOTHERS: break;
    }
    return NULL;
}

static void add_text(json_t *message, const char *member, const json_t *body)
{
    AUTO_FREE char *text = text_of(body);
    AUTO_FREE char *whole = mem_printf("%s%s", json_get_string(message, member, ""), text);

    if (*text)
        json_set_string(message, member, whole);
}

static void add_details(json_t *message, const json_t *body, const char *upstream)
{
    size_t i;
    json_t *detail;

    if (past_reasoning_maker(body, upstream) != PAST_REASONING_OWN)
        return;
    json_array_foreach (json_object_get(reasoning_of(body), "details"), i, detail)
        append(message, "reasoning_details", detail);
}

void past_reasoning_give_back(json_t *message, const struct item_row *item, const json_t *body,
                              const char *upstream, enum past_reasoning_part part)
{
    const char *member = member_for(item, body, upstream);

    if (member && part == PAST_REASONING_ALL)
        add_text(message, member, body);
    add_details(message, body, upstream);
}

/* ---- All messages ---- */

void past_reasoning_fill(json_t *messages)
{
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message) {
        if (json_object_get(message, "tool_calls") && !json_object_get(message, CONTENT) &&
            !json_object_get(message, "reasoning_details"))
            json_set_string(message, CONTENT, "");
    }
}

static bool some_has(const json_t *messages, const char *member)
{
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message) {
        const json_t *value = json_object_get(message, member);

        if (json_string_length(value) || json_array_size(value))
            return true;
    }
    return false;
}

bool past_reasoning_is_content(const json_t *messages)
{
    return some_has(messages, CONTENT);
}

bool past_reasoning_is_in(const json_t *messages)
{
    return some_has(messages, CONTENT) || some_has(messages, "reasoning") ||
           some_has(messages, "reasoning_details");
}
