#ifndef RUNNEL_CORE_TOOL_TOOL_H
#define RUNNEL_CORE_TOOL_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/permission.h"
#include "core/domain/run_settings.h"
#include "core/domain/variable.h"
#include "core/tool/cut.h"

/*
 * tool.h -- what a tool handler is, and everything it may touch.
 *
 * A handler is one file in handlers/ that ends in one constant descriptor. handlers/handlers.h lists the
 * descriptors; no other code names them. Start with handlers/basic/datetime.c, which is short.
 *
 * Threads. run() is called on tool workers, several at a time, also for the same handler.
 * Everything reachable from the `struct tool_call` belongs to this call alone.
 *
 * Memory. The call and its arguments live until run() returns. The executor owns what run() puts into
 * *ret_result.
 *
 * Errors. The model reads the error that run() returns, and may try something else; an error does not
 * fail the run. So the text should help a reader who cannot see the source: "no such time zone:
 * Mars/Olympus".
 *
 * Cancelling. A handler that waits or loops checks tool_call_cancelled() at least once a second, and
 * returns ERR_CANCELLED when it is true. A handler that does not keeps its worker until it returns, and
 * its output is dropped (executor.h).
 */

struct tool_call;
struct tool_item;

/* One part of a result. The model reads text parts. Of other parts it sees only that they exist; the
 * client gets them as attachments. */
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
    TOOL_ERROR,     /* like an error, but its parts, title and metadata are kept */
    TOOL_REJECTED,  /* the tool, or a service behind it, refused: nothing was done */
    TOOL_CANCELLED, /* a service behind the tool stopped it half way */
    TOOL_NOT_FOUND, /* the thing that should do the work does not exist */
};
/* The name for clients: "success", "error", "execution_rejected", "cancelled", "not_found". */
const char *tool_status_name(enum tool_status status);
/* TOOL_SUCCESS for an unknown name. */
enum tool_status tool_status_parse(const char *name);

/* The result of a call: a list of parts, or data that becomes a text part (`format` of the handler). A
 * zeroed struct is an empty result. */
struct tool_result {
    struct tool_part *parts;
    size_t count;
    json_t *data;     /* owned; NULL: the parts are all */
    char *title;      /* a few words for people, like "Read 3 files"; owned, or NULL */
    json_t *metadata; /* for people and programs, not for the model; owned, or NULL */
    enum tool_status status;
    char *why; /* owned; the reason for the status, or NULL */
    /* Owned; what its text may be cited for, or NULL: tool_result_set_sources() */
    json_t *sources;
    json_t *files; /* owned; what it has done to files, or NULL: tool_result_set_files() */
    char picture_id[ID_SIZE]; /* the blob of the picture that it has drawn, or "" */
};

/* Bytes of text that are not UTF-8 become U+FFFD. add_part takes what the part owns. */
void tool_result_add_text(struct tool_result *result, const char *text);
void tool_result_add_bytes(struct tool_result *result, const char *text, size_t length);
void tool_result_add_part(struct tool_result *result, struct tool_part part);
/* Takes the data; releases earlier data. */
void tool_result_set_data(struct tool_result *result, json_t *data);
/* Takes the metadata. Either may be NULL. */
void tool_result_describe(struct tool_result *result, const char *title, json_t *metadata);
/* Sets a status more precise than an error of run(), which then returns ERR_OK. `why` is a sentence for
 * the model, or NULL. Of a call that was rejected or cancelled the model sees the status and `why`, and no
 * parts. Of other calls it sees the parts, and `why` only if there are no parts. */
void tool_result_end(struct tool_result *result, enum tool_status status, const char *why);
/* What the model may cite from the text, with TOOL_CITED: a list with an entry for each passage that the text
 * has (source.h), in their order. An entry is the annotation that a citation of it becomes, in the form of the
 * Responses API and without its place in the text: {"type":"file_citation","file_id":...,"filename":...}.
 * Takes the list. */
