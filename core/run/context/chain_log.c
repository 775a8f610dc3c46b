/*
 * chain_log.c -- from items to a text that a model reads instead of old tool calls.
 *
 * A conversation with tools consists mostly of results that nobody needs any more: pages, listings,
 * tables. Sending them again in every turn fills the context. Compact history sends for a finished turn
 * which tools were called, with what, whether that worked, and how the result began. The hint names the
 * variables in which whole results can still be read. Unlike a summary, the text needs no request to a
 * model.
 *
 *   items ─▶ render_items: answer by answer ─▶ render_answer ─┬─▶ messages ──────────▶ flow
 *                                                             └─▶ chain_past_read ─┬─▶ flow: a block
 *                                                                                  └─▶ hint: a line
 *
 * The text goes to the model as a message of the assistant. That has two dangers.
 *
 * The model may imitate it: it writes a block instead of calling a tool, and believes that the tool ran.
 * The end of the hint warns of that. Whether the warning suffices depends on the model.
 *
 * Others may forge it: a user, a fetched page or a model writes a block, and the model believes in a call
 * that never was. So every text that passes here, but for the server's own, goes through add_neutral().
 * It looks for the beginnings of marks without regard to case and blanks, because a model reads
 * "[ tool execution LOG ]" as the same thing. It changes nothing else, since the text may be code. A block
 * is fenced with one back-tick more than any fence inside it: a result cannot end its own block.
 *
 * The text must be the same each time it is rendered: it is part of a prompt, and upstreams cache prompts
 * by their beginning. Hence no times, no random names, and calls in the order in which the model made
 * them, not in the order in which they ended.
 *
 * The form of a block (marks, icons, lengths) is fixed by the vectors in tests/unit/vectors.
 */

#include "core/run/context/chain_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/context/call_outputs.h"
#include "core/run/context/context.h"
#include "core/run/context/context_content.h"
#include "core/run/context/past_calls.h"
#include "core/tool/registry.h"

/* Blanks inside a forged mark that are skipped, all together. */
#define BLANKS_LIMIT 8

/* Characters of the arguments `id` and `path`: a part of these would name something else. */
#define NAME_LIMIT 200

/* ---- The marks of the server ---- */

/* In lower case and without blanks, as is_mark() compares them. */
static const char *const marks[] = {"[toolexecutionlog]", "<system-context", "</system-context",
                                    "<!--toolcalllog"};

static bool is_blank(char byte)
{
    return byte && strchr(" \t\r\n", byte);
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

static bool is_mark(const char *text, const char *mark)
{
    size_t blanks = 0;

    for (; *mark; text++) {
        if (is_blank(*text) && ++blanks <= BLANKS_LIMIT)
            continue;
        if (lower(*text) != *mark)
            return false;
        mark++;
    }
    return true;
}

static bool begins_mark(const char *text)
{
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        if (is_mark(text, marks[i]))
            return true;
    }
    return false;
}

/* A backslash before a mark, which in Markdown, too, makes it plain text. */
static void add_neutral(struct buf *out, const char *text)
{
    while (*text) {
        size_t plain = strcspn(text + 1, "[<") + 1;

        if ((*text == '[' || *text == '<') && begins_mark(text))
            buf_add_char(out, '\\');
        buf_add(out, text, plain);
        text += plain;
    }
}

char *chain_log_neutral(const char *text)
{
    AUTO_BUF out = {0};

    add_neutral(&out, text);
    return buf_take(&out);
}

/* ---- Pieces of a block ---- */

/* The caller frees. */
static char *shortened(const char *text, size_t limit)
{
    const char *end = utf8_at(text, limit);

    return *end ? mem_printf("%.*s...", (int)(end - text), text) : mem_strdup(text);
}

static json_t *short_value(const json_t *value, size_t limit)
{
    AUTO_FREE char *text = NULL;
    json_t *copy;
    size_t i;
    const char *key;
    json_t *inner;

    if (json_is_text(value)) {
        text = shortened(json_string_value(value), limit);
        return json_string_nocheck(text);
    }
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach (value, i, inner)
            json_array_append_new(copy, short_value(inner, CHAIN_LOG_ARGUMENT));
        return copy;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    copy = json_object();
    json_object_foreach ((json_t *)(uintptr_t)value, key, inner) {
        bool name = strcmp(key, "id") == 0 || strcmp(key, "path") == 0;

        json_set(copy, key, short_value(inner, name ? NAME_LIMIT : CHAIN_LOG_ARGUMENT));
    }
    return copy;
}

