#ifndef RUNNEL_CORE_DOMAIN_VARIABLE_H
#define RUNNEL_CORE_DOMAIN_VARIABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/language.h"
#include "core/domain/tenant.h"

/*
 * variable.h -- named values of a conversation: results and arguments of tools, notes of the model, values
 * that a client has put there.
 *
 * A scope owns variables: a thread (which is a conversation), or a response outside conversations. A
 * response sees the variables of its ancestors, the nearest first, and none of other branches. Its own
 * changes and removals hold for itself and its descendants only. It sees at most VARIABLE_CHAIN_LIMIT
 * responses and VARIABLE_ROWS_LIMIT variables of them. What lies further back looks evicted to it, though
 * nearer responses still see it.
 *
 * A response that is not stored has its own variables in memory and no others; they end with it.
 *
 * Text is counted in Unicode characters, limits are bytes. Pure functions: any thread.
 */

#define VARIABLE_NAME_LIMIT  ((size_t)128)
#define VARIABLE_VALUE_LIMIT ((size_t)1 << 20) /* bytes of one value */
#define VARIABLE_COUNT_LIMIT 1000 /* of a scope; beyond, the least recently used are evicted */
#define VARIABLE_BYTES_LIMIT ((int64_t)64 << 20) /* of all values of a scope; the same */
#define VARIABLE_KEEP_LIMIT  32                  /* of a scope that are never evicted */
#define VARIABLE_CHAIN_LIMIT 1000  /* responses that a response sees, itself included */
#define VARIABLE_ROWS_LIMIT  10000 /* variables of these responses */
#define VARIABLE_TEXT_LIMIT  ((size_t)1024) /* characters of a description */
#define VARIABLE_TAG_LIMIT   ((size_t)16)
#define VARIABLE_TAG_LENGTH  ((size_t)64)

/* The beginning of the names of rules. Rules can be read and not changed. */
#define VARIABLE_RULE_PREFIX "Rule/"

/* A long message (message_cache.h) has this name plus hexadecimal digits. No other variable may have such
 * a name. */
#define VARIABLE_MESSAGE_PREFIX "Message_"
#define VARIABLE_MESSAGE_DIGITS ((size_t)16)

enum variable_type {
    VARIABLE_RULE,             /* a document of a tool group */
    VARIABLE_TOOL_CALL_RESULT, /* "ToolCallResult": the uncut result of a tool */
    VARIABLE_TOOL_CALL_ARGS,   /* "ToolCallArgs": the arguments of its call */
    VARIABLE_MESSAGE_CACHE,    /* "MessageCache": a long message */
    VARIABLE_LLM_ADD,          /* "LLMAdd": written by the model */
    VARIABLE_USER_ADD,         /* "USER_ADD": written by the client */
    VARIABLE_TYPE_COUNT
};
const char *variable_type_name(enum variable_type type);
/* False for an unknown name. */
bool variable_type_parse(const char *name, enum variable_type *ret_type);
/* Ends with NULL. */
extern const char *const variable_type_names[];

/* True for text that the model or the client has written: references in it are resolved. All other text is
 * inserted as it is, because it may contain a reference that a stranger has planted. */
struct variable;
bool variable_is_trusted(const struct variable *variable);

struct variable {
    char name[VARIABLE_NAME_LIMIT + 1];
    enum variable_type type;
    bool keep;         /* never evicted */
    bool plain;        /* references in it are not resolved, no matter its type */
    char *value;       /* owned; NULL in lists */
    char *description; /* owned; or NULL */
    json_t *tags;      /* owned; array of strings, or NULL for none */
    int64_t length;    /* of the value, in characters */
    int64_t bytes;
    int64_t reads;
    int64_t created_at, updated_at, visited_at; /* microseconds */
};
void variable_clear(struct variable *variable);
void variables_free(struct variable *variables, size_t count);
#define AUTO_VARIABLE CLEANUP(variable_clear) struct variable

/* Letters, digits, "_" and "-": what can be referred to. */
bool variable_name_has(char byte);
bool variable_name_fits(const char *name);
/* True for the name of a long message. */
bool variable_is_message(const char *name);

size_t variable_length(const char *text);
/* `length` characters from `start` on, as many as there are. The caller frees. */
char *variable_slice(const char *text, size_t start, size_t length);

/* ---- Results and arguments of tools ---- */

