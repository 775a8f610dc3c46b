/*
 * An answer to an approval request, as a client sends it in the output of a function call.
 *
 * The writer of such an output is often a person or a small script, so bare words are read
 * beside JSON. Everything else is strict. The output of a function is free text, and there is
 * no status code for a bad one: the run must continue with a decision. A refusal is the only
 * decision that a mistake may lead to. So the JSON must have no duplicate keys, `approve` must
 * be a boolean and not "true" or 1, and an unknown key refuses. With an unknown key allowed, a
 * misspelt "remember" would approve the call and silently remember nothing, or the default of
 * the request.
 *
 * The reason of such a refusal says what is wrong. The model reads it, and so does the client.
 */

#include "core/run/approval/approval_answer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/variable.h"
#include "core/run/approval/grant.h"

static const char unreadable[] = "The answer to the approval request could not be read.";

static const char too_long[] = "The reason in the answer to the approval request is too long.";

static struct approval_reply refusal(const char *reason)
{
    return (struct approval_reply){.reason = mem_strdup(reason), .unreadable = true};
}

void approval_reply_clear(struct approval_reply *reply)
{
    free(reply->reason);
    json_decref(reply->said);
    *reply = (struct approval_reply){0};
}

/* The text is this word, with white space around it. */
static bool is_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    text += strspn(text, " \t\r\n");
    return strncmp(text, word, length) == 0 && !text[length + strspn(text + length, " \t\r\n")];
}

static bool has_only_known_keys(json_t *object)
{
    static const char *const known[] = {"approve", "reason", "remember", "persistDecision"};
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(known); i++)
        count += json_object_get(object, known[i]) != NULL;
    return count == json_object_size(object);
}

static struct approval_reply from_object(json_t *object)
{
    const json_t *approve = json_object_get(object, "approve");
    const char *reason = json_get_string(object, "reason", NULL);
    struct err err;

    if (!json_is_boolean(approve) || !has_only_known_keys(object))
        return refusal(unreadable);
    if (grant_remember_check(object, "", &err))
        return refusal(err.text);
    if (reason && variable_length(reason) > APPROVAL_REASON_LIMIT)
        return refusal(too_long);
    return (struct approval_reply){
        .approve = json_is_true(approve),
        .reason = mem_strdup(reason),
        .said = json_incref(object),
    };
}

struct approval_reply approval_reply_parse(const char *text)
{
    json_auto_t *value = NULL;

    if (is_word(text, "true") || is_word(text, "approve"))
        return (struct approval_reply){.approve = true};
    if (is_word(text, "false") || is_word(text, "reject"))
        return (struct approval_reply){0};
    if (json_parse_strict(text, strlen(text), &value, NULL))
        return refusal(unreadable);
    return from_object(value);
}
