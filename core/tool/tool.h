#ifndef RUNNEL_CORE_TOOL_TOOL_H
#define RUNNEL_CORE_TOOL_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/permission.h"
#include "core/domain/run_settings.h"
#include "core/domain/variable.h"
#include "core/tool/cut.h"

/*
 * tool.h -- what a tool handler is, and everything it may touch.
 *
 * A handler is one file in handlers/ that ends in one constant descriptor. handlers/handlers.h
 * lists them; nothing else knows that they exist. Start by reading handlers/basic/datetime.c, which
 * is short.
 *
 * Threads. run() is called on tool workers, several at a time, also for the same handler.
 * Everything reachable from the `struct tool_call` belongs to this call alone.
 *
 * Memory. The call and its arguments live until run() returns. What run() puts into
 * *ret_result is the executor's from then on.
 *
 * Errors. An error returned by run() is told to the model, which may try something else; it
 * does not fail the run. So the text should help a reader who cannot see our source:
 * "no such time zone: Mars/Olympus".
 *
 * Cancelling. A handler that waits or loops asks tool_call_cancelled() at least once a second,
 * and returns ERR_CANCELLED when it says so. One that does not is left to end by itself, its
 * output thrown away.
 */

struct tool_call;
struct tool_item;

/* One part of a result. Text parts are what the model reads; the others are named to it and
 * shown to the client. */
enum tool_part_kind {
    TOOL_PART_TEXT,
    TOOL_PART_IMAGE, /* `data` is base64, or `url` is set */
    TOOL_PART_FILE,  /* `url` is a file id or a path of the workspace */
    TOOL_PART_URL,
};

struct tool_part {
    enum tool_part_kind kind;
    char *mime_type; /* owned; NULL means text/plain for text */
    char *data;      /* owned; text, or base64 */
    size_t length;   /* of data */
    char *url;       /* owned; NULL unless kind says otherwise */
};

/* How a call went. A handler that returns ERR_OK has succeeded and one that returns an error has failed,
 * unless it says otherwise with tool_result_end(). */
enum tool_status {
    TOOL_SUCCESS,
    TOOL_ERROR,     /* like an error, but what it gave is kept: parts, title, metadata */
    TOOL_REJECTED,  /* it would not do this, or somebody would not have it: nothing was done */
    TOOL_CANCELLED, /* it was stopped half way, by somebody it answers to */
    TOOL_NOT_FOUND, /* what was to do it is not there */
};
/* As clients see it: "success", "error", "execution_rejected", "cancelled", "not_found". */
const char *tool_status_name(enum tool_status status);
/* TOOL_SUCCESS for a word that names none. */
enum tool_status tool_status_parse(const char *name);

/* What a call gave: a list of parts, or data that becomes one (`format` of the handler). Zeroed, it
 * is empty. */
struct tool_result {
    struct tool_part *parts;
    size_t count;
    json_t *data;     /* owned; NULL: there are parts */
    char *title;      /* a few words for people, like "Read 3 files"; owned, or NULL */
    json_t *metadata; /* for people and programs, not for the model; owned, or NULL */
    enum tool_status status;
    char *why; /* owned; NULL: nothing was said */
};

/* Bytes of text that are not UTF-8 become U+FFFD. add_part takes what the part owns. */
void tool_result_add_text(struct tool_result *result, const char *text);
void tool_result_add_bytes(struct tool_result *result, const char *text, size_t length);
void tool_result_add_part(struct tool_result *result, struct tool_part part);
/* Takes the data, and in its place what was there. */
void tool_result_set_data(struct tool_result *result, json_t *data);
/* Takes the metadata. Either may be NULL. */
void tool_result_describe(struct tool_result *result, const char *title, json_t *metadata);
/* Instead of an error that run() returns, which says no more than that it failed. `why` is a sentence for
 * the model, or NULL. Of a call that was rejected or cancelled the model is told that, and why, and
 * nothing else that it gave; of the others the parts, and without any why. */
void tool_result_end(struct tool_result *result, enum tool_status status, const char *why);
void tool_result_clear(struct tool_result *result);

/* The parts that are no text, as JSON, for the client. Bytes that are too many for an item are left
 * out, and their number is said. NULL when there are none. New reference. */
json_t *tool_result_attachments(const struct tool_result *result);

/* All text parts joined by newlines, the other parts as one line each that names them; what the
 * model is told. The caller frees. */
char *tool_result_text(const struct tool_result *result);

/* A list of parts as JSON ([{"type":"text","mime_type":...,"text":...}, ...]) and back. */
json_t *tool_result_json(const struct tool_result *result);
enum err_code tool_result_parse(const json_t *json, struct tool_result *ret_result,
                                struct err *err) MUST_CHECK;

enum tool_flags {
    TOOL_FINAL = 1 << 0,      /* its output is the answer: it becomes message text */
    TOOL_HIDDEN = 1 << 1,     /* its calls are kept in the store and never streamed or listed */
    TOOL_IDEMPOTENT = 1 << 2, /* may be run again after a crash in the middle */
    TOOL_NOT_KEPT = 1 << 3,   /* neither result nor arguments are kept in variables */
    TOOL_VARIABLES = 1 << 4,  /* reads or writes variables: tool_call_variables() */
    TOOL_READ_ONLY = 1 << 5,  /* changes nothing: `read_only` of a request means it */
    TOOL_READER = 1 << 10, /* reads a variable by its name: hints to the model name this tool */

