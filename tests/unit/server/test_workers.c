/*
 * A pool of workers, and whose work it does next.
 */

#include "server/workers.h"

#include <semaphore.h>
#include <string.h>

#include "tests/support/test.h"

#define MANY 100

/* What one worker has done, in its order: the last letter of each project. The worker waits at a gate of its first
 * work. */
static sem_t gate;
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

static struct workers *held_up(struct work *first)
{
    struct workers *workers;

    sem_init(&gate, 0, 0);
    done_count = 0;
    assert_int_equal(workers_start(1, NULL, &workers, NULL), ERR_OK);
    *first = (struct work){.run = wait_for_gate};
    workers_put(workers, first);
    return workers;
}

static void finish(struct workers *workers)
{
    sem_post(&gate);
    workers_stop(workers);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_with_much_work_does_not_delay_one_with_a_little),
        cmocka_unit_test(the_limit_of_what_waits_is_each_projects_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
