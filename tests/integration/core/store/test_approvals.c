/*
 * Questions and answers: stored once, decided once, taken up once.
 *
 * The races are played one after the other, in each order that the locks allow: a response reads
 * a question, another one answers it, the first tries to take it up. What a crash leaves is made
 * by hand, as rows of a response that has failed or was never stored.
 */

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/tables/approvals/approval_holds.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/runs/runs.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

static struct approval_row sample_approval(const struct run_row *run)
{
    struct approval_row row = {
        .server_label = mem_strdup("test"),
        .tool = mem_strdup("mail"),
        .arguments = mem_strdup("{\"to\":\"a\"}"),
        .policy = mem_strdup("ask-always"),
        .status = APPROVAL_PENDING,
        .created_at = clock_wall_us(),
    };

    id_make(row.id, "mcpr_");
    memcpy(row.run_id, run->id, sizeof(row.run_id));
    (void)snprintf(row.call_id, sizeof(row.call_id), "call_1");
    return row;
}

static void put(const struct run_row *run, const struct approval_row *row)
{
    struct run_write *write = sample_write(run, 0);

    write->create = true;
    write->approvals = mem_new(struct approval_row);
    write->approval_count = 1;
    *write->approvals = *row;
    assert_int_equal(sample_put(store, write), ERR_OK);
}

/* A response that has ended with a question; its id and the question's. */
static void asked(char ret_run[ID_SIZE], char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct approval_row row = sample_approval(&run);

    memcpy(ret_run, run.id, ID_SIZE);
    memcpy(ret_id, row.id, ID_SIZE);
    put(&run, &row);
    run_row_clear(&run);
}

/* Taken up by a response whose request has read the question as it is. */
static enum err_code take(const char *id, bool approve, const char *by, bool *ret_lost)
{
    struct approval_answer answer = {
        .id = id, .approve = approve, .reason = "because", .seen_used = true};
    enum err_code rc = store_approvals_take(store, TENANT, by, &answer, 1, NULL, NULL);

    *ret_lost = answer.lost;
    return rc;
}