/* The names of the two variables of a call: <tool>_<time>-<random>_result, and _args. */
struct variable_names {
    char result[VARIABLE_NAME_LIMIT + 1];
    char args[VARIABLE_NAME_LIMIT + 1];
};
void variable_names_make(struct variable_names *ret_names, const char *tool);

/* "Call <tool> with args: k=v, ...", long values cut. The caller frees. */
char *variable_describe_call(const char *tool, json_t *args);

/* The value, or as much of it as a variable may have, and a note. The caller frees. */
char *variable_fit(const char *text);
/* Characters of the text that variable_fit() leaves out. */
size_t variable_lost(const char *text);

/* The hint behind a text that is also kept in a variable: where it is, and how to read on. */
enum variable_hint_of {
    VARIABLE_HINT_RESULT,
    VARIABLE_HINT_MESSAGE,
};
struct variable_hint {
    const char *name;
    enum variable_hint_of what;
    size_t length; /* of the whole text */
    size_t lost;   /* characters at its end that the variable does not have: variable_lost() */
    bool truncated;
    size_t shown; /* characters that the model sees */
    size_t start; /* the first character that the model does not see */
    enum language language;
    /* The model has no tools in this request: the hint does not say how to read on */
    bool idle;
};
/* The caller frees. */
char *variable_hint_text(const struct variable_hint *hint);

/* ---- Places that keep variables ---- */

/* VARIABLE_READ counts as a use and delays eviction; VARIABLE_LOOK does not. */
enum variable_reading {
    VARIABLE_READ,
    VARIABLE_LOOK,
};

/* Which variables a list has. A member that is NULL or 0 does not filter. */
struct variable_query {
    const char *type;
    const char *search; /* in name or description; upper and lower case are equal */
    const char *tag;
    const char *after; /* a name: the list begins behind it */
    bool descending;   /* by name */
    int64_t skip;
    int64_t limit;
};
enum variable_put {
    VARIABLE_PUT,    /* created or changed */
    VARIABLE_CREATE, /* ERR_CONFLICT when it exists */
    VARIABLE_UPDATE, /* ERR_NOT_FOUND when it does not */
};

/* Members that are NULL leave the variable as it is. A new variable needs a value. */
struct variable_change {
    const char *name;
    const char *run_id;      /* the run that writes; NULL: a client */
    enum variable_type type; /* of a new variable */
    const char *value;
    bool plain; /* references in the value are not resolved */
    const char *description;
    const json_t *tags;
    const bool *keep;
};

/* The errors of all places that keep variables, with the same text everywhere. variable_not_put() is for a
 * change that would create an existing variable, update a missing one, or create one without a value. */
enum err_code variable_not_put(const struct variable_change *change, enum variable_put how,
                               struct err *err);
enum err_code variable_not_found(const char *name, struct err *err);
enum err_code variable_keeps_too_many(struct err *err);

struct store;
struct variable_memory;
struct variable_ops;
struct message_cache;

/* The variables that one call may use; borrowed, all of it. */
struct variable_access {
    const struct variable_ops *ops;
    struct store *store;
    struct variable_memory *memory; /* of a response that is not stored; or NULL */
    const char *scope;              /* of a thread or a stored response; else "" */
    struct message_cache *messages; /* long messages of the run's history; or NULL */
    enum language language;         /* of rules */
};

/* The operations of a place that keeps variables: the store (core/store/tables/threads/variables.h is their
 * manual; they block for as long as the database takes) or memory (variable_memory.h). */
struct variable_ops {
    enum err_code (*get)(const struct variable_access *access, const struct tenant *tenant,
                         const char *name, enum variable_reading reading,
                         struct variable *ret_variable, struct err *err);
    enum err_code (*list)(const struct variable_access *access, const struct tenant *tenant,
                          const struct variable_query *query, struct variable **ret_variables,
                          size_t *ret_count, int64_t *ret_total, struct err *err);
    enum err_code (*put)(const struct variable_access *access, const struct tenant *tenant,
                         const struct variable_change *change, enum variable_put how,
                         bool *ret_created, struct err *err);
    enum err_code (*remove)(const struct variable_access *access, const struct tenant *tenant,
                            const char *const *names, size_t count, json_t **ret_removed,
                            struct err *err);
    /* Reads a skill: no variable, but read from the same place. */
    enum err_code (*skill)(const struct variable_access *access, const struct tenant *tenant,
                           const char *id, char **ret_prompt, json_t **ret_files,
                           struct err *err);
};

#endif
