/* Messages with descriptors: what comes is counted, and what is too much is refused and closed. */

#include "core/sandbox/message.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test.h"

static int ends[2];
static int lowest; /* the lowest descriptor that is free when a test begins */

static int lowest_free(void)
{
    int fd = memfd_create("lowest", MFD_CLOEXEC);

    close(fd);
    return fd;
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    lowest = lowest_free();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(lowest_free(), lowest);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void send_copies(size_t count)
{
    int fds[MESSAGE_FDS];

    for (size_t i = 0; i < count; i++)
        fds[i] = ends[0];
    assert_int_equal(send_fds(ends[0], "abc", 3, fds, count), 3);
}

TEST(descriptors_arrive_and_are_counted)
{
    char bytes[8];
    int fds[MESSAGE_FDS];
    size_t count;

    for (size_t sent = 0; sent <= MESSAGE_FDS; sent++) {
        send_copies(sent);
        assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), fds, MESSAGE_FDS, &count),
                         3);
        assert_int_equal(count, sent);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
        close_fds(fds, count);
    }
}

/* Also by one, which the padding of a control message would have room for. */
TEST(too_many_descriptors_are_refused_and_closed)
{
    char bytes[8];
    int fds[4] = {-1, -1, -1, -1};
    size_t count;

    for (size_t room = 1; room < 4; room++) {
        send_copies(room + 1);
        assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), fds, room, &count), -1);
        assert_int_equal(fds[room], -1);
    }
}

TEST(without_room_descriptors_never_arrive)
{
    char bytes[8];

    send_copies(2);
    assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), NULL, 0, NULL), 3);
}

TEST(a_message_that_is_too_long_is_refused)
{
    char bytes[2];
    int fds[2];
    size_t count;

    send_copies(1);
    assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), fds, 2, &count), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(descriptors_arrive_and_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_descriptors_are_refused_and_closed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_room_descriptors_never_arrive, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_long_is_refused, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
