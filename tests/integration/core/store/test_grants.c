/*
 * Which remembered answer counts for a call. Grants are made with questions like those of real
 * runs; then a call is looked up from different places, and the grant that is found is compared.
 */

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/approvals/grants.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* One that a run's write carries; its id. */
static void put_of(const char *tool, const char *scope, const char *scope_id, const char *match,
                   const char *key, bool approve, char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_COMPLETED);
    struct run_write *write = sample_write(&run, 0);
    struct grant_row grant = {
        .scope = mem_strdup(scope),
        .scope_id = mem_strdup(scope_id),
        .tool = mem_strdup(tool),
        .match = mem_strdup(match),
        .match_key = mem_strdup(key),
        .type = mem_strdup(strcmp(match, "pattern") == 0 ? "bash" : ""),
        .definition = mem_strdup("now"),
        .approve = approve,
        .created_at = clock_wall_us(),
    };

    struct approval_grants grants = {.rows = &grant, .count = 1};
    struct approval_row asked = {
        .server_label = mem_strdup("a"),
        .tool = mem_strdup("b"),
        .arguments = mem_strdup("{}"),
        .policy = mem_strdup("ask-once"),
        .status = APPROVAL_PENDING,
    };
    struct approval_answer answer = {.approve = approve};
    struct approval_row decided;

    id_make(ret_id, "grant_");
    memcpy(grant.id, ret_id, ID_SIZE);
    id_make(asked.id, "mcpr_");
    memcpy(asked.run_id, run.id, sizeof(asked.run_id));
    memcpy(grant.approval_id, asked.id, sizeof(grant.approval_id));
    answer.id = grant.approval_id;
    write->create = true;
    write->approvals = mem_new(struct approval_row);
    write->approval_count = 1;
    *write->approvals = asked;
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_int_equal(store_approval_decide(store, TENANT, &answer, &grants, &decided, NULL),
                     ERR_OK);
    approval_row_clear(&decided);
    grant_row_clear(&grant);
    run_row_clear(&run);
}

static void put(const char *scope, const char *scope_id, const char *match, const char *key,
                bool approve, char ret_id[ID_SIZE])
{
    put_of("a/b", scope, scope_id, match, key, approve, ret_id);
}

static const struct tenant ada = {.project = PROJECT, .user = "ada"};
static const struct grant_place here = {.tenant = &ada,
                                        .run = "run_here",
                                        .thread = "thread_here",
                                        .parent = "",
                                        .assistant = "asst_here"};

/* The grant that counts, or "". */
static const char *find_at(const struct grant_place *place, struct grant_question question)
{
    static char id[ID_LIMIT + 1];
    struct grant_row *grants;

    assert_int_equal(store_grants_find(store, place, &question, 1, &grants, NULL), ERR_OK);
    memcpy(id, grants[0].id, sizeof(id));
    grant_rows_free(grants, 1);
    return id;
}

static const char *find(const char *tool, const char *key, const char *definition)
{
    return find_at(&here,
                   (struct grant_question){.tool = tool, .key = key, .definition = definition});
}

/* F47. */
TEST(a_grant_is_for_one_definition_of_one_tool)
{
    char id[ID_SIZE];

    put("thread", "thread_here", "exact", "k1", true, id);
    assert_string_equal(find("a/b", "k1", "now"), id);
    assert_string_equal(find("a/b", "k1", "changed"), "");
    assert_string_equal(find("a/c", "k1", "now"), "");
    assert_string_equal(find("a/b", "k2", "now"), "");
}

/* F35. */
TEST(the_most_specific_grant_counts)
{
    char wide[ID_SIZE], near[ID_SIZE], tool[ID_SIZE];

    put("run", "run_here", "tool", "", false, tool);
    put("user", "ada", "exact", "k3", true, wide);
    assert_string_equal(find("a/b", "k3", "now"), wide);
    put("assistant", "asst_here", "exact", "k3", false, near);
    assert_string_equal(find("a/b", "k3", "now"), near);
    assert_string_equal(find("a/b", "k4", "now"), tool);
    assert_int_equal(store_grant_delete(store, TENANT, tool, NULL), ERR_OK);
    assert_string_equal(find("a/b", "k4", "now"), "");
}

/* F35. */
TEST(a_later_answer_replaces_the_grant)
{
    char first[ID_SIZE], second[ID_SIZE];
    struct grant_row row;

    put("thread", "thread_here", "exact", "k5", true, first);
    put("thread", "thread_here", "exact", "k5", false, second);
    assert_string_equal(find("a/b", "k5", "now"), second);
    assert_int_equal(store_grant_get(store, TENANT, first, &row, NULL), ERR_NOT_FOUND);
}

