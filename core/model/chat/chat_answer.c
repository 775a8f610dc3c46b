#include "core/model/answer.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/chat/chat_chunk.h"

/*
 * chat_answer.c -- reads the JSON of a Chat Completions answer.
 *
 * Hundreds of servers speak this dialect, and each differs a little. The differences are handled by
 * shape, not by the name of the server: a new server with an old habit works without a change, and
 * a gateway may mix habits of several. Each comment names a server that has the habit, so that the
 * line can be checked against it. What has no known shape is ignored.
 */

/* Reasoning within the content: a text, or a list of parts with one text each. Mistral has it in a part of
 * type "thinking" under that name, Databricks in one of type "reasoning" as its `summary`. */
static enum err_code read_thinking(struct answer *answer, const json_t *thinking)
{
    answer_piece_fn *reasoning = answer->sink.events->reasoning;
    enum err_code rc = answer_pass_string(answer, reasoning, thinking);

    for (size_t i = 0; !rc && i < json_array_size(thinking); i++)
        rc = answer_pass_string(answer, reasoning,
                                json_object_get(json_array_get(thinking, i), "text"));
    return rc;
}

static enum err_code read_reasoning_part(struct answer *answer, const json_t *part)
{
    enum err_code rc = read_thinking(answer, json_object_get(part, "text"));

    return rc ? rc : read_thinking(answer, json_object_get(part, "summary"));
}

/* One part of a content that is a list. Parts without text add nothing. */
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
        return read_reasoning_part(answer, part);
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

/* OpenRouter: a list of {"type": "reasoning.text", "text"}, {"type": "reasoning.summary",
 * "summary"} and others without text. */
static enum err_code read_reasoning_details(struct answer *answer, const json_t *details)
{
    answer_piece_fn *reasoning = answer->sink.events->reasoning;
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < json_array_size(details); i++) {
        const json_t *detail = json_array_get(details, i);

        rc = answer_pass_string(answer, reasoning, json_object_get(detail, "text"));
        if (!rc)
            rc = answer_pass_string(answer, reasoning, json_object_get(detail, "summary"));
    }
    return rc;
}

/* A stream has fragments of entries; an answer that is not streamed has the entries. */
static enum err_code keep_detail(struct answer *answer, const json_t *element)
{
    enum err_code rc = answer_count(answer, json_dumpb(element, NULL, 0, JSON_COMPACT));
    json_auto_t *ended = NULL;

    if (rc)
        return rc;
    if (answer->format == ANSWER_FORMAT_JSON)
        return answer_pass_reasoning_detail(answer, json_is_object(element) ? element : NULL);
    ended = chat_details_take(&answer->details, element);
    return answer_pass_reasoning_detail(answer, ended);
}

static enum err_code keep_details(struct answer *answer, const json_t *list)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < json_array_size(list); i++)
        rc = keep_detail(answer, json_array_get(list, i));
    return rc;
}

/* Something other than reasoning follows. */
static enum err_code end_details(struct answer *answer)
{
    json_auto_t *ended = chat_details_end(&answer->details);

    return answer_pass_reasoning_detail(answer, ended);
}

/* Three names for the same text. A server that sends several of them sends the same text in each. */
static enum err_code read_reasoning(struct answer *answer, const json_t *message)
{
    static const char *const names[] = {"reasoning_content", "reasoning"};
    const json_t *details = json_object_get(message, "reasoning_details");
    enum err_code rc;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const json_t *text = json_object_get(message, names[i]);

        if (!json_string_length(text))
            continue;
        rc = answer_pass_reasoning_member(answer, names[i]);
        if (!rc)
            rc = answer_pass_string(answer, answer->sink.events->reasoning, text);
        return rc ? rc : keep_details(answer, details);
    }
    rc = read_reasoning_details(answer, details);
    return rc ? rc : keep_details(answer, details);
}

/* Turns {"type": T, T: {...}} into the form of the Responses API, {"type": T, ...}. */
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

static enum err_code read_call(struct answer *answer, const json_t *delta)
{
    enum err_code rc = answer_settle(answer);

    return rc ? rc
              : chat_calls_take(&answer->state.calls, delta, &answer->sink, answer->failure);
}

