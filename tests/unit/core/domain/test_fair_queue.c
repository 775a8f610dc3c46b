#include "core/domain/fair_queue.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

#define LIMIT 4096

/* By the letter that their projects are called. */
static struct tenant tenants[128];

/* A job of a project and a run. The test frees it. */
static struct fair_job *job_of(const char *project, const char *run)
{
    struct fair_job *job = mem_new(struct fair_job);
    struct tenant *tenant = &tenants[(unsigned char)project[0]];

    *tenant = tenant_of_project(project);
    *job = (struct fair_job){.tenant = tenant, .run = run};
    return job;
}

static void put(struct fair_queue *queue, const char *project, const char *run, unsigned count)
{
    while (count--)
        assert_true(fair_queue_put(queue, job_of(project, run), LIMIT));
}

/* Takes the next job, which works for so long. Returns the first letter of its project. */
static char serve(struct fair_queue *queue, uint64_t ns)
{
    struct fair_job *job = fair_queue_take(queue);
    char letter;

    assert_non_null(job);
    letter = job->tenant->project[0];
    fair_queue_charge(queue, job->tenant, ns);
    free(job);
    return letter;
}

static void expect_runs(struct fair_queue *queue, const char *runs)
{
    for (; *runs; runs++) {
        struct fair_job *job = fair_queue_take(queue);

        assert_non_null(job);
        assert_int_equal(job->run[0], *runs);
        fair_queue_charge(queue, job->tenant, 0);
        free(job);
    }
}

static void drain(struct fair_queue *queue)
{
    while (fair_queue_count(queue) > 0)
        (void)serve(queue, 0);
}

/* ---- the tests ---- */

TEST(fair_queue_serves_a_second_project_within_one_round)
{
    struct fair_queue queue = {0};

    put(&queue, "a", "run_a", 1000);
    put(&queue, "b", "run_b", 1);
    assert_int_equal(serve(&queue, 0), 'a');
    assert_int_equal(serve(&queue, 0), 'b');
    put(&queue, "b", "run_b", 2);
    assert_int_equal(serve(&queue, 0), 'a');
    assert_int_equal(serve(&queue, 0), 'b');
    assert_int_equal(serve(&queue, 0), 'a');
    assert_int_equal(serve(&queue, 0), 'b');
    drain(&queue);
}

TEST(fair_queue_lets_the_runs_of_a_project_take_turns)
{
    struct fair_queue queue = {0};

    put(&queue, "a", "1", 3);
    put(&queue, "b", "4", 2);
    put(&queue, "a", "2", 2);
    put(&queue, "a", "3", 1);
    expect_runs(&queue, "14243121");
    assert_null(fair_queue_take(&queue));
}

TEST(fair_queue_keeps_runs_of_the_same_name_apart)
{
    struct fair_queue queue = {0};

    put(&queue, "a", "", 1);
    put(&queue, "b", "", 1);
    assert_int_equal(serve(&queue, 0), 'a');
    assert_int_equal(serve(&queue, 0), 'b');
    assert_null(fair_queue_take(&queue));
}

/* A's jobs take twenty times as long as B's: B gets its share of the time, not of the jobs. */
TEST(fair_queue_shares_time_and_not_calls)
{
    const uint64_t costs[] = {['a'] = 400 * NS_PER_MS, ['b'] = 20 * NS_PER_MS};
    struct fair_queue queue = {0};
    uint64_t spent[256] = {0};

    put(&queue, "a", "run_a", 400);
    put(&queue, "b", "run_b", 400);
    for (int i = 0; i < 400; i++) {
        struct fair_job *job = fair_queue_take(&queue);
        char letter = job->tenant->project[0];

        spent[(unsigned char)letter] += costs[(unsigned char)letter];
        fair_queue_charge(&queue, job->tenant, costs[(unsigned char)letter]);
        free(job);
    }
    assert_true(spent['a'] < spent['b'] * 3 / 2);
    assert_true(spent['b'] < spent['a'] * 3 / 2);
    drain(&queue);
}

