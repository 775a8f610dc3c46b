#ifndef RUNNEL_CORE_DOMAIN_RUN_SETTINGS_H
#define RUNNEL_CORE_DOMAIN_RUN_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/language.h"
#include "core/domain/permission.h"

/*
 * run_settings.h -- a request as its run reads it: everything the client chose, in typed members.
 *
 * The server accepts a request, checks it and makes its snapshot: one JSON object with the defaults of
 * assistant, thread and prompt template filled in. The row of the run stores the snapshot as text, and the
 * API shows it. The snapshot is decoded in one place, here: once when the request is accepted, and once when
 * a stored run is loaded. No other code in core/ knows the keys of a request.
 *
 * Why the struct keeps the JSON: the snapshot also has what only the API shows (service_tier, the prompt
 * of a template), and lists that have decoders of their own (tools, tool_choice, a schema). Members point
 * into it. A copy of the struct therefore borrows from the original, and may change members: that is how
 * one turn of the model gets other limits than its run.
 *
 * Where the two APIs have different names for one thing, the struct has one member. A text that the request
 * does not have is NULL, unless its comment says otherwise; a limit that it does not have is RUN_NO_LIMIT.
 *
 * Belongs to one thread at a time, as every JSON tree does.
 */

#define RUN_NO_LIMIT INT64_MAX

/* How past turns are sent to the model. */
enum run_history {
    RUN_HISTORY_NATIVE,  /* calls as calls */
    RUN_HISTORY_COMPACT, /* calls as text */
    RUN_HISTORY_UNSET,   /* as the server is configured */
};

/* How the answer cites what tools have found. */
enum run_citing {
    RUN_CITING_NONE,  /* not at all */
    RUN_CITING_MARKS, /* by the marks that the model writes */
    RUN_CITING_OVERLAP, /* by its marks; without any, where a paragraph has the words of a passage */
    RUN_CITING_UNSET, /* overlap in a response, marks in a message of a thread */
};

/* Parts of the answer that are only shown when the request includes them. */
enum run_include {
    RUN_INCLUDE_SEARCH_CONTENT = 1 << 0, /* the text that a file search found, in a run step */
    RUN_INCLUDE_REASONING = 1 << 1,      /* reasoning.encrypted_content */
    RUN_INCLUDE_LOGPROBS = 1 << 2,       /* message.output_text.logprobs */
    RUN_INCLUDE_SEARCH_RESULTS = 1 << 3, /* file_search_call.results */
    RUN_INCLUDE_CODE_OUTPUTS = 1 << 4,   /* code_interpreter_call.outputs */
    RUN_INCLUDE_WEB_SOURCES = 1 << 5,    /* web_search_call.action.sources */
    RUN_INCLUDE_WEB_RESULTS = 1 << 6,    /* web_search_call.results */
};
/* The flag of a value of `include`; 0 for one that changes nothing here. */
unsigned run_include_parse(const char *value);

/* What a request for a compaction gets. */
enum run_compact {
    RUN_COMPACT_UNASKED, /* an ordinary request */
    RUN_COMPACT_ITEM,    /* an item of a response */
    RUN_COMPACT_WINDOW,  /* a window that the client holds */
};

/* How a response waits for approvals. */
enum approval_channel {
    APPROVAL_SUSPEND, /* it ends, and the next request answers */
    APPROVAL_HOLD,    /* it waits, with its request open */
    APPROVAL_WEBHOOK, /* the same, and the operator's webhook is called */
    APPROVAL_DENY,    /* it does not wait: the calls are refused */
};

/* How long a response waits for answers unless its request says otherwise. */
#define RUN_HOLD_SECONDS 300

/* An answer to an approval of the previous response, with which this response continues. */
struct run_decision {
    const char *id; /* of the approval */
    const char *call_id;
    const char *name;
    const char *label;
    const char *arguments;
    const char *kind;       /* of the approval, as its status table calls it */
    const char *definition; /* hash of the tool that was shown, or NULL */
    const char *reason;     /* or NULL */
    json_t *extra;          /* what the upstream attached to the call, or NULL */
    bool approve;
    bool lost; /* it was approved in an earlier residency, and may have run */
};

/* The member of a snapshot with the scripts that the server has looked up. */
#define RUN_SCRIPTS_KEY "scripts"

struct run_settings {
    json_t *snapshot; /* owned; members point into it */

