#include "server/file_room.h"

#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

struct asked {
    struct room_claim claim;
    char letter;
};

static char order[16];

static void note_granted(struct room_claim *claim)
{
    const struct asked *asked = CONTAINER_OF(claim, struct asked, claim);

    order[strlen(order)] = asked->letter;
}

/* A claim of the project that has this letter. */
static void ask(struct file_room *room, struct asked *asked, char letter, size_t bytes)
{
    const char project[] = {letter, '\0'};

    *asked = (struct asked){
        {.tenant = tenant_of_project(project), .bytes = bytes, .granted = note_granted},
        letter};
    file_room_claim(room, &asked->claim);
}

static struct file_room *fresh_room(size_t bytes)
{
    memset(order, 0, sizeof(order));
    return file_room_new(bytes);
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
    file_room_give_back(&a.claim);
    expect(room, "abc", 90, 0);
    file_room_give_back(&b.claim);
    file_room_give_back(&c.claim);
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
    file_room_give_back(&a.claim);
    expect(room, "ab", 500, 1);
    file_room_give_back(&b.claim);
    expect(room, "abc", 1, 0);
    file_room_give_back(&c.claim);
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
    file_room_give_back(&first.claim);
    file_room_give_back(&a[0].claim); /* had its turn when it came */
    file_room_give_back(&a[1].claim);
    file_room_give_back(&b.claim);
    expect(room, "xaabc", 100, 100);
    file_room_give_back(&c.claim);
    file_room_give_back(&a[2].claim);
    expect(room, "xaabca", 0, 0);
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
    file_room_give_back(&a.claim);
    file_room_give_back(&b.claim);
    file_room_give_back(&c.claim); /* the leak checker looks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_waits_until_it_fits_and_holds_nothing_meanwhile),
        cmocka_unit_test(one_that_is_larger_than_the_room_gets_it_alone),
        cmocka_unit_test(projects_take_turns),
        cmocka_unit_test(a_room_that_ends_grants_all_and_lives_as_long_as_a_claim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