/* Some servers send a single delta without a list around it. The older `function_call` is at most one
 * call, without an id; a server that sends both forms means the same call. */
static enum err_code read_calls(struct answer *answer, const json_t *message)
{
    const json_t *deltas = json_object_get(message, "tool_calls");
    const json_t *only = json_object_get(message, "function_call");
    enum err_code rc = ERR_OK;

    if (json_is_object(deltas))
        return read_call(answer, deltas);
    if (!json_array_size(deltas) && json_is_object(only))
        return read_call(answer, only);
    for (size_t i = 0; !rc && i < json_array_size(deltas); i++)
        rc = read_call(answer, json_array_get(deltas, i));
    return rc;
}

/* There is more than reasoning. */
static bool goes_on(const json_t *message)
{
    static const char *const members[] = {"content", "refusal", "tool_calls", "function_call"};

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const json_t *value = json_object_get(message, members[i]);

        if (json_string_length(value) || json_array_size(value) || json_object_size(value))
            return true;
    }
    return false;
}

/* A delta, or the message of an answer that is not streamed: they have the same members. */
static enum err_code read_message(struct answer *answer, const json_t *message)
{
    enum err_code rc;

    rc = read_reasoning(answer, message);
    if (!rc && goes_on(message))
        rc = end_details(answer);
    if (!rc)
        rc = read_content(answer, json_object_get(message, "content"));
    if (!rc)
        rc = answer_pass_string(answer, answer->sink.events->refusal,
                                json_object_get(message, "refusal"));
    if (!rc)
        rc = read_annotations(answer, json_object_get(message, "annotations"));
    if (!rc)
        rc = read_calls(answer, message);
    return rc;
}

enum finish_kind {
    FINISH_ENDS,
    FINISH_FAILS,
    FINISH_NONE, /* the answer continues */
};

/* Why an answer ends: the values of finish_reason that servers send. An unknown value means that the
 * model has finished. */
/* clang-format off */
static const struct finish_word {
    const char *word; /* compared without case */
    enum finish_kind kind;
    enum model_finish finish; /* when it ends */
} finish_words[] = {
    {"length",                       FINISH_ENDS,  MODEL_FINISH_LENGTH},
    {"max_tokens",                   FINISH_ENDS,  MODEL_FINISH_LENGTH},
    {"model_length",                 FINISH_ENDS,  MODEL_FINISH_LENGTH},
    {"tool_calls",                   FINISH_ENDS,  MODEL_FINISH_TOOL_CALLS},
    {"function_call",                FINISH_ENDS,  MODEL_FINISH_TOOL_CALLS},
    {"content_filter",               FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"content_filtered",             FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"guardrail_intervened",         FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER}, /* Bedrock */
    {"sensitive",                    FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER}, /* Zhipu */
    {"refusal",                      FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER}, /* gateways to Claude */
    {"safety",                       FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER}, /* Gemini, these */
    {"recitation",                   FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"blocklist",                    FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"prohibited_content",           FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"spii",                         FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"image_safety",                 FINISH_ENDS,  MODEL_FINISH_CONTENT_FILTER},
    {"error",                        FINISH_FAILS, MODEL_FINISH_STOP},
    {"abort",                        FINISH_FAILS, MODEL_FINISH_STOP}, /* vLLM, SGLang: the server did */
    {"network_error",                FINISH_FAILS, MODEL_FINISH_STOP}, /* Zhipu */
    {"insufficient_system_resource", FINISH_FAILS, MODEL_FINISH_STOP}, /* DeepSeek */
    {"malformed_function_call",      FINISH_FAILS, MODEL_FINISH_STOP}, /* Gemini: what it wrote is lost */
    {"null",                         FINISH_NONE,  MODEL_FINISH_STOP},
    {"",                             FINISH_NONE,  MODEL_FINISH_STOP},
};
/* clang-format on */