/* F46. */
TEST(a_question_is_stored_with_its_run)
{
    char run[ID_SIZE], id[ID_SIZE];
    struct approval_row *rows;
    struct approval_row row;
    size_t count;

    asked(run, id);
    assert_int_equal(store_approvals_of_run(store, TENANT, run, &rows, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].id, id);
    assert_string_equal(rows[0].arguments, "{\"to\":\"a\"}");
    assert_int_equal(rows[0].status, APPROVAL_PENDING);
    approval_rows_free(rows, count);
    assert_int_equal(store_approval_get(store, TENANT_OF("proj_other"), id, &row, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(
        store_approvals_of_run(store, TENANT_OF("proj_other"), run, &rows, &count, NULL),
        ERR_OK);
    assert_int_equal(count, 0);
    approval_rows_free(rows, count);
}

/* F46. */
TEST(an_answer_is_taken_up_once)
{
    char run[ID_SIZE], id[ID_SIZE], other[ID_SIZE], other_question[ID_SIZE];
    bool lost = true;

    asked(run, id);
    asked(other, other_question); /* a response that exists and has completed */
    assert_int_equal(take(id, true, other, &lost), ERR_OK);
    assert_false(lost);
    assert_int_equal(take(id, true, "resp_later", &lost), ERR_TAKEN);
    assert_int_equal(take(id, false, "resp_later", &lost), ERR_TAKEN);
}

/* ---- Several questions of one run ---- */

static void add_question(struct run_write *write, const struct run_row *run, int position,
                         char ret_id[ID_LIMIT + 1])
{
    struct approval_row row = sample_approval(run);
    struct call_row call = sample_call(run, position, row.id);

    memcpy(ret_id, row.id, sizeof(row.id));
    sample_add_call(write, &call);
    write->approvals = mem_resize(write->approvals, write->approval_count + 1, sizeof(row));
    write->approvals[write->approval_count++] = row;
}

/* The write with which the run asks, with the same ids each time. */
static struct run_write *asking_write(const struct run_load *load, char ids[2][ID_LIMIT + 1])
{
    struct run_write *write = sample_write(&load->run, load->fence);
    char made[ID_LIMIT + 1];

    write->update = write->release = true;
    for (int i = 0; i < 2; i++) {
        add_question(write, &load->run, i, made);
        if (!*ids[i])
            memcpy(ids[i], made, sizeof(made));
        memcpy(write->calls[i].call_id, ids[i], sizeof(made));
        memcpy(write->approvals[i].id, ids[i], sizeof(made));
    }
    write->run->required_action = mem_printf(
        "{\"submit_tool_outputs\":{\"tool_calls\":[{\"id\":\"%s\"},{\"id\":\"%s\"}]}}", ids[0],
        ids[1]);
    return write;
}

static bool approve_of_run(const struct run_row *run, const char *id)
{
    static const unsigned char hash[32];
    const struct tool_answer answer = {
        .call_id = id, .output = "{\"approve\":true}", .approve = true};
    const struct submission submission = {.tenant = TENANT,
                                          .thread_id = run->thread_id,
                                          .run_id = run->id,
                                          .answers = &answer,
                                          .count = 1,
                                          .hash = hash,
                                          .context_limit = CONTEXT};
    struct run_load load;
    bool goes_on = false;

    assert_int_equal(store_run_decide(store, &submission, &load, &goes_on, NULL), ERR_OK);
    run_load_clear(&load);
    return goes_on;
}

/* Its writer does not learn that it was committed, and writes it again. */
TEST(an_answer_outlasts_the_question_that_is_written_again)
{
    char thread[ID_SIZE], ids[2][ID_LIMIT + 1] = {""};
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    load.run.status = RUN_REQUIRES_ACTION;
    assert_int_equal(sample_put(store, asking_write(&load, ids)), ERR_OK);
    assert_false(approve_of_run(&load.run, ids[0]));
    assert_int_equal(sample_put(store, asking_write(&load, ids)), ERR_OK);
    assert_string_equal(pg_fixture_ask("SELECT string_agg(state, ' ' ORDER BY position)"
                                       " FROM tool_calls WHERE run_id = '%s'",
                                       load.run.id),
                        "done waiting");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM runs WHERE id = '%s'"
                                      " AND required_action LIKE '%%%s%%'"
                                      " AND required_action NOT LIKE '%%%s%%'",
                                      load.run.id, ids[1], ids[0]),
                     1);
    assert_true(approve_of_run(&load.run, ids[1]));
    run_load_clear(&load);
}

/* F110: what the response that was never stored has executed is unknown. */
TEST(after_a_crash_the_answer_is_lost_and_may_be_given_again)
{
    char run[ID_SIZE], id[ID_SIZE];
    bool lost = true;

    asked(run, id);
    assert_int_equal(take(id, true, "resp_gone", &lost), ERR_OK);
    assert_false(lost);
    assert_int_equal(take(id, false, "resp_next", &lost), ERR_TAKEN);
    assert_int_equal(take(id, true, "resp_next", &lost), ERR_OK);
    assert_true(lost);
}

/* F46: both have read the question before it was answered. */
TEST(of_two_responses_at_once_one_takes_an_answer_up)
{
    char run[ID_SIZE], id[ID_SIZE];
    struct approval_answer late = {.approve = true};
    bool lost = true;

    asked(run, id);
    late.id = id;
    assert_int_equal(take(id, true, "resp_first", &lost), ERR_OK);
    assert_int_equal(store_approvals_take(store, TENANT, "resp_second", &late, 1, NULL, NULL),
                     ERR_TAKEN);
}

static enum err_code make_taking(const char *thread, const char *id, int64_t seen,
                                 char ret_run[ID_SIZE])
{
    struct run_row run = sample_run(thread, RUN_IN_PROGRESS);
    struct approval_answer answer = {.id = id, .approve = true};
    struct run_load load = {0};
    enum err_code rc;

    run.face = FACE_RESPONSES;
    memcpy(ret_run, run.id, ID_SIZE);
    rc = store_run_create(store,
                          &(struct run_creation){.tenant = TENANT,
                                                 .run = &run,
                                                 .seen_position = seen,
                                                 .answers = &answer,
                                                 .answer_count = 1},
                          &load, NULL);
    run_load_clear(&load);
    run_row_clear(&run);
    return rc;
}

