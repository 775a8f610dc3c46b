#ifndef RUNNEL_SERVER_FAKEMODEL_PROMPT_H
#define RUNNEL_SERVER_FAKEMODEL_PROMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * fakemodel/prompt.h -- what the script's rules and templates may ask of a request.
 *
 * A request is in one of two dialects. What it says is the same in both, so the input items of
 * a Responses request become the messages that they would be in Chat Completions, and nobody
 * below looks at the difference.
 */

enum prompt_dialect {
    PROMPT_CHAT,
    PROMPT_RESPONSES,
};

struct prompt {
    enum prompt_dialect dialect;
    const json_t *body;    /* borrowed, with all the following pointers into it */
    const json_t *headers; /* lower-case name -> value */
    json_t *messages;      /* ours */
    const char *model;
    const json_t *tool;        /* the one that tool_choice asks for, else the first; or NULL */
    const char *tool_name;     /* of it, or "" */
    const char *tool_choice;   /* auto, none, required, function */
    const char *format;        /* text, json_object, json_schema */
    const json_t *schema;      /* of the last; or NULL */
    const json_t *tool_output; /* content of the last tool message; or NULL */
    size_t tool_results;       /* tool messages since the last user message */
    bool stream;
    bool wants_usage;
    bool wants_logprobs;  /* Chat Completions only */
    unsigned long number; /* of the request */
    char *user;           /* owned: its text parts, joined */
    char *system;         /* owned */
};

/* Both are borrowed until prompt_clear(). `body` is an object with messages, or input in the
 * other dialect; whatever else in it is odd counts as absent. */
void prompt_init(struct prompt *prompt, enum prompt_dialect dialect, const json_t *body,
                 const json_t *headers, unsigned long number);
void prompt_clear(struct prompt *prompt);

/* The tool of that name; NULL when it was not offered. */
const json_t *prompt_tool(const struct prompt *prompt, const char *name);
/* The function, or whatever else the tool's type says stands there. */
const json_t *prompt_tool_definition(const json_t *tool);

bool prompt_has_role(const json_t *message, const char *role);
/* All text of a message's content. The caller frees. */
char *prompt_content_text(const json_t *content);

#endif
