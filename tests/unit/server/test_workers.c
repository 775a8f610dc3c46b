/*
 * A crew of threads, how many there are, and whose work they do next.
 */

#include "server/workers.h"

#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "tests/support/test.h"

#define MANY 100

/* What one worker has done, in its order: the last letter of each project. The worker waits at a gate of its first
 * work. */
static sem_t gate;
static struct crew *crew;
static char done[2 * MANY];
static size_t done_count;

static void wait_for_gate(struct work *work)
{
    (void)work;
    sem_wait(&gate);
}

static void note(struct work *work)
{
    done[done_count++] = work->tenant.project[5];
}

static void begin(uint64_t idle_ns)
{
    sem_init(&gate, 0, 0);
    done_count = 0;
    assert_int_equal(crew_start(NULL, idle_ns, &crew, NULL), ERR_OK);
}

static struct workers *held_up(struct work *first)
{
    struct workers *workers;

    begin(UINT64_MAX);
    workers = workers_new(crew, 1);
    *first = (struct work){.run = wait_for_gate};
    workers_put(workers, first);
    return workers;
}

static void finish(struct workers *workers)
{
    sem_post(&gate);
    workers_stop(workers);
    crew_stop(crew);
    sem_destroy(&gate);
}

static struct work work_of(const char *project)
{
    return (struct work){.run = note, .tenant = tenant_of_project(project)};
}

TEST(a_project_with_much_work_does_not_delay_one_with_a_little)
{
    struct work first, many[MANY], last;
    struct workers *workers = held_up(&first);

    for (size_t i = 0; i < MANY; i++) {
        many[i] = work_of("proj_a");
        workers_put(workers, &many[i]);
    }
    last = work_of("proj_b");
    workers_put(workers, &last);
    finish(workers);
    assert_int_equal(done_count, MANY + 1);
    assert_in_range((char *)memchr(done, 'b', done_count) - done, 0, 1);
}

TEST(the_limit_of_what_waits_is_each_projects_own)
{
    struct work first, own[3] = {work_of("proj_a"), work_of("proj_a"), work_of("proj_a")};
    struct work other = work_of("proj_b");
    struct workers *workers = held_up(&first);

    assert_true(workers_offer(workers, &own[0], 2));
    assert_true(workers_offer(workers, &own[1], 2));
    assert_false(workers_offer(workers, &own[2], 2));
    assert_true(workers_offer(workers, &other, 2));
    finish(workers);
    assert_int_equal(done_count, 3);
}

TEST(a_crew_has_one_thread_until_there_is_work)
{
    begin(UINT64_MAX);
    assert_int_equal(crew_threads(crew), 1);
    finish(workers_new(crew, 8));
}

/* The work of each holds its thread until the gate opens. */
static void put_all(struct workers *workers, struct work *works, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        works[i] = (struct work){.run = wait_for_gate};
        workers_put(workers, &works[i]);
    }
}

static void open_gate(size_t count)
{
    for (size_t i = 0; i < count; i++)
        sem_post(&gate);
}

TEST(threads_are_started_up_to_the_ceiling_of_each_kind)
{
    struct work some[5], others[5];
    struct workers *first, *second;

    begin(UINT64_MAX);
    first = workers_new(crew, 2);
    second = workers_new(crew, 3);
    put_all(first, some, COUNT_OF(some));
    put_all(second, others, COUNT_OF(others));
    assert_in_range(crew_threads(crew), 5,
                    6); /* the first may still be on its way to its sleep */
    open_gate(COUNT_OF(some) + COUNT_OF(others));
    workers_stop(first);
    finish(second);
}

/* Only the crew knows when a thread has ended, so the test asks again and again. */
TEST(idle_threads_end_but_for_one)
{
    struct work works[4];
    struct workers *workers;

    begin(1);
    workers = workers_new(crew, 4);
    put_all(workers, works, COUNT_OF(works));
    open_gate(COUNT_OF(works));
    while (crew_threads(crew) > 1)
        sched_yield();
    put_all(workers, works, COUNT_OF(works));
    open_gate(COUNT_OF(works));
    finish(workers);
}

#ifdef RUNNEL_FAULTS
TEST(work_is_done_though_no_thread_can_be_started)
{
    struct work works[3];
    struct workers *workers;

    begin(UINT64_MAX);
    workers = workers_new(crew, 3);
    log_set_level(LOG_OFF);
    fault_arm("worker.start", 1);
    fault_arm_also("worker.start", 2);
    fault_arm_also("worker.start", 3);
    put_all(workers, works, COUNT_OF(works));
    fault_disarm();
    assert_int_equal(crew_threads(crew), 1);
    open_gate(COUNT_OF(works));
    finish(workers); /* waits for all of it */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_with_much_work_does_not_delay_one_with_a_little),
        cmocka_unit_test(the_limit_of_what_waits_is_each_projects_own),
        cmocka_unit_test(a_crew_has_one_thread_until_there_is_work),
        cmocka_unit_test(threads_are_started_up_to_the_ceiling_of_each_kind),
        cmocka_unit_test(idle_threads_end_but_for_one),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(work_is_done_though_no_thread_can_be_started),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
