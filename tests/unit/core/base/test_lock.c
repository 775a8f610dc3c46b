#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "tests/support/test.h"

#define ROUNDS 20000

static struct lock low;
static struct lock high;
static struct lock second_high;
static pthread_cond_t cond;
static long counter; /* guarded by low */
static bool said;    /* guarded by low */

static int set_up(void **state)
{
    (void)state;
    lock_init(&low, LOCK_HTTP);
    lock_init(&high, LOCK_LOG);
    lock_init(&second_high, LOCK_LOG);
    lock_cond_init(&cond);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pthread_cond_destroy(&cond);
    lock_destroy(&low);
    lock_destroy(&high);
    lock_destroy(&second_high);
    return 0;
}

static void *count_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        lock_acquire(&low);
        counter++;
        lock_release(&low);
    }
    return NULL;
}

TEST(a_lock_keeps_other_threads_out)
{
    pthread_t other;

    counter = 0;
    pthread_create(&other, NULL, count_up, NULL);
    count_up(NULL);
    pthread_join(other, NULL);
    assert_int_equal(counter, 2 * ROUNDS);
}

static void in_order(void)
{
    lock_acquire(&low);
    lock_acquire(&high);
    lock_release(&low);
    lock_release(&high);
    lock_acquire(&low);
    lock_release(&low);
}

static void out_of_order(void)
{
    lock_acquire(&high);
    lock_acquire(&low);
    lock_release(&low);
    lock_release(&high);
}

static void two_of_one_rank(void)
{
    lock_acquire(&high);
    lock_acquire(&second_high);
    lock_release(&second_high);
    lock_release(&high);
}

static void wait_while_holding_another(void)
{
    lock_acquire(&low);
    lock_acquire(&high);
    (void)lock_wait_until(&high, &cond, clock_mono_ns());
    lock_release(&high);
    lock_release(&low);
}

/* Runs in a child, because the wrong order ends the process; true if the child survived. */
static bool survives(void (*doing)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        doing();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(locks_taken_against_their_ranks_end_the_process)
{
    assert_true(survives(in_order));
    assert_false(survives(out_of_order));
    assert_false(survives(two_of_one_rank));
    assert_false(survives(wait_while_holding_another));
}

static void *say_it(void *arg)
{
    (void)arg;
    lock_acquire(&low);
    said = true;
    pthread_cond_signal(&cond);
    lock_release(&low);
    return NULL;
}

TEST(waiting_ends_when_the_condition_is_signalled)
{
    pthread_t other;

    said = false;
    pthread_create(&other, NULL, say_it, NULL);
    lock_acquire(&low);
    while (!said)
        lock_wait(&low, &cond);
    lock_release(&low);
    pthread_join(other, NULL);
    assert_true(survives(in_order));
}

TEST(waiting_ends_at_the_deadline)
{
    uint64_t deadline = clock_mono_ns() + 20 * NS_PER_MS;

    lock_acquire(&low);
    while (lock_wait_until(&low, &cond, deadline))
        ;
    lock_release(&low);
    assert_true(clock_mono_ns() >= deadline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_keeps_other_threads_out),
        cmocka_unit_test(locks_taken_against_their_ranks_end_the_process),
        cmocka_unit_test(waiting_ends_when_the_condition_is_signalled),
        cmocka_unit_test(waiting_ends_at_the_deadline),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
