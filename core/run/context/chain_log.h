#ifndef RUNNEL_CORE_RUN_CONTEXT_CHAIN_LOG_H
#define RUNNEL_CORE_RUN_CONTEXT_CHAIN_LOG_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/domain/rows.h"
#include "core/run/context/long_messages.h"
#include "core/tool/tool.h"

/*
 * chain_log.h -- tool calls of finished turns as text: for the model in compact history, and for people
 * in the object that a chain is shown as.
 *
 * A stretch of items becomes two texts. The hint lists the calls and the variables that hold their
 * arguments and results; only the model reads it. The flow is the text of the messages, with a block for
 * each call at the place of the call:
 *
 *   **[Tool Execution Log]**: <tool>
 *   ```accesslog
 *   Arguments: <one line of JSON, strings shortened>
 *   Status: ✓ Success | ✗ Failed: <error> | ⚠️ Rejected: <error>
 *
 *   <the beginning of the result>
 *   ```
 *
 * Only the server writes these marks. Where a model, a user or a result contains them,
 * chain_log_neutral() puts a backslash before them. The fence of a block is longer than any inside it.
 *
 * Both texts are computed from items and never stored. A handler may shorten its own calls
 * (compress_args and compress_result in tool.h); its text then replaces arguments or result.
 *
 * Pure functions: any thread.
 */

/* Characters of a text argument, and of a result, that a block shows. What a handler makes of either is
 * cut to the second. */
#define CHAIN_LOG_ARGUMENT 50
#define CHAIN_LOG_PREVIEW  200

/* One call, to be logged. Texts are borrowed; NULL if missing. */
struct chain_call {
    const char *name;
    const char *arguments; /* as the model wrote them */
    const char *status;    /* "success", "error", "execution_rejected", "result_rejected",
                            * "not_found" ...: the table in chain_log.c */
    const char *data;      /* of a success: the output, as the model read it */
    const char *error;     /* of any other status */
    const char *reject_reason;
    const char *args_variable;       /* name of the variable with the arguments */
    const char *result_variable;     /* name of the variable with the result */
    const struct tool_handler *tool; /* of this server; NULL: another's tool, or one removed */
};

/* Adds the block of a call to `out`. */
void chain_log_block(const struct chain_call *call, struct buf *out);

/* A copy of the text in which the marks of a log have lost their meaning. The caller frees. */
char *chain_log_neutral(const char *text);

/* A call, read from its stored item. `call` points into `texts`, into the item and into the bodies;
 * chain_past_clear() releases the texts. */
struct chain_past {
    struct chain_call call;
    char *texts[3]; /* owned: name, arguments, the client's output */
};
/* `body` is the item's, parsed. `output` is the item with the client's output and `output_body` its
 * body; both NULL if missing. False when there is nothing to log: the call was not executed, its
 * arguments were no JSON, or it has no output yet. chain_past_clear() is due in any case. */
bool chain_past_read(struct chain_past *past, const struct item_row *item, const json_t *body,
                     const struct item_row *output, const json_t *output_body);
void chain_past_clear(struct chain_past *past);

/* The two texts of a stretch of items. chain_text_clear() releases them. */
struct chain_text {
    struct buf hint; /* empty if no call was logged */
    struct buf flow;
    size_t calls; /* that were logged */
};
/* Renders items[first..end). `bodies` is the array of the parsed bodies of all items. Long messages
 * that were answered are cut by `rule`; NULL: they are rendered whole. */
void chain_text_render(struct chain_text *ret_text, const struct item_row *const *items,
                       const json_t *bodies, size_t first, size_t end,
                       const struct long_message_rule *rule);
void chain_text_clear(struct chain_text *text);

/* Calls `each` for every call that the flow logs, in the flow's order. `at` is the index of the call's
 * item; `call` is valid during the callback. */
typedef void chain_call_fn(void *arg, size_t at, const struct chain_call *call);
void chain_each_call(const struct item_row *const *items, const json_t *bodies, size_t first,
                     size_t end, chain_call_fn *each, void *arg);

#endif
