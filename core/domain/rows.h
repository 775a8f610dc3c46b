#ifndef RUNNEL_CORE_DOMAIN_ROWS_H
#define RUNNEL_CORE_DOMAIN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/ids.h"
#include "core/domain/approval_status.h"
#include "core/domain/item_type.h"
#include "core/domain/run_status.h"

/*
 * rows.h -- what the store remembers, as plain structs.
 *
 * Times are microseconds since 1970; 0 means never (NULL in the database). JSON columns are
 * text: parsed where somebody looks inside, passed on as they are where nobody does. A NULL
 * pointer is SQL NULL. Pointers in a row are owned by it: foo_row_clear() releases them and
 * zeroes the row. A _parse() is given a word that we have written; another one is our mistake.
 */

/* Which API a run was started through, and so whose objects and events it shows. */
enum row_face {
    FACE_ASSISTANTS,
    FACE_RESPONSES,
};
const char *row_face_name(enum row_face face);
enum row_face row_face_parse(const char *name);

enum run_flags {
    RUN_STORED = 1 << 0,     /* false only for Responses with store:false */
    RUN_BACKGROUND = 1 << 1, /* Responses with background:true */
    RUN_STREAMED = 1 << 2,   /* created with stream:true */
    RUN_RESUMABLE = 1 << 3,  /* its events are logged: background, and every Assistants run */
};

struct run_row {
    char id[ID_SIZE]; /* run_... or resp_... */
    char project[ID_SIZE];
    char thread_id[ID_SIZE]; /* "" for a response outside any conversation */
    char assistant_id[ID_SIZE];
    char parent_id[ID_LIMIT + 1]; /* previous_response_id, or "" */
    enum row_face face;
    unsigned flags; /* enum run_flags */
    enum run_status status;
    bool cancel_requested;
    int turn;     /* model turns that have ended */
    int attempts; /* times it was taken up after a crash */

    char *config;          /* JSON: the request as accepted, see core/run/turn/run.h */
    char *metadata;        /* JSON object */
    char *required_action; /* JSON, non-NULL only in requires_action */
    char *usage;           /* JSON */
    char *error;           /* JSON {code, message} */
    char *incomplete;      /* JSON {reason} */

    int64_t created_at;
    int64_t started_at;
    int64_t expires_at;
    int64_t completed_at;
    int64_t failed_at;
    int64_t cancelled_at;
    int64_t incomplete_at;
};

enum item_status {
    ITEM_IN_PROGRESS,
    ITEM_COMPLETED,
    ITEM_INCOMPLETE,
    ITEM_FAILED,
};
const char *item_status_name(enum item_status status);
enum item_status item_status_parse(const char *name);

/* What an item costs in a context, noted so that it is counted once. Not stored. Whoever changes the body
 * zeroes it. */
struct item_cost {
    bool counted;
    int64_t tokens; /* by itself */
    /* Among those that compact history tells as one message: */
    unsigned place;           /* its own, from 1; 0: not noted */
    unsigned condensed_count; /* of the first: how many they are, */
    size_t condensed_limit;   /* and how messages among them were cut: to so many characters, */
    unsigned condensed_cut;   /* in which way; */
    size_t condensed_bytes;   /* how long the message is, */
    int64_t condensed_tokens; /* and what it costs; -1: not counted */
};

/* One item: a message, a call, a call's output, reasoning ... in the Responses vocabulary.
 * Stored once; threads, chains, responses, messages and steps are views of items. */
struct item_row {
    char id[ID_LIMIT + 1];
    char run_id[ID_SIZE];    /* the run that wrote it or brought it as input; "" for messages
                              * that a client put into a thread */
    char thread_id[ID_SIZE]; /* "" outside threads */
    char step_id[ID_SIZE];   /* the run step it belongs to, or "" */
    char assistant_id[ID_SIZE];
    int64_t position; /* order within its thread, or within its run when it has no thread */
    bool input;       /* came with the request; false: made by the run */
    bool hidden;      /* of a hidden tool: never listed or streamed */
    int turn;         /* of the run; -1 for input */
    int model_index;  /* order in which the model wrote the items of that turn */
    enum item_status status;
    enum item_type type;
    char other_type[40];        /* the name of a type that has no row in item_type.h, else "" */
    char role[12];              /* of messages: "user", "assistant", "system", "developer" */
    char call_id[ID_LIMIT + 1]; /* of calls and outputs, else "" */
    char *body;                 /* JSON object: all fields but id, type, status */
    char *metadata;             /* JSON object, of messages in threads; or NULL */
    int64_t created_at;
    int64_t completed_at;
    struct item_cost cost;
    bool answered; /* the model may be shown part of it: long_messages_mark(). Not stored */
};

enum step_type {
    STEP_MESSAGE,    /* message_creation */
    STEP_TOOL_CALLS, /* tool_calls */
};
const char *step_type_name(enum step_type type);
enum step_type step_type_parse(const char *name);

enum step_status {
    STEP_IN_PROGRESS,
    STEP_COMPLETED,
    STEP_FAILED,
    STEP_CANCELLED,
    STEP_EXPIRED,
};
const char *step_status_name(enum step_status status);
enum step_status step_status_parse(const char *name);