/* F47. */
TEST(a_pattern_ends_in_a_star_or_is_the_text)
{
    struct grant_question question = {
        .tool = "a/b", .key = "", .definition = "now", .type = "bash"};
    char star[ID_SIZE], plain[ID_SIZE];

    put("thread", "thread_here", "pattern", "git *", true, star);
    put("thread", "thread_here", "pattern", "l_%", true, plain);
    question.text = "git push";
    assert_string_equal(find_at(&here, question), star);
    question.text = "gitx";
    assert_string_equal(find_at(&here, question), "");
    question.text = "l_%";
    assert_string_equal(find_at(&here, question), plain);
    question.text = "lsx";
    assert_string_equal(find_at(&here, question), "");
    question.type = "files";
    question.text = "git push";
    assert_string_equal(find_at(&here, question), "");
}

/* F84. */
TEST(a_permission_is_covered_by_patterns_and_not_by_the_tool)
{
    struct grant_question question = {
        .tool = "a/any", .key = "", .definition = "now", .type = "bash", .text = "ls"};
    char id[ID_SIZE];

    put_of("a/any", "thread", "thread_here", "tool", "", true, id);
    assert_string_equal(find_at(&here, question), "");
    put_of("a/any", "thread", "thread_here", "pattern", "*", true, id);
    assert_string_equal(find_at(&here, question), id);
    question.text = ""; /* an empty key is never covered */
    assert_string_equal(find_at(&here, question), "");
    question.text = NULL;
    assert_string_equal(find_at(&here, question), "");
}

/* F46. */
TEST(other_projects_and_places_see_nothing)
{
    struct grant_question question = {.tool = "a/b", .key = "k6", .definition = "now"};
    struct grant_place place = here;
    char id[ID_SIZE];
    struct grant_row row;

    put("thread", "thread_here", "exact", "k6", true, id);
    place.thread = "thread_there";
    assert_string_equal(find_at(&place, question), "");
    place = here;
    place.tenant = &(const struct tenant){.project = "proj_other", .user = "ada"};
    assert_string_equal(find_at(&place, question), "");
    assert_int_equal(store_grant_get(store, TENANT_OF("proj_other"), id, &row, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_grant_delete(store, TENANT_OF("proj_other"), id, NULL),
                     ERR_NOT_FOUND);
    question.said = true; /* no answer asked to be remembered */
    assert_string_equal(find_at(&here, question), "");
}

#ifdef RUNNEL_FAULTS
/* A question about a permission, as the run's own client call. */
static struct run_write *asking_write(struct run_load *load, const char *thread)
{
    struct approval_row *question = mem_new(struct approval_row);
    struct run_write *write;
    struct call_row call;

    *question = (struct approval_row){
        .server_label = mem_strdup("a"),
        .tool = mem_strdup("b"),
        .arguments = mem_strdup("{}"),
        .policy = mem_strdup("auto"),
        .kind = APPROVAL_OF_PERMISSION,
        .status = APPROVAL_PENDING,
        .definition = mem_strdup("now"),
        .memory = mem_printf("{\"tool\":\"a/b\",\"type\":\"bash\",\"patterns\":[\"ls\"],"
                             "\"scopes\":{\"thread\":\"%s\"}}",
                             thread),
        .created_at = clock_wall_us(),
    };
    id_make(question->id, "mcpr_");
    memcpy(question->run_id, load->run.id, sizeof(question->run_id));
    memcpy(question->thread_id, thread, sizeof(question->thread_id));
    call = sample_call(&load->run, 0, question->id);
    load->run.status = RUN_REQUIRES_ACTION;
    load->run.required_action = mem_strdup(
        "{\"type\":\"submit_tool_outputs\",\"submit_tool_outputs\":{\"tool_calls\":[]}}");
    write = sample_write(&load->run, load->fence);
    write->update = true;
    write->release = true;
    write->approvals = question;
    write->approval_count = 1;
    sample_add_call(write, &call);
    return write;
}

/* Allows it, as stored by a person elsewhere. */
static void put_grant(const char *thread)
{
    pg_fixture_ask("INSERT INTO approval_grants VALUES ('" PROJECT "', 'grant_%s', 'thread',"
                   " '%s', 'a/b', 'pattern', '*', 'bash', 'now', true, true, NULL, 'mcpr_x', 1)"
                   " RETURNING id",
                   thread, thread);
}

static void assert_covered(const struct run_load *load, bool covered)
{
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM approvals WHERE run_id = '%s'"
                                      " AND status = 'approved'",
                                      load->run.id),
                     covered);
    assert_string_equal(pg_fixture_ask("SELECT status FROM runs WHERE id = '%s'", load->run.id),
                        covered ? "queued" : "requires_action");
}

static void assert_owed(long count)
{
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM approval_checks"), count);
}

/* What the keeper of any node does, some seconds later. */
static void look_again(size_t looks)
{
    size_t count = 0;

    pg_fixture_ask(
        "UPDATE approval_checks SET made_at = made_at - interval '1 min' RETURNING 1");
    assert_int_equal(store_approvals_check_again(store, 10, &count, NULL), ERR_OK);
    assert_int_equal(count, looks);
}