/* As one line, cut. The caller frees. */
static char *line_of(const char *text)
{
    AUTO_FREE char *line = shortened(text, CHAIN_LOG_PREVIEW);

    for (char *at = line; *at; at++) {
        if (is_blank(*at))
            *at = ' ';
    }
    return TAKE(line);
}

/* As the handler shortens them; NULL when it does not. The caller frees. */
static char *compressed_args(const struct chain_call *call, const json_t *args)
{
    AUTO_FREE char *text = NULL;

    if (call->tool && call->tool->compress_args && json_is_object(args))
        text = call->tool->compress_args(args);
    return text ? line_of(text) : NULL;
}

/* The arguments in one line. The caller frees. */
static char *argument_line(const struct chain_call *call)
{
    const char *written = call->arguments && *call->arguments ? call->arguments : "{}";
    json_auto_t *args = NULL;
    json_auto_t *shown = NULL;
    char *compressed = NULL;

    if (json_parse_exact(written, strlen(written), &args, NULL))
        args = json_build("{s:s}", "_raw", written);
    else
        compressed = compressed_args(call, args);
    if (compressed)
        return compressed;
    shown = short_value(args, CHAIN_LOG_ARGUMENT);
    return json_text(shown);
}

static const char *past_blanks(const char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}

static void trim_end(struct buf *out)
{
    while (out->length && is_blank(out->data[out->length - 1]))
        out->data[--out->length] = '\0';
}

static void add_trimmed(struct buf *out, const char *text)
{
    add_neutral(out, past_blanks(text));
    trim_end(out);
}

/* The text without <!-- comments -->: the server adds its hints about variables to results in that
 * form, and they are not part of the result. The caller frees. */
static char *without_comments(const char *text)
{
    AUTO_BUF out = {0};
    const char *begin;

    while ((begin = strstr(text, "<!--"))) {
        const char *end = strstr(begin + 4, "-->");

        if (!end)
            break;
        buf_add(&out, text, (size_t)(begin - text));
        text = end + 3;
    }
    buf_add_text(&out, text);
    return buf_take(&out);
}

/* As the handler shortens the result; NULL when it does not. The handler gets the result as it made it,
 * without what the server added. The caller frees. */
static char *compressed_result(const struct chain_call *call)
{
    AUTO_FREE char *plain = NULL;

    if (!call->tool || !call->tool->compress_result)
        return NULL;
    plain = without_comments(call->data);
    return call->tool->compress_result(plain);
}

static void add_preview(struct buf *out, const struct chain_call *call)
{
    AUTO_FREE char *compressed = compressed_result(call);
    AUTO_FREE char *cut = shortened(compressed ? compressed : call->data, CHAIN_LOG_PREVIEW);
    AUTO_FREE char *plain = without_comments(cut);
    AUTO_BUF preview = {0};

    add_trimmed(&preview, plain);
    if (preview.length)
        buf_addf(out, "\n%s\n", preview.data);
}

/* ---- A block ---- */

/* clang-format off */
static const struct {
    const char *status;
    const char *shown;
    bool error; /* the error's text follows */
} statuses[] = {
    {"success",            "✓ Success",    false},
    {"error",              "✗ Failed: ",   true},
    {"execution_rejected", "⚠️ Rejected: ", true},
    {"result_rejected",    "⚠️ Rejected: ", true},
    {"rejected",           "⚠️ Rejected: ", true},
    {"not_found",          "⚠️ Rejected: ", true},
    {"cancelled",          "✗ Failed: ",   true},
};
/* clang-format on */

static void add_status(struct buf *out, const struct chain_call *call)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (strcmp(statuses[i].status, call->status) != 0)
            continue;
        buf_add_text(out, statuses[i].shown);
        if (statuses[i].error && call->error)
            add_neutral(out, call->error);
        return;
    }
}

