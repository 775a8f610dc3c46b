/* Boxes of single calls: their own processes, the files of their container, and their end. Real ones, so skipped where
 * a machine has no user namespaces. */

#include <pthread.h>
#include <sched.h>

#include "tests/support/boxes.h"
#include "tests/support/test.h"
#include "tests/unit/core/container/live_boxes.h"

static struct boxes_counts count(void)
{
    struct boxes_counts counts;

    boxes_count(live_boxes, &counts);
    return counts;
}

static void use(const struct boxes_hold *hold)
{
    test_box = hold ? boxes_box(hold) : NULL;
}

TEST(a_call_alone_sees_the_files_of_its_container_and_no_processes)
{
    struct boxes_hold *shared = live_take("a", BOXES_COMMAND);
    struct boxes_hold *alone = live_take("a", BOXES_ALONE);

    use(shared);
    assert_int_equal(run_script("echo kept > /mnt/data/f; echo mine > /tmp/g").status, 0);
    use(alone);
    assert_prints("cat /mnt/data/f; ls /tmp", "kept\n");
    use(NULL);
    assert_ptr_not_equal(boxes_box(shared), boxes_box(alone));
    boxes_give(shared);
    boxes_give(alone);
}

TEST(a_box_of_its_own_ends_with_its_call)
{
    struct boxes_hold *one = live_take("a", BOXES_ALONE), *two = live_take("a", BOXES_ALONE);

    assert_ptr_not_equal(boxes_box(one), boxes_box(two));
    assert_int_equal(count().busy, 2);
    assert_int_equal(count().memory, 2 * LIVE_MEMORY);
    boxes_give(one);
    boxes_give(two);
    assert_int_equal(count().busy + count().ready, 0);
    assert_int_equal(count().memory, 0);
}

TEST(a_shared_box_is_not_taken_from_a_call_alone)
{
    struct boxes_hold *alone = live_take("a", BOXES_ALONE);
    struct boxes_hold *shared = live_take("a", BOXES_COMMAND);

    assert_ptr_not_equal(boxes_box(shared), boxes_box(alone));
    boxes_give(alone);
    boxes_give(shared);
    assert_int_equal(count().ready, 1); /* the shared one stays */
}

TEST(the_end_of_a_container_ends_the_boxes_of_its_calls)
{
    struct boxes_hold *one = live_take("a", BOXES_ALONE), *two = live_take("a", BOXES_ALONE);
    struct boxes_hold *other = live_take("b", BOXES_ALONE);
    const char *arguments[4];

    boxes_end(live_boxes, "a");
    use(one);
    assert_int_equal(run(script(arguments, "true")).why, BOX_GONE);
    use(two);
    assert_int_equal(run(script(arguments, "true")).why, BOX_GONE);
    use(other);
    assert_int_equal(run_script("true").status, 0);
    use(NULL);
    boxes_give(one);
    boxes_give(two);
    boxes_give(other);
}

TEST(a_box_without_a_workspace_has_no_files)
{
    struct boxes_request request = {
        .container = "", .memory = LIVE_MEMORY, .use = BOXES_ALONE, .cancel = -1};
    struct boxes_hold *hold = NULL;
    struct err err = {0};

    if (boxes_take(live_boxes, &request, &hold, &err))
        fail_msg("%s", err.text);
    use(hold);
    assert_prints("ls /mnt 2>/dev/null; id -u | grep -c '^0$'; true", "0\n");
    use(NULL);
    boxes_give(hold);
}

TEST(folders_are_seen_by_the_call_that_names_them)
{
    const struct box_folder folder = {"/usr/share", "/mnt/roots/shared", false};
    struct boxes_request request = live_request("a", BOXES_ALONE);
    struct boxes_hold *hold = NULL, *shared = live_take("a", BOXES_COMMAND);
    struct err err = {0};

    request.folders = &folder;
    request.folder_count = 1;
    if (boxes_take(live_boxes, &request, &hold, &err))
        fail_msg("%s", err.text);
    use(hold);
    assert_prints(
        "test -d /mnt/roots/shared/zoneinfo && touch /mnt/roots/shared/x 2>&1 | grep -o "
        "'Read-only file system'",
        "Read-only file system\n");
    use(shared);
    assert_prints("ls /mnt", "data\nskills\n");
    use(NULL);
    boxes_give(hold);
    boxes_give(shared);
}

int main(void)
{
#define BOXES(test) cmocka_unit_test_setup_teardown(test, live_set_up, live_tear_down)
    const struct CMUnitTest tests[] = {
        BOXES(a_call_alone_sees_the_files_of_its_container_and_no_processes),
        BOXES(a_box_of_its_own_ends_with_its_call),
        BOXES(a_shared_box_is_not_taken_from_a_call_alone),
        BOXES(the_end_of_a_container_ends_the_boxes_of_its_calls),
        BOXES(a_box_without_a_workspace_has_no_files),
        BOXES(folders_are_seen_by_the_call_that_names_them),
    };

    return run_in_boxes(tests, sizeof(tests) / sizeof(*tests), live_start, live_stop);
}
