#ifndef RUNNEL_CORE_DOMAIN_ROWS_H
#define RUNNEL_CORE_DOMAIN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/ids.h"
#include "core/domain/item_type.h"
#include "core/domain/status/approval_status.h"
#include "core/domain/status/container_status.h"
#include "core/domain/status/run_status.h"
#include "core/domain/status/upload_status.h"

/*
 * rows.h -- the rows of the store, as plain structs.
 *
 * Times are microseconds since 1970; 0 means never (NULL in the database). JSON columns are text: code that
 * needs their content parses them, all other code passes them on. A NULL pointer is SQL NULL. A row owns its
 * pointers: foo_row_clear() releases them and zeroes the row. A _parse() function takes names that this
 * server has written; it asserts on any other name.
 */

/* The API through which a run was started. Its objects and events have that API's form. */
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
    int attempts; /* times that it was continued after a crash */

    char *config;          /* JSON: the snapshot of the request, see run_settings.h */
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

/* What an item costs in a context, so that it is counted only once. Not stored. A change of the item's body
 * must zero it. */
struct item_cost {
    bool counted;
    int64_t tokens; /* of the item alone */
    /* Of its reasoning that goes back to the upstream: the details alone, and all of it. 0: not counted */
    int64_t reasoning[2];
    /* Of a group of items that compact history sends to the model as one message. Only the first item of
     * the group has the values after `place`. */
    unsigned place;          /* of this item in the group, from 1; 0: not known */
    unsigned joint_count;    /* items of the group */
    size_t joint_limit;      /* characters that messages among them were cut to */
    unsigned joint_cut;      /* and the way in which they were cut */
    uint64_t joint_upstream; /* to which their reasoning goes back */
    size_t joint_bytes;      /* length of the message */
    int64_t joint_tokens;    /* its cost; -1: not counted */
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
    bool hidden;      /* never listed: of a hidden tool, or cut and replaced */
    int turn;         /* of the run; -1 for input */
    int model_index;  /* order in which the model wrote the items of that turn */
    enum item_status status;
    enum item_type type;
    char other_type[40];        /* the name of a type that has no row in item_type.h, else "" */
    char role[12];              /* of messages: "user", "assistant", "system", "developer" */
    char call_id[ID_LIMIT + 1]; /* of calls and outputs, else "" */
    /* Of a call whose picture lies in a blob: written with the row, and not read, as the body has it (notes.h) */
    char picture_id[ID_SIZE];
    char *body;     /* JSON object: all fields but id, type, status */
    char *metadata; /* JSON object, of messages in threads; or NULL */
    int64_t created_at;
    int64_t completed_at;
    struct item_cost cost;
    /* The model may be sent only a part of it: long_messages_mark(). Not stored */
    bool answered;
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
    CALL_WAITING, /* for the client, or for an approval */
    CALL_RUNNING, /* a server-side call whose effect may have begun */
    CALL_DONE,
    CALL_INTERRUPTED, /* its node crashed in the middle */
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
    char *resolved;  /* JSON, with values instead of references; NULL: no references */
    char *output;    /* client: text, or JSON parts; server: JSON {result|error} */
    char *extra;     /* JSON: goes back to its upstream, see item.h; or NULL */
    int attempts;
};

/* A question to a person: may a call be executed, or may the model see its result? */
struct approval_row {
    char id[ID_LIMIT + 1]; /* mcpr_... */
    char run_id[ID_SIZE];
    char thread_id[ID_SIZE];
    char call_id[ID_LIMIT + 1];
    char *server_label;
    char *tool;
    char *arguments; /* what the person was shown, and what is executed */
    /* Why there is a question: "ask-once", "ask-always"; "auto": because of its kind */
    char *policy;
    enum approval_kind kind;
    char *details; /* JSON: what the question shows besides the call; or NULL */
    char *held;    /* JSON: what an approval will change. Only written; reads leave it NULL */
    enum approval_status status;
    char *definition; /* hash of the tool's definition at the time of the question; or NULL */
    /* JSON: which grants an answer may make, see core/run/approval/grant.h; or NULL */
    char *memory;
    char *extra;                /* of the call, as call_row has it; or NULL */
    char *reason;               /* given with the answer, or NULL */
    char used_by[ID_LIMIT + 1]; /* the response that continued with the answer, or "" */
    int64_t created_at;
    int64_t decided_at;
};

/* A grant: an answer that is remembered. Scopes and matches have the names of the API. */
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
    bool said; /* the answer asked for the grant; false: it is made by default */
    char *reason;
    char approval_id[ID_LIMIT + 1];
    int64_t created_at;
    int64_t expires_at;
    bool of_response; /* the question was a response's; filled in for people */
};

struct thread_row {
    char id[ID_SIZE]; /* thread_...; conv_ names the same thing */
    char *metadata;
    char *tool_resources;
    char *settings; /* JSON: the object `runnel` for its runs; or NULL */
    int64_t created_at;
};

struct assistant_row {
    char id[ID_SIZE];
    char *body; /* JSON: all fields of the object except id, object, created_at */
    int64_t created_at;
};

/* Where the bytes of a blob lie. */
enum blob_place {
    BLOB_DIR,      /* a directory of one node, or one that several nodes share */
    BLOB_DATABASE, /* pages in PostgreSQL */
    BLOB_S3,       /* a bucket */
};
const char *blob_place_name(enum blob_place place);
enum blob_place blob_place_parse(const char *name);

