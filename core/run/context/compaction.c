/*
 * compaction.c -- what a compaction keeps, and how it travels through a client.
 *
 * The summary is written by the model, and a model forgets. So what must not be lost is not left to it.
 * Rules (system and developer messages) are kept word for word in any case. The user's messages are kept
 * from the newest back, as far as the tokens allow. The tail is kept as well: calls whose outputs the
 * model has not answered yet would make no sense in a summary, and an upstream refuses an output
 * without its call.
 *
 *   context_request() ─▶ compaction_add_prompt() ─▶ model ─▶ summary ─▶ compaction_content()
 *                                                                             │
 *               store: in the notes, in the clear ◀── the item ◀── compaction_body(): sealed
 *               client: encrypted_content, which it sends back ─▶ compaction_open() ─▶ notes
 *
 * A compaction may be compacted again. Its `keep` is then kept on, while its summary and tail are part of
 * what the model summarises. So a message of the user survives several compactions, as far as the budget
 * allows.
 *
 * The content is sealed for its project, because the client carries it: an item that was altered, or
 * belongs to another project, is refused. OpenAI's API has the same opaque field, so clients need no
 * change.
 *
 * The messages are stored in the form of Chat Completions, although items have the form of the
 * Responses API: they are made to be sent, and sending needs no second translation.
 */

#include "core/run/context/compaction.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/domain/tenant.h"
#include "core/model/tokens/tokenizer.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"

#define NOTE "compaction"

static const char summary_prompt[] =
    "The conversation has become too long and will be replaced by your summary of it. Write "
    "down all that is needed to go on as if nothing had been lost: what the user wants, with "
    "all "
    "requests and constraints; what was done, decided and found out, with names, numbers, "
    "paths, "
    "identifiers and results as they are; what is not done yet, and the next step. The user's "
    "own "
    "messages are kept: do not repeat them. Answer with the summary alone.";

static const char opening[] = "This is a summary of the conversation up to here, which was "
                              "shortened:\n\n";

void compaction_add_prompt(json_t *request)
{
    static const char *const shapes[] = {"response_format", "max_completion_tokens",
                                         "max_tokens",      "logprobs",
                                         "top_logprobs",    "verbosity"};

    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        json_object_del(request, shapes[i]);
    json_array_append_new(json_object_get(request, "messages"),
                          json_build("{s:s, s:s}", "role", "user", "content", summary_prompt));
}

/* ---- Reading an item ---- */

static bool is_compaction(const struct item_row *item)
{
    return item->type == ITEM_COMPACTION;
}

static json_t *content_of(const json_t *body)
{
    return json_object_get(notes_of(body), NOTE);
}

bool compaction_is_whole(const struct item_row *item)
{
    json_auto_t *body = is_compaction(item) ? json_parse_own(item->body) : NULL;

    return json_get_bool(content_of(body), "whole", false);
}

void compaction_add_messages(const json_t *body, json_t *messages)
{
    const json_t *content = content_of(body);
    AUTO_FREE char *summary =
        mem_printf("%s%s", opening, json_get_string(content, "summary", ""));

    if (!content)
        return;
    json_array_extend(messages, json_object_get(content, "keep"));
    json_array_append_new(messages,
                          json_build("{s:s, s:s}", "role", "user", "content", summary));
    json_array_extend(messages, json_object_get(content, "tail"));
}

/* ---- Making one ---- */

/* A message to the model: the user's, or a rule. */
static bool is_input_message(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") != 0;
}

static bool *mark_tail(const struct compaction *compaction)
{
    bool *tail = mem_new_array(bool, compaction->count + 1);

    if (compaction->kind == COMPACTION_WHOLE)
        context_mark_newest(compaction->items, compaction->count, compaction->run_id, tail);
    return tail;
}

static json_t *tail_messages(const struct compaction *compaction, const bool *tail)
{
    AUTO_FREE const struct item_row **items =
        mem_new_array(const struct item_row *, compaction->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < compaction->count; i++) {
        if (tail[i])
            items[count++] = compaction->items[i];
    }
    return context_messages(NULL, items, count);
}

