/*
 * answer.c -- from the bytes of a body to pieces of an answer.
 *
 *   bytes ─▶ recognise ─┬─▶ sse_parser ─▶ read_event ─┬─▶ dialect->scan     plain text, without a tree
 *   (answer_feed)       │                             └─▶ parse_object ─▶ dialect->event
 *                       └─▶ body, until its end ─▶ parse_object ─▶ dialect->whole
 *                                                                       │
 *              callbacks of model.h ◀── emit_piece, answer_pass_... ◀───┘
 *
 * A token is one event, and a server with a thousand streams reads tens of thousands of events a second. So
 * there is a path for the commonest event that builds no tree (chat_chunk.h). What it does not take
 * goes through jansson. Only what jansson refuses is repaired, and read once more.
 *
 * The format is found in the first byte, because some servers send the wrong content type. The one
 * exception is text/html: a page is an error of a proxy.
 *
 * Everything that leaves is counted against MODEL_TURN_LIMIT, also what is not text: a stream that never
 * ends must not fill memory, or the store.
 *
 * A callback may stop the answer, and may even end the turn to which it belongs. So every function that
 * calls one returns ERR_CANCELLED if `stopped` is set then, and its callers return at once.
 *
 * A text is a sequence of pieces without known borders: a server may cut in the middle of a character.
 * answer_pass() holds back what may be half of one (chat_split_char.h), and answer_settle() emits it
 * before something other than text of the same kind.
 */

#include "core/model/answer.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/annotation.h"
#include "core/model/chat/chat_repair.h"
#include "core/model/logprobs.h"

/* ---- What the dialects emit ---- */

enum err_code answer_count(struct answer *answer, size_t size)
{
    answer->sink.size += size;
    if (answer->sink.size > MODEL_TURN_LIMIT)
        return chat_error_broken(
            answer->failure, "The model's answer is larger than %zu bytes.", MODEL_TURN_LIMIT);
    return ERR_OK;
}

