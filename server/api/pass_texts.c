#include "server/api/pass_texts.h"

#include <stdbool.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "server/complaint.h"

/* The member of a chat, whose messages are messages already. It is the first of all. */
#define CHAT "messages"

/* The members that hold texts, in all the APIs that are passed through. */
static const char *const members[] = {
    CHAT, "input", "prompt", "suffix", "instructions", "query", "documents",
};

static void add_message(json_t *messages, json_t *content)
{
    json_array_append_new(messages, json_build("{ss so}", "role", "user", "content", content));
}

/* A value is a text, a part with a text, or a list of them. */
static enum err_code add_texts(json_t *messages, const char *member, const json_t *value,
                               struct err *err)
{
    const json_t *inner;
    enum err_code rc = ERR_OK;
    size_t i;

    if (json_is_string(value))
        add_message(messages, json_deep_copy(value));
    else if (json_is_object(value))
        add_message(messages, json_build("[o]", json_deep_copy(value)));
    else if (json_is_number(value))
        return err_invalid(
            err, "invalid_type", member,
            "The texts of this request go through masks, so '%s' must be text and "
            "not tokens.",
            member);
    json_array_foreach (value, i, inner) {
        rc = add_texts(messages, member, inner, err);
        if (rc)
            return rc;
    }
    return rc;
}

/* They leave the body. Their number stays there, for pass_texts_put(). */
static void take_chat(json_t *body, json_t *messages)
{
    json_t *chat = json_object_get(body, CHAT);

    json_array_extend(messages, chat);
    json_set_int(body, CHAT, (json_int_t)json_array_size(chat));
}

/* All members count, whatever the path: an upstream may read one that OpenAI's does not have there. */
enum err_code pass_texts_take(json_t *body, json_t **ret_messages, struct err *err)
{
    json_auto_t *messages = json_array();

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const json_t *value = json_object_get(body, members[i]);
        enum err_code rc = ERR_OK;

        if (i == 0 && json_is_array(value))
            take_chat(body, messages);
        else
            rc = add_texts(messages, members[i], value, err);
        if (rc)
            return rc;
    }
    *ret_messages = json_array_size(messages) ? json_incref(messages) : NULL;
    return ERR_OK;
}

/* Where the way back is. */
struct put {
    const json_t *messages;
    size_t at;   /* the next message */
    bool failed; /* it is missing, or has another form */
};

static json_t *next_text(struct put *put, const json_t *value)
{
    json_t *content = json_object_get(json_array_get(put->messages, put->at++), "content");
    json_t *text = json_is_object(value) ? json_array_get(content, 0) : content;

    if (text && json_typeof(text) == json_typeof(value))
        return json_incref(text);
    put->failed = true;
    return json_null();
}

static json_t *next_messages(struct put *put, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *message = json_array_get(put->messages, put->at++);

        put->failed = put->failed || !message;
        json_array_append(list, message);
    }
    return list;
}

/* The value with its texts from the messages. New reference. */
static json_t *with_texts(struct put *put, json_t *value)
{
    json_t *list;
    json_t *inner;
    size_t i;

    if (json_is_string(value) || json_is_object(value))
        return next_text(put, value);
    if (!json_is_array(value))
        return json_incref(value);
    list = json_array();
    json_array_foreach (value, i, inner)
        json_array_append_new(list, with_texts(put, inner));
    return list;
}

enum err_code pass_texts_put(json_t *body, json_t *messages, struct err *err)
{
    struct put put = {.messages = messages};

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *value = json_object_get(body, members[i]);

        if (json_is_integer(value))
            json_set(body, members[i], next_messages(&put, (size_t)json_integer_value(value)));
        else if (value)
            json_set(body, members[i], with_texts(&put, value));
    }
    if (put.failed || put.at != json_array_size(messages))
        return err_set(err, ERR_INTERNAL, "the hook has added or removed messages");
    return ERR_OK;
}