/* Adds to `keep` what the item has to keep: what an earlier compaction kept, or the item itself. A part
 * keeps no messages, because the client holds them. */
static void keep_of(const struct compaction *compaction, const struct item_row *item,
                    json_t *keep)
{
    json_auto_t *messages = NULL;
    json_auto_t *body = NULL;

    if (is_compaction(item)) {
        body = json_parse_own(item->body);
        json_array_extend(keep, json_object_get(content_of(body), "keep"));
    } else if (is_input_message(item) && compaction->kind == COMPACTION_WHOLE) {
        messages = context_messages(NULL, &item, 1);
        json_array_extend(keep, messages);
    }
}

static bool is_rule(const json_t *message)
{
    return strcmp(json_get_string(message, "role", ""), "user") != 0;
}

/* All rules, and the newest of the other messages, as many as fit. Rules take room, too. The search does
 * not end at the first message that does not fit, because rules may come before it. No older message is
 * kept then, as the room stays negative: what is kept of the user has no gap. */
static json_t *newest(const struct compaction *compaction, const json_t *keep)
{
    json_t *kept = json_array();
    int64_t room = compaction->keep_tokens;

    for (size_t i = json_array_size(keep); i-- > 0;) {
        json_t *message = json_array_get(keep, i);

        room -= tokenizer_count_message(compaction->tokenizer, message);
        if (room >= 0 || is_rule(message))
            json_array_insert(kept, 0, message);
    }
    return kept;
}

static json_t *kept_messages(const struct compaction *compaction, const bool *tail)
{
    json_auto_t *keep = json_array();

    for (size_t i = 0; i < compaction->count; i++) {
        if (!tail[i])
            keep_of(compaction, compaction->items[i], keep);
    }
    return newest(compaction, keep);
}

json_t *compaction_content(const struct compaction *compaction, const char *summary)
{
    AUTO_FREE bool *tail = mark_tail(compaction);

    return json_build("{s:i, s:b, s:s, s:o, s:o}", "v", 1, "whole",
                      compaction->kind == COMPACTION_WHOLE, "summary", summary, "keep",
                      kept_messages(compaction, tail), "tail", tail_messages(compaction, tail));
}

json_t *compaction_body(const struct seal *seal, const struct tenant *tenant,
                        const json_t *content)
{
    AUTO_FREE char *text = json_text(content);
    AUTO_FREE char *sealed = seal_text(seal, tenant->project, text, strlen(text));

    return json_build("{s:s}", "encrypted_content", sealed);
}

/* ---- Items that a client sends ---- */

static enum err_code refuse(const char *sealed, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_SEAL, NULL,
                      "The encrypted content %.16s... could not be verified. Reason: Encrypted "
                      "content could not be decrypted or parsed.",
                      sealed);
}

static enum err_code open_one(const struct seal *seal, const struct tenant *tenant,
                              struct item_row *item, struct err *err)
{
    json_auto_t *sent = json_parse_own(item->body);
    const char *sealed = json_get_string(sent, "encrypted_content", "");
    AUTO_FREE char *text = NULL;
    json_auto_t *body = NULL;
    size_t length = 0;

    if (seal_open(seal, tenant->project, sealed, &text, &length, NULL))
        return refuse(sealed, err);
    body = json_build("{s:s, s:{s:o}}", "encrypted_content", sealed, "runnel", NOTE,
                      json_parse_own(text));
    free(item->body);
    item->body = json_text(body);
    return ERR_OK;
}

enum err_code compaction_open(const struct seal *seal, const struct tenant *tenant,
                              struct item_row *items, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        enum err_code rc =
            is_compaction(&items[i]) ? open_one(seal, tenant, &items[i], err) : ERR_OK;

        if (rc)
            return rc;
    }
    return ERR_OK;
}