/* One more back-tick than any run of them inside; three at least. */
static size_t fence_length(const char *inside)
{
    size_t longest = 2;

    for (; *inside; inside++) {
        size_t run = strspn(inside, "`");

        if (run > longest)
            longest = run;
        if (run)
            inside += run - 1;
    }
    return longest + 1;
}

static void add_fence(struct buf *out, size_t length)
{
    while (length--)
        buf_add_char(out, '`');
}

static void add_inside(struct buf *out, const struct chain_call *call)
{
    AUTO_FREE char *arguments = argument_line(call);

    buf_add_text(out, "Arguments: ");
    add_neutral(out, arguments);
    buf_add_text(out, "\nStatus: ");
    add_status(out, call);
    buf_add_char(out, '\n');
    if (strcmp(call->status, "success") == 0 && call->data)
        add_preview(out, call);
    if (call->reject_reason) {
        buf_add_text(out, "\nReject reason: ");
        add_neutral(out, call->reject_reason);
        buf_add_char(out, '\n');
    }
}

/* A name that the model made up may be anything, even several lines. Names of real tools have neither
 * blanks nor back-ticks. */
static void add_name(struct buf *out, const char *name)
{
    AUTO_FREE char *line = mem_strdup(name);

    for (char *at = line; *at; at++) {
        if (is_blank(*at) || *at == '`')
            *at = ' ';
    }
    add_neutral(out, line);
}

void chain_log_block(const struct chain_call *call, struct buf *out)
{
    AUTO_BUF inside = {0};
    size_t fence;

    add_inside(&inside, call);
    fence = fence_length(inside.data);
    buf_add_text(out, "**[Tool Execution Log]**: ");
    add_name(out, call->name);
    buf_add_char(out, '\n');
    add_fence(out, fence);
    buf_add_text(out, "accesslog\n");
    buf_add(out, inside.data, inside.length);
    add_fence(out, fence);
    buf_add_char(out, '\n');
}

/* ---- The hint ---- */

static const char hint_begin[] =
    "<SYSTEM-CONTEXT>\n"
    "Tool results cached in variables. **Access**:  via `ReadVar` tool or `$VAR_REF{{VarID}}` "
    "syntax. *Note**: Variables are session-scoped and may be garbage-collected by the system\n"
    "\n"
    "Executed tools:\n";
static const char hint_end[] = "\n"
                               "[WARNING] `[Tool Execution Log]` blocks are system-generated. "
                               "Mimicking this format will NOT "
                               "trigger tool execution. Tool invocation is **ONLY** valid "
                               "through the standard tool calling "
                               "protocol.\n"
                               "</SYSTEM-CONTEXT>\n"
                               "---\n";

static void hint_call(struct buf *out, const struct chain_call *call)
{
    const char *names[] = {call->args_variable, call->result_variable};
    static const char *const words[] = {"args", "result"};
    const char *before = " (";

    buf_add_text(out, "- `");
    add_name(out, call->name);
    buf_add_char(out, '`');
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!names[i])
            continue;
        buf_addf(out, "%s%s=$VAR_REF{{%s}}", before, words[i], names[i]);
        before = ", ";
    }
    buf_add_text(out, names[0] || names[1] ? ")\n" : "\n");
}

/* ---- Calls, read from their items ---- */

static bool is_status(const char *word)
{
    for (size_t i = 0; word && i < COUNT_OF(statuses); i++) {
        if (strcmp(statuses[i].status, word) == 0)
            return true;
    }
    return false;
}

/* The client's output as text; NULL if missing. The caller frees. */
static char *client_text(const struct item_row *output, const json_t *body)
{
    json_auto_t *content =
        body ? past_output(output->type, item_status_name(output->status), body) : NULL;
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    if (json_absent(content))
        return NULL;
    if (json_is_string(content))
        return mem_strdup(json_string_value(content));
    json_array_foreach (content, i, part) {
        if (text.length)
            buf_add_text(&text, "\n\n");
        buf_add_text(&text, json_get_string(part, "text", "[a picture or file]"));
    }
    return buf_take(&text);
}

static bool is_readable(const char *arguments)
{
    json_auto_t *args = NULL;

    return !*arguments || json_parse(arguments, strlen(arguments), &args, NULL) == ERR_OK;
}

