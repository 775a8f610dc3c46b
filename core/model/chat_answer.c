#include "core/model/answer.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/chat_chunk.h"

/*
 * chat_answer.c -- what the JSON of a Chat Completions answer says.
 */

/* What a part of type "thinking" holds: a text, or a list of parts with one each. */
static enum err_code read_thinking(struct answer *answer, const json_t *thinking)
{
    answer_piece_fn *reasoning = answer->sink.events->reasoning;
    enum err_code rc = answer_pass_string(answer, reasoning, thinking);

    for (size_t i = 0; !rc && i < json_array_size(thinking); i++)
        rc = answer_pass_string(answer, reasoning,
                                json_object_get(json_array_get(thinking, i), "text"));
    return rc;
}

/* One part of a content that is a list. Kinds that hold no text add nothing. */
static enum err_code read_part(struct answer *answer, const json_t *part)
{
    const struct model_events *events = answer->sink.events;
    const char *type = json_get_string(part, "type", "text");

    if (json_is_string(part))
        return answer_pass_string(answer, events->text, part);
    if (strcmp(type, "refusal") == 0)
        return answer_pass_string(answer, events->refusal, json_object_get(part, "refusal"));
    if (strcmp(type, "thinking") == 0)
        return read_thinking(answer, json_object_get(part, "thinking"));
    if (strcmp(type, "reasoning") == 0)
        return answer_pass_string(answer, events->reasoning, json_object_get(part, "text"));
    return answer_pass_string(answer, events->text, json_object_get(part, "text"));
}

static enum err_code read_content(struct answer *answer, const json_t *content)
{
    if (!json_is_array(content))
        return answer_pass_string(answer, answer->sink.events->text, content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        enum err_code rc = read_part(answer, json_array_get(content, i));

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* Two names for one thing; servers that send both send the same text twice. */
static enum err_code read_reasoning(struct answer *answer, const json_t *message)
{
    const json_t *text = json_object_get(message, "reasoning_content");

    if (!json_is_string(text))
        text = json_object_get(message, "reasoning");
    return answer_pass_string(answer, answer->sink.events->reasoning, text);
}

/* {"type": T, T: {...}} here, {"type": T, ...} above us. */
static json_t *flat_annotation(const json_t *nested)
{
    const char *type = json_get_string(nested, "type", "");
    json_t *inner = json_object_get(nested, type);
    json_t *flat = json_build("{s:s}", "type", type);

    json_object_update_missing(flat, json_is_object(inner) ? inner : NULL);
    return flat;
}

static enum err_code read_annotations(struct answer *answer, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_auto_t *flat = flat_annotation(json_array_get(list, i));
        enum err_code rc = answer_pass_annotation(answer, flat);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code read_calls(struct answer *answer, const json_t *deltas)
{
    for (size_t i = 0; i < json_array_size(deltas); i++) {
        enum err_code rc = chat_calls_take(&answer->state.calls, json_array_get(deltas, i),
                                           &answer->sink, answer->failure);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* A delta, or the message of an answer that is not streamed: they have the same members. */
static enum err_code read_message(struct answer *answer, const json_t *message)
{
    enum err_code rc;

    rc = read_reasoning(answer, message);
    if (!rc)
        rc = read_content(answer, json_object_get(message, "content"));
    if (!rc)
        rc = answer_pass_string(answer, answer->sink.events->refusal,
                                json_object_get(message, "refusal"));
    if (!rc)
        rc = read_annotations(answer, json_object_get(message, "annotations"));
    if (!rc)
        rc = read_calls(answer, json_object_get(message, "tool_calls"));
    return rc;
}

/* clang-format off */
static const struct {
    const char *word;
    enum model_finish finish;
} finish_words[] = { /* any other word means that it is over */
    {"length",         MODEL_FINISH_LENGTH},
    {"max_tokens",     MODEL_FINISH_LENGTH},
    {"model_length",   MODEL_FINISH_LENGTH},
    {"content_filter", MODEL_FINISH_CONTENT_FILTER},
    {"tool_calls",     MODEL_FINISH_TOOL_CALLS},
};
/* clang-format on */

static enum model_finish finish_parse(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(finish_words); i++) {
        if (strcmp(finish_words[i].word, word) == 0)
            return finish_words[i].finish;
    }
    return MODEL_FINISH_STOP;
}

/* The first word counts. Some servers send an empty one with every chunk. */
static enum err_code read_finish(struct answer *answer, const char *word)
{
    if (!word[0] || answer->finish_seen)
        return ERR_OK;
    if (strcmp(word, "error") == 0) {
        chat_error_broken(answer->failure, "The model stopped because of an error.");
        answer->failure->temporary = true;
        return ERR_UPSTREAM;
    }
    answer->finish_seen = true;
    answer->finish = finish_parse(word);
    return ERR_OK;
}

/* We ask for one choice; whatever else a server sends is not ours to show. */
static const json_t *first_choice(const json_t *answer)
{
    const json_t *choices = json_object_get(answer, "choices");

    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);

        if (json_is_object(choice) && json_get_int(choice, "index", 0) == 0)
            return choice;
    }
    return NULL;
}

static enum err_code read_choice(struct answer *answer, const json_t *choice)
{
    const json_t *message = json_object_get(choice, "delta");
    enum err_code rc;

    if (!json_is_object(message))
        message = json_object_get(choice, "message");
    rc = chat_error_in(choice, answer->failure);
    if (!rc)
        rc = answer_pass_logprobs(
            answer, json_object_get(json_object_get(choice, "logprobs"), "content"));
    if (!rc)
        rc = read_message(answer, message);
    if (!rc)
        rc = read_finish(answer, json_get_string(choice, "finish_reason", ""));
    return rc;
}

static enum err_code read_chunk(struct answer *answer, const json_t *chunk)
{
    const json_t *choice = first_choice(chunk);
    enum err_code rc;

    rc = chat_error_in(chunk, answer->failure);
    if (rc)
        return rc;
    answer_read_usage(answer, json_object_get(chunk, "usage"), "prompt_tokens",
                      "completion_tokens");
    return choice ? read_choice(answer, choice) : ERR_OK;
}

static enum err_code read_whole(struct answer *answer, const json_t *whole)
{
    enum err_code rc = read_chunk(answer, whole);

    if (!rc && !first_choice(whole))
        rc = chat_error_broken(answer->failure,
                               "The upstream model server's answer holds no choice.");
    return rc;
}

static bool scan(struct answer *answer, const char *data, size_t length, enum err_code *ret_rc)
{
    const char *text;
    size_t text_length;

    if (!chat_chunk_scan(data, length, &answer->scratch, &text, &text_length))
        return false;
    *ret_rc = answer_pass(answer, answer->sink.events->text, text, text_length);
    return true;
}

static enum err_code end_calls(struct answer *answer)
{
    return chat_calls_end(&answer->state.calls, &answer->sink, answer->failure);
}

static unsigned count_calls(const struct answer *answer)
{
    return answer->state.calls.count;
}

static void clear_calls(struct answer *answer)
{
    chat_calls_clear(&answer->state.calls);
}

const struct answer_dialect chat_answer = {
    .scan = scan,
    .event = read_chunk,
    .whole = read_whole,
    .end = end_calls,
    .calls = count_calls,
    .clear = clear_calls,
    .ends_with_done = true,
};