void tool_result_set_sources(struct tool_result *result, json_t *sources);
/* What the call has done to the files of its container, as in struct tool_run (tool_container.h). Messages that name
 * such a file get an annotation. Takes the list. */
void tool_result_set_files(struct tool_result *result, json_t *files);
void tool_result_clear(struct tool_result *result);

/* The parts that are not text, as JSON for the client. Data that is too large for an item is replaced by its
 * size in bytes. NULL when all parts are text. New reference. */
json_t *tool_result_attachments(const struct tool_result *result);

/* What the model reads: the text parts, and one line for each other part, joined by newlines. The caller
 * frees. */
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
    TOOL_READ_ONLY = 1 << 5,  /* changes nothing; `read_only` in a request selects such tools */
    TOOL_READER = 1 << 10, /* reads a variable by its name: hints to the model name this tool */
    /* OpenAI's hosted tool of that name: an entry with its type in `tools` offers it, and no group does */
    TOOL_HOSTED = 1 << 12,
    TOOL_CITED = 1 << 11, /* the model may cite its results; it has an item of its own */
    TOOL_OPENS = 1 << 13, /* its item opens with tool_call_open() */
    /* It runs code in a container (tool_container.h). Where nothing can be confined, it is not offered */
    TOOL_NEEDS_SANDBOX = 1 << 14,
    TOOL_NEEDS_PYTHON = 1 << 15,     /* a Python in that container */
    TOOL_NEEDS_RIPGREP = 1 << 16,    /* ripgrep in it */
    TOOL_NEEDS_WEB_SEARCH = 1 << 19, /* a provider that searches the web */
    TOOL_IN_ORDER =
        1 << 17, /* its calls of a turn run one after another, as the model wrote them */
    /* It calls tool_call_box(), or with TOOL_NEEDS_PYTHON tool_call_python(): the call waits for that before it starts,
     * without a worker. Only with TOOL_IN_ORDER: a call that had the floor could wait for one that waits for the
     * floor */
    TOOL_TAKES_SEAT = 1 << 18,
    /* It has pictures drawn (tool_picture.h). Without an image model it is not offered */
    TOOL_DRAWS = 1 << 20,
    /* It waits for servers of the web. It has a worker of its own kind, so that tools that compute need not wait */
    TOOL_WAITS_FOR_WEB = 1 << 21,
    TOOL_NEEDS_NODE = 1 << 24,   /* a Node.js for its box */
    TOOL_NEEDS_PANDOC = 1 << 25, /* a Pandoc for it */
    /* With TOOL_TAKES_SEAT: it calls tool_call_own_box() instead, and so does not wait for the container's Python */
    TOOL_OWN_BOX = 1 << 26,
    /* Hosted. It has no entries: it is offered along with the tool that serves an entry of its `type`, and policies
     * about that tool count for it, too. `serves` says for which entries; NULL: for all */
    TOOL_ALONG = 1 << 22,
    /* Its results are what strangers wrote: pages, results of remote servers */
    TOOL_FOREIGN = 1 << 27,
    /* It executes or writes. After a foreign result a person is asked (core/run/approval/run_taint.h) */
    TOOL_ACTS = 1 << 28,
    /* It runs programs that call the other tools (core/run/calls/run_programs.h, and program.h for what it takes) */
    TOOL_PROGRAM = 1 << 29,

    /* Definition-only: */
    TOOL_NAMED = 1 << 6,      /* each entry has a name; other tools are named by their type */
    TOOL_AS_WRITTEN = 1 << 7, /* description and parameters of the entry are sent unchanged */
    TOOL_FREE_TEXT = 1 << 8,  /* takes text; upstreams with custom tools get it as one */
    TOOL_LOADS = 1 << 9,      /* its outputs load tools with defer_loading */
};

/* What a definition-only call shows when the client is to execute it. */
struct tool_announcement {
    json_t *fields; /* the item's own fields: name, input, action ...; owned */
    /* The fields when the item opens, before the events of its parts (the input of a custom
     * tool, the commands of a shell); owned, or NULL */
    json_t *opening;
};

