#ifndef RUNNEL_HANDLERS_SUPPORT_SCRIPT_ONE_SHOT_H
#define RUNNEL_HANDLERS_SUPPORT_SCRIPT_ONE_SHOT_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/sandbox/box.h"
#include "core/tool/tool.h"

/*
 * one_shot.h -- a program in a box of its own, for tools that run code of a model.
 *
 * The box sees the files of the container, and ends with the call. What the call brings lies where only this box sees
 * it, so no other call of the container reads it:
 *
 *     /tmp/call/<name>        files of the call, such as its script
 *     /tmp/call/vars/<name>   each injected variable: a text as it is, other values as JSON
 *     /tmp/call/vars.json     all of them, as one object
 *     /tmp/call/exported      the names of those that fit into an environment, as a JSON list
 *
 * The program that reads a script declares the variables: each language has its own way. Values never become part of
 * code, so no value can end a string of it.
 *
 * On the worker of the call. The text of an error is for the model.
 */

#define ONE_SHOT_FOLDER "/tmp/call"

#define ONE_SHOT_FILES     4
#define ONE_SHOT_VARIABLES 64
#define ONE_SHOT_NAME      64 /* bytes of a variable's name */

/* Bytes of a value in the environment, and of all: the kernel takes 128 KiB for one, and 2 MiB with the arguments. */
#define ONE_SHOT_EXPORTED     ((size_t)64 << 10)
#define ONE_SHOT_EXPORTED_ALL ((size_t)512 << 10)

/* ERR_INVALID: too many variables, or one has a name that no variable can have, or that would change which programs
 * run: PATH, LD_..., PYTHON... `variables` is an object, or NULL. */
enum err_code one_shot_check(json_t *variables, struct err *err) MUST_CHECK;

/* The names of those that fit into an environment, in their order. New reference. */
json_t *one_shot_exported(json_t *variables);

struct one_shot_file {
    const char *name; /* below ONE_SHOT_FOLDER; NULL ends a list of them */
    const char *bytes;
    size_t size;
};

struct one_shot {
    const struct one_shot_file *files;
    json_t *variables;  /* checked; or NULL */
    const char *folder; /* where it starts, as boxes see it */
    const char *const *arguments;
    uint32_t timeout_ms; /* 0: the container's */
};

struct one_shot_end {
    /* Both streams as text, without the line breaks at their end; the middle is missing of what was longer than the
     * container's limit. Owned, never NULL. */
    char *output, *problems;
    char *fault; /* "exit code 3", "timed out after 120 s"; NULL: it has succeeded. Owned */
    struct box_result result;
};
void one_shot_end_clear(struct one_shot_end *end);

/* ERR_OK: it ran, however it ended. Blocks. */
enum err_code one_shot_run(struct tool_call *call, const struct one_shot *shot,
                           struct one_shot_end *ret_end, struct err *err) MUST_CHECK;

/* What the model reads of an end: both streams; after a failure "<tool> execution error: <fault>" comes before them,
 * and the call has failed. */
void one_shot_report(struct tool_call *call, const char *tool, const struct one_shot_end *end,
                     struct tool_result *ret_result);

/* The folder that a call names, as boxes see it; the caller frees. `text` NULL: the workspace. ERR_INVALID: it is no
 * folder. */
enum err_code one_shot_folder(struct tool_call *call, const char *text, char **ret_folder,
                              struct err *err) MUST_CHECK;

#endif
