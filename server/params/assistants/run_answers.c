#include "server/params/assistants/run_answers.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/domain/tenant.h"
#include "core/run/approval/grant.h"
#include "server/params/params.h"

/* Outputs of one submission. A turn has at most this many calls. */
#define TOOL_OUTPUT_LIMIT ((size_t)128)

/*
 * What a client submits to a run in requires_action: outputs of its functions and answers to approval
 * requests, in one list.
 *
 * The Assistants API has no approval request. A run of a thread shows one as a call of the reserved
 * function runnel_approval, so that any client can answer it with submit_tool_outputs. Its id begins
 * with "mcpr_", and that prefix is all that this file goes by; the store decides whether the id is
 * really that of an open request of this run.
 *
 * The work has two halves because of the database. run_answers_read() is pure: it checks the body and
 * parses the answers. run_answers_settle() blocks: how an answer may be remembered is in the row of
 * the approval request, so the rows are read and grants are made of the answers. Then the
 * endpoint stores outputs, decisions and grants in one transaction. A crash leaves all of them or none.
 *
 * An answer that asks to be remembered in a way that is not possible becomes a refusal. Approving the
 * call without the memory would be a guess about a person's decision. The refusal says why, in the
 * stored output, where the model and the client both read it.
 *
 * The hash recognises a repeated submission: the same outputs in any order are the same submission
 * (store_run_submit()). It covers the client's outputs, before any of them became a refusal.
 */

void run_answers_clear(struct run_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        approval_reply_clear(&answers->replies[i]);
        free(answers->outputs[i]);
    }
    free(answers->list);
    free(answers->replies);
    free(answers->outputs);
    grant_rows_free(answers->grants.rows, answers->grants.count);
    *answers = (struct run_answers){0};
}

/* ---- Reading ---- */

static enum err_code decode_answer(const json_t *entry, size_t index,
                                   struct tool_answer *answer, struct err *err)
{
    struct param_path path = param_index("tool_outputs", index);
    enum err_code rc;

    if (!json_is_object(entry))
        return param_wrong_type(err, path.text, "an object", entry);
    rc = param_string(entry, path.text, "tool_call_id", PARAM_REQUIRED, ID_LIMIT,
                      &answer->call_id, err);
    if (rc)
        return rc;
    answer->output = ""; /* `output` is optional in OpenAI's schema */
    return param_string(entry, path.text, "output", PARAM_OPTIONAL, SIZE_MAX, &answer->output,
                        err);
}

static int by_call_id(const void *a, const void *b)
{
    return strcmp(((const struct tool_answer *)a)->call_id,
                  ((const struct tool_answer *)b)->call_id);
}

static void hash_answers(struct run_answers *answers)
{
    json_auto_t *canonical = json_array();
    AUTO_FREE char *text = NULL;

    for (size_t i = 0; i < answers->count; i++)
        json_array_append_new(
            canonical, json_build("[s, s]", answers->list[i].call_id, answers->list[i].output));
    text = json_text(canonical);
    sha256_text(text, answers->hash);
}

/* By its form. The store knows whether it is one. */
static bool may_be_approval(const struct tool_answer *answer)
{
    return id_has_prefix(answer->call_id, "mcpr_");
}

static void read_replies(struct run_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        struct tool_answer *answer = &answers->list[i];

        if (!may_be_approval(answer))
            continue;
        answers->replies[i] = approval_reply_parse(answer->output);
        answer->approve = answers->replies[i].approve;
        answer->reason = answers->replies[i].reason;
    }
}

enum err_code run_answers_read(const json_t *body, struct run_answers *answers, struct err *err)
{
    json_t *list = NULL;
    enum err_code rc =
        param_array(body, "", "tool_outputs", PARAM_REQUIRED, TOOL_OUTPUT_LIMIT, &list, err);

    if (rc)
        return rc;
    answers->count = json_array_size(list);
    answers->list = mem_new_array(struct tool_answer, answers->count + 1);
    answers->replies = mem_new_array(struct approval_reply, answers->count + 1);
    answers->outputs = mem_new_array(char *, answers->count + 1);
    for (size_t i = 0; !rc && i < answers->count; i++)
        rc = decode_answer(json_array_get(list, i), i, &answers->list[i], err);
    if (rc)
        return rc;
    qsort(answers->list, answers->count, sizeof(*answers->list), by_call_id);
    hash_answers(answers);
    read_replies(answers);
    return ERR_OK;
}

/* ---- Approval requests ---- */

/* Turns an answer into a refusal that says why. */
static void refuse(struct run_answers *answers, size_t i, const char *why)
{
    struct approval_reply *reply = &answers->replies[i];
    struct tool_answer *answer = &answers->list[i];
    json_auto_t *output = json_build("{s:b, s:s}", "approve", false, "reason", why);

    approval_reply_clear(reply);
    reply->reason = mem_strdup(why);
    free(answers->outputs[i]);
    answers->outputs[i] = json_text(output);
    answer->output = answers->outputs[i];
    answer->approve = false;
    answer->reason = reply->reason;
}

/* Makes the grants of one answer. An unreadable answer is a refusal that no person has written, so
 * nothing of it is remembered. A request that was decided before has its grants, unless this answer asks for
 * more. */
static void settle(struct run_answers *answers, size_t i, const struct approval_row *row)
{
    const struct approval_reply *reply = &answers->replies[i];
    struct err err;

    if (reply->unreadable ||
        (!grant_is_requested(reply->said) && row->status != APPROVAL_PENDING))
        return;
    if (grants_make(reply->said, "",
                    &(struct grant_answer){.approval_id = row->id,
                                           .memory = row->memory,
                                           .definition = row->definition,
                                           .approve = reply->approve,
                                           .reason = reply->reason,
                                           .run = row->run_id},
                    &answers->grants.rows, &answers->grants.count, &err))
        refuse(answers, i, err.text);
}

static void settle_all(struct run_answers *answers, const struct approval_row *rows,
                       size_t count)
{
    for (size_t i = 0; i < answers->count; i++) {
        for (size_t row = 0; row < count; row++) {
            if (strcmp(rows[row].id, answers->list[i].call_id) == 0)
                settle(answers, i, &rows[row]);
        }
    }
}

enum err_code run_answers_settle(struct store *store, const struct tenant *tenant,
                                 const char *run_id, struct run_answers *answers,
                                 struct err *err)
{
    AUTO_FREE const char **ids = mem_new_array(const char *, answers->count + 1);
    struct approval_row *rows = NULL;
    size_t id_count = 0, count = 0;
    enum err_code rc;

    for (size_t i = 0; i < answers->count; i++) {
        if (may_be_approval(&answers->list[i]))
            ids[id_count++] = answers->list[i].call_id;
    }
    if (!id_count)
        return ERR_OK;
    rc = store_approvals_named(store, tenant, run_id, ids, id_count, &rows, &count, err);
    if (rc)
        return rc;
    settle_all(answers, rows, count);
    approval_rows_free(rows, count);
    return ERR_OK;
}