/* What the definition of a tool may depend on. Borrowed; read-only. */
struct tool_context {
    /* Of the request's `tools`; made by the server when tool_groups turned the group on */
    json_t *entry;
    const struct run_settings *settings; /* of the run */
};

struct tool_handler {
    const char *name;        /* what the model calls it */
    const char *group;       /* the group it is offered in, or NULL for definition-only types */
    const char *description; /* what it is for, a sentence or two for the model */
    const char *parameters;  /* JSON Schema of its arguments */
    unsigned flags;          /* enum tool_flags */

    /* The form of its calls (tool_item.h). NULL: an mcp_call of the server, or a function_call of the
     * client. Definition-only handlers with announce() need it. */
    const struct tool_item *item;

    /* Characters of its text that the model sees, unless the call has a `limit`. 0 means
     * CUT_DEFAULT_LIMIT; CUT_NO_LIMIT means all. cut() is for a tool that knows better what to leave out.
     * It is called on the run's loop, must be quick, and may use only its arguments; the caller frees its
     * result. */
    size_t shown_limit;
    char *(*cut)(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown);

    /* Makes text for the model of the data that run() returned. Called on the worker, after run(); the
     * caller frees. An error does not fail the call: the text says that formatting failed. NULL: a string
     * is used unchanged, everything else as indented JSON. Not called for a result that has text. */
    char *(*format)(const json_t *data, const json_t *args, struct err *err);

    /* The call in a few words, for logs of calls: compact history and the result of a chain. `args` is the
     * object that the model wrote, not yet checked; `text` is what the model saw of a successful call.
     * Called on any thread, at any time, repeatedly; must be quick, and may use only its argument. The
     * caller frees the result and shows 200 characters of it. NULL, as function or as result, means the
     * default: JSON with its strings cut, and the beginning of the text. */
    char *(*compress_args)(const json_t *args);
    char *(*compress_result)(const char *text);

    /* Rewrites the error for arguments that do not fit the schema. err->text has one line for each issue.
     * May be NULL. */
    void (*explain)(struct err *err);

    /* What it returns, for readers of GET /v1/runnel/tools. Both may be NULL. */
    struct {
        const char *type;
        const char *note;
    } returns;
    const char *const *tags; /* search words, ends with NULL; or NULL */

    /* Its policy, unless the configuration has another one. Zeroed, a person is asked once, unless the
     * group has auto_execute (group.h). */
    struct permission permission;

    double timeout_seconds; /* wall clock of one call; 0 means the setting's default */

    /* Finds out what the call is about to do, before any approval is requested. Called on a tool worker
     * with the arguments that run() will get; must have no effects. It requests an approval with
     * tool_call_ask(), and shows what would happen with tool_call_preview(). The model reads an error, and run() is not
     * called. NULL: nothing to plan. */
    enum err_code (*plan)(struct tool_call *call, struct err *err);

    /* One call, on a tool worker. What plan() asked for has been approved. */
    enum err_code (*run)(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err);

    /* A handler without run() is definition-only: the client executes the call. announce() makes the
     * fields of the call's item from the arguments that the model wrote (text, maybe not JSON). NULL: a
     * plain function_call. The model reads an error, and the client gets no item. */
    enum err_code (*announce)(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err);

    /* Definition-only. is_clients(): whether the client executes this entry of `tools`; other entries are
     * skipped. unavailable(): why this server cannot serve an entry, the end of a sentence (a constant); NULL: it
     * can. Without these functions all entries are the client's, and all can be served. */
    bool (*is_clients)(const json_t *entry);
    const char *(*unavailable)(const json_t *entry);
    /* The tool type whose files it sees, too, in tool_call_files(), if the request names none for its own; or NULL */
    const char *files_of;
    const char *alias; /* another type by which a tool_choice may name it; or NULL */
    const char *type;  /* of its entries in `tools`, if that is not its name; or NULL */
    /* More types of its entries, for a tool that has several names in OpenAI's API; ends with NULL; or NULL */
    const char *const *more_types;
    /* Which entries of its type it serves, where two handlers have one type: the first that says so has it. NULL:
     * all */
    bool (*serves)(const json_t *entry);

