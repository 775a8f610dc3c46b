#ifndef RUNNEL_SERVER_FAKEMODEL_SCRIPT_H
#define RUNNEL_SERVER_FAKEMODEL_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * fakemodel/script.h -- a script: the rules by which the scripted upstream answers, read from YAML.
 *
 * A script is a list of rules, tried in order; the first that fits a request has the answer. Only
 * `rules` is required. An unknown key is an error that names its path and line.
 *
 *   models: [demo]               # the list of GET /v1/models
 *   api_key: sk-upstream         # other keys get 401; absent: keys are not checked
 *   defaults: {...}              # keys of `answer`, for rules that do not set them
 *   rules:
 *     - name: weather            # shown in GET /__requests
 *       skip: 1                  # the first N requests that fit are left to later rules
 *       times: 2                 # after N answers the rule is used up
 *       match: {...}
 *       answer: {...}
 *
 * match -- all keys must fit; a match without keys fits everything. TEXT is a word or a list of words,
 * one of which must occur in any case of letters, or {equals: ...} or {contains: ...}:
 *
 *   user: TEXT                   # the last user message
 *   system: TEXT                 # system and developer messages, joined by newlines
 *   tool_output: TEXT            # the last tool message
 *   model: gpt-*                 # one or a list; a last * stands for any rest
 *   path: /v1/embeddings         # likewise
 *   tools: true                  # whether tools are offered
 *   tool: get_weather            # one of these is offered
 *   tool_choice: required        # auto, none, required, function; auto when absent
 *   tool_results: 2              # tool messages since the last user message: N, true, false,
 *                                # or {min: 1, max: 3}
 *   response_format: json_schema # text, json_object, json_schema; text when absent
 *   stream: true
 *   headers: {x-team: TEXT}
 *
 * The same script answers POST /v1/chat/completions and POST /v1/responses. In the latter, the input is
 * matched as the messages that it would be, calls of a custom tool take `input` from their arguments,
 * and keys without a counterpart (reasoning_field, send_*, usage_in, arguments_as) have no effect.
 *
 * POST /v1/completions is answered by the same rules, with the text of the answer. Other endpoints
 * (samples.c) have answers of their own. Only rules that name their `path` concern them, for
 * `events`, delays and faults: {kind: status, status: 200, body: ...} sends any body.
 *
 * answer -- strings may hold {{last_user}}, {{system}}, {{tool_output}}, {{tool_outputs}}, {{passage}}, {{page}},
 * {{model}}, {{tool_name}} (the tool that tool_choice names, else the first), {{request}} (its
 * number) and {{sample_arguments}}, {{sample_json}}: values that fit the tool's parameters or the
 * response_format:
 *
 *   text: "It is sunny."         # or a list: exactly these pieces
 *   reasoning: "..."             # likewise; sent before the text
 *   reasoning_field: reasoning   # default reasoning_content
 *   refusal: "..."
 *   annotations: [{type: url_citation, url: ..., title: ..., start_index: 0, end_index: 5}]
 *                                # of the text; sent after it
 *   summary: ["...", "..."]      # of the reasoning, one part or several; /v1/responses only
 *   encrypted_reasoning: gAAA    # encrypted_content of the reasoning; /v1/responses only
 *   split: word                  # word, whole, or a number of characters
 *   repeat: 100                  # the pieces of the text, so many times over
 *   tool_calls:
 *     - name: get_weather
 *       arguments: {city: Paris} # sent as JSON; a string is sent without a change
 *       arguments_as: string     # or object: as a JSON object, in one chunk
 *       split: whole             # of the arguments, default 8; whole: in the call's first chunk
 *       id: call_1               # default: a random one
 *       send_id: first           # with which chunks of the call: first, every, never
 *       send_index: every        # or never
 *       send_name: first         # or every
 *   events: ['{"choices": [...]}']  # the data of each event of a stream, without templates, then
 *                                # [DONE]; of the other keys only delays, dialect and fault count
 *   finish_reason: stop          # default stop or tool_calls; none: it is not sent
 *   usage: {prompt_tokens: 9, completion_tokens: 3, total_tokens: 12}  # sent without a change;
 *                                # auto (the default) counts words and pieces; none
 *   usage_in: own                # a chunk of its own if the request asks for usage;
 *                                # last: always, in the chunk with the finish_reason
 *   format: auto                 # as the request asks; json or sse: always that
 *   delay_ms: 200                # before the first byte
 *   piece_delay_ms: 20           # between two pieces of a stream
 *   dialect: [crlf, multi_line, no_space, no_done, no_role, comments]
 *   fault: {kind: cut, after: 3}
 *
 * fault -- the answer goes wrong. `after` is the number of pieces that are still delivered. Without it,
 * a cut or a stall comes before the status line, and the other faults before the first piece.
 *
 *   kind: status                 # {status: 429, body: JSON or text, retry_after: 2}
 *   kind: cut                    # the connection breaks
 *   kind: stall                  # silence until the client leaves
 *   kind: garbage                # bytes that are no event; then the connection breaks
 *   kind: html                   # a page, as a proxy would answer (`status` too)
 *   kind: error                  # {error: {...}} within the stream, which then ends
 *   kind: no_end                 # all pieces, but no finish_reason, usage or [DONE]
 *
 * A script is never changed, except for the counters of its rules, which are script_pick()'s. All its
 * memory is released together.
 */