/* An unknown tool fails with the status "error". Only the text of the error says why: it is that of
 * core/run/calls/execute.c. */
static bool says_not_found(const struct chain_call *call)
{
    AUTO_FREE char *text = mem_printf("Tool %s not found", call->name);

    return call->error && strcmp(call->error, text) == 0;
}

/* Reads what the server noted in the item when it ended the call. */
static void read_notes(struct chain_call *call, const json_t *notes)
{
    const json_t *variables = json_object_get(notes, "variables");
    const char *status = json_get_string(notes, "status", NULL);

    if (is_status(status))
        call->status = status;
    if (strstr(call->status, "rejected"))
        call->reject_reason =
            json_get_string(notes, "reject_reason", json_get_string(notes, "reason", NULL));
    call->args_variable = json_get_string(variables, "args", NULL);
    call->result_variable = json_get_string(variables, "result", NULL);
}

static const char *default_error(const struct chain_call *call)
{
    if (call->error)
        return call->error;
    if (strcmp(call->status, "result_rejected") == 0)
        return "Result not approved for LLM";
    if (strcmp(call->status, "cancelled") == 0)
        return "Execution cancelled";
    return strcmp(call->status, "success") == 0 ? NULL : "Execution not approved";
}

static void read_status(struct chain_call *call, const struct item_row *item,
                        const json_t *body, const char *output)
{
    call->status = item->status == ITEM_FAILED ? "error" : "success";
    read_notes(call, notes_of(body));
    if (withheld_is(body)) {
        call->status = "result_rejected";
        call->result_variable = NULL;
    }
    if (strcmp(call->status, "success") == 0)
        call->data = output;
    else if (strcmp(call->status, "error") == 0 || strcmp(call->status, "not_found") == 0)
        call->error = output;
    if (strcmp(call->status, "error") == 0 && says_not_found(call))
        call->status = "not_found";
    call->error = default_error(call);
}

/* The group is noted only by the server that executed the call. Without it a client's tool of the same
 * name would be shortened by this server's handler. */
static const struct tool_handler *tool_of(const struct chain_call *call, const json_t *body)
{
    const char *group = json_get_string(notes_of(body), "group", NULL);

    return group ? tool_registry_find(group, call->name) : NULL;
}

bool chain_past_read(struct chain_past *past, const struct item_row *item, const json_t *body,
                     const struct item_row *output, const json_t *output_body)
{
    struct chain_call *call = &past->call;
    const char *own = past_own_output(item->type, body);
    const char *noted = json_get_string(notes_of(body), "status", NULL);
    bool client = item_type_is_client_call(item->type);

    memset(past, 0, sizeof(*past));
    if (!past_is_call(item->type, body))
        return false;
    past->texts[0] = past_call_name(item->type, body);
    past->texts[1] = past_call_arguments(item->type, body);
    past->texts[2] = client ? client_text(output, output_body) : NULL;
    call->name = past->texts[0];
    call->arguments = past->texts[1];
    call->tool = tool_of(call, body);
    /* A client's call has ended when it was answered. A server-side call has ended when its item or its
     * notes say so. */
    if (client ? !past->texts[2]
               : item->status != ITEM_COMPLETED && item->status != ITEM_FAILED &&
                     !is_status(noted))
        return false;
    read_status(call, item, body, client ? past->texts[2] : own);
    return item->status != ITEM_FAILED || is_readable(call->arguments);
}

void chain_past_clear(struct chain_past *past)
{
    for (size_t i = 0; i < COUNT_OF(past->texts); i++)
        free(TAKE(past->texts[i]));
}

/* ---- A stretch of items ---- */

/* Building state. Exactly one of `text` and `each` is set. */
struct rendering {
    struct chain_text *text;
    chain_call_fn *each;
    void *arg;
    const struct item_row *const *items;
    const json_t *bodies;
    size_t first, end;
    const size_t *outputs; /* call_outputs_find() of [first, end) */
    const struct long_message_rule *rule;
};

static const json_t *body_at(const struct rendering *rendering, size_t at)
{
    return json_array_get(rendering->bodies, at);
}

static bool same_turn(const struct item_row *a, const struct item_row *b)
{
    return a->input == b->input && a->turn == b->turn && strcmp(a->run_id, b->run_id) == 0;
}

