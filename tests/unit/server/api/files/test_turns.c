/*
 * Work that is done one at a time for each object.
 */

#include "server/api/files/turns.h"

#include "tests/support/test.h"

#define MINE   "proj_mine"
#define THEIRS "proj_theirs"

static struct crew *crew;
static struct workers *workers;
static struct turns *turns;

static void do_nothing(struct work *work)
{
    (void)work;
}

static int start(void **state)
{
    (void)state;
    turns = turns_new();
    if (crew_start(NULL, UINT64_MAX, &crew, NULL))
        return -1;
    workers = workers_new(crew, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    workers_stop(workers);
    crew_stop(crew);
    turns_free(turns);
    return 0;
}

static enum err_code take(const char *project, struct turn *turn, struct work *work,
                          struct err *err)
{
    struct tenant tenant = tenant_of_project(project);

    *work = (struct work){.run = do_nothing};
    return turns_take(turns, workers, turn, &tenant, "upload_1", work, err);
}

TEST(a_project_with_all_its_turns_taken_leaves_those_of_others)
{
    static struct turn own[TURNS_LIMIT], more, other;
    static struct work own_work[TURNS_LIMIT], more_work, other_work;
    struct err err;

    for (size_t i = 0; i < TURNS_LIMIT; i++)
        assert_int_equal(take(MINE, &own[i], &own_work[i], NULL), ERR_OK);
    assert_int_equal(take(MINE, &more, &more_work, &err), ERR_LIMIT);
    assert_int_equal(err.reason, REASON_BUSY);
    assert_int_equal(take(THEIRS, &other, &other_work, NULL), ERR_OK);
    assert_true(own[0].at_work);
    assert_false(own[1].at_work);
    assert_true(other.at_work);
    turns_end(turns, workers, &own[0]);
    assert_true(own[1].at_work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_project_with_all_its_turns_taken_leaves_those_of_others, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