#define SCRIPT_SIZE_LIMIT   ((size_t)1 << 20)
#define SCRIPT_VALUE_LIMIT  ((size_t)20000) /* nodes visited, aliases followed */
#define SCRIPT_DEPTH_LIMIT  32
#define SCRIPT_REPEAT_LIMIT 1000000
#define SCRIPT_DELAY_LIMIT  3600000 /* ms */

#define SCRIPT_ARGUMENTS_SPLIT 8

struct script_words {
    const char **items;
    size_t count;
};

enum script_test {
    TEST_NONE, /* fits all */
    TEST_CONTAINS,
    TEST_EQUALS,
};

struct script_text {
    enum script_test test;
    struct script_words words;
};

struct script_header {
    const char *name; /* lower case */
    struct script_text text;
};

/* A yes, a no, or no condition. */
enum script_answered {
    ANY = 0,
    YES,
    NO,
};

struct script_match {
    struct script_text user;
    struct script_text system;
    struct script_text tool_output;
    struct script_words models;
    struct script_words paths;
    struct script_words tools;
    struct script_words tool_choice;
    struct script_words response_format;
    enum script_answered offers_tools;
    enum script_answered stream;
    int min_results;
    int max_results; /* negative: no condition */
    struct script_header *headers;
    size_t header_count;
};

/* How a text is cut into pieces. A positive number is a number of characters. */
enum script_split {
    SPLIT_WORD = 0,
    SPLIT_WHOLE = -1,
};

/* One string, which is split; or, if `listed`, the pieces themselves. */
struct script_pieces {
    struct script_words words;
    bool listed;
};

enum script_when {
    WHEN_FIRST,
    WHEN_EVERY,
    WHEN_NEVER,
};

struct script_call {
    const char *name;
    const char *id;    /* NULL: a random one */
    const char *raw;   /* the arguments as a string, or */
    json_t *arguments; /* as a value; both NULL: {} */
    int as_object;     /* 1: they are sent as an object and not as a string */
    int split;         /* enum script_split, or characters */
    enum script_when send_id;
    enum script_when send_index;
    enum script_when send_name;
};

enum script_fault_kind {
    FAULT_NONE,
    FAULT_STATUS,
    FAULT_CUT,
    FAULT_STALL,
    FAULT_GARBAGE,
    FAULT_HTML,
    FAULT_ERROR,
    FAULT_NO_END,
};

struct script_fault {
    enum script_fault_kind kind;
    int after;       /* pieces that are delivered first; negative: not given */
    int status;      /* 0: the default of the kind */
    int retry_after; /* seconds; negative: no such header */
    json_t *body;    /* NULL: an error that fits the status */
    json_t *error;   /* NULL: a server_error */
};

enum script_dialect {
    DIALECT_CRLF = 1 << 0,
    DIALECT_MULTI_LINE = 1 << 1, /* an event's data over several lines */
    DIALECT_NO_SPACE = 1 << 2,   /* "data:{" */
    DIALECT_NO_DONE = 1 << 3,
    DIALECT_NO_ROLE = 1 << 4,  /* no first chunk with the role */
    DIALECT_COMMENTS = 1 << 5, /* before every event */
};

enum script_format {
    FORMAT_AUTO,
    FORMAT_JSON,
    FORMAT_SSE,
};

enum script_usage_place {
    USAGE_OWN,
    USAGE_LAST,
};

struct script_answer {
    struct script_pieces text;
    struct script_pieces reasoning;
    struct script_pieces summary;
    struct script_pieces refusal;
    json_t *annotations;             /* a list; NULL: none */
    const char *encrypted_reasoning; /* NULL: none */
    const char *reasoning_field;     /* NULL: reasoning_content */
    int split;                       /* enum script_split, or characters */
    int repeat;                      /* how often the pieces of the text are sent */
    struct script_call *calls;
    size_t call_count;
    struct script_words events; /* if there are any, they are the whole stream */
    const char *finish_reason;  /* NULL: stop or tool_calls; "none": it is not sent */
    json_t *usage;              /* an object, "auto", "none"; NULL: auto */
    enum script_usage_place usage_place;
    enum script_format format;
    int delay_ms;
    int piece_delay_ms;
    unsigned dialect;
    struct script_fault fault;
};

struct script_rule {
    const char *name; /* NULL: none */
    struct script_match match;
    int skip;
    int times;  /* 0: without limit */
    int fitted; /* how often it has fitted so far; script_pick() counts */
    struct script_answer answer;
};

struct script {
    struct script_words models;
    const char *api_key; /* NULL: keys are not checked */
    struct script_answer defaults;
    struct script_rule *rules;
    size_t rule_count;
    struct script_memory *memory; /* everything that the members above point to */
};

/* Reads a script in UTF-8. The caller frees *ret_script. ERR_INVALID with one sentence that names path and
 * line; ERR_TOO_LARGE beyond SCRIPT_SIZE_LIMIT or SCRIPT_VALUE_LIMIT. Any thread. */
enum err_code script_parse(const char *text, size_t length, struct script **ret_script,
                           struct err *err) MUST_CHECK;

/* The built-in demo. The caller frees. */
struct script *script_demo(void);

void script_free(struct script *script);

#endif
