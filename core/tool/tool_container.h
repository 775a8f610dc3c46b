#ifndef RUNNEL_CORE_TOOL_TOOL_CONTAINER_H
#define RUNNEL_CORE_TOOL_TOOL_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"

/*
 * tool_container.h -- the container of a call: where its code runs, and where its files lie.
 *
 * For handlers with TOOL_NEEDS_SANDBOX. A container is what clients name ("cntr_..."): files below /mnt/data, which
 * outlive its processes. Which one a call gets: the one that its entry in `tools` names; else that of
 * the newest such call in the context; else that of its thread or conversation; else that of its run. So all calls of a
 * run share one. Without any of these it is made.
 *
 * The files that the request gives to the tool lie in it before the first call has it.
 *
 * On the worker of the call. The text of an error is for the model.
 */

struct box;
struct tool_call;
struct workspace;

/* Made by the server (executor.h), and lent to the call until it has ended. */
struct tool_container {
    char id[ID_SIZE];
    struct workspace *workspace;    /* its files: core/sandbox/workspace/workspace.h */
    const char *const *environment; /* of commands in its box: struct box_command (box.h) */
    uint32_t timeout_ms;            /* of a command whose call names none */
    uint32_t timeout_max_ms;        /* of all commands of a call together */
    size_t output_limit;            /* bytes that are kept of each stream of a command */
    /* For the model, once, by tools that execute: what an earlier container of this context had is gone, or what a move
     * has lost. Owned by the server; or NULL */
    const char *lost;
    bool lost_shown; /* set by the handler: `lost` is in its result */
};

/* The first call of this function finds or makes the container; later ones return the same. Blocks. ERR_INVALID: this
 * server executes nothing. ERR_NOT_FOUND: it was deleted, or has expired. ERR_LIMIT: the project has too many, or no
 * room. */
enum err_code tool_call_container(struct tool_call *call, struct tool_container **ret_container,
                                  struct err *err) MUST_CHECK;

/* Its running half (core/sandbox/box.h), started if it does not run. Lent until the call has ended. Blocks. */
enum err_code tool_call_box(struct tool_call *call, struct box **ret_box,
                            struct err *err) MUST_CHECK;

/* How a box of its own is. */
struct tool_own_box {
    bool
        read_only; /* it sees the files of the container, cannot change them, and has no network */
    /* The operator's roots that it sees (operator_roots.h), by their names; those that are not writable, or all with
     * `read_only`, cannot be changed. NULL ends them; NULL: none */
    const char *const *roots;
};

/* A box of its own instead, which is made for the call and ends with it: it sees the files of the container, but no
 * process of other calls, and they do not see what the call puts into its environment. A call has one box, as the
 * first of these functions made it. Blocks. */
enum err_code tool_call_own_box(struct tool_call *call, const struct tool_own_box *how,
                                struct box **ret_box, struct err *err) MUST_CHECK;

struct box_run;
struct box_result;

/* A command in a box that is made for it and sees no container: no files, no network. `memory` is what the box may
 * have, in bytes. The command's environment is filled in, and so is the descriptor that cancels it. It has no more time
 * than the operator lets any command have. Blocks. ERR_INVALID: this server executes nothing. ERR_LIMIT: no room in
 * time. ERR_CANCELLED: the call is over. */
enum err_code tool_call_bare_box(struct tool_call *call, uint64_t memory, struct box_run *run,
                                 struct box_result *ret_result, struct err *err) MUST_CHECK;

/* ---- For the server, which makes them ---- */

/* The container that the newest such call of the context has used; "" without one. Borrowed. */
const char *tool_call_past_container(const struct tool_call *call);

/* What the request says about the container: its id, or an object that says what a new one is made with. The tool's own
 * entry says it, else the first entry that does. NULL: nothing. Borrowed. */
const json_t *tool_call_wanted_container(const struct tool_call *call);

/* What the code makes becomes files of the project: it is a thread's run. */
bool tool_call_keeps_files(const struct tool_call *call);

/* Its run is stored. Otherwise nothing of its container may be kept beside the container. */
bool tool_call_is_stored(const struct tool_call *call);

/* ---- Code ---- */

/* Bytes of the pictures that travel with an item: it is stored, and sent again with each listing. */
#define TOOL_PICTURES_LIMIT ((size_t)3 << 20)

/* The output of code that has run. */
struct tool_run {
    /* In order of appearance:
     *
     *   {"type": "logs", "logs": text}
     *   {"type": "image", "file_id", "path", and for a response "data": base64 of a PNG, or null
     *   beyond TOOL_PICTURES_LIMIT}
     *
     * Owned. Text between two images is one entry. */
    json_t *outputs;
    /* What it has done to the files: [{"file_id", "path", "bytes", "change": "created", "changed" or "deleted", and
     * "figure": true of a picture that it has drawn}]. In a thread's run the ids are those of files of the project,
     * and files without one are left out. Owned */
    json_t *files;
    char *unkept; /* lines for the model about files that the user cannot get; owned, or NULL */
    char *ended; /* a sentence for the model about its end, if it was stopped; owned, or NULL */
};
void tool_run_clear(struct tool_run *ran);

/* Runs Python code in the container. Variables of earlier calls are there, unless their process is gone: then `ended`
 * says so. Blocks until it has ended, at most as long as the server's limit. Code that raises is a success: its
 * traceback is in the outputs. */
enum err_code tool_call_python(struct tool_call *call, const char *code,
                               struct tool_run *ret_ran, struct err *err) MUST_CHECK;

/* What a call that ran no Python has done to files: fills ret_ran->files, and `unkept`. Once, when it has done all.
 * Otherwise the server looks when the call has ended, and clients find the files in the container's list only.
 * ERR_CONFLICT: the container was deleted meanwhile. */
enum err_code tool_call_note_files(struct tool_call *call, struct tool_run *ret_ran,
                                   struct err *err) MUST_CHECK;

#endif