/* Gemini writes "function_call_filter: MALFORMED_FUNCTION_CALL". */
static const struct finish_word *finish_parse(const char *word)
{
    static const struct finish_word any = {"stop", FINISH_ENDS, MODEL_FINISH_STOP};
    const char *colon = strstr(word, ": ");

    if (colon)
        word = colon + 2;
    for (size_t i = 0; i < COUNT_OF(finish_words); i++) {
        if (strcasecmp(finish_words[i].word, word) == 0)
            return &finish_words[i];
    }
    return &any;
}

/* The first finish_reason counts. */
static enum err_code read_finish(struct answer *answer, const char *word)
{
    const struct finish_word *known = finish_parse(word);

    if (answer->finish_seen || known->kind == FINISH_NONE)
        return ERR_OK;
    if (known->kind == FINISH_FAILS) {
        chat_error_broken(answer->failure, "The model stopped because of an error.");
        answer->failure->temporary = true;
        return ERR_UPSTREAM;
    }
    answer->finish_seen = true;
    answer->finish = known->finish;
    return ERR_OK;
}

/* True for choices that are part of the answer. Requests ask for one choice, and others are ignored.
 * But some servers, GitHub's Copilot for one, split that one: the text and each tool call are choices
 * of their own. */
static bool is_of_answer(const json_t *choice)
{
    return json_is_object(choice) && json_get_int(choice, "index", 0) == 0;
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

/* Usage is a member of the chunk. Moonshot has it in the choice, and Groq once had it in a member of
 * its own. */
static const json_t *usage_of(const json_t *chunk)
{
    const json_t *choice = json_array_get(json_object_get(chunk, "choices"), 0);
    const json_t *const holders[] = {chunk, choice, json_object_get(chunk, "x_groq")};

    for (size_t i = 0; i < COUNT_OF(holders); i++) {
        const json_t *usage = json_object_get(holders[i], "usage");

        if (json_object_size(usage))
            return usage;
    }
    return NULL;
}

/* Reads the choices that belong to the answer, and counts them. */
static enum err_code read_choices(struct answer *answer, const json_t *choices,
                                  unsigned *ret_count)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);

        if (!is_of_answer(choice))
            continue;
        (*ret_count)++;
        rc = read_choice(answer, choice);
    }
    return rc;
}

static void read_usage(struct answer *answer, const json_t *chunk)
{
    answer_read_usage(answer, usage_of(chunk), "prompt_tokens", "completion_tokens");
}

/* The usage first: what ends with an error may be billed. */
static enum err_code read_parts(struct answer *answer, const json_t *chunk, unsigned *ret_count)
{
    enum err_code rc;

    read_usage(answer, chunk);
    rc = chat_error_in(chunk, answer->failure);
    return rc ? rc : read_choices(answer, json_object_get(chunk, "choices"), ret_count);
}

static enum err_code read_chunk(struct answer *answer, const json_t *chunk)
{
    unsigned count = 0;

    return read_parts(answer, chunk, &count);
}

static enum err_code read_whole(struct answer *answer, const json_t *whole)
{
    unsigned count = 0;
    enum err_code rc = read_parts(answer, whole, &count);

    if (!rc && !count)
        rc = chat_error_broken(answer->failure,
                               "The upstream model server's answer holds no choice.");
    return rc;
}

static bool scan(struct answer *answer, const char *data, size_t length, enum err_code *ret_rc)
{
    const char *text;
    size_t text_length;

    if (answer->details.open ||
        !chat_chunk_scan(data, length, &answer->scratch, &text, &text_length))
        return false;
    *ret_rc = answer_pass(answer, answer->sink.events->text, text, text_length);
    return true;
}

static enum err_code end(struct answer *answer)
{
    enum err_code rc = end_details(answer);

    return rc ? rc : chat_calls_end(&answer->state.calls, &answer->sink, answer->failure);
}

static unsigned count_calls(const struct answer *answer)
{
    return answer->state.calls.count;
}

static void clear(struct answer *answer)
{
    chat_details_clear(&answer->details);
    chat_calls_clear(&answer->state.calls);
}

const struct answer_dialect chat_answer = {
    .scan = scan,
    .event = read_chunk,
    .whole = read_whole,
    .usage = read_usage,
    .end = end,
    .calls = count_calls,
    .clear = clear,
    .ends_with_done = true,
};