    /* Definition-only: */
    TOOL_NAMED = 1 << 6, /* each entry has a name, others go by their type */
    TOOL_AS_WRITTEN =
        1 << 7, /* description and parameters are those of the entry, as they are */
    TOOL_FREE_TEXT = 1 << 8, /* takes text: an upstream that has such tools is offered one */
    TOOL_LOADS = 1 << 9,     /* its outputs bring the tools with defer_loading */
};

/* What a definition-only call shows when the client is to execute it. */
struct tool_announcement {
    json_t *fields; /* the item's own fields: name, input, action ...; owned */
    json_t
        *opening; /* what they are before the parts that have events of their own (the input of
                      * a custom tool, the commands of a shell) have come; owned, or NULL */
};

/* What the definition of a tool may depend on. Borrowed, and only to be read. */
struct tool_context {
    json_t
        *entry; /* of the request's `tools`; one that was made for it where a group was named */
    const struct run_settings *settings; /* of the run */
};

struct tool_handler {
    const char *name;        /* what the model calls it */
    const char *group;       /* the group it is offered in, or NULL for definition-only types */
    const char *description; /* what it is for, a sentence or two for the model */
    const char *parameters;  /* JSON Schema of its arguments */
    unsigned flags;          /* enum tool_flags */

    /* How its calls look, if that is not an mcp_call, or a function_call of the client's: tool_item.h.
     * Definition-only: needed with announce(). */
    const struct tool_item *item;

    /* Of its text, the model is shown so many characters unless it asks for more or less: 0 means
     * CUT_DEFAULT_LIMIT, CUT_NO_LIMIT all. Or the tool knows better what to leave out: then this is
     * called on the run's loop with what was asked for, must be quick, and may use nothing but its
     * arguments; the caller frees what it returns. */
    size_t shown_limit;
    char *(*cut)(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown);

    /* Data that run() gave, as text for the model: called on the worker, after it; the caller frees.
     * An error does not fail the call, the model is told that the text could not be made. NULL: a
     * string as it is, everything else as indented JSON. A result with text of its own is left
     * alone. */
    char *(*format)(const json_t *data, const json_t *args, struct err *err);

    /* The call in few words, where it is logged: in compact history and in the result of a chain. Given
     * are the arguments as the model wrote them, an object that fits no schema yet, and of a success
     * the text that the model was told. Called on any thread, any time later, again and again; must be
     * quick, and may use nothing but its arguments. The caller frees what it returns, and shows 200
     * characters of it. NULL, for the function or from it: the arguments are JSON with its strings cut,
     * and of the text it is the beginning. */
    char *(*compress_args)(const json_t *args);
    char *(*compress_result)(const char *text);

    /* Better words for arguments that do not fit the schema: err->text says what is wrong, one line
     * for each issue. May be NULL. */
    void (*explain)(struct err *err);

    /* What it returns, for whoever reads the list of tools: a type, and a remark. Both may be
     * NULL. */
    struct {
        const char *type;
        const char *note;
    } returns;
    const char *const *tags; /* words to find it by, ends with NULL; NULL for none */

    /* Whether a person is asked before it runs, unless the configuration says otherwise. A tool that
     * says nothing is asked about once, unless its group runs by itself (group.h). */
    struct permission permission;

    double timeout_seconds; /* wall clock of one call; 0 means the setting's default */

    /* What the call is about to do, looked at before anybody is asked anything: on a tool worker, with
     * the arguments that run() will get, and without any effect. What somebody has to allow is asked for
     * with tool_call_ask(). An error is told to the model, and nothing runs. NULL: there is nothing to
     * plan. */
    enum err_code (*plan)(struct tool_call *call, struct err *err);

    /* One call, on a tool worker. What plan() asked for has been allowed. */
    enum err_code (*run)(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err);

    /* No run() means definition-only: the client executes. From the arguments the model wrote
     * (text, maybe not even JSON), what stands in the item of the call. NULL: a plain
     * function_call. An error is told to the model, and the client hears nothing. */
    enum err_code (*announce)(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err);

    /* Definition-only: whether an entry of a request's `tools` is one for the client, and the server can
     * do what it says; `param` is the path of the entry, for the error. Entries that are not for the
     * client are passed over. NULL: all are, and all can be done. */
    bool (*is_clients)(const json_t *entry);
    enum err_code (*check)(const json_t *entry, const char *param, struct err *err);
    const char *alias; /* another type under which a tool_choice may mean it; NULL: none */

    /* A definition that is not the same for everybody: {"description","parameters"}, each optional,
     * say more than what stands above, or instead of it. "revision", any JSON that nobody is shown, is
     * what else makes it the tool that it is: an approval counts for no other. Called once when the
     * tools of a run are put together, and what it gives stands until the run ends; the next run has
     * another context, and is asked again. It may be called on a run's loop: it must be quick, and
     * use nothing but the context. What must be looked up in the store first, whoever accepts the
     * request puts there.
     * NULL: in this context there is no such tool. New reference. */
    json_t *(*init)(const struct tool_context *context);
};