TEST(fair_queue_serves_a_project_in_debt_when_no_other_waits)
{
    struct fair_queue queue = {0};

    put(&queue, "a", "run_a", 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(serve(&queue, 3600 * NS_PER_SECOND), 'a');
    assert_null(fair_queue_take(&queue));
}

/* An hour of work counts as FAIR_QUEUE_DEBT_NS, so that a project is not shut out for an hour. */
TEST(fair_queue_limits_the_debt_of_a_project)
{
    const unsigned rounds = FAIR_QUEUE_DEBT_NS / FAIR_QUEUE_QUANTUM_NS + 2;
    struct fair_queue queue = {0};
    unsigned waited = 0;

    put(&queue, "a", "run_a", 2);
    put(&queue, "b", "run_b", 2 * rounds);
    assert_int_equal(serve(&queue, 3600 * NS_PER_SECOND), 'a');
    while (serve(&queue, 0) == 'b')
        waited++;
    assert_in_range(waited, 2, rounds);
    drain(&queue);
}

TEST(fair_queue_refuses_more_than_its_limit_of_one_project_only)
{
    struct fair_job *more = job_of("a", "run_a");
    struct fair_queue queue = {0};

    put(&queue, "a", "run_a", LIMIT);
    assert_false(fair_queue_put(&queue, more, LIMIT));
    put(&queue, "b", "run_b", 1);
    assert_int_equal(serve(&queue, 0), 'a');
    assert_true(fair_queue_put(&queue, more, LIMIT));
    drain(&queue);
}

/* Takes as many jobs as get a worker now. Counts them by the letter of their project. */
static void take_all(struct fair_queue *queue, size_t working[128])
{
    struct fair_job *job;

    while ((job = fair_queue_take(queue))) {
        working[(unsigned char)job->tenant->project[0]]++;
        free(job);
    }
}

TEST(fair_queue_leaves_workers_to_other_projects)
{
    static struct fair_queue queue = {.workers = 64};
    size_t working[128] = {0};

    put(&queue, "a", "run", 100);
    take_all(&queue, working);
    assert_int_equal(working['a'], 48);
    put(&queue, "b", "run", 100);
    take_all(&queue, working);
    assert_int_equal(working['b'], 12);
    put(&queue, "c", "run", 1);
    assert_int_equal(serve(&queue, 0), 'c'); /* it does not wait */

    /* As jobs end, both come to the same share. */
    for (size_t i = 0; i < 40; i++) {
        fair_queue_charge(&queue, &tenants['a'], 0);
        working['a']--;
        take_all(&queue, working);
    }
    assert_in_range(working['a'], 26, 28);
    assert_in_range(working['b'], 26, 28);
    while (working['a']--)
        fair_queue_charge(&queue, &tenants['a'], 0);
    while (working['b']--)
        fair_queue_charge(&queue, &tenants['b'], 0);
    drain(&queue);
}

TEST(fair_queue_gives_the_only_worker_to_any_project)
{
    static struct fair_queue queue = {.workers = 1};

    put(&queue, "a", "run", 2);
    assert_int_equal(serve(&queue, 0), 'a');
    assert_int_equal(serve(&queue, 0), 'a');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fair_queue_serves_a_second_project_within_one_round),
        cmocka_unit_test(fair_queue_lets_the_runs_of_a_project_take_turns),
        cmocka_unit_test(fair_queue_keeps_runs_of_the_same_name_apart),
        cmocka_unit_test(fair_queue_shares_time_and_not_calls),
        cmocka_unit_test(fair_queue_serves_a_project_in_debt_when_no_other_waits),
        cmocka_unit_test(fair_queue_limits_the_debt_of_a_project),
        cmocka_unit_test(fair_queue_refuses_more_than_its_limit_of_one_project_only),
        cmocka_unit_test(fair_queue_leaves_workers_to_other_projects),
        cmocka_unit_test(fair_queue_gives_the_only_worker_to_any_project),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
