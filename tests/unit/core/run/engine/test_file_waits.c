#include "core/run/engine/file_waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static void add(struct file_waits *waits, const char *run, const char *store)
{
    struct engine_file_wait wait = {.project = "proj_a"};

    (void)snprintf(wait.run_id, sizeof(wait.run_id), "%s", run);
    (void)snprintf(wait.store_id, sizeof(wait.store_id), "%s", store);
    file_waits_add(waits, &wait);
}

/* The store that the run waits for; "" if it does not wait. */
static const char *store_of(struct file_waits *waits, const char *run)
{
    static char store[ID_LIMIT + 1];
    AUTO_FREE struct engine_file_wait *list = NULL;
    size_t count = file_waits_list(waits, &list);

    assert_int_equal(count, file_waits_count(waits));
    store[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list[i].project, "proj_a");
        if (strcmp(list[i].run_id, run) == 0)
            (void)snprintf(store, sizeof(store), "%s", list[i].store_id);
    }
    return store;
}

TEST(a_run_waits_from_its_entry_until_it_is_dropped)
{
    struct file_waits *waits = file_waits_new();

    assert_string_equal(store_of(waits, "run_a"), "");
    add(waits, "run_a", "vs_1");
    add(waits, "run_b", "vs_2");
    assert_string_equal(store_of(waits, "run_a"), "vs_1");
    assert_string_equal(store_of(waits, "run_b"), "vs_2");
    file_waits_drop(waits, "run_a");
    file_waits_drop(waits, "run_a");
    assert_string_equal(store_of(waits, "run_a"), "");
    assert_int_equal(file_waits_count(waits), 1);
    file_waits_free(waits);
}

TEST(a_run_waits_once)
{
    struct file_waits *waits = file_waits_new();

    add(waits, "run_a", "vs_1");
    add(waits, "run_a", "vs_2");
    assert_int_equal(file_waits_count(waits), 1);
    assert_string_equal(store_of(waits, "run_a"), "vs_2");
    file_waits_drop(waits, "run_a");
    assert_int_equal(file_waits_count(waits), 0);
    file_waits_free(waits);
}

TEST(runs_of_one_bucket_do_not_hide_each_other)
{
    struct file_waits *waits = file_waits_new();
    char run[ID_LIMIT + 1];

    for (int i = 0; i < 2000; i++) {
        (void)snprintf(run, sizeof(run), "run_%d", i);
        add(waits, run, run);
    }
    for (int i = 0; i < 2000; i += 2) {
        (void)snprintf(run, sizeof(run), "run_%d", i);
        file_waits_drop(waits, run);
    }
    assert_int_equal(file_waits_count(waits), 1000);
    assert_string_equal(store_of(waits, "run_1999"), "run_1999");
    assert_string_equal(store_of(waits, "run_1998"), "");
    file_waits_free(waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_waits_from_its_entry_until_it_is_dropped),
        cmocka_unit_test(a_run_waits_once),
        cmocka_unit_test(runs_of_one_bucket_do_not_hide_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
