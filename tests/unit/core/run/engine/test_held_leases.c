/*
 * The promises of held_leases.h, without runs and loops: what was added is listed with its fence, what was
 * dropped is not, and runs that wait are counted once, whatever is said about them twice.
 *
 * More leases than the table has buckets, so that chains of several are walked and cut as well.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/run/engine/held_leases.h"
#include "tests/support/test.h"

#define MANY 3000 /* more than the table has buckets */

static void add(struct held_leases *held, unsigned n, bool waits)
{
    struct engine_lease lease = {.fence = n + 1};
    const struct tenant tenant = tenant_of_project("proj_a");

    (void)snprintf(lease.run_id, sizeof(lease.run_id), "run_%u", n);
    held_leases_add(held, &tenant, &lease, waits);
}

static void drop(struct held_leases *held, unsigned n)
{
    char id[ID_SIZE];

    (void)snprintf(id, sizeof(id), "run_%u", n);
    held_leases_drop(held, id);
}

static size_t count_waiting(struct held_leases *held)
{
    AUTO_FREE struct engine_holder *holders = NULL;
    size_t count = held_leases_waiting(held, &holders);

    for (size_t i = 0; i < count; i++)
        assert_string_equal(holders[i].project, "proj_a");
    return count;
}

TEST(test_all_added_leases_are_listed_with_their_fences)
{
    struct held_leases *held = held_leases_new();
    AUTO_FREE struct engine_lease *leases = NULL;
    AUTO_FREE bool *seen = mem_new_array(bool, MANY);

    for (unsigned i = 0; i < MANY; i++)
        add(held, i, false);
    for (unsigned i = 0; i < MANY; i += 3)
        drop(held, i);
    assert_int_equal(held_leases_list(held, &leases), MANY / 3 * 2);
    for (size_t i = 0; i < MANY / 3 * 2; i++) {
        unsigned long n = strtoul(leases[i].run_id + strlen("run_"), NULL, 10);

        assert_int_equal(leases[i].fence, n + 1);
        assert_true(n % 3 != 0 && !seen[n]);
        seen[n] = true;
    }
    assert_true(held_leases_has(held, "run_1"));
    assert_false(held_leases_has(held, "run_0"));
    held_leases_free(held);
}

TEST(test_waiting_runs_are_counted_once)
{
    struct held_leases *held = held_leases_new();

    add(held, 0, true);
    add(held, 1, false);
    assert_int_equal(count_waiting(held), 1);
    held_leases_set_waiting(held, "run_0", true);
    held_leases_set_waiting(held, "run_1", true);
    held_leases_set_waiting(held, "run_2", true); /* not here: its lease was lost */
    assert_int_equal(count_waiting(held), 2);
    held_leases_set_waiting(held, "run_1", false);
    held_leases_set_waiting(held, "run_1", false);
    assert_int_equal(count_waiting(held), 1);
    drop(held, 0);
    drop(held, 0);
    assert_int_equal(count_waiting(held), 0);
    held_leases_free(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_added_leases_are_listed_with_their_fences),
        cmocka_unit_test(test_waiting_runs_are_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