/* The write is repeated, and finds that the run is this node's no more: it has released it itself. */
TEST(a_question_whose_commit_was_not_answered_is_covered_by_a_grant)
{
    char thread[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    put_grant(thread);
    fault_arm("writer.result", 1);
    (void)sample_put(store, asking_write(&load, thread));
    assert_true(fault_fired());
    fault_disarm();
    assert_covered(&load, true);
    assert_owed(0);
    run_load_clear(&load);
}

TEST(a_check_that_a_question_could_not_make_is_made_up_for)
{
    char thread[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    put_grant(thread);
    fault_arm("cover.check", 1);
    (void)sample_put(store, asking_write(&load, thread));
    assert_true(fault_fired());
    fault_disarm();
    assert_covered(&load, false);
    look_again(1);
    assert_covered(&load, true);
    assert_owed(0);
    run_load_clear(&load);
}

/* The oldest is looked at first. */
TEST(a_check_that_fails_again_does_not_hold_up_others)
{
    char threads[2][ID_SIZE];
    struct run_load loads[2];
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        sample_thread(threads[i]);
        loads[i] = sample_created(store, threads[i]);
        put_grant(threads[i]);
        fault_arm("cover.check", 1);
        (void)sample_put(store, asking_write(&loads[i], threads[i]));
        assert_true(fault_fired());
        fault_disarm();
    }
    assert_owed(2);
    pg_fixture_ask(
        "UPDATE approval_checks SET made_at = made_at - interval '1 min' RETURNING 1");
    fault_arm("cover.check", 1);
    assert_int_not_equal(store_approvals_check_again(store, 10, &count, NULL), ERR_OK);
    fault_disarm();
    assert_covered(&loads[0], false);
    assert_covered(&loads[1], true);
    look_again(1);
    assert_covered(&loads[0], true);
    assert_owed(0);
    run_load_clear(&loads[0]);
    run_load_clear(&loads[1]);
}

TEST(a_question_without_a_grant_owes_nothing)
{
    char thread[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    (void)sample_put(store, asking_write(&load, thread));
    assert_covered(&load, false);
    assert_owed(0);
    run_load_clear(&load);
}

/* The grant could not look for questions that were stored while it was. */
TEST(a_check_that_a_grant_could_not_make_is_made_up_for)
{
    char thread[ID_SIZE], id[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    (void)sample_put(store, asking_write(&load, thread));
    fault_arm("cover.check", 1);
    put_of("a/other", "thread", thread, "pattern", "ls*", true, id);
    assert_true(fault_fired());
    fault_disarm();
    pg_fixture_ask("UPDATE approval_grants SET tool = 'a/b' WHERE id = '%s' RETURNING 1", id);
    assert_owed(1);
    assert_covered(&load, false);
    look_again(1);
    assert_covered(&load, true);
    assert_owed(0);
    run_load_clear(&load);
}

/* Its run is locked by a transaction that is rolled back in the end. */
TEST(a_question_that_is_passed_over_is_looked_at_again)
{
    PGconn *holder = PQconnectdb(pg_fixture_url());
    AUTO_FREE char *lock = NULL;
    char thread[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    (void)sample_put(store, asking_write(&load, thread));
    put_grant(thread);
    pg_fixture_ask("INSERT INTO approval_checks VALUES ('" PROJECT "', 'grant_%s') RETURNING 1",
                   thread);
    lock = mem_printf("SELECT FROM run_leases WHERE run_id = '%s' FOR UPDATE", load.run.id);
    PQclear(PQexec(holder, "BEGIN"));
    PQclear(PQexec(holder, lock));
    look_again(1);
    assert_covered(&load, false);
    PQclear(PQexec(holder, "ROLLBACK"));
    look_again(1);
    assert_covered(&load, true);
    assert_owed(0);
    PQfinish(holder);
    run_load_clear(&load);
}

TEST(a_grant_that_was_revoked_owes_nothing)
{
    pg_fixture_ask("INSERT INTO approval_checks VALUES ('" PROJECT
                   "', 'grant_gone') RETURNING 1");
    look_again(1);
    assert_owed(0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_is_for_one_definition_of_one_tool),
        cmocka_unit_test(the_most_specific_grant_counts),
        cmocka_unit_test(a_later_answer_replaces_the_grant),
        cmocka_unit_test(a_pattern_ends_in_a_star_or_is_the_text),
        cmocka_unit_test(a_permission_is_covered_by_patterns_and_not_by_the_tool),
        cmocka_unit_test(other_projects_and_places_see_nothing),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_question_whose_commit_was_not_answered_is_covered_by_a_grant),
        cmocka_unit_test(a_check_that_a_question_could_not_make_is_made_up_for),
        cmocka_unit_test(a_check_that_fails_again_does_not_hold_up_others),
        cmocka_unit_test(a_question_without_a_grant_owes_nothing),
        cmocka_unit_test(a_check_that_a_grant_could_not_make_is_made_up_for),
        cmocka_unit_test(a_question_that_is_passed_over_is_looked_at_again),
        cmocka_unit_test(a_grant_that_was_revoked_owes_nothing),
#endif
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
