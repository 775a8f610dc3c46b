#ifndef RUNNEL_SERVER_FAKEMODEL_PROMPT_H
#define RUNNEL_SERVER_FAKEMODEL_PROMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * fakemodel/prompt.h -- a request, as rules and templates see it.
 *
 * A request is in one of several dialects, with the same meaning. Here the input items of a Responses
 * request become the messages that they would be in Chat Completions, so rules and templates need
 * not know the dialect. The texts of a request that has no messages become messages of the user.
 */

enum prompt_dialect {
    PROMPT_CHAT,
    PROMPT_RESPONSES,
    PROMPT_COMPLETION, /* /v1/completions */
    PROMPT_OTHER,      /* embeddings, images and so on: see samples.c */
};

struct prompt {
    enum prompt_dialect dialect;
    const char *path;      /* borrowed; set by the caller */
    const json_t *body;    /* borrowed, and so are the pointers below that lead into it */
    const json_t *headers; /* borrowed; lower-case name -> value */
    json_t *messages;      /* owned */
    const char *model;
    const json_t *tool;        /* the tool that tool_choice names, else the first; or NULL */
    const char *tool_name;     /* its name; "" without a tool */
    const char *tool_choice;   /* auto, none, required, function */
    const char *format;        /* text, json_object, json_schema */
    const json_t *schema;      /* of json_schema; or NULL */
    const json_t *tool_output; /* content of the last tool message; or NULL */
    size_t tool_results;       /* tool messages since the last user message */
    bool stream;
    bool wants_usage;
    bool wants_logprobs;  /* Chat Completions only */
    unsigned long number; /* of the request */
    char *user;           /* owned: the text parts of the last user message, joined */
    char *system;         /* owned */
};

/* `body` and `headers` are borrowed until prompt_clear(). `body` is an object with messages or, in the
 * other dialect, input. A member of an unexpected type counts as absent. */
void prompt_init(struct prompt *prompt, enum prompt_dialect dialect, const json_t *body,
                 const json_t *headers, unsigned long number);
void prompt_clear(struct prompt *prompt);

/* The tool of that name, or NULL if the request does not offer it. */
const json_t *prompt_tool(const struct prompt *prompt, const char *name);
/* The object with the tool's name: in Chat Completions the one under its type, in the Responses API the
 * tool itself. */
const json_t *prompt_tool_definition(const json_t *tool);

bool prompt_has_role(const json_t *message, const char *role);
/* All text of a message's content. The caller frees. */
char *prompt_content_text(const json_t *content);

#endif