/* F110. */
TEST(an_answer_is_taken_up_with_the_response_that_is_made)
{
    char run[ID_SIZE], id[ID_SIZE], made[ID_SIZE], thread[ID_SIZE];
    struct approval_row row;

    asked(run, id);
    sample_thread(thread);
    assert_int_equal(make_taking(thread, id, 7, made), ERR_CONFLICT);
    assert_int_equal(store_approval_get(store, TENANT, id, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_PENDING);
    assert_string_equal(row.used_by, "");
    approval_row_clear(&row);
    assert_int_equal(make_taking(thread, id, 0, made), ERR_OK);
    assert_int_equal(store_approval_get(store, TENANT, id, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_APPROVED);
    assert_string_equal(row.used_by, made);
    approval_row_clear(&row);
    sample_thread(thread);
    assert_int_equal(make_taking(thread, id, 0, made), ERR_TAKEN);
    assert_int_equal(store_run_get(store, TENANT, NULL, made, &(struct run_row){0}, NULL),
                     ERR_NOT_FOUND);
}

static void expect_missing(const char *thread, const struct approval_answer *answers,
                           size_t count, const char *text)
{
    struct run_row run = sample_run(thread, RUN_IN_PROGRESS);
    struct run_load load = {0};
    struct err err = {0};

    run.face = FACE_RESPONSES;
    assert_int_equal(
        store_run_create(
            store,
            &(struct run_creation){.tenant = TENANT,
                                   .run = &run,
                                   .answers = (struct approval_answer *)(uintptr_t)answers,
                                   .answer_count = count},
            &load, &err),
        ERR_NOT_FOUND);
    assert_string_equal(err.text, text);
    run_row_clear(&run);
}

TEST(the_error_names_the_missing_question)
{
    char run[ID_SIZE], id[ID_SIZE], thread[ID_SIZE];
    struct approval_row row;
    struct approval_answer answers[2];

    asked(run, id);
    sample_thread(thread);
    answers[0] = (struct approval_answer){.id = id, .approve = true};
    answers[1] = (struct approval_answer){.id = "mcpr_gone", .approve = true};
    expect_missing(thread, answers, 2, "Approval request with id 'mcpr_gone' not found.");
    expect_missing("thread_gone", answers, 1, "Conversation with id 'conv_gone' not found.");
    assert_int_equal(store_approval_get(store, TENANT, id, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_PENDING);
    approval_row_clear(&row);
}

TEST(one_answer_that_does_not_fit_stores_none)
{
    char run[ID_SIZE], first[ID_SIZE], second[ID_SIZE];
    struct approval_answer answers[2];
    struct approval_row row;
    bool lost;

    asked(run, first);
    asked(run, second);
    assert_int_equal(take(second, false, "resp_gone", &lost), ERR_OK);
    answers[0] = (struct approval_answer){.id = first, .approve = true};
    answers[1] = (struct approval_answer){.id = second, .approve = true};
    assert_int_equal(store_approvals_take(store, TENANT, "resp_next", answers, 2, NULL, NULL),
                     ERR_TAKEN);
    assert_int_equal(store_approval_get(store, TENANT, first, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_PENDING);
    assert_string_equal(row.used_by, "");
    approval_row_clear(&row);
}

/* F46. */
TEST(deciding_is_not_taking_up)
{
    struct approval_answer answer = {.approve = true, .reason = "fine"};
    char run[ID_SIZE], id[ID_SIZE];
    struct approval_row row;
    bool lost;

    asked(run, id);
    answer.id = id;
    assert_int_equal(store_approval_decide(store, TENANT, &answer, NULL, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_APPROVED);
    assert_string_equal(row.reason, "fine");
    assert_string_equal(row.used_by, "");
    approval_row_clear(&row);
    answer.approve = false;
    assert_int_equal(store_approval_decide(store, TENANT, &answer, NULL, &row, NULL),
                     ERR_TAKEN);
    assert_int_equal(take(id, true, "resp_next", &lost), ERR_OK);
    assert_false(lost);
}

/* A response that waits for the answer to its question. */
static void held(char ret_run[ID_SIZE], char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct approval_row row = sample_approval(&run);

    memcpy(row.used_by, run.id, ID_SIZE);
    memcpy(ret_run, run.id, ID_SIZE);
    memcpy(ret_id, row.id, ID_SIZE);
    put(&run, &row);
    run_row_clear(&run);
}

static bool look(const char *run, const char *id, enum hold_action how, bool *ret_taken)
{
    struct approval_row *rows;
    size_t count;
    bool goes_on;

    assert_int_equal(
        store_approvals_held(store, TENANT, run, &id, 1, how, &rows, &count, &goes_on, NULL),
        ERR_OK);
    assert_int_equal(count, 1);
    approval_rows_free(rows, count);
    assert_int_equal(store_approvals_of_run(store, TENANT, run, &rows, &count, NULL), ERR_OK);
    *ret_taken = count == 0;
    approval_rows_free(rows, count);
    return goes_on;
}

static bool is_answered(const char *run)
{
    const char *project = PROJECT;
    bool answered;

    assert_int_equal(store_approvals_answered(store, &project, &run, 1, &answered, NULL),
                     ERR_OK);
    return answered;
}

static void decide_yes(const char *id)
{
    struct approval_answer answer = {.id = id, .approve = true};
    struct approval_row row;

    assert_int_equal(store_approval_decide(store, TENANT, &answer, NULL, &row, NULL), ERR_OK);
    approval_row_clear(&row);
}

/* F44. */
TEST(a_question_that_its_response_waits_for_is_its_own)
{
    char run[ID_SIZE], id[ID_SIZE];
    bool taken, lost;

    held(run, id);
    assert_false(look(run, id, HOLD_READ, &taken));
    assert_true(taken);
    assert_false(is_answered(run));
    assert_int_equal(take(id, true, "resp_other", &lost), ERR_TAKEN);
    decide_yes(id);
    assert_true(is_answered(run));
    assert_true(look(run, id, HOLD_READ, &taken));
    assert_true(look(run, id, HOLD_LEAVE, &taken)); /* in time */
    assert_true(taken);
}

/* F44. */
TEST(a_question_that_is_no_longer_waited_for_is_left_to_the_next_response)
{
    char run[ID_SIZE], id[ID_SIZE];
    bool taken;

    held(run, id);
    assert_false(look(run, id, HOLD_LEAVE, &taken));
    assert_false(taken);
    decide_yes(id); /* too late for the response that has asked */
    assert_false(look(run, id, HOLD_LEAVE, &taken));
    assert_false(taken);
    assert_false(is_answered(run));
}

/* F44, F110: the response left its question and then failed, so no response takes it up. */
TEST(questions_that_a_failed_response_has_left_expire)
{
    char run[ID_SIZE], id[ID_SIZE];
    struct approval_answer answer = {.id = id, .approve = true};
    struct approval_row row;
    bool taken;

    held(run, id);
    assert_false(look(run, id, HOLD_LEAVE, &taken));
    assert_int_equal(store_approval_get(store, TENANT, id, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_PENDING);
    approval_row_clear(&row);
    pg_fixture_ask("UPDATE runs SET status = 'failed' WHERE id = '%s' RETURNING id", run);
    assert_int_equal(store_approval_get(store, TENANT, id, &row, NULL), ERR_OK);
    assert_int_equal(row.status, APPROVAL_EXPIRED);
    approval_row_clear(&row);
    assert_int_equal(store_approval_decide(store, TENANT, &answer, NULL, &row, NULL),
                     ERR_TAKEN);
}

static void say(PGconn *connection, const char *before, const char *id, const char *behind)
{
    AUTO_FREE char *sql = mem_printf("%s%s%s", before, id, behind);
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);

    assert_true(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
    PQclear(result);
}

/* A write of the run with its question and its item, under these ids. */
static struct run_write *both(const struct run_load *load, const char *question,
                              const char *item)
{
    struct run_write *write = sample_write(&load->run, load->fence);
    struct item_row row = sample_item(&load->run, 0, "{}");

    memcpy(row.id, item, ID_SIZE);
    sample_add_item(write, &row);
    write->approvals = mem_new(struct approval_row);
    write->approval_count = 1;
    *write->approvals = sample_approval(&load->run);
    memcpy(write->approvals->id, question, ID_SIZE);
    return write;
}

/* F39: an answer locks the question, then the item: so does the write of a run that has both. */
TEST(an_answer_and_a_write_lock_in_one_order)
{
    PGconn *connection = PQconnectdb(pg_fixture_url());
    struct run_load load = sample_created(store, "");
    char question[ID_SIZE], item[ID_SIZE];
    struct run_write *write;

    id_make(question, "mcpr_");
    id_make(item, "msg_");
    assert_int_equal(sample_put(store, both(&load, question, item)), ERR_OK);
    say(connection, "BEGIN", "", "");
    say(connection, "SELECT 1 FROM approvals WHERE id = '", question, "' FOR UPDATE");
    write = both(&load, question, item);
    store_write(store, write);
    while (!pg_fixture_count("SELECT count(*) FROM pg_stat_activity"
                             " WHERE wait_event_type = 'Lock'"))
        continue;
    say(connection, "SELECT 1 FROM items WHERE id = '", item, "' FOR UPDATE NOWAIT");
    say(connection, "COMMIT", "", "");
    samples_await(1);
    assert_int_equal(write->rc, ERR_OK);
    run_write_free(write);
    run_load_clear(&load);
    PQfinish(connection);
}

/* ---- Many ---- */

#define MANY 100000

/* The shortest of some readings, in microseconds. */
static int64_t time_of_list(const struct tenant *tenant, enum approval_status status,
                            size_t expected)
{
    const struct page page = {.limit = 5};
    int64_t shortest = INT64_MAX;

    for (int i = 0; i < 7; i++) {
        uint64_t begin = clock_mono_ns();
        int64_t took;
        struct approval_row *list = NULL;
        size_t count = 0;
        bool more;

        assert_int_equal(
            store_approval_list(store, tenant, status, &page, &list, &count, &more, NULL),
            ERR_OK);
        took = (int64_t)((clock_mono_ns() - begin) / 1000);
        shortest = took < shortest ? took : shortest;
        assert_int_equal(count, expected);
        approval_rows_free(list, count);
    }
    return shortest;
}

TEST(a_few_questions_are_found_among_many_answered_ones)
{
    const struct tenant *tenant = TENANT_OF("proj_many");
    int64_t all, pending;

    pg_fixture_ask("WITH many AS (INSERT INTO approvals (project_id, id, run_id, call_id,"
                   " server_label, tool, arguments, policy, status, created_at)"
                   " SELECT 'proj_many', 'mcpr_' || lpad(n::text, 20, '0'), 'resp_' || n, 'c',"
                   "  'l', 't', '{}', 'ask', CASE WHEN n %% 50000 = 17 THEN 'pending'"
                   "  ELSE 'approved' END, n FROM generate_series(1, %d) n RETURNING id)"
                   " SELECT count(*) FROM many",
                   MANY);
    pg_fixture_ask("ANALYZE approvals");
    all = time_of_list(tenant, APPROVAL_STATUS_NONE, 5);
    pending = time_of_list(tenant, APPROVAL_PENDING, 2);
    assert_in_range(time_of_list(tenant, APPROVAL_REJECTED, 0), 0, 20 * all + 2000);
    assert_in_range(pending, 0, 20 * all + 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_stored_with_its_run),
        cmocka_unit_test(an_answer_is_taken_up_once),
        cmocka_unit_test(an_answer_outlasts_the_question_that_is_written_again),
        cmocka_unit_test(after_a_crash_the_answer_is_lost_and_may_be_given_again),
        cmocka_unit_test(of_two_responses_at_once_one_takes_an_answer_up),
        cmocka_unit_test(an_answer_is_taken_up_with_the_response_that_is_made),
        cmocka_unit_test(the_error_names_the_missing_question),
        cmocka_unit_test(one_answer_that_does_not_fit_stores_none),
        cmocka_unit_test(deciding_is_not_taking_up),
        cmocka_unit_test(a_question_that_its_response_waits_for_is_its_own),
        cmocka_unit_test(a_question_that_is_no_longer_waited_for_is_left_to_the_next_response),
        cmocka_unit_test(questions_that_a_failed_response_has_left_expire),
        cmocka_unit_test(an_answer_and_a_write_lock_in_one_order),
        cmocka_unit_test(a_few_questions_are_found_among_many_answered_ones),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
