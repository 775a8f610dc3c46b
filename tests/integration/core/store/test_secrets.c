/*
 * A secret that several servers need: the first value is stored, and every later one is ignored.
 */

#include <string.h>

#include "core/store/tables/secrets.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

TEST(the_first_secret_is_shared_by_all)
{
    struct store *other = pg_fixture_store();
    char mine[4], theirs[4];

    assert_int_equal(store_secret_ensure(store, "a", "\0one", 4, mine, NULL), ERR_OK);
    assert_memory_equal(mine, "\0one", 4);
    assert_int_equal(store_secret_ensure(other, "a", "two!", 4, theirs, NULL), ERR_OK);
    assert_memory_equal(theirs, mine, 4);
    assert_int_equal(store_secret_ensure(other, "b", "two!", 4, theirs, NULL), ERR_OK);
    assert_memory_equal(theirs, "two!", 4);
    store_free(other);
}

TEST(a_secret_of_another_size_is_refused)
{
    char value[8] = "before!";
    struct err err;

    assert_int_equal(store_secret_ensure(store, "c", "one", 3, value, &err), ERR_OK);
    assert_int_equal(store_secret_ensure(store, "c", "longer", 6, value, &err), ERR_INTERNAL);
    assert_string_equal(err.text, "the secret 'c' has 3 bytes");
    assert_memory_equal(value, "oneore!", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_secret_is_shared_by_all),
        cmocka_unit_test(a_secret_of_another_size_is_refused),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