    /* A definition that depends on the run: {"description", "parameters", "revision", "note"}, each optional.
     * Description and parameters replace those above. "note" is text for the model behind the description: approvals do
     * not depend on it. "revision" is any JSON that changes when the tool
     * becomes a different one: approvals count for one revision; neither model nor client sees it.
     * Called when the tools of a run are put together, possibly on its loop: it must be quick, and use only
     * the context. Data from the store is put into the settings when the request is accepted.
     * Returns a new reference; NULL: the tool does not exist in this context. */
    json_t *(*init)(const struct tool_context *context);

    /* For an entry that stands for several tools, all of which this handler executes: their definitions by their names.
     * Each is what init() would return, and may have "permission" (permission.h), which takes the place of that of the
     * handler, and "own": an object for run(), the member "own" of tool_call_config(). New reference; NULL: none.
     * Called as init() is. `serves`, which is there, too, says which entries of any type these are. */
    json_t *(*members)(const struct tool_context *context);
    /* Of such an entry: a text for the model about all of its tools. Borrowed from the context; NULL: none. */
    const char *(*about)(const struct tool_context *context);
};

/* The arguments, an object. Borrowed; read-only. */
json_t *tool_call_args(const struct tool_call *call);

/* The tenant of the run. Borrowed. */
const struct tenant *tool_call_tenant(const struct tool_call *call);

/* The ids of the call, its run and its thread. Borrowed; never NULL, "" when missing. */
const char *tool_call_id(const struct tool_call *call);
const char *tool_call_run(const struct tool_call *call);
const char *tool_call_thread(const struct tool_call *call);

/* Of a tool whose results may be cited (TOOL_CITED): the number of this call among such calls of its context,
 * from 1. 0 for other tools. */
unsigned tool_call_search(const struct tool_call *call);

/* The tool's own entry in the request's `tools`, e.g. {"type":"image_generation","size":...}.
 * Borrowed; never NULL. */
json_t *tool_call_config(const struct tool_call *call);

/* The files visible to this tool: ids given to its tool type by tool_resources, attachments and
 * the request. A borrowed array of strings, never NULL. */
json_t *tool_call_files(const struct tool_call *call);

/* Searches the files of vector stores. `query` is an object with `vector_store_ids` and `queries`, and if they are
 * wanted `filters`, `max_num_results` and `ranking_options`, in the form of the Responses API's tool. *ret_found, a
 * new reference, lists what was found in the order of rank:
 *
 *   {"file_id", "filename", "score", "text", "attributes", "runnel": {"page", "heading", "chunk"}}
 *
 * Blocks. The text of an error is for the model. ERR_INVALID when this server searches no files. */
enum err_code tool_call_find(const struct tool_call *call, const json_t *query,
                             json_t **ret_found, struct err *err) MUST_CHECK;

/* Searches the web. `query` is an object with `queries` and `count` of all results, and if they are wanted
 * `freshness` ("day", "week", "month" or "year"), `country` (two letters) and `domains`. *ret_found, a new
 * reference, lists what was found in the order of rank, titles and texts as one line of plain text:
 *
 *   {"url", "title", "text", and if it is known "date"}
 *
 * Blocks. The text of an error is for the model. ERR_INVALID when this server does not search the web. */
enum err_code tool_call_search_web(struct tool_call *call, const json_t *query,
                                   json_t **ret_found, struct err *err) MUST_CHECK;

