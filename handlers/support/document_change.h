#ifndef RUNNEL_HANDLERS_SUPPORT_DOCUMENT_CHANGE_H
#define RUNNEL_HANDLERS_SUPPORT_DOCUMENT_CHANGE_H

#include "core/edit/text_file.h"
#include "core/tool/tool.h"

/*
 * document_change.h -- what the tools that change a file have in common: read it, change its text, write it.
 *
 * The change is made twice: for the question, which shows a person the difference, and again when the call is executed.
 * The file may have changed between the two, and the second is the one that counts. If another call writes the file
 * meanwhile, the change is made once more, of the new bytes. So of two calls at once neither is lost.
 */

/* Times that a change is made before the call gives up. */
#define DOCUMENT_CHANGE_ATTEMPTS 8

struct document_change {
    const char *verb;  /* in "Failed to edit file-abc: ..." */
    const char *title; /* "Edited", before the name of the file */
    /* The bytes of the file as they become. */
    enum err_code (*make)(const json_t *args, struct edit_span bytes,
                          struct text_change *ret_change, struct err *err);
    /* What the model reads. */
    void (*report)(const json_t *args, const struct tool_text *text,
                   const struct text_change *change, struct buf *out);
};

/* For plan() and run() of the handler. */
enum err_code document_change_plan(struct tool_call *call, const struct document_change *kind,
                                   struct err *err) MUST_CHECK;
enum err_code document_change_run(struct tool_call *call, const struct document_change *kind,
                                  struct tool_result *ret_result, struct err *err) MUST_CHECK;

/* A text among the arguments. Borrowed. */
struct edit_span document_text_arg(const json_t *args, const char *name);

#endif
