/*
 * Texts, cut into pieces.
 *
 * Real models send tokens. Here a piece is a word with the blanks before it, or a number of
 * characters, so that a reader of a test sees where the cuts are. A piece never ends within a
 * character: a test that needs half of one spells out its events.
 *
 * Splitting happens after templates were filled in, so that {{last_user}} streams in pieces, too.
 */

#include "server/fakemodel/words.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "server/fakemodel/template.h"

/* The number of bytes in the first piece of `text`. */
static size_t piece_length(const char *text, int split)
{
    size_t length = 0;

    if (split == SPLIT_WHOLE)
        return strlen(text);
    if (split == SPLIT_WORD) {
        length = strspn(text, " \t\n");
        return length + strcspn(text + length, " \t\n");
    }
    while (text[length] && split > 0) {
        length++;
        while (!utf8_begins(text[length]))
            length++;
        split--;
    }
    return length;
}

static void split_text(json_t *list, const char *text, int split)
{
    while (*text) {
        size_t length = piece_length(text, split);

        json_array_append_new(list, json_stringn(text, length));
        text += length;
    }
}

json_t *words_split(const struct script_pieces *pieces, int split, const struct prompt *prompt)
{
    json_t *list = json_array();

    for (size_t i = 0; i < pieces->words.count; i++) {
        AUTO_FREE char *text = template_expand(pieces->words.items[i], prompt);

        if (pieces->listed)
            json_array_append_new(list, json_string(text));
        else
            split_text(list, text, split);
    }
    return list;
}

static char *call_arguments(const struct script_call *call, const struct prompt *prompt)
{
    json_auto_t *value = NULL;

    if (call->raw)
        return template_expand(call->raw, prompt);
    value = call->arguments ? template_expand_json(call->arguments, prompt) : json_object();
    return json_text(value);
}

void words_call_init(struct words_call *words, const struct script_call *call,
                     const struct prompt *prompt)
{
    *words = (struct words_call){
        .name = template_expand(call->name, prompt),
        .arguments = call_arguments(call, prompt),
        .given_id = call->id ? template_expand(call->id, prompt) : NULL,
    };
    id_make(words->made_id, "call_");
}

void words_call_clear(struct words_call *words)
{
    free(words->name);
    free(words->arguments);
    free(words->given_id);
}

const char *words_call_id(const struct words_call *words)
{
    return words->given_id ? words->given_id : words->made_id;
}

json_t *words_call_split(const struct words_call *words, const struct script_call *call)
{
    json_t *list = json_array();

    split_text(list, words->arguments, call->split);
    return list;
}

json_int_t words_count(const char *text)
{
    json_int_t count = 0;

    while (*(text += strspn(text, " \t\n"))) {
        text += strcspn(text, " \t\n");
        count++;
    }
    return count;
}