/* Fetches a page of the web. `query` has `url`, and says as what the page is read (core/document/page/page.h):
 *
 *   {"links": bool, "images": bool}         Markdown of its main part; they keep their URLs or not
 *   {"elements": selector, "limit": n}       HTML of elements, about `limit` characters
 *   {"outline": selector, "depth": n, "text": true}
 *
 * If it also has `domains`, a list, the page must be of these or below.
 *
 * *ret_page, a new reference: {"url": that of the last redirect, "content_type", "text", and what is known of "title",
 * "author", "description", "published", "site", "language", "count", "cut"}.
 *
 * Blocks. The text of an error is for the model, and `word` a code such as "INVALID_URL" (core/web/pages.h), or NULL.
 * ERR_INVALID when this server fetches no pages. */
enum err_code tool_call_page(const struct tool_call *call, const json_t *query,
                             json_t **ret_page, struct err *err) MUST_CHECK;

/* The URL of a result of the run's searches in the web, by the `number` that it has there. The caller frees. NULL:
 * it is not known. */
char *tool_call_web_result(const struct tool_call *call, size_t number);

/* The files of the project, newest first, or those of one vector store. `query` may have `vector_store_id`, `after` (a
 * file id) and `count`. *ret_page, a new reference:
 *
 *   {"files": [{"id", "filename", "bytes", "purpose", and of a store's file "status"}], "has_more"}
 *
 * Blocks. The text of an error is for the model. ERR_INVALID when this server has no files. */
enum err_code tool_call_list_files(const struct tool_call *call, const json_t *query,
                                   json_t **ret_page, struct err *err) MUST_CHECK;

/* A file as it is read. Owned. */
struct tool_file {
    char *id, *name;
    uint64_t bytes; /* of what is read; more than was taken, if it goes on */
};
void tool_file_clear(struct tool_file *file);

/* Takes a piece of a file; false: no more is wanted. */
typedef bool tool_take_fn(void *arg, const char *bytes, size_t length);

/* Reads a file of the project, and no further than `take` wants. Of a PDF or an office document the text is read, each
 * page behind a line that names it, from `first_page` on (0: from the beginning); of all other files the bytes. Blocks;
 * errors as above. ERR_NOT_FOUND for a file of another project. ERR_INVALID: it has no such page. */
enum err_code tool_call_read_file(const struct tool_call *call, const char *id,
                                  size_t first_page, tool_take_fn *take, void *take_arg,
                                  struct tool_file *ret_file, struct err *err) MUST_CHECK;

/* A plain text, read to be changed. Owned. */
struct tool_text {
    char *id, *name;
    char *version; /* of the bytes; another one after each change */
    char *bytes;
    size_t length;
};
void tool_text_clear(struct tool_text *text);

/* Reads all bytes of a file that has no more than `limit`. Blocks; errors as above. ERR_TOO_LARGE; ERR_INVALID for a
 * file whose text is inside of another format, such as PDF. */
enum err_code tool_call_load_text(const struct tool_call *call, const char *id, size_t limit,
                                  struct tool_text *ret_text, struct err *err) MUST_CHECK;

/* The file that was read gets other bytes, under its id and in all its vector stores, at once or not at all. Blocks.
 * ERR_CONFLICT: it has changed since it was read. ERR_INVALID: the project would have more bytes than it may. */
enum err_code tool_call_change_text(const struct tool_call *call, const struct tool_text *read,
                                    const char *bytes, size_t length,
                                    struct err *err) MUST_CHECK;

/* Makes a file of the project, and attaches it to the vector store, if one is named. Blocks; errors as above. */
enum err_code tool_call_make_text(const struct tool_call *call, const char *name,
                                  const char *vector_store_id, const char *bytes, size_t length,
                                  struct tool_file *ret_file, struct err *err) MUST_CHECK;

/* How many tokens of passages the model is shown, by the server's setting and by what the model can read. */
size_t tool_call_passage_tokens(const struct tool_call *call);

/* What the request has for handlers that call other services: the object `runnel.context`, and the headers
 * that the configuration names. Borrowed; read-only; never NULL. */
json_t *tool_call_context(const struct tool_call *call);

/* The variables of the conversation, or of a response that is not stored. ERR_INVALID when the call has no
 * variables. */