/* The arguments, an object. Borrowed, and only to be read. */
json_t *tool_call_args(const struct tool_call *call);

/* In whose name: that of the run. */
const struct tenant *tool_call_tenant(const struct tool_call *call);

/* For what. Borrowed; never NULL, "" when there is none. */
const char *tool_call_id(const struct tool_call *call);
const char *tool_call_run(const struct tool_call *call);
const char *tool_call_thread(const struct tool_call *call);

/* The tool's own entry in the request's `tools`, e.g. {"type":"image_generation","size":...}.
 * Borrowed; never NULL. */
json_t *tool_call_config(const struct tool_call *call);

/* The files visible to this tool: ids given to its tool type by tool_resources, attachments and
 * the request. A borrowed array of strings, never NULL. */
json_t *tool_call_files(const struct tool_call *call);

/* What the request carries along for handlers that call other services: the `runnel.context`
 * object and headers named by the configuration. The same object on every thread that works
 * for this request; borrowed, only to be read; never NULL. */
json_t *tool_call_context(const struct tool_call *call);

/* The variables of the conversation, or of a response that is not stored. ERR_INVALID when there are none. */
enum err_code tool_call_variables(const struct tool_call *call,
                                  struct variable_access *ret_access,
                                  struct err *err) MUST_CHECK;

/* One of them by its name, which says whether it is a long message of the run's history; blocks.
 * ERR_NOT_FOUND is "Variable 'X' not found." */
enum err_code tool_call_read_variable(const struct tool_call *call,
                                      const struct variable_access *access, const char *name,
                                      struct variable *ret_variable,
                                      struct err *err) MUST_CHECK;

/* The skills of the run, as skill.h has them. Borrowed; never NULL. */
const json_t *tool_call_skills(const struct tool_call *call);
/* A file of one of them; NULL: its instructions, with a list of the files behind them. Blocks. The caller
 * frees *ret_text. */
enum err_code tool_call_read_skill(const struct tool_call *call, const json_t *skill,
                                   const char *file, char **ret_text,
                                   struct err *err) MUST_CHECK;

/* Arguments that were written with references hold the text of strangers. */
bool tool_call_is_resolved(const struct tool_call *call);

/* Patterns that one call may ask for, and bytes of each. */
#define TOOL_PATTERNS_LIMIT ((size_t)32)
#define TOOL_PATTERN_LIMIT  ((size_t)4096)

/* What somebody has to allow. Borrowed, but for the metadata. */
struct tool_permission {
    const char *type; /* "external_directory", "bash" ...: patterns are of one type */
    const char *const
        *patterns;     /* what it covers, ends with NULL: a last `*` stands for any rest, so
                                  * a directory's files are its name, a slash and a star */
    const char *title; /* for whoever is asked, in a few words */
    json_t *metadata;  /* for them, too: what it is about; taken, may be NULL */
};

/* In plan(), once: run() comes when it was allowed. ERR_LIMIT when it is too much. */
enum err_code tool_call_ask(struct tool_call *call, const struct tool_permission *permission,
                            struct err *err) MUST_CHECK;

/* True when nobody will read this call's result any more: cancelled, expired, timed out, or the
 * server stops. */
bool tool_call_cancelled(const struct tool_call *call);

/* Waits up to `ns` or until cancelled; ERR_CANCELLED then. For handlers that must wait for time. */
enum err_code tool_call_wait(struct tool_call *call, uint64_t ns) MUST_CHECK;

/* Shows output while the call works. Each blocks while the channel is full; ERR_CANCELLED means
 * stop. Text is whole characters: what is not UTF-8 becomes U+FFFD. */

/* Text of the answer: for final tools it streams as message text, for others it is kept as
 * partial output of the call. */
enum err_code tool_call_emit_text(struct tool_call *call, const char *text,
                                  size_t length) MUST_CHECK;

/* A stage of the item: "searching", "generating", "interpreting" ... with extra event fields
 * (taken; may be NULL), e.g. stage "partial_image" with partial_image_b64 and
 * partial_image_index. Becomes response.<item type>.<stage>. */
enum err_code tool_call_emit_stage(struct tool_call *call, const char *stage,
                                   json_t *fields) MUST_CHECK;

/* A piece of a field of the item that streams: "code" of a code_interpreter_call, "input" of a
 * custom_tool_call. */
enum err_code tool_call_emit_delta(struct tool_call *call, const char *field, const char *text,
                                   size_t length) MUST_CHECK;

/* Bytes of a call's metadata as JSON; what is larger is left out. */
#define TOOL_METADATA_LIMIT ((size_t)16 << 10)

/* Live title and metadata: last value wins, never blocks, may be dropped in favour of a later
 * one. Takes `metadata` (may be NULL). */
void tool_call_metadata(struct tool_call *call, const char *title, json_t *metadata);

#endif
