#include "core/run/approval_answer.h"

#include <stddef.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

static const char unreadable[] = "The answer to the approval request could not be read.";

static struct approval_reply refusal(const char *reason)
{
    return (struct approval_reply){.reason = mem_strdup(reason)};
}

static bool says(const char *text, const char *word)
{
    size_t length = strlen(word);

    text += strspn(text, " \t\r\n");
    return strncmp(text, word, length) == 0 && !text[length + strspn(text + length, " \t\r\n")];
}

static struct approval_reply from_object(const json_t *object)
{
    const json_t *approve = json_object_get(object, "approve");

    if (!json_is_boolean(approve))
        return refusal(unreadable);
    return (struct approval_reply){
        .approve = json_is_true(approve),
        .reason = mem_strdup(json_get_string(object, "reason", NULL)),
    };
}

struct approval_reply approval_reply_parse(const char *text)
{
    json_auto_t *value = NULL;

    if (says(text, "true") || says(text, "approve"))
        return (struct approval_reply){.approve = true};
    if (says(text, "false") || says(text, "reject"))
        return (struct approval_reply){0};
    if (json_parse_strict(text, strlen(text), &value, NULL))
        return refusal(unreadable);
    return from_object(value);
}