enum err_code tool_call_variables(const struct tool_call *call,
                                  struct variable_access *ret_access,
                                  struct err *err) MUST_CHECK;

/* Reads one variable, or a long message of the run's history, by its name. Blocks. ERR_NOT_FOUND has the
 * text "Variable 'X' not found." */
enum err_code tool_call_read_variable(const struct tool_call *call,
                                      const struct variable_access *access, const char *name,
                                      struct variable *ret_variable,
                                      struct err *err) MUST_CHECK;

/* The skills of the run, as skill.h has them. Borrowed; never NULL. */
const json_t *tool_call_skills(const struct tool_call *call);
/* Reads a file of a skill. `file` NULL: its instructions, followed by a list of its files. Blocks. The
 * caller frees *ret_text. */
enum err_code tool_call_read_skill(const struct tool_call *call, const json_t *skill,
                                   const char *file, char **ret_text,
                                   struct err *err) MUST_CHECK;

/* What the regular expressions of the call's run may still take, for regex_scan_share(); or NULL. Borrowed.
 * A handler that searches with a pattern of the model shares every scan. */
struct regex_budget *tool_call_searches(const struct tool_call *call);

/* True when the arguments had references: then they contain text that the model did not write. */
bool tool_call_is_resolved(const struct tool_call *call);

/* Patterns that one call may ask for, and bytes of each. */
#define TOOL_PATTERNS_LIMIT ((size_t)32)
#define TOOL_PATTERN_LIMIT  ((size_t)4096)

/* What needs an approval. Borrowed, except the metadata. */
struct tool_permission {
    const char *type; /* "external_directory", "bash" ...: the kind of all patterns */
    /* Ends with NULL; a `*` at the end matches any rest: "/etc/" and a star are all files of
     * that directory */
    const char *const *patterns;
    const char *title; /* for the person who decides, a few words */
    json_t *metadata;  /* for that person too: details; taken, may be NULL */
};

/* Only in plan(), once. run() is called after the approval. ERR_LIMIT when there are too many patterns or
 * one is too long. */
enum err_code tool_call_ask(struct tool_call *call, const struct tool_permission *permission,
                            struct err *err) MUST_CHECK;

/* Only in plan(): what a person is shown beside the question about the call, if its policy asks one. For example what
 * would change. Takes the object; the last one counts. One beyond TOOL_METADATA_LIMIT is dropped. */
void tool_call_preview(struct tool_call *call, json_t *preview);

/* True when the result of this call will not be read: the run was cancelled or expired, the call timed out,
 * or the server stops. */
bool tool_call_cancelled(const struct tool_call *call);

/* A descriptor that can be read once the call is cancelled, for poll() beside others. Its deadline does not raise it:
 * check tool_call_cancelled(), too. The call's own; -1: there are no descriptors left. */
int tool_call_cancel_fd(const struct tool_call *call);

/* Waits up to `ns` or until cancelled; ERR_CANCELLED then. For handlers that must wait for time. */
enum err_code tool_call_wait(struct tool_call *call, uint64_t ns) MUST_CHECK;

/* Shows output while the call works. Each blocks while the channel is full; ERR_CANCELLED means
 * stop. Text is whole characters: what is not UTF-8 becomes U+FFFD. */

/* Opens the item of a tool with TOOL_OPENS, with fields that only the worker knows (taken), such as the container
 * that it runs in. The first output of the call. Without it the item opens with the next output, or at the end. */
enum err_code tool_call_open(struct tool_call *call, json_t *fields) MUST_CHECK;

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

/* Bytes of a call's metadata as JSON; larger metadata is dropped. */
#define TOOL_METADATA_LIMIT ((size_t)16 << 10)

/* Live title and metadata. Never blocks. The last value of the title and of each key wins; the client may
 * not see earlier ones. Takes `metadata` (may be NULL). */
void tool_call_metadata(struct tool_call *call, const char *title, json_t *metadata);

#endif
