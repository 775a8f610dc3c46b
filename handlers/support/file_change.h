#ifndef RUNNEL_HANDLERS_SUPPORT_FILE_CHANGE_H
#define RUNNEL_HANDLERS_SUPPORT_FILE_CHANGE_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/edit/text_file.h"
#include "core/tool/tool.h"

/*
 * file_change.h -- tools that change a file of the container: its text becomes another one.
 *
 * The change is made twice: for the question, which shows a person the difference, and again when the call is executed.
 * The second one counts. A text that was made of an old one is put into place only if the file is still the same.
 */

/* What is different between such tools. */
struct file_change {
    const char *verb;     /* in "Failed to edit a.txt: ..."; NULL: errors stay as they are */
    const char *title;    /* "Edited", before the path */
    const char *argument; /* the one that names the file */
    bool whole;           /* the old bytes do not matter, so they may be of any kind and size */
    bool only_new;        /* a file that is there is an error */
    bool removes;         /* the file goes */
    /* The bytes as they become. `bytes.at` NULL: there is no file yet. `note` is empty, and for report(). */
    enum err_code (*make)(const json_t *args, struct edit_span bytes,
                          struct text_change *ret_change, struct buf *note, struct err *err);
    /* What the model reads. */
    void (*report)(const json_t *args, const char *path, bool created,
                   const struct text_change *change, const struct buf *note, struct buf *out);
};

/* Of a tool's plan() and run(). */
enum err_code file_change_plan(struct tool_call *call, const struct file_change *kind,
                               struct err *err) MUST_CHECK;
enum err_code file_change_run(struct tool_call *call, const struct file_change *kind,
                              struct tool_result *ret_result, struct err *err) MUST_CHECK;

/* A make(): the argument `content` is the whole text. */
enum err_code file_change_whole(const json_t *args, struct edit_span bytes,
                                struct text_change *ret_change, struct buf *note,
                                struct err *err) MUST_CHECK;

#endif