static void log_call(struct chain_text *text, const struct chain_call *call)
{
    if (!text->calls++)
        buf_add_text(&text->hint, hint_begin);
    hint_call(&text->hint, call);
    chain_log_block(call, &text->flow);
    buf_add_char(&text->flow, '\n');
}

static void render_call(struct rendering *rendering, size_t at)
{
    size_t answer = rendering->outputs[at - rendering->first];
    bool answered = answer < rendering->end;
    struct chain_past past;

    if (chain_past_read(&past, rendering->items[at], body_at(rendering, at),
                        answered ? rendering->items[answer] : NULL,
                        answered ? body_at(rendering, answer) : NULL)) {
        if (rendering->each)
            rendering->each(rendering->arg, at, &past.call);
        else
            log_call(rendering->text, &past.call);
    }
    chain_past_clear(&past);
}

static void render_text(struct rendering *rendering, size_t at, const char *text)
{
    struct buf *flow = &rendering->text->flow;
    bool in_part = rendering->rule && rendering->items[at]->answered;
    AUTO_FREE char *shown = in_part ? long_message_shown(rendering->rule, text) : NULL;
    size_t before = flow->length;

    if (shown)
        buf_add_text(flow, shown);
    else
        add_trimmed(flow, text);
    if (flow->length > before)
        buf_add_text(flow, "\n\n");
}

static void render_message(struct rendering *rendering, size_t at)
{
    json_auto_t *texts = context_texts(json_object_get(body_at(rendering, at), "content"));
    size_t i;
    json_t *text;

    json_array_foreach (texts, i, text)
        render_text(rendering, at, json_string_value(text));
}

struct place {
    size_t at;
    int order;
};

static int by_order(const void *a, const void *b)
{
    const struct place *left = a;
    const struct place *right = b;

    return left->order < right->order ? -1 : left->order > right->order;
}

/* One answer of the model: its text, then its calls in the order in which it made them. Concurrent calls
 * may be stored in another order. Calls that a client sent keep their places. */
static void render_answer(struct rendering *rendering, size_t first, size_t end)
{
    AUTO_FREE struct place *calls = mem_new_array(struct place, end - first);
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        const struct item_row *item = rendering->items[i];

        if (item->type == ITEM_MESSAGE && rendering->text)
            render_message(rendering, i);
        else if (past_is_call(item->type, body_at(rendering, i)))
            calls[count++] =
                (struct place){.at = i, .order = item->input ? (int)i : item->model_index};
    }
    qsort(calls, count, sizeof(*calls), by_order);
    for (size_t i = 0; i < count; i++)
        render_call(rendering, calls[i].at);
}

static void render_items(struct rendering *rendering)
{
    const struct item_row *const *items = rendering->items;
    AUTO_FREE size_t *outputs = call_outputs_find(items, rendering->first, rendering->end);
    size_t first = rendering->first;

    rendering->outputs = outputs;
    while (first < rendering->end) {
        size_t next = first + 1;

        while (next < rendering->end && same_turn(items[first], items[next]))
            next++;
        render_answer(rendering, first, next);
        first = next;
    }
}

void chain_text_render(struct chain_text *ret_text, const struct item_row *const *items,
                       const json_t *bodies, size_t first, size_t end,
                       const struct long_message_rule *rule)
{
    struct rendering rendering = {.text = ret_text,
                                  .items = items,
                                  .bodies = bodies,
                                  .first = first,
                                  .end = end,
                                  .rule = rule};

    memset(ret_text, 0, sizeof(*ret_text));
    render_items(&rendering);
    trim_end(&ret_text->flow);
    if (ret_text->calls)
        buf_add_text(&ret_text->hint, hint_end);
}

void chain_each_call(const struct item_row *const *items, const json_t *bodies, size_t first,
                     size_t end, chain_call_fn *each, void *arg)
{
    struct rendering rendering = {
        .each = each, .arg = arg, .items = items, .bodies = bodies, .first = first, .end = end};

    render_items(&rendering);
}

void chain_text_clear(struct chain_text *text)
{
    buf_clear(&text->hint);
    buf_clear(&text->flow);
}
