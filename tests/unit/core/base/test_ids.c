#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define PER_THREAD 5000
#define THREADS    4

static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

TEST(an_id_is_its_prefix_and_24_letters_or_digits)
{
    char id[ID_SIZE];

    id_make(id, "asst_");
    assert_true(id_has_prefix(id, "asst_"));
    assert_false(id_has_prefix(id, "run_"));
    assert_int_equal(strlen(id), 5 + ID_BODY);
    assert_int_equal(strspn(id + 5, letters), ID_BODY);
}

TEST(an_id_has_its_time)
{
    char id[ID_SIZE], digits[ID_TIME_SIZE];
    int64_t before = clock_wall_us(), us = 0;

    id_make(id, "asst_");
    assert_true(id_time(id, "asst_", &us));
    assert_in_range(us, before, clock_wall_us() + 100000);
    assert_true(id_time(id, NULL, &us));
    id_time_digits(digits, us);
    assert_memory_equal(id + 5, digits, ID_TIME_SIZE - 1);
}

TEST(an_id_from_elsewhere_has_no_time)
{
    static const char *const ids[] = {"asst_abc123",
                                      "asst_zzzzzzzzzAAAAAAAAAAAAAAA",
                                      "asst_000000000AAAAAAAAAAAAAAA",
                                      "asst_8-3abcdefAAAAAAAAAAAAAAA",
                                      "asst",
                                      "",
                                      "_"};
    char id[ID_SIZE];
    int64_t us;

    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_false(id_time(ids[i], "asst_", &us));
        assert_false(id_time(ids[i], NULL, &us));
    }
    id_make(id, "asst_");
    assert_false(id_time(id, "msg_", &us));
    assert_false(id_time(id + 4, NULL, &us));
    id[strlen(id) - 1] = '\0';
    assert_false(id_time(id, "asst_", &us));
}

TEST(ids_sort_by_age)
{
    char before[ID_SIZE];
    char after[ID_SIZE];

    id_make(before, "run_");
    for (int i = 0; i < 10000; i++) {
        id_make(after, "run_");
        assert_true(strcmp(before, after) < 0);
        memcpy(before, after, sizeof(before));
    }
}

static void *make_many(void *arg)
{
    char(*ids)[ID_SIZE] = arg;

    for (int i = 0; i < PER_THREAD; i++)
        id_make(ids[i], "x_");
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, strlen("x_") + 9);
}

/* The nine digits of the time alone never repeat. */
TEST(ids_of_several_threads_never_share_a_moment)
{
    static char ids[THREADS * PER_THREAD][ID_SIZE];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_many, ids + (ptrdiff_t)i * PER_THREAD);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    qsort(ids, THREADS * PER_THREAD, ID_SIZE, compare);
    for (int i = 1; i < THREADS * PER_THREAD; i++)
        assert_true(compare(ids[i - 1], ids[i]) < 0);
}

TEST(random_text_uses_all_characters_equally)
{
    static char text[62 * 1000 + 1];
    int counts[128] = {0};

    id_random(text, sizeof(text) - 1);
    assert_int_equal(strspn(text, letters), sizeof(text) - 1);
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        counts[(int)text[i]]++;
    /* 1000 expected, standard deviation 31. */
    for (size_t i = 0; i < sizeof(letters) - 1; i++)
        assert_in_range(counts[(int)letters[i]], 750, 1250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_its_prefix_and_24_letters_or_digits),
        cmocka_unit_test(an_id_has_its_time),
        cmocka_unit_test(an_id_from_elsewhere_has_no_time),
        cmocka_unit_test(ids_sort_by_age),
        cmocka_unit_test(ids_of_several_threads_never_share_a_moment),
        cmocka_unit_test(random_text_uses_all_characters_equally),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