    /* The request to the model. Numbers that are only passed on are JSON, so that 1 stays 1. */
    const char *model;               /* "" when missing */
    const char *instructions;        /* "" when missing */
    const json_t *template_messages; /* of a prompt template, in front of everything; or NULL */
    json_t *temperature, *top_p;
    int64_t top_logprobs; /* 0: none */
    const char *reasoning_effort, *reasoning_summary, *verbosity;
    const json_t *format; /* of the answer's text, in either API's form; or NULL */
    const char *user, *safety_identifier, *prompt_cache_key, *service_tier;
    unsigned includes; /* enum run_include */

    /* Tools. */
    json_t *tools; /* the entries, an array (core/run/catalog/tool_set.h); or NULL */
    const json_t *tool_choice; /* core/run/catalog/tool_choice.h; or NULL */
    const json_t *tool_groups; /* runnel.tool_groups (core/tool/override.h); or NULL */
    const json_t *tool_resources;
    const char *awaited_store; /* whose files it waits for before it begins; or NULL */
    const char *expired_store; /* that the run was to search: it fails at once; or NULL */
    const json_t *skills;      /* that the model may read (core/memory/skill.h); or NULL */
    const json_t
        *scripts; /* by id, whose functions are tools (handlers/script/custom.c); or NULL */
    /* Owned, not of the snapshot: the files of its container, [{"name", "bytes"}] in their order; or NULL */
    json_t *container_files;
    /* The same of its skills, [{"name", "description", "path"}]; or NULL */
    json_t *container_skills;
    bool one_call;                             /* a turn has one call: later ones are dropped */
    const json_t *project_tool_groups;         /* overrides of project and user */
    struct permission_set project_permissions; /* their policies, by group and tool */

    /* Limits. */
    int64_t max_prompt_tokens;
    int64_t max_completion_tokens;
    unsigned max_rounds; /* of tool calls; 0: the server's */
    int64_t max_calls;

    /* How much of the history is sent to the model. */
    bool truncates;            /* the oldest items are left out when not all fit */
    int last_messages;         /* number of messages; 0: all */
    bool compacts;             /* the history is compacted above the threshold */
    int64_t compact_threshold; /* tokens; 0: a share of the model's context */
    enum run_compact compact;
    enum run_history history;
    enum run_citing citing;
    size_t message_limit; /* characters of a message that was answered; 0: all */

    /* How results are cut for the model (core/tool/cut.h). */
    size_t result_limit; /* characters; 0: the tool's own limit */
    bool result_head_only;
    enum language language;

    /* Approvals. */
    struct {
        enum approval_channel channel;
        int64_t hold_seconds;
        const char *remember; /* the scope of a grant whose answer names no scope */
        bool rejects_pending; /* what the request leaves unanswered is refused */
    } approval;
    struct permission_set permissions; /* runnel.permissions: by "label/tool" or "label" */
    struct run_decision *decisions;    /* owned */
    size_t decision_count;
};

/* Decodes the snapshot of an accepted request. Takes it. */
void run_settings_read(struct run_settings *ret_settings, json_t *snapshot);

/* The same for a stored snapshot; NULL is an empty one. */
void run_settings_load(struct run_settings *ret_settings, const char *text);

/* The snapshot as the row of the run keeps it. The caller frees. */
char *run_settings_store(const struct run_settings *settings);

/* Only for the original: copies of the struct borrow from it. */
void run_settings_clear(struct run_settings *settings);

/* The end user of the run: `user`, else `safety_identifier`, else "". Borrowed. */
const char *run_settings_user(const struct run_settings *settings);

/* Whether log probabilities are shown: because of top_logprobs, or of include. */
bool run_settings_want_logprobs(const struct run_settings *settings);

/* ---- What the server adds to a request: into the settings and their snapshot ---- */

/* Removes from a request the keys that only this server writes. A client that sends them gains nothing. */
void run_settings_drop_own(json_t *request);

void run_settings_set_compact(struct run_settings *settings, enum run_compact compact);

/* Sets `input_transformations`, what the model is not sent of the request's input. Shown, and not read by the run. */
void run_settings_set_transformations(struct run_settings *settings, json_t *list);

/* Sets the tool settings of project and user, {"tool_groups", "permissions"}. Takes them; NULL: no settings. */
void run_settings_set_tools(struct run_settings *settings, json_t *tool_settings);

/* Replaces the entries of `tools`. */
void run_settings_set_tool_list(struct run_settings *settings, json_t *tools);

/* Sets the tools without which the request goes on (core/run/catalog/unavailable.h). Takes them. */
void run_settings_set_unavailable(struct run_settings *settings, json_t *left_out);

/* The same, of a stored snapshot. Borrowed, or NULL. */
json_t *run_settings_unavailable(const json_t *snapshot);

/* Sets the answers with which the response continues. Copied. */
void run_settings_decide(struct run_settings *settings, const struct run_decision *decisions,
                         size_t count);

#endif