static enum err_code emit_piece(struct answer *answer, answer_piece_fn *piece, const char *text,
                                size_t length)
{
    struct chat_sink *sink = &answer->sink;
    enum err_code rc;

    if (!length)
        return ERR_OK;
    rc = answer_count(answer, length);
    if (rc)
        return rc;
    sink->announced = true;
    piece(sink->arg, text, length);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

static enum err_code emit_cut(struct answer *answer, answer_piece_fn *piece,
                              const struct chat_cut *cut)
{
    enum err_code rc = emit_piece(answer, piece, cut->head, cut->head_length);

    return rc ? rc : emit_piece(answer, piece, cut->text, cut->length);
}

enum err_code answer_settle(struct answer *answer)
{
    struct chat_cut cut;

    chat_split_char_end(&answer->split, &cut);
    return emit_cut(answer, answer->split_in, &cut);
}

enum err_code answer_pass(struct answer *answer, answer_piece_fn *piece, const char *text,
                          size_t length)
{
    const struct chat_surrogates *surrogates = &answer->sink.surrogates;
    struct chat_cut cut;
    enum err_code rc = ERR_OK;

    if (LIKELY(!answer->split && !surrogates->high) || !length)
        return emit_piece(answer, piece, text, length);
    if (answer->split_in != piece)
        rc = answer_settle(answer);
    if (rc)
        return rc;
    answer->split_in = piece;
    chat_split_char_cut(&answer->split, surrogates, text, length, &cut);
    return emit_cut(answer, piece, &cut);
}

enum err_code answer_pass_string(struct answer *answer, answer_piece_fn *piece,
                                 const json_t *value)
{
    return answer_pass(answer, piece, json_string_value(value), json_string_length(value));
}

enum err_code answer_pass_annotation(struct answer *answer, const json_t *annotation)
{
    json_auto_t *clean = annotation_clean(annotation);
    AUTO_FREE char *text = json_text(clean);
    struct chat_sink *sink = &answer->sink;
    enum err_code rc;

    if (!clean)
        return ERR_OK;
    rc = answer_settle(answer);
    if (!rc)
        rc = answer_count(answer, strlen(text));
    if (rc)
        return rc;
    sink->announced = true;
    sink->events->annotation(sink->arg, clean);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

enum err_code answer_pass_reasoning_member(struct answer *answer, const char *member)
{
    struct chat_sink *sink = &answer->sink;

    if (answer->reasoning_member && strcmp(answer->reasoning_member, member) == 0)
        return ERR_OK;
    answer->reasoning_member = member;
    sink->events->reasoning_member(sink->arg, member);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

enum err_code answer_pass_reasoning_detail(struct answer *answer, const json_t *detail)
{
    struct chat_sink *sink = &answer->sink;
    enum err_code rc;

    if (!detail)
        return ERR_OK;
    rc = answer_settle(answer);
    if (rc)
        return rc;
    sink->announced = true;
    sink->events->reasoning_detail(sink->arg, detail);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

/* A negative count is no count. */
static int64_t token_count(const json_t *object, const char *key)
{
    json_int_t count = json_get_int(object, key, 0);

    return count > 0 ? count : 0;
}

/* Cached tokens. OpenAI has them in the details; Moonshot and DeepSeek beside the input tokens. */
static int64_t count_cached(const json_t *usage, const json_t *details)
{
    int64_t counted = token_count(details, "cached_tokens");

    if (!counted)
        counted = token_count(usage, "cached_tokens");
    return counted ? counted : token_count(usage, "prompt_cache_hit_tokens");
}

static const json_t *details_of(const json_t *usage, const char *word)
{
    AUTO_FREE char *key = mem_printf("%s_details", word);

    return json_object_get(usage, key);
}

void answer_read_usage(struct answer *answer, const json_t *usage, const char *input,
                       const char *output)
{
    if (!json_is_object(usage))
        return;
    answer->usage.known = true;
    answer->usage.input = token_count(usage, input);
    answer->usage.output = token_count(usage, output);
    answer->usage.cached = count_cached(usage, details_of(usage, input));
    answer->usage.reasoning = token_count(details_of(usage, output), "reasoning_tokens");
}

enum err_code answer_pass_logprobs(struct answer *answer, const json_t *tokens)
{
    struct chat_sink *sink = &answer->sink;
    json_auto_t *clean = NULL;
    AUTO_FREE char *text = NULL;
    enum err_code rc;

    if (!json_array_size(tokens))
        return ERR_OK;
    clean = logprobs_clean(tokens);
    if (!clean)
        return ERR_OK;
    text = json_text(clean);
    rc = answer_count(answer, strlen(text));
    if (rc)
        return rc;
    sink->events->logprobs(sink->arg, clean);
    return sink->stopped ? ERR_CANCELLED : ERR_OK;
}

/* ---- Reading the body ---- */

/* Parses what the scanner did not take. Text with invalid characters is repaired, but only after
 * jansson has refused it, because hardly any text needs it. */
static enum err_code parse_object(struct answer *answer, const char *text, size_t length,
                                  json_t **ret_value, struct err *err)
{
    json_auto_t *value = NULL;
    enum err_code rc;

    rc = json_parse(text, length, &value, err);
    if (rc == ERR_INVALID) {
        AUTO_FREE char *clean = chat_repair_json(text, length, &answer->sink.surrogates);

        rc = json_parse(clean, strlen(clean), &value, err);
    }
    if (rc)
        return rc;
    if (!json_is_object(value))
        return err_set(err, ERR_INVALID, "not an object");
    *ret_value = TAKE(value);
    return ERR_OK;
}

static enum err_code read_chunk(struct answer *answer, const char *data, size_t length)
{
    json_auto_t *chunk = NULL;
    struct err err;

    if (parse_object(answer, data, length, &chunk, &err) == ERR_OK)
        return answer->dialect->event(answer, chunk);
    if (answer->ending) /* cut in the middle: what is missing will be noticed */
        return ERR_OK;
    return chat_error_broken(answer->failure,
                             "The upstream model server sent a chunk that makes no sense: %s",
                             err.text);
}

static void trim(const char **text, size_t *length)
{
    while (*length && strchr(" \t\r\n", (*text)[0])) {
        (*text)++;
        (*length)--;
    }
    while (*length && strchr(" \t\r\n", (*text)[*length - 1]))
        (*length)--;
}

static enum err_code read_data(struct answer *answer, const char *data, size_t length)
{
    trim(&data, &length);
    if (length == 6 && memcmp(data, "[DONE]", 6) == 0) {
        answer->done_seen = answer->done_seen || answer->dialect->ends_with_done;
        return ERR_OK;
    }
    return length ? read_chunk(answer, data, length) : ERR_OK;
}

/* The name of the event says that it is an error, so whatever its data are, this is not ERR_OK. */
static enum err_code read_error(struct answer *answer, const char *data, size_t length)
{
    json_auto_t *value = NULL;

    if (parse_object(answer, data, length, &value, NULL) == ERR_OK)
        answer->dialect->usage(answer, value);
    return chat_error_event(data, length, answer->failure);
}

static enum err_code read_event(struct answer *answer, const char *name, const char *data,
                                size_t length)
{
    enum err_code rc = ERR_OK;

    if (answer->done_seen)
        return ERR_OK;
    answer->sink.surrogates = (struct chat_surrogates){0};
    if (name[0] && strcmp(name, "error") == 0)
        return read_error(answer, data, length);
    if (answer->dialect->scan && answer->dialect->scan(answer, data, length, &rc))
        return rc;
    return read_data(answer, data, length);
}

static bool on_event(void *arg, const char *name, const char *data, size_t length)
{
    struct answer *answer = arg;

    answer->rc = read_event(answer, name, data, length);
    return answer->rc == ERR_OK;
}

/* The last event of a stream has all pictures of the answer again. */
static size_t event_limit(const struct answer *answer)
{
    return answer->sink.events->hosted ? MODEL_HOSTED_LIMIT + MODEL_TURN_LIMIT
                                       : SSE_EVENT_LIMIT;
}

/* The result of the parser, or of the event that made it stop. */
static enum err_code event_result(struct answer *answer, enum err_code rc)
{
    if (rc == ERR_CANCELLED)
        return answer->rc;
    if (rc)
        return chat_error_broken(
            answer->failure, "The upstream model server sent an event larger than %zu bytes.",
            event_limit(answer));
    return ERR_OK;
}

static enum err_code feed_sse(struct answer *answer, const char *bytes, size_t size)
{
    return event_result(answer,
                        sse_parser_feed(&answer->parser, bytes, size, on_event, answer));
}

static enum err_code feed_json(struct answer *answer, const char *bytes, size_t size)
{
    size_t limit = MODEL_TURN_LIMIT + (answer->sink.events->hosted ? MODEL_HOSTED_LIMIT : 0);

    if (answer->body.length + size > limit)
        return chat_error_broken(answer->failure,
                                 "The model's answer is larger than %zu bytes.", limit);
    buf_add(&answer->body, bytes, size);
    return ERR_OK;
}

/* Blanks and a byte order mark (its three bytes, one by one) say nothing about what follows. */
static bool says_nothing(char byte)
{
    return byte != '\0' && strchr(" \t\r\n\xEF\xBB\xBF", byte);
}

static enum err_code recognise(struct answer *answer, char first)
{
    if (first == '<')
        return chat_error_broken(
            answer->failure, "The upstream model server answered with a page, not with JSON.");
    answer->format = first == '{' ? ANSWER_FORMAT_JSON : ANSWER_FORMAT_SSE;
    return ERR_OK;
}

void answer_init(struct answer *answer, enum model_dialect dialect,
                 const struct model_events *events, void *arg)
{
    *answer = (struct answer){.sink = {.events = events, .arg = arg},
                              .parser.reads_errors = true,
                              .dialect = dialect == MODEL_DIALECT_RESPONSES ? &responses_answer
                                                                            : &chat_answer};
}

enum err_code answer_head(struct answer *answer, const char *content_type,
                          struct chat_failure *failure)
{
    answer->failure = failure;
    if (strncasecmp(content_type, "text/html", 9) == 0)
        return recognise(answer, '<');
    return ERR_OK;
}

enum err_code answer_feed(struct answer *answer, const char *bytes, size_t size,
                          struct chat_failure *failure)
{
    answer->failure = failure;
    if (answer->format == ANSWER_FORMAT_OPEN) {
        enum err_code rc;

        for (; size && says_nothing(*bytes); size--)
            bytes++;
        if (!size)
            return ERR_OK;
        rc = recognise(answer, *bytes);
        if (rc)
            return rc;
    }
    return answer->format == ANSWER_FORMAT_JSON ? feed_json(answer, bytes, size)
                                                : feed_sse(answer, bytes, size);
}

/* The answer is not complete. The next connection may hold, but after a deadline there is no other attempt
 * (model.h). */
static enum err_code ended_early(struct chat_failure *failure, const struct err *broken)
{
    const char *why = broken ? broken->text : "nothing follows what came so far";

    failure->temporary = !broken || broken->code != ERR_TIMEOUT;
    return err_set(&failure->err, broken ? broken->code : ERR_UPSTREAM,
                   "The model's answer ended early: %.900s", why);
}

static enum err_code end_sse(struct answer *answer, const struct err *broken)
{
    enum err_code rc;

    rc = event_result(answer, sse_parser_end(&answer->parser, on_event, answer));
    if (rc)
        return rc;
    if (!answer->finish_seen && !answer->done_seen)
        return ended_early(answer->failure, broken);
    return ERR_OK;
}

static enum err_code end_json(struct answer *answer, const struct err *broken)
{
    json_auto_t *whole = NULL;
    enum err_code rc;

    rc = parse_object(answer, answer->body.data, answer->body.length, &whole, NULL);
    if (rc)
        return ended_early(answer->failure, broken);
    return answer->dialect->whole(answer, whole);
}

/* The item that the model was writing is not complete. */
static bool is_cut(const struct answer *answer)
{
    return answer->finish == MODEL_FINISH_LENGTH ||
           answer->finish == MODEL_FINISH_CONTENT_FILTER;
}

enum err_code answer_end(struct answer *answer, const struct err *broken,
                         struct chat_failure *failure)
{
    enum err_code rc;

    answer->failure = failure;
    answer->ending = true;
    switch (answer->format) {
    case ANSWER_FORMAT_SSE: rc = end_sse(answer, broken); break;
    case ANSWER_FORMAT_JSON: rc = end_json(answer, broken); break;
    default: rc = ended_early(failure, broken); break;
    }
    if (!rc)
        rc = answer_settle(answer);
    if (!rc && !is_cut(answer))
        rc = answer->dialect->end(answer);
    return rc;
}

/* Tool calls are counted here, because servers end a turn with calls with "stop", too. */
enum model_finish answer_finish(const struct answer *answer)
{
    if (is_cut(answer))
        return answer->finish;
    return answer->dialect->calls(answer) ? MODEL_FINISH_TOOL_CALLS : MODEL_FINISH_STOP;
}

void answer_stop(struct answer *answer)
{
    answer->sink.stopped = true;
}

void answer_clear(struct answer *answer)
{
    sse_parser_clear(&answer->parser);
    buf_clear(&answer->body);
    buf_clear(&answer->scratch);
    answer->dialect->clear(answer);
}
