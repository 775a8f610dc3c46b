/*
 * Which remembered answer counts for a call. Grants are made with questions like those of real
 * runs; then a call is looked up from different places, and the grant that is found is compared.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/approvals/grants.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_is_for_one_definition_of_one_tool),
        cmocka_unit_test(the_most_specific_grant_counts),
        cmocka_unit_test(a_later_answer_replaces_the_grant),
        cmocka_unit_test(a_pattern_ends_in_a_star_or_is_the_text),
        cmocka_unit_test(a_permission_is_covered_by_patterns_and_not_by_the_tool),
        cmocka_unit_test(other_projects_and_places_see_nothing),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