#define BLOB_HASH_SIZE 32 /* SHA-256 */

/* Bytes under an id. It has no pointers, so nothing has to be cleared. */
struct blob_row {
    char id[ID_SIZE]; /* blob_... */
    enum blob_place place;
    char home[ID_SIZE]; /* which directory or bucket, dir_... or s3_...; "" for the database */
    uint64_t bytes;
    uint8_t sha256[BLOB_HASH_SIZE];
};

/* An upload under its name. */
struct file_row {
    char id[ID_LIMIT + 1]; /* file-... */
    char blob_id[ID_SIZE];
    char *filename; /* data of a client: shown, and never part of a path */
    char *purpose;
    uint64_t bytes;
    int64_t created_at;
    int64_t expires_at;
};

void run_row_clear(struct run_row *row);
void run_row_copy(struct run_row *ret_copy, const struct run_row *row);
/* Its time is over, and it has not ended: it waits for its client, or its owner is about to end it. */
bool run_row_is_late(const struct run_row *row);
void item_row_clear(struct item_row *row);
/* A system or developer message: it is sent however long the history is. */
bool item_row_is_rule(const struct item_row *row);
/* The type of an item by its name in the API, and back. Borrowed from the row, or a constant. */
void item_row_set_type(struct item_row *row, const char *name);
const char *item_row_type_name(const struct item_row *row);
void step_row_clear(struct step_row *row);
void call_row_clear(struct call_row *row);
void approval_row_clear(struct approval_row *row);
void grant_row_clear(struct grant_row *row);
void grant_rows_free(struct grant_row *rows, size_t count);
void thread_row_clear(struct thread_row *row);
void assistant_row_clear(struct assistant_row *row);
void file_row_clear(struct file_row *row);

/* A file that comes in parts. */
struct upload_row {
    char id[ID_SIZE]; /* upload_... */
    char *filename;   /* as a file's */
    char *purpose;
    char *mime;        /* as the client said; never looked at */
    uint64_t bytes;    /* that the parts must have together */
    uint64_t in_parts; /* bytes of the parts that have come */
    enum upload_status status;
    int64_t file_seconds;       /* how long the file will live; 0: until it is deleted */
    char *part_ids;             /* JSON, of a completed one; else NULL */
    char file_id[ID_LIMIT + 1]; /* of a completed one, else "" */
    int64_t created_at;
    int64_t expires_at;
};
void upload_row_clear(struct upload_row *row);

/* A part of an upload. It has no pointers, so nothing has to be cleared. */
struct part_row {
    char id[ID_SIZE];        /* part_... */
    char upload_id[ID_SIZE]; /* upload_... */
    char blob_id[ID_SIZE];
    uint64_t bytes;
    int64_t created_at;
};

/* Where code runs: a folder on a node, with limits. */
struct container_row {
    char id[ID_SIZE]; /* cntr_... */
    char *name;
    enum container_status status;
    char owner_id[ID_LIMIT +
                  1]; /* the thread or response that it was made for; "": a client made it */
    char *node_id;    /* on whose disk the folder is */
    int memory_gib;
    char *
        domains; /* what it may reach, a JSON array of patterns (core/net/proxy/domain.h); "[]" or NULL: nothing */
    bool had_python; /* Python has run in it */
    int64_t epoch;   /* grows when another node takes it */
    bool arriving;   /* its files are not all in the folder yet */
    bool giving;     /* its node is about to give it to another */
    /* What its last move has lost, as JSON: an array of paths, if its node had died, or else {"paths", "count"}. NULL:
     * nothing */
    char *lost;
    size_t skill_count;   /* of its skills (container_skills.h) */
    int64_t idle_seconds; /* without a use, until it expires */
    int64_t created_at;
    int64_t last_active_at;
    int64_t expires_at;
};
void container_row_clear(struct container_row *row);

enum container_source {
    CONTAINER_FILE_USER,      /* put there by a request */
    CONTAINER_FILE_ASSISTANT, /* made or changed by code */
};
const char *container_source_name(enum container_source source);
enum container_source container_source_parse(const char *name);

/* A regular file of a container, as it was when the folder was last looked at. */
struct container_file_row {
    char id[ID_SIZE]; /* cfile_... */
    char container_id[ID_SIZE];
    char *path; /* below /mnt/data */
    uint64_t bytes;
    int64_t modified_ns;
    uint64_t inode;
    enum container_source source;
    char origin_id[ID_LIMIT + 1]; /* the file-... that it was copied from, or "" */
    char call_id[ID_LIMIT + 1];   /* the call that made or changed it last, or "" */
    char blob_id[ID_SIZE];        /* a copy of its present bytes, or "" */
    int64_t created_at;
};
void container_file_row_clear(struct container_file_row *row);

void file_rows_free(struct file_row *rows, size_t count);
void container_rows_free(struct container_row *rows, size_t count);
void container_file_rows_free(struct container_file_row *rows, size_t count);
void item_rows_free(struct item_row *rows, size_t count);
void step_rows_free(struct step_row *rows, size_t count);
void approval_rows_free(struct approval_row *rows, size_t count);
void call_rows_free(struct call_row *rows, size_t count);

/* Which page of a list a request wants. */
struct page {
    int limit; /* 0 to 100, or as many as the list allows */
    bool ascending;
    char after[ID_LIMIT + 1]; /* "" for none */
    char before[ID_LIMIT + 1];
};

#endif
