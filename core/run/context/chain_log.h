#ifndef RUNNEL_CORE_RUN_CONTEXT_CHAIN_LOG_H
#define RUNNEL_CORE_RUN_CONTEXT_CHAIN_LOG_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/domain/rows.h"
#include "core/run/context/long_messages.h"
#include "core/tool/tool.h"

/*
 * chain_log.h -- a chain of tool calls as text: what compact history tells the model of turns that are
 * over, and what people read in a chain's result.
 *
 * Two texts. The hint names the calls and the variables that still hold what they gave; it is for the
 * model only. The flow is what was said, with a block for each call where it happened:
 *
 *   **[Tool Execution Log]**: <tool>
 *   ```accesslog
 *   Arguments: <one line of JSON, strings shortened>
 *   Status: ✓ Success | ✗ Failed: <error> | ⚠️ Rejected: <error>
 *
 *   <the beginning of the result>
 *   ```
 *
 * These marks are ours alone. Where a model, a user or a result writes them, chain_log_neutral() takes
 * their meaning away; and the fence of a block is longer than any inside of it.
 *
 * Computed from items, never stored. What a tool of ours says of its calls in fewer words (compress_args,
 * compress_result) stands in place of arguments and result. Any thread.
 */

/* Characters of a text argument, and of a result, that a block shows; and of what a tool says itself of
 * either, the latter. */
#define CHAIN_LOG_ARGUMENT 50
#define CHAIN_LOG_PREVIEW  200

/* One call. Texts are borrowed; NULL where there is none. */
struct chain_call {
    const char *name;
    const char *arguments; /* as the model wrote them */
    const char *status; /* success, error, execution_rejected, result_rejected or not_found */
    const char *data;   /* what the model was told, of a success */
    const char *error;
    const char *reject_reason;
    const char *args_variable; /* names */
    const char *result_variable;
    const struct tool_handler *tool; /* of this server; NULL: somebody else's, or it is gone */
};

/* Adds the block of a call. */
void chain_log_block(const struct chain_call *call, struct buf *out);

/* Text in which our marks mean nothing. The caller frees. */
char *chain_log_neutral(const char *text);

/* A call as its item tells it. What it points to lives as long as this; chain_past_clear() releases. */
struct chain_past {
    struct chain_call call;
    char *texts[3];
};
/* `output` is the item with the client's answer, `bodies` are those of both, parsed; NULL for none.
 * False when there is nothing to log: it was not executed, its arguments were no JSON, or it has no
 * output yet. */
bool chain_past_read(struct chain_past *past, const struct item_row *item, const json_t *body,
                     const struct item_row *output, const json_t *output_body);
void chain_past_clear(struct chain_past *past);

/* What a stretch of items comes to. */
struct chain_text {
    struct buf hint; /* empty without calls */
    struct buf flow;
    size_t calls;
};
/* `bodies` is the array of the items' parsed bodies; items[first..end) are told, messages as `rule` says:
 * NULL for whole. */
void chain_text_render(struct chain_text *ret_text, const struct item_row *const *items,
                       const json_t *bodies, size_t first, size_t end,
                       const struct long_message_rule *rule);
void chain_text_clear(struct chain_text *text);

/* The calls that the text logs, in its order. `at` is the place of the call's item. */
typedef void chain_call_fn(void *arg, size_t at, const struct chain_call *call);
void chain_each_call(const struct item_row *const *items, const json_t *bodies, size_t first,
                     size_t end, chain_call_fn *each, void *arg);

#endif
