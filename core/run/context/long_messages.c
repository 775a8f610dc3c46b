/*
 * long_messages.c -- which messages are cut, and what stands in their place.
 *
 * A user pastes a log of 100 KiB and has a question about it. The model has to read it once, to answer. In
 * every later turn it costs its tokens again, mostly for nothing. So an answered message is sent with its
 * beginning and its end, and a note names a variable. With ReadVar the model reads whatever part it
 * needs.
 *
 * The variable is not stored. Its name is made of the text (message_cache_name), and the run makes the
 * variables from the history that it has loaded anyway. So there is nothing to evict, and a branch of a
 * conversation has the variables of its own messages.
 *
 * The difficult question is which messages were answered, as three places must agree: the count of
 * tokens, the request, and the variables of the run. Each sees another list: the first the whole
 * history, the second what truncation has left of it. Each once decided for itself, and a message was
 * sent whole that had been counted as cut. So it is decided once, over the whole history, and the rows
 * carry the answer.
 *
 * Cutting must not change from turn to turn, or no prompt cache would hold. A message that is new while its
 * run works is sent whole in all turns of that run, and cut in the next run: the mark comes with the next
 * message of the user. The last turn has a shorter note, but whether a cut pays is decided with the
 * longer one. So the last turn cuts the same messages.
 */

#include "core/run/context/long_messages.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/context/chain_log.h"
#include "core/run/context/context.h"
#include "core/run/context/context_content.h"

/* ---- The rule ---- */

/* Whether the model is offered the reader of variables. A forced tool_choice that was obeyed already makes no
 * difference, as what is sent stays the same in a run. */
static bool is_readable(const struct run_settings *settings, const struct tool_set *tools)
{
    const json_t *choice = tool_choice_standing(settings->tool_choice);
    const struct tool_use *reader = tool_set_find_reader(tools);

    return reader && tool_choice_offers(tools, choice, reader);
}

struct long_message_rule long_message_rule(const struct run_settings *settings,
                                           const struct tool_set *tools)
{
    struct long_message_rule rule = {0};

    if (!settings->message_limit || !is_readable(settings, tools))
        return rule;
    rule.limit = settings->message_limit;
    rule.cut = cut_rule(settings, NULL, rule.limit);
    rule.cut.limit = rule.limit;
    return rule;
}

/* ---- Which messages ---- */

static bool is_message(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE;
}

static bool is_of(const struct item_row *item, const char *role)
{
    return is_message(item) && strcmp(item->role, role) == 0;
}

size_t long_message_past(const struct item_row *const *items, size_t count)
{
    while (count && !is_of(items[count - 1], "user"))
        count--;
    /* The user may have sent several messages in a row, and the application rules among them. */
    while (count && is_message(items[count - 1]) && !is_of(items[count - 1], "assistant"))
        count--;
    return count;
}

void long_messages_mark(struct item_row *rows, size_t count)
{
    AUTO_FREE const struct item_row **items = mem_new_array(const struct item_row *, count + 1);
    size_t past;

    for (size_t i = 0; i < count; i++)
        items[i] = &rows[i];
    past = long_message_past(items, count);
    for (size_t i = 0; i < past; i++)
        rows[i].answered = true;
}

/* A text has no fewer bytes in JSON than it has characters, so a short body has no long text. */
bool long_message_may_be(const struct long_message_rule *rule, const struct item_row *item)
{
    return rule->limit && item->answered && !item->hidden &&
           (is_of(item, "user") || is_of(item, "assistant")) && item->body &&
           strlen(item->body) > rule->limit;
}

static bool is_long(const struct long_message_rule *rule, const char *text)
{
    return rule->limit && *utf8_at(text, rule->limit);
}

/* ---- What is sent ---- */

/* The note behind a cut text: which variable has the whole, and how to read on. The caller frees. */
static char *note_of(const struct long_message_rule *rule, const char *text,
                     const struct cut_shown *shown, bool idle)
{
    char name[VARIABLE_NAME_LIMIT + 1];
    const struct variable_hint hint = {.name = name,
                                       .what = VARIABLE_HINT_MESSAGE,
                                       .length = variable_length(text),
                                       .truncated = true,
                                       .shown = shown->count,
                                       .start = shown->next,
                                       .language = rule->cut.language,
                                       .idle = idle};

    message_cache_name(text, name);
    return variable_hint_text(&hint);
}

/* Whether a cut pays is decided with the note of a turn that may call tools: see the top. */
char *long_message_shown(const struct long_message_rule *rule, const char *text)
{
    AUTO_FREE char *cut = NULL, *plain = NULL, *note = NULL, *last = NULL;
    struct cut_shown shown;

    if (!is_long(rule, text))
        return NULL;
    cut = cut_text(text, &rule->cut, &shown);
    note = note_of(rule, text, &shown, false);
    if (strlen(cut) + strlen(note) >= strlen(text))
        return NULL;
    plain = chain_log_neutral(cut);
    last = rule->idle ? note_of(rule, text, &shown, true) : NULL;
    return mem_printf("%s%s", plain, last ? last : note);
}

/* ---- The variables ---- */

static void gather(const struct long_message_rule *rule, const struct item_row *item,
                   struct message_cache *cache)
{
    json_auto_t *body = json_parse_own(item->body);
    json_auto_t *texts = context_texts(json_object_get(body, "content"));
    size_t i;
    json_t *text;

    json_array_foreach (texts, i, text) {
        AUTO_FREE char *shown = long_message_shown(rule, json_string_value(text));

        if (shown)
            message_cache_add(cache, item->role, json_string_value(text));
    }
}

/* The index of the first item that is kept: from there on, no more than LONG_MESSAGES_KEPT. */
static size_t first_kept(const struct long_message_rule *rule,
                         const struct item_row *const *items, size_t count)
{
    size_t room = LONG_MESSAGES_KEPT;

    while (count) {
        const struct item_row *item = items[count - 1];
        size_t length = long_message_may_be(rule, item) ? strlen(item->body) : 0;

        if (length > room)
            break;
        room -= length;
        count--;
    }
    return count;
}

struct message_cache *long_messages_gather(const struct long_message_rule *rule,
                                           const struct item_row *const *items, size_t count)
{
    struct message_cache *cache = message_cache_new();

    for (size_t i = first_kept(rule, items, count); i < count; i++) {
        if (long_message_may_be(rule, items[i]))
            gather(rule, items[i], cache);
    }
    return cache;
}
