#ifndef RUNNEL_SERVER_FAKEMODEL_SCRIPT_H
#define RUNNEL_SERVER_FAKEMODEL_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * fakemodel/script.h -- what the scripted upstream says, read from YAML.
 *
 * A script is a list of rules, tried in order; the first that fits a request gives the answer.
 * Everything may be left out but `rules`. An unknown key is an error that names path and line.
 *
 *   models: [demo]               # what GET /v1/models lists
 *   api_key: sk-upstream         # other keys get 401; absent: no key is looked at
 *   defaults: {...}              # keys of `answer`, for every rule that has none of its own
 *   rules:
 *     - name: weather            # shown in GET /__requests
 *       skip: 1                  # the first N requests that fit go past this rule
 *       times: 2                 # after N answers the rule is used up
 *       match: {...}
 *       answer: {...}
 *
 * match -- all of the keys must fit; none fits everything. TEXT is a word or list of words, one
 * of which must occur (letters' case aside), or {equals: ...} or {contains: ...}:
 *
 *   user: TEXT                   # the last user message
 *   system: TEXT                 # system and developer messages, joined by newlines
 *   tool_output: TEXT            # the last tool message
 *   model: gpt-*                 # one or a list; a last * stands for any rest
 *   tools: true                  # whether tools are offered
 *   tool: get_weather            # one of these is offered
 *   tool_choice: required        # auto, none, required, function; auto when absent
 *   tool_results: 2              # tool messages since the last user message: N, true, false,
 *                                # or {min: 1, max: 3}
 *   response_format: json_schema # text, json_object, json_schema; text when absent
 *   stream: true
 *   headers: {x-team: TEXT}
 *
 * The same script answers POST /v1/chat/completions and POST /v1/responses. There the input is
 * matched as the messages that it would be, tool_calls of a custom tool take their `input` out of
 * the arguments, and what has no place in the other API (reasoning_field, send_*, usage_in,
 * arguments_as) does nothing.
 *
 * answer -- strings may hold {{last_user}}, {{system}}, {{tool_output}}, {{tool_outputs}},
 * {{model}}, {{tool_name}} (the tool that tool_choice asks for, else the first), {{request}} (its
 * number) and {{sample_arguments}}, {{sample_json}}: values that fit the tool's parameters or the
 * response_format:
 *
 *   text: "It is sunny."         # or a list: exactly these pieces
 *   reasoning: "..."             # likewise; sent before the text
 *   reasoning_field: reasoning   # default reasoning_content
 *   refusal: "..."
 *   annotations: [{type: url_citation, url: ..., title: ..., start_index: 0, end_index: 5}]
 *                                # of the text, behind it
 *   summary: ["...", "..."]      # of the reasoning, one part or several; /v1/responses only, as
 *   encrypted_reasoning: gAAA    # is this: encrypted_content of the reasoning
 *   split: word                  # word, whole, or a number of characters
 *   repeat: 100                  # the pieces of the text, so many times over
 *   tool_calls:
 *     - name: get_weather
 *       arguments: {city: Paris} # sent as JSON; a string is sent as it stands
 *       arguments_as: string     # or object: as a JSON object, in one chunk
 *       split: whole             # of the arguments, default 8; whole: in the call's first chunk
 *       id: call_1               # default: made up
 *       send_id: first           # with which of its chunks: first, every, never
 *       send_index: every        # or never
 *       send_name: first         # or every
 *   events: ['{"choices": [...]}']  # the data of each event of a stream, as it stands and
 *                                # without templates, then [DONE]; of the other keys only delays,
 *                                # dialect and fault count
 *   finish_reason: stop          # default stop or tool_calls; none: never sent
 *   usage: {prompt_tokens: 9, completion_tokens: 3, total_tokens: 12}  # sent as it stands;
 *                                # auto (the default) counts words and pieces; none
 *   usage_in: own                # a chunk of its own if the request asks for usage;
 *                                # last: always, in the chunk with the finish_reason
 *   format: auto                 # json or sse, whatever the request asked for
 *   delay_ms: 200                # before the first byte
 *   piece_delay_ms: 20           # between two pieces of a stream
 *   dialect: [crlf, multi_line, no_space, no_done, no_role, comments]
 *   fault: {kind: cut, after: 3}
 *
 * fault -- what goes wrong instead. `after` counts the pieces that are still delivered. Without
 * it a cut or a stall comes before the status line, the others at once.
 *
 *   kind: status                 # {status: 429, body: JSON or text, retry_after: 2}
 *   kind: cut                    # the connection breaks
 *   kind: stall                  # silence until the client leaves
 *   kind: garbage                # bytes that are no event; then the connection breaks
 *   kind: html                   # a page, as a proxy would answer (`status` too)
 *   kind: error                  # {error: {...}} within the stream, which then ends
 *   kind: no_end                 # all pieces, but no finish_reason, usage or [DONE]
 *
 * All of a script's memory is released together; nothing in it changes but the counters of its
 * rules, which script_pick() keeps.
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

/* A yes, a no, or not asked. */
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
    struct script_words tools;
    struct script_words tool_choice;
    struct script_words response_format;
    enum script_answered offers_tools;
    enum script_answered stream;
    int min_results;
    int max_results; /* below 0: not asked */
    struct script_header *headers;
    size_t header_count;
};

/* How a text becomes pieces: by word when zero. */
enum script_split {
    SPLIT_WORD = 0,
    SPLIT_WHOLE = -1,
    /* above zero: that many characters */
};

/* One string, to be split; or a list of pieces. */
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
    const char *id;    /* NULL: made up */
    const char *raw;   /* arguments as a string, or */
    json_t *arguments; /* as a value; both NULL: {} */
    int as_object;     /* 1: not as a string */
    int split;         /* enum script_split */
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
    int after;       /* pieces; below 0: before anything */
    int status;      /* 0: the kind's own */
    int retry_after; /* seconds; below 0: no such header */
    json_t *body;    /* NULL: an envelope that suits the status */
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
    int split;                       /* enum script_split */
    int repeat;
    struct script_call *calls;
    size_t call_count;
    struct script_words events; /* none: what the others come to */
    const char *finish_reason;  /* NULL: as it comes; "none": never */
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
    int times;  /* 0: no end */
    int fitted; /* how often it has fitted so far: script_pick()'s */
    struct script_answer answer;
};

struct script {
    struct script_words models;
    const char *api_key; /* NULL: not looked at */
    struct script_answer defaults;
    struct script_rule *rules;
    size_t rule_count;
    struct script_memory *memory; /* all that the above points to */
};

/* Reads a script. ERR_INVALID with one sentence that names path and line, or ERR_TOO_LARGE. */
enum err_code script_parse(const char *text, size_t length, struct script **ret_script,
                           struct err *err) MUST_CHECK;

/* The built-in demo. */
struct script *script_demo(void);

void script_free(struct script *script);

#endif
