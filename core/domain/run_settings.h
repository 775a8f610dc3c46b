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
 * assistant, thread and prompt template filled in. The row of the run stores the snapshot as text, and
 * the API shows it as it is. It is decoded in one place, here: once when the request is accepted, and
 * once when a stored run is loaded. Nothing else in the core knows a key of a request.
 *
 * Why the struct keeps the JSON: the snapshot also has what only the API shows (service_tier, the prompt
 * of a template), and lists that have decoders of their own (tools, tool_choice, a schema). Members point
 * into it. A copy of the struct therefore borrows from the original, and may change members: that is how
 * one turn of the model gets other limits than its run.
 *
 * What the API of Assistants and that of Responses call differently has one member. Texts are NULL where
 * the request has none, unless a member says otherwise. Limits are INT64_MAX where there is none.
 *
 * Belongs to one thread at a time, as every JSON tree does.
 */

#define RUN_NO_LIMIT INT64_MAX

/* How turns that are over are sent to the model. */
enum run_history {
    RUN_HISTORY_NATIVE,  /* calls as calls */
    RUN_HISTORY_COMPACT, /* calls as text */
    RUN_HISTORY_UNSET,   /* as the server is configured */
};

/* What a request shows only where it is asked to. */
enum run_include {
    RUN_INCLUDE_SEARCH_CONTENT = 1 << 0, /* the text that a file search found, in a run step */
    RUN_INCLUDE_REASONING = 1 << 1,      /* reasoning.encrypted_content */
    RUN_INCLUDE_LOGPROBS = 1 << 2,       /* message.output_text.logprobs */
};

/* A request that wants nothing but a compaction says what it wants of it. */
enum run_compact {
    RUN_COMPACT_UNASKED,
    RUN_COMPACT_ITEM,   /* an item of a response */
    RUN_COMPACT_WINDOW, /* a window that the client holds */
};

/* What becomes of calls that need an approval. */
enum approval_channel {
    APPROVAL_SUSPEND, /* they wait for the next request */
    APPROVAL_HOLD,    /* the response waits for the answers */
    APPROVAL_WEBHOOK, /* it does, and the operator's webhook is called */
    APPROVAL_DENY,    /* they are refused */
};

/* How long a response waits for answers unless its request says otherwise. */
#define RUN_HOLD_SECONDS 300

/* An answer that a response was made to continue with: about a call of the response before. */
struct run_decision {
    const char *id; /* of the question */
    const char *call_id;
    const char *name;
    const char *label;
    const char *arguments;
    const char *kind;       /* of the approval, as its status table calls it */
    const char *definition; /* hash of the tool that was shown, or NULL */
    const char *reason;     /* or NULL */
    json_t *extra;          /* what the upstream attached to the call, or NULL */
    bool approve;
    bool lost; /* it was approved before, and may have run */
};

struct run_settings {
    json_t *snapshot; /* owned; what members point into */

    /* What the model is asked, and how it samples. Numbers that are only passed on are as written. */
    const char *model;               /* "" without one */
    const char *instructions;        /* "" without any */
    const json_t *template_messages; /* of a prompt template, in front of everything; or NULL */
    json_t *temperature, *top_p;
    int64_t top_logprobs; /* 0: not asked for */
    const char *reasoning_effort, *reasoning_summary, *verbosity;
    const json_t *format; /* of the answer's text, in either API's form; or NULL */
    const char *user, *safety_identifier, *prompt_cache_key;
    unsigned includes; /* enum run_include */

    /* Tools. */
    json_t *tools; /* the entries, an array (core/run/catalog/tool_set.h); or NULL */
    const json_t *tool_choice; /* core/run/catalog/tool_choice.h; or NULL */
    const json_t *tool_groups; /* runnel.tool_groups (core/tool/override.h); or NULL */
    const json_t *tool_resources;
    const json_t *skills; /* that the model may read (core/memory/skill.h); or NULL */
    bool serial_calls;    /* one call after another */
    const json_t *project_tool_groups;         /* what project and user have set: the same, */
    struct permission_set project_permissions; /* and policies by group and tool */

    /* Limits. */
    int64_t max_prompt_tokens;
    int64_t max_completion_tokens;
    unsigned max_rounds; /* of tool calls; 0: the server's */
    int64_t max_calls;

    /* How much of the past the model is sent. */
    bool truncates;            /* the oldest items go when it would not fit */
    int last_messages;         /* only so many; 0: all */
    bool compacts;             /* into a compaction, when it has grown over the threshold */
    int64_t compact_threshold; /* tokens; 0: a part of what the model can read */
    enum run_compact compact;
    enum run_history history;
    size_t message_limit; /* characters of a message that was answered; 0: all */

    /* What the model is shown of a result. */
    size_t result_limit; /* characters; 0: as the tool has it */
    bool result_head_only;
    enum language language;

    /* Approvals. */
    struct {
        enum approval_channel channel;
        int64_t hold_seconds;
        const char *remember; /* the scope of an answer that names none */
    } approval;
    struct permission_set permissions; /* runnel.permissions: by "label/tool" or "label" */
    struct run_decision *decisions;    /* owned */
    size_t decision_count;
};

/* Decodes a request that was accepted. Takes its snapshot. */
void run_settings_read(struct run_settings *ret_settings, json_t *snapshot);

/* The same of a stored snapshot; NULL is an empty one. */
void run_settings_load(struct run_settings *ret_settings, const char *text);

/* The snapshot as the row of the run keeps it. The caller frees. */
char *run_settings_store(const struct run_settings *settings);

/* Of the original, not of copies. */
void run_settings_clear(struct run_settings *settings);

/* Whom the run is for: its `user`, else its `safety_identifier`; "" for nobody. Borrowed. */
const char *run_settings_user(const struct run_settings *settings);

/* Whether the probabilities of tokens are shown: by top_logprobs, or by include. */
bool run_settings_want_logprobs(const struct run_settings *settings);

/* ---- What the server adds to a request: into the settings and their snapshot ---- */

/* Takes out of a request the keys that only this server writes. */
void run_settings_drop_own(json_t *request);

void run_settings_set_compact(struct run_settings *settings, enum run_compact compact);

/* What project and user have set of tools: {"tool_groups", "permissions"}. Takes it; NULL: nothing. */
void run_settings_set_tools(struct run_settings *settings, json_t *tool_settings);

/* The answers that the response continues with. Copied. */
void run_settings_decide(struct run_settings *settings, const struct run_decision *decisions,
                         size_t count);

#endif