/* A run step. Its details are a view of the items that carry its id. */
struct step_row {
    char id[ID_SIZE];
    char run_id[ID_SIZE];
    char thread_id[ID_SIZE];
    char assistant_id[ID_SIZE];
    enum step_type type;
    enum step_status status;
    int turn;
    char *usage; /* JSON */
    char *error; /* JSON */
    int64_t created_at;
    int64_t completed_at;
    int64_t ended_at; /* failed, cancelled or expired */
};

enum call_state {
    CALL_WAITING, /* for the client (or, later, for an approval) */
    CALL_RUNNING, /* a server-side call whose effect may have begun */
    CALL_DONE,
    CALL_INTERRUPTED, /* its server died in the middle */
};
const char *call_state_name(enum call_state state);
enum call_state call_state_parse(const char *name);

/* A tool call of a run that must survive a crash: every client call, every server-side call. */
struct call_row {
    char run_id[ID_SIZE];
    char call_id[ID_LIMIT + 1];
    char item_id[ID_LIMIT + 1];
    char step_id[ID_SIZE];
    int turn;
    int position; /* in the model's order within the turn */
    bool client;  /* executed by the client */
    enum call_state state;
    char *tool;      /* "type:name" of a client call, "group/name" of a server-side one */
    char *arguments; /* as the model wrote them, JSON or not */
    char *resolved;  /* with variables in place of references, JSON; NULL: there were none */
    char *output;    /* client: text, or JSON parts; server: JSON {result|error} */
    char
        *extra; /* JSON: what its upstream gets back with it, see core/domain/item.h; or NULL */
    int attempts;
};

/* A question whether a call may be executed, or the model told what it gave. */
struct approval_row {
    char id[ID_LIMIT + 1]; /* mcpr_... */
    char run_id[ID_SIZE];
    char thread_id[ID_SIZE];
    char call_id[ID_LIMIT + 1];
    char *server_label;
    char *tool;
    char *arguments; /* as they were when it was asked: what is executed */
    char *policy;    /* why it was asked: "ask-once", "ask-always"; "auto": for its kind */
    enum approval_kind kind;
    char *details; /* JSON: what the question shows beside the call; or NULL */
    char *held;    /* JSON: what an approval changes. Only written: NULL in what is read */
    enum approval_status status;
    char *definition; /* hash of the tool's, when it was asked; or NULL */
    char *
        memory; /* JSON: what an answer may be remembered by, see core/run/approval/grant.h; or NULL */
    char *extra;                /* of the call, as call_row has it; or NULL */
    char *reason;               /* who answered gave it, or NULL */
    char used_by[ID_LIMIT + 1]; /* the response that has taken the answer up, or "" */
    int64_t created_at;
    int64_t decided_at;
};

/* An answer that is remembered. Words are those of the API. */
struct grant_row {
    char id[ID_LIMIT + 1]; /* grant_... */
    char *scope;           /* "run", "thread", "assistant", "user" */
    char *scope_id;
    char *tool;      /* "group/tool", or "server label/tool" */
    char *match;     /* "exact", "tool", "pattern" */
    char *match_key; /* hash of the arguments, "", the pattern */
    char *type;      /* of permission, for a pattern; else "" */
    char *definition;
    bool approve;
    bool said; /* whoever answered asked for it; false: it goes without saying */
    char *reason;
    char approval_id[ID_LIMIT + 1];
    int64_t created_at;
    int64_t expires_at;
};

struct thread_row {
    char id[ID_SIZE]; /* thread_...; conv_ names the same thing */
    char *metadata;
    char *tool_resources;
    char *settings; /* JSON: its object `runnel`, for its runs; or NULL */
    int64_t created_at;
};

struct assistant_row {
    char id[ID_SIZE];
    char *body; /* JSON: every field of the object but id, object, created_at */
    int64_t created_at;
};

void run_row_clear(struct run_row *row);
void run_row_copy(struct run_row *ret_copy, const struct run_row *row);
void item_row_clear(struct item_row *row);
/* The type of an item by its name on the wire, and back. Borrowed from the row, or for ever. */
void item_row_set_type(struct item_row *row, const char *name);
const char *item_row_type_name(const struct item_row *row);
void step_row_clear(struct step_row *row);
void call_row_clear(struct call_row *row);
void approval_row_clear(struct approval_row *row);
void grant_row_clear(struct grant_row *row);
void grant_rows_free(struct grant_row *rows, size_t count);
void thread_row_clear(struct thread_row *row);
void assistant_row_clear(struct assistant_row *row);
void item_rows_free(struct item_row *rows, size_t count);
void step_rows_free(struct step_row *rows, size_t count);
void approval_rows_free(struct approval_row *rows, size_t count);
void call_rows_free(struct call_row *rows, size_t count);

/* A page of a list, as every list of the API has it. */
struct page {
    int limit; /* 0 to 100 */
    bool ascending;
    char after[ID_LIMIT + 1]; /* "" for none */
    char before[ID_LIMIT + 1];
};

#endif
