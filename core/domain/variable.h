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
 * variable.h -- what a conversation remembers by name: results and arguments of tools, notes of the
 * model, values that a client put there.
 *
 * A scope is what has variables: a thread (which is a conversation), or a response outside
 * conversations. A response sees what its ancestors have written, the nearest first, and nothing of
 * other branches; what it changes or removes itself is so for itself and its descendants only. It sees
 * as far up its chain as VARIABLE_CHAIN_LIMIT and VARIABLE_ROWS_LIMIT go: what was written before that
 * is there for nearer responses, and for this one as if it had been evicted.
 *
 * A response that is not stored has variables of its own in memory, and no others: they end with it.
 *
 * Text is counted in Unicode characters, limits in bytes. Pure functions.
 */

#define VARIABLE_NAME_LIMIT  ((size_t)128)
#define VARIABLE_VALUE_LIMIT ((size_t)1 << 20)   /* bytes of one value */
#define VARIABLE_COUNT_LIMIT 1000                /* of a scope; beyond, the longest unused go */
#define VARIABLE_BYTES_LIMIT ((int64_t)64 << 20) /* of all values of a scope; the same */
#define VARIABLE_KEEP_LIMIT  32                  /* of a scope that are never evicted */
#define VARIABLE_CHAIN_LIMIT 1000  /* responses that a response sees, itself included */
#define VARIABLE_ROWS_LIMIT  10000 /* variables that they wrote: no further up */
#define VARIABLE_TEXT_LIMIT  ((size_t)1024) /* characters of a description */
#define VARIABLE_TAG_LIMIT   ((size_t)16)
#define VARIABLE_TAG_LENGTH  ((size_t)64)

/* Names that begin so are those of rules: they can be read, and nobody changes them. */
#define VARIABLE_RULE_PREFIX "Rule/"

/* The names of long messages (message_cache.h): this, and so many hexadecimal digits. Nobody may give such
 * a name to anything else. */
#define VARIABLE_MESSAGE_PREFIX "Message_"
#define VARIABLE_MESSAGE_DIGITS ((size_t)16)

enum variable_type {
    VARIABLE_RULE,             /* a document of a tool group */
    VARIABLE_TOOL_CALL_RESULT, /* "ToolCallResult": what a tool gave, uncut */
    VARIABLE_TOOL_CALL_ARGS,   /* "ToolCallArgs": what it was given */
    VARIABLE_MESSAGE_CACHE,    /* "MessageCache": a long message */
    VARIABLE_LLM_ADD,          /* "LLMAdd": the model's own */
    VARIABLE_USER_ADD,         /* "USER_ADD": the client's */
    VARIABLE_TYPE_COUNT
};
const char *variable_type_name(enum variable_type type);
/* False for a word that names none. */
bool variable_type_parse(const char *name, enum variable_type *ret_type);
/* Ends with NULL. */
extern const char *const variable_type_names[];

/* What a model, or a client, has written: references in it are followed. The text of others is only
 * ever inserted. */
struct variable;
bool variable_is_trusted(const struct variable *variable);

struct variable {
    char name[VARIABLE_NAME_LIMIT + 1];
    enum variable_type type;
    bool keep;         /* never evicted */
    bool plain;        /* references in it are not followed, whatever its type */
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
/* It is that of a long message. */
bool variable_is_message(const char *name);

size_t variable_length(const char *text);
/* `length` characters from `start` on, as many as there are. The caller frees. */
char *variable_slice(const char *text, size_t start, size_t length);

/* ---- Results and arguments of tools ---- */

/* The names of both: <tool>_<time>-<random>_result, _args. */
struct variable_names {
    char result[VARIABLE_NAME_LIMIT + 1];
    char args[VARIABLE_NAME_LIMIT + 1];
};
void variable_names_make(struct variable_names *ret_names, const char *tool);

/* "Call <tool> with args: k=v, ...", long values cut. The caller frees. */
char *variable_describe_call(const char *tool, json_t *args);

/* Of a value that is too long: as much as there may be, and a note. The caller frees. */
char *variable_fit(const char *text);
/* Characters of the text that it leaves out. */
size_t variable_lost(const char *text);

/* What the model is told behind a text that is in a variable: a result, or a message that was cut. */
enum variable_hint_of {
    VARIABLE_HINT_RESULT,
    VARIABLE_HINT_MESSAGE,
};
struct variable_hint {
    const char *name;
    enum variable_hint_of what;
    size_t length; /* of the whole text */
    size_t lost;   /* characters at its end that the variable has not: variable_lost() */
    bool truncated;
    size_t shown; /* characters of it that the model was shown */
    size_t start; /* where what it was not shown begins */
    enum language language;
    bool idle; /* of a text that was cut: nothing can be called, so not how to read on */
};
/* The caller frees. */
char *variable_hint_text(const struct variable_hint *hint);

/* ---- Where they are kept ---- */

/* Reading counts, and puts off eviction, unless one only looks. */
enum variable_reading {
    VARIABLE_READ,
    VARIABLE_LOOK,
};

/* What is wanted of a list: NULL or 0 asks nothing. */
struct variable_query {
    const char *type;
    const char *search; /* in name or description, whatever the case */
    const char *tag;
    const char *after; /* a name: the list goes on behind it */
    bool descending;   /* by name */
    int64_t skip;
    int64_t limit;
};
enum variable_put {
    VARIABLE_PUT,    /* made or changed */
    VARIABLE_CREATE, /* ERR_CONFLICT when it is there */
    VARIABLE_UPDATE, /* ERR_NOT_FOUND when it is not */
};

/* Fields that are NULL stay as they are. One that is made needs a value. */
struct variable_change {
    const char *name;
    const char *run_id;      /* who writes; NULL: a client */
    enum variable_type type; /* of one that is made */
    const char *value;
    bool plain; /* of the value: references in it are not followed */
    const char *description;
    const json_t *tags;
    const bool *keep;
};

/* Why there was nothing to put: a change that makes what is there, changes what is not, or makes
 * something of no value. */
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
    const char *scope;              /* of one that is; else "" */
    struct message_cache
        *messages;          /* long ones of the run's history, beside the others; or NULL */
    enum language language; /* that rules are read in */
};

/* What every place offers where variables are: the store (core/store/tables/threads/variables.h says what each does,
 * and it blocks for as long as the database takes) or memory (variable_memory.h). */
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
    /* Not a variable, but read like one. */
    enum err_code (*skill)(const struct variable_access *access, const struct tenant *tenant,
                           const char *id, char **ret_prompt, json_t **ret_files,
                           struct err *err);
};

#endif
