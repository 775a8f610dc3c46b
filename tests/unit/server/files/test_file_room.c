#include "server/files/file_room.h"

#include <string.h>

#include "tests/support/test.h"

#define LINE 3

struct asked {
    struct room_claim *claim; /* NULL: it waits */
    char letter;
};

static char order[16];

static void note_granted(struct room_claim *claim, void *arg)
{
    struct asked *asked = arg;

    asked->claim = claim;
    order[strlen(order)] = asked->letter;
}

static enum err_code try(struct file_room *room, struct asked *asked, char letter, size_t bytes)
{
    const char project[] = {letter, '\0'};
    const struct tenant tenant = tenant_of_project(project);
    struct err err = {0};

    *asked = (struct asked){NULL, letter};
    return file_room_claim(room, &tenant, bytes, note_granted, asked, &err)
               ? (enum err_code)err.reason
               : ERR_OK;
}

/* A claim of the project that has this letter. */
static void ask(struct file_room *room, struct asked *asked, char letter, size_t bytes)
{
    assert_int_equal(try(room, asked, letter, bytes), ERR_OK);
}

static struct file_room *fresh_room(size_t bytes)
{
    memset(order, 0, sizeof(order));
    return file_room_new(bytes, LINE);
}

static void expect(struct file_room *room, const char *letters, size_t held, size_t waiting)
{
    size_t is_held, is_waiting;

    file_room_stats(room, &is_held, &is_waiting);
    assert_string_equal(order, letters);
    assert_int_equal(is_held, held);
    assert_int_equal(is_waiting, waiting);
}

TEST(a_claim_waits_until_it_fits_and_holds_nothing_meanwhile)
{
    struct file_room *room = fresh_room(100);
    struct asked a, b, c;

    ask(room, &a, 'a', 60);
    ask(room, &b, 'b', 60);
    expect(room, "a", 60, 60);
    ask(room, &c, 'c', 30); /* would fit, and does not pass */
    expect(room, "a", 60, 90);
    file_room_give_back(a.claim);
    expect(room, "abc", 90, 0);
    file_room_give_back(b.claim);
    file_room_give_back(c.claim);
    expect(room, "abc", 0, 0);
    file_room_close(room);
}

TEST(one_that_is_larger_than_the_room_gets_it_alone)
{
    struct file_room *room = fresh_room(100);
    struct asked a, b, c;

    ask(room, &a, 'a', 1);
    ask(room, &b, 'b', 500);
    ask(room, &c, 'c', 1);
    expect(room, "a", 1, 501);
    file_room_give_back(a.claim);
    expect(room, "ab", 500, 1);
    file_room_give_back(b.claim);
    expect(room, "abc", 1, 0);
    file_room_give_back(c.claim);
    file_room_close(room);
}

TEST(projects_take_turns)
{
    struct file_room *room = fresh_room(100);
    struct asked first, a[3], b, c;

    ask(room, &first, 'x', 100);
    for (size_t i = 0; i < 3; i++)
        ask(room, &a[i], 'a', 100);
    ask(room, &b, 'b', 100);
    ask(room, &c, 'c', 100);
    file_room_give_back(first.claim);
    file_room_give_back(a[0].claim);
    file_room_give_back(b.claim);
    file_room_give_back(c.claim);
    expect(room, "xabca", 100, 100);
    file_room_give_back(a[1].claim);
    file_room_give_back(a[2].claim);
    expect(room, "xabcaa", 0, 0);
    file_room_close(room);
}

TEST(a_project_leaves_room_for_the_next_one)
{
    struct file_room *room = fresh_room(90);
    struct asked a[3], b;

    for (size_t i = 0; i < 3; i++)
        ask(room, &a[i], 'a', 30);
    expect(room, "aa", 60, 30); /* the third would fit */
    ask(room, &b, 'b', 30);     /* and is passed */
    expect(room, "aab", 90, 30);
    file_room_give_back(b.claim);
    expect(room, "aab", 60, 30);
    file_room_give_back(a[0].claim);
    expect(room, "aaba", 60, 0);
    file_room_give_back(a[1].claim);
    file_room_give_back(a[2].claim);
    file_room_close(room);
}

TEST(a_large_claim_is_not_put_off_by_small_ones)
{
    struct file_room *room = fresh_room(90);
    struct asked a, b, c, d;

    ask(room, &a, 'a', 20);
    ask(room, &b, 'b', 80);
    ask(room, &c, 'c', 1);
    ask(room, &d, 'd', 1);
    expect(room, "a", 20, 82);
    file_room_give_back(a.claim);
    expect(room, "abcd", 82, 0);
    file_room_give_back(b.claim);
    file_room_give_back(c.claim);
    file_room_give_back(d.claim);
    file_room_close(room);
}

TEST(what_a_claim_does_not_need_is_for_others)
{
    struct file_room *room = fresh_room(100);
    struct asked a, b;

    ask(room, &a, 'a', 100);
    ask(room, &b, 'b', 60);
    expect(room, "a", 100, 60);
    file_room_shrink(a.claim, 200); /* it does not grow */
    expect(room, "a", 100, 60);
    file_room_shrink(a.claim, 40);
    expect(room, "ab", 100, 0);
    file_room_give_back(a.claim);
    expect(room, "ab", 60, 0);
    file_room_give_back(b.claim);
    file_room_close(room);
}

TEST(the_line_of_a_project_has_an_end)
{
    struct file_room *room = fresh_room(100);
    struct asked a[LINE + 2], b;

    for (size_t i = 0; i <= LINE; i++)
        ask(room, &a[i], 'a', 100);
    expect(room, "a", 100, 300);
    assert_int_equal(try(room, &a[LINE + 1], 'a', 100), REASON_BUSY);
    ask(room, &b, 'b', 100); /* that of another one has not */
    expect(room, "a", 100, 400);
    file_room_give_back(a[0].claim);
    ask(room, &a[0], 'a', 100);
    expect(room, "aa", 100, 400);
    file_room_give_back(a[1].claim);
    file_room_give_back(b.claim);
    for (size_t i = 2; i <= LINE; i++)
        file_room_give_back(a[i].claim);
    file_room_give_back(a[0].claim);
    expect(room, "aabaaa", 0, 0);
    file_room_close(room);
}

TEST(a_room_that_ends_grants_all_and_lives_as_long_as_a_claim)
{
    struct file_room *room = fresh_room(100);
    struct asked a, b, c;

    ask(room, &a, 'a', 100);
    ask(room, &b, 'b', 100);
    file_room_open(room);
    expect(room, "ab", 200, 0);
    ask(room, &c, 'c', 100);
    expect(room, "abc", 300, 0);
    file_room_close(room);
    file_room_give_back(a.claim);
    file_room_give_back(b.claim);
    file_room_give_back(c.claim); /* the leak checker looks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_waits_until_it_fits_and_holds_nothing_meanwhile),
        cmocka_unit_test(one_that_is_larger_than_the_room_gets_it_alone),
        cmocka_unit_test(projects_take_turns),
        cmocka_unit_test(a_project_leaves_room_for_the_next_one),
        cmocka_unit_test(a_large_claim_is_not_put_off_by_small_ones),
        cmocka_unit_test(what_a_claim_does_not_need_is_for_others),
        cmocka_unit_test(the_line_of_a_project_has_an_end),
        cmocka_unit_test(a_room_that_ends_grants_all_and_lives_as_long_as_a_claim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
