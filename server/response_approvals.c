#include "server/response_approvals.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/run_approvals.h"
#include "core/run/tool_set.h"
#include "core/store/approvals.h"

/* What is open, and what was said about it. */
struct answers {
    struct approval_row *rows;
    size_t count;
    json_t *given; /* by the ids of questions: the bodies of their answers */
    struct approval_answer *list;
};

static void answers_clear(struct answers *answers)
{
    approval_rows_free(answers->rows, answers->count);
    json_decref(answers->given);
    free(answers->list);
}

/* ---- What the input says ---- */

static bool is_input(const struct run_load *load, const struct item_row *item)
{
    return item->input && strcmp(item->run_id, load->run.id) == 0;
}

/* The ids of questions whose calls are there: they were answered long ago, and a client that sends
 * the whole story again sends the answers, too. */
static json_t *ids_of_calls(const struct run_load *load)
{
    json_t *ids = json_object();

    for (size_t i = 0; i < load->item_count; i++) {
        json_auto_t *body = NULL;
        const char *id;

        if (strcmp(load->items[i].type, "mcp_call") != 0 ||
            !strstr(load->items[i].body, "\"approval_request_id\":\""))
            continue;
        body = json_parse_own(load->items[i].body);
        id = json_get_string(body, "approval_request_id", NULL);
        if (id)
            json_set(ids, id, json_true());
    }
    return ids;
}

static enum err_code read_given(const struct run_load *load, json_t *given, struct err *err)
{
    json_auto_t *old = NULL;

    for (size_t i = 0; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];
        json_auto_t *body = NULL;
        const char *id;

        if (!is_input(load, item) || strcmp(item->type, "mcp_approval_response") != 0)
            continue;
        if (!old)
            old = ids_of_calls(load);
        body = json_parse_own(item->body);
        id = json_get_string(body, "approval_request_id", "");
        if (json_object_get(old, id))
            continue;
        if (json_object_get(given, id))
            return err_set_api(err, ERR_INVALID, NULL, "input",
                               "Approval request '%.64s' is answered twice.", id);
        json_object_set(given, id, body);
    }
    return ERR_OK;
}

/* ---- What is open ---- */

static bool may_be_open(const struct run_load *load)
{
    for (size_t i = 0; i < load->item_count; i++) {
        if (!load->items[i].input && strcmp(load->items[i].type, "mcp_approval_request") == 0)
            return true;
    }
    return false;
}

static enum err_code load_open(struct store *store, const struct run_load *load,
                               struct answers *answers, struct err *err)
{
    const struct run_row *run = &load->run;

    if (!may_be_open(load))
        return ERR_OK;
    if (*run->thread_id)
        return store_approvals_of_thread(store, run->project, run->thread_id, &answers->rows,
                                         &answers->count, err);
    if (*run->parent_id)
        return store_approvals_of_run(store, run->project, run->parent_id, &answers->rows,
                                      &answers->count, err);
    return ERR_OK;
}

/* ---- Together ---- */

static enum err_code answer_one(struct answers *answers, size_t i, struct err *err)
{
    const struct approval_row *row = &answers->rows[i];
    const json_t *given = json_object_get(answers->given, row->id);
    struct approval_answer *answer = &answers->list[i];

    *answer = (struct approval_answer){.id = row->id, .seen_used = *row->used_by};
    if (given) {
        answer->approve = json_get_bool(given, "approve", false);
        answer->reason = json_get_string(given, "reason", NULL);
    } else if (row->status != APPROVAL_PENDING && !*row->used_by) {
        answer->approve = row->status == APPROVAL_APPROVED;
        answer->reason = row->reason;
    } else {
        return err_set_api(err, ERR_INVALID, NULL, "input",
                           "No approval response found for approval request %.64s.", row->id);
    }
    return ERR_OK;
}

static enum err_code check_all_known(const struct answers *answers, struct err *err)
{
    const char *id;
    json_t *body;

    json_object_foreach (answers->given, id, body) {
        bool known = false;

        for (size_t i = 0; i < answers->count; i++)
            known |= strcmp(answers->rows[i].id, id) == 0;
        if (!known)
            return err_set_api(err, ERR_INVALID, NULL, "input",
                               "No approval request found for approval response with "
                               "approval_request_id %.64s.",
                               id);
    }
    return ERR_OK;
}

static enum err_code answer_all(struct answers *answers, struct err *err)
{
    enum err_code rc = check_all_known(answers, err);

    answers->list = mem_new_array(struct approval_answer, answers->count + 1);
    for (size_t i = 0; !rc && i < answers->count; i++)
        rc = answer_one(answers, i, err);
    return rc;
}

/* ---- Whether the calls can be made ---- */

static enum err_code check_offered(const struct run_load *load, const struct answers *answers,
                                   struct err *err)
{
    json_auto_t *config = json_parse_own(load->run.config);
    struct tool_set tools = {0};
    enum err_code rc = tool_set_init(&tools, json_object_get(config, "tools"),
                                     json_object_get(config, "runnel"), err);

    for (size_t i = 0; !rc && i < answers->count; i++) {
        const struct approval_row *row = &answers->rows[i];

        if (answers->list[i].approve && !tool_set_has_server(&tools, row->server_label) &&
            !tool_set_find_labelled(&tools, row->server_label, row->tool))
            rc = err_invalid(
                err, "invalid_value", "tools",
                "The tool '%.64s' of '%.64s', whose call was approved, is not offered "
                "by this request.",
                row->tool, row->server_label);
    }
    tool_set_clear(&tools);
    return rc;
}

/* ---- For the run ---- */

static json_t *decision(const struct approval_row *row, const struct approval_answer *answer)
{
    json_t *made =
        json_build("{s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "id", row->id, "call_id",
                   row->call_id, "name", row->tool, "label", row->server_label, "arguments",
                   row->arguments, "approve", answer->approve, "lost", answer->lost);

    json_set_string(made, "reason",
                    row->status == APPROVAL_PENDING ? answer->reason : row->reason);
    return made;
}

static void note_decisions(struct run_load *load, const struct answers *answers)
{
    json_auto_t *config = json_parse_own(load->run.config);
    json_t *list = json_array();

    for (size_t i = 0; i < answers->count; i++)
        json_array_append_new(list, decision(&answers->rows[i], &answers->list[i]));
    json_set(config, RUN_APPROVALS_KEY, list);
    free(load->run.config);
    load->run.config = json_text(config);
}

static enum err_code take(struct store *store, struct run_load *load, struct answers *answers,
                          struct err *err)
{
    enum err_code rc = read_given(load, answers->given, err);

    if (!rc)
        rc = load_open(store, load, answers, err);
    if (!rc)
        rc = answer_all(answers, err);
    if (rc || !answers->count)
        return rc;
    rc = check_offered(load, answers, err);
    if (!rc)
        rc = store_approvals_take(store, load->run.project, load->run.id, answers->list,
                                  answers->count, err);
    if (!rc)
        note_decisions(load, answers);
    return rc;
}

enum err_code response_approvals_take(struct store *store, struct run_load *load,
                                      struct err *err)
{
    struct answers answers = {.given = json_object()};
    enum err_code rc = take(store, load, &answers, err);

    answers_clear(&answers);
    return rc;
}

void response_approvals_give_back(struct store *store, const struct run_load *load)
{
    struct err err;

    if (!strstr(load->run.config, RUN_APPROVALS_KEY))
        return;
    if (store_approvals_give_back(store, load->run.project, load->run.id, &err))
        log_warn("approvals of response %s are not given back: %s", load->run.id, err.text);
}
